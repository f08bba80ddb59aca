// Counts uses for all nodes: a row for each key, and all that is asked in one turn of the loop decided in one
// transaction. What was counted need not survive a loss of power: it is committed without waiting.
import {
  StoreUnavailableError,
  type Clock,
  type LimitCheck,
  type Limiter,
  type LimitVerdict,
} from '../engine.ts';
import { measureSkew } from './clock-skew.ts';
import { isWorthRepeating, refusal, type Link, type Statement } from './link.ts';
import { LimitUses } from './limit-uses.ts';

const begin: Statement = { name: 'begin', text: 'begin' };
const commit: Statement = { name: 'commit', text: 'commit' };
const rollback: Statement = { name: 'rollback', text: 'rollback' };
// In the order of the keys, as the locks below: so no two nodes wait for each other.
const insertKeys: Statement = {
  name: 'insert_keys',
  text: `insert into limits (key, uses, ends_at) select key, '', 0 from unnest($1::text[]) as wanted(key)
    order by key on conflict do nothing`,
};
const lockKeys: Statement = {
  name: 'lock_keys',
  text: 'select key, uses, ctid::text as place from limits where key = any($1::text[]) order by key for update',
};
const readKeys: Statement = {
  name: 'read_keys',
  text: 'select key, uses from limits where key = any($1::text[])',
};
// By where a row stands, which its lock holds: while a stranger's transaction is open, a look by key goes through all
// versions that the row has had since.
const update: Statement = {
  name: 'update_places',
  text: `update limits set uses = u.uses, ends_at = u.ends_at
    from unnest($1::tid[], $2::text[], $3::bigint[]) as u(place, uses, ends_at) where limits.ctid = u.place`,
};
const sweepOld: Statement = {
  name: 'sweep_keys',
  text: `delete from limits where key in (select key from limits where ends_at < $1::bigint
    limit 1000 for update skip locked)`,
};

const accepted: LimitVerdict = { ok: true };
const maxAttempts = 3;

interface Row {
  readonly key: string;
  readonly uses: string;
}

/** A row that is locked, and where it stands until the end of the transaction. */
interface LockedRow extends Row {
  readonly place: string;
}

interface Asked {
  readonly checks: readonly LimitCheck[];
  readonly counts: boolean;
  readonly resolve: (verdict: LimitVerdict) => void;
  readonly reject: (error: unknown) => void;
}

export class NodeLimiter implements Limiter {
  readonly #open: () => Promise<Link>;
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  /** What the database's clock shows more than the one of this node that never jumps, as of the connection. */
  #ahead = 0;
  #link: Link | null = null;
  #waiting: Asked[] = [];
  #running = false;
  #ended: Promise<void> = Promise.resolve();
  #closed = false;

  /**
   * @param open makes a connection whose commits wait for no disk
   * @param clock the node's own; what the database's shows more is added, and steps of either change nothing
   */
  constructor(open: () => Promise<Link>, clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#open = open;
    this.#clock = clock;
  }

  take(checks: readonly LimitCheck[]): LimitVerdict | Promise<LimitVerdict> {
    return this.#ask(checks, true);
  }

  peek(checks: readonly LimitCheck[]): LimitVerdict | Promise<LimitVerdict> {
    return this.#ask(checks, false);
  }

  /** Forgets keys that were not used for as long as their windows last. */
  async sweep(link: Link): Promise<void> {
    // By the clock that counted them: the database's may have been stepped since, and would forget what still counts.
    const now = this.#link === null ? Math.floor(this.#clock.now() + (await measureSkew(link))) : this.#now();
    await link.query(sweepOld, [now]);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#ended;
    await this.#link?.close();
  }

