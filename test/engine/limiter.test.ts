// Attacks the sliding-window limiter: edges of windows, random schedules, floods of keys, changed limits.
// Time is a number moved by hand; nothing here measures real time.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createSlidingWindowLimiter,
  type SlidingWindowLimiter,
} from '../../src/engine/memory/sliding-window-limiter.ts';
import { LimitUses } from '../../src/engine/postgres/limit-uses.ts';
import type { LimitCheck, LimitVerdict, LimitWindow } from '../../src/engine/engine.ts';

function aLimiter(maxKeys?: number) {
  const time = { now: 0 };
  const limiter = createSlidingWindowLimiter({
    monotonicMs: () => time.now,
    ...(maxKeys === undefined ? {} : { maxKeys }),
  });
  const take = (key: string, ...windows: LimitWindow[]) => limiter.take([{ key, windows }]);
  const accepts = (count: number, key: string, ...windows: LimitWindow[]) => {
    let accepted = 0;
    for (let i = 0; i < count; i++) if (take(key, ...windows).ok) accepted++;
    return accepted;
  };
  return { time, limiter, take, accepts };
}
const w = (limit: number, windowMs: number): LimitWindow => ({ limit, windowMs });
const visitor = [w(10, 1000), w(120, 60_000), w(2000, 3_600_000)];
const retryAfter = (verdict: LimitVerdict): number => {
  if (verdict.ok) throw new Error('accepted');
  return verdict.retryAfterMs;
};
/** The most acceptances in any half-open interval of that length. */
function densest(times: readonly number[], windowMs: number): number {
  let most = 0;
  for (let i = 0, j = 0; i < times.length; i++) {
    while (times[j]! + windowMs <= times[i]!) j++;
    most = Math.max(most, i - j + 1);
  }
  return most;
}

