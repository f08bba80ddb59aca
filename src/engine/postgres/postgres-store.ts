// The store on PostgreSQL: lanes that write, connections that read, and one that listens. Holds no rule and no query of
// a noun.
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
} from '../engine.ts';
import { ConfigurationHistory } from '../configuration-history.ts';
import { StoreUnavailableError } from '../engine.ts';
import { createHistogram } from '../histogram.ts';
import { LogFollower } from '../log-follower.ts';
import { whyUnavailable } from './examine.ts';
import { Lane, type Commit, type CountedChanges, type LaneOptions, type QueuedWrite } from './lane.ts';
import { Link, refusal, type Statement } from './link.ts';
import { listenToCommits, type HeardCommit } from './notices.ts';
import { clearRemovedRows } from './removed-rows.ts';
import { readAlone, Reads } from './reads.ts';
import { locksOf } from './scopes.ts';

export interface PostgresStoreOptions {
  readonly url: string;
  readonly nodeId: string;
  readonly durability: Durability;
  readonly clock: Clock;
  /** How many connections write; as many read. */
  readonly connections: number;
  /** How often the log is looked at without having been told, ms. */
  readonly pollIntervalMs: number;
  /** The number of the schema that the program works on. */
  readonly schema: number;
  /** Told once why the database can't be used, and once with null when it can again. */
  readonly onUnavailable?: ((why: string | null) => void) | undefined;
}

const maxGroupSize = 50;
const logPageSize = 500;
const state: Statement = {
  name: 'state',
  text: `select (select coalesce(max(seq), 0) from events) as last,
    coalesce((select value from meta where key = 'configuration'), '0')::bigint as count`,
};
const configuration: Statement = {
  name: 'configuration',
  text: "select coalesce((select value from meta where key = 'configuration'), '0')::bigint as count",
};
const databaseSize: Statement = { text: 'select pg_database_size(current_database()) as bytes' };

/** Others wait for its locks: a program that is stopped in its middle, as by Ctrl-Z, must not hold them up. */
const endFrozen: Statement = { text: "set idle_in_transaction_session_timeout = '5s'" };

/** An event of the log, by what tells it from another that was given its number. */
const eventAt: Statement = {
  name: 'event_at',
  text: 'select type, conversation_id, actor_id, message_id, created_at from events where seq = $1',
};

interface State {
  readonly last: number;
  readonly count: number;
}

type EventMark = Pick<CommittedEvent, 'type' | 'conversation_id' | 'actor_id' | 'message_id' | 'created_at'>;

/** How far apart the numbers of configuration are before and after the database has lost commits. */
const lossStep = 2 ** 40;

/** After so long without the database, clients are sent to another node, ms. */
const cutOffAfterMs = 15_000;

export class PostgresStore implements Store, Maintenance {
  readonly #options: PostgresStoreOptions;
  readonly #groupSizes = createHistogram([1, 2, 5, 10, 20, 50, 100]);
  readonly #commitMs = createHistogram([0.5, 1, 2, 5, 10, 20, 50, 100, 500]);
  readonly #queue: QueuedWrite[] = [];
  readonly #idle: Lane[];
  readonly #lanes: readonly Lane[];
  readonly #reads: Reads;
  readonly #follower: LogFollower;
  /** Commits whose answer is on its way. */
  readonly #committing = new Set<Promise<unknown>>();
  /** What has not ended yet, apart from reads that share a snapshot. */
  readonly #underWay = new Set<Promise<unknown>>();
  #listening: Link;
  #connecting: Promise<Link> | null = null;
  /** The newest event that was told: a database that holds another in its place, or none, has lost commits. */
  #newest: EventMark | null = null;
  /** How often the database has lost commits. */
  #losses = 0;
  #configurationCount: number;
  readonly #configurations: ConfigurationHistory;
  #ticket: Promise<number> | null = null;
  #planned = false;
  #closed = false;
  /** Since when the database has not been reached; null: it was, the last time. */
  #failingSince: number | null = null;
  #isCutOff = false;
  /** What was told of it last. */
  #isUnavailable = false;
  #cancelPoll = (): void => undefined;

