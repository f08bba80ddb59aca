// Operation name → its handler. An operation without a handler, or a handler that takes,
// answers or is called by something else than the protocol says, does not compile.
import type { Scope, Soon } from '../engine/engine.ts';
import type { Input, OperationName, Output } from '../protocol/operations.ts';
import { countNewVisitor } from './core/access.ts';
import type { Actor } from './core/actor.ts';
import * as apiKeys from './tenants/api-keys.ts';
import { listAiLog } from './assistant/log.ts';
import * as assistant from './assistant/operations.ts';
import { listAudit } from './core/audit.ts';
import { inParts } from './core/errors.ts';
import { gathered } from './core/parts.ts';
import {
  conversationScope,
  memberScope,
  organizationScope,
  serverScope,
  visitorScope,
} from './core/scopes.ts';
import * as blocks from './chat/blocks.ts';
import * as drafts from './chat/drafts.ts';
import * as files from './files/upload.ts';
import * as ownAccount from './tenants/own-account.ts';
import { actOnMany } from './chat/bulk.ts';
import * as cannedReplies from './chat/canned-replies.ts';
import * as applications from './tenants/applications.ts';
import * as conversations from './chat/conversations.ts';
import * as invitations from './tenants/invitations.ts';
import * as knowledge from './assistant/knowledge/documents.ts';
import * as crawls from './assistant/knowledge/crawl/crawls.ts';
import { stopCrawl, wakeCrawls } from './assistant/knowledge/crawl/crawl-job.ts';
import * as learning from './assistant/knowledge/learning.ts';
import * as members from './tenants/members.ts';
import * as history from './chat/history.ts';
import * as messages from './chat/messages.ts';
import * as queueOrder from './chat/queue-order.ts';
import * as tags from './chat/tags.ts';
import { listQueue } from './chat/queue-list.ts';
import { countViews } from './chat/view-counts.ts';
import * as views from './chat/views.ts';
import * as organizations from './tenants/organizations.ts';
import * as deletion from './data/deletion.ts';
import { purge } from './data/retention.ts';
import type { Call, CallOf, ReadTx, Tx } from './service.ts';
import * as pushDevices from './notifications/devices.ts';
import * as notificationPreferences from './notifications/preferences.ts';
import * as pushKeys from './notifications/push-keys.ts';
import { testNotifications } from './notifications/test.ts';
import * as passkeys from './auth/passkeys.ts';
import * as ownSecondFactor from './auth/own-second-factor.ts';
import * as secondFactorSignIn from './auth/second-factor-sign-in.ts';
import * as passwordReset from './auth/password-reset.ts';
import * as sessions from './auth/sessions.ts';
import * as staffSessions from './auth/staff-sessions.ts';
import { assertStanding, writeAs } from './auth/standing.ts';
import { organizationStats } from './tenants/stats.ts';
import { eraseVisitor } from './data/erasure.ts';
import * as visitorData from './data/visitor-data.ts';
import * as visitors from './chat/visitors.ts';
import { handIn } from './mail/inbound/hand-in.ts';
import * as mailSettings from './mail/mail-settings.ts';
import { stopMail } from './mail/stop-mail.ts';
import * as transcript from './mail/transcript.ts';
import * as deliveries from './outbox/deliveries.ts';
import * as webhooks from './webhooks/webhooks.ts';

/** Runs one operation for a caller who may call it and whose input has been checked. */
export type Handler<N extends OperationName> = (call: CallOf<N>, input: Input<N>) => Promise<Output<N>>;

/** A handler that reads one snapshot. */
function reads<A extends Actor, I, O>(handler: (tx: ReadTx, call: Call<A>, input: I) => Promise<O>) {
  return (call: Call<A>, input: I): Promise<O> =>
    call.service.engine.store.read((tx) => handler(tx, call, input));
}

/**
 * A handler that writes in one transaction, in which the caller's rights are read again: all of it or nothing.
 * @param scope what it may read and change
 */
