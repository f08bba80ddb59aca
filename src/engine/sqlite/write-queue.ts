// Group commit: operations that arrive together share one transaction and are answered after one synced commit; one
// that fails is taken back alone. Holds no rule and no query of a noun.
import type { CommittedEvent, Soon, Tx, UserCommit } from '../engine.ts';
import { StoreUnavailableError } from '../engine.ts';
import { isOutOfRoom } from '../file-errors.ts';
import { createHistogram } from '../histogram.ts';
import { sqliteCode, type Connection } from './connection.ts';
import { KnownConversations } from './known-conversations.ts';
import { LogEnd } from './log-end.ts';
import { MessagePlacing, type MessagePlacingOptions } from './message-placing.ts';
import { OperationTx } from './operation-tx.ts';
import { builder } from './query.ts';
import { writeStepAt } from './repositories/conversations.ts';
import { effectStatements } from './repositories/effects.ts';
import { insertEvents } from './repositories/events.ts';
import { createMessagePlaces, placeStatements } from './repositories/message-places.ts';
import { insertNumberedMessage, insertPlainMessage } from './repositories/messages.ts';
import { replaceFact } from './repositories/meta.ts';
import { createRepositories, type SqliteRepositories } from './repositories/repositories.ts';
import { indexStatements } from './repositories/search.ts';
import { deliveryStatements } from './repositories/webhooks.ts';
import { createRunner } from './runner.ts';
import { isIndexDamage, toStoreError } from './store-error.ts';
import { sql } from 'kysely';

export interface WriteQueueOptions extends MessagePlacingOptions {
  /** Longest time that an operation waits for another process's write lock before it is refused, ms. */
  readonly lockTimeoutMs: number;
  /**
   * The number of the configuration that this process knows; null where the database counts more changes than it has
   * heard of.
   */
  readonly configurationEpoch: (configurationCount: number) => number | null;
  /** Called after each commit that left events, or changed configuration. */
  readonly onCommit: (commit: Commit) => void;
  /** Called between two commits, outside of any transaction. */
  readonly betweenCommits: () => void;
  /** Called when the queue has become empty. */
  readonly onIdle: () => void;
  /** Called when storage had no room for a write. */
  readonly onFull: () => void;
  /** Called after each commit. */
  readonly onUsersCommitted: (commit: UserCommit) => void;
}

/** What a group of operations has committed. */
export interface Commit {
  readonly events: readonly CommittedEvent[];
  /** Organizations whose configuration changed. */
  readonly configuration: ReadonlySet<string>;
  /** How often configuration has ever changed in this database; null where this commit changed none. */
  readonly configurationCount: number | null;
}

interface QueuedWrite {
  /** Runs the operation. What comes of it is what the caller is answered with, after the commit. */
  readonly work: (tx: Tx) => unknown;
  // Methods, so that one queue holds operations whatever they answer.
  resolve(value: unknown): void;
  reject(error: unknown): void;
  readonly since: number;
  readonly place: Place;
}

/**
 * How an operation stands to the others: it shares its commit with them; it is `alone` in it; or it stands `behind` those
 * that users wait for.
 */
export type Place = 'shared' | 'alone' | 'behind';

/** What becomes of an operation. */
interface Answer {
  readonly to: QueuedWrite;
  readonly failed: boolean;
  /** What it has made, or its error. */
  readonly value: unknown;
}

/** What a group leaves, once it has run. */
interface GroupRun {
  /** One for each operation, given after the commit. */
  readonly answers: Answer[];
  readonly events: CommittedEvent[];
  readonly configuration: Set<string>;
}

/** What takes a failed operation back; null: nothing does. */
type Undoing = 'savepoint' | 'all' | null;

/** An operation that has begun, and how it stood before. */
interface Begun {
  readonly waiting: QueuedWrite;
  readonly run: GroupRun;
  readonly tx: OperationTx;
  readonly undoing: Undoing;
  /** Events of the operations before it. */
  readonly heard: number;
  /** Statements that had run by then. */
  readonly written: number;
}