  private constructor(options: PostgresStoreOptions, listening: Link, { last, count }: State) {
    this.#options = options;
    this.#listening = listening;
    this.#configurationCount = count;
    this.#configurations = new ConfigurationHistory(count);
    const lane: LaneOptions = {
      nodeId: options.nodeId,
      clock: options.clock,
      open: () => this.#open(),
      onCommit: (commit) => this.#onCommit(commit),
      committing: (until) => void this.#note(this.#committing, until),
      numbering: () => this.#numbering(),
      groupSizes: this.#groupSizes,
      commitMs: this.#commitMs,
    };
    this.#lanes = Array.from({ length: options.connections }, () => new Lane(lane));
    this.#idle = [...this.#lanes];
    this.#reads = new Reads(() => this.#open(), options.connections);
    this.#follower = new LogFollower({
      clock: options.clock,
      position: last,
      readAfter: (seq) => this.#readLog(seq),
    });
    this.#follower.subscribe(({ events }) => (this.#newest = events.at(-1) ?? this.#newest));
    this.#planPoll();
  }

  /**
   * Opens the store on a migrated database.
   * @throws StoreUnavailableError when it can't be reached
   */
  static async open(options: PostgresStoreOptions): Promise<PostgresStore> {
    // Listens first: what is committed from here on is heard, or read.
    const opened = Promise.withResolvers<PostgresStore>();
    const listening = await connect(options);
    await listenToCommits(listening, (commit) => void opened.promise.then((store) => store.hear(commit)));
    const { rows } = await listening.query<State>(state);
    opened.resolve(new PostgresStore(options, listening, rows[0] ?? { last: 0, count: 0 }));
    return opened.promise;
  }

  read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    return this.#closed ? Promise.reject(closedError()) : this.#reads.read(work);
  }

  readAlone<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(closedError());
    return this.#note(
      this.#underWay,
      readAlone(() => this.#open(true), work),
    );
  }

  write<T>(scope: Scope | readonly Scope[], work: (tx: Tx) => Soon<T>): Promise<T> {
    if (this.#closed) return Promise.reject(closedError());
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({
        locks: locksOf(scope),
        work: async (tx) => {
          const value = await work(tx);
          return () => resolve(value);
        },
        reject,
      });
      this.#plan();
    });
  }

  alone<T>(scope: Scope, work: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(closedError());
    return this.#note(
      this.#underWay,
      new Promise<T>((resolve, reject) => {
        const lane = new Lane({
          nodeId: this.#options.nodeId,
          clock: this.#options.clock,
          open: () => this.#openAlone(),
          onCommit: (commit) => this.#onCommit(commit),
          committing: (until) => void this.#note(this.#committing, until),
          numbering: () => this.#numbering(),
          groupSizes: this.#groupSizes,
          commitMs: this.#commitMs,
        });
        void lane
          .runOnce({
            locks: locksOf(scope),
            work: (tx) => work(tx).then((value) => () => resolve(value)),
            reject,
          })
          .finally(() => void lane.close());
      }),
    );
  }

  subscribe(listener: (notice: CommitNotice) => void): () => void {
    return this.#follower.subscribe(listener);
  }

  /** One question for all who ask in one turn of the loop: as of a moment after each of them. */
  freshConfiguration(): Promise<number> {
    if (this.#closed) return Promise.reject(closedError());
    this.#ticket ??= new Promise<void>((resolve) => setImmediate(resolve)).then(async () => {
      this.#ticket = null;
      return this.#numberOf((await this.#ask<{ count: number }>(configuration))?.count ?? 0);
    });
    return this.#ticket;
  }

  configurationChangedAt(organizationId: string, fresh: number): number {
    return this.#configurations.changedAt(organizationId, fresh);
  }

  configurationChangedSince(since: number, fresh: number): ReadonlySet<string> | 'all' {
    return this.#configurations.changedSince(since, fresh);
  }

  stats(): StoreStats {
    return { groupSizes: this.#groupSizes.read(), commitMs: this.#commitMs.read() };
  }

  async sizeBytes(): Promise<number> {
    return (await this.#ask<{ bytes: number }>(databaseSize))?.bytes ?? 0;
  }

  logBytes(): null {
    return null;
  }

  async clearRemoved(): Promise<boolean> {
    const link = await this.#open(true);
    try {
      return await clearRemovedRows(link);
    } catch (error) {
      throw refusal(error);
    } finally {
      await link.close();
    }
  }

  async copies(): Promise<DatabaseCopy[]> {
    return [];
  }

  async removeCopies(): Promise<number> {
    return 0;
  }

  /** Finishes what is under way. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelPoll();
    while (this.#queue.length > 0 || this.#underWay.size > 0)
      await (this.#underWay.size > 0
        ? Promise.all(this.#underWay)
        : // What has just arrived begins with the next turn of the loop.
          new Promise((resolve) => setImmediate(resolve)));
    await this.#reads.close();
    this.#follower.close();
    await Promise.all([this.#listening.close(), ...this.#lanes.map((lane) => lane.close())]);
  }

  /** Another node has committed. */
  hear({ node, configuration: changed, count }: HeardCommit): void {
    if (this.#closed || node === this.#options.nodeId) return;
    if (changed !== null) this.#follower.hint([], count === null ? changed : this.#whose(count, changed));
    this.#follower.look();
  }

  #note<T>(notes: Set<Promise<unknown>>, work: Promise<T>): Promise<T> {
    const noted = work
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => notes.delete(noted));
    notes.add(noted);
    return work;
  }

  async #open(patient = false): Promise<Link> {
    const link = await connect(this.#options, patient);
    this.#countAnew();
    return link;
  }

  /** After this turn of the loop: what arrived with it shares the commit. */
  #plan(): void {
    if (this.#planned) return;
    this.#planned = true;
    setImmediate(() => {
      this.#planned = false;
      const lane = this.#queue.length > 0 ? this.#idle.pop() : undefined;
      if (lane === undefined) return;
      const running = lane.run(this.#queue.splice(0, maxGroupSize)).finally(() => {
        // The next one is taken from the end: where the database has no more connections, those that there are do the work.
        if (lane.isConnected) this.#idle.push(lane);
        else this.#idle.unshift(lane);
        if (this.#queue.length > 0) this.#plan();
      });
      void this.#note(this.#underWay, running);
      if (this.#queue.length > 0) this.#plan();
    });
  }

  async #openAlone(): Promise<Link> {
    const link = await this.#open(true);
    await link.query(endFrozen);
    return link;
  }

  #onCommit({ events, configuration: organizations, found, counted }: Commit): void {
    // What others changed before this, and was not heard of, comes before its events.
    this.#catchUp(found);
    let changed: CommitNotice['configuration'] = null;
    if (counted !== null) {
      this.#configurations.note(counted.number, organizations);
      changed = this.#whose(counted.count, organizations);
    }
    this.#follower.hint(events, changed);
  }

  /**
   * Takes a change that is known with its count.
   * @returns whose it is; all: others changed some in between, and nothing says whose
   */
  #whose(count: number, organizations: 'all' | ReadonlySet<string>): 'all' | ReadonlySet<string> {
    const missed = count > this.#configurationCount + 1;
    this.#configurationCount = Math.max(this.#configurationCount, count);
    return missed ? 'all' : organizations;
  }

  /** Configuration was found changed more often than was heard of: that may be anyone's. */
  #catchUp({ count, number }: CountedChanges): void {
    // What was counted before the database lost commits says nothing of it as it is now.
    if (number !== this.#numberOf(count) || count <= this.#configurationCount) return;
    this.#configurationCount = count;
    this.#follower.hint([], 'all');
  }

  async #readLog(after: number): Promise<CommittedEvent[]> {
    const numberOf = this.#numbering();
    const [rows, changes] = await this.#reads.read(({ repositories: { events, meta } }) =>
      Promise.all([events.after(after, logPageSize), meta.get('configuration')]),
    );
    // Own events are known with their payload as soon as their commit is answered: what may be among these is waited for.
    await Promise.all(this.#committing);
    // Whose right has ended before one of these events must not be sent it, though nothing was heard of that: each
    // connection has an order of its own.
    const count = Number(changes ?? 0);
    this.#catchUp({ count, number: numberOf(count) });
    return rows.map((row) => ({ ...row, own: false }));
  }

  #planPoll(): void {
    this.#cancelPoll = this.#options.clock.after(this.#options.pollIntervalMs, () => {
      this.#poll().then(
        () => this.#reached(),
        (error: unknown) => this.#failed(error),
      );
      if (!this.#closed) this.#planPoll();
    });
  }

  #reached(): void {
    if (this.#isUnavailable) this.#options.onUnavailable?.(null);
    this.#isUnavailable = false;
    this.#failingSince = null;
    this.#isCutOff = false;
  }

  /** Clients may have come back as soon as there was a connection: they are told of what follows, too. */
  #countAnew(): void {
    if (!this.#isCutOff) return;
    this.#isCutOff = false;
    this.#failingSince = this.#options.clock.monotonic();
  }

  #failed(error: unknown): void {
    if (this.#closed) return;
    if (!this.#isUnavailable) this.#options.onUnavailable?.(whyUnavailable(error));
    this.#isUnavailable = true;
    const now = this.#options.clock.monotonic();
    this.#failingSince ??= now;
    if (this.#isCutOff || now - this.#failingSince < cutOffAfterMs) return;
    this.#isCutOff = true;
    this.#follower.tellCutOff();
  }

  /** Looks for what was not heard of: a notification may be lost with its connection. */
  async #poll(): Promise<void> {
    const link = await this.#connected();
    const known = this.#follower.position;
    const { rows } = await link.query<State>(state);
    const { last, count } = rows[0] ?? { last: 0, count: 0 };
    await Promise.all(this.#committing);
    if (last < known) return this.#startOver(last, count);
    this.#catchUp({ count, number: this.#numberOf(count) });
    if (last > this.#follower.position) this.#follower.look();
  }

  /** @throws StoreUnavailableError also where it has to wait for too long */
  async #ask<R>(statement: Statement): Promise<R | undefined> {
    try {
      return (await (await this.#connected()).query<R>(statement)).rows[0];
    } catch (error) {
      throw refusal(error);
    }
  }

  /** The connection that listens, or the one that takes its place. */
  #connected(): Promise<Link> {
    if (!this.#listening.lost || this.#closed) return Promise.resolve(this.#listening);
    this.#connecting ??= this.#connectAgain().finally(() => (this.#connecting = null));
    return this.#connecting;
  }

  async #connectAgain(): Promise<Link> {
    void this.#listening.close();
    const link = await this.#open();
    try {
      await listenToCommits(link, (commit) => this.hear(commit));
      await this.#compareLog(link);
    } catch (error) {
      void link.close();
      throw error;
    }
    this.#listening = link;
    this.#follower.look();
    return link;
  }

  /** After a failover to a standby that had not received everything, the log is another one from some number on. */
  async #compareLog(link: Link): Promise<void> {
    const [position, newest] = [this.#follower.position, this.#newest];
    const [now, found] = await Promise.all([
      link.query<State>(state),
      link.query<EventMark>(eventAt, [position]),
    ]);
    const { last, count } = now.rows[0] ?? { last: 0, count: 0 };
    const kept = newest === null || (found.rows[0] !== undefined && isSame(found.rows[0], newest));
    if (last < position || !kept) this.#startOver(last, count);
  }

  /** What was told is not in the database any more: nothing that was derived from it may be trusted. */
  #startOver(last: number, count: number): void {
    this.#losses += 1;
    this.#newest = null;
    this.#configurationCount = count;
    this.#follower.startOver(last);
  }

  #numberOf(count: number): number {
    return this.#numbering()(count);
  }

  /** Of two databases one number of changes may mean different configurations: a commit counts by the one that it was begun in. */
  #numbering(): (count: number) => number {
    const base = this.#losses * lossStep;
    return (count) => base + count;
  }
}

function isSame(one: EventMark, other: EventMark): boolean {
  const { type, conversation_id, actor_id, message_id, created_at } = other;
  return (
    one.type === type &&
    one.conversation_id === conversation_id &&
    one.actor_id === actor_id &&
    one.message_id === message_id &&
    one.created_at === created_at
  );
}

function connect(options: PostgresStoreOptions, patient = false): Promise<Link> {
  return Link.open({
    url: options.url,
    name: `deskbell ${options.nodeId}`,
    durable: options.durability === 'full',
    patient,
    schema: options.schema,
  });
}

function closedError(): StoreUnavailableError {
  return new StoreUnavailableError('The store is closed.');
}
