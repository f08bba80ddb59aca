// The rules of conversations: open, list, read positions, and the operators' acts.
// Each act is one guarded update, so that of several at once exactly one wins.
import type { Input, Output } from '../protocol/operations.ts';
import type { ConversationRow, ConversationWithVisitor } from '../engine/rows.ts';
import { accessConversation, accessMember, ensureVisitor, findVisitor, placeOfMessage } from './access.ts';
import { userId } from './actor.ts';
import { conversationAudience, messageAudience } from './audience.ts';
import { unstorable } from '../text/text.ts';
import { badField, Failure, notFound, rateLimited } from './failure.ts';
import { countNewcomer } from './limiting.ts';
import { eventBase } from './messages.ts';
import {
  presentConversation,
  presentConversationListItem,
  presentNewConversation,
  presentQueueItem,
  presentStaffConversation,
} from './present.ts';
import { searchQuery } from './search.ts';
import type { MemberCall, ParticipantCall, ReadTx, Tx, VisitorCall } from './service.ts';

/**
 * Opens a conversation. The same idempotency key again answers the first one.
 * @throws Failure rate_limit_exceeded (too many new or pending ones), bad_request
 */
export async function createConversation(
  tx: Tx,
  call: VisitorCall,
  input: Input<'conversations.create'>,
): Promise<Output<'conversations.create'>> {
  const { actor, service } = call;
  if (input.subject !== undefined && unstorable(input.subject) !== null) throw badField('subject', 'holds characters that are no text');
  const { row: visitor, isNew } = await ensureVisitor(tx, call);
  if (input.idempotencyKey !== undefined) {
    const earlier = await tx.tables.conversations.byIdempotencyKey(visitor.id, input.idempotencyKey);
    if (earlier !== undefined) return getConversation(tx, call, { conversationId: earlier });
  }
  if (actor.via === 'origin' && !isNew) countNewcomer(service, call.address);
  const most = service.settings.maxPendingPerVisitor;
  if ((await tx.tables.conversations.countPending(visitor.id)) >= most)
    throw rateLimited(
      'per_visitor',
      [],
      { limit: most, windowMs: 60_000 },
      60_000,
      `${most} conversations are waiting for an operator already`,
    );
  const now = service.engine.clock.now();
  const row: ConversationRow = {
    id: service.engine.clock.newId(),
    organization_id: actor.organizationId,
    application_id: actor.applicationId,
    visitor_key: visitor.id,
    mode: actor.mode,
    status: 'pending',
    subject: input.subject ?? null,
    assigned_to: null,
    resolved_by: null,
    resolved_at: null,
    last_seq: 0,
    waiting_since: now,
    first_response_at: null,
    idempotency_key: input.idempotencyKey ?? null,
    assistant_muted_at: null,
    created_at: now,
    updated_at: now,
  };
  await tx.tables.conversations.insert(row);
  await tx.tables.participants.join({
    conversation_id: row.id,
    user_id: actor.visitorId,
    role: 'visitor',
    joined_at: now,
    left_at: null,
  });
  await tx.emit({
    ...eventBase({ ...row, visitor_id: visitor.visitor_id, visitor_name: visitor.name }, actor),
    type: 'conversation:new',
    audience: conversationAudience['conversation:new'],
    payload: presentNewConversation(row),
  });
  return getConversation(tx, call, { conversationId: row.id });
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
  const rows = await tx.tables.conversations.ofVisitor(visitor.id, limit, offset);
  const total = await tx.tables.conversations.countOfVisitor(visitor.id);
  return { conversations: rows.map(presentConversationListItem), total, limit, offset };
}

/** @throws Failure not_found */
export async function getConversation(
  tx: ReadTx,
  { actor }: VisitorCall,
  input: { conversationId: string },
): Promise<Output<'conversations.get'>> {
  const row = await accessConversation(tx, actor, input.conversationId);
  return { conversation: presentConversation(row, await tx.tables.participants.present(row.id)) };
}

/**
 * Moves the caller's read position forward; an older message changes nothing.
 * @throws Failure not_found for a message that is not of this conversation
 */
