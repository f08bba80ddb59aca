// Moves the log (SQLite's WAL) into the database while writing goes on: SQLite begins the log anew only where nothing was
// written since it was moved whole, and it would grow for ever under a load that never ends. The usual stretch of it is moved
// here, between two commits: a thread costs more of the processor. What is longer, as a backup or a large removal leaves it,
// is moved by a thread, which reads, writes and syncs beside the loop, and only its last pages here. For as long as that
// thread is there, it moves the usual stretch, too: the server has work beside its users', and its loop is short of time.
// What an idle moment moves is in sqlite-store.ts.
import { Worker } from 'node:worker_threads';
import type { Clock, Durability } from '../engine.ts';
import { errorMessage } from '../file-errors.ts';
import { isStorageError, sqliteCode, type Connection } from './connection.ts';

/** What the thread is started with. */
export interface CheckpointTask {
  readonly file: string;
  readonly durability: Durability;
}

/** What the thread is told: to move what it can, or to end. It answers the first one when it has. */
export type CheckpointOrder = 'move' | 'end';

/** What the thread answers once it has moved what it can: what storage refused it, or null. */
export type CheckpointAnswer = string | null;

/** How the log stands, in pages. */
export interface LogState {
  /** In the log. */
  readonly pages: number;
  /** Of these in the database, too. */
  readonly moved: number;
}

/** The log is moved when so many pages of it are not; 2000 held the loop for 20 ms. */
export const manyPages = 1_000;
/** More than so many are moved by the thread. */
export const mostPages = 1_500;
/** What is written while the thread moves is moved after it, so many times, but not for ever. */
export const mostPasses = 20;
/**
 * Where commits are so large that more than the most is always left behind the thread, the loop stands still for it all the
 * same once the log is long, for up to so many pages, or for any number once it is very long.
 */
const longLog = 16_000;
const mostOfLongLog = 6_000;
const veryLongLog = 64_000;
/** Commits between two looks at the log, at most. A look takes 20 µs, a message in a large commit 45. */
export const mostCommitsPerLook = 8;
/** After what could not be moved whole, as while a backup reads, it is tried again, ms. */
const retryMs = 200;
/**
 * A thread that was not needed for so long ends, ms: to start one takes a tenth of a second of a core, and its engine some
 * ten megabytes.
 */
const threadRestMs = 30_000;
/** After a thread that failed, all is moved here for so long, ms. */
const threadRetryMs = 60_000;

/** Beside this file as a source, and as a bundle. */
const workerFile = import.meta.url.endsWith('.ts') ? './checkpoint-worker.ts' : './checkpoint-worker.mjs';

/**
 * @returns tells how the log stands, without a lock; outside of a transaction of the connection. Of none where storage does
 * not say
 */
export function createLogReader(connection: Connection): () => LogState {
  const statement = connection.prepare<[], { log: number; checkpointed: number }>(
    'pragma wal_checkpoint(NOOP)',
  );
  return () => {
    let row;
    try {
      row = statement.get();
    } catch (error) {
      if (!isPassing(error)) throw error;
    }
    return { pages: row?.log ?? 0, moved: row?.checkpointed ?? 0 };
  };
}

/** Whether storage, or another connection, is what stands in the way just now. */
export function isPassing(error: unknown): boolean {
  return isStorageError(error) || sqliteCode(error) === 'SQLITE_LOCKED';
}

/**
 * Moves the log into the database as far as may be. What can't be moved now stays safe in the log, for the next one.
 * @returns what storage, or another connection, refused
 */
export function checkpoint(connection: Connection, mode: 'PASSIVE' | 'TRUNCATE'): Error | null {
  try {
    connection.pragma(`wal_checkpoint(${mode})`);
    return null;
  } catch (error) {
    if (!isPassing(error) || !(error instanceof Error)) throw error;
    return error;
  }
}

/**
 * Moves the log again and again until nothing is left of it. Only with that does SQLite bring the database to the disk:
 * where the thread ended with a little left, the loop's own move waited for the disk to take all that the thread had
 * written. A small commit leaves time enough for one that is whole.
 * @param move moves what it can
 * @param readLog tells how the log stands
 */
export function moveWhole(move: () => void, readLog: () => LogState): void {
  let before = readLog();
  for (let pass = 1; pass <= mostPasses; pass += 1) {
    move();
    const after = readLog();
    // Nothing is left, or a reader keeps what is.
    if (after.moved === after.pages || after.moved === before.moved) return;
    before = after;
  }
}

export interface CheckpointsOptions extends CheckpointTask {
  readonly clock: Clock;
  /** The connection that writes. */
  readonly writer: Connection;
  /** Left out: a thread of this process. */
  readonly startThread?: (task: CheckpointTask) => Worker;
  /** Told once why the thread fails, however often it is tried, and once with null when it works again. */
  readonly onThread?: ((failure: string | null) => void) | undefined;
}

const startWorker = (task: CheckpointTask): Worker =>
  new Worker(new URL(workerFile, import.meta.url), { workerData: task, env: {} });

/** The checkpoints of a server. */
export class Checkpoints {
  readonly #options: CheckpointsOptions;
  readonly #readLog: () => LogState;
  /** Since the last look, and between that and the next one. */
  #commits = 0;
  #commitsPerLook = 1;
  /** So many pages were not moved at the last look; 0 where the log was full. */
  #seen = 0;
  #worker: Worker | null = null;
  /** What the thread is at. */
  #moving: Promise<void> | null = null;
  /** Calls off the end of a thread that rests. */
  #stay: (() => void) | null = null;
  /** Threads that were told to end have ended. */
  #ending: Promise<void> = Promise.resolve();
  /** The thread has moved what it could; the last pages are to be moved here. */
  #isRestDue = false;
  /** So much was moved when it began. */
  #movedBefore = 0;
  /** By the clock that never jumps, ms: the log is not looked at before, and no thread is started. */
  #notBefore = 0;
  #noThreadBefore = 0;
  /** It has failed, and has not worked since. */
  #isFailing = false;
  #closed = false;

