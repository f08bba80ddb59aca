// Removals that go in slices, of a visitor, an application or an organization. Each is noted from its beginning to its end,
// so that the server goes on with one that was cut off, as long as the one who began it may.
import { z } from 'zod';
import { goingApplication, goingOrganization } from '../../engine/repositories/meta.ts';
import { tokenScope } from '../../protocol/sign-in.ts';
import type { SliceOwner } from '../core/slices.ts';
import { whileAllowed } from '../auth/standing.ts';
import { throwFirst, tryEach } from '../core/each.ts';
import { ServiceError } from '../core/errors.ts';
import { JobLoop } from '../core/job-loop.ts';
import { clearRemoved } from '../files/file-job.ts';
import type { OwnerCall, ReadTx, Service, Tx } from '../service.ts';

/** Before the internal key of what is being removed, in the name of a fact about the database. */
const prefixes = {
  visitor: 'erasing_',
  application: goingApplication,
  organization: goingOrganization,
} as const;
type RemovedKind = keyof typeof prefixes;
/** One that has not worked for so long was cut off: its slices are milliseconds. */
const abandonedAfterMs = 60_000;
/** Noted no more often than so, ms. */
const noteEveryMs = 10_000;
const intervalMs = 60_000;

/** What is being removed: its kind and internal key, and whose it is. */
export interface Removal {
  readonly kind: RemovedKind;
  readonly id: string;
  readonly organizationId: string;
}

/** Who began a removal, so that it goes on with the same rights and under the same name, and when it last worked. */
const begunRemoval = z.object({
  organizationId: z.string(),
  /** null: the command line. */
  member: z
    .object({ id: z.string(), sessionId: z.string(), scopes: z.array(tokenScope).nullable() })
    .nullable(),
  address: z.string().nullable(),
  /** By what else a person names it: what is being removed has it no more. */
  slug: z.string().optional(),
  workedAt: z.number(),
});
type BegunRemoval = z.infer<typeof begunRemoval>;

/** Does what is left of a removal. @param assertGoesOn throws where it is to be left for later */
export type CompleteRemoval = (call: OwnerCall, removal: Removal, assertGoesOn: () => void) => Promise<void>;

const keyOf = ({ kind, id }: Pick<Removal, 'kind' | 'id'>): string => prefixes[kind] + id;

/** Notes that a removal is begun, in the transaction that has read the right to it. */
export async function noteBegun(
  tx: Tx,
  { service, actor, address }: OwnerCall,
  removal: Removal,
  slug?: string,
): Promise<void> {
  const begun: BegunRemoval = {
    organizationId: removal.organizationId,
    member:
      actor.kind === 'local'
        ? null
        : {
            id: actor.memberId,
            sessionId: actor.sessionId,
            scopes: actor.scopes === null ? null : [...actor.scopes],
          },
    address,
    ...(slug === undefined ? {} : { slug }),
    workedAt: service.engine.clock.now(),
  };
  await tx.repositories.meta.set(keyOf(removal), JSON.stringify(begun));
}

/** Takes the note away, in the transaction that removes the last of it. */
export async function noteDone(tx: Tx, removal: Removal): Promise<void> {
  await tx.repositories.meta.remove(keyOf(removal));
}

/** The organization that is being removed and was named so, by its slug or id: its slug may be another's by now. */
export async function findGoingOrganization(
  tx: ReadTx,
  name: string,
): Promise<{ readonly removal: Removal; readonly slug: string } | null> {
  for (const { value } of await tx.repositories.meta.startingWith(prefixes.organization)) {
    const { organizationId, slug = '' } = begunRemoval.parse(JSON.parse(value));
    if (name === organizationId || name === slug)
      return { removal: { kind: 'organization', id: organizationId, organizationId }, slug };
  }
  return null;
}

/** Slices that go on while the right of the caller holds, and note that they do. */
export function slicesOf(call: OwnerCall, removal: Removal, assertGoesOn: () => void): SliceOwner {
  const { clock } = call.service.engine;
  const allowed = whileAllowed(call);
  return {
    ...allowed,
    assertStill: async (tx) => {
      assertGoesOn();
      await allowed.assertStill?.(tx);
      await noteWork(tx, removal, clock.now());
    },
  };
}

