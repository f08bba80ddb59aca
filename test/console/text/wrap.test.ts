// Attacks how lines become rows: nothing too wide, nothing lost, breaks where readers of each script expect them.
// Must not test what makes a text safe.

import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { sanitizeText } from '../../../src/text/sanitize-text.ts';
import type { Line, Span } from '../../../src/cli/console/text/types.ts';
import { cut, textOf, widthOf, wrap, wrapHard } from '../../../src/cli/console/text/wrap.ts';
import { inkColumns } from './screen.ts';
import { strangeText } from './strange-text.ts';

const line = (text: string): Line => [{ text }];
const rows = (text: string, columns: number): string[] => wrap(line(text), columns).map(textOf);

const span: fc.Arbitrary<Span> = fc
  .tuple(strangeText, fc.constantFrom<Omit<Span, 'text'>>({}, { bold: true }, { color: 'red', dim: true }))
  .map(([text, style]) => ({ ...style, text: sanitizeText(text).replaceAll('\n', ' ') }));
const anyLine = fc.array(span, { maxLength: 6 });
const anyColumns = fc.integer({ min: 1, max: 90 });

const withoutBlanks = (text: string): string => text.replace(/\s/gu, '');

describe('wrap', () => {
  it.each<[string, number, string[]]>([
    ['', 5, ['']],
    ['one two three', 8, ['one two', 'three']],
    ['one two three', 7, ['one two', 'three']],
    ['one two three', 3, ['one', 'two', 'thr', 'ee']],
    ['one     two', 5, ['one', 'two']],
    ['  indented text', 10, ['  indented', 'text']],
    ['self-made and/or', 6, ['self-', 'made', 'and/or']],
    ['日本語の文。次', 10, ['日本語の', '文。次']],
    ['「引用」です', 4, ['「引', '用」', 'です']],
    ['abc日本', 5, ['abc日', '本']],
    ['한국어 문장입니다', 8, ['한국어', '문장입니', '다']],
    ['e\u0301e\u0301e\u0301e\u0301', 2, ['e\u0301e\u0301', 'e\u0301e\u0301']],
    ['漢字', 1, ['…', '…']],
    ['🇩🇪🇫🇷', 3, ['🇩🇪', '🇫🇷']],
    ['สวัสดีครับผม', 6, ['สวัสดี', 'ครับผม']],
    ['漢ﷺ\u1161\u200b\u1161\u200b\u1161', 3, ['漢', 'ﷺ', '\u1161\u200b\u1161\u200b\u1161']],
    ['https://a.example/very/long', 12, ['https://', 'a.example/', 'very/long']],
  ])('%j in %i columns', (text, columns, expected) => {
    expect(rows(text, columns)).toEqual(expected);
  });

  it('keeps the cluster together that was taken apart for its width', () => {
    expect(wrap(line(sanitizeText('ทำ')), 1).map((row) => textOf(row).replaceAll('\u200b', ''))).toEqual([
      'ท',
      'ำ',
    ]);
    for (const columns of [2, 3, 4, 5]) {
      for (const row of wrap(line(sanitizeText('น้ำ'.repeat(6))), columns))
        expect(textOf(row)).not.toMatch(/^[\u200bำ]/u);
    }
  });

  it('gives a row no more than its columns, loses nothing but blanks, and keeps every style', () => {
    fc.assert(
      fc.property(anyLine, anyColumns, (spans, columns) => {
        const wrapped = wrap(spans, columns);
        expect(wrapped.length).toBeGreaterThan(0);
        for (const row of wrapped) {
          expect(widthOf(row)).toBeLessThanOrEqual(columns);
          expect(stringWidth(textOf(row))).toBeLessThanOrEqual(columns);
          expect(inkColumns(textOf(row))).toBeLessThanOrEqual(columns);
        }
        // The widest cluster that there is takes six columns; where it does not fit, an ellipsis stands for it.
        if (columns >= 6)
          expect(withoutBlanks(wrapped.map(textOf).join(''))).toBe(withoutBlanks(textOf(spans)));
        const styles = new Set(spans.map(({ bold, color }) => `${bold} ${color}`));
        for (const { bold, color } of wrapped.flat()) expect(styles).toContain(`${bold} ${color}`);
      }),
      { numRuns: 400 },
    );
  });

  it('breaks inside a word only where the word alone is too long', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-z]{1,9}$/), { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 9, max: 40 }),
        (words, columns) => {
          expect(rows(words.join(' '), columns).join(' ')).toBe(words.join(' '));
        },
      ),
    );
  });

  it('fills rows: the next word would not have fitted', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-z]{1,9}$/), { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 9, max: 40 }),
        (words, columns) => {
          const made = rows(words.join(' '), columns);
          made
            .slice(1)
            .forEach((row, index) =>
              expect(`${made[index]} ${row.split(' ')[0]}`.length).toBeGreaterThan(columns),
            );
        },
      ),
    );
  });

  it('gives a cluster that two spans share the style of its beginning', () => {
    const wrapped = wrap(
      [
        { text: 'xx e', bold: true },
        { text: '\u0301yy', italic: true },
      ],
      4,
    );
    expect(wrapped).toEqual([
      [{ text: 'xx', bold: true }],
      [
        { text: 'e\u0301', bold: true },
        { text: 'yy', italic: true },
      ],
    ]);
  });

  it('takes 10,000 characters of any kind in its stride', () => {
    for (const unit of ['a', 'word ', '漢', '👍🏽', 'กำ', 'क्ष']) {
      const text = sanitizeText(unit.repeat(10_000 / unit.length));
      expect(withoutBlanks(rows(text, 40).join(''))).toBe(withoutBlanks(text));
    }
  });
});

describe('wrapHard', () => {
  it('keeps every character, blanks too, and fills every row', () => {
    expect(wrapHard(line('  a  bcd e'), 4).map(textOf)).toEqual(['  a ', ' bcd', ' e']);
    fc.assert(
      fc.property(anyLine, fc.integer({ min: 6, max: 60 }), (spans, columns) => {
        const wrapped = wrapHard(spans, columns);
        expect(wrapped.map(textOf).join('')).toBe(textOf(spans));
        for (const row of wrapped) expect(inkColumns(textOf(row))).toBeLessThanOrEqual(columns);
      }),
    );
  });
});

describe('cut', () => {
  it.each<[string, number, string]>([
    ['short', 5, 'short'],
    ['longer', 5, 'long…'],
    ['two words', 5, 'two…'],
    ['漢字漢字', 5, '漢字…'],
    ['漢字漢字', 4, '漢…'],
    ['漢字', 1, '…'],
    ['abc', 1, '…'],
    ['', 3, ''],
  ])('%j to %i columns', (text, columns, expected) => {
    expect(textOf(cut(line(text), columns))).toBe(expected);
  });

  it('leaves nothing of a line without room', () => {
    expect(cut(line('abc'), 0)).toEqual([]);
  });

  it('is never too wide, marks what is left out, and keeps the style at the cut', () => {
    fc.assert(
      fc.property(anyLine, anyColumns, (spans, columns) => {
        const short = cut(spans, columns);
        expect(inkColumns(textOf(short))).toBeLessThanOrEqual(columns);
        if (widthOf(spans) > columns) expect(textOf(short)).toMatch(/…$/);
        else expect(short).toBe(spans);
      }),
    );
    expect(
      cut(
        [
          { text: 'ab', bold: true },
          { text: 'cdef', color: 'red' },
        ],
        4,
      ),
    ).toEqual([
      { text: 'ab', bold: true },
      { text: 'c…', color: 'red' },
    ]);
  });
});
