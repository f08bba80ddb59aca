// Opens the engine on a PostgreSQL database: a server as one node of many, a command beside them.
import { randomBytes } from 'node:crypto';
import { migrations } from '../../../migrations/index.ts';
import type { Clock, Durability, Engine } from '../engine.ts';
import { createMemoryJobs } from '../memory/jobs.ts';
import { createLoopPace } from '../memory/pace.ts';
import { createPresence } from '../memory/presence.ts';
import { createMemorySeats } from '../memory/seats.ts';
import { createMemorySignals } from '../memory/signals.ts';
import { createMemoryLimiter, createSlidingWindowLimiter } from '../memory/sliding-window-limiter.ts';
import { EngineError } from '../open-errors.ts';
import { areClocksApart, measureSkew } from './clock-skew.ts';
import { assertOwnSession, examineDatabase, unreachable } from './examine.ts';
import { Link } from './link.ts';
import { assertNoneServes, Membership } from './membership.ts';
import { assertSchemaStays, migrateOn, newestSchema, readSchema } from './migrate.ts';
import { NodeLimiter } from './node-limiter.ts';
import { NodePresence } from './node-presence.ts';
import { createNodeSeats } from './node-seats.ts';
import { createNodeSignals } from './node-signals.ts';
import { PostgresStore } from './postgres-store.ts';

export interface PostgresEngineOptions {
  /** `postgres://…`; it may hold a password and is never logged. */
  readonly url: string;
  readonly durability: Durability;
  readonly clock: Clock;
  /** A digest of the secret key: kept in the database, so that another key is refused. */
  readonly keyCheck: string;
  /** A server is a node among others; a command works beside them, alone. */
  readonly as: 'server' | 'command';
  /** The version of the program, told to other nodes. */
  readonly version: string;
  /** Connections that write, and as many that read. */
  readonly connections?: number;
  /** How often a node says that it lives, ms. */
  readonly beatMs?: number;
  /** Told, when a node begins and when it begins anew, how far its machine's clock is from the database's, where that is too far, ms. */
  readonly onClockApart?: ((ms: number) => void) | undefined;
  /** Told once why the database can't be used any more, and once with null when it can again. */
  readonly onUnavailable?: ((why: string | null) => void) | undefined;
}

const nameOf = (nodeId: string): string => `deskbell ${nodeId}`;

/**
 * Opens, and where needed migrates, a database.
 * @throws EngineError when it can't be reached, is not as it must be, or was made with another secret key
 * @throws SchemaError when the database is newer than this program
 */
export async function openPostgresEngine(options: PostgresEngineOptions): Promise<Engine> {
  const { url, clock, durability } = options;
  try {
    await prepare(options);
    const nodeId = randomBytes(4).toString('hex');
    const store = await PostgresStore.open({
      url,
      nodeId,
      durability,
      clock,
      connections: options.connections ?? (options.as === 'server' ? 4 : 1),
      pollIntervalMs: 1_000,
      schema: newestSchema,
      onUnavailable: options.onUnavailable,
    });
    return options.as === 'server'
      ? await openNode(options, nodeId, store)
      : openBeside(options, nodeId, store);
  } catch (error) {
    throw unreachable(url, error);
  }
}

/** A command is no node: what nodes share is not its business. */
function openBeside({ clock }: PostgresEngineOptions, nodeId: string, store: PostgresStore): Engine {
  const localLimiter = createSlidingWindowLimiter({ monotonicMs: clock.monotonic });
  return {
    nodeId,
    store,
    maintenance: store,
    signals: createMemorySignals(),
    jobs: createMemoryJobs(),
    limiter: createMemoryLimiter(localLimiter),
    localLimiter,
    presence: createPresence(clock.monotonic),
    seats: createMemorySeats(),
    pace: createLoopPace(),
    clock,
    close: () => store.close(),
  };
}

async function openNode(
  { url, clock, version, beatMs, onClockApart }: PostgresEngineOptions,
  nodeId: string,
  store: PostgresStore,
): Promise<Engine> {
  const open = (durable: boolean): Promise<Link> =>
    Link.open({ url, name: nameOf(nodeId), durable, schema: newestSchema });
  const membership = new Membership({
    nodeId,
    version,
    schema: newestSchema,
    open: () => open(true),
    nameOf,
    ...(beatMs !== undefined && { beatMs }),
  });
  const limiter = new NodeLimiter(() => open(false), clock);
  const engine: Engine = {
    nodeId,
    store,
    maintenance: store,
    signals: createNodeSignals(membership),
    jobs: membership,
    limiter,
    localLimiter: createSlidingWindowLimiter({ monotonicMs: clock.monotonic }),
    presence: new NodePresence(membership, nodeId, clock.monotonic),
    seats: createNodeSeats(membership, nodeId),
    pace: createLoopPace(),
    clock,
    close: async () => {
      await membership.close();
      await limiter.close();
      await store.close();
    },
  };
  membership.add({
    joined: async (link) => {
      await assertSchemaStays(link);
      const skewMs = await measureSkew(link);
      if (areClocksApart(skewMs)) onClockApart?.(Math.abs(skewMs));
    },
    beat: async (link) => {
      if (membership.leads) await limiter.sweep(link);
    },
  });
  try {
    await membership.join();
    return engine;
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Looks at the database, makes what is missing, and compares the key. */
async function prepare({ url, keyCheck, as }: PostgresEngineOptions): Promise<void> {
  const link = await Link.open({ url, name: 'deskbell', durable: true, patient: true, allowsStandby: true });
  try {
    await examineDatabase(link);
    if (as === 'server') await assertOwnSession(link);
    const { version, complete } = await readSchema(link);
    if (!complete) await makeSchema(link, version, as);
    await checkKey(link, keyCheck);
  } finally {
    await link.close();
  }
}

/** @throws EngineError where others work on the older schema */
async function makeSchema(link: Link, version: number, as: 'server' | 'command'): Promise<void> {
  if (as === 'command' && version > 0 && version < newestSchema)
    throw new EngineError(
      `The database has schema ${version}, and this version of deskbell needs ${newestSchema}. Bring it there: deskbell migrate.`,
    );
  await migrateOn(link, migrations, (found) => assertNoneServes(link, found));
}

async function checkKey(link: Link, keyCheck: string): Promise<void> {
  // Two statements: the first one's snapshot does not show what another server has written in between.
  await link.query(
    { text: `insert into meta (key, value) values ('key_check', $1) on conflict do nothing` },
    [keyCheck],
  );
  const { rows } = await link.query<{ value: string }>(
    {
      text: `select value from meta where key = 'key_check'`,
    },
    [],
  );
  if (rows[0]?.value !== keyCheck)
    throw new EngineError(
      'This database was made with another secret key. Put the right DESKBELL_SECRET_KEY back; nothing was changed.',
    );
}