/** Bounded so that one commit never holds the loop for more than a few milliseconds, whatever its operations do. */
const maxGroupSize = 100;
/** After so long a group takes no further operation: the rest goes into the next one, after a turn of the loop. */
const maxGroupMs = 15;
/** After so long it takes none that stands behind the others. */
const maxBehindMs = 2;
/** One that has stood behind for so long goes first, one in each group, ms. */
const overdueMs = 100;
/** After so long of commits that no user waits for, the lock is free for so long, ms: another process gets it only then. */
const behindStretchMs = 20;
const freeMs = 10;
const busyRetryMs = 5;
/** Where so many wait, others are about to come: the commit is worth a turn of the loop. */
const worthGathering = 12;
/** The first of them has waited long enough by then, ms. Only a busy machine takes so long for a turn, and has no time to give. */
const mostGatheringMs = 1;
const refusedWrite = 'Storage refused the write.';

/** A commit that waits for turns of the loop. */
interface Gathering {
  /** By the clock that never jumps, ms. */
  readonly since: number;
  /** Operations that were there at the last look. */
  readonly size: number;
}

/**
 * What sending, indexing and telling others write: what writes a step passes it on to the known row, what appends takes its
 * numbers from the known end of the log, the others touch neither.
 */
const keepsWhatIsKnown: ReadonlySet<string> = new Set(
  [
    insertNumberedMessage,
    insertPlainMessage,
    writeStepAt,
    replaceFact,
    ...deliveryStatements,
    ...effectStatements,
  ]
    .map(({ compiled }) => compiled)
    .concat(insertEvents, indexStatements, placeStatements)
    .map(({ sql: text }) => text),
);

const configurationCount = builder
  .selectFrom('meta')
  .select('value')
  .where('key', '=', 'configuration')
  .compile();
const countConfiguration = builder
  .insertInto('meta')
  .values({ key: 'configuration', value: '1' })
  .onConflict((conflict) =>
    conflict.column('key').doUpdateSet({ value: sql<string>`cast(cast(meta.value as integer) + 1 as text)` }),
  )
  .returning('value')
  .compile();

export class WriteQueue {
  readonly groupSizes = createHistogram([1, 2, 5, 10, 20, 50, 100]);
  readonly commitMs = createHistogram([0.5, 1, 2, 5, 10, 20, 50, 100, 500]);
  readonly #options: WriteQueueOptions;
  readonly #connection: Connection;
  readonly #repositories: SqliteRepositories;
  readonly #known = new KnownConversations();
  readonly #log: LogEnd;
  readonly #statements;
  readonly #queue: QueuedWrite[] = [];
  /** Those that no user waits for. */
  readonly #behind: QueuedWrite[] = [];
  /** SQLite's number for the database as others have left it. */
  #dataVersion: unknown;
  /** How often configuration has changed, as the database says; null: it is to be asked. */
  #knownCount: number | null = null;
  /** Statements that may have changed rows. */
  #written = 0;
  /** A statement has failed, and SQLite has ended the transaction of the group. */
  #hasEnded = false;
  readonly #placing: MessagePlacing;
  #flushing = false;
  /** What the next commit waits for; null: nothing. */
  #gathering: Gathering | null = null;
  /** How long the last commit took, ms. */
  #lastCommitMs = 0;
  /** How long commits that no user waits for have held the lock since it was left free, ms. */
  #behindMs = 0;
  /** Runs while the lock is left free. */
  #free: NodeJS.Timeout | null = null;

