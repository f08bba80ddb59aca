// The store on SQLite: one writing and one reading connection, and the watch on other processes' commits. Writes go
// through write-queue.ts. Holds no rule and no query of a noun.
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { sql } from 'kysely';
import type {
  Clock,
  CommitNotice,
  CommittedEvent,
  DatabaseCopy,
  Durability,
  Maintenance,
  ReadTx,
  Scope,
  Soon,
  Store,
  StoreStats,
  Tx,
  UserCommit,
} from '../engine.ts';
import { ConfigurationHistory } from '../configuration-history.ts';
import { StoreUnavailableError } from '../engine.ts';
import { LogFollower } from '../log-follower.ts';
import { checkpoint, Checkpoints, isPassing } from './checkpoints.ts';
import { assertSettings, firstRow, isStorageError, openConnection, type Connection } from './connection.ts';
import { listCopies, removeCopies } from './copies.ts';
import { isDiskShort, keepReserve, releaseReserve } from './disk-reserve.ts';
import { lastSeq } from './log-end.ts';
import { LogFile, logPieceBytes } from './log-file.ts';
import { builder } from './query.ts';
import { createRepositories } from './repositories/repositories.ts';
import { createRunner, unwatched } from './runner.ts';
import { toStoreError } from './store-error.ts';
import { WriteQueue, type Commit } from './write-queue.ts';

export interface SqliteStoreOptions {
  readonly file: string;
  readonly durability: Durability;
  readonly clock: Clock;
  /** Longest time that an operation waits for another process's write lock before it is refused, ms. */
  readonly lockTimeoutMs: number;
  /**
   * Whether a server opens it: it keeps room for a full disk (disk-reserve.ts), which a command only uses, and has a
   * thread for checkpoints (checkpoints.ts).
   */
  readonly isServer: boolean;
  /** How often other processes' commits are looked for, ms; 0: never (a command that soon ends). */
  readonly pollIntervalMs: number;
  /** Called after each commit. */
  readonly onUsersCommitted?: (commit: UserCommit) => void;
  /** Told once why the thread for checkpoints fails, and once with null when it works again. */
  readonly onCheckpointThread?: ((failure: string | null) => void) | undefined;
}

/** While it opens, a process may as well wait for another's commit. */
const openTimeoutMs = 5_000;
const checkpointAfterIdleMs = 2_000;
const checkpointRetryMs = 5;
const checkpointAttempts = 12;
/** Between two pieces of a long log's file that are freed. */
const cutPauseMs = 10;
/** So often in a row it is tried to free one, where another process writes. */
const cutAttempts = 12;
const logPageSize = 500;
/** When the reserve is first looked after, and how often while it is missing. */
const reserveAfterMs = 10_000;
/** Freed pages in the database that let ordinary writes go on while the reserve is missing, bytes. */
const roomInsideBytes = 4 * 1_048_576;

