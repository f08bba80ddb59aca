// Handlers of conversations: open, list, read positions, and the operators' acts, which assignment.ts guards.
import type { Input, Output } from '../../protocol/operations.ts';
import type { ConversationRow, VisitorRow } from '../../engine/rows.ts';
import {
  accessConversation,
  accessMember,
  getOrCreateVisitor,
  findVisitor,
  findMessage,
} from '../core/access.ts';
import { userId } from '../core/actor.ts';
import { conversationAudience, messageAudience } from '../core/audience.ts';
import { badField, ServiceError, notFound, rateLimited } from '../core/errors.ts';
import { limitNewVisitors } from '../auth/rate-limits.ts';
import { conversationEvent } from './conversation-events.ts';
import { accept, conflictError, releaseOrThrow, reopen, resolve, transfer } from './assignment.ts';
import {
  serializeConversation,
  serializeConversationListItem,
  serializeNewConversation,
  serializeStaffConversation,
} from '../core/serializers.ts';
import type { MemberCall, ParticipantCall, ReadTx, Service, Tx, VisitorCall } from '../service.ts';

/**
 * Counts a conversation that is about to be opened against the visitor's address, once for a new visitor's first too.
 * The repetition of an idempotency key counts nothing.
 * @throws ServiceError rate_limit_exceeded
 */
export async function countNewConversation(
  { actor, service, address }: VisitorCall,
  { idempotencyKey }: Pick<Input<'conversations.create'>, 'idempotencyKey'>,
): Promise<void> {
  if (actor.via !== 'origin') return;
  const earlier =
    idempotencyKey !== undefined &&
    (await service.engine.store.read(async (tx) => {
      const visitor = await findVisitor(tx, actor);
      return visitor && tx.repositories.conversations.byIdempotencyKey(visitor.id, idempotencyKey);
    }));
  if (earlier === false || earlier === undefined) await limitNewVisitors(service, address);
}

/**
 * Opens a conversation. The same idempotency key again answers the first one.
 * @throws ServiceError rate_limit_exceeded (too many pending ones), bad_request
 */
export async function createConversation(
  tx: Tx,
  call: VisitorCall,
  input: Input<'conversations.create'>,
): Promise<Output<'conversations.create'>> {
  const { service } = call;
  const visitor = await getOrCreateVisitor(tx, call);
  if (input.idempotencyKey !== undefined) {
    const earlier = await tx.repositories.conversations.byIdempotencyKey(visitor.id, input.idempotencyKey);
    if (earlier !== undefined) return getConversation(tx, call, { conversationId: earlier });
  }
  const max = service.settings.maxPendingPerVisitor;
  if ((await tx.repositories.conversations.countPending(visitor.id)) >= max)
    throw rateLimited(
      'per_visitor',
      [],
      { limit: max, windowMs: 60_000 },
      60_000,
      `${max} conversations are waiting for an operator already`,
    );
  const row = await openConversation(tx, service, visitor, {
    subject: input.subject ?? null,
    idempotencyKey: input.idempotencyKey ?? null,
    channel: null,
    continues: null,
  });
  return getConversation(tx, call, { conversationId: row.id });
}

/** How a conversation begins. */
interface NewConversation {
  readonly subject: string | null;
  readonly idempotencyKey: string | null;
  readonly channel: ConversationRow['channel'];
  readonly continues: string | null;
}

/** Opens a conversation of a visitor, and tells staff. Whether they may have one more is the caller's to check. */
export async function openConversation(
  tx: Tx,
  service: Service,
  visitor: VisitorRow,
  { subject, idempotencyKey, channel, continues }: NewConversation,
): Promise<ConversationRow> {
  const now = service.engine.clock.now();
  const row: ConversationRow = {
    id: service.engine.clock.newId(),
    organization_id: visitor.organization_id,
    application_id: visitor.application_id,
    visitor_key: visitor.id,
    mode: visitor.mode,
    status: 'pending',
    subject,
    assigned_to: null,
    resolved_by: null,
    resolved_at: null,
    last_seq: 0,
    waiting_since: now,
    first_response_at: null,
    idempotency_key: idempotencyKey,
    assistant_muted_at: null,
    priority: 'normal',
    snoozed_until: null,
    last_visitor_seq: 0,
    channel,
    continues,
    mail_stopped_at: null,
    created_at: now,
    updated_at: now,
  };
  await tx.repositories.conversations.insert(row);
  await tx.repositories.participants.join({
    conversation_id: row.id,
    user_id: visitor.visitor_id,
    role: 'visitor',
    joined_at: now,
    left_at: null,
  });
  await tx.emit({
    ...conversationEvent(
      { ...row, visitor_id: visitor.visitor_id, visitor_name: visitor.name },
      visitor.visitor_id,
    ),
    type: 'conversation:new',
    audience: conversationAudience['conversation:new'],
    payload: serializeNewConversation(row),
  });
  return row;
}

/** The visitor's own conversations, most recently updated first. */
export async function listConversations(
  tx: ReadTx,
  { actor }: VisitorCall,
  input: Input<'conversations.list'>,
): Promise<Output<'conversations.list'>> {
  const { limit, offset } = input;
  const visitor = await findVisitor(tx, actor);
  if (visitor === undefined) return { conversations: [], total: 0, limit, offset };
  const rows = await tx.repositories.conversations.ofVisitor(visitor.id, limit, offset);
  const total = await tx.repositories.conversations.countOfVisitor(visitor.id);
  return { conversations: rows.map(serializeConversationListItem), total, limit, offset };
}

/** @throws ServiceError not_found */
export async function getConversation(
  tx: ReadTx,
  { actor }: VisitorCall,
  input: { conversationId: string },
): Promise<Output<'conversations.get'>> {
  const row = await accessConversation(tx, actor, input.conversationId);
  return { conversation: serializeConversation(row, await tx.repositories.participants.present(row.id)) };
}

