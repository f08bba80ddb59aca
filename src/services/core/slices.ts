// The one place that schedules long work: in slices of a few milliseconds, with a pause after each, and organizations
// in turn. So no tenant, visitor or request holds the event loop or the write lock from the others.
import { setImmediate as yieldToLoop, setTimeout as sleep } from 'node:timers/promises';
import type { OrganizationScope, Tx } from '../../engine/engine.ts';
import { createFairLimit, type FairLimit } from '../../net/fair-limit.ts';
import type { Service } from '../service.ts';

/** A slice ends after so long, or so many rows: the write lock must be free again within 50 ms. */
const maxSliceMs = 15;
const maxSliceRows = 400;
/** Between two slices, so that others who wait for the lock get it. */
const pauseMs = 10;
/** One slice at a time; what waits is as much as there is work, which is bounded where it is asked for. */
const turns = { maxRunning: 1, maxRunningPerKey: 1, maxWaiting: Infinity, maxWaitingPerKey: Infinity };

/** Takes rows that were worked on just now, and says whether the slice is full. */
export type SliceBudget = (rows: number) => boolean;

/** What waits for its turn, by engine: slices that write, and slices that only read and compute. */
const writing = new WeakMap<Service['engine'], FairLimit>();
const computing = new WeakMap<Service['engine'], FairLimit>();

/**
 * Writes one slice of long work in its organization's turn, and pauses.
 * @param work does as much as its budget allows; the caller asks again until nothing is left
 */
export function writeSlice<T>(
  { engine }: Service,
  scope: OrganizationScope,
  work: (tx: Tx, full: SliceBudget) => Promise<T>,
): Promise<T> {
  return limitOf(writing, engine)(scope.organization, async () => {
    const done = await engine.store.write(scope, (tx) => work(tx, createBudget(engine)));
    await sleep(pauseMs);
    return done;
  });
}

/**
 * Runs one slice of long work that writes nothing in its organization's turn, and lets others in.
 * @param work does as much as its budget allows; the caller asks again until nothing is left
 */
export function computeSlice<T>(
  { engine }: Service,
  organization: string,
  work: (full: SliceBudget) => Promise<T> | T,
): Promise<T> {
  return limitOf(computing, engine)(organization, async () => {
    const done = await work(createBudget(engine));
    await yieldToLoop();
    return done;
  });
}

function limitOf(limits: WeakMap<Service['engine'], FairLimit>, engine: Service['engine']): FairLimit {
  const limit = limits.get(engine) ?? createFairLimit(turns);
  limits.set(engine, limit);
  return limit;
}

function createBudget({ clock }: Service['engine']): SliceBudget {
  const began = clock.monotonic();
  let rows = 0;
  return (more) => {
    rows += more;
    return rows >= maxSliceRows || clock.monotonic() - began >= maxSliceMs;
  };
}
