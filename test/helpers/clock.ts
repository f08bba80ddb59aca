// Owns a clock that moves by hand: time and timers stand still until a test says so.
// Must never read the machine's clock.
import { createIdSource } from '../../src/engine/clock.ts';
import type { Clock } from '../../src/engine/engine.ts';

const longJumpMs = 10 * 60_000;

export interface TestClock extends Clock {
  /** Moves time on by `ms`, running every timer that falls due, in order; beyond ten minutes, each once. */
  advance(ms: number): void;
  /** Steps the wall clock alone, as a correction of the system's time does; the monotonic clock does not notice. */
  step(ms: number): void;
}

/** @param start ms since the epoch */
export function createTestClock(start = Date.UTC(2026, 10, 21, 12)): TestClock {
  let elapsed = 0;
  let offset = start;
  let timers: { readonly at: number; readonly run: () => void }[] = [];
  const now = (): number => offset + elapsed;
  return {
    now,
    monotonic: () => elapsed,
    after: (ms, run) => {
      const timer = { at: elapsed + ms, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    newId: createIdSource(now),
    advance: (ms) => {
      const until = elapsed + ms;
      // A long jump wakes each timer once, at its end: playing every beat of a day would take for ever.
      if (ms > longJumpMs) elapsed = until;
      for (;;) {
        const due = timers.filter(({ at }) => at <= until).toSorted((one, other) => one.at - other.at)[0];
        if (due === undefined) break;
        timers = timers.filter((other) => other !== due);
        elapsed = Math.max(elapsed, due.at);
        due.run();
      }
      elapsed = until;
    },
    step: (ms) => {
      offset += ms;
    },
  };
}
