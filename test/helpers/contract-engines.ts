// Owns the engines that the contract tests run on: on SQLite and on PostgreSQL, as they are and behind the hostile wrapper.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemClock } from '../../src/engine/clock.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { openEngine, prepareFolder } from '../../src/engine/open-engine.ts';
import { openPostgresEngine } from '../../src/engine/postgres/open-postgres.ts';
import { createHostileEngine } from './hostile-engine.ts';
import { migratePostgres } from './migrate-postgres.ts';
import { createDatabase, runScript } from './postgres.ts';
import { sqliteWords } from './sqlite-words.ts';

export interface ContractEngine {
  readonly engine: Engine;
  /** Closes it and removes its folder. */
  remove(): Promise<void>;
}

/** Opens an engine in a folder of its own. */
export async function openContractEngine(wrap: (inner: Engine) => Promise<Engine>): Promise<ContractEngine> {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-contract-'));
  await prepareFolder(folder);
  const engine = await wrap(
    await openEngine({
      folder,
      durability: 'normal',
      clock: createSystemClock(),
      keyCheck: 'key',
      as: 'server',
    }),
  );
  return {
    engine,
    remove: async () => {
      await engine.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A database of its own with the newest schema. */
export const createMigratedDatabase = (): ReturnType<typeof createDatabase> =>
  createDatabase({
    name: 'migrated',
    up: async (url) => {
      await migratePostgres(url);
      await runScript(url, sqliteWords);
    },
  });

/** Opens an engine on a database of its own. */
export async function openPostgresContractEngine(
  wrap: (inner: Engine) => Promise<Engine> = async (inner) => inner,
): Promise<ContractEngine> {
  const database = await createMigratedDatabase();
  const engine = await wrap(
    await openPostgresEngine({
      url: database.url,
      durability: 'normal',
      clock: createSystemClock(),
      keyCheck: 'key',
      as: 'server',
      version: '0',
    }),
  );
  return {
    engine,
    remove: async () => {
      await engine.close();
      await database.remove();
    },
  };
}

/** Name and opener of each, for `describe.each`. */
export const contractEngines: readonly (readonly [string, () => Promise<ContractEngine>])[] = [
  ['the engine as it is', () => openContractEngine(async (inner) => inner)],
  [
    'the engine behind a hostile wrapper, seed 1',
    () => openContractEngine((inner) => createHostileEngine(inner, 1)),
  ],
  [
    'the engine behind a hostile wrapper, seed 2',
    () => openContractEngine((inner) => createHostileEngine(inner, 2)),
  ],
  ['the engine on PostgreSQL', () => openPostgresContractEngine()],
  [
    'the engine on PostgreSQL behind a hostile wrapper, seed 1',
    () => openPostgresContractEngine((inner) => createHostileEngine(inner, 1)),
  ],
];
