// Attacks the lines that panes are made of: each is exactly as wide as it was asked to be.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { scrollTo, shortCount } from '../../../src/cli/console/views/queue-lines.ts';
import {
  justify,
  fitLine,
  framed,
  titleRule,
  fitHeight,
} from '../../../src/cli/console/views/line-layout.ts';
import { sanitizeLine } from '../../../src/cli/console/text/sanitize-line.ts';
import { textOf, widthOf } from '../../../src/cli/console/text/wrap.ts';
import {
  dayLabel,
  isYesterday,
  longDuration,
  shortTimestamp,
  shortDuration,
} from '../../../src/desk/time.ts';

const line = fc
  .array(fc.oneof(fc.string({ maxLength: 30 }), fc.constantFrom('家族', '👨‍👩‍👧‍👦', 'שלום', 'e\u0301')), {
    maxLength: 6,
  })
  .map((texts) => texts.map((text) => ({ text: sanitizeLine(text) })));
const columns = fc.integer({ min: 12, max: 120 });

describe('a line is as wide as its pane', () => {
  test('cut or filled up', () => {
    fc.assert(
      fc.property(line, columns, (one, wide) => {
        expect(widthOf(fitLine(one, wide))).toBe(wide);
      }),
    );
  });

  test('with both ends, the right one whole and at the edge where it fits', () => {
    fc.assert(
      fc.property(line, line, columns, (left, right, wide) => {
        const both = justify(left, right, wide);
        expect(widthOf(both)).toBe(wide);
        if (widthOf(right) > 0 && widthOf(right) + 4 <= wide)
          expect(textOf(both).endsWith(textOf(right))).toBe(true);
      }),
    );
  });

  test('as a title', () => {
    fc.assert(
      fc.property(line, line, columns, fc.boolean(), (left, right, wide, focused) => {
        const title = titleRule(left, right, wide, focused);
        expect(widthOf(title)).toBe(wide);
        expect(textOf(title).startsWith(focused ? '━' : '─')).toBe(true);
      }),
    );
  });

  test('in a frame', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 4 }), fc.string(), columns, (lines, title, wide) => {
        const frame = framed(lines, sanitizeLine(title), '', wide);
        expect(frame).toHaveLength(lines.length + 2);
        for (const one of frame) expect(widthOf(one)).toBe(wide);
      }),
    );
  });
});

test('as many lines as the pane has rows, filled up where it was asked to be', () => {
  const [one, two] = [[{ text: '1' }], [{ text: '2' }]];
  expect(fitHeight([one, two], 1, 'top')).toEqual([one]);
  expect(fitHeight([one], 2, 'top')).toEqual([one, []]);
  expect(fitHeight([one], 2, 'bottom')).toEqual([[], one]);
});

test.each([
  [0, '0'],
  [999, '999'],
  [1_000, '1.0k'],
  [9_999, '9.9k'],
  [10_000, '10k'],
  [999_999, '999k'],
  [1_000_000, '1M+'],
])('%i is counted as %s', (count, text) => expect(shortCount(count)).toBe(text));

describe('times', () => {
  test.each([
    [-5, '0s'],
    [59_999, '59s'],
    [60_000, '1m'],
    [3_599_999, '59m'],
    [3_600_000, '1h'],
    [86_400_000, '1d'],
  ])('%i ms is %s', (ms, text) => expect(shortDuration(ms)).toBe(text));

  test.each([
    [59_000, 'less than a minute'],
    [60_000, '1 min'],
    [3_900_000, '1 h 05 min'],
    [86_400_000, '1 day'],
    [3 * 86_400_000, '3 days'],
  ])('%i ms is told as %s', (ms, text) => expect(longDuration(ms)).toBe(text));

  test('days are the local ones: today, yesterday, the day of the week, the year where it is another', () => {
    const now = new Date(2026, 10, 21, 0, 30).getTime();
    const at = (...parts: [number, number, number, number?]): string => new Date(...parts).toISOString();
    expect(dayLabel(at(2026, 10, 21, 0), now)).toBe('Today');
    expect(dayLabel(at(2026, 10, 20, 23), now)).toBe('Yesterday');
    expect(dayLabel(at(2026, 10, 16), now)).toBe('Monday 16 November');
    expect(dayLabel(at(2025, 0, 2), now)).toBe('Thursday 2 January 2025');
    expect(dayLabel('never', now)).toBe('');
    expect(shortTimestamp(at(2026, 10, 20, 23), now)).toBe('20 Nov');
    expect(shortTimestamp(new Date(2026, 10, 21, 0, 5).toISOString(), now)).toBe('00:05');
  });

  test('yesterday is the day before, also when that day had 23 hours', () => {
    const before = process.env['TZ'];
    process.env['TZ'] = 'Europe/Berlin';
    try {
      const now = Date.parse('2026-03-30T00:30:00+02:00');
      expect(isYesterday(Date.parse('2026-03-29T12:00:00+02:00'), now)).toBe(true);
      expect(isYesterday(Date.parse('2026-03-28T23:45:00+01:00'), now)).toBe(false);
    } finally {
      if (before === undefined) delete process.env['TZ'];
      else process.env['TZ'] = before;
    }
  });
});

describe('the queue', () => {
  test('the list scrolls as little as possible and never past its end', () => {
    expect(scrollTo(0, 4, 5, 20)).toBe(0);
    expect(scrollTo(0, 5, 5, 20)).toBe(1);
    expect(scrollTo(10, 3, 5, 20)).toBe(3);
    expect(scrollTo(18, 19, 5, 20)).toBe(15);
    expect(scrollTo(7, 2, 5, 3)).toBe(0);
  });
});