  constructor(options: CheckpointsOptions) {
    this.#options = options;
    this.#readLog = createLogReader(options.writer);
    // Its commits leave the log to this.
    options.writer.pragma('wal_autocheckpoint = 0');
  }

  /**
   * Called between two commits, outside of any transaction.
   * @param isDiskFull the log must not take the room that is left: it is looked at each time, and what is full is moved here
   * @throws Error what SQLite says, where that is not about storage
   */
  betweenCommits(isDiskFull: boolean): void {
    if (this.#isRestDue) this.#moveRest();
    this.#commits += 1;
    if (this.#moving !== null || this.#closed) return;
    if (this.#commits < this.#commitsPerLook && !isDiskFull) return;
    if (this.#options.clock.monotonic() < this.#notBefore) return;
    const pages = this.#unmoved();
    this.#planLook(pages);
    if (pages < manyPages) return;
    const isForThread = !isDiskFull && (pages > mostPages || this.#worker !== null);
    if (!isForThread || this.#move(pages) === null) this.#moveHere();
  }

  /** Whether a part of the log is not in the database yet. */
  hasUnmoved(): boolean {
    return this.#unmoved() > 0;
  }

  /** Has the thread move what it can, where that would hold the loop up. */
  async moveMost(): Promise<void> {
    await this.#moving;
    if (this.#closed || this.#moving !== null || this.#options.writer.inTransaction) return;
    const pages = this.#unmoved();
    if (pages > mostPages) await this.#move(pages);
  }

  /** Waits for what is under way, and ends the thread. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#moving;
    this.#endThread();
    await this.#ending;
  }

  #unmoved(): number {
    const { pages, moved } = this.#readLog();
    return pages - moved;
  }

  /**
   * The next look comes after half of the commits that would fill the log if they were as large as the last ones: they may
   * become twice as large.
   */
  #planLook(pages: number): void {
    const grown = pages - this.#seen;
    // Each commit writes a page at least: less growth means that the log was moved since, and tells nothing of the commits.
    const left = grown < this.#commits ? 1 : Math.floor(((manyPages - pages) * this.#commits) / (2 * grown));
    this.#commitsPerLook = Math.max(1, Math.min(left, mostCommitsPerLook));
    this.#commits = 0;
    // A full log is about to be moved, or can't be: what comes is counted from nothing.
    this.#seen = pages < manyPages ? pages : 0;
  }

  #moveHere(): void {
    const { writer, clock } = this.#options;
    checkpoint(writer, 'PASSIVE');
    if (this.hasUnmoved()) this.#notBefore = clock.monotonic() + retryMs;
  }

  /**
   * @param pages so many are not moved: the usual stretch keeps no thread
   * @returns null: there is no thread
   */
  #move(pages: number): Promise<void> | null {
    const worker = (this.#worker ??= this.#start());
    if (worker === null) return null;
    const isNeeded = pages > mostPages;
    if (isNeeded) this.#stay?.();
    this.#movedBefore = this.#readLog().moved;
    const { promise, resolve } = Promise.withResolvers<void>();
    const answered = (answer: CheckpointAnswer): void => {
      this.#tell(answer);
      end();
    };
    const end = (): void => {
      worker.off('message', answered);
      worker.off('exit', end);
      this.#moving = null;
      this.#isRestDue = !this.#closed;
      if (isNeeded) this.#stay = this.#options.clock.after(threadRestMs, () => this.#endThread());
      resolve();
    };
    worker.once('message', answered);
    worker.once('exit', end);
    this.#moving = promise;
    worker.postMessage('move' satisfies CheckpointOrder);
    return promise;
  }

  /** The next one that is needed is started anew. */
  #endThread(): void {
    this.#stay?.();
    const worker = this.#worker;
    if (worker === null) return;
    this.#worker = null;
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    worker.once('exit', () => resolve());
    worker.postMessage('end' satisfies CheckpointOrder);
    this.#ending = this.#ending.then(() => gone);
  }

  #moveRest(): void {
    this.#isRestDue = false;
    const { pages, moved } = this.#readLog();
    const left = pages - moved;
    // A reader that has ended since would leave all that it kept: that is the thread's, again.
    const most = moved === this.#movedBefore || pages <= longLog ? mostPages : mostOfLongLog;
    if (left <= most || (most > mostPages && pages > veryLongLog)) this.#moveHere();
    else this.#notBefore = this.#options.clock.monotonic() + retryMs;
  }

  #start(): Worker | null {
    const { file, durability, clock, startThread = startWorker } = this.#options;
    if (clock.monotonic() < this.#noThreadBefore) return null;
    const fail = (error: unknown): void => {
      this.#noThreadBefore = clock.monotonic() + threadRetryMs;
      this.#tell(errorMessage(error));
    };
    try {
      const worker = startThread({ file, durability });
      worker.once('error', fail);
      worker.once('exit', () => {
        if (this.#worker === worker) this.#worker = null;
      });
      return worker;
    } catch (error) {
      // The system gives no more threads.
      fail(error);
      return null;
    }
  }

  /** Once for each spell of failure, and at its end. */
  #tell(failure: string | null): void {
    if ((failure !== null) === this.#isFailing) return;
    this.#isFailing = failure !== null;
    this.#options.onThread?.(failure);
  }
}
