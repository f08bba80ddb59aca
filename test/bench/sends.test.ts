// Owns: that the benchmark's figures are of messages that exist: sent, acknowledged, delivered and stored alike.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, expect, test } from 'vitest';
import type { Child } from '../../bench/protocol.ts';
import { createPeerStore } from '../../bench/peer-store.ts';
import { assertWhole, compareSends, peers, sendTable, untilResting } from '../../bench/sends.ts';

const folder = await mkdtemp(join(tmpdir(), 'deskbell-bench-test-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

test('every server stores what it acknowledges, and each figure is a number', async () => {
  const children: Child[] = [];
  try {
    const figures = await compareSends(
      {
        folder: join(folder, 'sends'),
        pairs: 2,
        window: 1,
        randomIds: false,
        rounds: 1,
        seconds: 0.05,
        ways: ['both', 'visitor', 'operator', 'origin', 'key'],
        peers: [...peers],
        flags: [],
        lookMs: 10,
      },
      children,
    );
    expect(figures.map(({ way, server }) => `${way} ${server}`)).toEqual(
      ['both', 'visitor', 'operator', 'origin', 'key'].flatMap((way) =>
        [
          'deskbell',
          'ceiling',
          'fair',
          ...(way === 'origin' || way === 'key' ? [] : ['socketio', 'socketio-grouped']),
          'reach',
        ].map((server) => `${way} ${server}`),
      ),
    );
    for (const { server, way: _way, ...numbers } of figures)
      for (const [name, value] of Object.entries(numbers))
        if (name === 'laterMicros') expect(value, `${server} ${name}`).toBeGreaterThanOrEqual(0);
        else expect(value, `${server} ${name}`).toBeGreaterThan(0);
    expect(figures.filter(({ server }) => server === 'ceiling').map(({ cpuRatio }) => cpuRatio)).toEqual([
      1, 1, 1, 1, 1,
    ]);
    expect(sendTable(figures)).toHaveLength(figures.length + 2);
  } finally {
    for (const child of children) child.kill();
  }
});

test.each([
  ['lost', { sent: 10, acknowledged: 10, delivered: 10 }, 9],
  ['doubled', { sent: 10, acknowledged: 10, delivered: 10 }, 11],
  ['not acknowledged', { sent: 10, acknowledged: 9, delivered: 10 }, 10],
  ['not delivered', { sent: 10, acknowledged: 10, delivered: 9 }, 10],
  ['never sent', { sent: 0, acknowledged: 0, delivered: 0 }, 0],
])('a run with a message that was %s is no measurement', (_what, counts, rows) => {
  const sent = { ...counts, seconds: 1, p50: 1, p99: 1 };
  expect(() => assertWhole('someone', sent, rows)).toThrow(/someone: \d+ messages were sent/);
});

test('a server whose work is not over yet is waited for, and that work counts', async () => {
  const waited: number[] = [];
  const used = [1_000_000, 1_300_000, 1_400_000, 1_405_000, 9_000_000];
  const rested = await untilResting(
    async () => used.shift() ?? Number.NaN,
    async () => waited.push(400) && 400,
  );
  expect([rested, waited.length]).toEqual([1_405_000, 3]);
});

test('a server that never rests ends the run', async () => {
  let used = 0;
  const endless = untilResting(
    async () => (used += 100_000),
    async () => 400,
  );
  await expect(endless).rejects.toThrow('still at work');
});

test('a peer acknowledges after its commit, in a group, and the fair one writes every row', async () => {
  const file = join(folder, 'fair.db');
  const store = createPeerStore(file, 'fair');
  const rows = (table: string): unknown => {
    const reader = new Database(file, { readonly: true });
    const count = reader.prepare(`select count(*) from ${table}`).pluck().get();
    reader.close();
    return count;
  };
  const conversationId = 'c';
  const seen = await Promise.all(
    ['one', 'two'].map(
      (clientMessageId) =>
        new Promise((resolve) =>
          store.add({ conversationId, clientMessageId, content: 'hello' }, () => resolve(rows('messages'))),
        ),
    ),
  );
  expect(seen).toEqual([2, 2]);
  expect([rows('conversations'), rows('events')]).toEqual([1, 2]);
  store.close();
});

test('a peer that commits each message by itself has it stored when its handler goes on', () => {
  const file = join(folder, 'each.db');
  const store = createPeerStore(file, 'least', 'each');
  const reader = new Database(file, { readonly: true });
  const rows = reader.prepare('select count(*) from messages').pluck();
  const seen: unknown[] = [];
  for (const clientMessageId of ['one', 'two'])
    store.add({ conversationId: 'c', clientMessageId, content: 'hello' }, () => seen.push(rows.get()));
  expect(seen).toEqual([1, 2]);
  reader.close();
  store.close();
});
