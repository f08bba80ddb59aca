// The one place that schedules long work: in slices of a few milliseconds, with a pause after each, and organizations
// in turn. So no tenant, visitor or request holds the event loop or the write lock from the others.
import { setImmediate as yieldToLoop, setTimeout as sleep } from 'node:timers/promises';
import type { OrganizationScope, ReadTx, Tx } from '../../engine/engine.ts';
import { createFairLimit, type FairLimit } from '../../net/fair-limit.ts';
import type { Reader, Service } from '../service.ts';

/** A slice ends after so long, or so many rows: the write lock must be free again within 50 ms. */
const maxSliceMs = 15;
/** Of one that no user waits for, while users are served, and of any beside many users: their messages wait for as long as it takes. */
const shortSliceMs = 2;
/** What such a one holds the loop for: its last statement begins before the limit and ends behind it, and its commit writes what it has changed. */
const shortSliceTurnMs = 3;
const maxSliceRows = 400;
/** Between two slices, so that others who wait for the lock get it. */
const pauseMs = 10;
/**
 * Beside many users slices that take no lock pause as well, once they have taken as long as a short slice: one in each turn
 * of the loop would make all of these longer. What takes less, as most lists of the queue, does not wait for it.
 */
const computePauseMs = 3;
/** So long a slice that a user waits for lets others go first. */
const mostWaitMs = 25;
/** Removed by one statement; rows with words in an index take a millisecond each. */
export const removedRows = 10;
/** Numbers of the event log that one statement looks at. */
const logStretch = 200;
/** One slice at a time; what waits is as much as there is work, which is bounded where it is asked for. */
const turns = { maxRunning: 1, maxRunningPerKey: 1, maxWaiting: Infinity, maxWaitingPerKey: Infinity };

/**
 * Of reads that take more than a slice, one at a time for each organization: the slices of many would leave little to its
 * other lists. A caller who hangs up gives the place back.
 */
const longReadTurns = {
  maxRunning: Infinity,
  maxRunningPerKey: 1,
  maxWaiting: Infinity,
  maxWaitingPerKey: 20,
};

/** Whose work a slice is: an organization's, or the server's own. */
type SliceScope = 'server' | OrganizationScope;

/** Whether a user waits for the work, or it is the server's own and goes at the pace that users leave. */
export type SliceKind = 'awaited' | 'background';

/** Whose slices they are: the server's own, or those of a caller who may lose the right to them under way. */
export interface SliceOwner extends Service {
  /** Asked in the transaction of each slice, before its work: throws where there must be no more. */
  readonly assertStill?: (tx: Tx) => Promise<void>;
}

/** Takes rows that were worked on just now, and says whether the slice is full. */
export type SliceBudget = (rows: number) => boolean;

/** What waits for its turn, by engine: slices that write, slices that only read and compute, and long reads. */
const writing = new WeakMap<Service['engine'], FairLimit>();
const computing = new WeakMap<Service['engine'], FairLimit>();
const longReads = new WeakMap<Service['engine'], FairLimit>();
/** How long slices have computed since the last pause, ms. */
const computed = new WeakMap<Service['engine'], number>();

/**
 * Writes one slice of long work in its organization's turn, and pauses.
 * @param work does as much as its budget allows; the caller asks again until nothing is left
 */
export async function writeSlice<T>(
  service: SliceOwner,
  scope: SliceScope,
  work: (tx: Tx, full: SliceBudget) => Promise<T>,
  kind: SliceKind = 'awaited',
): Promise<T> {
  const { engine } = service;
  const isBackground = kind === 'background';
  // Before its turn among the slices: none that a user waits for stands behind one that waits for users.
  if (isBackground) await engine.pace.turn(shortSliceTurnMs);
  return limitOf(writing, engine)(scope === 'server' ? scope : scope.organization, async () => {
    if (!isBackground) await engine.pace.awaitedTurn(shortSliceTurnMs, mostWaitMs);
    const slice = async (tx: Tx): Promise<T> => {
      await service.assertStill?.(tx);
      return work(tx, sliceBudget(service, kind));
    };
    const done = await engine.store.write(scope, slice, isBackground ? 'behind' : undefined);
    await sleep(pauseMs);
    return done;
  });
}

/**
 * Runs one slice of long work that writes nothing in its organization's turn, and lets others in.
 * @param work does as much as its budget allows; the caller asks again until nothing is left
 */