describe('windows slide', () => {
  it('allows no double burst at the edge (1 at 0 ms, 9 at 900, 10 tried at 1010)', () => {
    const { time, accepts } = aLimiter();
    expect(accepts(1, 'v', w(10, 1000))).toBe(1);
    time.now = 900;
    expect(accepts(9, 'v', w(10, 1000))).toBe(9);
    time.now = 999.9;
    expect(accepts(10, 'v', w(10, 1000))).toBe(0);
    time.now = 1010;
    expect(accepts(10, 'v', w(10, 1000))).toBe(1);
    time.now = 1899;
    expect(accepts(10, 'v', w(10, 1000))).toBe(0);
    time.now = 1900;
    expect(accepts(10, 'v', w(10, 1000))).toBe(9);
  });

  it('counts each use by itself from the moment when a limit has become a small one', () => {
    const { time, take } = aLimiter();
    expect(take('v', w(1000, 6400)).ok).toBe(true);
    time.now = 50;
    expect(take('v', w(2, 6400)).ok).toBe(true);
    time.now = 6399;
    expect(take('v', w(2, 6400)).ok).toBe(false);
    time.now = 6400;
    expect(take('v', w(2, 6400)).ok).toBe(true);
    time.now = 6449;
    expect(take('v', w(2, 6400)).ok).toBe(false);
  });

  it('opens again to a key that has taken the place of another one', () => {
    const { time, accepts } = aLimiter(1);
    expect(accepts(1, 'v', w(1000, 6400))).toBe(1);
    time.now = 1;
    expect(accepts(999, 'other', w(1000, 6400))).toBe(999);
    time.now = 3000;
    expect(accepts(2, 'other', w(1000, 6400))).toBe(1);
    time.now = 6401;
    expect(accepts(1001, 'other', w(1000, 6400))).toBe(999);
  });

  it('never accepts more than the limit in any interval of any of three windows, and tells a true wait', () => {
    const gap = fc.oneof(
      fc.constant(0),
      fc.integer({ min: 1, max: 30 }),
      fc.double({ min: 0, max: 400, noNaN: true }),
      fc.integer({ min: 500, max: 5000 }),
      fc.integer({ min: 20_000, max: 90_000 }),
    );
    const sets = fc.constantFrom(
      visitor,
      [w(3, 100), w(8, 1000), w(20, 10_000)],
      [w(300, 1000), w(700, 20_000), w(900, 100_000)],
      [w(1, 1)],
    );
    fc.assert(
      fc.property(
        sets,
        fc.array(fc.tuple(gap, fc.integer({ min: 1, max: 40 }), fc.boolean()), {
          minLength: 1,
          maxLength: 120,
        }),
        (windows, schedule) => {
          const { time, limiter, take } = aLimiter();
          const accepted: number[] = [];
          for (const [wait, burst, obey] of schedule) {
            time.now += wait;
            for (let i = 0; i < burst; i++) {
              const foretold = limiter.peek([{ key: 'v', windows }]);
              const verdict = take('v', ...windows);
              expect(foretold.ok).toBe(verdict.ok);
              if (verdict.ok) accepted.push(time.now);
              else {
                expect(verdict).toEqual(foretold);
                expect(verdict.retryAfterMs).toBeGreaterThan(0);
                if (!obey) break;
                time.now += verdict.retryAfterMs;
                expect(take('v', ...windows).ok).toBe(true);
                accepted.push(time.now);
              }
            }
          }
          for (const { limit, windowMs } of windows)
            expect(densest(accepted, windowMs)).toBeLessThanOrEqual(limit);
        },
      ),
      { numRuns: 150 },
    );
  });

  it('holds the hour of 2,000 against a steady caller, exactly 2,000 at most and 1/64 late at worst', () => {
    const { time, take } = aLimiter();
    const accepted: number[] = [];
    for (; time.now < 3 * 3_600_000; time.now += 500) if (take('v', ...visitor).ok) accepted.push(time.now);
    expect(densest(accepted, 3_600_000)).toBe(2000);
    expect(densest(accepted, 60_000)).toBe(120);
    const second = accepted[2000]!;
    expect(second).toBeGreaterThanOrEqual(3_600_000);
    expect(second).toBeLessThanOrEqual(3_600_000 + 3_600_000 / 64 + 500);
  });

  it('is exact up to 256: accepts whatever the windows allow', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 200 }), (gaps) => {
        const { time, take } = aLimiter();
        const accepted: number[] = [];
        for (const gap of gaps) {
          time.now += gap;
          const room = [w(5, 1000), w(12, 5000)].every(
            ({ limit, windowMs }) => accepted.filter((at) => at + windowMs > time.now).length < limit,
          );
          const { ok } = take('v', w(5, 1000), w(12, 5000));
          expect(ok).toBe(room);
          if (ok) accepted.push(time.now);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('gives everything back after one quiet window', () => {
    for (const limit of [10, 256, 257, 6000]) {
      const { time, accepts } = aLimiter();
      for (let i = 0; i < 50; i++) {
        time.now += 13;
        accepts(limit / 10, 'v', w(limit, 1000));
      }
      time.now += 1000;
      expect(accepts(limit + 5, 'v', w(limit, 1000))).toBe(limit);
    }
  });

  it('lets a shared entry live as long as its latest use, never shorter', () => {
    const { time, accepts } = aLimiter();
    expect(accepts(1, 'v', w(640, 1000))).toBe(1);
    time.now = 15;
    expect(accepts(700, 'v', w(640, 1000))).toBe(639);
    time.now = 1014;
    expect(accepts(700, 'v', w(640, 1000))).toBe(0);
    time.now = 1015;
    expect(accepts(700, 'v', w(640, 1000))).toBe(640);
  });

  it('does not count refused attempts: a hammering caller is let in as soon as a quiet one', () => {
    const { time, accepts } = aLimiter();
    expect(accepts(10, 'v', w(10, 1000))).toBe(10);
    for (time.now = 1; time.now < 1000; time.now++) expect(accepts(3, 'v', w(10, 1000))).toBe(0);
    expect(accepts(20, 'v', w(10, 1000))).toBe(10);
  });
});

/** How many more uses a key has, in the tightest of its windows: as many as a limit lower by them still lets pass. */
function remaining(
  limiter: Pick<SlidingWindowLimiter, 'peek'>,
  key: string,
  ...windows: readonly LimitWindow[]
): number {
  const least = Math.min(...windows.map(({ limit }) => limit));
  for (let left = least; left > 0; left -= 1) {
    const lower = windows.map(({ limit, windowMs }) => ({ limit: limit - left + 1, windowMs }));
    if (limiter.peek([{ key, windows: lower }]).ok) return left;
  }
  return 0;
}

describe('several checks in one take', () => {
  const checks = (v: string, app: string): readonly LimitCheck[] => [
    { key: v, windows: [w(10, 1000)] },
    { key: app, windows: [w(3, 1000), w(4, 60_000)] },
  ];

  it('counts against all or none, and names the check that refused', () => {
    const { limiter, time } = aLimiter();
    for (let i = 0; i < 3; i++) expect(limiter.take(checks('v', 'app')).ok).toBe(true);
    const refused = limiter.take(checks('v', 'app'));
    expect(refused).toEqual({ ok: false, failed: 1, window: w(3, 1000), retryAfterMs: 1000 });
    expect(remaining(limiter, 'v', w(10, 1000))).toBe(7);
    time.now = 1000;
    expect(limiter.take(checks('v', 'app')).ok).toBe(true);
    expect(retryAfter(limiter.take(checks('v', 'app')))).toBe(59_000);
    expect(limiter.take(checks('v', 'other')).ok).toBe(true);
  });

  it('counts a key named twice once', () => {
    const { limiter } = aLimiter(1);
    const twice = [
      { key: 'v', windows: [w(4, 1000)] },
      { key: 'v', windows: [w(4, 1000)] },
    ];
    for (let i = 0; i < 4; i++) expect(limiter.take(twice).ok).toBe(true);
    expect(limiter.take(twice).ok).toBe(false);
  });

  it('counts nothing on peek, also for a key never seen', () => {
    const { limiter, accepts } = aLimiter();
    for (let i = 0; i < 100; i++) expect(limiter.peek(checks('v', 'app')).ok).toBe(true);
    expect(accepts(11, 'v', w(10, 1000))).toBe(10);
  });
});

describe('the clock', () => {
  it('locks no key out and frees none when it steps back an hour', () => {
    const { time, accepts } = aLimiter();
    time.now = 10_000_000;
    expect(accepts(20, 'v', w(10, 1000))).toBe(10);
    time.now -= 3_600_000;
    expect(accepts(20, 'v', w(10, 1000))).toBe(0);
    time.now = 10_001_000;
    expect(accepts(20, 'v', w(10, 1000))).toBe(10);
  });
});

describe('limits that change at run time', () => {
  it('applies a higher limit at once, with the uses so far counted', () => {
    const { accepts } = aLimiter();
    expect(accepts(700, 'org', w(600, 60_000))).toBe(600);
    expect(accepts(7000, 'org', w(6000, 60_000))).toBe(5400);
  });

  it('applies a lower limit at once, and its wait is true', () => {
    const { time, take, accepts } = aLimiter();
    for (let i = 0; i < 50; i++, time.now += 100) take('org', w(100, 60_000));
    const wait = retryAfter(take('org', w(20, 60_000)));
    time.now += wait - 1;
    expect(take('org', w(20, 60_000)).ok).toBe(false);
    time.now += 1;
    expect(accepts(5, 'org', w(20, 60_000))).toBe(1);
  });

  it('carries the uses over to a window of another length', () => {
    const { time, accepts } = aLimiter();
    expect(accepts(5, 'org', w(10, 60_000))).toBe(5);
    time.now = 2000;
    expect(accepts(9, 'org', w(6, 30_000))).toBe(1);
    expect(accepts(9, 'org', w(10, 60_000))).toBe(4);
  });

  it('survives any sequence of limits and windows without letting more than the largest through', () => {
    const step = fc.tuple(
      fc.integer({ min: 0, max: 900 }),
      fc.constantFrom(1, 5, 256, 257, 600),
      fc.constantFrom(500, 1000, 2000, 4000, 8000, 16_000),
      fc.integer({ min: 1, max: 700 }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { time, take } = aLimiter();
        const accepted: number[] = [];
        for (const [gap, limit, windowMs, count] of steps) {
          time.now += gap;
          for (let i = 0; i < count; i++) {
            if (!take('org', w(limit, windowMs), w(600, 1000)).ok) break;
            accepted.push(time.now);
          }
        }
        expect(densest(accepted, 1000)).toBeLessThanOrEqual(600);
      }),
      { numRuns: 100 },
    );
  });

  it('refuses numbers that are no limits', () => {
    const { take } = aLimiter();
    for (const bad of [w(1.5, 1000), w(-1, 1000), w(Number.NaN, 1000), w(1, 0), w(1, 0.5), w(1, Infinity)])
      expect(() => take('v', bad)).toThrow(RangeError);
    expect(retryAfter(take('v', w(0, 1000)))).toBe(1000);
    expect(() => take('v', w(1, 1), w(1, 2), w(1, 3), w(1, 4), w(1, 5))).toThrow(RangeError);
    expect(() => createSlidingWindowLimiter({ monotonicMs: () => 0, maxKeys: 0 })).toThrow(RangeError);
  });
});

