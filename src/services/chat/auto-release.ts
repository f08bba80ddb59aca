// Automatic release: conversations go back to the queue at once when their member is disabled or removed, and,
// where the organization has set a time (off by default), when their operator has had no live connection for so long.
import { throwFirst, tryEach } from '../core/each.ts';
import type { Service, Tx } from '../service.ts';
import { release } from './assignment.ts';

const checkIntervalMs = 30_000;

/** Releases every active conversation of a member. */
export async function releaseMemberConversations(
  tx: Tx,
  service: Service,
  organizationId: string,
  memberId: string,
): Promise<void> {
  const { conversations } = tx.repositories;
  for (const id of await conversations.assignedTo(organizationId, memberId)) {
    const conversation = await conversations.byId(id);
    if (conversation !== undefined) await release(tx, service, conversation, memberId);
  }
}

/**
 * Releases the conversations of operators who have been away for longer than their organization allows.
 * @throws what the first of them failed with, once all others are done
 */
export async function runAutoRelease(service: Service): Promise<void> {
  const { store, presence } = service.engine;
  const holders = await store.read(({ repositories }) => repositories.conversations.holders());
  const problems = await tryEach(holders, async ({ organization_id, member_id, release_after_minutes }) => {
    const awayMs = await presence.awayMs(member_id);
    if (awayMs === null || awayMs < release_after_minutes * 60_000) return;
    await store.write({ organization: organization_id }, (tx) =>
      releaseMemberConversations(tx, service, organization_id, member_id),
    );
  });
  throwFirst(problems);
}

/**
 * Looks for absent operators every half minute.
 * @param onError called when a run failed; the next one comes all the same
 * @returns how to stop
 */
export function startAutoRelease(service: Service, onError: (error: unknown) => void): () => void {
  let cancel = (): void => undefined;
  const plan = (): void => {
    cancel = service.engine.clock.after(checkIntervalMs, () => {
      runAutoRelease(service).catch(onError);
      plan();
    });
  };
  plan();
  return () => cancel();
}
