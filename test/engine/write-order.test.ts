// Owns: in which order operations are written: what users wait for goes before background work, which is never
// starved for all that.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Engine, Tx } from '../../src/engine/engine.ts';
import { databaseFile, openEngine, prepareFolder } from '../../src/engine/open-engine.ts';
import { createTestClock, type TestClock } from '../helpers/clock.ts';
import { openInOtherProcess } from '../helpers/process.ts';
import { commitsInLog } from '../helpers/storage.ts';

let folder: string;
let clock: TestClock;
let engine: Engine;
let order: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-order-'));
  await prepareFolder(folder);
  clock = createTestClock();
  engine = await openEngine({ folder, durability: 'full', clock, keyCheck: 'key', as: 'server' });
  order = [];
});

afterEach(async () => {
  await engine.close();
  await rm(folder, { recursive: true, force: true });
});

const commits = (): number => commitsInLog(`${databaseFile(folder)}-wal`);

/** Writes, and notes when it ran. @param ms how long it takes */
const write = (name: string, behind?: 'behind', ms = 0): Promise<unknown> =>
  engine.store.write(
    'server',
    (tx: Tx) => {
      clock.advance(ms);
      order.push(name);
      return tx.repositories.meta.set(name, name);
    },
    behind,
  );

const many = (count: number, name: string): Promise<unknown>[] =>
  Array.from({ length: count }, (_, index) => write(`${name}${index}`));

it('what users wait for goes first, whatever came before it, in the same commit', async () => {
  const before = commits();
  await Promise.all([write('b1', 'behind'), write('b2', 'behind'), write('u1'), write('u2')]);
  expect(order).toEqual(['u1', 'u2', 'b1', 'b2']);
  expect(commits() - before).toBe(1);
});

it('what stands behind gets 2 ms of a commit, and at least one operation where no other waits', async () => {
  const before = commits();
  await Promise.all([
    write('u1', undefined, 1),
    write('b1', 'behind', 1),
    write('b2', 'behind', 50),
    write('b3', 'behind', 50),
  ]);
  expect(order).toEqual(['u1', 'b1', 'b2', 'b3']);
  // One for the first two, and then one each.
  expect(commits() - before).toBe(3);
});

it('while users fill the commits nothing else is in them, until it has waited for a tenth of a second', async () => {
  const behind = [write('b1', 'behind'), write('b2', 'behind')];
  /** Each group is of a hundred, and leaves as many waiting. */
  const users = many(300, 'u');
  clock.advance(99);
  let rounds = 0;
  void users[99]?.then(() => {
    rounds = order.length;
    clock.advance(1);
  });
  await Promise.all([...behind, ...users]);
  expect(rounds).toBe(100);
  expect(order.indexOf('b1')).toBe(100);
  // One in each group; then no other waits.
  expect(order.indexOf('b2')).toBe(200);
});

it('one that has waited too long is not put off by users whose operations take long', async () => {
  const behind = write('b1', 'behind');
  clock.advance(100);
  await Promise.all([behind, write('u1', undefined, 20), write('u2', undefined, 20)]);
  expect(order).toEqual(['b1', 'u1', 'u2']);
});

it('nothing shares the commit of one that is alone, and all is answered', async () => {
  const before = commits();
  const alone = engine.store.alone('server', async (tx) => {
    order.push('alone');
    await tx.repositories.meta.set('alone', 'alone');
  });
  await Promise.all([write('b1', 'behind'), alone, write('u1')]);
  expect(order).toEqual(['alone', 'u1', 'b1']);
  expect(commits() - before).toBe(2);
});

it('both are refused alike where another process holds the lock for too long', async () => {
  const other = await openInOtherProcess(databaseFile(folder));
  await other.exec('begin immediate');
  const refused = Promise.allSettled([write('b1', 'behind'), write('u1')]);
  clock.advance(100);
  const outcomes = await refused;
  await other.close();
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(order).toEqual([]);
});

it('after 20 ms of background work the lock is left to other processes, unless a user comes', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  /** Goes on for as many turns of the loop as all that waits would need. */
  const settle = async (): Promise<number> => {
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    return order.length;
  };
  const behind = Array.from({ length: 9 }, (_, index) => write(`b${index}`, 'behind', 10));
  try {
    const ran = [await settle()];
    vi.advanceTimersByTime(10);
    ran.push(await settle());
    await write('u');
    ran.push(await settle());
    // The user's commit takes one along.
    expect(ran).toEqual([2, 4, 8]);
    expect(order.indexOf('u')).toBe(4);
  } finally {
    for (let stretch = 0; stretch < behind.length; stretch += 1) {
      vi.advanceTimersByTime(10);
      await settle();
    }
    vi.useRealTimers();
  }
  await Promise.all(behind);
});

it('the lock is left too by a job that reads between its writes, so that none of them ever waits', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const job = (async () => {
    for (let index = 0; index < 5; index += 1) {
      await write(`b${index}`, 'behind', 10);
      await new Promise(setImmediate);
    }
  })();
  const ran: number[] = [];
  try {
    for (let stretch = 0; stretch < 3; stretch += 1) {
      for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
      ran.push(order.length);
      vi.advanceTimersByTime(10);
    }
    expect(ran).toEqual([2, 4, 5]);
  } finally {
    vi.useRealTimers();
  }
  await job;
});

it('the pace hears how many users each commit was for and how long it took, and of nothing that stands behind', async () => {
  const told = vi.spyOn(engine.pace, 'usersCommitted');
  await Promise.all([...many(34, 'u'), ...Array.from({ length: 20 }, (_, at) => write(`b${at}`, 'behind'))]);
  await write('b', 'behind', 7);
  await write('u', undefined, 5);
  // More than one commit holds.
  await Promise.all([...many(109, 'm'), write('c', 'behind')]);
  expect(told.mock.calls.flat()).toEqual([
    { committed: 34, waiting: 0, tookMs: 0 },
    { committed: 0, waiting: 0, tookMs: 7 },
    { committed: 1, waiting: 0, tookMs: 5 },
    { committed: 100, waiting: 9, tookMs: 0 },
    { committed: 9, waiting: 0, tookMs: 0 },
  ]);
});
