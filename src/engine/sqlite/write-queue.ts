// Group commit: operations that arrive together share one transaction, each inside a savepoint of its own, and are
// answered after one synced commit. Holds no rule and no query of a noun.
import type { Clock, CommittedEvent, NewEvent, Tx } from '../engine.ts';
import { StoreUnavailableError } from '../engine.ts';
import { createHistogram } from '../histogram.ts';
import type { Repositories } from '../repositories.ts';
import { createRunner, isStorageError, sqliteCode, type Connection } from './connection.ts';
import { builder } from './query.ts';
import { createRepositories } from './repositories/repositories.ts';
import { sql } from 'kysely';

export interface WriteQueueOptions {
  readonly clock: Clock;
  /** Longest time that an operation waits for another process's write lock before it is refused, ms. */
  readonly lockTimeoutMs: number;
  /**
   * The number of the configuration that this process knows; null where the database counts more changes than it has
   * heard of.
   */
  readonly configurationEpoch: (configurationCount: number) => number | null;
  /** Called after each commit that left events, or changed configuration. */
  readonly onCommit: (commit: Commit) => void;
  /** Called when the queue has become empty. */
  readonly onIdle: () => void;
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
  /** Runs the operation. What it resolves to answers the caller, after the commit. */
  readonly work: (tx: Tx) => Promise<() => void>;
  readonly reject: (error: unknown) => void;
  readonly since: number;
  /** Shares its commit with no other. */
  readonly alone: boolean;
}

/** What one operation leaves to its group. */
interface Outcome {
  readonly answer: () => void;
  readonly configuration: ReadonlySet<string>;
}

