// Conversations of somebody who is gone go back to the queue: at once when a member
// is disabled or removed, and after a time that the organization has set (off by
// default) when an operator has no live connection any more.
import type { ConversationWithVisitor } from '../engine/rows.ts';
import { conversationAudience } from './audience.ts';
import type { Service, Tx } from './service.ts';

const lookEveryMs = 30_000;

/** Gives every active conversation of a member back to the queue. */
export async function releaseConversationsOf(tx: Tx, service: Service, organizationId: string, memberId: string): Promise<void> {
  const now = service.engine.clock.now();
  for (const id of await tx.tables.conversations.assignedTo(organizationId, memberId)) {
    const conversation = (await tx.tables.conversations.byId(id)) as ConversationWithVisitor;
    await tx.tables.conversations.release(id, conversation.waiting_since ?? now, now);
    await tx.tables.participants.leave(id, memberId, now);
    await tx.emit({
      organization_id: organizationId,
      conversation_id: id,
      mode: conversation.mode,
      type: 'conversation:released',
      audience: conversationAudience['conversation:released'],
      actor_id: memberId,
      message_id: null,
      member_id: null,
      payload: { conversationId: id },
    });
  }
}

/** Releases what operators hold who have been away for longer than their organization allows. */
export async function releaseAbandoned(service: Service): Promise<void> {
  const { store, presence, clock } = service.engine;
  const holders = await store.read(({ tables }) => tables.conversations.holders());
  for (const { organization_id, member_id, release_after_minutes } of holders) {
    const since = presence.awaySince(member_id);
    if (since === null || clock.monotonic() - since < release_after_minutes * 60_000) continue;
    await store.write(async (tx) => {
      // They may have come back while this waited for its turn.
      if (presence.awaySince(member_id) !== null) await releaseConversationsOf(tx, service, organization_id, member_id);
    });
  }
}

/**
 * Looks for absent operators every half minute.
 * @param onFault hears of a run that failed; the next one comes all the same
 * @returns how to stop
 */
export function watchAbsence(service: Service, onFault: (error: unknown) => void): () => void {
  let cancel = (): void => undefined;
  const plan = (): void => {
    cancel = service.engine.clock.after(lookEveryMs, () => {
      releaseAbandoned(service).catch(onFault);
      plan();
    });
  };
  plan();
  return () => cancel();
}
