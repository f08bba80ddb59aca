// What staff change about a conversation besides who has it: priority, subject, snooze, their own read position. Staff
// alone hear of it, by `conversation:changed`; a visitor notices nothing but the subject.
import { queueLimits } from '../../protocol/codes.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { ConversationRow } from '../../engine/rows.ts';
import { accessConversation, findMessage } from '../core/access.ts';
import { badField, notFound } from '../core/errors.ts';
import type { MemberCall, Tx } from '../service.ts';
import { conflictError } from './assignment.ts';
import { emitChanged, wakeConversation } from './conversation-events.ts';
import { assertMayChange, getStaffConversation } from './conversations.ts';

/** What is left out stays; what is the same already is no change. @throws ServiceError not_found */
export async function updateConversation(
  tx: Tx,
  call: MemberCall,
  input: Input<'staff.conversations.update'>,
): Promise<Output<'staff.conversations.update'>> {
  const conversation = await accessConversation(tx, call.actor, input.conversationId);
  const { priority = conversation.priority, subject = conversation.subject } = input;
  const { conversations } = tx.repositories;
  if (priority !== conversation.priority) await conversations.setPriority(conversation.id, priority);
  if (subject !== conversation.subject)
    await conversations.setSubject(conversation.id, subject, call.service.engine.clock.now());
  if (priority !== conversation.priority || subject !== conversation.subject)
    await emitChanged(tx, conversation, call.actor.memberId, { priority, subject });
  return getStaffConversation(tx, call, input);
}

/**
 * Leaves a conversation out of the queue until a time, or until its visitor writes. Its status stays.
 * @throws ServiceError not_found, forbidden, conflict (it is closed), bad_request (a time that is over, or too far off)
 */
export async function snoozeConversation(
  tx: Tx,
  call: MemberCall,
  input: Input<'staff.conversations.snooze'>,
): Promise<Output<'staff.conversations.snooze'>> {
  const conversation = await accessConversation(tx, call.actor, input.conversationId);
  if (conversation.status === 'closed') throw conflictError(conversation, 'snoozed');
  assertMayChangeOrPending(call, conversation, 'snooze');
  const until = Date.parse(input.until);
  const now = call.service.engine.clock.now();
  if (!(until > now)) throw badField('until', 'must be in the future');
  if (until > now + queueLimits.snoozeMs) throw badField('until', 'must be within a year');
  if (until !== conversation.snoozed_until) {
    if ((await tx.repositories.conversations.snooze(conversation.id, until)) === 0)
      throw conflictError({ ...conversation, status: 'closed' }, 'snoozed');
    await emitChanged(tx, conversation, call.actor.memberId, { snoozed_until: until });
  }
  return getStaffConversation(tx, call, input);
}

/** Puts it back into the queue; one that is in it stays. @throws ServiceError not_found, forbidden */
export async function unsnoozeConversation(
  tx: Tx,
  call: MemberCall,
  input: Input<'staff.conversations.unsnooze'>,
): Promise<Output<'staff.conversations.unsnooze'>> {
  const conversation = await accessConversation(tx, call.actor, input.conversationId);
  if (conversation.snoozed_until !== null) {
    assertMayChangeOrPending(call, conversation, 'wake');
    await wakeConversation(tx, conversation, call.actor.memberId);
  }
  return getStaffConversation(tx, call, input);
}

/** What waits for every member may be put off by every member; what one of them has, by that one or an admin. */
function assertMayChangeOrPending(call: MemberCall, conversation: ConversationRow, act: string): void {
  if (conversation.assigned_to !== null) assertMayChange(call, conversation, act);
}

/**
 * Moves the caller's own read position back to before a message; one that is further back already stays. Visitors hear
 * nothing of it.
 * @throws ServiceError not_found; bad_request where nothing would be unread
 */
export async function unreadConversation(
  tx: Tx,
  call: MemberCall,
  input: Input<'staff.conversations.unread'>,
): Promise<Output<'staff.conversations.unread'>> {
  const { actor } = call;
  const conversation = await accessConversation(tx, actor, input.conversationId);
  let from = conversation.last_visitor_seq;
  if (input.messageId !== undefined) {
    const message = await findMessage(tx, actor, conversation.id, input.messageId);
    if (message === undefined) throw notFound('message', 'message');
    from = message.seq;
  }
  if (from === 0 || from > conversation.last_visitor_seq)
    throw badField('messageId', 'must be a message of the visitor, or one before it: only those are unread');
  await tx.repositories.participants.unread(conversation.id, actor.memberId, from);
  return getStaffConversation(tx, call, input);
}
