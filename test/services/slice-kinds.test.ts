// Owns: that long work which a user waits for is not put behind other users, and that the server's own is.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { computeSlice, writeSlice, type SliceKind } from '../../src/services/core/slices.ts';
import { startApp, type TestApp } from '../helpers/app.ts';

let app: TestApp;

beforeEach(async () => {
  // What is counted is how often the work of a write runs: on SQLite once.
  app = await startApp({ engine: 'sqlite' });
});

afterEach(() => app.stop());

interface Written {
  readonly rows: number;
  readonly places: unknown[];
  /** For how long each turn was asked, ms. */
  readonly turns: number[];
  /** For how long, and how long it would wait at most, where a user waits for it, ms. */
  readonly awaitedTurns: unknown[];
}

/** Writes a slice of rows that take a millisecond each, beside users. @returns its rows, and how it was written */
async function slice(kind?: SliceKind, hasMany = false): Promise<Written> {
  const { service, clock } = app;
  const { store, pace } = service.engine;
  const write = vi.spyOn(store, 'write');
  const turn = vi.spyOn(pace, 'turn');
  const awaitedTurn = vi.spyOn(pace, 'awaitedTurn');
  vi.spyOn(pace, 'hasUsers').mockReturnValue(true);
  vi.spyOn(pace, 'hasManyUsers').mockReturnValue(hasMany);
  const rows = await writeSlice(
    service,
    'server',
    async (_tx, full) => {
      for (let row = 1; ; row += 1) {
        clock.advance(1);
        if (full(1)) return row;
      }
    },
    kind,
  );
  const places = write.mock.calls.filter(([scope]) => scope === 'server').map(([, , place]) => place);
  const turns = turn.mock.calls.map(([ms]) => ms);
  const awaitedTurns = [...awaitedTurn.mock.calls];
  vi.restoreAllMocks();
  return { rows, places, turns, awaitedTurns };
}

it('work that a user waits for goes in whole slices, with what other users wait for', async () => {
  expect(await slice()).toEqual({ rows: 15, places: [undefined], turns: [], awaitedTurns: [[3, 25]] });
});

it('beside many it goes in short ones: every message that comes waits for the whole of one', async () => {
  expect(await slice('awaited', true)).toEqual({
    rows: 2,
    places: [undefined],
    turns: [],
    awaitedTurns: [[3, 25]],
  });
});

it('the server\u2019s own goes in short ones behind it, at the pace that users leave, its commit counted in', async () => {
  for (const hasMany of [false, true])
    expect(await slice('background', hasMany)).toEqual({
      rows: 2,
      places: ['behind'],
      turns: [3],
      awaitedTurns: [],
    });
});

it('what only computes goes in whole slices, one in each turn of the loop, and in short ones beside many, with others between', async () => {
  const { service, clock } = app;
  const { pace } = service.engine;
  async function compute(hasMany: boolean): Promise<string[]> {
    vi.spyOn(pace, 'hasManyUsers').mockReturnValue(hasMany);
    const seen: string[] = [];
    // It waits for less than the next slice does, where that waits.
    const other = setTimeout(() => seen.push('other'), hasMany ? 1 : 60_000);
    for (let slices = 0; slices < 2; slices += 1)
      await computeSlice(service, 'acme', (full) => {
        for (let row = 1; ; row += 1) {
          clock.advance(1);
          if (full(1)) return void seen.push(`${row} rows`);
        }
      });
    clearTimeout(other);
    vi.restoreAllMocks();
    return seen;
  }
  expect(await compute(false)).toEqual(['15 rows', '15 rows']);
  expect(await compute(true)).toEqual(['2 rows', 'other', '2 rows']);
});

it('what computes for a moment only does not pause, also beside many', async () => {
  vi.spyOn(app.service.engine.pace, 'hasManyUsers').mockReturnValue(true);
  let turns = 0;
  let over = false;
  const count = (): void => {
    turns += 1;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  for (let slices = 0; slices < 5; slices += 1) await computeSlice(app.service, 'acme', () => undefined);
  over = true;
  vi.restoreAllMocks();
  // One for each; a pause lets hundreds go by.
  expect(turns).toBeLessThanOrEqual(6);
});

it('what a user waits for lets many others go first, where it writes and where it computes', async () => {
  const { service } = app;
  const { pace } = service.engine;
  vi.spyOn(pace, 'hasManyUsers').mockReturnValue(true);
  const { promise: isTime, resolve: go } = Promise.withResolvers<void>();
  const turn = vi.spyOn(pace, 'awaitedTurn').mockReturnValue(isTime);
  const seen: string[] = [];
  const writing = writeSlice(service, 'server', async () => seen.push('written'));
  const computing = computeSlice(service, 'acme', (full) => {
    while (!full(1)) app.clock.advance(1);
    seen.push('computed');
  }).then(() => seen.push('goes on'));
  await vi.waitFor(() => expect(turn).toHaveBeenCalledTimes(2));
  expect(seen).toEqual(['computed']);
  go();
  await Promise.all([writing, computing]);
  expect(seen.toSorted()).toEqual(['computed', 'goes on', 'written']);
  expect(turn.mock.calls).toEqual([
    [3, 25],
    [3, 25],
  ]);
  vi.restoreAllMocks();
});

it('what a user waits for does not stand behind the server\u2019s own that waits for its pace', async () => {
  const { service } = app;
  const { promise: hasTime, resolve: go } = Promise.withResolvers<void>();
  const turn = vi.spyOn(service.engine.pace, 'turn').mockReturnValue(hasTime);
  const seen: string[] = [];
  const own = writeSlice(service, 'server', async () => seen.push('own'), 'background');
  await writeSlice(service, 'server', async () => seen.push('awaited'));
  expect(seen).toEqual(['awaited']);
  go();
  await own;
  expect(seen).toEqual(['awaited', 'own']);
  turn.mockRestore();
});