/**
 * Moves the caller's read position forward; an older message changes nothing.
 * @throws ServiceError not_found for a message that is not of this conversation
 */
export async function readConversation(
  tx: Tx,
  call: ParticipantCall,
  input: Input<'conversations.read'>,
): Promise<{ success: true }> {
  const { actor } = call;
  const conversation = await accessConversation(tx, actor, input.conversationId);
  const message = await findMessage(tx, actor, conversation.id, input.messageId);
  if (message === undefined) throw notFound('message', 'message');
  const reader = userId(actor);
  if ((await tx.repositories.participants.get(conversation.id, reader)) === undefined) {
    // A member who reads along without taking part: a position, but no participant.
    const now = call.service.engine.clock.now();
    await tx.repositories.participants.join({
      conversation_id: conversation.id,
      user_id: reader,
      role: 'operator',
      joined_at: now,
      left_at: now,
    });
  }
  const moved = await tx.repositories.participants.read({
    conversation_id: conversation.id,
    user_id: reader,
    message_id: message.id,
    seq: message.seq,
  });
  if (moved > 0) {
    await tx.emit({
      ...conversationEvent(conversation, reader),
      type: 'conversation:read',
      audience: messageAudience(message),
      message_id: message.id,
      // Of a visitor it says nothing: they choose their own id, which may be a member's.
      member_id: actor.kind === 'member' ? actor.memberId : null,
      payload: { conversationId: conversation.id, userId: reader, messageId: message.id },
    });
  }
  return { success: true };
}

/** @throws ServiceError not_found */
export async function getStaffConversation(
  tx: ReadTx,
  { actor }: MemberCall,
  input: { conversationId: string },
): Promise<Output<'staff.conversations.get'>> {
  const row = await tx.repositories.conversations.queueItem(
    actor.organizationId,
    input.conversationId,
    actor.memberId,
  );
  if (row === undefined) throw notFound('conversation', 'conversation');
  return {
    conversation: serializeStaffConversation(row, await tx.repositories.participants.present(row.id)),
  };
}

/** @throws ServiceError forbidden unless the conversation is the caller's or the caller is an admin */
export function assertMayChange({ actor }: MemberCall, conversation: ConversationRow, act: string): void {
  if (actor.role === 'admin' || conversation.assigned_to === actor.memberId) return;
  throw new ServiceError(
    'forbidden',
    `Only the operator who has the conversation, or an admin, may ${act} it.`,
    { resource: 'conversation' },
  );
}

/**
 * pending → active: the caller is assigned and takes part.
 * @throws ServiceError not_found, conflict
 */
export async function acceptConversation(
  tx: Tx,
  call: MemberCall,
  input: { conversationId: string },
): Promise<Output<'staff.conversations.accept'>> {
  const conversation = await accessConversation(tx, call.actor, input.conversationId);
  const { memberId: id, name } = call.actor;
  await accept(tx, call.service, conversation, { id, name });
  return getStaffConversation(tx, call, input);
}

/**
 * active → pending.
 * @throws ServiceError not_found, conflict, forbidden
 */
export async function releaseConversation(
  tx: Tx,
  call: MemberCall,
  input: { conversationId: string },
): Promise<Output<'staff.conversations.release'>> {
  const conversation = await accessConversation(tx, call.actor, input.conversationId);
  if (conversation.status !== 'active') throw conflictError(conversation, 'released');
  assertMayChange(call, conversation, 'release');
  await releaseOrThrow(tx, call.service, conversation, call.actor.memberId);
  return getStaffConversation(tx, call, input);
}

/**
 * pending or active → closed; who resolved it is recorded.
 * @throws ServiceError not_found, conflict, forbidden
 */
export async function resolveConversation(
  tx: Tx,
  call: MemberCall,
  input: { conversationId: string },
): Promise<Output<'staff.conversations.resolve'>> {
  const conversation = await accessConversation(tx, call.actor, input.conversationId);
  if (conversation.status === 'closed') throw conflictError(conversation, 'resolved');
  assertMayChange(call, conversation, 'resolve');
  await resolve(tx, call.service, conversation, call.actor.memberId);
  return getStaffConversation(tx, call, input);
}

/**
 * closed → active: the caller is assigned and takes part.
 * @throws ServiceError not_found, conflict
 */
export async function reopenConversation(
  tx: Tx,
  call: MemberCall,
  input: { conversationId: string },
): Promise<Output<'staff.conversations.reopen'>> {
  const conversation = await accessConversation(tx, call.actor, input.conversationId);
  const { memberId: id, name } = call.actor;
  await reopen(tx, call.service, conversation, { id, name });
  return getStaffConversation(tx, call, input);
}

/**
 * Hands an active conversation to another member. To the one who has it already: nothing changes.
 * @throws ServiceError not_found (conversation or member), conflict, forbidden, bad_request (a disabled member)
 */
export async function transferConversation(
  tx: Tx,
  call: MemberCall,
  input: Input<'staff.conversations.transfer'>,
): Promise<Output<'staff.conversations.transfer'>> {
  const conversation = await accessConversation(tx, call.actor, input.conversationId);
  const member = await accessMember(tx, call.actor, input.memberId);
  if (conversation.status !== 'active') throw conflictError(conversation, 'transferred');
  assertMayChange(call, conversation, 'transfer');
  if (member.disabled_at !== null) throw badField('memberId', 'is a member who is disabled');
  if (member.id !== conversation.assigned_to) {
    await transfer(tx, call.service, conversation, member, call.actor.memberId);
  }
  return getStaffConversation(tx, call, input);
}
