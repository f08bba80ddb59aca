// The store on SQLite: one writing and one reading connection, group commit, and
// the watch on other processes' commits. Holds no rule and no query of a noun.
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { sql } from 'kysely';
import type {
  Clock,
  CommitNotice,
  CommittedEvent,
  Durability,
  NewEvent,
  ReadTx,
  Scope,
  Store,
  Tx,
} from '../engine.ts';
import { StoreUnavailableError } from '../engine.ts';
import { builder } from './query.ts';
import type { Repositories } from '../repositories.ts';
import { createRepositories } from './repositories/repositories.ts';
import { listCopies, removeCopies } from './copies.ts';
import { createHistogram } from '../histogram.ts';
import { assertSettings, createRunner, openConnection, sqliteCode, type Connection } from './connection.ts';

export interface SqliteStoreOptions {
  readonly file: string;
  readonly durability: Durability;
  readonly clock: Clock;
  /** Longest time that an operation waits for another process's write lock before it is refused, ms. */
  readonly lockTimeoutMs: number;
  /** How often other processes' commits are looked for, ms; 0: never (a command that soon ends). */
  readonly pollIntervalMs: number;
}

interface QueuedWrite {
  readonly work: (tx: Tx) => Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly since: number;
  /** Shares its commit with no other. */
  readonly alone: boolean;
}

/** Bounded so that one commit never holds the loop for more than a few milliseconds. */
const maxGroupSize = 100;
const busyRetryMs = 5;
/** While it opens, a process may as well wait for another's commit. */
const openTimeoutMs = 5_000;
const checkpointAfterIdleMs = 2_000;
const checkpointAttempts = 12;

