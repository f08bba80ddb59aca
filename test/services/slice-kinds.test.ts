// Owns: that long work which a user waits for is not put behind other users, and that the server's own is.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { writeSlice, type SliceKind } from '../../src/services/core/slices.ts';
import { startApp, type TestApp } from '../helpers/app.ts';

let app: TestApp;

beforeEach(async () => {
  app = await startApp();
});

afterEach(() => app.stop());

/** Writes a slice of rows that take a millisecond each, beside users. @returns its rows, and how it was written */
async function slice(kind?: SliceKind): Promise<{ rows: number; places: unknown[]; turns: number }> {
  const { service, clock } = app;
  const { store, pace } = service.engine;
  const write = vi.spyOn(store, 'write');
  const turn = vi.spyOn(pace, 'turn');
  vi.spyOn(pace, 'hasUsers').mockReturnValue(true);
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
  vi.restoreAllMocks();
  return { rows, places, turns: turn.mock.calls.length };
}

it('work that a user waits for goes in whole slices, with what other users wait for', async () => {
  expect(await slice()).toEqual({ rows: 15, places: [undefined], turns: 0 });
});

it('the server\u2019s own goes in short ones behind it, at the pace that users leave', async () => {
  expect(await slice('background')).toEqual({ rows: 2, places: ['behind'], turns: 1 });
});