export async function readConversation(tx: Tx, call: ParticipantCall, input: Input<'conversations.read'>): Promise<{ success: true }> {
  const { actor } = call;
  const conversation = await accessConversation(tx, actor, input.conversationId);
  const message = await placeOfMessage(tx, actor, conversation.id, input.messageId);
  if (message === undefined) throw notFound('message', 'message');
  const reader = userId(actor);
  if ((await tx.tables.participants.get(conversation.id, reader)) === undefined) {
    // A member who reads along without taking part: a position, but no participant.
    const now = call.service.engine.clock.now();
    await tx.tables.participants.join({
      conversation_id: conversation.id,
      user_id: reader,
      role: 'operator',
      joined_at: now,
      left_at: now,
    });
  }
  const moved = await tx.tables.participants.read({
    conversation_id: conversation.id,
    user_id: reader,
    message_id: message.id,
    seq: message.seq,
  });
  if (moved > 0) {
    await tx.emit({
      ...eventBase(conversation, actor),
      type: 'conversation:read',
      audience: messageAudience(message),
      message_id: message.id,
      payload: { conversationId: conversation.id, userId: reader, messageId: message.id },
    });
  }
  return { success: true };
}

/** How many messages of staff the visitor has not read. */
export async function countUnread(
  tx: ReadTx,
  { actor }: VisitorCall,
  input: { conversationId: string },
): Promise<Output<'conversations.unread'>> {
  const conversation = await accessConversation(tx, actor, input.conversationId);
  const reader = await tx.tables.participants.get(conversation.id, actor.visitorId);
  return { unreadCount: await tx.tables.messages.unreadByVisitor(conversation.id, reader?.last_read_seq ?? 0) };
}

/** The operators' queue. */
export async function listQueue(
  tx: ReadTx,
  { actor }: MemberCall,
  input: Input<'staff.conversations.list'>,
): Promise<Output<'staff.conversations.list'>> {
  const { limit, offset } = input;
  const filter = {
    organizationId: actor.organizationId,
    mode: input.mode === 'all' ? undefined : input.mode,
    visitorOf: input.visitorOf,
    status: input.status,
    applicationId: input.applicationId,
    text: input.q,
    matching: await searchMessages(tx, actor.organizationId, input.q),
    assignedTo: input.assignedTo === 'me' ? actor.memberId : input.assignedTo === 'none' ? null : input.assignedTo,
  };
  const rows = await tx.tables.conversations.queue(filter, actor.memberId, limit, offset);
  return { conversations: rows.map(presentQueueItem), total: await tx.tables.conversations.countQueue(filter), limit, offset };
}

const mostMatches = 5_000;

async function searchMessages(tx: ReadTx, organizationId: string, text: string | undefined): Promise<string[]> {
  const query = text === undefined ? null : searchQuery(text);
  return query === null ? [] : tx.tables.search.conversations(query, organizationId, mostMatches);
}

/** @throws Failure not_found */
export async function getStaffConversation(
  tx: ReadTx,
  { actor }: MemberCall,
  input: { conversationId: string },
): Promise<Output<'staff.conversations.get'>> {
  const row = await tx.tables.conversations.queueItem(actor.organizationId, input.conversationId, actor.memberId);
  if (row === undefined) throw notFound('conversation', 'conversation');
  return { conversation: presentStaffConversation(row, await tx.tables.participants.present(row.id)) };
}

/** 409 with the state as it now is, so that the loser of a race knows who won. */
function stateConflict(conversation: ConversationRow, act: string): Failure {
  return new Failure('conflict', `The conversation is ${conversation.status}, so it can't be ${act}.`, {
    state: { status: conversation.status, assignedTo: conversation.assigned_to },
  });
}

/** @throws Failure forbidden unless the conversation is the caller's or the caller is an admin */
function assertMayAct({ actor }: MemberCall, conversation: ConversationRow, act: string): void {
  if (actor.role === 'admin' || conversation.assigned_to === actor.memberId) return;
  throw new Failure('forbidden', `Only the operator who has the conversation, or an admin, may ${act} it.`, { about: 'conversation' });
}

/**
 * pending → active: the caller is assigned and takes part.
 * @throws Failure not_found, conflict
 */