  /** @param connection the one that writes; nothing else writes through it */
  constructor(connection: Connection, options: WriteQueueOptions) {
    this.#options = options;
    this.#connection = connection;
    const runner = createRunner(connection, {
      onWrite: (sql) => {
        if (this.#hasEnded) throw new Error('the transaction was rolled back');
        this.#written += 1;
        if (!keepsWhatIsKnown.has(sql)) this.#forget();
      },
      onFailure: () => (this.#hasEnded ||= !connection.inTransaction),
      onOrderedRead: () => this.noteOrderedRead(),
    });
    this.#log = new LogEnd(runner.direct);
    this.#repositories = createRepositories(runner, this.#known, this.#log);
    this.#placing = new MessagePlacing(createMessagePlaces(runner, this.#log), options);
    this.#statements = {
      // IMMEDIATE: a read that later becomes a write can't be refused half way.
      begin: connection.prepare('BEGIN IMMEDIATE'),
      commit: connection.prepare('COMMIT'),
      savepoint: connection.prepare('SAVEPOINT operation'),
      release: connection.prepare('RELEASE operation'),
      undo: connection.prepare('ROLLBACK TO operation'),
      rollback: connection.prepare('ROLLBACK'),
      dataVersion: connection.prepare('pragma data_version').pluck(),
      configurationCount: connection.prepare<unknown[], { value: string }>(configurationCount.sql),
      countConfiguration: connection.prepare<unknown[], { value: string }>(countConfiguration.sql),
    };
  }

  /** True while anything waits or is under way, and while the lock is left free. */
  get busy(): boolean {
    return this.#flushing;
  }

  /** Whether messages are without their places: a commit of any operation gives them to some. */
  get hasUnplaced(): boolean {
    return this.#placing.hasUnplaced;
  }

  /** A conversation is read, and looks through all that have no place: the next commits place some of them where many wait. */
  noteOrderedRead(): void {
    this.#placing.noteOrderedRead();
  }

  /** Another process may have left messages without their places. */
  lookForUnplaced(): void {
    if (this.#connection.inTransaction) return;
    this.#forgetWhatOthersChanged();
    this.#placing.look();
  }

  /** Runs `work` in a later commit, and resolves after it. */
  add<T>(work: (tx: Tx) => Soon<T>, place: Place): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      (place === 'behind' ? this.#behind : this.#queue).push({
        work,
        resolve,
        reject,
        since: this.#options.clock.monotonic(),
        place,
      });
      if (this.#free !== null && place !== 'behind') {
        // A user does not wait for that: the lock is taken at once.
        clearTimeout(this.#free);
        this.#free = null;
      } else if (this.#flushing) return;
      this.#flushing = true;
      // After this turn of the loop: whatever arrived with it shares the commit.
      setImmediate(() => this.#flush());
    });
  }

  #flush(): void {
    if (this.#gathers()) {
      setImmediate(() => this.#flush());
      return;
    }
    void this.#commitGroup().then((again) => {
      // Also where nothing waits: a job that reads between its writes has the next one soon.
      if (this.#queue.length === 0 && this.#behindMs >= behindStretchMs) {
        this.#behindMs = 0;
        this.#free = setTimeout(() => {
          this.#free = null;
          if (this.#behind.length === 0) this.#rest();
          else this.#flush();
        }, freeMs);
      } else if (this.#queue.length === 0 && this.#behind.length === 0) {
        this.#rest();
      } else if (again === 'later') setTimeout(() => this.#flush(), busyRetryMs);
      else setImmediate(() => this.#flush());
    });
  }

  /**
   * Whether a commit waits for one more turn of the loop, which makes it a third larger under load: who was answered first
   * sends again while the others are answered, and who was answered last misses this commit by a moment. Further turns are
   * worth it on a disk, whose commits take long: for as long as others come, and no longer than a commit takes.
   */
  #gathers(): boolean {
    const now = this.#options.clock.monotonic();
    const first = this.#queue[0];
    const size = this.#queue.length;
    const begun = this.#gathering;
    const isWorthIt =
      first !== undefined &&
      size >= worthGathering &&
      now - first.since < mostGatheringMs &&
      (begun === null ||
        (size > begun.size && size < maxGroupSize && now - begun.since < this.#lastCommitMs));
    this.#gathering = isWorthIt ? { since: begun?.since ?? now, size } : null;
    return isWorthIt;
  }

  #rest(): void {
    this.#flushing = false;
    this.#options.onIdle();
  }

