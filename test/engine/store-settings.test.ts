// The settings of SQLite that every promise rests on: in force after writes, and refused where they are not.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSystemClock } from '../../src/engine/clock.ts';
import { assertSettings } from '../../src/engine/sqlite/connection.ts';
import type { Durability, Engine, Tx } from '../../src/engine/engine.ts';
import { openEngine, prepareFolder } from '../../src/engine/open-engine.ts';
import { watchStatements, type Watch } from '../helpers/storage.ts';

let folder: string;
let engine: Engine;
let watch: Watch;

const open = (durability: Durability): Promise<Engine> =>
  openEngine({ folder, durability, clock: createSystemClock(), keyCheck: 'key', as: 'server' });
const put = (key: string) => (tx: Tx) => tx.repositories.meta.set(key, key);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-settings-'));
  await prepareFolder(folder);
  watch = watchStatements();
  engine = await open('full');
});

afterEach(async () => {
  watch.end();
  await engine.close();
  await rm(folder, { recursive: true, force: true });
});

describe('settings', () => {
  it('has every pragma in force on the writing connection after writes', async () => {
    await engine.store.write('server', put('a'));
    await engine.store.write('server', put('b'));
    const writer = watch.writer();
    const pragma = (name: string): unknown => writer.pragma(name, { simple: true });
    expect(pragma('journal_mode')).toBe('wal');
    expect(pragma('synchronous')).toBe(2);
    expect(pragma('foreign_keys')).toBe(1);
    expect(pragma('secure_delete')).toBe(1);
  });

  it('refuses to go on when one of them is not', () => {
    const connection = new Database(join(folder, 'other.db'));
    connection.pragma('journal_mode = WAL');
    connection.pragma('secure_delete = ON');
    connection.pragma('foreign_keys = ON');
    connection.exec('create table t (x); insert into t values (1)');
    // better-sqlite3's own default, which shows only after the first write.
    expect(() => assertSettings(connection, 'full')).toThrow('synchronous is 1 and must be 2');
    connection.pragma('synchronous = FULL');
    assertSettings(connection, 'full');
    for (const off of ['foreign_keys = OFF', 'secure_delete = OFF', 'journal_mode = DELETE']) {
      connection.pragma(off);
      expect(() => assertSettings(connection, 'full'), off).toThrow('must be');
      connection.pragma(off.replace('OFF', 'ON').replace('DELETE', 'WAL'));
    }
    connection.close();
  });

  it('keeps durability normal apart from full', async () => {
    await engine.close();
    engine = await open('normal');
    await engine.store.write('server', put('a'));
    expect(watch.writer().pragma('synchronous', { simple: true })).toBe(1);
  });
});
