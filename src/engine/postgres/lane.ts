// A connection that writes: runs a group of operations interleaved in one transaction, gives its events their numbers
// under the lock of the log, and commits all in one go. Holds no rule and no query of a noun.
import { logLock } from '../../../migrations/columns.ts';
import { StoreUnavailableError, type Clock, type CommittedEvent, type Tx } from '../engine.ts';
import type { HistogramRecorder } from '../histogram.ts';
import { isWorthRepeating, refusal, sqlState, type Answer, type Link, type Statement } from './link.ts';
import { notifyCommit } from './notices.ts';
import { OperationTx, type Transaction } from './operation.ts';
import { together, Turns, type ScopeLock } from './scopes.ts';

/** An operation that waits for its commit. */
export interface QueuedWrite {
  readonly locks: readonly ScopeLock[];
  /** Runs the operation. What it resolves to answers the caller, after the commit. */
  readonly work: (tx: Tx) => Promise<() => void>;
  readonly reject: (error: unknown) => void;
}

/** How often configuration has ever changed in this database, and the number of `freshConfiguration` for that. */
export interface CountedChanges {
  readonly count: number;
  readonly number: number;
}

/** What a transaction has committed. */
export interface Commit {
  readonly events: readonly CommittedEvent[];
  /** Organizations whose configuration changed. */
  readonly configuration: ReadonlySet<string>;
  /** As the transaction found it when it had its locks. */
  readonly found: CountedChanges;
  /** With the changes of this commit; null where it made none. */
  readonly counted: CountedChanges | null;
}

export interface LaneOptions {
  readonly nodeId: string;
  readonly clock: Clock;
  readonly open: () => Promise<Link>;
  /** Called after each commit that left events, or changed configuration. */
  readonly onCommit: (commit: Commit) => void;
  /** Called around the statements of a commit: in between, others may see what its answer has not told yet. */
  readonly committing: (until: Promise<unknown>) => void;
  /** How a number of changes becomes one of `freshConfiguration`, as the database is now. */
  readonly numbering: () => (count: number) => number;
  readonly groupSizes: HistogramRecorder;
  readonly commitMs: HistogramRecorder;
}

/** How often an operation is run by itself where the database asks for it: a deadlock, a lock not had in time. */
const maxAttempts = 3;

const begin: Statement = { name: 'begin', text: 'begin' };
/** For an operation that others wait behind. */
const briefLocks: Statement = { name: 'brief_locks', text: "set local lock_timeout = '100ms'" };
const rollback: Statement = { name: 'rollback', text: 'rollback' };
const commit: Statement = { name: 'commit', text: 'commit' };
const lockScopes: Statement = {
  name: 'lock_scopes',
  text: `select case when exclusive then pg_advisory_xact_lock(id) else pg_advisory_xact_lock_shared(id) end
    from (select * from unnest($1::bigint[], $2::boolean[]) as wanted(id, exclusive) order by id offset 0) as ordered`,
};
const lockLog: Statement = { name: 'lock_log', text: `select pg_advisory_xact_lock(${logLock})` };
const readConfiguration: Statement = {
  name: 'read_configuration',
  text: "select value from meta where key = 'configuration'",
};
const countConfiguration: Statement = {
  name: 'count_configuration',
  text: `insert into meta (key, value) values ('configuration', '1')
    on conflict (key) do update set value = (meta.value::bigint + 1)::text returning value`,
};
// After the lock, in a statement of its own: its snapshot must not be older than the lock.
const insertEvents: Statement = {
  name: 'insert_events',
  text: `with inserted as (
      insert into events (seq, organization_id, conversation_id, mode, type, audience, actor_id, message_id, member_id,
        created_at)
      select (select coalesce(max(seq), 0) from events) + n, organization_id, conversation_id, mode, type, audience,
        actor_id, message_id, member_id, created_at
      from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
        $9::bigint[]) with ordinality as e(organization_id, conversation_id, mode, type, audience, actor_id, message_id,
        member_id, created_at, n)
      returning seq)
    select min(seq) as first from inserted`,
};

/** What became of a transaction. */
type Outcome = 'done' | { readonly again: unknown };

export class Lane {
  readonly #options: LaneOptions;
  #link: Link | null = null;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Whether it has a connection, as far as is known. */
  get isConnected(): boolean {
    return this.#link?.lost === false;
  }