describe('uses in a row of a database', () => {
  it('are counted as in memory, whatever the schedule', () => {
    const step = fc.tuple(
      fc.integer({ min: 0, max: 900 }),
      fc.constantFrom(1, 5, 256, 257, 600),
      fc.integer({ min: 1, max: 60 }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const { time, take } = aLimiter();
        time.now = 1_000;
        let row = '';
        for (const [gap, limit, count] of steps) {
          const windows = [w(limit, 1000), w(3 * limit, 16_000)];
          time.now += gap;
          for (let i = 0; i < count; i++) {
            const uses = new LimitUses(row);
            const wait = Math.max(...windows.map((window) => uses.wait(window, time.now)));
            if (wait === 0) {
              uses.count(windows, time.now);
              row = uses.toText();
            }
            const verdict = take('key', ...windows);
            expect(wait).toBe(verdict.ok ? 0 : verdict.retryAfterMs);
            expect(uses.endsAt()).toBeGreaterThan(time.now);
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it('that lie ahead by another clock count from now, and no key stays shut for them', () => {
    const uses = new LimitUses('');
    for (let i = 0; i < 3; i++) uses.count([w(3, 1000)], 3_600_000);
    expect(uses.wait(w(3, 1000), 5)).toBe(1000);
    expect(uses.wait(w(3, 1000), 1005)).toBe(0);
  });
});

describe('a flood of keys', () => {
  const hour = [w(5, 3_600_000)];

  it('never frees a key at its limit, whatever else comes', () => {
    const { time, take, accepts } = aLimiter(100);
    expect(accepts(5, 'attacker', ...hour)).toBe(5);
    for (let i = 0; i < 20_000; i++) {
      time.now += 10;
      expect(take(`flood-${i}`, ...hour).ok).toBe(true);
      if (i % 500 === 0) expect(take('attacker', ...hour).ok).toBe(false);
    }
    time.now = 3_599_999;
    expect(take('attacker', ...hour).ok).toBe(false);
    time.now = 3_600_000;
    expect(accepts(9, 'attacker', ...hour)).toBe(5);
  });

  it('protects a key that a lowered limit has put over it', () => {
    const { time, take, accepts } = aLimiter(10);
    expect(accepts(4, 'org', ...hour)).toBe(4);
    expect(take('org', w(3, 3_600_000)).ok).toBe(false);
    for (let i = 0; i < 1000; i++, time.now++) take(`flood-${i}`, ...hour);
    expect(take('org', w(3, 3_600_000)).ok).toBe(false);
  });

  it('makes room by forgetting the oldest key', () => {
    const { time, limiter, take } = aLimiter(3);
    for (const key of ['a', 'b', 'c', 'a', 'd']) {
      time.now++;
      take(key, ...hour);
    }
    expect(['a', 'b', 'c', 'd'].map((key) => remaining(limiter, key, ...hour))).toEqual([3, 5, 4, 4]);
  });

  it('refuses new keys for a moment when every key is limited, and counts nothing for them', () => {
    const { time, limiter, take, accepts } = aLimiter(50);
    for (let i = 0; i < 50; i++) expect(accepts(6, `k${i}`, ...hour)).toBe(5);
    const together = [{ key: 'new', windows: hour }];
    expect(limiter.peek(together).ok).toBe(false);
    expect(limiter.take(together)).toEqual({ ok: false, failed: 0, window: hour[0], retryAfterMs: 1000 });
    for (let i = 0; i < 50; i++) expect(take(`k${i}`, ...hour).ok).toBe(false);
    time.now = 3_600_000;
    expect(limiter.peek(together).ok).toBe(true);
    expect(take('new', ...hour).ok).toBe(true);
  });

  it('opens to new keys again once short limits have passed, though the long windows have not', () => {
    const { time, take, accepts } = aLimiter(50);
    for (let i = 0; i < 50; i++) accepts(3, `k${i}`, w(2, 1000), w(100, 3_600_000));
    expect(take('new', w(2, 1000)).ok).toBe(false);
    time.now = 1000;
    expect(take('new', w(2, 1000)).ok).toBe(true);
  });

  it('never evicts a key of the same take to make room for another of it', () => {
    const { limiter } = aLimiter(2);
    const both = (v: string) => [
      { key: 'app', windows: [w(4, 1000)] },
      { key: v, windows: [w(4, 1000)] },
    ];
    for (let i = 0; i < 4; i++) expect(limiter.take(both(`v${i}`)).ok).toBe(true);
    expect(limiter.take(both('v9'))).toMatchObject({ ok: false, failed: 0 });
    const full = aLimiter(2).limiter;
    const once = (v: string) => [
      { key: 'app', windows: [w(4, 1000)] },
      { key: v, windows: [w(1, 1000)] },
    ];
    expect(full.take(once('v')).ok).toBe(true);
    expect(full.take(once('w'))).toEqual({ ok: false, failed: 1, window: w(1, 1000), retryAfterMs: 1000 });
    expect(full.peek(once('w')).ok).toBe(false);
    const tiny = aLimiter(1).limiter;
    expect(tiny.take(both('v')).ok).toBe(false);
  });

  it('holds the cap and the promises under random traffic of many keys', () => {
    const use = fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 11 }));
    fc.assert(
      fc.property(fc.array(use, { maxLength: 400 }), (uses) => {
        const { time, limiter } = aLimiter(4);
        const app: number[] = [];
        const blocked = new Map<number, number>();
        for (const [gap, visitorNumber] of uses) {
          time.now += gap;
          const verdict = limiter.take([
            { key: 'app', windows: [w(20, 500)] },
            { key: `v${visitorNumber}`, windows: [w(2, 100), w(3, 1000)] },
          ]);
          if (verdict.ok) {
            app.push(time.now);
            expect(blocked.get(visitorNumber) ?? 0).toBeLessThanOrEqual(time.now);
            const next = limiter.peek([{ key: `v${visitorNumber}`, windows: [w(2, 100), w(3, 1000)] }]);
            if (!next.ok) blocked.set(visitorNumber, time.now + next.retryAfterMs);
          }
        }
        expect(densest(app, 500)).toBeLessThanOrEqual(20);
      }),
      { numRuns: 200 },
    );
  });
});

describe('the same list of checks again', () => {
  const lists: readonly (readonly LimitCheck[])[] = [
    [
      { key: 'v1', windows: [w(2, 1000), w(5, 60_000)] },
      { key: 'a', windows: [w(8, 1000)] },
    ],
    [
      { key: 'v2', windows: [w(2, 1000), w(5, 60_000)] },
      { key: 'a', windows: [w(8, 1000)] },
    ],
    // The plan was changed: another limit for a key of the lists above.
    [{ key: 'a', windows: [w(3, 1000)] }],
    [{ key: 'a', windows: [w(20, 1000), w(9, 5_000)] }],
    // A key named twice counts once.
    [
      { key: 'v3', windows: [w(4, 1000)] },
      { key: 'v3', windows: [w(4, 1000)] },
    ],
    ...Array.from({ length: 6 }, (_, at): LimitCheck[] => [{ key: `other${at}`, windows: [w(3, 500)] }]),
  ];
  const fresh = (checks: readonly LimitCheck[]): LimitCheck[] =>
    checks.map(({ key, windows }) => ({ key, windows: windows.map((window) => ({ ...window })) }));

  it('answers as a new list does, also after its keys were forgotten and came back elsewhere', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(lists.length - 1), fc.nat(400), fc.integer({ min: 1, max: 6 })), {
          maxLength: 200,
        }),
        (schedule) => {
          // Four slots: keys are forgotten all the time.
          const [kept, renewed] = [aLimiter(4), aLimiter(4)];
          for (const [which, wait, times] of schedule) {
            kept.time.now += wait;
            renewed.time.now += wait;
            for (let i = 0; i < times; i++) {
              const checks = lists[which]!;
              expect(kept.limiter.take(checks)).toEqual(renewed.limiter.take(fresh(checks)));
            }
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('protects a key at its limit, though another list has just named a higher one', () => {
    const { limiter } = aLimiter(2);
    const [strict, loose] = [[{ key: 'a', windows: [w(3, 1000)] }], [{ key: 'a', windows: [w(8, 1000)] }]];
    for (const checks of [strict, loose, strict]) expect(limiter.take(checks).ok).toBe(true);
    for (const key of ['b', 'c', 'd']) limiter.take([{ key, windows: [w(3, 1000)] }]);
    expect(limiter.take(strict).ok).toBe(false);
  });
});
