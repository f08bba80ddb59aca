// Answers that a member has not sent yet: one for each member and conversation, seen by no one else.
import type { Input, Output } from '../../protocol/operations.ts';
import type { DraftRow } from '../../engine/rows.ts';
import { accessConversation } from '../core/access.ts';
import { isoTime } from '../core/serializers.ts';
import type { MemberCall, ReadTx, Tx } from '../service.ts';

/** @throws ServiceError not_found */
export async function getDraft(
  tx: ReadTx,
  { actor }: MemberCall,
  { conversationId }: Input<'staff.drafts.get'>,
): Promise<Output<'staff.drafts.get'>> {
  const conversation = await accessConversation(tx, actor, conversationId);
  const row = await tx.repositories.drafts.get(conversation.id, actor.memberId);
  return { draft: row === undefined ? null : serializeDraft(row) };
}

/** @throws ServiceError not_found */
export async function putDraft(
  tx: Tx,
  { actor, service }: MemberCall,
  { conversationId, content }: Input<'staff.drafts.put'>,
): Promise<Output<'staff.drafts.put'>> {
  const conversation = await accessConversation(tx, actor, conversationId);
  const row: DraftRow = {
    conversation_id: conversation.id,
    member_id: actor.memberId,
    content,
    updated_at: service.engine.clock.now(),
  };
  await tx.repositories.drafts.put(row);
  return { draft: serializeDraft(row) };
}

/** @throws ServiceError not_found */
export async function deleteDraft(
  tx: Tx,
  { actor }: MemberCall,
  { conversationId }: Input<'staff.drafts.delete'>,
): Promise<{ success: true }> {
  const conversation = await accessConversation(tx, actor, conversationId);
  await tx.repositories.drafts.remove(conversation.id, actor.memberId);
  return { success: true };
}

function serializeDraft({ content, updated_at }: DraftRow): { content: string; updatedAt: string } {
  return { content, updatedAt: isoTime(updated_at) };
}
