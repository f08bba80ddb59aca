// The log moves into the database while writing goes on: it stays small, and the loop never moves much of it at once.
import { EventEmitter } from 'node:events';
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../src/engine/engine.ts';
import { databaseFile, openEngine, prepareFolder } from '../../src/engine/open-engine.ts';
import {
  Checkpoints,
  createLogReader,
  manyPages,
  mostCommitsPerLook,
  mostPages,
  mostPasses,
  moveWhole,
  type CheckpointOrder,
} from '../../src/engine/sqlite/checkpoints.ts';
import { openConnection } from '../../src/engine/sqlite/connection.ts';
import { LogFile, logPieceBytes } from '../../src/engine/sqlite/log-file.ts';
import { startApp } from '../helpers/app.ts';
import { createTestClock, type TestClock } from '../helpers/clock.ts';
import { eventually } from '../helpers/eventually.ts';
import { createConversation, createMessage, createOrganization, createVisitor } from '../helpers/fixtures.ts';

const pageBytes = 4_096;

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
let lastValue = '';
async function commit(times: number, pagesPerCommit = 50): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    // Of what stays the same SQLite writes nothing.
    const value = String.fromCodePoint(97 + ((written += 1) % 26)).repeat(pagesPerCommit * pageBytes);
    await engine.store.write('server', ({ repositories }) => repositories.meta.set('much', value));
    lastValue = value;
  }
}

/** Commits beside a reader, which keeps all of it in the log, and has ended by the end. */
async function commitBesideReader(times: number): Promise<void> {
  look.exec('begin');
  look.prepare('select count(*) from meta').get();
  await commit(times);
  look.exec('commit');
  expect(unmoved()).toBeGreaterThan(mostPages);
  movedHere = [];
}

it('keeps the log small without an idle moment', async () => {
  await commit(400);
  expect(logPages()).toBeLessThan(3 * manyPages);
  expect(movedHere.length).toBeGreaterThan(5);
  expect(Math.max(...movedHere)).toBeLessThanOrEqual(mostPages);
});

it.each([400, 1_600])('keeps it in bounds where each commit writes %d pages', async (pages) => {
  let longest = 0;
  for (let done = 0; done < 100_000; done += pages) {
    await commit(1, pages);
    clock.advance(20);
    longest = Math.max(longest, readLog().pages);
  }
  expect(longest).toBeLessThan(80_000);
  expect(logPages()).toBeLessThan(80_000);
});

it('moves what a reader has kept in a thread, and only the last pages in the loop', async () => {
  await commitBesideReader(120);
  await expect
    .poll(async () => {
      clock.advance(1_000);
      await commit(3);
      return readLog().pages;
    })
    // It has begun anew.
    .toBeLessThan(manyPages);
  expect(Math.max(...movedHere)).toBeLessThanOrEqual(mostPages);
});

it('tries again only a while later where a reader keeps what it would move', async () => {
  look.exec('begin');
  look.prepare('select count(*) from meta').get();
  await commit(22);
  const tries = movedHere.length;
  expect(tries).toBe(1);
  await commit(4);
  expect(movedHere).toHaveLength(tries);
  clock.advance(200);
  await commit(2);
  expect(movedHere).toHaveLength(tries + 1);
  look.exec('commit');
});

it('looks again at idle moments until a reader has ended, and has the thread move what that kept', async () => {
  look.exec('begin');
  look.prepare('select count(*) from meta').get();
  await commit(60);
  // The idle moment comes, and can do nothing yet.
  movedHere = [];
  clock.advance(3_000);
  await expect.poll(() => movedHere.length).toBe(1);
  look.exec('commit');
  expect(unmoved()).toBeGreaterThan(2 * mostPages);
  movedHere = [];
  await expect
    .poll(() => {
      clock.advance(3_000);
      return unmoved();
    })
    .toBe(0);
  expect(Math.max(...movedHere)).toBeLessThanOrEqual(mostPages);
});

it('has the thread move what is removed, before the log is emptied', async () => {
  await commitBesideReader(60);
  expect(await engine.maintenance.clearRemoved()).toBe(true);
  expect(logPages()).toBe(0);
  expect(readLog()).toEqual({ pages: 0, moved: 0 });
  expect(Math.max(...movedHere)).toBeLessThanOrEqual(mostPages);
});