  #ask(checks: readonly LimitCheck[], counts: boolean): LimitVerdict | Promise<LimitVerdict> {
    for (const { windows } of checks) for (const window of windows) assertWhole(window);
    if (checks.length === 0) return accepted;
    if (this.#closed) return Promise.reject(new StoreUnavailableError('The limiter is closed.'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ checks, counts, resolve, reject });
      if (!this.#running) this.#ended = this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) {
      await new Promise((resolve) => setImmediate(resolve));
      const group = this.#waiting;
      this.#waiting = [];
      try {
        const verdicts = await this.#decide(group);
        for (const [index, { resolve }] of group.entries()) resolve(verdicts[index] ?? accepted);
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    // In the same step as the last look at what waits: what is asked for from now on begins anew.
    this.#running = false;
  }

  async #decide(group: readonly Asked[]): Promise<LimitVerdict[]> {
    for (let attempt = 1; ; attempt += 1) {
      const link = await this.#connected();
      try {
        return await decideOn(link, group, this.#now());
      } catch (error) {
        await link.query(rollback).catch(() => undefined);
        if (attempt === maxAttempts || !isWorthRepeating(error)) throw refusal(error);
      }
    }
  }

  async #connected(): Promise<Link> {
    if (this.#link !== null && !this.#link.lost) return this.#link;
    void this.#link?.close();
    const link = await this.#open();
    const skew = await measureSkew(link);
    this.#ahead = skew + this.#clock.now() - this.#clock.monotonic();
    this.#link = link;
    return link;
  }

  /** The same on all nodes, whatever their own clocks show. A step of one changes nothing that is being counted. */
  #now(): number {
    return Math.floor(this.#clock.monotonic() + this.#ahead);
  }
}

async function decideOn(link: Link, group: readonly Asked[], now: number): Promise<LimitVerdict[]> {
  const keys = [...new Set(group.flatMap(({ checks }) => checks.map(({ key }) => key)))].toSorted();
  if (!group.some(({ counts }) => counts)) {
    const { rows } = await link.query<Row>(readKeys, [keys]);
    return verdictsOn(group, usesOf(keys, rows), now);
  }
  const [, { rows: known }] = await Promise.all([link.query(begin), link.query<LockedRow>(lockKeys, [keys])]);
  const rows = known.length === keys.length ? known : await addKeys(link, keys);
  const uses = usesOf(keys, rows);
  const verdicts = verdictsOn(group, uses, now);
  const changed = rows.flatMap(({ key, place }) => {
    const one = uses.get(key);
    return one?.changed === true ? [{ place, one }] : [];
  });
  const [updated, ended] = await Promise.all([
    changed.length === 0
      ? { count: 0 }
      : link.query(update, [
          changed.map(({ place }) => place),
          changed.map(({ one }) => one.toText()),
          changed.map(({ one }) => Math.ceil(one.endsAt())),
        ]),
    link.query(commit),
  ]);
  if (ended.command !== 'COMMIT' || updated.count !== changed.length)
    throw new StoreUnavailableError('The database did not count a use.');
  return verdicts;
}

/** Makes the rows that are missing, and locks all. Nothing is locked before, so no two nodes wait for each other. */
async function addKeys(link: Link, keys: readonly string[]): Promise<readonly LockedRow[]> {
  const [, , , { rows }] = await Promise.all([
    link.query(rollback),
    link.query(begin),
    link.query(insertKeys, [keys]),
    link.query<LockedRow>(lockKeys, [keys]),
  ]);
  return rows;
}

function usesOf(keys: readonly string[], rows: readonly Row[]): Map<string, LimitUses> {
  const stored = new Map(rows.map(({ key, uses }) => [key, uses]));
  return new Map(keys.map((key) => [key, new LimitUses(stored.get(key) ?? '')]));
}

/** One after another, as they were asked. */
function verdictsOn(
  group: readonly Asked[],
  uses: ReadonlyMap<string, LimitUses>,
  now: number,
): LimitVerdict[] {
  return group.map(({ checks, counts }) => {
    const verdict = verdictOn(checks, uses, now);
    if (verdict.ok && counts)
      for (const [index, { key, windows }] of checks.entries())
        // A key that is named twice counts once.
        if (checks.findIndex((one) => one.key === key) === index) uses.get(key)?.count(windows, now);
    return verdict;
  });
}

/** The longest wait is told: only a retry after it finds every window open. */
function verdictOn(
  checks: readonly LimitCheck[],
  uses: ReadonlyMap<string, LimitUses>,
  now: number,
): LimitVerdict {
  let verdict: LimitVerdict = accepted;
  for (const [failed, { key, windows }] of checks.entries())
    for (const window of windows) {
      const retryAfterMs = Math.ceil(uses.get(key)?.wait(window, now) ?? 0);
      if (retryAfterMs > (verdict.ok ? 0 : verdict.retryAfterMs))
        verdict = { ok: false, failed, window, retryAfterMs };
    }
  return verdict;
}

function assertWhole({ limit, windowMs }: { readonly limit: number; readonly windowMs: number }): void {
  if (!Number.isInteger(limit) || limit < 0 || limit > 0xffffffff)
    throw new RangeError(`a limit is a whole number of 0 or more, not ${limit}`);
  if (!Number.isInteger(windowMs) || windowMs < 1 || windowMs > 0xffffffff)
    throw new RangeError(`a window is a whole number of milliseconds, not ${windowMs}`);
}