  /** Runs operations in one transaction, or each in one of its own where it must be. Answers every caller, never throws. */
  async run(group: readonly QueuedWrite[]): Promise<void> {
    const outcome = await this.#attempt(group);
    if (outcome === 'done') return;
    if (group.length > 1) await this.#runEach(group);
    else if (group[0] !== undefined) await this.#runAgain(group[0], outcome.again, 1);
  }

  /** Runs one operation once, whatever the database says. */
  async runOnce(one: QueuedWrite): Promise<void> {
    const outcome = await this.#attempt([one]);
    if (outcome !== 'done') one.reject(refusal(outcome.again));
  }

  async close(): Promise<void> {
    await this.#link?.close();
  }

  /** Those whose locks another holds come last: the others must not wait for them once more. */
  async #runEach(group: readonly QueuedWrite[]): Promise<void> {
    const late: QueuedWrite[] = [];
    for (const one of group) {
      const outcome = await this.#attempt([one], true);
      if (outcome === 'done') continue;
      if (isWorthRepeating(outcome.again)) late.push(one);
      else one.reject(refusal(outcome.again));
    }
    for (const one of late) await this.#runAgain(one, null, 0);
  }

  async #runAgain(one: QueuedWrite, reason: unknown, attempts: number): Promise<void> {
    let why = reason;
    for (let attempt = attempts; attempt < maxAttempts; attempt += 1) {
      if (attempt > 0 && !isWorthRepeating(why)) break;
      const outcome = await this.#attempt([one]);
      if (outcome === 'done') return;
      why = outcome.again;
    }
    one.reject(refusal(why));
  }

  async #connected(): Promise<Link> {
    if (this.#link === null || this.#link.lost) {
      void this.#link?.close();
      this.#link = await this.#options.open();
    }
    return this.#link;
  }

  /** @param brief gives up soon where locks are held by another */
  async #attempt(group: readonly QueuedWrite[], brief = false): Promise<Outcome> {
    let link: Link;
    try {
      link = await this.#connected();
    } catch (error) {
      for (const { reject } of group) reject(error);
      return 'done';
    }
    const run = new GroupRun(link, this.#options);
    await run.operations(group, brief);
    if (run.lost !== null) {
      await link.query(rollback).catch(() => undefined);
      return this.#giveUp(group, run.lost);
    }
    return this.#commit(group, run, link);
  }

  /** After the connection was lost nothing of the group exists, unless a commit was under way: its error says so. */
  #giveUp(group: readonly QueuedWrite[], why: { readonly error: unknown }): Outcome {
    const { error } = why;
    if (!(error instanceof StoreUnavailableError)) return { again: error };
    for (const { reject } of group) reject(error);
    return 'done';
  }

  async #commit(group: readonly QueuedWrite[], run: GroupRun, link: Link): Promise<Outcome> {
    const { clock, nodeId, onCommit, committing, groupSizes, commitMs } = this.#options;
    const { events, configuration, answers, numberOf } = run;
    const began = clock.monotonic();
    const nothing = Promise.resolve(null);
    const changes = configuration.size > 0;
    // All of it travels at once: between the lock of the log and the commit no client is waited for.
    const counted = changes ? link.query<{ value: string }>(countConfiguration) : nothing;
    const logged = events.length > 0 ? this.#log(link, events) : nothing;
    const told = changes || events.length > 0 ? notifyCommit(link, nodeId, configuration) : nothing;
    const ended = link.query(commit);
    const all = Promise.allSettled([counted, logged, told, ended]);
    if (events.length > 0 || changes) committing(all.then(() => undefined));
    const failed = (await all).find((one) => one.status === 'rejected');
    if (failed !== undefined) {
      await link.query(rollback).catch(() => undefined);
      return this.#giveUp(group, { error: asAnswerOfCommit(failed.reason) });
    }
    // Of a transaction that had failed, COMMIT is answered like this, and it is no error.
    if ((await ended).command !== 'COMMIT') return { again: new Error('The transaction was rolled back.') };
    const first = (await logged)?.rows[0]?.first ?? 0;
    for (const [index, event] of events.entries()) event.seq = first + index;
    const count = (await counted)?.rows[0]?.value;
    groupSizes.add(group.length);
    commitMs.add(clock.monotonic() - began);
    for (const answer of answers) answer();
    const counting = (changed: number): CountedChanges => ({ count: changed, number: numberOf(changed) });
    if (events.length > 0 || changes)
      onCommit({
        events,
        configuration,
        found: counting(run.found),
        counted: count === undefined ? null : counting(Number(count)),
      });
    return 'done';
  }

  async #log(link: Link, events: readonly CommittedEvent[]): Promise<Answer<{ first: number }>> {
    const column = <K extends keyof CommittedEvent>(name: K): CommittedEvent[K][] =>
      events.map((event) => event[name]);
    const locked = link.query(lockLog);
    const inserted = link.query<{ first: number }>(insertEvents, [
      column('organization_id'),
      column('conversation_id'),
      column('mode'),
      column('type'),
      column('audience'),
      column('actor_id'),
      column('message_id'),
      column('member_id'),
      column('created_at'),
    ]);
    const [, answer] = await Promise.all([locked, inserted]);
    return answer;
  }
}

