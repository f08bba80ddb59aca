// An engine that keeps every contract of engine.ts and no habit of SQLite's: each call takes time, work runs, is rolled
// back and runs again, and hints of commits come late, twice, in another order, or only when the log is looked at.
// What works on it leans on the contract alone. Must not hide a fault of the engine inside.
import type {
  CommitNotice,
  CommittedEvent,
  Engine,
  Presence,
  ReadTx,
  Scope,
  Signal,
  Signals,
  Soon,
  Store,
  Tx,
} from '../../src/engine/engine.ts';
import { LogFollower } from '../../src/engine/log-follower.ts';
import type { Repositories } from '../../src/engine/repositories.ts';

type Random = () => number;

/** `hostile:SEED` puts the wrapper around an engine; nothing, `sqlite` or `postgres` leaves it as it is, and `cluster` watches what comes from others. */
export function engineWrapper(
  setting: string | undefined,
): ((engine: Engine) => Promise<Engine>) | undefined {
  if (setting === undefined || ['', 'sqlite', 'postgres'].includes(setting)) return undefined;
  if (setting === 'cluster') return followEngine;
  const seed = /^hostile:(\d+)$/.exec(setting)?.[1];
  if (seed === undefined)
    throw new Error(`DESKBELL_TEST_ENGINE is hostile:SEED, postgres, cluster or sqlite, not ${setting}`);
  return (engine) => createHostileEngine(engine, Number(seed));
}

/** What is on its way to subscribers, of every open engine. */
const underWay = new Set<() => Promise<boolean>>();

/**
 * Waits until subscribers have been told of everything that was committed and sent before now.
 * @returns false where there is no wrapper
 */
export async function settleEngines(): Promise<boolean> {
  if (underWay.size === 0) return false;
  for (const isUnderWay of underWay)
    while (underWay.has(isUnderWay) && (await isUnderWay()))
      await new Promise((resolve) => setTimeout(resolve, 1));
  return true;
}

/** Leaves an engine as it is. What others commit is on its way to its subscribers until it was told of, with what they read for it. */
async function followEngine(inner: Engine): Promise<Engine> {
  const { store } = inner;
  const readLast = (): Promise<number> => store.read(({ repositories }) => repositories.events.lastSeq());
  let position = await readLast();
  store.subscribe(({ events }) => (position = events.at(-1)?.seq ?? position));
  /** Payloads of others' events, among other things that are read. */
  const reading = new Set<Promise<unknown>>();
  const read: Store['read'] = (work) => {
    const answer = store.read(work);
    const over = answer
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => reading.delete(over));
    reading.add(over);
    return answer;
  };
  const isUnderWay = async (): Promise<boolean> => {
    if (position < (await readLast())) return true;
    // Who was told asks for the payloads in the same turn, and tells of them in the one in which they come.
    await aTurn();
    if (reading.size === 0) return false;
    await Promise.all(reading);
    return true;
  };
  underWay.add(isUnderWay);
  return {
    ...inner,
    store: {
      read,
      readAlone: (work) => store.readAlone(work),
      write: (scope, work, behind) => store.write(scope, work, behind),
      alone: (scope, work) => store.alone(scope, work),
      subscribe: (listener) => store.subscribe(listener),
      freshConfiguration: () => store.freshConfiguration(),
      configurationChangedAt: (organizationId, fresh) => store.configurationChangedAt(organizationId, fresh),
      configurationChangedSince: (since, fresh) => store.configurationChangedSince(since, fresh),
      stats: () => store.stats(),
    },
    close: async () => {
      underWay.delete(isUnderWay);
      await inner.close();
    },
  };
}

/** Puts the wrapper around an engine. @param seed the same one, the same misfortunes */
export async function createHostileEngine(inner: Engine, seed: number): Promise<Engine> {
  const random = createRandom(seed);
  const position = await inner.store.read(({ repositories }) => repositories.events.lastSeq());
  const { limiter, seats, maintenance } = inner;
  const notices = new LateNotices(inner, position, random);
  const turns = new Turns(random);
  const isUnderWay = async (): Promise<boolean> => {
    // Alone: a test may hold all other reads.
    const last = await inner.store.readAlone(({ repositories }) => repositories.events.lastSeq());
    return turns.waiting > 0 || notices.waiting > 0 || notices.position < last;
  };
  underWay.add(isUnderWay);
  return {
    ...inner,
    store: hostileStore(inner.store, notices, random),
    limiter: {
      take: async (checks) => (await someTime(random), limiter.take(checks)),
      peek: async (checks) => (await someTime(random), limiter.peek(checks)),
    },
    presence: hostilePresence(inner.presence, random, turns),
    seats: { take: async (wanted) => (await someTime(random), seats.take(wanted)) },
    signals: hostileSignals(inner.signals, turns),
    maintenance: {
      sizeBytes: async () => (await someTime(random), maintenance.sizeBytes()),
      logBytes: () => maintenance.logBytes(),
      clearRemoved: async () => (await someTime(random), maintenance.clearRemoved()),
      copies: async () => (await someTime(random), maintenance.copies()),
      removeCopies: async (madeBefore) => (await someTime(random), maintenance.removeCopies(madeBefore)),
    },
    close: async () => {
      underWay.delete(isUnderWay);
      notices.close();
      await inner.close();
    },
  };
}

