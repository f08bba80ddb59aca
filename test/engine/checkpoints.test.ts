// The log moves into the database while writing goes on: it stays small, and the loop never moves much of it at once.
import { statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Engine } from '../../src/engine/engine.ts';
import { databaseFile, openEngine, prepareFolder } from '../../src/engine/open-engine.ts';
import {
  Checkpoints,
  createLogReader,
  fewPages,
  manyPages,
  mostPages,
} from '../../src/engine/sqlite/checkpoints.ts';
import { openConnection } from '../../src/engine/sqlite/connection.ts';
import { createTestClock, type TestClock } from '../helpers/clock.ts';

const pageBytes = 4_096;
const pagesPerCommit = 50;

let folder: string;
let clock: TestClock;
let engine: Engine;
let look: Database.Database;
let readLog: ReturnType<typeof createLogReader>;
/** Pages that were not moved when a checkpoint began in this thread. */
let movedHere: number[];
const { pragma, prepare } = Database.prototype;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-checkpoints-'));
  await prepareFolder(folder);
  clock = createTestClock();
  engine = await openEngine({ folder, durability: 'full', clock, keyCheck: 'key', as: 'server' });
  look = new Database(databaseFile(folder), { readonly: true });
  readLog = createLogReader(look);
  movedHere = [];
  Database.prototype.pragma = function watched(this: Database.Database, ...given) {
    if (given[0].startsWith('wal_checkpoint(')) movedHere.push(unmoved());
    return pragma.apply(this, given);
  };
  Database.prototype.prepare = function watched(this: Database.Database, sql: string) {
    if (sql.includes('wal_checkpoint(TRUNCATE)')) movedHere.push(unmoved());
    return prepare.call(this, sql);
  } as typeof prepare;
});

afterEach(async () => {
  Object.assign(Database.prototype, { pragma, prepare });
  look.close();
  await engine.close();
  await rm(folder, { recursive: true });
});

function unmoved(): number {
  const { pages, moved } = readLog();
  return pages - moved;
}

const logPages = (): number => Math.floor(statSync(`${databaseFile(folder)}-wal`).size / pageBytes);

let written = 0;
async function commit(times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    // Of what stays the same SQLite writes nothing.
    const value = String.fromCodePoint(97 + ((written += 1) % 26)).repeat(pagesPerCommit * pageBytes);
    await engine.store.write('server', ({ repositories }) => repositories.meta.set('much', value));
  }
}

it('keeps the log small without an idle moment', async () => {
  await commit(400);
  expect(logPages()).toBeLessThan(3 * manyPages);
  expect(movedHere.length).toBeGreaterThan(5);
  expect(Math.max(...movedHere)).toBeLessThanOrEqual(mostPages);
});

it('moves what a reader has kept in a thread, and only the last pages in the loop', async () => {
  look.exec('begin');
  look.prepare('select count(*) from meta').get();
  await commit(120);
  look.exec('commit');
  expect(unmoved()).toBeGreaterThan(4 * manyPages);
  movedHere = [];
  await expect
    .poll(async () => {
      clock.advance(1_000);
      await commit(3);
      return readLog().pages;
    })
    // It has begun anew.
    .toBeLessThan(manyPages);
  expect(Math.max(...movedHere)).toBeLessThanOrEqual(fewPages);
});

it('has the thread move what is removed, before the log is emptied', async () => {
  look.exec('begin');
  look.prepare('select count(*) from meta').get();
  await commit(60);
  look.exec('commit');
  movedHere = [];
  expect(await engine.maintenance.clearRemoved()).toBe(true);
  expect(logPages()).toBe(0);
  expect(readLog()).toEqual({ pages: 0, moved: 0 });
  expect(Math.max(...movedHere)).toBeLessThanOrEqual(fewPages);
});

it('ends the thread with the store: no connection is left that keeps the log', async () => {
  look.exec('begin');
  look.prepare('select count(*) from meta').get();
  await commit(60);
  look.exec('commit');
  clock.advance(1_000);
  await commit(2);
  Object.assign(Database.prototype, { pragma, prepare });
  look.close();
  await engine.close();
  expect(statSync(`${databaseFile(folder)}-wal`, { throwIfNoEntry: false })).toBeUndefined();
});

it('leaves the log to the commits where there can be no thread', async () => {
  const writer = openConnection(join(folder, 'other.db'), { durability: 'full', lockTimeoutMs: 0 });
  try {
    writer.pragma('journal_mode = WAL');
    writer.exec('create table much (value)');
    const file = join(folder, 'none', 'other.db');
    const checkpoints = new Checkpoints({ file, durability: 'full', clock, writer });
    expect(writer.pragma('wal_autocheckpoint', { simple: true })).toBe(0);
    writer.prepare('insert into much values (zeroblob(?))').run(2 * manyPages * pageBytes);
    checkpoints.betweenCommits();
    checkpoints.betweenCommits();
    await expect.poll(() => writer.pragma('wal_autocheckpoint', { simple: true })).toBe(manyPages);
    await checkpoints.close();
  } finally {
    writer.close();
  }
});
