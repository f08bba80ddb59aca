// One node's place among the others: a connection that says it lives, tells the others what is not stored, and holds the
// lead. Once it is lost, the node leads no more and begins anew. Knows of no rule, and not of what it tells.
import { hostname } from 'node:os';
import { StoreUnavailableError, type Jobs } from '../engine.ts';
import { EngineError } from '../open-errors.ts';
import { refusal, type Link, type Statement } from './link.ts';
import { newestSchema } from './migrate.ts';
import { hasNodeTables } from './node-tables.ts';

export interface MembershipOptions {
  readonly nodeId: string;
  readonly version: string;
  /** The number of the schema that this program knows. */
  readonly schema: number;
  readonly open: () => Promise<Link>;
  /** Ends connections of another node that has fallen silent. */
  readonly nameOf: (nodeId: string) => string;
  /** How often the node says that it lives, ms. */
  readonly beatMs?: number;
}

/** A node as it last said of itself. */
export interface NodeRow {
  readonly id: string;
  /** The number of the lock that its connection holds: another one each time that it begins. */
  readonly lock: number;
  readonly host: string;
  readonly version: string;
  readonly schema: number;
  readonly leads: boolean;
  readonly startedAt: number;
  /** How long ago it was last seen, ms. */
  readonly silentMs: number;
  /** Whether its connection is there. */
  readonly connected: boolean;
}

/** What a part of the engine does with the place that the node has. */
export interface Member {
  /** Tells the others anew: the node has begun, or begins again. */
  readonly joined?: (link: Link) => Promise<void>;
  /** A node has said something: `kind` and what it is about. */
  readonly heard?: (kind: string, text: string) => void;
  /** A node is gone, and with it what it had stored. */
  readonly gone?: () => void;
  /** The node says that it lives. */
  readonly beat?: (link: Link) => Promise<void>;
}

const beatMs = 2_000;
/** A node whose connection has ended is gone after this time: a short loss changes nothing. */
const goneAfterMs = 5_000;
/** A node that is connected and says nothing has frozen: its connections are ended. */
const frozenAfterMs = 10_000;
const answerWithinMs = 3_000;
const channel = 'deskbell_nodes';
/** Less than PostgreSQL's 8,000 bytes. */
const maxBytes = 7_500;

/** The first number of the locks that say who lives; the second is a node's own. */
const lifeLock = 1_145_392_971;
/** The lock of the node that leads. */
const leadLock = 1_145_392_972;

const enter: Statement = {
  name: 'enter',
  text: `insert into nodes (id, lock, host, version, schema, leads) values ($1, $2, $3, $4, $5, false)
    on conflict (id) do update set lock = excluded.lock, seen_at = now(), leads = false`,
};
const live: Statement = { name: 'live', text: `select pg_advisory_lock(${lifeLock}, $1::int)` };
const sayAlive: Statement = {
  name: 'say_alive',
  text: 'update nodes set seen_at = now(), leads = $2 where id = $1 and lock = $3',
};
const tryLead: Statement = {
  name: 'try_lead',
  text: `select pg_try_advisory_lock(${leadLock}, 0) as leads`,
};
// By the lock that each was seen with: one that has begun anew since then has another, and keeps what it has told.
const forget: Statement = {
  name: 'forget',
  text: `with gone as (delete from nodes using unnest($1::text[], $2::bigint[]) as seen(id, lock)
      where nodes.id = seen.id and nodes.lock = seen.lock returning nodes.id),
    absent as (delete from presence where node in (select id from gone)),
    freed as (delete from seats where node in (select id from gone))
    select count(*) as gone from gone`,
};
const endConnections: Statement = {
  name: 'end_connections',
  text: `select pg_terminate_backend(pid) from pg_stat_activity
    join unnest($1::text[], $2::text[]) as frozen(id, name) on application_name = frozen.name
    join nodes on nodes.id = frozen.id and nodes.seen_at < clock_timestamp() - $3 * interval '1 millisecond'
    where datname = current_database()`,
};
const notify: Statement = { name: 'tell', text: `select pg_notify('${channel}', $1)` };
const listNodes: Statement = {
  name: 'list_nodes',
  text: `select id, lock, host, version, schema, leads, (extract(epoch from started_at) * 1000)::bigint as started_at,
      (extract(epoch from clock_timestamp() - seen_at) * 1000)::bigint as silent_ms,
      exists (select from pg_locks where locktype = 'advisory' and classid = ${lifeLock} and objid = nodes.lock::oid
        and objsubid = 2 and granted
        and database = (select oid from pg_database where datname = current_database())) as connected
    from nodes order by started_at, id`,
};