function hostileStore(store: Store, notices: LateNotices, random: Random): Store {
  return {
    read: async (work) => (await someTime(random), store.read((tx) => work(slowReadTx(tx)))),
    readAlone: async (work) => (await someTime(random), store.readAlone((tx) => work(slowReadTx(tx)))),
    write: async (scope, work) => {
      await someTime(random);
      await runInVain(store, scope, work);
      const value = await store.write(scope, (tx) => work(slowTx(tx, scope)));
      // Subscribers may hear of a commit before its caller does.
      await someTime(random);
      return value;
    },
    alone: async (scope, work) => (
      await someTime(random),
      store.alone(scope, (tx) => work(slowTx(tx, scope)))
    ),
    subscribe: (listener) => notices.subscribe(listener),
    freshConfiguration: async () => {
      const fresh = await store.freshConfiguration();
      await aTurn();
      return fresh;
    },
    configurationChangedAt: (organizationId, fresh) => store.configurationChangedAt(organizationId, fresh),
    configurationChangedSince: (since, fresh) => store.configurationChangedSince(since, fresh),
    stats: () => store.stats(),
  };
}

class InVain extends Error {}

/** Runs work and rolls it back, as an engine does whose commit was refused: only the next run counts. */
async function runInVain<T>(
  store: Store,
  scope: Parameters<Store['write']>[0],
  work: (tx: Tx) => Soon<T>,
): Promise<void> {
  try {
    await store.write(scope, async (tx) => {
      // An error of the work itself comes again from the run that counts.
      await Promise.resolve(tx)
        .then((real) => work(slowTx(real, scope)))
        .catch(() => undefined);
      throw new InVain();
    });
  } catch (error) {
    if (!(error instanceof InVain)) throw error;
  }
}

/** Every query takes a turn of the loop, as one that goes to a server does. */
function slowRepositories(repositories: Repositories): Repositories {
  const slow: Record<string, unknown> = {};
  // Names of fields, or of getters that make a repository when it is asked for.
  const names = new Set([
    ...Object.keys(repositories),
    ...Object.getOwnPropertyNames(Object.getPrototypeOf(repositories)),
  ]);
  const all = repositories as unknown as Record<string, Record<string, unknown> | null>;
  for (const name of names) {
    const repository = all[name];
    if (name === '__proto__' || typeof repository !== 'object') continue;
    // What only some databases have.
    if (repository === null) {
      slow[name] = null;
      continue;
    }
    const methods: Record<string, unknown> = {};
    for (const [method, run] of Object.entries(repository))
      methods[method] =
        typeof run === 'function'
          ? async (...values: unknown[]) => {
              await aTurn();
              return (run as (...all: unknown[]) => unknown).apply(repository, values);
            }
          : run;
    slow[name] = methods;
  }
  return slow as unknown as Repositories;
}

function slowReadTx(tx: ReadTx): ReadTx {
  return { repositories: slowRepositories(tx.repositories) };
}

function slowTx(tx: Tx, scope: Scope | readonly Scope[]): Tx {
  const repositories = slowRepositories(tx.repositories);
  return {
    get repositories() {
      // Throws when the transaction is over.
      void tx.repositories;
      return repositories;
    },
    emit: async (event) => {
      const { organization_id, conversation_id, type } = event;
      // A conversation that is being opened belongs to its visitor's scope.
      const parts = type === 'conversation:new' ? ['visitor:'] : [`conversation:${conversation_id}`];
      assertCovered(scope, organization_id, parts, `the event ${type}`);
      await aTurn();
      await tx.emit(event);
    },
    configurationEpoch: async () => {
      await aTurn();
      return tx.configurationEpoch();
    },
    configurationChanged: (organizationId) => {
      assertCovered(scope, organizationId, ['member:', 'webhook:'], 'a change of configuration');
      tx.configurationChanged(organizationId);
    },
  };
}

