// Holds the quick cutting into graphemes against Unicode's own, on anything.
// Must not test widths or what is drawn.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  boundaryAt,
  graphemeEnds,
  splitGraphemes,
  nextBoundary,
  previousBoundary,
} from '../../src/text/graphemes.ts';
import { STRANGE, strangeText } from '../console/text/strange-text.ts';

const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' });
const truth = (text: string): number[] =>
  [...segmenter.segment(text)].map(({ index, segment }) => index + segment.length);

describe('graphemes', () => {
  it.each(STRANGE)('are Unicode’s for %j beside letters, ideographs and pictures', (piece) => {
    for (const text of [
      piece,
      `a${piece}`,
      `${piece}b`,
      `漢${piece}字`,
      `😀${piece}😀`,
      `${piece}${piece}`,
      `가${piece}각`,
    ]) {
      expect(graphemeEnds(text), JSON.stringify(text)).toEqual(truth(text));
    }
  });

  it('are Unicode’s for any two code points that the table holds apart', () => {
    // The table's claim is about pairs: every code point beside one of each kind.
    const beside = [
      'a',
      '漢',
      '😀',
      '가',
      '\u0301',
      '\u200d',
      '\u1100',
      '\u11a8',
      '🇩',
      'क',
      '\u094d',
      '\r',
      '\ud800',
    ];
    const wrong: string[] = [];
    for (
      let code = 0;
      code <= 0x3ffff;
      code +=
        code < 0x3400 || (code >= 0xa000 && code < 0xac20) || (code >= 0x1f000 && code < 0x20000) ? 1 : 211
    ) {
      const character = String.fromCodePoint(code);
      const text = beside.map((one) => one + character).join('\n') + character;
      if (graphemeEnds(text).join() !== truth(text).join()) wrong.push(code.toString(16));
    }
    expect(wrong).toEqual([]);
  });

  it('are Unicode’s for any text, and joined they are the text', () => {
    fc.assert(
      fc.property(strangeText, (text) => {
        expect(graphemeEnds(text)).toEqual(truth(text));
        expect(splitGraphemes(text).join('')).toBe(text);
      }),
      { numRuns: 400 },
    );
  });

  it('have the same boundaries looked for one by one, from both sides and from the middle', () => {
    fc.assert(
      fc.property(strangeText, (text) => {
        const ends = truth(text);
        const forward: number[] = [];
        for (let at = 0; at < text.length;) forward.push((at = nextBoundary(text, at)));
        expect(forward).toEqual(ends);
        const backward: number[] = [];
        for (let at = text.length; at > 0;) backward.push((at = previousBoundary(text, at)));
        expect(backward.toReversed()).toEqual([0, ...ends].slice(0, -1));
        for (let at = 0; at <= text.length; at++) {
          expect(boundaryAt(text, at)).toBe(at === 0 ? 0 : ends.find((end) => end >= at));
          if (at > 0) expect(previousBoundary(text, at)).toBe([0, ...ends].findLast((end) => end < at));
        }
      }),
      { numRuns: 200 },
    );
  });

  it('have none beyond the ends', () => {
    expect([
      nextBoundary('ab', 2),
      nextBoundary('', 0),
      previousBoundary('ab', 0),
      boundaryAt('ab', 9),
      boundaryAt('ab', -1),
      graphemeEnds(''),
    ]).toEqual([2, 0, 0, 2, 0, []]);
  });
});
