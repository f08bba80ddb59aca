// Holds the written form of limits, the agreed numbers, and the headers against what they promise.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  defaultRateLimits,
  formatRateLimit,
  parseRateLimit,
  planLimits,
  rateLimitHeaders,
  retryAfterSeconds,
} from '../../src/services/tenants/plans.ts';

const w = (limit: number, windowMs: number) => ({ limit, windowMs });

describe('parseLimits', () => {
  it('reads counts with units, in any order, and off', () => {
    expect(parseRateLimit('10/s,120/m,2000/h')).toEqual([w(10, 1000), w(120, 60_000), w(2000, 3_600_000)]);
    expect(parseRateLimit(' 5/d , 1/s ')).toEqual([w(1, 1000), w(5, 86_400_000)]);
    expect(parseRateLimit('off')).toBeNull();
  });

  it.each([
    '',
    ',',
    '10',
    '10/',
    '/s',
    '0/s',
    '-1/s',
    '+1/s',
    '1.5/s',
    '1e3/s',
    '010/s',
    '10/x',
    '10/S',
    '10/ s',
    '10/s,',
    '10/s;5/m',
    '10/s,20/s',
    'OFF',
    'off,10/s',
    '1234567890/s',
    '١/s',
    '10/s/m',
    'NaN/s',
    '10/toString',
  ])('refuses %j with a sentence', (text) => {
    expect(() => parseRateLimit(text)).toThrow(/(is not a limit: write|has two limits for one)/);
  });

  it('comes back through formatLimits', () => {
    const units = fc.subarray([1000, 60_000, 3_600_000, 86_400_000], { minLength: 1 });
    fc.assert(
      fc.property(units, fc.integer({ min: 1, max: 999_999_999 }), (windows, limit) => {
        const set = windows.map((windowMs) => w(limit, windowMs));
        expect(parseRateLimit(formatRateLimit(set))).toEqual(set);
      }),
    );
    expect(formatRateLimit(null)).toBe('off');
    expect(() => formatRateLimit([w(1, 1234)])).toThrow(RangeError);
  });
});

describe('the agreed numbers', () => {
  it('are those of the table', () => {
    expect(Object.entries(defaultRateLimits).map(([name, set]) => [name, formatRateLimit(set)])).toEqual([
      ['visitor', '10/s,120/m,2000/h'],
      ['application', '200/s,6000/m,100000/h'],
      ['address', '100/s,3000/m,50000/h'],
      ['addressConfig', '10/s,120/m,2000/h'],
      ['addressFailed', '10/s,60/m,600/h'],
      ['accountFailed', '5/s,20/m,60/h'],
      ['addressNew', '5/s,60/m,600/h'],
      ['mailSender', '10/m,60/h'],
      ['mailApplication', '120/m,2000/h'],
      ['mailNew', '30/m,300/h'],
      ['aiVisitor', '5/s,60/m,600/h'],
      ['aiOrganization', '10/s,120/m,2000/h'],
    ]);
    expect(Object.values(planLimits).map((plan) => Object.values(plan))).toEqual([
      [600, 30, 1, 3, 1_073_741_824, false, 500],
      [6000, 365, 10, 25, 20 * 1_073_741_824, true, 10_000],
      [60_000, null, null, null, null, true, null],
    ]);
  });
});

describe('rateLimitHeaders', () => {
  const policies = [
    { name: 'visitor', windows: [w(10, 1000), w(120, 60_000)] },
    { name: 'application', windows: [w(200, 1000)] },
  ];

  it('names every window once', () => {
    const refusal = { failed: 0, window: w(120, 60_000), retryAfterMs: 1200 };
    expect(rateLimitHeaders(refusal, policies)).toMatchObject({
      RateLimit: '"visitor-minute";r=0;t=2',
      'RateLimit-Policy':
        '"visitor-second";q=10;w=1, "visitor-minute";q=120;w=60, "application-second";q=200;w=1',
    });
  });

  it('tells a refusal with whole seconds, rounded up, never 0', () => {
    for (const [ms, s] of [
      [1, 1],
      [1000, 1],
      [1001, 2],
      [3_599_999, 3600],
    ] as const) {
      const headers = rateLimitHeaders({ failed: 1, window: w(200, 1000), retryAfterMs: ms }, policies);
      expect(headers).toMatchObject({
        'Retry-After': String(s),
        RateLimit: `"application-second";r=0;t=${s}`,
      });
      expect(retryAfterSeconds(ms)).toBe(s);
    }
  });

  it('lets no name break out of its quotes', () => {
    const verdict = { failed: 0, window: w(1, 1000), retryAfterMs: 1 };
    expect(rateLimitHeaders(verdict, [{ name: 'a"b\\c', windows: [] }]).RateLimit).toBe(
      '"a\\"b\\\\c-second";r=0;t=1',
    );
    expect(() => rateLimitHeaders(verdict, [{ name: 'a\r\nb', windows: [] }])).toThrow(RangeError);
  });
});