function writes<A extends Actor, I, O, J = unknown>(
  handler: (tx: Tx, call: Call<A>, input: I) => Promise<O>,
  scope: (call: Call<A>, input: J) => Scope = organizationScope,
) {
  return (call: Call<A>, input: I & J): Promise<O> =>
    writeAs(call, scope(call, input), (tx, current) => handler(tx, current, input));
}

/** A handler that writes what was prepared before the transaction began. */
function preparesAndWrites<A extends Actor, I, J, P, O>(
  prepare: (call: Call<A>, input: I) => P | Promise<P>,
  handler: (tx: Tx, call: Call<A>, input: J, prepared: P) => Soon<O>,
  scope: (call: Call<A>, input: J) => Scope = organizationScope,
) {
  return (call: Call<A>, input: I & J): Promise<O> => {
    const write = (prepared: P): Promise<O> =>
      writeAs(call, scope(call, input), (tx, current) => handler(tx, current, input, prepared));
    const prepared = prepare(call, input);
    return prepared instanceof Promise ? prepared.then(write) : write(prepared);
  };
}

/**
 * A handler that takes a body and answers without a write that would read the caller's rights again: they are asked before
 * it, because the body was on its way, and after it, because a model or another server may have taken long.
 */
function answers<A extends Actor, I, O>(handler: (call: Call<A>, input: I) => Promise<O>) {
  return async (call: Call<A>, input: I): Promise<O> => {
    await assertStanding(call);
    const answer = await handler(call, input);
    await assertStanding(call);
    return answer;
  };
}

/** Of an organization's members one at a time, whatever address they come from: others hash and sign in beside them. */
const hashPassword = ({ service, actor }: Call, input: { password: string }): Promise<string> =>
  service.secrets.hashPassword(input.password, 'organizationId' in actor ? actor.organizationId : 'local');

const hashNewPassword = async (
  call: Call,
  input: { password?: string | undefined },
): Promise<string | null> =>
  input.password === undefined ? null : hashPassword(call, { password: input.password });

async function addToKnowledge(
  call: CallOf<'knowledge.add'>,
  input: Input<'knowledge.add'>,
): Promise<Output<'knowledge.add'>> {
  const prepared = await knowledge.prepareDocument(call, input);
  const { added, unfinished } = await writeAs(call, organizationScope(call), (tx, current) =>
    knowledge.addDocument(tx, current, input, prepared),
  );
  // What is left of a long document follows in slices.
  if (unfinished !== null) await knowledge.replacePassages(call.service, unfinished, prepared);
  return added;
}

/** Handlers whose answers may be of any size: transports that can take them part by part do. */
export const longHandlers = {
  'visitors.export': visitorData.exportVisitor,
} as const;

export type LongOperation = keyof typeof longHandlers;

/** Whether an operation's answer may be of any size. */
export function isLong(name: OperationName): name is LongOperation {
  return name in longHandlers;
}

/** The same where the answer is wanted in memory. */
const exportWhole: Handler<'visitors.export'> = async (call, input) =>
  gathered<Output<'visitors.export'>>(await longHandlers['visitors.export'](call, input));