  /** Commits the operations at the head of the queue. Never throws: each caller gets its own answer. */
  async #commitGroup(): Promise<'now' | 'later'> {
    const { clock, onCommit, onUsersCommitted, betweenCommits } = this.#options;
    try {
      // What was committed before has its answers by now.
      betweenCommits();
      this.#statements.begin.run();
    } catch (error) {
      return this.#refuse(error);
    }
    const locked = clock.monotonic();
    const group = this.#takeGroup();
    let run: GroupRun;
    let configurationCount: number | null = null;
    let began: number;
    try {
      run = (await this.#run(group, false)) ?? (await this.#runAgain(group));
      if (run.configuration.size > 0) configurationCount = this.#countConfiguration();
      began = clock.monotonic();
      this.#statements.commit.run();
    } catch (error) {
      this.#rollBack();
      this.#placing.noteFailedCommit();
      this.#reportFull(error);
      const isDamage = isIndexDamage(error);
      if (isDamage && group.length > 1) {
        // FTS5 writes at the commit, where nothing says whose words met the damage: alone, only theirs is refused.
        this.#queue.unshift(...group.map((waiting): QueuedWrite => ({ ...waiting, place: 'alone' })));
        return 'now';
      }
      const lost = isDamage
        ? toStoreError(error, refusedWrite)
        : new StoreUnavailableError(refusedWrite, { cause: error });
      for (const waiting of group) waiting.reject(lost);
      return 'now';
    }
    const { answers, events, configuration } = run;
    this.groupSizes.add(group.length);
    const ended = clock.monotonic();
    this.#placing.noteCommit(ended);
    this.#lastCommitMs = ended - began;
    this.commitMs.add(this.#lastCommitMs);
    const users = countUsers(group);
    if (users === 0) this.#behindMs += ended - locked;
    onUsersCommitted({ committed: users, waiting: this.#queue.length, tookMs: ended - locked });
    for (const { to, failed, value } of answers)
      if (failed) to.reject(value);
      else to.resolve(value);
    if (events.length > 0 || configuration.size > 0) onCommit({ events, configuration, configurationCount });
    return 'now';
  }

  /**
   * Takes the operations of the next commit. Those of users come first, and what stands behind them fills a group up that
   * leaves none of theirs waiting; only what has waited for too long goes before them.
   */
  #takeGroup(): QueuedWrite[] {
    const next = this.#queue.findIndex(({ place }) => place === 'alone');
    if (next === 0) return this.#queue.splice(0, 1);
    const oldest = this.#behind[0];
    const isOverdue = oldest !== undefined && this.#options.clock.monotonic() - oldest.since >= overdueMs;
    const group = isOverdue ? this.#behind.splice(0, 1) : [];
    const room = maxGroupSize - group.length;
    group.push(...this.#queue.splice(0, next < 0 ? room : Math.min(next, room)));
    if (this.#queue.length === 0) group.push(...this.#behind.splice(0, maxGroupSize - group.length));
    return group;
  }

  /** Puts operations back to where they came from. */
  #putBack(rest: readonly QueuedWrite[]): void {
    this.#queue.unshift(...rest.filter(({ place }) => place !== 'behind'));
    this.#behind.unshift(...rest.filter(({ place }) => place === 'behind'));
  }

  /** The usual group needs no savepoints: only where an operation fails half way are all run once more, with them. */
  async #runAgain(group: QueuedWrite[]): Promise<GroupRun> {
    this.#rollBack();
    this.#statements.begin.run();
    const run = await this.#run(group, true);
    if (run === null) throw new Error('an operation with a savepoint could not be undone');
    return run;
  }

  /**
   * Runs operations in the open transaction, as many as its time allows.
   * @param group keeps those that were run; the others go back to the head of the queue
   * @param guarded each inside a savepoint, so that it can be undone alone
   * @returns null when one failed after it had written, and nothing undoes it alone
   */
  async #run(group: QueuedWrite[], guarded: boolean): Promise<GroupRun | null> {
    const { clock } = this.#options;
    const began = clock.monotonic();
    const run: GroupRun = { answers: [], events: [], configuration: new Set() };
    this.#hasEnded = false;
    this.#forgetWhatOthersChanged();
    const epoch = this.#options.configurationEpoch(this.#readConfigurationCount());
    for (let index = 0; index < group.length; index += 1) {
      const waiting = group[index];
      if (waiting === undefined) break;
      const mostMs = waiting.place === 'behind' ? maxBehindMs : maxGroupMs;
      if (index > 0 && clock.monotonic() - began >= mostMs) {
        this.#putBack(group.splice(index));
        break;
      }
      const undoing = guarded ? 'savepoint' : group.length === 1 ? 'all' : null;
      // Most operations are through at once: a turn of the microtasks for each would cost more than some of them.
      const isKept = this.#runOne(waiting, run, undoing, epoch);
      if (!(isKept instanceof Promise ? await isKept : isKept)) return null;
      // SQLite itself rolls everything back on a full disk or an I/O error: nothing of the group exists then. Only a
      // statement that fails tells of it, and its operation may have gone on; to ask the driver each time would cost more.
      if (this.#hasEnded) throw new Error('the transaction was rolled back');
    }
    this.#repositories.events.insert(run.events);
    this.#placing.placeSome(group.length, group[0]?.place === 'alone');
    return run;
  }

  /**
   * Runs one operation. Its answer is given only after the commit.
   * @param undoing what takes back a failed one: its savepoint, or all of the transaction, which it has to itself
   * @returns false when it failed after it had written and can't be taken back
   */
  #runOne(waiting: QueuedWrite, run: GroupRun, undoing: Undoing, epoch: number | null): Soon<boolean> {
    const { events, configuration } = run;
    const known = configuration.size > 0 ? null : epoch;
    const tx = new OperationTx(this.#repositories, this.#options.clock, events, known);
    const begun: Begun = { waiting, run, tx, undoing, heard: events.length, written: this.#written };
    if (undoing === 'savepoint') this.#statements.savepoint.run();
    try {
      const answer = waiting.work(tx);
      if (answer instanceof Promise)
        return answer
          .then((value) => this.#finish(begun, value))
          .catch((error: unknown) => this.#fail(begun, error));
      return this.#finish(begun, answer);
    } catch (error) {
      return this.#fail(begun, error);
    }
  }

  #finish({ waiting, run, tx, undoing }: Begun, value: unknown): true {
    tx.end();
    if (undoing === 'savepoint') this.#statements.release.run();
    if (tx.changed !== null) for (const organization of tx.changed) run.configuration.add(organization);
    run.answers.push({ to: waiting, failed: false, value });
    return true;
  }

  #fail({ waiting, run, tx, undoing, heard, written }: Begun, error: unknown): boolean {
    tx.end();
    // Its end, which no runner watches, may be what has failed.
    this.#hasEnded ||= !this.#connection.inTransaction;
    run.events.length = heard;
    if (this.#connection.inTransaction && this.#written > written && !this.#undo(undoing)) return false;
    if (undoing === 'savepoint' && this.#connection.inTransaction) this.#statements.release.run();
    this.#reportFull(error);
    run.answers.push({ to: waiting, failed: true, value: toStoreError(error, refusedWrite) });
    return true;
  }

  /** Takes a failed operation back; false where nothing takes back just that. */
  #undo(undoing: Undoing): boolean {
    if (undoing === 'savepoint') {
      this.#statements.undo.run();
      this.#forget();
    } else if (undoing === 'all') {
      this.#rollBack();
      this.#statements.begin.run();
    }
    return undoing !== null;
  }

  #rollBack(): void {
    this.#known.forget();
    this.#log.undo();
    if (this.#connection.inTransaction) this.#statements.rollback.run();
  }

  #forget(): void {
    this.#known.forget();
    this.#log.forget();
  }

  /** What is known holds only while this connection alone has written. */
  #forgetWhatOthersChanged(): void {
    const version = this.#statements.dataVersion.get();
    if (version !== this.#dataVersion) {
      this.#forget();
      this.#knownCount = null;
    }
    this.#dataVersion = version;
  }

  #readConfigurationCount(): number {
    return (this.#knownCount ??= Number(
      this.#statements.configurationCount.get(...configurationCount.parameters)?.value ?? 0,
    ));
  }

  #countConfiguration(): number {
    // Whether it is kept is not known before the commit.
    this.#knownCount = null;
    return Number(this.#statements.countConfiguration.get(...countConfiguration.parameters)?.value);
  }

  #reportFull(error: unknown): void {
    if (isOutOfRoom(error)) this.#options.onFull();
  }

  /** Another process holds the write lock, or storage is out of order: callers that have waited long enough are told. */
  #refuse(error: unknown): 'later' {
    const { clock, lockTimeoutMs } = this.#options;
    const busy = sqliteCode(error)?.startsWith('SQLITE_BUSY') === true;
    const now = clock.monotonic();
    const waitMs = busy ? lockTimeoutMs : 0;
    const message = busy ? 'The database is locked by another process.' : 'Storage is out of order.';
    for (const queue of [this.#queue, this.#behind])
      while (queue[0] !== undefined && now - queue[0].since >= waitMs)
        queue.shift()?.reject(new StoreUnavailableError(message, { cause: error }));
    return 'later';
  }
}

function countUsers(group: readonly QueuedWrite[]): number {
  let users = 0;
  for (const { place } of group) if (place !== 'behind') users += 1;
  return users;
}
