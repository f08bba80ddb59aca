// Who has a conversation, and that it is closed. Each change is one update that matches only the state on which
// it was decided, so that of several at once exactly one wins; the others get 409 with the state as it is now.
import type { ConversationRow, ConversationWithVisitor } from '../../engine/rows.ts';
import { conversationAudience } from '../core/audience.ts';
import { ServiceError } from '../core/errors.ts';
import type { Service, Tx } from '../service.ts';
import { conversationEvent, emitChanged } from './conversation-events.ts';

/** The member who gets a conversation. */
export interface Assignee {
  readonly id: string;
  readonly name: string;
}

type EngineOf = Pick<Service, 'engine'>;

/**
 * 409 with the current state, so that the loser of a race knows who won.
 * @param act as in "it can't be accepted"
 */
export function conflictError(conversation: ConversationRow, act: string): ServiceError {
  return new ServiceError('conflict', `The conversation is ${conversation.status}, so it can't be ${act}.`, {
    state: { status: conversation.status, assignedTo: conversation.assigned_to },
  });
}

/**
 * The conflict of an update that matched nothing: the conversation is not, or no longer, as the act needs it.
 * @param from the status that the act starts from
 */
async function lostRace(
  tx: Tx,
  conversation: ConversationRow,
  from: ConversationRow['status'],
  act: string,
): Promise<ServiceError> {
  const current = (await tx.repositories.conversations.byId(conversation.id)) ?? conversation;
  if (current.status !== from) return conflictError(current, act);
  return new ServiceError(
    'conflict',
    `The conversation was assigned to someone else, so it can't be ${act}.`,
    {
      state: { status: current.status, assignedTo: current.assigned_to },
    },
  );
}

/**
 * pending → active: the member is assigned and takes part.
 * @throws ServiceError conflict
 */
export async function accept(
  tx: Tx,
  { engine: { clock } }: EngineOf,
  conversation: ConversationWithVisitor,
  assignee: Assignee,
): Promise<void> {
  const now = clock.now();
  const changed = await tx.repositories.conversations.accept(conversation.id, assignee.id, now);
  if (changed === 0) throw await lostRace(tx, conversation, 'pending', 'accepted');
  await join(tx, conversation, assignee, assignee.id, now);
  await tellAwake(tx, conversation, assignee.id);
}

/**
 * closed → active: the member is assigned and takes part. It counts as resolved no longer.
 * @throws ServiceError conflict
 */
export async function reopen(
  tx: Tx,
  { engine: { clock } }: EngineOf,
  conversation: ConversationWithVisitor,
  assignee: Assignee,
): Promise<void> {
  if (conversation.status !== 'closed') throw conflictError(conversation, 'reopened');
  const now = clock.now();
  const changed = await tx.repositories.conversations.reopen(conversation.id, assignee.id, now);
  if (changed === 0) throw await lostRace(tx, conversation, 'closed', 'reopened');
  if (conversation.assigned_to !== null && conversation.assigned_to !== assignee.id)
    await tx.repositories.participants.leave(conversation.id, conversation.assigned_to, now);
  await tx.emit({
    ...conversationEvent(conversation, assignee.id),
    type: 'conversation:reopened',
    audience: conversationAudience['conversation:reopened'],
    payload: { conversationId: conversation.id, reopenedBy: assignee.id },
  });
  await join(tx, conversation, assignee, assignee.id, now);
}

/** Who accepts, gives back, hands over or resolves has ended the snooze in the same update. */
async function tellAwake(tx: Tx, conversation: ConversationWithVisitor, actorId: string): Promise<void> {
  if (conversation.snoozed_until !== null)
    await emitChanged(tx, conversation, actorId, { snoozed_until: null });
}

/**
 * active → pending, if it is still assigned to whom it was. For an operator's release, and for the conversations of a
 * member who is absent, disabled or removed.
 * @param actorId who releases it
 * @returns false when the conversation has changed since it was read; nothing was done then
 */
export async function release(
  tx: Tx,
  { engine: { clock } }: EngineOf,
  conversation: ConversationWithVisitor,
  actorId: string,
): Promise<boolean> {
  const { id, assigned_to: assignedTo } = conversation;
  const now = clock.now();
  if (assignedTo === null) return false;
  if ((await tx.repositories.conversations.release(id, assignedTo, now)) === 0) return false;
  await leave(tx, conversation, assignedTo, actorId, now);
  await tellAwake(tx, conversation, actorId);
  return true;
}

/**
 * Hands an active conversation to another member.
 * @throws ServiceError conflict
 */
export async function transfer(
  tx: Tx,
  { engine: { clock } }: EngineOf,
  conversation: ConversationWithVisitor,
  assignee: Assignee,
  actorId: string,
): Promise<void> {
  const { id, assigned_to: assignedTo } = conversation;
  const now = clock.now();
  const changed =
    assignedTo === null ? 0 : await tx.repositories.conversations.transfer(id, assignedTo, assignee.id, now);
  if (assignedTo === null || changed === 0) throw await lostRace(tx, conversation, 'active', 'transferred');
  await leave(tx, conversation, assignedTo, actorId, now);
  await join(tx, conversation, assignee, actorId, now);
  await tellAwake(tx, conversation, actorId);
}

/**
 * pending or active → closed; who resolved it is recorded.
 * @throws ServiceError conflict
 */
export async function resolve(
  tx: Tx,
  { engine: { clock } }: EngineOf,
  conversation: ConversationWithVisitor,
  actorId: string,
): Promise<void> {
  const changed = await tx.repositories.conversations.resolve(conversation, actorId, clock.now());
  if (changed === 0) throw await lostRace(tx, conversation, 'active', 'resolved');
  await tx.emit({
    ...conversationEvent(conversation, actorId),
    type: 'conversation:resolved',
    audience: conversationAudience['conversation:resolved'],
    payload: { conversationId: conversation.id, resolvedBy: actorId },
  });
  await tellAwake(tx, conversation, actorId);
}

/**
 * The operator's release.
 * @throws ServiceError conflict
 */
export async function releaseOrThrow(
  tx: Tx,
  service: EngineOf,
  conversation: ConversationWithVisitor,
  actorId: string,
): Promise<void> {
  if (!(await release(tx, service, conversation, actorId)))
    throw await lostRace(tx, conversation, 'active', 'released');
}

async function join(
  tx: Tx,
  conversation: ConversationWithVisitor,
  { id: memberId, name }: Assignee,
  actorId: string,
  now: number,
): Promise<void> {
  await tx.repositories.participants.join({
    conversation_id: conversation.id,
    user_id: memberId,
    role: 'operator',
    joined_at: now,
    left_at: null,
  });
  await tx.emit({
    ...conversationEvent(conversation, actorId),
    type: 'conversation:accepted',
    audience: conversationAudience['conversation:accepted'],
    member_id: memberId,
    payload: { conversationId: conversation.id, assignedTo: memberId, assignedToName: name },
  });
}

async function leave(
  tx: Tx,
  conversation: ConversationWithVisitor,
  memberId: string,
  actorId: string,
  now: number,
): Promise<void> {
  await tx.repositories.participants.leave(conversation.id, memberId, now);
  await tx.emit({
    ...conversationEvent(conversation, actorId),
    type: 'conversation:released',
    audience: conversationAudience['conversation:released'],
    payload: { conversationId: conversation.id },
  });
}