export async function acceptConversation(
  tx: Tx,
  call: MemberCall,
  input: { conversationId: string },
): Promise<Output<'staff.conversations.accept'>> {
  const conversation = await accessConversation(tx, call.actor, input.conversationId);
  const now = call.service.engine.clock.now();
  if ((await tx.tables.conversations.accept(conversation.id, call.actor.memberId, now)) === 0)
    throw stateConflict(conversation, 'accepted');
  await assign(tx, call, conversation, call.actor.memberId, call.actor.name, now);
  return getStaffConversation(tx, call, input);
}

async function assign(
  tx: Tx,
  call: MemberCall,
  conversation: ConversationWithVisitor,
  memberId: string,
  name: string,
  now: number,
): Promise<void> {
  await tx.tables.participants.join({
    conversation_id: conversation.id,
    user_id: memberId,
    role: 'operator',
    joined_at: now,
    left_at: null,
  });
  await tx.emit({
    ...eventBase(conversation, call.actor),
    type: 'conversation:accepted',
    audience: conversationAudience['conversation:accepted'],
    member_id: memberId,
    payload: { conversationId: conversation.id, assignedTo: memberId, assignedToName: name },
  });
}

async function unassign(tx: Tx, call: MemberCall, conversation: ConversationWithVisitor, now: number): Promise<void> {
  if (conversation.assigned_to !== null) await tx.tables.participants.leave(conversation.id, conversation.assigned_to, now);
  await tx.emit({
    ...eventBase(conversation, call.actor),
    type: 'conversation:released',
    audience: conversationAudience['conversation:released'],
    payload: { conversationId: conversation.id },
  });
}

/**
 * active → pending.
 * @throws Failure not_found, conflict, forbidden
 */
export async function releaseConversation(
  tx: Tx,
  call: MemberCall,
  input: { conversationId: string },
): Promise<Output<'staff.conversations.release'>> {
  const conversation = await accessConversation(tx, call.actor, input.conversationId);
  if (conversation.status !== 'active') throw stateConflict(conversation, 'released');
  assertMayAct(call, conversation, 'release');
  const now = call.service.engine.clock.now();
  await tx.tables.conversations.release(conversation.id, conversation.waiting_since ?? now, now);
  await unassign(tx, call, conversation, now);
  return getStaffConversation(tx, call, input);
}

/**
 * pending or active → closed; who resolved it is recorded.
 * @throws Failure not_found, conflict, forbidden
 */
export async function resolveConversation(
  tx: Tx,
  call: MemberCall,
  input: { conversationId: string },
): Promise<Output<'staff.conversations.resolve'>> {
  const conversation = await accessConversation(tx, call.actor, input.conversationId);
  if (conversation.status === 'closed') throw stateConflict(conversation, 'resolved');
  assertMayAct(call, conversation, 'resolve');
  await tx.tables.conversations.resolve(conversation.id, call.actor.memberId, call.service.engine.clock.now());
  await tx.emit({
    ...eventBase(conversation, call.actor),
    type: 'conversation:resolved',
    audience: conversationAudience['conversation:resolved'],
    payload: { conversationId: conversation.id, resolvedBy: call.actor.memberId },
  });
  return getStaffConversation(tx, call, input);
}

/**
 * Hands an active conversation to another member. To the one who has it already: nothing changes.
 * @throws Failure not_found (conversation or member), conflict, forbidden, bad_request (a disabled member)
 */
export async function transferConversation(
  tx: Tx,
  call: MemberCall,
  input: Input<'staff.conversations.transfer'>,
): Promise<Output<'staff.conversations.transfer'>> {
  const conversation = await accessConversation(tx, call.actor, input.conversationId);
  const member = await accessMember(tx, call.actor, input.memberId);
  if (conversation.status !== 'active') throw stateConflict(conversation, 'transferred');
  assertMayAct(call, conversation, 'transfer');
  if (member.disabled_at !== null) throw badField('memberId', 'is a member who is disabled');
  if (member.id !== conversation.assigned_to) {
    const now = call.service.engine.clock.now();
    await tx.tables.conversations.transfer(conversation.id, member.id, now);
    await unassign(tx, call, conversation, now);
    await assign(tx, call, conversation, member.id, member.name, now);
  }
  return getStaffConversation(tx, call, input);
}
