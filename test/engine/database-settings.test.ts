// What an administrator may have set for the role or the database of several nodes, which then must not change what they
// promise: how transactions see each other, how values are written, how long anything may take.
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createSystemClock } from '../../src/engine/clock.ts';
import type { Engine, Scope } from '../../src/engine/engine.ts';
import { openPostgresEngine } from '../../src/engine/postgres/open-postgres.ts';
import { createMigratedDatabase } from '../helpers/contract-engines.ts';
import { releasedEvent } from '../helpers/engine-events.ts';
import { eventually } from '../helpers/eventually.ts';
import { askDatabase, type TestDatabase } from '../helpers/postgres.ts';

let database: TestDatabase;
let nodes: Engine[];

beforeEach(async () => {
  database = await createMigratedDatabase();
  nodes = [];
});

afterEach(async () => {
  await Promise.all(nodes.map((node) => node.close()));
  await database.remove();
});

const ask = (sql: string): Promise<Record<string, unknown>[]> => askDatabase(database, sql);

async function twoNodesWith(settings: Readonly<Record<string, string>>): Promise<readonly [Engine, Engine]> {
  const [row] = await ask('select current_database() as name');
  for (const [name, value] of Object.entries(settings))
    await ask(`alter database ${String(row?.['name'])} set ${name} = '${value}'`);
  const open = (): Promise<Engine> =>
    openPostgresEngine({
      url: database.url,
      durability: 'normal',
      clock: createSystemClock(),
      keyCheck: 'key',
      as: 'server',
      version: '0',
      connections: 3,
    });
  const [one, other] = [await open(), await open()];
  nodes = [one, other];
  return [one, other];
}

const partOf = (name: string): Scope => ({ organization: 'o', part: `conversation:${name}` });

it('a transaction sees what was committed before it had its locks, also where the default is an older snapshot', async () => {
  const [one, other] = await twoNodesWith({ default_transaction_isolation: 'repeatable read' });
  const [held, waited] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = one.store.alone(partOf('a'), async (tx) => {
    await tx.repositories.meta.set('first', 'written');
    held.resolve();
    await waited.promise;
  });
  await held.promise;
  const second = other.store.write(partOf('a'), async (tx) => {
    await tx.repositories.meta.set('second', (await tx.repositories.meta.get('first')) ?? 'nothing');
  });
  await eventually(async () =>
    expect(
      await ask(
        "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      ),
    ).toHaveLength(1),
  );
  waited.resolve();
  await Promise.all([first, second]);
  expect(await ask("select value from meta where key = 'second'")).toEqual([{ value: 'written' }]);
});

it('nothing is a word that was no word', async () => {
  const [one] = await twoNodesWith({ array_nulls: 'off', bytea_output: 'escape' });
  await one.store.write(partOf('a'), (tx) => tx.emit(releasedEvent('a')));
  expect(await ask('select message_id, member_id from events')).toEqual([
    { message_id: null, member_id: null },
  ]);
});

it.each(['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout'])(
  'long work takes as long as it takes, whatever %s is',
  async (name) => {
    const known = await ask(`select from pg_settings where name = '${name}'`);
    // PostgreSQL 15 and 16 have no transaction_timeout.
    const [one, other] = await twoNodesWith(known.length === 0 ? {} : { [name]: '100ms' });
    const held = Promise.withResolvers<void>();
    const long = one.store.alone('server', async (tx) => {
      await tx.repositories.meta.get('a');
      held.resolve();
      await setTimeout(300);
      await tx.emit(releasedEvent('long'));
    });
    await held.promise;
    const behind = other.store.alone('server', async (tx) => tx.emit(releasedEvent('behind')));
    const read = other.store.readAlone(async ({ repositories: { meta } }) => {
      await meta.get('a');
      await setTimeout(300);
      return meta.get('a');
    });
    await Promise.all([long, behind, read]);
    expect(await ask('select conversation_id as id from events order by seq')).toEqual([
      { id: 'long' },
      { id: 'behind' },
    ]);
  },
);

it('nodes keep their sessions and hear of each other, also where sessions that are idle are ended', async () => {
  const [one, other] = await twoNodesWith({ idle_session_timeout: '100ms' });
  const sessions = (): Promise<Record<string, unknown>[]> =>
    ask(
      `select pid from pg_stat_activity where application_name like 'deskbell %' and datname = current_database() order by pid`,
    );
  const heard: string[] = [];
  other.store.subscribe(({ events }) => heard.push(...events.map((event) => event.conversation_id ?? '')));
  await one.store.write(partOf('a'), (tx) => tx.emit(releasedEvent('first')));
  const before = await sessions();
  await setTimeout(300);
  // Some may have been added for reading, and none has ended.
  expect(await sessions()).toEqual(expect.arrayContaining(before));
  await one.store.write(partOf('a'), (tx) => tx.emit(releasedEvent('second')));
  await eventually(() => expect(heard).toEqual(['first', 'second']));
});