const openedAt = ({ value }: { value: string }) =>
  builder
    .insertInto('meta')
    .values({ key: 'opened_at', value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
    .compile();
const pageCount = sql<{
  bytes: number;
}>`select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`.compile(builder);

export class SqliteStore implements Store, Maintenance {
  readonly #options: SqliteStoreOptions;
  readonly #writer: Connection;
  readonly #reader: Connection;
  readonly #readStatements;
  readonly #repositories: ReturnType<typeof createRepositories>;
  readonly #queue: WriteQueue;
  /** null: a command, whose commits move the log as SQLite does by itself. */
  readonly #checkpoints: Checkpoints | null;
  readonly #logFile: LogFile;
  readonly #follower: LogFollower;
  // Reads that arrive together share one snapshot each; none of them awaits anything but its queries, so the snapshot
  // ends within the same turn of the loop.
  #reads: Promise<unknown> = Promise.resolve();
  #closed = false;
  #epoch = 0;
  readonly #configurations = new ConfigurationHistory(0);
  #configurationCount: number;
  #seenVersion: number;
  #seenForeign = 0;
  /** The end of the log at the last look: its last events may have gone with their messages, and are never told then. */
  #seenLast = 0;
  /** When the queue has last become empty, by the clock that never jumps. */
  #idleSince = 0;
  /** The disk was full, and the reserve is not back yet: what is left is for removing. */
  #full = false;
  #cancelReserve = (): void => undefined;
  /** The reserve that is being written. */
  #reserving: Promise<void> = Promise.resolve();
  /** null: none is planned. */
  #cancelCheckpoint: (() => void) | null = null;
  #cancelWatch = (): void => undefined;

  /**
   * Opens the store on a migrated database file.
   * @throws Error when the file can't be opened
   */
  constructor(options: SqliteStoreOptions) {
    const { clock, durability, lockTimeoutMs } = options;
    this.#options = options;
    this.#writer = openConnection(options.file, { durability, lockTimeoutMs: openTimeoutMs });
    this.#reader = openConnection(options.file, { durability, lockTimeoutMs: openTimeoutMs });
    this.#reader.pragma('query_only = ON');
    // The first write decides what `synchronous` really is, so it is made and looked at before anything relies on it.
    runFirstWrite(this.#writer, clock.now());
    assertSettings(this.#writer, durability);
    // The lock wait blocks the whole process, so an open store never waits: a group is retried from the loop.
    for (const connection of [this.#writer, this.#reader]) connection.pragma('busy_timeout = 0');
    this.#readStatements = { begin: this.#reader.prepare('BEGIN'), end: this.#reader.prepare('COMMIT') };
    const watch = { ...unwatched, onOrderedRead: () => this.#queue.noteOrderedRead() };
    this.#repositories = createRepositories(createRunner(this.#reader, watch));
    const { file } = options;
    this.#checkpoints = options.isServer
      ? new Checkpoints({
          file,
          durability,
          clock,
          writer: this.#writer,
          onThread: options.onCheckpointThread,
        })
      : null;
    this.#logFile = new LogFile({ file, writer: this.#writer, reader: this.#reader });
    this.#queue = new WriteQueue(this.#writer, {
      clock,
      lockTimeoutMs,
      betweenCommits: () => this.#checkpoints?.betweenCommits(this.#full),
      configurationEpoch: (count) => (count === this.#configurationCount ? this.#epoch : null),
      onCommit: (commit) => this.#onCommit(commit),
      onIdle: () => this.#planCheckpoint(),
      onFull: () => this.#onFull(),
      // What is left of a full disk is for what removes.
      placesMessages: () => !this.#full,
      onUsersCommitted: options.onUsersCommitted ?? (() => undefined),
    });
    this.#configurationCount = readConfigurationCount(this.#reader);
    this.#seenVersion = dataVersion(this.#writer);
    this.#follower = new LogFollower({
      clock,
      position: firstRow(this.#reader, lastSeq)?.seq ?? 0,
      readAfter: (seq) => this.#readForeign(seq),
    });
    if (options.pollIntervalMs > 0) this.#planWatch();
    if (options.pollIntervalMs > 0 && this.#queue.hasUnplaced) this.#planCheckpoint();
    if (options.isServer) this.#planReserve();
  }

  read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(closedError());
    const result = this.#reads.then(async () => {
      try {
        this.#readStatements.begin.run();
        return await work({ repositories: this.#repositories });
      } catch (error) {
        throw toStoreError(error, 'Storage refused the read.');
      } finally {
        if (this.#reader.inTransaction) this.#readStatements.end.run();
      }
    });
    this.#reads = result.catch(() => undefined);
    return result;
  }

  async readAlone<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    if (this.#closed) throw closedError();
    let connection: Connection | undefined;
    try {
      connection = openConnection(this.#options.file, this.#options);
      connection.pragma('query_only = ON');
      connection.exec('BEGIN');
      return await work({ repositories: createRepositories(createRunner(connection)) });
    } catch (error) {
      throw toStoreError(error, 'Storage refused the read.');
    } finally {
      connection?.close();
    }
  }

  // The one lock of the file excludes more than any scope asks for.
  write<T>(scope: Scope | readonly Scope[], work: (tx: Tx) => Soon<T>, behind?: 'behind'): Promise<T> {
    return this.#refusal(scope) ?? this.#queue.add(work, behind ?? 'shared');
  }

  alone<T>(scope: Scope, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#refusal(scope) ?? this.#queue.add(work, 'alone');
  }

  #refusal(scope: Scope | readonly Scope[]): Promise<never> | null {
    if (this.#closed) return Promise.reject(closedError());
    if (!this.#full || removes(scope) || this.#roomInside() >= roomInsideBytes) return null;
    return Promise.reject(new StoreUnavailableError('The disk is full: only what removes is written.'));
  }

  /** Bytes of the database that hold nothing. */
  #roomInside(): number {
    const pages = this.#reader.pragma('freelist_count', { simple: true });
    const size = this.#reader.pragma('page_size', { simple: true });
    return Number(pages) * Number(size);
  }

  /** The room that was kept goes to what removes; it comes back by itself. */
  #onFull(): void {
    const folder = dirname(this.#options.file);
    // A limit of the database's own is no matter of the disk.
    if (!isDiskShort(folder)) return;
    releaseReserve(folder);
    if (!this.#options.isServer || this.#full) return;
    this.#full = true;
    this.#planReserve();
  }

  #planReserve(): void {
    this.#cancelReserve();
    this.#cancelReserve = this.#options.clock.after(reserveAfterMs, () => {
      this.#reserving = keepReserve(dirname(this.#options.file)).then((kept) => {
        if (kept) this.#full = false;
        else if (!this.#closed) this.#planReserve();
      });
    });
  }

  subscribe(listener: (notice: CommitNotice) => void): () => void {
    return this.#follower.subscribe(listener);
  }

  freshConfiguration(): number {
    return this.#epoch;
  }

  configurationChangedAt(organizationId: string, fresh: number): number {
    return this.#configurations.changedAt(organizationId, fresh);
  }

  configurationChangedSince(since: number, fresh: number): ReadonlySet<string> | 'all' {
    return this.#configurations.changedSince(since, fresh);
  }

  stats(): StoreStats {
    return { groupSizes: this.#queue.groupSizes.read(), commitMs: this.#queue.commitMs.read() };
  }

  sizeBytes(): Promise<number> {
    return this.read(async () => firstRow(this.#reader, pageCount)?.bytes ?? 0);
  }

  logBytes(): number {
    return statSync(`${this.#options.file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  async clearRemoved(): Promise<boolean> {
    for (let attempt = 1; attempt <= checkpointAttempts && !this.#closed; attempt += 1) {
      // It would hold the loop for as long as much of the log takes.
      await this.#checkpoints?.moveMost();
      const isShort = await this.#cutLog();
      await this.#checkpoints?.moveMost();
      // At last what is long is freed in one step.
      if ((isShort || attempt === checkpointAttempts) && this.#isFree() && truncateWal(this.#writer))
        return true;
      await new Promise((resolve) => setTimeout(resolve, checkpointRetryMs * attempt));
    }
    return false;
  }

  /** Between the awaits of a group the connection is inside its transaction. */
  #isFree(): boolean {
    return !this.#closed && !this.#writer.inTransaction && !this.#reader.inTransaction;
  }

  /** Frees the most of a long log's file, in pieces with pauses between them. @returns whether there is little left */
  async #cutLog(): Promise<boolean> {
    if (this.logBytes() <= 2 * logPieceBytes) return true;
    if (!this.#isFree() || !this.#logFile.beginAnew()) return false;
    for (let inVain = 0; inVain < cutAttempts && !this.#closed;) {
      await new Promise((resolve) => setTimeout(resolve, cutPauseMs));
      const more = this.#isFree() ? this.#logFile.cutPiece() : null;
      if (more === false) return true;
      inVain = more === null ? inVain + 1 : 0;
    }
    return false;
  }

  copies(): Promise<DatabaseCopy[]> {
    return listCopies(dirname(this.#options.file));
  }

  removeCopies(madeBefore: number): Promise<number> {
    return removeCopies(dirname(this.#options.file), madeBefore);
  }

  /** Finishes what is under way. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelWatch();
    this.#cancelReserve();
    this.#cancelCheckpoint?.();
    while (this.#queue.busy) await new Promise((resolve) => setTimeout(resolve, 1));
    await this.#checkpoints?.close();
    await this.#reads;
    // It would write into a folder that may be about to be removed.
    await this.#reserving;
    this.#follower.close();
    this.#reader.close();
    closeWriter(this.#writer);
  }

  #onCommit({ events, configuration, configurationCount }: Commit): void {
    let changed: CommitNotice['configuration'] = null;
    if (configurationCount !== null) {
      // Another process changed some in between: nothing says whose.
      changed = configurationCount === this.#configurationCount + 1 ? configuration : 'all';
      this.#configurationCount = configurationCount;
      this.#epoch += 1;
      this.#configurations.note(this.#epoch, changed);
    }
    this.#follower.hint(events, changed);
  }

  /** Own events are always hinted at before they can be read: what is only in the log is another process's. */
  async #readForeign(after: number): Promise<CommittedEvent[]> {
    const rows = await this.read(({ repositories }) => repositories.events.after(after, logPageSize));
    return rows.map((row) => ({ ...row, own: false }));
  }

  #planWatch(): void {
    this.#cancelWatch = this.#options.clock.after(this.#options.pollIntervalMs, () => {
      this.#watch().catch(() => undefined);
      if (!this.#closed) this.#planWatch();
    });
  }

  /** Looks for commits of other processes. Where storage can't be asked just now, the next look is soon. */
  async #watch(): Promise<void> {
    const version = this.#currentVersion();
    if (version === this.#seenVersion) return;
    const { last, count } = await this.read(async ({ repositories: { events, meta } }) => ({
      last: await events.lastSeq(),
      count: Number((await meta.get('configuration')) ?? 0),
    }));
    this.#seenVersion = version;
    const told = Math.max(this.#follower.position, this.#seenLast);
    const hasEvents = last > told || this.#follower.foreignCount > this.#seenForeign;
    this.#seenLast = last;
    this.#seenForeign = this.#follower.foreignCount;
    // Neither the log nor the count says what was changed, as after a change by hand: then it may be anything.
    if (count > this.#configurationCount || !hasEvents) {
      this.#configurationCount = Math.max(count, this.#configurationCount);
      this.#epoch += 1;
      this.#configurations.note(this.#epoch, 'all');
      this.#follower.hint([], 'all');
    }
    this.#follower.look();
    this.#queue.lookForUnplaced();
    if (this.#queue.hasUnplaced) this.#planCheckpoint();
  }

  /** SQLite's `data_version`, which another process's commit changes; the last one where the file can't be asked just now. */
  #currentVersion(): number {
    try {
      return dataVersion(this.#writer);
    } catch (error) {
      if (isStorageError(error)) return this.#seenVersion;
      throw error;
    }
  }

  // What a busy while leaves is moved at idle moments, where no one waits for it.
  #planCheckpoint(): void {
    if (this.#full) {
      // Removing writes to the log as well, which would use up the room that was kept for it: it begins anew each time.
      checkpoint(this.#writer, 'TRUNCATE');
      return;
    }
    this.#idleSince = this.#options.clock.monotonic();
    this.#cancelCheckpoint ??= this.#options.clock.after(checkpointAfterIdleMs, () =>
      this.#checkpointIfIdle(),
    );
  }

  /** One timer for all groups of a busy while: it looks again where it was not idle for long enough. */
  #checkpointIfIdle(): void {
    this.#cancelCheckpoint = null;
    // The end of what is under way plans it again.
    if (this.#closed || this.#queue.busy) return;
    const leftMs = this.#idleSince + checkpointAfterIdleMs - this.#options.clock.monotonic();
    if (leftMs > 0)
      this.#cancelCheckpoint = this.#options.clock.after(leftMs, () => this.#checkpointIfIdle());
    // The end of it plans a checkpoint.
    else if (this.#queue.hasUnplaced && !this.#full) void this.#placeMessages();
    else void this.#checkpointAtRest();
  }

  async #checkpointAtRest(): Promise<void> {
    await this.#checkpoints?.moveMost();
    if (this.#closed || this.#writer.inTransaction) return;
    checkpoint(this.#writer, 'PASSIVE');
    // A reader keeps a part of it, as a backup does: nothing may be written when that ends.
    if (this.#checkpoints?.hasUnmoved() === true) this.#planCheckpoint();
  }

  /** Gives all messages their places, a commit for some of them at a time, so that others come between. */
  async #placeMessages(): Promise<void> {
    try {
      while (this.#queue.hasUnplaced && !this.#full && !this.#closed)
        await this.#queue.add(() => undefined, 'alone');
    } catch {
      // Storage refused it; they are found without their places, and the next idle moment tries again.
      if (!this.#closed) checkpoint(this.#writer, 'PASSIVE');
    }
  }
}

function removes(scope: Scope | readonly Scope[]): boolean {
  return [scope].flat().some((one) => typeof one === 'object' && one.removes === true);
}

function closedError(): StoreUnavailableError {
  return new StoreUnavailableError('The store is closed.');
}

function readConfigurationCount(connection: Connection): number {
  const query = builder.selectFrom('meta').select('value').where('key', '=', 'configuration').compile();
  return Number(firstRow(connection, query)?.value ?? 0);
}

/** A number that every commit of another connection changes. */
function dataVersion(connection: Connection): number {
  return Number(connection.pragma('data_version', { simple: true }));
}

function runFirstWrite(writer: Connection, now: number): void {
  const query = openedAt({ value: String(now) });
  writer.prepare(query.sql).run(...query.parameters);
}

/** @returns whether the log is empty now; another connection's reader may keep a part of it */
function truncateWal(writer: Connection): boolean {
  try {
    return writer.prepare<[], { busy: number }>('pragma wal_checkpoint(TRUNCATE)').get()?.busy === 0;
  } catch (error) {
    if (isPassing(error)) return false;
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
