// The erasure of a visitor: everything that is kept about one person goes from every row, file and live connection. One that
// was cut off is gone on with by the server, as long as the admin who began it may.
import { z } from 'zod';
import type { Input, Output } from '../../protocol/operations.ts';
import { tokenScope } from '../../protocol/sign-in.ts';
import type { VisitorRow } from '../../engine/rows.ts';
import { whileAllowed, writeAs } from '../auth/standing.ts';
import { audit } from '../core/audit.ts';
import { throwFirst, tryEach } from '../core/each.ts';
import { notFound, ServiceError } from '../core/errors.ts';
import { JobLoop } from '../core/job-loop.ts';
import { isoTime } from '../core/serializers.ts';
import { removeInSlices, walkLogInSlices, type SliceOwner } from '../core/slices.ts';
import { clearRemoved } from '../files/file-job.ts';
import type { OwnerCall, Service, Tx } from '../service.ts';
import { copyRetentionMs } from './retention.ts';
import { accessVisitorData, auditSubject } from './visitor-data.ts';

/** Before the internal key of a visitor who is being erased, in the name of a fact about the database. */
const begunPrefix = 'erasing_';
/** An erasure that has not worked for so long was cut off: its slices are milliseconds. */
const abandonedAfterMs = 60_000;
/** Noted no more often than so, ms. */
const noteEveryMs = 10_000;
const intervalMs = 60_000;

/** Who began an erasure, so that it goes on with the same rights and under the same name, and when it last worked. */
const begunErasure = z.object({
  organizationId: z.string(),
  /** null: the command line. */
  member: z
    .object({ id: z.string(), sessionId: z.string(), scopes: z.array(tokenScope).nullable() })
    .nullable(),
  address: z.string().nullable(),
  workedAt: z.number(),
});
type BegunErasure = z.infer<typeof begunErasure>;

/**
 * Removes a visitor with everything that is kept about them, notes included, ends their live connections, and empties
 * the database's log, so that no file holds a word of them; copies made before changes of the schema are listed with
 * the day on which they go. The audit log keeps that it was begun and done, by whom and when, and nothing of whom.
 * @throws ServiceError not_found, bad_request; unauthorized, forbidden once the right is withdrawn: it then ends
 */
export async function eraseVisitor(
  call: OwnerCall,
  input: Input<'visitors.erase'>,
): Promise<Output<'visitors.erase'>> {
  const { store, maintenance, clock } = call.service.engine;
  const visitor = await store.read((tx) => accessVisitorData(tx, call, input));
  await writeAs(call, scopeOf(visitor), async (tx, current) => {
    await tx.repositories.meta.set(
      begunPrefix + visitor.id,
      JSON.stringify(begunBy(current, visitor, clock.now())),
    );
    await audit(tx, current, {
      organizationId: visitor.organization_id,
      action: 'visitors.eraseBegun',
      subject: auditSubject(visitor),
    });
  });
  const storageCleared = await completeErasure(call, visitor);
  const copies = await maintenance.copies();
  return {
    success: true,
    storageCleared,
    backups: copies.map(({ name, madeAt }) => ({ name, expiresAt: isoTime(madeAt + copyRetentionMs) })),
  };
}

const scopeOf = (visitor: VisitorRow) => ({ organization: visitor.organization_id, removes: true }) as const;

function begunBy({ actor, address }: OwnerCall, visitor: VisitorRow, workedAt: number): BegunErasure {
  const member =
    actor.kind === 'local' ? null : { id: actor.memberId, sessionId: actor.sessionId, scopes: actor.scopes };
  return {
    organizationId: visitor.organization_id,
    member:
      member === null ? null : { ...member, scopes: member.scopes === null ? null : [...member.scopes] },
    address,
    workedAt,
  };
}

/**
 * Removes what is there of a visitor whose erasure was begun.
 * @param assertGoesOn throws where it is to be left for later
 * @returns whether nothing of it is in the database's files any more
 */
async function completeErasure(
  call: OwnerCall,
  visitor: VisitorRow,
  assertGoesOn: () => void = () => undefined,
): Promise<boolean> {
  try {
    await removeVisitor(call, visitor, assertGoesOn);
  } catch (error) {
    // What is left stays: it is not taken up again, were the right given back.
    if (hasEnded(error)) await forget(call.service, visitor.organization_id, visitor.id);
    throw error;
  }
  return clearRemoved(call.service);
}

/** Whether an erasure is over with its error: the right to it was withdrawn, or another one was first. */
function hasEnded(error: unknown): boolean {
  return error instanceof ServiceError && ['unauthorized', 'forbidden', 'not_found'].includes(error.code);
}