const openedAt = ({ value }: { value: string }) =>
  builder
    .insertInto('meta')
    .values({ key: 'opened_at', value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
    .compile();
const pageCount = sql<{
  bytes: number;
}>`select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`.compile(builder);

/**
 * Opens the store on a migrated database file.
 * @throws Error when the file can't be opened
 */
export function openSqliteStore(options: SqliteStoreOptions): Store {
  const { clock } = options;
  // The lock wait blocks the whole process, so an open store never waits: the group is retried from the loop.
  const writer = openConnection(options.file, {
    durability: options.durability,
    lockTimeoutMs: openTimeoutMs,
  });
  const reader = openConnection(options.file, {
    durability: options.durability,
    lockTimeoutMs: openTimeoutMs,
  });
  reader.pragma('query_only = ON');
  // The first write decides what `synchronous` really is, so it is made and looked at before anybody relies on it.
  runFirstWrite(writer, clock.now());
  assertSettings(writer, options.durability);
  // From here on nobody waits on the loop.
  for (const connection of [writer, reader]) connection.pragma('busy_timeout = 0');
  const begin = writer.prepare('BEGIN IMMEDIATE');
  const commit = writer.prepare('COMMIT');
  const savepoint = writer.prepare('SAVEPOINT operation');
  const release = writer.prepare('RELEASE operation');
  const undo = writer.prepare('ROLLBACK TO operation');
  const beginRead = reader.prepare('BEGIN');
  const endRead = reader.prepare('COMMIT');
  const writeTables = createRepositories(createRunner(writer));
  const readTables = createRepositories(createRunner(reader));

  const queue: QueuedWrite[] = [];
  const listeners = new Set<(notice: CommitNotice) => void>();
  const groupSizes = createHistogram([1, 2, 5, 10, 20, 50, 100]);
  const commitMs = createHistogram([0.5, 1, 2, 5, 10, 20, 50, 100, 500]);
  let flushing = false;
  let closed = false;
  let epoch = 0;
  let writesSinceCheckpoint = false;
  let cancelCheckpoint: (() => void) | null = null;
  let cancelWatch: (() => void) | null = null;
  let seenVersion = writer.pragma('data_version', { simple: true }) as number;

  function notify(notice: CommitNotice): void {
    if (notice.configuration) epoch += 1;
    for (const listener of listeners) listener(notice);
  }

  function enqueue<T>(work: (tx: Tx) => Promise<T>, alone: boolean): Promise<T> {
    if (closed) return Promise.reject(new StoreUnavailableError('The store is closed.'));
    return new Promise<T>((resolve, reject) => {
      queue.push({
        work,
        resolve: resolve as (value: unknown) => void,
        reject,
        since: clock.monotonic(),
        alone,
      });
      if (!flushing) {
        flushing = true;
        // After this turn of the loop: whatever arrived with it shares the commit.
        setImmediate(flush);
      }
    });
  }

  function flush(): void {
    void commitGroup().then((again) => {
      if (queue.length === 0) {
        flushing = false;
        planCheckpoint();
      } else if (again === 'later') setTimeout(flush, busyRetryMs);
      else setImmediate(flush);
    });
  }

  /** Commits the operations at the head of the queue. Never throws: each caller gets its own answer. */
  async function commitGroup(): Promise<'now' | 'later'> {
    try {
      // IMMEDIATE: a read that later becomes a write can't be refused half way.
      begin.run();
    } catch (error) {
      return refuse(error);
    }
    const group = takeGroup(queue);
    const answers: (() => void)[] = [];
    const events: CommittedEvent[] = [];
    let configuration = false;
    let began = 0;
    try {
      for (const waiting of group) {
        const outcome = await runOne(waiting, events);
        configuration ||= outcome.configuration;
        answers.push(outcome.answer);
        // SQLite itself rolls everything back on a full disk or an I/O error: nothing of the group exists then.
        if (!writer.inTransaction) throw new Error('the transaction was rolled back');
      }
      began = clock.monotonic();
      commit.run();
    } catch (error) {
      if (writer.inTransaction) writer.exec('ROLLBACK');
      const lost = new StoreUnavailableError('Storage refused the write.', { cause: error });
      for (const waiting of group) waiting.reject(lost);
      return 'now';
    }
    groupSizes.add(group.length);
    commitMs.add(clock.monotonic() - began);
    writesSinceCheckpoint = true;
    for (const answer of answers) answer();
    if (events.length > 0 || configuration) notify({ events, configuration });
    return 'now';
  }

  /** One operation inside its savepoint. Its answer is given only after the commit. */
  async function runOne(
    waiting: QueuedWrite,
    events: CommittedEvent[],
  ): Promise<{ answer: () => void; configuration: boolean }> {
    const mark = events.length;
    let configuration = false;
    let over = false;
    const tables = writeTables;
    const tx: Tx = {
      get repositories(): Repositories {
        if (over) throw new Error('A transaction was used after its end.');
        return tables;
      },
      emit: async ({ payload, activity, originConnectionId, ...event }: NewEvent) => {
        if (over) throw new Error('A transaction was used after its end.');
        const created_at = clock.now();
        const seq = await tables.events.insert({ ...event, created_at });
        events.push({ ...event, seq, created_at, payload, activity, originConnectionId: originConnectionId });
      },
      configurationChanged: () => {
        configuration = true;
      },
    };
    savepoint.run();
    try {
      const value = await waiting.work(tx);
      over = true;
      release.run();
      return { answer: () => waiting.resolve(value), configuration };
    } catch (error) {
      over = true;
      events.length = mark;
      if (writer.inTransaction) {
        undo.run();
        release.run();
      }
      const reason = isStorageError(error)
        ? new StoreUnavailableError('Storage refused the write.', { cause: error })
        : error;
      return { answer: () => waiting.reject(reason), configuration: false };
    }
  }

  /** Another process holds the write lock, or storage is out of order: who has waited long enough is told. */
  function refuse(error: unknown): 'now' | 'later' {
    const busy = sqliteCode(error)?.startsWith('SQLITE_BUSY') === true;
    const now = clock.monotonic();
    const patience = busy ? options.lockTimeoutMs : 0;
    while (queue[0] !== undefined && now - queue[0].since >= patience) {
      queue
        .shift()
        ?.reject(
          new StoreUnavailableError(
            busy ? 'The database is locked by another process.' : 'Storage is out of order.',
            { cause: error },
          ),
        );
    }
    return 'later';
  }

  // Reads that arrive together share one snapshot; none of them awaits anything but its queries,
  // so the snapshot ends within the same turn of the loop.
  let readQueue: Promise<unknown> = Promise.resolve();
  function read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    if (closed) return Promise.reject(new StoreUnavailableError('The store is closed.'));
    const result = readQueue.then(async () => {
      try {
        beginRead.run();
        return await work({ repositories: readTables });
      } catch (error) {
        throw readError(error);
      } finally {
        if (reader.inTransaction) endRead.run();
      }
    });
    readQueue = result.catch(() => undefined);
    return result;
  }

  async function readAlone<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    if (closed) throw new StoreUnavailableError('The store is closed.');
    let connection: Connection | undefined;
    try {
      connection = openConnection(options.file, options);
      connection.pragma('query_only = ON');
      connection.exec('BEGIN');
      return await work({ repositories: createRepositories(createRunner(connection)) });
    } catch (error) {
      throw readError(error);
    } finally {
      connection?.close();
    }
  }

  function watch(): void {
    if (!closed) cancelWatch = clock.after(options.pollIntervalMs, watch);
    const version = currentVersion();
    if (version === seenVersion) return;
    seenVersion = version;
    notify({ events: [], configuration: true });
  }

  /** SQLite's `data_version`, which another process's commit changes; the last one where the file can't be asked just now. */
  function currentVersion(): number {
    try {
      return writer.pragma('data_version', { simple: true }) as number;
    } catch (error) {
      // Out of a timer it would end the process, and the next look is soon.
      if (isStorageError(error)) return seenVersion;
      throw error;
    }
  }

  if (options.pollIntervalMs > 0) cancelWatch = clock.after(options.pollIntervalMs, watch);

  // Checkpoints at idle moments: under load they would show as stalls, and the log must not grow for ever.
  function planCheckpoint(): void {
    cancelCheckpoint?.();
    cancelCheckpoint = clock.after(checkpointAfterIdleMs, () => {
      cancelCheckpoint = null;
      if (writesSinceCheckpoint && !flushing && !closed) {
        writesSinceCheckpoint = false;
        checkpoint(writer, 'PASSIVE');
      }
    });
  }

  return {
    read,
    readAlone,
    // The one lock of the file excludes more than any scope asks for.
    write: <T>(_scope: Scope | readonly Scope[], work: (tx: Tx) => Promise<T>) => enqueue(work, false),
    alone: <T>(_scope: Scope, work: (tx: Tx) => Promise<T>) => enqueue(work, true),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    configurationEpoch: () => epoch,
    sizeBytes: () => read(async () => (reader.prepare(pageCount.sql).get() as { bytes: number }).bytes),
    stats: () => ({
      groupSizes: groupSizes.read(),
      commitMs: commitMs.read(),
      // Asked for its size only, never opened: closing a descriptor of ours would drop SQLite's locks.
      logBytes: statSync(`${options.file}-wal`, { throwIfNoEntry: false })?.size ?? 0,
    }),
    checkpoint: async () => {
      for (let attempt = 1; attempt <= checkpointAttempts && !closed; attempt += 1) {
        // Between the awaits of a group the connection is inside its transaction.
        if (!writer.inTransaction && truncateWal(writer)) return true;
        await new Promise((resolve) => setTimeout(resolve, busyRetryMs * attempt));
      }
      return false;
    },
    copies: () => listCopies(dirname(options.file)),
    removeCopies: (madeBefore) => removeCopies(dirname(options.file), madeBefore),
    close: async () => {
      if (closed) return;
      closed = true;
      cancelWatch?.();
      cancelCheckpoint?.();
      while (flushing) await new Promise((resolve) => setTimeout(resolve, 1));
      await readQueue;
      reader.close();
      closeWriter(writer);
    },
  };
}