/** Bounded so that one commit never holds the loop for more than a few milliseconds. */
const maxGroupSize = 100;
const busyRetryMs = 5;
const nothing: ReadonlySet<string> = new Set();

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
  readonly #repositories: ReturnType<typeof createRepositories>;
  readonly #statements;
  readonly #queue: QueuedWrite[] = [];
  #flushing = false;

  /** @param connection the one that writes; nothing else writes through it */
  constructor(connection: Connection, options: WriteQueueOptions) {
    this.#options = options;
    this.#connection = connection;
    this.#repositories = createRepositories(createRunner(connection));
    this.#statements = {
      // IMMEDIATE: a read that later becomes a write can't be refused half way.
      begin: connection.prepare('BEGIN IMMEDIATE'),
      commit: connection.prepare('COMMIT'),
      savepoint: connection.prepare('SAVEPOINT operation'),
      release: connection.prepare('RELEASE operation'),
      undo: connection.prepare('ROLLBACK TO operation'),
      countConfiguration: connection.prepare<unknown[], { value: string }>(countConfiguration.sql),
    };
  }

  /** True while anything waits or is under way. */
  get busy(): boolean {
    return this.#flushing;
  }

  /** Runs `work` in a later commit, in a group unless `alone`; resolves after it. */
  add<T>(work: (tx: Tx) => Promise<T>, alone: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({
        work: (tx) => work(tx).then((value) => () => resolve(value)),
        reject,
        since: this.#options.clock.monotonic(),
        alone,
      });
      if (this.#flushing) return;
      this.#flushing = true;
      // After this turn of the loop: whatever arrived with it shares the commit.
      setImmediate(() => this.#flush());
    });
  }

  #flush(): void {
    void this.#commitGroup().then((again) => {
      if (this.#queue.length === 0) {
        this.#flushing = false;
        this.#options.onIdle();
      } else if (again === 'later') setTimeout(() => this.#flush(), busyRetryMs);
      else setImmediate(() => this.#flush());
    });
  }

  /** Commits the operations at the head of the queue. Never throws: each caller gets its own answer. */
  async #commitGroup(): Promise<'now' | 'later'> {
    const { clock, onCommit, configurationEpoch } = this.#options;
    try {
      this.#statements.begin.run();
    } catch (error) {
      return this.#refuse(error);
    }
    const group = this.#takeGroup();
    const answers: (() => void)[] = [];
    const events: CommittedEvent[] = [];
    const configuration = new Set<string>();
    let configurationCount: number | null = null;
    let began = 0;
    try {
      const epoch = configurationEpoch(await this.#readConfigurationCount());
      for (const waiting of group) {
        const outcome = await this.#runOne(waiting, events, configuration.size > 0 ? null : epoch);
        for (const organization of outcome.configuration) configuration.add(organization);
        answers.push(outcome.answer);
        // SQLite itself rolls everything back on a full disk or an I/O error: nothing of the group exists then.
        if (!this.#connection.inTransaction) throw new Error('the transaction was rolled back');
      }
      if (configuration.size > 0) configurationCount = this.#countConfiguration();
      began = clock.monotonic();
      this.#statements.commit.run();
    } catch (error) {
      if (this.#connection.inTransaction) this.#connection.exec('ROLLBACK');
      const lost = new StoreUnavailableError('Storage refused the write.', { cause: error });
      for (const waiting of group) waiting.reject(lost);
      return 'now';
    }
    this.groupSizes.add(group.length);
    this.commitMs.add(clock.monotonic() - began);
    for (const answer of answers) answer();
    if (events.length > 0 || configuration.size > 0) onCommit({ events, configuration, configurationCount });
    return 'now';
  }

  /** Takes the operations of the next commit from the head of the queue. */
  #takeGroup(): QueuedWrite[] {
    const next = this.#queue.findIndex(({ alone }) => alone);
    const together = next < 0 ? maxGroupSize : Math.min(Math.max(next, 1), maxGroupSize);
    return this.#queue.splice(0, together);
  }

  async #readConfigurationCount(): Promise<number> {
    return Number((await this.#repositories.meta.get('configuration')) ?? 0);
  }

  #countConfiguration(): number {
    return Number(this.#statements.countConfiguration.get(...countConfiguration.parameters)?.value);
  }

  /** One operation inside its savepoint. Its answer is given only after the commit. */
  async #runOne(waiting: QueuedWrite, events: CommittedEvent[], epoch: number | null): Promise<Outcome> {
    const { savepoint, release, undo } = this.#statements;
    const mark = events.length;
    const { tx, end, changed } = this.#begin(events, epoch);
    savepoint.run();
    try {
      const answer = await waiting.work(tx);
      end();
      release.run();
      return { answer, configuration: changed() };
    } catch (error) {
      end();
      events.length = mark;
      if (this.#connection.inTransaction) {
        undo.run();
        release.run();
      }
      const reason = isStorageError(error)
        ? new StoreUnavailableError('Storage refused the write.', { cause: error })
        : error;
      return { answer: () => waiting.reject(reason), configuration: nothing };
    }
  }

  /** What one operation sees of the transaction, until its end. */
  #begin(
    events: CommittedEvent[],
    epoch: number | null,
  ): { tx: Tx; end(): void; changed(): ReadonlySet<string> } {
    const repositories = this.#repositories;
    const { clock } = this.#options;
    let configuration: Set<string> | null = null;
    let over = false;
    const assertOpen = (): void => {
      if (over) throw new Error('A transaction was used after its end.');
    };
    const tx: Tx = {
      get repositories(): Repositories {
        assertOpen();
        return repositories;
      },
      emit: async ({ payload, activity, originConnectionId, ...event }: NewEvent) => {
        assertOpen();
        const created_at = clock.now();
        const seq = await repositories.events.insert({ ...event, created_at });
        events.push({ ...event, seq, created_at, own: true, payload, activity, originConnectionId });
      },
      configurationEpoch: () => {
        assertOpen();
        return Promise.resolve(configuration === null ? epoch : null);
      },
      configurationChanged: (organizationId) => {
        assertOpen();
        (configuration ??= new Set()).add(organizationId);
      },
    };
    return {
      tx,
      end: () => {
        over = true;
      },
      changed: () => configuration ?? nothing,
    };
  }

  /** Another process holds the write lock, or storage is out of order: callers that have waited long enough are told. */
  #refuse(error: unknown): 'later' {
    const { clock, lockTimeoutMs } = this.#options;
    const busy = sqliteCode(error)?.startsWith('SQLITE_BUSY') === true;
    const now = clock.monotonic();
    const waitMs = busy ? lockTimeoutMs : 0;
    const message = busy ? 'The database is locked by another process.' : 'Storage is out of order.';
    while (this.#queue[0] !== undefined && now - this.#queue[0].since >= waitMs)
      this.#queue.shift()?.reject(new StoreUnavailableError(message, { cause: error }));
    return 'later';
  }
}