async function forget({ engine }: Service, organization: string, visitorKey: string): Promise<void> {
  await engine.store.write({ organization, removes: true }, ({ repositories }) =>
    repositories.meta.remove(begunPrefix + visitorKey),
  );
}

async function removeVisitor(call: OwnerCall, visitor: VisitorRow, assertGoesOn: () => void): Promise<void> {
  const scope = scopeOf(visitor);
  const { clock } = call.service.engine;
  // A long history goes in slices, each if the right to erase still holds.
  const allowed = whileAllowed(call);
  const slices: SliceOwner = {
    ...allowed,
    assertStill: async (tx) => {
      assertGoesOn();
      await allowed.assertStill?.(tx);
      await noteWork(tx, visitor.id, clock.now());
    },
  };
  for (const remove of ['removeMessages', 'removeDeliveries', 'removeEffects'] as const)
    await removeInSlices(slices, scope, ({ repositories }, most) =>
      repositories.visitorData[remove](visitor.id, most),
    );
  const walkedThrough = await walkLogInSlices(slices, scope, ({ repositories }, after, through) =>
    repositories.events.removeOfVisitor(visitor.id, after, through),
  );
  // What happened since: once a conversation is removed, its events could not be told from others.
  const removeLateEvents = ({ repositories }: Tx): Promise<number> =>
    repositories.events.removeOfVisitor(visitor.id, walkedThrough, Number.MAX_SAFE_INTEGER);
  await removeInSlices(slices, scope, async (tx, most) => {
    await removeLateEvents(tx);
    return tx.repositories.visitorData.removeConversations(visitor.id, most);
  });
  await writeAs(call, scope, async (tx) => {
    await removeLateEvents(tx);
    await tx.repositories.visitorData.removeConversations(visitor.id, Number.MAX_SAFE_INTEGER);
    if ((await tx.repositories.visitorData.remove(visitor.id)) === 0) throw notFound('visitor');
    await tx.repositories.views.removeNaming(visitor.organization_id, visitor.visitor_id);
    await tx.repositories.visitorData.countErasure();
    await tx.repositories.meta.remove(begunPrefix + visitor.id);
    // Live connections prove again that they may stay: those of this visitor can't.
    tx.configurationChanged(visitor.organization_id);
    await audit(tx, call, {
      organizationId: visitor.organization_id,
      action: 'visitors.erase',
      subject: auditSubject(visitor),
    });
  });
}

/** Notes now and then, with what it removes, that an erasure goes on. */
async function noteWork(tx: Tx, visitorKey: string, now: number): Promise<void> {
  const { meta } = tx.repositories;
  const noted = await meta.get(begunPrefix + visitorKey);
  if (noted === undefined) return;
  const begun = begunErasure.parse(JSON.parse(noted));
  if (Math.abs(now - begun.workedAt) < noteEveryMs) return;
  await meta.set(begunPrefix + visitorKey, JSON.stringify({ ...begun, workedAt: now }));
}

/**
 * Goes on with erasures that were cut off, each as the one who began it, and drops those that they may not make any more.
 * @throws what the first one failed with, once all others are done: it is tried again
 */
export async function resumeErasures(service: Service, signal?: AbortSignal): Promise<void> {
  const { store, clock } = service.engine;
  const begun = await store.read(({ repositories }) => repositories.meta.startingWith(begunPrefix));
  const problems = await tryEach(begun, async ({ key, value }) => {
    signal?.throwIfAborted();
    const erasure = begunErasure.parse(JSON.parse(value));
    if (erasure.workedAt > clock.now() - abandonedAfterMs) return;
    const visitorKey = key.slice(begunPrefix.length);
    const [visitor] = await store.read(({ repositories }) =>
      repositories.visitorData.find({ visitorId: visitorKey, organizationId: erasure.organizationId }),
    );
    // Gone with their application or organization.
    if (visitor === undefined) return forget(service, erasure.organizationId, visitorKey);
    try {
      await completeErasure(callOf(service, erasure), visitor, () => signal?.throwIfAborted());
    } catch (error) {
      if (!hasEnded(error)) throw error;
    }
  });
  throwFirst(problems);
}

/** The call that began it. Name and role are read again with each slice, as the rows have them then. */
function callOf(service: Service, { organizationId, member, address }: BegunErasure): OwnerCall {
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
 * Looks each minute for erasures that were cut off.
 * @param onError called with the error of a failed run; the next one comes all the same
 * @returns stops the job; resolves when nothing runs any more
 */
export function startErasureJob(service: Service, onError: (error: unknown) => void): () => Promise<void> {
  const loop = new JobLoop({
    clock: service.engine.clock,
    intervalMs,
    onError,
    run: (signal) => resumeErasures(service, signal),
  });
  loop.wake();
  return () => loop.stop();
}
