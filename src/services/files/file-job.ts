// What the service does about files by itself: bytes go that no row names any more, files that were not sent within an
// hour go, the scanner is asked again, and what was cut off is cleared away.
import { StoreUnavailableError } from '../../engine/engine.ts';
import type { FileRemovalRow } from '../../engine/rows.ts';
import { JobLoop } from '../core/job-loop.ts';
import { removeInSlices } from '../core/slices.ts';
import type { Service } from '../service.ts';
import { fileLimits } from '../../protocol/codes.ts';
import { isOwnObject } from './links.ts';
import { scanWaiting } from './scanning.ts';
import { removeAbandonedUploads } from './spool.ts';
import { storingMs } from './store-file.ts';

const intervalMs = 15_000;
const sweepIntervalMs = 3_600_000;
/** An object that no row names goes once it is older: a row may be on its way, or a backup be taken back. */
const orphanAgeMs = 24 * 3_600_000;
/** What waits for the scanner is waited for: by the one who uploaded it, or by a mail that comes again. */
const unscannedMs = 24 * 3_600_000;
const removedAtOnce = 8;
const pageSize = 200;
const retryMs = { first: 15_000, longest: 3_600_000 };

/**
 * Removes the bytes that are due to go.
 * @returns how many went, and why others could not; null: all went
 */
export async function removeDueBytes(
  service: Service,
  stopped: () => boolean = () => false,
): Promise<{ readonly removed: number; readonly problem: string | null }> {
  const { store, clock } = service.engine;
  let removed = 0;
  let problem: string | null = null;
  while (!stopped()) {
    const due = await store.read(({ repositories }) => repositories.files.dueRemovals(clock.now(), pageSize));
    for (let from = 0; from < due.length && !stopped(); from += removedAtOnce) {
      const problems = await Promise.all(
        due.slice(from, from + removedAtOnce).map((row) => removeBytes(service, row)),
      );
      removed += problems.filter((one) => one === null).length;
      problem ??= problems.find((one) => one !== null) ?? null;
    }
    if (due.length < pageSize) break;
  }
  return { removed, problem };
}

/**
 * Removes the bytes of what was removed, and clears the database's files of it. The removal is done, and stays: what can't
 * be cleared now is tried again by the server that does the jobs.
 * @returns whether nothing of it is in the database's files any more
 */
export async function clearRemoved(service: Service): Promise<boolean> {
  try {
    await removeDueBytes(service);
    return await service.engine.maintenance.clearRemoved();
  } catch (error) {
    if (error instanceof StoreUnavailableError) return false;
    throw error;
  }
}

/** @returns why the bytes are still there; null: they are not, or belong to a file */
async function removeBytes({ engine, files }: Service, row: FileRemovalRow): Promise<string | null> {
  const { store, clock } = engine;
  const { object } = row;
  const used = await store.read(({ repositories }) => repositories.files.isUsed(object));
  try {
    if (!used) await files.store.remove(object);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const wait = Math.min(retryMs.first * 2 ** Math.min(row.attempts, 20), retryMs.longest);
    await store.write('server', ({ repositories }) =>
      repositories.files.failRemoval(object, clock.now() + wait, why.slice(0, 500)),
    );
    return why;
  }
  await store.write('server', ({ repositories }) => repositories.files.forgetRemoval(object));
  return null;
}

/** Removes files that were not sent in time. */
function removeUnsent(service: Service, stopped: () => boolean): Promise<void> {
  const now = service.engine.clock.now();
  return removeInSlices(
    service,
    'server',
    ({ repositories }, most) =>
      repositories.files.removeUnused(now - fileLimits.unusedMs, now - unscannedMs, most),
    stopped,
    'background',
  );
}

/** Removes own objects that no row names, and what uploads left that were cut off. @returns how many */
export async function sweepFiles(service: Service, stopped: () => boolean = () => false): Promise<number> {
  const { engine, files, secrets } = service;
  const now = engine.clock.now();
  let removed = await removeAbandonedUploads(files.incomingFolder, now - storingMs);
  for await (const { object, modifiedAt } of files.store.list()) {
    if (stopped()) break;
    if (modifiedAt >= now - orphanAgeMs || !isOwnObject(secrets, object)) continue;
    if (await engine.store.read(({ repositories }) => repositories.files.isKnown(object))) continue;
    await files.store.remove(object);
    removed += 1;
  }
  return removed;
}

/**
 * Runs what is to be done about files. What a change of settings, a deletion or an edit wakes looks only for bytes that are
 * to go: what time or the scanner decides is looked for at the interval.
 * @param onError called with what failed; it is tried again
 * @returns stops the job; resolves when nothing runs any more
 */
export function startFileJob(service: Service, onError: (error: unknown) => void): () => Promise<void> {
  const { clock, store } = service.engine;
  let nextRound = clock.monotonic();
  let nextSweep = clock.monotonic();
  const loop = new JobLoop({
    clock,
    intervalMs,
    onError,
    run: async (signal) => {
      const stopped = (): boolean => signal.aborted;
      const began = clock.monotonic();
      const isRound = began >= nextRound;
      if (isRound) await removeUnsent(service, stopped);
      const { problem } = await removeDueBytes(service, stopped);
      const scanner = isRound ? await scanWaiting(service, stopped) : { problem: null };
      // Not before all of it went well.
      if (isRound && problem === null && scanner.problem === null) nextRound = began + intervalMs;
      if (clock.monotonic() >= nextSweep && !stopped()) {
        nextSweep = clock.monotonic() + sweepIntervalMs;
        await sweepFiles(service, stopped);
      }
      if (problem !== null) throw new Error(`Bytes of files that were removed are still stored: ${problem}`);
      if (scanner.problem !== null) throw new Error(`Files wait for the scanner: ${scanner.problem}`);
    },
  });
  const unsubscribe = store.subscribe(({ events, configuration }) => {
    if (
      configuration !== null ||
      events.some(({ type }) => type === 'message:deleted' || type === 'message:edited')
    )
      loop.wake();
  });
  return async () => {
    unsubscribe();
    await loop.stop();
  };
}