export const handlers: { readonly [N in OperationName]: Handler<N> } = {
  'conversations.create': preparesAndWrites(
    conversations.countNewConversation,
    conversations.createConversation,
    visitorScope,
  ),
  'conversations.list': reads(conversations.listConversations),
  'conversations.get': reads(conversations.getConversation),
  'conversations.read': writes(conversations.readConversation, conversationScope),
  'conversations.unread': history.countUnread,
  'messages.send': preparesAndWrites(messages.prepareMessage, messages.sendMessage, conversationScope),
  'messages.list': history.listMessages,
  'messages.edit': preparesAndWrites(messages.prepareMessage, messages.editMessage, conversationScope),
  'messages.delete': writes(messages.deleteMessage, conversationScope),
  'files.upload': files.uploadFile,
  'files.state': reads(files.readFileState),
  'visitor.get': preparesAndWrites(countNewVisitor, visitors.getVisitor, visitorScope),
  'visitor.update': async (call, input) => {
    const proof = await visitors.prepareNaming(call, input);
    return writeAs(
      call,
      visitorScope(call),
      (tx, current) => visitors.updateVisitor(tx, current, input, proof),
      proof !== null,
    );
  },
  'widget.token': async (call) => {
    const issue = await preparesAndWrites(
      countNewVisitor,
      visitors.issueVisitorToken,
      visitorScope,
    )(call, {});
    return issue();
  },
  'widget.config': visitors.widgetConfig,

  'session.create': sessions.signIn,
  'session.createLocal': writes(sessions.signInLocally),
  'session.createLink': writes(sessions.createSignInLink),
  'session.fromLink': sessions.signInByLink,
  'session.get': sessions.getSession,
  'session.delete': writes(sessions.signOut, memberScope),
  'session.secondFactor': secondFactorSignIn.completeSignIn,
  'password.forgot': passwordReset.forgotPassword,
  'password.reset': passwordReset.resetPassword,
  'session.setUpSecondFactor': secondFactorSignIn.setUpSecondFactor,
  'me.get': reads(ownAccount.getOwnAccount),
  'me.update': preparesAndWrites(ownAccount.prepareOwnPassword, ownAccount.updateOwnAccount),
  'totp.get': reads(ownSecondFactor.getTotp),
  'totp.begin': preparesAndWrites(ownSecondFactor.checkOwnPassword, ownSecondFactor.beginTotp, memberScope),
  'totp.confirm': preparesAndWrites(
    ownSecondFactor.countOwnAttempt,
    ownSecondFactor.confirmTotp,
    memberScope,
  ),
  'totp.disable': preparesAndWrites(
    ownSecondFactor.countOwnAttempt,
    ownSecondFactor.disableTotp,
    memberScope,
  ),
  'passkeys.list': reads(passkeys.listPasskeys),
  'passkeys.begin': preparesAndWrites(ownSecondFactor.checkOwnPassword, passkeys.beginPasskey, memberScope),
  'passkeys.add': passkeys.addPasskey,
  'passkeys.rename': writes(passkeys.renamePasskey, memberScope),
  'passkeys.remove': preparesAndWrites(ownSecondFactor.checkOwnPassword, passkeys.removePasskey, memberScope),
  'recoveryCodes.create': preparesAndWrites(
    ownSecondFactor.checkOwnPassword,
    ownSecondFactor.createRecoveryCodes,
    memberScope,
  ),
  'members.resetSecondFactor': writes(ownSecondFactor.resetSecondFactor),
  'members.signOut': writes(staffSessions.signOutMember),
  'sessions.list': reads(staffSessions.listSessions),
  'sessions.end': writes(staffSessions.endSession, memberScope),
  'tokens.create': writes(staffSessions.createToken, memberScope),
  'tokens.list': reads(staffSessions.listTokens),
  'tokens.revoke': writes(staffSessions.revokeToken, memberScope),
  'push.get': pushDevices.getPush,
  'push.add': preparesAndWrites(pushDevices.prepareDevice, pushDevices.addDevice, serverScope),
  'push.remove': writes(pushDevices.removeDevice, memberScope),
  'push.rotateKey': preparesAndWrites(
    ({ service }: CallOf<'push.rotateKey'>) => pushKeys.makePushKey(service),
    pushKeys.rotatePushKey,
    serverScope,
  ),
  'push.check': reads(pushKeys.checkPush),
  'notifications.get': reads(notificationPreferences.getNotifications),
  'notifications.update': writes(notificationPreferences.updateNotifications),
  'notifications.test': answers(testNotifications),
  'staff.token': answers(sessions.issueStaffToken),
  'staff.conversations.list': listQueue,
  'staff.conversations.get': reads(conversations.getStaffConversation),
  'staff.messages.list': history.listMessages,
  'staff.messages.send': preparesAndWrites(
    messages.prepareStaffMessage,
    messages.sendMessage,
    conversationScope,
  ),
  'staff.messages.edit': preparesAndWrites(
    messages.prepareStaffMessage,
    messages.editMessage,
    conversationScope,
  ),
  'staff.messages.delete': writes(messages.deleteMessage, conversationScope),
  'staff.files.upload': files.uploadFile,
  'staff.files.state': reads(files.readFileState),
  'staff.drafts.get': reads(drafts.getDraft),
  'staff.drafts.put': writes(drafts.putDraft, conversationScope),
  'staff.drafts.delete': writes(drafts.deleteDraft, conversationScope),
  'staff.conversations.accept': writes(conversations.acceptConversation, conversationScope),
  'staff.conversations.release': writes(conversations.releaseConversation, conversationScope),
  'staff.conversations.resolve': writes(conversations.resolveConversation, conversationScope),
  'staff.conversations.transfer': writes(conversations.transferConversation, conversationScope),
  'staff.conversations.read': writes(conversations.readConversation, conversationScope),
  'staff.conversations.update': writes(queueOrder.updateConversation, conversationScope),
  // A new name becomes a tag of the organization.
  'staff.conversations.tag': writes(tags.tagConversation),
  'staff.conversations.untag': writes(tags.untagConversation, conversationScope),
  'staff.conversations.snooze': writes(queueOrder.snoozeConversation, conversationScope),
  'staff.conversations.unsnooze': writes(queueOrder.unsnoozeConversation, conversationScope),
  'staff.conversations.reopen': writes(conversations.reopenConversation, conversationScope),
  'staff.conversations.unread': writes(queueOrder.unreadConversation, conversationScope),
  'staff.conversations.bulk': actOnMany,
  'tags.list': reads(tags.listTags),
  'tags.create': writes(tags.createTag),
  'tags.update': tags.renameTag,
  'tags.delete': tags.deleteTag,
  'views.list': reads(views.listViews),
  'views.counts': countViews,
  'views.create': writes(views.createView),
  'views.update': writes(views.updateView),
  'views.delete': writes(views.deleteView),
  'visitors.block': writes(blocks.blockVisitor),
  'visitors.unblock': writes(blocks.unblockVisitor),
  'blocks.list': reads(blocks.listBlocks),
  'blocks.create': writes(blocks.blockAddress),
  'blocks.remove': writes(blocks.removeBlock),
  'cannedReplies.list': reads(cannedReplies.listCannedReplies),
  'cannedReplies.create': preparesAndWrites(messages.prepareStaffMessage, cannedReplies.createCannedReply),
  'cannedReplies.update': preparesAndWrites(cannedReplies.prepareChange, cannedReplies.updateCannedReply),
  'cannedReplies.delete': writes(cannedReplies.deleteCannedReply),
  'staff.members.list': members.listColleagues,
  'staff.stats': organizationStats,
  'invitations.accept': invitations.acceptInvitation,

  'organizations.create': writes(organizations.createOrganization, serverScope),
  'organizations.list': reads(organizations.listOrganizations),
  'organizations.get': reads(organizations.getOrganization),
  'organizations.update': writes(organizations.updateOrganization, serverScope),
  'organizations.usage': organizations.organizationUsage,
  'organizations.stats': organizationStats,
  'organizations.delete': deletion.deleteOrganization,
  'applications.create': writes(applications.createApplication),
  'applications.list': reads(applications.listApplications),
  'applications.get': reads(applications.getApplication),
  'applications.update': writes(applications.updateApplication),
  'applications.preview': answers(applications.previewApplication),
  'applications.identitySecret': writes(applications.revealIdentitySecret),
  'applications.rotateIdentitySecret': writes(applications.rotateIdentitySecret),
  'applications.delete': deletion.deleteApplication,
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
  'members.update': async (call, input) =>
    inParts(members.updateMember(call, input, await hashNewPassword(call, input))),
  'members.list': reads(members.listMembers),
  'members.remove': (call, input) => inParts(members.removeMember(call, input)),

  'visitors.export': exportWhole,
  'visitors.erase': (call, input) => inParts(eraseVisitor(call, input)),
  'audit.list': listAudit,
  'retention.purge': (call, input) => purge(call.service, input, call),
  'email.get': reads(mailSettings.getMail),
  'email.update': writes(mailSettings.updateMail),
  'email.createKey': writes(mailSettings.createMailKey),
  'email.test': preparesAndWrites(mailSettings.countTestMail, mailSettings.testMail),
  'email.deliveries': deliveries.listMails,
  'email.receive': handIn,
  'email.stop': stopMail,
  'outbox.list': deliveries.listEffects,
  'outbox.replay': writes(deliveries.replayEffect),
  'conversations.transcript': preparesAndWrites(transcript.countTranscript, transcript.requestTranscript),
  'staff.conversations.transcript': transcript.getTranscript,
  'staff.conversations.sendTranscript': preparesAndWrites(
    transcript.countTranscript,
    transcript.requestTranscript,
  ),
  'webhooks.create': writes(webhooks.createWebhook),
  'webhooks.list': webhooks.listWebhooks,
  'webhooks.get': webhooks.getWebhook,
  'webhooks.update': preparesAndWrites(webhooks.countWaiting, webhooks.updateWebhook),
  'webhooks.delete': preparesAndWrites(webhooks.removeDeliveries, webhooks.deleteWebhook),
  'webhooks.reveal': preparesAndWrites(webhooks.countWaiting, webhooks.revealWebhook),
  'webhooks.rotate': preparesAndWrites(webhooks.countWaiting, webhooks.rotateWebhook),
  'webhooks.endOverlap': preparesAndWrites(webhooks.countWaiting, webhooks.endWebhookOverlap),
  'webhooks.test': writes(webhooks.testWebhook),
  'webhooks.deliveries': webhooks.listDeliveries,
  'webhooks.replay': writes(webhooks.replayDelivery),
  'knowledge.add': addToKnowledge,
  'knowledge.addFile': async (call, input) =>
    addToKnowledge(call, await knowledge.readDocumentFile(call, input)),
  'knowledge.crawl': async (call, input) => {
    const begun = await writes(crawls.beginCrawl)(call, input);
    wakeCrawls(call.service.engine);
    return begun;
  },
  'knowledge.crawls': reads(crawls.listCrawls),
  'knowledge.getCrawl': reads(crawls.getCrawl),
  'knowledge.cancelCrawl': async (call, input) => {
    const cancelled = await writes(crawls.cancelCrawl)(call, input);
    stopCrawl(call.service.engine, input.crawlId);
    return cancelled;
  },
  'knowledge.list': reads(knowledge.listDocuments),
  'knowledge.get': reads(knowledge.getDocument),
  'knowledge.remove': preparesAndWrites(knowledge.removePassages, knowledge.removeDocument),
  'knowledge.search': answers(knowledge.searchKnowledge),
  'knowledge.synonyms': reads(knowledge.getSynonyms),
  'knowledge.setSynonyms': writes(knowledge.setSynonyms),
  'knowledge.ask': answers(assistant.askKnowledge),
  'knowledge.gaps': learning.listGaps,
  'knowledge.keepReply': preparesAndWrites(learning.prepareReply, learning.keepReply),
  'knowledge.keepQuestion': writes(learning.keepQuestion),
  'knowledge.questions': reads(learning.listQuestions),
  'knowledge.forgetQuestion': writes(learning.forgetQuestion),
  'knowledge.settleGaps': writes(learning.settleGaps),
  'ai.answer': answers(assistant.answerVisitor),
  'staff.ai.reply': answers(assistant.draftReply),
  'staff.ai.rewrite': answers(assistant.rewriteText),
  'ai.log': listAiLog,
};
