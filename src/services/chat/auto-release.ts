// Automatic release: conversations go back to the queue at once when their member is disabled or removed, and,
// where the organization has set a time (off by default), when their operator has had no live connection for so long.
// A member may have any number of them, so they go in slices.
import type { Holder } from '../../engine/repositories/conversations.ts';
import { throwFirst, tryEach } from '../core/each.ts';
import { writeSlice, type SliceBudget, type SliceKind } from '../core/slices.ts';
import type { ReadTx, Service, Tx } from '../service.ts';
import { release } from './assignment.ts';

const checkIntervalMs = 30_000;
/** So many go in the transaction that disables or removes a member, which nearly always are all. */
const releasedAtOnce = 50;
/** So many are looked up together. */
const lookedUpAtOnce = 10;
/** What one is in a slice's budget: its rows, and its events, which are told right behind the commit. */
const rowsOfOne = 10;

/** Whose conversations they are. */
interface Owner {
  readonly organizationId: string;
  readonly memberId: string;
}

/** @returns whether some are left */
async function releaseSome(tx: Tx, service: Service, owner: Owner, full: SliceBudget): Promise<boolean> {
  const { conversations } = tx.repositories;
  for (;;) {
    const ids = await conversations.assignedTo(owner.organizationId, owner.memberId, lookedUpAtOnce);
    for (const id of ids) {
      const conversation = await conversations.byId(id);
      if (conversation !== undefined) await release(tx, service, conversation, owner.memberId);
    }
    if (ids.length < lookedUpAtOnce) return false;
    if (full(ids.length * rowsOfOne)) return true;
  }
}

/**
 * Releases active conversations of a member, in a transaction that does more.
 * @returns whether some are left, for `releaseRest`
 */
export function releaseFirst(tx: Tx, service: Service, owner: Owner): Promise<boolean> {
  let released = 0;
  return releaseSome(tx, service, owner, (rows) => (released += rows) >= releasedAtOnce * rowsOfOne);
}

/**
 * Releases what a member has still, in slices.
 * @param goesOn asked in the transaction of each slice; once false, the rest stays
 */
export async function releaseRest(
  service: Service,
  owner: Owner,
  goesOn: (tx: ReadTx) => Promise<boolean>,
  kind: SliceKind = 'awaited',
): Promise<void> {
  const releaseSlice = async (tx: Tx, full: SliceBudget): Promise<boolean> =>
    (await goesOn(tx)) && releaseSome(tx, service, owner, full);
  while (await writeSlice(service, { organization: owner.organizationId }, releaseSlice, kind));
}

/** Whether a member is disabled, or gone. */
export async function isDisabled({ repositories }: ReadTx, memberId: string): Promise<boolean> {
  const member = await repositories.members.byId(memberId);
  return member === undefined || member.disabled_at !== null;
}

/**
 * Releases the conversations of operators who have been away for longer than their organization allows, and what is left
 * to members who were disabled while the server was ended.
 * @throws what the first of them failed with, once all others are done
 */
export async function runAutoRelease(service: Service): Promise<void> {
  const { store, presence } = service.engine;
  const isAway = async ({ member_id, release_after_minutes }: Holder): Promise<boolean> => {
    const awayMs = await presence.awayMs(member_id);
    return awayMs !== null && release_after_minutes !== null && awayMs >= release_after_minutes * 60_000;
  };
  const holders = await store.read(({ repositories }) => repositories.conversations.holders());
  const problems = await tryEach(holders, async (holder) => {
    const owner = { organizationId: holder.organization_id, memberId: holder.member_id };
    if (holder.disabled_at !== null)
      await releaseRest(service, owner, (tx) => isDisabled(tx, owner.memberId), 'background');
    else if (await isAway(holder))
      await releaseRest(service, owner, () => Promise.resolve(true), 'background');
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