/** Takes the operations of the next commit from the head of the queue. */
function takeGroup(queue: QueuedWrite[]): QueuedWrite[] {
  const next = queue.findIndex(({ alone }) => alone);
  const together = next < 0 ? maxGroupSize : Math.min(Math.max(next, 1), maxGroupSize);
  return queue.splice(0, together);
}

function runFirstWrite(writer: Connection, now: number): void {
  const query = openedAt({ value: String(now) });
  writer.prepare(query.sql).run(...query.parameters);
}

/** @returns whether the log is empty now; another connection's reader may keep a part of it */
function truncateWal(writer: Connection): boolean {
  try {
    const [result] = writer.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    return result?.busy === 0;
  } catch (error) {
    if (isStorageError(error) || sqliteCode(error) === 'SQLITE_LOCKED') return false;
    throw error;
  }
}

function closeWriter(writer: Connection): void {
  try {
    checkpoint(writer, 'TRUNCATE');
  } finally {
    writer.close();
  }
}

/** Moves the log into the database as far as may be. What can't be moved now stays safe in the log, for the next one. */
function checkpoint(writer: Connection, mode: 'PASSIVE' | 'TRUNCATE'): void {
  try {
    writer.pragma(`wal_checkpoint(${mode})`);
  } catch (error) {
    if (!isStorageError(error) && sqliteCode(error) !== 'SQLITE_LOCKED') throw error;
  }
}

/** What a read's caller is told. */
function readError(error: unknown): unknown {
  return isStorageError(error)
    ? new StoreUnavailableError('Storage refused the read.', { cause: error })
    : error;
}

/** Errors of the storage below SQLite, after which the same write may succeed later. */
function isStorageError(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && /^SQLITE_(FULL|IOERR|READONLY|BUSY|CANTOPEN|NOMEM)/.test(code);
}
