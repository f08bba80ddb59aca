// Operation name → its rule. An operation without a row here, or a row whose rule
// takes or answers something else than the protocol says, does not compile.
import type { Input, OperationName, Output } from '../protocol/operations.ts';
import type { Actor } from './actor.ts';
import * as apiKeys from './api-keys.ts';
import { listAiLog } from './assistant/log.ts';
import * as assistant from './assistant/questions.ts';
import { listAudit } from './audit.ts';
import * as cannedReplies from './canned-replies.ts';
import * as applications from './applications.ts';
import * as conversations from './conversations.ts';
import * as invitations from './invitations.ts';
import * as knowledge from './knowledge/documents.ts';
import * as members from './members.ts';
import * as messages from './messages.ts';
import * as organizations from './organizations.ts';
import { emptyOrganization, purge } from './retention.ts';
import type { Call, ReadTx, Tx } from './service.ts';
import * as sessions from './sessions.ts';
import { organizationStats } from './stats.ts';
import * as visitorData from './visitor-data.ts';
import * as visitors from './visitors.ts';
import * as webhooks from './webhooks.ts';

/** Runs one operation for a caller who has been let in and whose input has been checked. */
type Rule<N extends OperationName> = (call: Call, input: Input<N>) => Promise<Output<N>>;

/** A caller of the kind that `execute` has made sure of by the operation's `who`. */
type Caller<A extends Actor> = Call<A>;

const asCaller = <A extends Actor>(call: Call): Caller<A> => call as Caller<A>;

/** A rule that reads one snapshot. */
function reads<A extends Actor, I, O>(rule: (tx: ReadTx, call: Caller<A>, input: I) => Promise<O>) {
  return (call: Call, input: I): Promise<O> => call.service.engine.store.read((tx) => rule(tx, asCaller<A>(call), input));
}

/** A rule that writes, all of it or nothing. */
function writes<A extends Actor, I, O>(rule: (tx: Tx, call: Caller<A>, input: I) => Promise<O>) {
  return (call: Call, input: I): Promise<O> => call.service.engine.store.write((tx) => rule(tx, asCaller<A>(call), input));
}

/** A rule that writes what was prepared before the transaction began. */
function preparesAndWrites<A extends Actor, I, J, P, O>(
  prepare: (call: Caller<A>, input: I) => P | Promise<P>,
  rule: (tx: Tx, call: Caller<A>, input: J, prepared: P) => Promise<O>,
) {
  return async (call: Call, input: I & J): Promise<O> => {
    const prepared = await prepare(asCaller<A>(call), input);
    return call.service.engine.store.write((tx) => rule(tx, asCaller<A>(call), input, prepared));
  };
}

const hashPassword = (call: Call, input: { password: string }): Promise<string> => call.service.secrets.hashPassword(input.password);

