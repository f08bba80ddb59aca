// Owns slices that are full at once: each look takes longer than one may, by the clock of the server. So a test sees that
// others have the loop in between, however fast the machine is.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { vi } from 'vitest';
import type { TestApp } from './app.ts';

/** Until mocks are restored. */
export function slowLooks({ clock }: TestApp): void {
  const { monotonic } = clock;
  let looks = 0;
  vi.spyOn(clock, 'monotonic').mockImplementation(() => monotonic() + 20 * (looks += 1));
}

/** @returns turns of the loop that others had while `work` ran, each look of which filled its slice */
export async function turnsDuring(app: TestApp, work: () => Promise<unknown>): Promise<number> {
  slowLooks(app);
  let turns = 0;
  let isOver = false;
  const counting = (async () => {
    for (; !isOver; turns += 1) await nextTurn();
  })();
  await work();
  isOver = true;
  await counting;
  return turns;
}