interface ListedNode {
  readonly id: string;
  readonly lock: number;
  readonly host: string;
  readonly version: string;
  readonly schema: number;
  readonly leads: number;
  readonly started_at: number;
  readonly silent_ms: number;
  readonly connected: number;
}

/** Those who live, and those who have lately ended without a word. */
export async function readNodes(link: Link): Promise<NodeRow[]> {
  const { rows } = await link.query<ListedNode>(listNodes);
  return rows.map(({ id, lock, host, version, schema, leads, started_at, silent_ms, connected }) => ({
    id,
    lock,
    host,
    version,
    schema,
    leads: leads === 1,
    startedAt: started_at,
    silentMs: silent_ms,
    connected: connected === 1,
  }));
}

/**
 * Refuses to change a schema under servers that run on it.
 * @param version the database's; 0: it has none yet
 * @throws EngineError
 */
export async function assertNoneServes(link: Link, version: number): Promise<void> {
  if (version === 0 || version >= newestSchema || !(await hasNodeTables(link))) return;
  const others = (await readNodes(link)).filter(({ connected }) => connected);
  if (others.length > 0)
    throw new EngineError(
      `The database has schema ${version}, this version of deskbell needs ${newestSchema}, and ${others.length === 1 ? 'a server of another version runs' : `${others.length} servers of another version run`} on it. Stop ${others.length === 1 ? 'it' : 'them'} first; nothing was changed.`,
    );
}

/** Something that runs while the node leads. */
class Job {
  readonly #start: () => () => Promise<void> | void;
  /** Ends when nothing of it runs any more. */
  #ended: Promise<void> = Promise.resolve();
  #stop: (() => Promise<void> | void) | null = null;
  #wanted = false;

  constructor(start: () => () => Promise<void> | void) {
    this.#start = start;
  }

  /** @param atOnce nothing of it can be running yet */
  start(atOnce = false): void {
    this.#wanted = true;
    if (atOnce) this.#stop ??= this.#start();
    // What ran before may not have ended: two of it would do the same things at the same time.
    else
      void this.#ended.then(() => {
        if (this.#wanted) this.#stop ??= this.#start();
      });
  }

  stop(): Promise<void> {
    this.#wanted = false;
    const stop = this.#stop;
    this.#stop = null;
    if (stop !== null)
      this.#ended = Promise.resolve(stop()).then(
        () => undefined,
        () => undefined,
      );
    return this.#ended;
  }
}

export class Membership implements Jobs {
  readonly #options: MembershipOptions;
  readonly #members: Member[] = [];
  readonly #jobs = new Set<Job>();
  #link: Link | null = null;
  #lock = 0;
  #leads = false;
  #joining: Promise<Link> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** @param member is told of what happens from now on; to be added before the node joins */
  add(member: Member): void {
    this.#members.push(member);
  }

  get leads(): boolean {
    return this.#leads;
  }

  /** Takes the place. @throws StoreUnavailableError when the database can't be reached */
  async join(): Promise<void> {
    await this.connected();
    this.#planBeat();
  }

