// Holds our widths against string-width, with which Ink lays the console out: a difference shifts columns.
// Must not test wrapping or safety.

import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { displayWidth, graphemeWidth, padTo } from '../../src/text/width.ts';
import { STRANGE, strangeText } from '../console/text/strange-text.ts';

// string-width takes escape sequences out first; the callers have made them harmless.
const withoutSequences = (text: string): string => text.replace(/(?![\n\t])\p{Cc}/gu, '');

describe('displayWidth', () => {
  it.each([
    ['', 0],
    ['abc', 3],
    ['漢字', 4],
    ['ｱｲｳ', 3],
    ['e\u0301', 1],
    ['👨‍👩‍👧‍👦', 2],
    ['👍🏽', 2],
    ['🇩🇪', 2],
    ['1️⃣', 2],
    ['❤️', 2],
    ['❤', 1],
    ['한글', 4],
    ['\u1112\u1161\u11ab', 2],
    ['\u1100\u1100', 4],
    ['“”…—', 4],
    ['、。！', 6],
    ['นี้', 1],
    ['शि', 2],
    ['\u200b\u200d\ufe0f', 0],
    ['☰䷀𝍖', 6],
  ])('%j takes %i columns', (text, columns) => {
    expect(displayWidth(text)).toBe(columns);
  });

  it.each(STRANGE)('is that of string-width for %j', (piece) => {
    const text = withoutSequences(piece);
    for (const whole of [text, `a${text}`, `${text}漢`, text + text])
      expect(displayWidth(whole), JSON.stringify(whole)).toBe(stringWidth(whole));
  });

  it('is that of string-width for every code point', () => {
    // Blocks first, each with a letter between; only in one that differs is every character asked for.
    const wrong: string[] = [];
    for (let block = 0xa0; block <= 0x10ffff; block += block < 0x20000 || block >> 16 === 0xe ? 64 : 1024) {
      const characters = Array.from({ length: 64 }, (_, index) =>
        String.fromCodePoint(Math.min(0x10ffff, block + index)),
      );
      const text = characters.join('a');
      if (displayWidth(text) === stringWidth(text)) continue;
      wrong.push(
        ...characters
          .filter((character) => displayWidth(character) !== stringWidth(character))
          .map((one) => JSON.stringify(one)),
      );
      wrong.push(block.toString(16));
    }
    expect(wrong).toEqual([]);
  });

  it('is that of string-width for any text, and the sum of its graphemes', () => {
    fc.assert(
      fc.property(strangeText.map(withoutSequences), (text) => {
        expect(displayWidth(text)).toBe(stringWidth(text));
        const parts = [...new Intl.Segmenter('und').segment(text)].map(({ segment }) =>
          graphemeWidth(segment),
        );
        expect(parts.reduce((sum, width) => sum + width, 0)).toBe(displayWidth(text));
      }),
      { numRuns: 500 },
    );
  });
});

describe('padTo', () => {
  it('fills up to a width in columns, and never cuts', () => {
    expect([padTo('漢', 4), padTo('abc', 2), padTo('', 2)]).toEqual(['漢  ', 'abc', '  ']);
  });
});