describe('the thread', () => {
  /** A log of so many pages to which a commit adds some in each of the first passes; a reader may keep its last ones. */
  function passesOver(log: { pages: number; moved: number }, growing: number, kept = 0): number {
    let passes = 0;
    const move = (): void => {
      passes += 1;
      log.moved = log.pages - kept;
      if (passes <= growing) log.pages += 20;
    };
    moveWhole(move, () => ({ ...log }));
    return passes;
  }

  it('goes on until nothing is left: only then SQLite brings the database to the disk', () => {
    const log = { pages: 9_000, moved: 0 };
    expect(passesOver(log, 3)).toBe(4);
    expect(log).toEqual({ pages: 9_060, moved: 9_060 });
  });

  it('ends where a reader keeps what is left', () => {
    expect(passesOver({ pages: 9_000, moved: 0 }, 0, 500)).toBe(2);
  });

  it('does not go on for ever beside commits', () => {
    expect(passesOver({ pages: 9_000, moved: 0 }, Infinity)).toBe(mostPasses);
  });
});

describe('a long log', () => {
  const { exec } = Database.prototype;
  let copies: string;
  /** Bytes of the log's file after each piece that was freed, and when the last of it was. */
  let left: number[];
  let emptied: number[];

  const logBytes = (): number => statSync(`${databaseFile(folder)}-wal`).size;

  beforeEach(async () => {
    copies = await mkdtemp(join(tmpdir(), 'deskbell-copies-'));
    left = [];
    emptied = [];
    const watched = Database.prototype.prepare;
    Database.prototype.prepare = function watchedAgain(this: Database.Database, sql: string) {
      if (sql.includes('wal_checkpoint(TRUNCATE)')) emptied.push(logBytes());
      return watched.call(this, sql);
    } as typeof prepare;
  });
  afterEach(async () => {
    Object.assign(Database.prototype, { exec });
    await rm(copies, { recursive: true });
  });

  /** Calls it whenever a piece was freed, while the lock is held. */
  function onPiece(run: () => void): void {
    Database.prototype.exec = function watchedExec(this: Database.Database, sql) {
      if (sql === 'ROLLBACK') run();
      return exec.call(this, sql);
    };
  }

  /** What a process finds that comes after one that died now. */
  function expectWhole(): void {
    const copy = join(copies, 'copy.db');
    for (const suffix of ['', '-wal']) copyFileSync(databaseFile(folder) + suffix, copy + suffix);
    const found = new Database(copy);
    try {
      expect(found.pragma('integrity_check', { simple: true })).toBe('ok');
      expect(found.prepare("select value from meta where key = 'much'").pluck().get()).toBe(lastValue);
    } finally {
      found.close();
    }
  }

  it('is freed in pieces, beside writing, and whole after each of them', async () => {
    await commitBesideReader(160);
    expect(logBytes()).toBeGreaterThan(3 * logPieceBytes);
    const before = logBytes();
    onPiece(() => {
      left.push(logBytes());
      expectWhole();
    });
    let cleared: boolean | undefined;
    const clearing = engine.maintenance.clearRemoved().then((answer) => (cleared = answer));
    while (cleared === undefined) {
      await commit(1, 5);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await clearing;
    expect(cleared).toBe(true);
    expect(left.length).toBeGreaterThan(1);
    for (const [at, size] of left.entries())
      expect((left[at - 1] ?? before) - size).toBeLessThanOrEqual(logPieceBytes);
    expect(Math.max(...emptied)).toBeLessThanOrEqual(2 * logPieceBytes);
    await commit(1);
    expectWhole();
  });

  it('is not cut where another connection reads it or writes', async () => {
    await commitBesideReader(160);
    const other = new Database(databaseFile(folder), { timeout: 5_000 });
    other.exec('begin');
    other.prepare('select count(*) from meta').get();
    onPiece(() => left.push(logBytes()));
    await commit(1);
    expect(await engine.maintenance.clearRemoved()).toBe(false);
    expect(left).toEqual([]);
    other.exec('commit');
    // Its lock is asked for again, until it is free.
    let asked = 0;
    Database.prototype.exec = function watchedExec(this: Database.Database, sql) {
      if (sql === 'BEGIN IMMEDIATE') {
        asked += 1;
        if (asked === 1) exec.call(other, 'begin immediate');
        if (asked === 3) exec.call(other, 'rollback');
      }
      return exec.call(this, sql);
    };
    expect(await engine.maintenance.clearRemoved()).toBe(true);
    expect(asked).toBeGreaterThan(3);
    expect(logPages()).toBe(0);
    // One that is not free for long is not waited for.
    await commitBesideReader(160);
    asked = 0;
    Database.prototype.exec = function watchedExec(this: Database.Database, sql) {
      if (sql === 'BEGIN IMMEDIATE') {
        asked += 1;
        if (asked === 1) exec.call(other, 'begin immediate');
      }
      return exec.call(this, sql);
    };
    expect(await engine.maintenance.clearRemoved()).toBe(false);
    expect(asked).toBeLessThan(20);
    other.close();
  });
});

it('ends the thread with the store: no connection is left that keeps the log', async () => {
  await commitBesideReader(60);
  clock.advance(1_000);
  await commit(2);
  Object.assign(Database.prototype, { pragma, prepare });
  look.close();
  await engine.close();
  expect(statSync(`${databaseFile(folder)}-wal`, { throwIfNoEntry: false })).toBeUndefined();
});

describe('the file of a long log', () => {
  let file: string;
  let writer: Database.Database;
  let reader: Database.Database;

  const write = (pieces: number): void =>
    void writer
      .prepare('insert into meta values (hex(randomblob(8)), hex(randomblob(?)))')
      .run(pieces * (logPieceBytes / 2));
  const size = (): number => statSync(`${file}-wal`).size;

  beforeEach(() => {
    file = join(folder, 'other.db');
    writer = openConnection(file, { durability: 'full', lockTimeoutMs: 0 });
    writer.pragma('journal_mode = WAL');
    writer.pragma('wal_autocheckpoint = 0');
    writer.exec('create table meta (key primary key, value)');
    reader = openConnection(file, { durability: 'full', lockTimeoutMs: 0 });
    write(3.5);
  });
  afterEach(() => {
    writer.close();
    reader.close();
  });

  it('keeps every page that is in use', () => {
    const log = new LogFile({ file, writer, reader });
    expect(log.beginAnew()).toBe(true);
    const kept = openConnection(file, { durability: 'full', lockTimeoutMs: 0 });
    kept.exec('begin');
    kept.prepare('select count(*) from meta').get();
    // More than the last piece begins at.
    write(1.75);
    const before = size();
    expect(log.cutPiece()).toBe(true);
    expect(before - size()).toBe(logPieceBytes);
    expect(log.cutPiece()).toBe(false);
    const used = size();
    expect(used).toBeGreaterThan(1.75 * logPieceBytes);
    expect(log.cutPiece()).toBe(false);
    expect(size()).toBe(used);
    const values = 'select key, value from meta order by key';
    const copy = join(folder, 'copy.db');
    for (const suffix of ['', '-wal']) copyFileSync(file + suffix, copy + suffix);
    const found = openConnection(copy, { durability: 'full', lockTimeoutMs: 0 });
    expect(found.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(found.prepare(values).all()).toEqual(writer.prepare(values).all());
    found.close();
    kept.close();
  });

  it('stays as it is while the log has no page on the disk', () => {
    // A write that failed has begun it anew in memory only: a process that comes next reads the old one.
    const old = readFileSync(`${file}-wal`);
    writer.pragma('wal_checkpoint(TRUNCATE)');
    writeFileSync(`${file}-wal`, old);
    const log = new LogFile({ file, writer, reader });
    expect(createLogReader(reader)()).toEqual({ pages: 0, moved: 0 });
    expect(log.cutPiece()).toBe(false);
    expect(size()).toBe(old.length);
    expect(log.beginAnew()).toBe(true);
    expect(log.cutPiece()).toBe(true);
  });

  it('is cut also where a short log has begun anew already', () => {
    const log = new LogFile({ file, writer, reader });
    for (let time = 0; time < 3; time += 1) expect(log.beginAnew()).toBe(true);
    expect(createLogReader(reader)().pages).toBeLessThan(20);
    expect(log.cutPiece()).toBe(true);
  });

  it('gets no page more while a reader keeps it from beginning anew', () => {
    const log = new LogFile({ file, writer, reader });
    const kept = openConnection(file, { durability: 'full', lockTimeoutMs: 0 });
    kept.exec('begin');
    kept.prepare('select count(*) from meta').get();
    write(0.001);
    const before = createLogReader(reader)();
    expect(log.beginAnew()).toBe(false);
    expect(createLogReader(reader)().pages).toBe(before.pages);
    kept.close();
  });

  it('is left to SQLite where it can not be cut', () => {
    const log = new LogFile({ file: join(folder, 'none', 'other.db'), writer, reader });
    expect(log.cutPiece()).toBe(false);
    expect(writer.inTransaction).toBe(false);
  });
});

describe('between commits', () => {
  let writer: Database.Database;

  beforeEach(() => {
    writer = openConnection(join(folder, 'other.db'), { durability: 'full', lockTimeoutMs: 0 });
    writer.pragma('journal_mode = WAL');
    writer.exec('create table much (value)');
  });

  afterEach(() => {
    writer.close();
  });

  const write = (pages: number): void =>
    void writer.prepare('insert into much values (randomblob(?))').run(pages * pageBytes);

  function left(): number {
    const { pages, moved } = createLogReader(writer)();
    return pages - moved;
  }

  /** Writes much, and looks at the log as between commits. @returns the pages that are left of it */
  function commitMuch(checkpoints: Checkpoints, isDiskFull = false): number {
    write(2 * mostPages);
    clock.advance(1_000);
    const commits = isDiskFull ? 1 : mostCommitsPerLook;
    for (let commit = 0; commit < commits; commit += 1) checkpoints.betweenCommits(isDiskFull);
    return left();
  }

  it('all is moved between commits while the system gives none, and one is tried again later', async () => {
    // A file that is not there: the thread ends with an error.
    const file = join(folder, 'none', 'other.db');
    const told: (string | null)[] = [];
    const checkpoints = new Checkpoints({
      file,
      durability: 'full',
      clock,
      writer,
      onThread: (failure) => told.push(failure),
    });
    expect(commitMuch(checkpoints)).toBeGreaterThan(mostPages);
    await expect.poll(() => commitMuch(checkpoints)).toBe(0);
    for (let time = 0; time < 5; time += 1) expect(commitMuch(checkpoints)).toBe(0);
    clock.advance(60_000);
    expect(commitMuch(checkpoints)).toBeGreaterThan(mostPages);
    await expect.poll(() => commitMuch(checkpoints)).toBe(0);
    // Twice it has failed, and once it is told.
    expect(told).toEqual([expect.stringContaining('directory does not exist')]);
    await checkpoints.close();
  });

  it('what storage refuses it is told once, and once more that it works again', async () => {
    const answers = ['disk I/O error', 'disk I/O error', null, null, 'database or disk is full'];
    const told: (string | null)[] = [];
    const startThread = (): Worker => {
      const thread = Object.assign(new EventEmitter(), {
        postMessage: (order: CheckpointOrder) => {
          if (order === 'move') thread.emit('message', answers.shift());
          else thread.emit('exit');
        },
      });
      return thread as unknown as Worker;
    };
    const checkpoints = new Checkpoints({
      file: join(folder, 'other.db'),
      durability: 'full',
      clock,
      writer,
      startThread,
      onThread: (failure) => told.push(failure),
    });
    while (answers.length > 0) {
      commitMuch(checkpoints);
      await nextTurn();
    }
    expect(told).toEqual(['disk I/O error', null, 'database or disk is full']);
    await checkpoints.close();
  });

  it('all is moved between commits also where the system starts none', async () => {
    let tried = 0;
    const startThread = (): never => {
      tried += 1;
      throw new Error('no thread is left');
    };
    const file = join(folder, 'other.db');
    const checkpoints = new Checkpoints({ file, durability: 'full', clock, writer, startThread });
    for (let time = 0; time < 5; time += 1) expect(commitMuch(checkpoints)).toBe(0);
    expect(tried).toBe(1);
    await checkpoints.close();
  });

  it('on a full disk the log is looked at each time, and all of it is moved at once', () => {
    const checkpoints = started();
    // The next look would come after eight.
    mostLeft(checkpoints, commits(20, 0.001));
    expect(commitMuch(checkpoints, true)).toBe(0);
  });

  const task = () => ({ file: join(folder, 'other.db'), durability: 'full', clock, writer }) as const;

  /** Where the system gives no thread. */
  const started = (): Checkpoints =>
    new Checkpoints({
      ...task(),
      startThread: () => {
        throw new Error('no thread is left');
      },
    });

  /**
   * Commits of so many pages each, and what is left of the log behind each.
   * @returns the most that was ever left
   */
  function mostLeft(checkpoints: Checkpoints, sizes: readonly number[]): number {
    let most = 0;
    for (const pages of sizes) {
      write(pages);
      checkpoints.betweenCommits(false);
      most = Math.max(most, left());
    }
    return most;
  }

  const commits = (count: number, pages: number): number[] => Array.from({ length: count }, () => pages);

  it.each([1, 10, 30, 90, 200])(
    'commits of %i pages are moved before there are too many of them',
    (pages) => {
      // Its own page and one that says where the table ends come to each.
      const most = mostLeft(started(), commits(Math.ceil(5_000 / pages), pages));
      expect(most).toBeLessThan(manyPages + pages + 10);
      expect(most).toBeGreaterThan(manyPages / 2);
    },
  );

  it('commits that become twice as large are seen before there are too many pages', () => {
    expect(mostLeft(started(), [90, ...commits(30, 180)])).toBeLessThan(manyPages + 200);
  });

  it('commits that become twenty times as large are seen after eight', () => {
    const checkpoints = started();
    mostLeft(checkpoints, commits(50, 1));
    const before = left();
    expect(mostLeft(checkpoints, commits(80, 20))).toBeLessThan(manyPages + mostCommitsPerLook * 25 + before);
  });

  it('a log that another has moved tells nothing of the commits', () => {
    const checkpoints = started();
    mostLeft(checkpoints, commits(4, 200));
    writer.pragma('wal_checkpoint(PASSIVE)');
    expect(mostLeft(checkpoints, commits(30, 200))).toBeLessThan(manyPages + 210);
  });

  const moveAll = (): void => void writer.pragma('wal_checkpoint(PASSIVE)');

  /** A thread that answers at once, and the orders that it gets. */
  function quickThread(move = moveAll): { orders: string[]; startThread: () => Worker } {
    const orders: string[] = [];
    const startThread = (): Worker => {
      orders.push('start');
      const thread = Object.assign(new EventEmitter(), {
        postMessage: (order: CheckpointOrder) => {
          orders.push(order);
          if (order === 'move') move();
          thread.emit(order === 'move' ? 'message' : 'exit');
        },
      });
      return thread as unknown as Worker;
    };
    return { orders, startThread };
  }

  it('a thread that is there moves the usual stretch, too: what it has moved tells nothing of the commits, either', async () => {
    const { orders, startThread } = quickThread();
    const checkpoints = new Checkpoints({ ...task(), startThread });
    mostLeft(checkpoints, commits(30, 200));
    expect(orders).toEqual([]);
    write(2 * mostPages);
    for (let commit = 0; commit < mostCommitsPerLook; commit += 1) checkpoints.betweenCommits(false);
    await checkpoints.moveMost();
    expect(orders).toEqual(['start', 'move']);
    expect(mostLeft(checkpoints, commits(30, 200))).toBeLessThan(manyPages + 210);
    expect(orders.slice(2)).toEqual(Array.from({ length: 5 }, () => 'move'));
    await checkpoints.close();
  });

  it('the usual stretch keeps no thread: half a minute after a long log, the loop moves all again', async () => {
    const { orders, startThread } = quickThread();
    const checkpoints = new Checkpoints({ ...task(), startThread });
    write(2 * mostPages);
    await checkpoints.moveMost();
    clock.advance(20_000);
    mostLeft(checkpoints, commits(6, 200));
    clock.advance(9_999);
    expect(orders).toEqual(['start', 'move', 'move']);
    clock.advance(1);
    expect(orders.slice(3)).toEqual(['end']);
    expect(mostLeft(checkpoints, commits(30, 200))).toBeLessThan(manyPages + 210);
    expect(orders).toHaveLength(4);
    await checkpoints.close();
  });

  it('one thread serves again and again, and ends once it was not needed for half a minute', async () => {
    // As while a backup reads, it moves nothing: it is needed again each time.
    const { orders, startThread } = quickThread(() => undefined);
    const checkpoints = new Checkpoints({ ...task(), startThread });
    write(2 * mostPages);
    await checkpoints.moveMost();
    await checkpoints.moveMost();
    clock.advance(20_000);
    await checkpoints.moveMost();
    clock.advance(29_999);
    expect(orders).toEqual(['start', 'move', 'move', 'move']);
    clock.advance(1);
    expect(orders).toEqual(['start', 'move', 'move', 'move', 'end']);
    await checkpoints.moveMost();
    expect(orders.slice(5)).toEqual(['start', 'move']);
    await checkpoints.close();
    expect(orders.slice(7)).toEqual(['end']);
    clock.advance(60_000);
    expect(orders).toHaveLength(8);
  });

  it('a store that closes waits for every thread that ends', async () => {
    const threads: EventEmitter[] = [];
    const startThread = (): Worker => {
      const thread = Object.assign(new EventEmitter(), {
        postMessage: (order: CheckpointOrder) => {
          if (order === 'move') setImmediate(() => thread.emit('message'));
        },
      });
      threads.push(thread);
      return thread as unknown as Worker;
    };
    const checkpoints = new Checkpoints({ ...task(), startThread });
    write(2 * mostPages);
    await checkpoints.moveMost();
    clock.advance(30_000);
    await checkpoints.moveMost();
    let isClosed = false;
    const closed = checkpoints.close().then(() => (isClosed = true));
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    await turn();
    expect(threads).toHaveLength(2);
    threads[1]?.emit('exit');
    await turn();
    expect(isClosed).toBe(false);
    threads[0]?.emit('exit');
    await closed;
  });

  it('small commits are not looked at one by one, and those of 25 pages each third time', () => {
    let looks = 0;
    const prepare = writer.prepare.bind(writer);
    writer.prepare = ((source: string) => {
      const statement = prepare(source);
      if (!source.includes('wal_checkpoint')) return statement;
      const get = statement.get.bind(statement);
      return Object.assign(statement, { get: (...values: unknown[]) => ((looks += 1), get(...values)) });
    }) as typeof writer.prepare;
    const checkpoints = started();
    const commit = (pages: number): void => {
      prepare('insert into much values (randomblob(?))').run(Math.floor(pages * pageBytes));
      checkpoints.betweenCommits(false);
    };
    for (const pages of commits(80, 0.001)) commit(pages);
    expect(looks).toBeGreaterThanOrEqual(80 / mostCommitsPerLook);
    expect(looks).toBeLessThan(80 / mostCommitsPerLook + 3);
    writer.pragma('wal_checkpoint(PASSIVE)');
    looks = 0;
    for (const pages of commits(400, 25)) commit(pages);
    expect(looks).toBeLessThan(400 / 3);
  });
});

it('a server logs a spell of failure once, and its end', async () => {
  const app = await startApp({ engine: 'sqlite' });
  const lines = (): string[] => app.logged.filter((line) => line.includes('the thread that moves the log'));
  const visitor = createVisitor(app, (await createOrganization(app, 'acme')).application);
  const id = await createConversation(visitor);
  const other = openConnection(databaseFile(app.folder), { durability: 'normal', lockTimeoutMs: 1_000 });
  other.pragma('wal_autocheckpoint = 0');
  other.exec('create table much (value)');
  /** Leaves a long log, and has the server look at it. */
  const fillLog = async (): Promise<void> => {
    other.prepare('insert into much values (randomblob(?))').run(2 * mostPages * pageBytes);
    for (let commit = 0; commit < mostCommitsPerLook; commit += 1) {
      app.clock.advance(1_000);
      await createMessage(visitor, id);
    }
  };
  // What is open stays open; the thread finds nothing under the name.
  const away = `${app.folder}-away`;
  await rename(app.folder, away);
  await fillLog();
  await eventually(() => expect(lines().length).toBe(1));
  expect(JSON.parse(lines()[0] ?? '')).toMatchObject({
    level: 'warn',
    why: expect.stringContaining('directory does not exist'),
    msg: expect.stringContaining('deskbell doctor'),
  });
  await rename(away, app.folder);
  app.clock.advance(60_000);
  await eventually(async () => {
    await fillLog();
    expect(lines().length).toBe(2);
  });
  expect(JSON.parse(lines()[1] ?? '')).toMatchObject({ level: 'info' });
  other.exec('drop table much');
  other.close();
  await app.stop();
});