/** Notes now and then, with what it removes, that a removal goes on. */
async function noteWork(tx: Tx, removal: Removal, now: number): Promise<void> {
  const { meta } = tx.repositories;
  const noted = await meta.get(keyOf(removal));
  if (noted === undefined) return;
  const begun = begunRemoval.parse(JSON.parse(noted));
  if (Math.abs(now - begun.workedAt) < noteEveryMs) return;
  await meta.set(keyOf(removal), JSON.stringify({ ...begun, workedAt: now }));
}

/**
 * Does what is left of a removal that was begun.
 * @returns whether nothing of it is in the database's files any more
 * @throws ServiceError unauthorized, forbidden once the right is withdrawn, not_found where another one was first: it is
 *   then over, and what is left is there again
 */
export async function completeBegun(
  call: OwnerCall,
  removal: Removal,
  complete: CompleteRemoval,
  assertGoesOn: () => void = () => undefined,
): Promise<boolean> {
  try {
    await complete(call, removal, assertGoesOn);
  } catch (error) {
    // What is left stays: it is not taken up again, were the right given back.
    if (hasEnded(error)) await forget(call, removal);
    throw error;
  }
  return clearRemoved(call.service);
}

/** Whether a removal is over with its error: the right to it was withdrawn, or another one was first. */
function hasEnded(error: unknown): boolean {
  return error instanceof ServiceError && ['unauthorized', 'forbidden', 'not_found'].includes(error.code);
}

/** Forgets a removal, unless another one has begun it since. */
async function forget({ service, actor }: OwnerCall, removal: Removal): Promise<void> {
  const session = actor.kind === 'local' ? undefined : actor.sessionId;
  await service.engine.store.write({ organization: removal.organizationId, removes: true }, async (tx) => {
    const noted = await tx.repositories.meta.get(keyOf(removal));
    if (noted === undefined) return;
    if (begunRemoval.parse(JSON.parse(noted)).member?.sessionId !== session) return;
    await noteDone(tx, removal);
    // An application is found again.
    if (removal.kind !== 'visitor') tx.configurationChanged(removal.organizationId);
  });
}

/**
 * Goes on with removals that were cut off, each as the one who began it, and drops those that they may not make any more.
 * @throws what the first one failed with, once all others are done: it is tried again
 */
async function resumeRemovals(
  service: Service,
  ways: Readonly<Record<RemovedKind, CompleteRemoval>>,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock } = service.engine;
  const problems: unknown[] = [];
  for (const kind of ['visitor', 'application', 'organization'] as const) {
    const prefix = prefixes[kind];
    const begun = await store.read(({ repositories }) => repositories.meta.startingWith(prefix));
    problems.push(
      ...(await tryEach(begun, async ({ key, value }) => {
        signal.throwIfAborted();
        const noted = begunRemoval.parse(JSON.parse(value));
        // Also where the clock was ahead when it last worked.
        if (Math.abs(clock.now() - noted.workedAt) < abandonedAfterMs) return;
        const removal = { kind, id: key.slice(prefix.length), organizationId: noted.organizationId };
        try {
          await completeBegun(callOf(service, noted), removal, ways[kind], () => signal.throwIfAborted());
        } catch (error) {
          if (!hasEnded(error)) throw error;
        }
      })),
    );
  }
  throwFirst(problems);
}

/** The call that began it. Name and role are read again with each slice, as the rows have them then. */
function callOf(service: Service, { organizationId, member, address }: BegunRemoval): OwnerCall {
  const call = { service, who: 'admin', address, contentLimit: 0 } as const;
  if (member === null) return { ...call, actor: { kind: 'local' } };
  const { id: memberId, sessionId, scopes } = member;
  const session = { sessionId, sessionEndsAt: 0, scopes, origin: null };
  return {
    ...call,
    actor: { kind: 'member', organizationId, memberId, name: '', role: 'operator', ...session },
  };
}

/**
 * Looks each minute for removals that were cut off.
 * @param ways how to complete each kind
 * @param onError called with the error of a failed run; the next one comes all the same
 * @returns stops the job; resolves when nothing runs any more
 */
export function startRemovalJob(
  service: Service,
  ways: Readonly<Record<RemovedKind, CompleteRemoval>>,
  onError: (error: unknown) => void,
): () => Promise<void> {
  const loop = new JobLoop({
    clock: service.engine.clock,
    intervalMs,
    onError,
    run: (signal) => resumeRemovals(service, ways, signal),
  });
  loop.wake();
  return () => loop.stop();
}
