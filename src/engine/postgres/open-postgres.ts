// Opens the engine on a PostgreSQL database. One node of it works: limits, presence, seats and signals are its own.
import { randomBytes } from 'node:crypto';
import type { Clock, Durability, Engine } from '../engine.ts';
import { createMemoryJobs } from '../memory/jobs.ts';
import { createPresence } from '../memory/presence.ts';
import { createMemorySeats } from '../memory/seats.ts';
import { createMemorySignals } from '../memory/signals.ts';
import { createMemoryLimiter, createSlidingWindowLimiter } from '../memory/sliding-window-limiter.ts';
import { EngineError } from '../open-errors.ts';
import { Link } from './link.ts';
import { migratePostgres } from './migrate.ts';
import { PostgresStore } from './postgres-store.ts';

export interface PostgresEngineOptions {
  /** `postgres://…`; it may hold a password and is never logged. */
  readonly url: string;
  readonly durability: Durability;
  readonly clock: Clock;
  /** A digest of the secret key: kept in the database, so that another key is refused. */
  readonly keyCheck: string;
  /** Connections that write, and as many that read; two more listen and work alone. */
  readonly connections?: number;
}

/**
 * Opens, and where needed migrates, a database.
 * @throws EngineError when it was made with another secret key
 * @throws SchemaError when the database is newer than this program
 * @throws StoreUnavailableError when it can't be reached
 */
export async function openPostgresEngine(options: PostgresEngineOptions): Promise<Engine> {
  const { url, clock, durability } = options;
  await migratePostgres(url);
  await checkKey(options);
  const nodeId = randomBytes(4).toString('hex');
  const store = await PostgresStore.open({
    url,
    nodeId,
    durability,
    clock,
    connections: options.connections ?? 4,
    pollIntervalMs: 1_000,
  });
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
    clock,
    close: () => store.close(),
  };
}

async function checkKey({ url, keyCheck }: PostgresEngineOptions): Promise<void> {
  const link = await Link.open({ url, name: 'deskbell', durable: true });
  try {
    const { rows } = await link.query<{ value: string }>(
      {
        text: `with made as (insert into meta (key, value) values ('key_check', $1) on conflict do nothing returning value)
          select value from made union all select value from meta where key = 'key_check' limit 1`,
      },
      [keyCheck],
    );
    if (rows[0]?.value !== keyCheck)
      throw new EngineError(
        'This database was made with another secret key. Put the right DESKBELL_SECRET_KEY back; nothing was changed.',
      );
  } finally {
    await link.close();
  }
}