export function computeSlice<T>(
  service: Service,
  organization: string,
  work: (full: SliceBudget) => Promise<T> | T,
): Promise<T> {
  const { engine } = service;
  return limitOf(computing, engine)(organization, async () => {
    const began = engine.clock.monotonic();
    const done = await work(sliceBudget(service));
    const spentMs = (computed.get(engine) ?? 0) + engine.clock.monotonic() - began;
    const pauses = spentMs >= shortSliceMs && engine.pace.hasManyUsers();
    computed.set(engine, pauses ? 0 : Math.min(spentMs, shortSliceMs));
    await (pauses ? sleep(computePauseMs) : yieldToLoop());
    if (pauses) await engine.pace.awaitedTurn(shortSliceTurnMs, mostWaitMs);
    return done;
  });
}

/**
 * Reads one part of something longer, in a slice and a snapshot of its own.
 * @throws what the signal says once the caller is gone: then the rest need not be read
 */
export async function readSlice<T>(
  { service, gone }: Reader,
  organization: string,
  work: (tx: ReadTx, full: SliceBudget) => Promise<T>,
): Promise<T> {
  gone?.().throwIfAborted();
  return computeSlice(service, organization, (full) => service.engine.store.read((tx) => work(tx, full)));
}

/**
 * Reads in slices until all is read, each in a snapshot of its own. Ends, and waits no longer, once the caller is gone.
 * @param readSome reads a part, and says whether it was the last. A snapshot that is lost is read again: what readSome keeps
 *   changes after its last query
 * @throws QueueFullError when too many long reads of the organization wait already
 */
export async function readInSlices(
  reader: Reader,
  organization: string,
  readSome: (tx: ReadTx) => Promise<boolean>,
): Promise<void> {
  const readPart = (): Promise<boolean> =>
    readSlice(reader, organization, async (tx, full) => {
      for (;;) {
        if (await readSome(tx)) return true;
        if (full(1)) return false;
      }
    });
  if (await readPart()) return;
  const inTurn = limitOf(longReads, reader.service.engine, longReadTurns);
  const readRest = async (): Promise<void> => {
    while (!(await readPart()));
  };
  await inTurn(organization, readRest, reader.gone?.());
}

/**
 * Removes rows in slices until none is left.
 * @param removeSome removes at most so many rows in one statement, and answers how many; fewer: none is left
 * @param stopped asked between slices; once true, the rest stays
 */
export async function removeInSlices(
  service: SliceOwner,
  scope: SliceScope,
  removeSome: (tx: Tx, most: number) => Promise<number>,
  stopped: () => boolean = () => false,
  kind: SliceKind = 'awaited',
): Promise<void> {
  const removeSlice = async (tx: Tx, full: SliceBudget): Promise<boolean> => {
    for (;;) {
      const removed = await removeSome(tx, removedRows);
      if (removed < removedRows) return false;
      if (full(removed)) return true;
    }
  };
  while (!stopped()) if (!(await writeSlice(service, scope, removeSlice, kind))) return;
}

/**
 * Goes through the event log in slices, from its beginning to its end.
 * @param work changes what lies above the number `after` and up to `through`, and answers how many rows it changed
 * @returns the number that was the last when it began
 */
export async function walkLogInSlices(
  service: SliceOwner,
  scope: SliceScope,
  work: (tx: Tx, after: number, through: number) => Promise<number>,
): Promise<number> {
  const end = await service.engine.store.read(({ repositories }) => repositories.events.lastSeq());
  for (let position = 0; position < end;) {
    const from = position;
    position = await writeSlice(service, scope, async (tx, full) => {
      let at = from;
      while (at < end) {
        const changed = await work(tx, at, at + logStretch);
        at += logStretch;
        if (full(changed)) break;
      }
      return at;
    });
  }
  return end;
}

function limitOf(
  limits: WeakMap<Service['engine'], FairLimit>,
  engine: Service['engine'],
  options = turns,
): FairLimit {
  const limit = limits.get(engine) ?? createFairLimit(options);
  limits.set(engine, limit);
  return limit;
}

/** The budget of one slice, which begins now. */
export function sliceBudget(
  { engine: { clock, pace } }: Pick<Service, 'engine'>,
  kind: SliceKind = 'awaited',
): SliceBudget {
  const began = clock.monotonic();
  const isShort = kind === 'background' ? pace.hasUsers() : pace.hasManyUsers();
  const most = isShort ? shortSliceMs : maxSliceMs;
  let rows = 0;
  return (more) => {
    rows += more;
    return rows >= maxSliceRows || clock.monotonic() - began >= most;
  };
}