  /** The connection, or the one that takes its place. @throws StoreUnavailableError */
  connected(): Promise<Link> {
    if (this.#closed) return Promise.reject(new StoreUnavailableError('The node has left.'));
    if (this.#joining === null && this.#link?.lost === false) return Promise.resolve(this.#link);
    this.#joining ??= this.#enter().finally(() => (this.#joining = null));
    return this.#joining;
  }

  /** Changes what the node has stored of itself. Where there is no connection, it is told anew with the next one. */
  change(work: (link: Link) => Promise<unknown>): void {
    if (this.#link?.lost === false) work(this.#link).catch(() => undefined);
  }

  /** Tells all other nodes, at most once and in no order. @returns false: it is too long to be told */
  tell(kind: string, text: string): boolean {
    const message = `v1 ${this.#options.nodeId} ${kind} ${text}`;
    if (Buffer.byteLength(message) > maxBytes) return false;
    this.change((link) => link.query(notify, [message]));
    return true;
  }

  whileLeading(start: () => () => Promise<void> | void): () => Promise<void> {
    const job = new Job(start);
    this.#jobs.add(job);
    if (this.#leads) job.start(true);
    return async () => {
      this.#jobs.delete(job);
      await job.stop();
    };
  }

  /** Leaves: the others know at once. Twice is once. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#timer);
    // The lead is given back when nothing runs any more.
    await Promise.allSettled([this.#joining, this.#beating, this.#loseLead()]);
    const link = this.#link;
    if (link === null || link.lost) return;
    const { nodeId } = this.#options;
    await Promise.allSettled([
      link.query(forget, [[nodeId], [this.#lock]]),
      link.query({ text: 'select pg_advisory_unlock_all()' }),
      link.query(notify, [`v1 ${nodeId} left `]),
    ]);
    await link.close();
  }

  async #enter(): Promise<Link> {
    void this.#loseLead();
    const { nodeId, version, schema, open } = this.#options;
    const link = await open();
    // A number of its own for each connection: what is left of a lost one is in no one’s way.
    this.#lock = Math.floor(Math.random() * 2 ** 31);
    this.#link = link;
    link.onLost(() => {
      if (this.#link === link) void this.#loseLead();
    });
    try {
      await link.listen(channel, (text) => this.#hear(text));
      await Promise.all([
        link.query(live, [this.#lock]),
        link.query(enter, [nodeId, this.#lock, hostname(), version, schema]),
        ...this.#members.map(({ joined }) => joined?.(link)),
      ]);
      await this.#tryToLead(link);
    } catch (error) {
      void link.close();
      throw refusal(error);
    }
    return link;
  }

  async #tryToLead(link: Link): Promise<void> {
    if (this.#leads) return;
    const { rows } = await link.query<{ leads: number }>(tryLead);
    if (rows[0]?.leads !== 1 || this.#link !== link || link.lost || this.#closed) return;
    this.#leads = true;
    for (const job of this.#jobs) job.start();
  }

  /** Jobs stop before anything else: another node may lead from now on. Resolves when nothing of them runs. */
  async #loseLead(): Promise<void> {
    this.#leads = false;
    await Promise.all([...this.#jobs].map((job) => job.stop()));
  }

  #hear(text: string): void {
    const [, node, kind, about] = /^v1 (\S+) (\S+) (.*)$/s.exec(text) ?? [];
    if (this.#closed || node === this.#options.nodeId) return;
    if (kind === 'left') for (const { gone } of this.#members) gone?.();
    // What a node of another version says in another way is not for this one.
    else if (kind !== undefined && about !== undefined)
      for (const { heard } of this.#members) heard?.(kind, about);
  }

  #planBeat(): void {
    if (this.#closed) return;
    // The machine's own time, whatever the engine's clock says: it is about connections.
    this.#timer = setTimeout(() => {
      this.#beating = this.#beat()
        .catch(() => undefined)
        .finally(() => this.#planBeat());
    }, this.#options.beatMs ?? beatMs);
    this.#timer.unref();
  }

  async #beat(): Promise<void> {
    const link = await this.connected();
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error('No answer in time.')), answerWithinMs);
    try {
      await Promise.race([this.#beatOn(link), late.promise]);
    } catch (error) {
      // Whatever it was: a connection that is not in order is replaced.
      if (this.#link === link) void this.#loseLead();
      void link.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #beatOn(link: Link): Promise<void> {
    const { nodeId, nameOf } = this.#options;
    await this.#tryToLead(link);
    const said = await link.query(sayAlive, [nodeId, this.#leads, this.#lock]);
    if (said.count === 0) throw new Error('The others have taken this node for gone.');
    const nodes = await readNodes(link);
    const frozen = nodes.filter((node) => node.connected && node.silentMs > frozenAfterMs);
    if (frozen.length > 0) {
      const ids = frozen.map(({ id }) => id);
      await link.query(endConnections, [ids, ids.map((id) => nameOf(id)), frozenAfterMs]);
    }
    const dead = nodes.filter((node) => !node.connected && node.silentMs > goneAfterMs);
    if (dead.length > 0) {
      await link.query(forget, [dead.map(({ id }) => id), dead.map(({ lock }) => lock)]);
      this.tell('left', '');
      for (const { gone } of this.#members) gone?.();
    }
    for (const { beat } of this.#members) await beat?.(link);
  }
}