/**
 * A scope that is too narrow shows on no engine with one lock, so what can be known of a write is compared with it.
 * @param parts of the organization that are wide enough
 */
function assertCovered(
  scope: Scope | readonly Scope[],
  organization: string,
  parts: readonly string[],
  what: string,
): void {
  const scopes = Array.isArray(scope) ? (scope as readonly Scope[]) : [scope as Scope];
  const covers = (one: Scope): boolean => {
    if (typeof one === 'string') return one === 'server';
    if (one.organization !== organization) return false;
    return one.part === undefined || parts.some((part) => one.part?.startsWith(part) === true);
  };
  if (!scopes.some(covers)) throw new Error(`${what} lies outside of the scope ${JSON.stringify(scope)}`);
}

/** Passes commits on late, twice, in another order, or only with the next look at the log; a follower makes the best of it. */
class LateNotices {
  readonly #follower: LogFollower;
  readonly #random: Random;
  /** What this process has committed: told with its payload however it is found. */
  readonly #own = new Map<number, CommittedEvent>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #unsubscribe: () => void;

  constructor({ store }: Engine, position: number, random: Random) {
    this.#random = random;
    this.#follower = new LogFollower({
      clock: { after: (ms, run) => this.#later(ms, run) },
      position,
      readAfter: async (seq) => {
        await aTurn();
        const rows = await store.readAlone(({ repositories }) => repositories.events.after(seq, 7));
        return rows.map((row) => this.#own.get(row.seq) ?? { ...row, own: false });
      },
    });
    this.#unsubscribe = store.subscribe((notice) => this.#pass(notice));
  }

  get position(): number {
    return this.#follower.position;
  }

  /** How many hints are on their way. */
  get waiting(): number {
    return this.#timers.size;
  }

  subscribe(listener: (notice: CommitNotice) => void): () => void {
    return this.#follower.subscribe(listener);
  }

  close(): void {
    this.#unsubscribe();
    this.#follower.close();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #pass({ events, configuration }: CommitNotice): void {
    for (const event of events) if (event.own) this.#own.set(event.seq, event);
    for (const seq of this.#own.keys()) if (seq <= this.#follower.position) this.#own.delete(seq);
    if (configuration !== null) this.#later(this.#random() * 5, () => this.#follower.hint([], configuration));
    const fate = this.#random();
    if (fate < 0.2) this.#later(20, () => this.#follower.look());
    else if (fate < 0.6) this.#later(this.#random() * 8, () => this.#follower.hint(events, null));
    else this.#follower.hint(events, null);
    if (fate > 0.9) this.#later(this.#random() * 8, () => this.#follower.hint(events, null));
  }

  #later(ms: number, run: () => void): () => void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer);
    return () => {
      clearTimeout(timer);
      this.#timers.delete(timer);
    };
  }
}

function hostilePresence(presence: Presence, random: Random, turns: Turns): Presence {
  return {
    join: (...who) => presence.join(...who),
    leave: (...who) => presence.leave(...who),
    online: async (organizationId) => (await someTime(random), presence.online(organizationId)),
    present: async (memberIds) => (await someTime(random), presence.present(memberIds)),
    memberCount: async () => (await someTime(random), presence.memberCount()),
    awayMs: async (memberId) => (await someTime(random), presence.awayMs(memberId)),
    subscribe: (listener) => presence.subscribe((...change) => turns.add(() => listener(...change))),
  };
}

/** Signals are told late; their order is kept, because a test that waits for one could not know of another. */
function hostileSignals(signals: Signals, turns: Turns): Signals {
  return {
    send: (signal) => signals.send(signal),
    subscribe: (listener: (signal: Signal) => void) =>
      signals.subscribe((signal) => turns.add(() => listener(signal))),
  };
}

/** Runs one thing after another, each some time later. */
class Turns {
  readonly #random: Random;
  #last: Promise<void> = Promise.resolve();
  waiting = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  add(run: () => void): void {
    this.waiting += 1;
    this.#last = this.#last
      .then(() => someTime(this.#random))
      .then(run)
      .finally(() => {
        this.waiting -= 1;
      });
  }
}

function aTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Mostly a turn of the loop, now and then a few ms. */
function someTime(random: Random): Promise<void> {
  return random() < 0.9 ? aTurn() : new Promise((resolve) => setTimeout(resolve, random() * 4));
}

/** Numbers from 0 to 1 that a seed decides (mulberry32). */
function createRandom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
