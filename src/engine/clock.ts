// The system's clock and ids: the only place that reads the time or makes a UUID.
import { randomFillSync } from 'node:crypto';
import type { Clock } from './engine.ts';

/** The machine's own clock. */
export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after: (ms, run) => {
      const timer = setTimeout(run, ms);
      timer.unref();
      return () => clearTimeout(timer);
    },
    newId: createIdSource(() => Date.now()),
  };
}

/**
 * UUIDs of version 7 (RFC 9562, 5.7): 48 bits of ms, then random. Time-ordered, because random
 * primary keys cost a quarter of the insert rate once the table outgrows the cache.
 * @param now ms since the epoch
 */
export function createIdSource(now: () => number): () => string {
  const random = Buffer.alloc(4096);
  let used = random.length;
  return () => {
    if (used + 10 > random.length) {
      randomFillSync(random);
      used = 0;
    }
    const time = Math.floor(now()).toString(16).padStart(12, '0');
    const tail = random.toString('hex', used, used + 10);
    used += 10;
    const variant = (8 + (Number.parseInt(tail.charAt(3), 16) & 3)).toString(16);
    return `${time.slice(0, 8)}-${time.slice(8, 12)}-7${tail.slice(0, 3)}-${variant}${tail.slice(4, 7)}-${tail.slice(7, 19)}`;
  };
}
