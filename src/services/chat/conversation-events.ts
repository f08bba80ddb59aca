// What every event of a conversation carries, and the event that says how staff have put it in order. Must not decide
// who may do what.
import type { ConversationRow, ConversationWithVisitor } from '../../engine/rows.ts';
import { conversationAudience } from '../core/audience.ts';
import { serializeChanged } from '../core/serializers.ts';
import type { Tx } from '../service.ts';

/** The columns that every event of a conversation has. @param actorId who caused it */
export function conversationEvent(conversation: ConversationWithVisitor, actorId: string) {
  return {
    organization_id: conversation.organization_id,
    conversation_id: conversation.id,
    mode: conversation.mode,
    actor_id: actorId,
    message_id: null,
    member_id: null,
  };
}

/**
 * Tells staff how a conversation stands now.
 * @param conversation as it was read in this transaction
 * @param actorId who caused it
 * @param changes what has changed since
 * @param tags its tags, where the caller has them already
 */
export async function emitChanged(
  tx: Tx,
  conversation: ConversationWithVisitor,
  actorId: string,
  changes: Partial<ConversationRow> = {},
  tags?: readonly string[],
): Promise<void> {
  const names = tags ?? (await tx.repositories.tags.ofConversation(conversation.id));
  await tx.emit({
    ...conversationEvent(conversation, actorId),
    type: 'conversation:changed',
    audience: conversationAudience['conversation:changed'],
    payload: serializeChanged({ ...conversation, ...changes }, names),
  });
}

/** Ends a snooze, if there is one; staff hear of it once. @param actorId who caused it */
export async function wakeConversation(
  tx: Tx,
  conversation: ConversationWithVisitor,
  actorId: string,
): Promise<void> {
  if (conversation.snoozed_until === null) return;
  if ((await tx.repositories.conversations.wake(conversation.id)) > 0)
    await emitChanged(tx, conversation, actorId, { snoozed_until: null });
}