/** crash_shutdown: another process of the database has crashed, and this one may have been done. */
const crashed = '57P02';

/** Of a connection that was lost while a commit was on its way nothing is known; what the database refused is not kept. */
function asAnswerOfCommit(error: unknown): unknown {
  if (!(error instanceof StoreUnavailableError)) return error;
  const said = sqlState(error.cause);
  return said === undefined || said === crashed
    ? new StoreUnavailableError(error.message, { cause: error.cause, mayBeKept: true })
    : error;
}

/** One run of a group's operations in an open transaction. */
class GroupRun {
  /** One for each operation, called after the commit. */
  readonly answers: (() => void)[] = [];
  readonly events: CommittedEvent[] = [];
  readonly configuration = new Set<string>();
  /** Why nothing of it can be kept; null: it can. */
  lost: { readonly error: unknown } | null = null;
  readonly numberOf: (count: number) => number;
  /** How often configuration had changed when the locks were held. */
  found = 0;
  readonly #link: Link;
  readonly #options: LaneOptions;

  constructor(link: Link, options: LaneOptions) {
    this.#link = link;
    this.#options = options;
    this.numberOf = options.numbering();
  }

  async operations(group: readonly QueuedWrite[], brief: boolean): Promise<void> {
    const locks = together(group.map((one) => one.locks));
    // Nothing is waited for: the first statements of the operations travel with these.
    const begun = [
      this.#link.query(begin),
      ...(brief ? [this.#link.query(briefLocks)] : []),
      this.#link.query(lockScopes, [locks.map(({ id }) => id), locks.map(({ exclusive }) => exclusive)]),
    ];
    for (const one of begun) one.catch((error: unknown) => this.#lose(error));
    const configurationCount = this.#link.query<{ value: string }>(readConfiguration).then(({ rows }) => {
      this.found = Number(rows[0]?.value ?? 0);
      return this.numberOf(this.found);
    });
    configurationCount.catch((error: unknown) => this.#lose(error));
    const transaction: Transaction = {
      link: this.#link,
      clock: this.#options.clock,
      configurationCount,
      changed: this.configuration,
      refused: (error) => this.#lose(error),
    };
    const turns = new Turns();
    await Promise.all(
      group.map((one) => {
        const done = Promise.withResolvers<void>();
        const turn = group.length === 1 ? null : turns.queue(one.locks, done.promise);
        return this.#runOne(one, transaction, turn).finally(() => done.resolve());
      }),
    );
    // What was not waited for may still be refused.
    await Promise.allSettled([...begun, configurationCount]);
  }

  #lose(error: unknown): void {
    this.lost ??= { error };
  }

  async #runOne(
    { work, reject }: QueuedWrite,
    transaction: Transaction,
    turn: Promise<unknown> | null,
  ): Promise<void> {
    if (turn !== null) await turn;
    if (this.lost !== null) return;
    const tx = new OperationTx(transaction);
    try {
      const answer = await work(tx);
      this.answers.push(answer);
      this.events.push(...tx.events);
      for (const organization of tx.changed) this.configuration.add(organization);
    } catch (error) {
      // One that has changed nothing is refused alone.
      if (tx.wrote) this.#lose(error);
      else this.answers.push(() => reject(error));
    } finally {
      tx.end();
    }
  }
}
