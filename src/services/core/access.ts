// The only way to load a row for an actor. What does not exist and what belongs to another
// tenant or visitor give the same answer, so that no answer tells whether an id exists.
import { whenReady, type Soon } from '../../engine/engine.ts';
import type {
  CannedReplyRow,
  ApiKeyRow,
  ApplicationRow,
  ConversationWithVisitor,
  CrawlRow,
  EffectRow,
  KnowledgeDocumentRow,
  MemberRow,
  MessageWithSender,
  OrganizationRow,
  TagRow,
  ViewRow,
  VisitorRow,
  WebhookRow,
} from '../../engine/rows.ts';
import type { LocalActor, MemberActor, VisitorActor } from './actor.ts';
import { badField, notFound } from './errors.ts';
import { addressDigest } from '../auth/blocked.ts';
import { limitNewVisitors } from '../auth/rate-limits.ts';
import type { ReadTx, Tx, VisitorCall } from '../service.ts';

/**
 * A conversation that the caller may read: the visitor's own, or any of the member's organization.
 * @throws ServiceError not_found
 */
export function accessConversation(
  tx: ReadTx,
  actor: VisitorActor | MemberActor,
  conversationId: string,
): Soon<ConversationWithVisitor> {
  return whenReady(tx.repositories.conversations.byId(conversationId), (row) => readable(row, actor));
}

function readable(
  row: ConversationWithVisitor | undefined,
  actor: VisitorActor | MemberActor,
): ConversationWithVisitor {
  if (row === undefined || row.organization_id !== actor.organizationId)
    throw notFound('conversation', 'conversation');
  if (actor.kind === 'member') return row;
  const own =
    row.application_id === actor.applicationId &&
    row.mode === actor.mode &&
    row.visitor_id === actor.visitorId;
  if (!own) throw notFound('conversation', 'conversation');
  return row;
}

/**
 * A message of a conversation that the caller may read. Deleted ones, and notes for a visitor, are not there.
 * @throws ServiceError not_found
 */
export async function accessMessage(
  tx: ReadTx,
  actor: VisitorActor | MemberActor,
  conversationId: string,
  messageId: string,
): Promise<MessageWithSender> {
  const row = await findMessage(tx, actor, conversationId, messageId);
  if (row === undefined || row.deleted_at !== null) throw notFound('message', 'message');
  return row;
}

/** Like accessMessage, but a deleted message still has its place; undefined where there is nothing for the caller. */
export async function findMessage(
  tx: ReadTx,
  actor: VisitorActor | MemberActor,
  conversationId: string,
  messageId: string,
): Promise<MessageWithSender | undefined> {
  const row = await tx.repositories.messages.byId(messageId);
  if (row === undefined || row.conversation_id !== conversationId) return undefined;
  return actor.kind === 'visitor' && row.internal === 1 ? undefined : row;
}

/** The visitor's row, or undefined for one who has not written anything yet. */
export function findVisitor(tx: ReadTx, actor: VisitorActor): Promise<VisitorRow | undefined> {
  return tx.repositories.visitors.byVisitorId(actor.applicationId, actor.mode, actor.visitorId);
}

/**
 * Counts a visitor who is about to be made against their address. Asked before the transaction that makes the row;
 * what is counted stays counted, also where that transaction fails.
 * @throws ServiceError rate_limit_exceeded when one address makes too many visitors
 */
export async function countNewVisitor({ actor, service, address }: VisitorCall): Promise<void> {
  if (actor.via !== 'origin') return;
  const found = await service.engine.store.read((tx) => findVisitor(tx, actor));
  if (found === undefined) await limitNewVisitors(service, address);
}

/** The visitor's row, made on first use: `countNewVisitor` has let them pass. */
export async function getOrCreateVisitor(
  tx: Tx,
  { actor, service, address }: VisitorCall,
): Promise<VisitorRow> {
  const found = await findVisitor(tx, actor);
  // A backend calls for many visitors: its address says nothing of them.
  const digest =
    actor.via === 'origin' && address !== null ? addressDigest(service, actor.organizationId, address) : null;
  if (found !== undefined) {
    const moved = digest !== null && Buffer.compare(digest, found.address_digest ?? Buffer.alloc(0)) !== 0;
    if (moved) await tx.repositories.visitors.setAddressDigest(found.id, digest);
    return found;
  }
  const row: VisitorRow = {
    id: service.engine.clock.newId(),
    visitor_id: actor.visitorId,
    organization_id: actor.organizationId,
    application_id: actor.applicationId,
    mode: actor.mode,
    name: null,
    email: null,
    verified: 0,
    verified_fields: '',
    attributes: '{}',
    created_at: service.engine.clock.now(),
    address_digest: digest,
  };
  await tx.repositories.visitors.insert(row);
  return row;
}