export const rules: { readonly [N in OperationName]: Rule<N> } = {
  'conversations.create': writes(conversations.createConversation),
  'conversations.list': reads(conversations.listConversations),
  'conversations.get': reads(conversations.getConversation),
  'conversations.read': writes(conversations.readConversation),
  'conversations.unread': reads(conversations.countUnread),
  'messages.send': preparesAndWrites(messages.prepareMessage, messages.sendMessage),
  'messages.list': reads(messages.listMessages),
  'messages.edit': preparesAndWrites(messages.prepareMessage, messages.editMessage),
  'messages.delete': writes(messages.deleteMessage),
  'visitor.get': writes(visitors.getVisitor),
  'visitor.update': writes(visitors.updateVisitor),
  'widget.token': async (call) => {
    const issue = await call.service.engine.store.write((tx) => visitors.issueVisitorToken(tx, asCaller(call)));
    return issue();
  },
  'widget.config': (call) => visitors.widgetConfig(asCaller(call)),

  'session.create': (call, input) => sessions.signIn(asCaller(call), input),
  'session.createLocal': writes(sessions.signInLocally),
  'session.get': (call) => sessions.currentSession(asCaller(call)),
  'session.delete': writes(sessions.signOut),
  'staff.token': (call) => sessions.issueStaffToken(asCaller(call)),
  'staff.conversations.list': reads(conversations.listQueue),
  'staff.conversations.get': reads(conversations.getStaffConversation),
  'staff.messages.list': reads(messages.listMessages),
  'staff.messages.send': preparesAndWrites(messages.prepareMessage, messages.sendMessage),
  'staff.messages.edit': preparesAndWrites(messages.prepareMessage, messages.editMessage),
  'staff.messages.delete': writes(messages.deleteMessage),
  'staff.conversations.accept': writes(conversations.acceptConversation),
  'staff.conversations.release': writes(conversations.releaseConversation),
  'staff.conversations.resolve': writes(conversations.resolveConversation),
  'staff.conversations.transfer': writes(conversations.transferConversation),
  'staff.conversations.read': writes(conversations.readConversation),
  'cannedReplies.list': reads(cannedReplies.listCannedReplies),
  'cannedReplies.create': writes(cannedReplies.createCannedReply),
  'cannedReplies.update': writes(cannedReplies.updateCannedReply),
  'cannedReplies.delete': writes(cannedReplies.deleteCannedReply),
  'staff.members.list': reads(members.listColleagues),
  'staff.stats': reads(organizationStats),
  'invitations.accept': (call, input) => invitations.acceptInvitation(asCaller(call), input),

  'organizations.create': writes(organizations.createOrganization),
  'organizations.list': reads(organizations.listOrganizations),
  'organizations.get': reads(organizations.getOrganization),
  'organizations.setPlan': writes(organizations.setPlan),
  'organizations.setLimits': writes(organizations.setLimits),
  'organizations.update': writes(organizations.updateOrganization),
  'organizations.usage': reads(organizations.organizationUsage),
  'organizations.stats': reads(organizationStats),
  'organizations.delete': async (call, input) => {
    // Its conversations go first, in steps: one transaction for them all would lock everybody out.
    await emptyOrganization(asCaller(call), input);
    const done = await writes(organizations.deleteOrganization)(call, input);
    await call.service.engine.store.checkpoint();
    return done;
  },
  'applications.create': writes(applications.createApplication),
  'applications.list': reads(applications.listApplications),
  'applications.get': reads(applications.getApplication),
  'applications.configure': writes(applications.configureApplication),
  'applications.update': writes(applications.updateApplication),
  'applications.identitySecret': writes(applications.revealIdentitySecret),
  'applications.rotateIdentitySecret': writes(applications.rotateIdentitySecret),
  'applications.delete': writes(applications.deleteApplication),
  'domains.add': writes(applications.addDomain),
  'domains.remove': writes(applications.removeDomain),
  'domains.list': reads(applications.listDomains),
  'keys.create': writes(apiKeys.createKey),
  'keys.list': reads(apiKeys.listKeys),
  'keys.reveal': writes(apiKeys.revealKey),
  'keys.rotate': writes(apiKeys.rotateKey),
  'keys.revoke': writes(apiKeys.revokeKey),
  'members.add': preparesAndWrites(hashPassword, members.addMember),
  'members.invite': writes(invitations.inviteMember),
  'members.update': preparesAndWrites(
    (call: Call, input: { password?: string | undefined }) =>
      input.password === undefined ? null : call.service.secrets.hashPassword(input.password),
    members.updateMember,
  ),
  'members.list': reads(members.listMembers),
  'members.setRole': writes(members.setRole),
  'members.setPassword': preparesAndWrites(hashPassword, members.setPassword),
  'members.disable': writes(members.disableMember),
  'members.enable': writes(members.enableMember),
  'members.remove': writes(members.removeMember),

  'visitors.export': (call, input) => visitorData.exportVisitor(asCaller(call), input),
  'visitors.erase': (call, input) => visitorData.eraseVisitor(asCaller(call), input),
  'audit.list': reads(listAudit),
  'retention.purge': (call, input) => purge(call.service, input, call),
  'webhooks.create': writes(webhooks.createWebhook),
  'webhooks.list': reads(webhooks.listWebhooks),
  'webhooks.get': reads(webhooks.getWebhook),
  'webhooks.update': writes(webhooks.updateWebhook),
  'webhooks.delete': writes(webhooks.deleteWebhook),
  'webhooks.reveal': writes(webhooks.revealWebhook),
  'webhooks.test': writes(webhooks.testWebhook),
  'webhooks.deliveries': reads(webhooks.listDeliveries),
  'webhooks.replay': writes(webhooks.replayDelivery),
  'knowledge.add': preparesAndWrites(knowledge.prepareDocument, knowledge.addDocument),
  'knowledge.list': reads(knowledge.listDocuments),
  'knowledge.get': reads(knowledge.getDocument),
  'knowledge.remove': writes(knowledge.removeDocument),
  'knowledge.search': (call, input) => knowledge.searchKnowledge(asCaller(call), input),
  'knowledge.synonyms': reads(knowledge.getSynonyms),
  'knowledge.setSynonyms': writes(knowledge.setSynonyms),
  'knowledge.ask': (call, input) => assistant.askKnowledge(asCaller(call), input),
  'ai.answer': (call, input) => assistant.answerVisitor(asCaller(call), input),
  'staff.ai.reply': (call, input) => assistant.draftReply(asCaller(call), input),
  'staff.ai.rewrite': (call, input) => assistant.rewriteText(asCaller(call), input),
  'ai.log': reads(listAiLog),
};
