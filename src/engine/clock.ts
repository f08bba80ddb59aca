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

/** How far the ids' time may be ahead of the clock before it is taken for a clock that was set back, ms. */
const maxAheadMs = 1_000;

/**
 * UUIDs of version 7 (RFC 9562): 48 bits of ms, a counter of 12 bits that begins anew at a random place in every ms
 * (6.2, method 1), then random. Each is greater than the one before, so that rows made within one ms keep their order.
 * Random primary keys would cost a quarter of the insert rate once the table outgrows the cache.
 * @param now ms since the epoch
 */
export function createIdSource(now: () => number): () => string {
  const random = Buffer.alloc(4096);
  /** The same in hexadecimal: made once for five hundred ids. */
  let digits = '';
  let used = random.length;
  let time = -1;
  let counter = 0;
  /** The 48 bits of `time` as text. */
  let prefix = '';

  function takeRandom(bytes: number): number {
    if (used + bytes > random.length) {
      randomFillSync(random);
      digits = random.toString('hex');
      used = 0;
    }
    used += bytes;
    return used - bytes;
  }
  /** Half of the counter's room stays free for the other ids of the same ms. */
  const counterStart = (): number => random.readUInt16BE(takeRandom(2)) & 0x7ff;

  function begin(ms: number): void {
    time = ms;
    const text = ms.toString(16).padStart(12, '0');
    prefix = `${text.slice(0, 8)}-${text.slice(8)}-7`;
    counter = counterStart();
  }

  return () => {
    const current = Math.floor(now());
    if (current > time || time - current > maxAheadMs) begin(current);
    else if (counter === 0xfff) begin(time + 1);
    else counter += 1;
    const at = takeRandom(8);
    const variant = '89ab'.charAt(random.readUInt8(at) & 3);
    const from = at * 2;
    return `${prefix}${(0x1000 + counter).toString(16).slice(1)}-${variant}${digits.slice(from + 1, from + 4)}-${digits.slice(from + 4, from + 16)}`;
  };
}
