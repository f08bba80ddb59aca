// Owns timers that run faster than the clock, for clients whose waits are seconds. On a busy machine a process stands still
// for longer than a sped-up wait: such a pause counts as one short step, so that an answer which is there comes before the
// timer that gives it up.

/** A wait is made of so many steps, none of which is shorter than this. */
const steps = 40;
const minStepMs = 5;

/**
 * @param speed how many times faster than the clock
 * @returns an SDK environment's `after`
 */
export function fastTimers(speed: number): (ms: number, run: () => void) => () => void {
  return (ms, run) => {
    let left = ms / speed;
    const stepMs = Math.max(minStepMs, left / steps);
    const step = (): NodeJS.Timeout => {
      const now = Math.min(left, stepMs);
      left -= now;
      return setTimeout(() => {
        if (left > 0) timer = step();
        else run();
      }, now);
    };
    let timer = step();
    return () => clearTimeout(timer);
  };
}