/**
 * The organization that an owner means: a member's own, whatever is asked; the command line's by slug or id.
 * @throws ServiceError not_found, bad_request
 */
export async function accessOrganization(
  tx: ReadTx,
  actor: MemberActor | LocalActor,
  reference: string | undefined,
): Promise<OrganizationRow> {
  const { organizations } = tx.repositories;
  let row: OrganizationRow | undefined;
  if (reference !== undefined)
    row =
      (await organizations.bySlug(reference.toLowerCase())) ??
      (await organizations.byId(reference.toLowerCase()));
  else if (actor.kind === 'member') row = await organizations.byId(actor.organizationId);
  else throw badField('organization', 'is needed: the slug of an organization');
  if (row === undefined || (actor.kind === 'member' && row.id !== actor.organizationId))
    throw notFound('organization');
  return row;
}

/** @throws ServiceError not_found */
export async function accessApplication(
  tx: ReadTx,
  actor: MemberActor | LocalActor,
  id: string,
): Promise<ApplicationRow> {
  return ownRow(actor, await tx.repositories.applications.byId(id), 'application');
}

/** @throws ServiceError not_found */
export async function accessApiKey(
  tx: ReadTx,
  actor: MemberActor | LocalActor,
  id: string,
  applicationId: string | undefined,
): Promise<ApiKeyRow> {
  const row = ownRow(actor, await tx.repositories.apiKeys.byId(id), 'API key');
  if (applicationId !== undefined && row.application_id !== applicationId) throw notFound('API key');
  return row;
}

/** @throws ServiceError not_found */
export async function accessMember(
  tx: ReadTx,
  actor: MemberActor | LocalActor,
  id: string,
): Promise<MemberRow> {
  return ownRow(actor, await tx.repositories.members.byId(id), 'member');
}

/** @throws ServiceError not_found */
export async function accessCannedReply(tx: ReadTx, actor: MemberActor, id: string): Promise<CannedReplyRow> {
  return ownRow(actor, await tx.repositories.cannedReplies.byId(id), 'canned reply');
}

/** @throws ServiceError not_found */
export async function accessTag(tx: ReadTx, actor: MemberActor, id: string): Promise<TagRow> {
  return ownRow(actor, await tx.repositories.tags.byId(id), 'tag');
}

/** A shared view, or one of the member's own; a colleague's own is as if it were not there. @throws ServiceError not_found */
export async function accessView(tx: ReadTx, actor: MemberActor, id: string): Promise<ViewRow> {
  const row = ownRow(actor, await tx.repositories.views.byId(id), 'view');
  if (row.shared === 0 && row.created_by !== actor.memberId) throw notFound('view');
  return row;
}

/** @throws ServiceError not_found */
export async function accessWebhook(
  tx: ReadTx,
  actor: MemberActor | LocalActor,
  id: string,
): Promise<WebhookRow> {
  return ownRow(actor, await tx.repositories.webhooks.byId(id), 'webhook');
}

/** @throws ServiceError not_found */
export async function accessKnowledgeDocument(
  tx: ReadTx,
  actor: MemberActor | LocalActor,
  id: string,
): Promise<KnowledgeDocumentRow> {
  return ownRow(actor, await tx.repositories.knowledge.byId(id), 'document');
}

/** @throws ServiceError not_found */
export async function accessCrawl(
  tx: ReadTx,
  actor: MemberActor | LocalActor,
  id: string,
): Promise<CrawlRow> {
  return ownRow(actor, await tx.repositories.crawls.byId(id), 'crawl');
}

/** @throws ServiceError not_found */
export async function accessEffect(
  tx: ReadTx,
  actor: MemberActor | LocalActor,
  id: string,
): Promise<EffectRow> {
  return ownRow(actor, await tx.repositories.effects.byId(id), 'effect');
}

/** The row, unless it is not there or another organization's. @throws ServiceError not_found */
export function ownRow<R extends { organization_id: string }>(
  actor: MemberActor | LocalActor,
  row: R | undefined,
  what: string,
): R {
  if (row === undefined || (actor.kind === 'member' && row.organization_id !== actor.organizationId))
    throw notFound(what);
  return row;
}
