// Attacks what a stranger's text becomes on the screen: nothing a terminal obeys, and the width that Ink believes in.
// Must not test wrapping or Lexical.

import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import {
  cellWidth,
  maxMarksPerLetter,
  sanitizeText,
  sanitizeGrapheme,
} from '../../src/text/sanitize-text.ts';
import { splitGraphemes } from '../../src/text/graphemes.ts';
import { OBEYED, inkColumns } from '../console/text/screen.ts';
import { STRANGE, strangeText } from '../console/text/strange-text.ts';

const shown = (text: string): string => sanitizeText(text).replaceAll('\u200b', '|');

describe('safeText', () => {
  it.each([
    ['plain\ntext', 'plain\ntext'],
    ['\u001b[31mred\u009bK', '␛[31mred\ufffdK'],
    ['a\r\nb\rc\u2028d', 'a\nb\nc\nd'],
    ['ab\tc\n\td', 'ab  c\n    d'],
    ['漢\td', '漢  d'],
    ['\u202eevil\u202c \u2066x\u2069', 'evil x'],
    // Emoji: what terminals draw in one to eight columns becomes what all draw alike.
    ['👨‍👩‍👧', '👨|👩|👧'],
    ['👩‍💻 🏳️‍🌈', '👩|💻 🏳|🌈'],
    ['👍🏽👍', '👍👍'],
    ['🏽', '🏽'],
    [' \u115f🏽', ' '],
    ['#\u034f\u20e3 1\ufe0f\u20e3\u20e3', '# 1'],
    ['\u1100\u{e0041}\u1161', '\u1100|\u1161'],
    ['A\ufe0f\u0301', 'Á'],
    ['❤️ ☺️ ☔︎', '❤ ☺ ☔'],
    ['1️⃣2⃣#️⃣', '12#'],
    ['🇩🇪 🇽🇽 🇩', '🇩🇪 XX D'],
    ['🏴󠁧󠁢󠁥󠁮󠁧󠁿', '🏴'],
    // Hidden text in tag characters is not shown, and not there.
    ['a\u{e0068}\u{e0069}b', 'ab'],
    ['\u1100\u200b\u1161', '\u1100|\u1161'],
    ['a\u200b\nb\u200b', 'a\nb'],
    ['\u200b\u2060\u00ad\u034f\u3164', ''],
    // Marks.
    ['e\u0301', 'é'],
    ['\u0301x', '◌\u0301x'],
    ['a\n\u0489', 'a\n◌\u0489'],
    [`o${'\u0335'.repeat(90)}k`, `o${'\u0335'.repeat(maxMarksPerLetter)}k`],
    [`o${'\u0335\u200d'.repeat(90)}k`, `o${'\u0335\u200d'.repeat(maxMarksPerLetter)}k`],
    // Scripts in which a letter stands in its own column although Unicode counts it to the cluster before.
    ['น้ำ', 'น้|ำ'],
    ['क्षि', 'क्|षि'],
    ['نمی\u200cخواهم', 'نمی\u200cخواهم'],
    ['\u1112\u1161\u11ab', '한'],
    ['\u1100\u1100\u1161', '\u1100|가'],
    ['\u0600١', '\ufffd|١'],
    ['שלום \u200fabc', 'שלום abc'],
    ['\ud800\udc00\ud800', '𐀀\ufffd'],
  ])('%j is shown as %j', (text, expected) => {
    expect(shown(text)).toBe(expected);
  });

  it.each(STRANGE)('holds nothing that a terminal obeys for %j, and is as wide as Ink draws it', (piece) => {
    for (const text of [piece, `x${piece}`, `${piece}漢`, piece.repeat(30)]) {
      for (const line of sanitizeText(text).split('\n')) {
        expect(line).not.toMatch(OBEYED);
        expect(inkColumns(line), JSON.stringify(line)).toBe(stringWidth(line));
      }
    }
  });

  it('holds nothing that a terminal obeys for any text, is as wide as Ink draws it, and stays as it is when it is shown again', () => {
    fc.assert(
      fc.property(strangeText, (text) => {
        const safe = sanitizeText(text);
        for (const line of safe.split('\n')) {
          expect(line).not.toMatch(OBEYED);
          expect(inkColumns(line)).toBe(stringWidth(line));
          expect(cellWidth(line)).toBe(stringWidth(line));
        }
        expect(sanitizeText(safe).replaceAll('\u200b', '')).toBe(safe.replaceAll('\u200b', ''));
      }),
      { numRuns: 400 },
    );
  });

  it('never lets a cluster grow: the longest stays short, whatever is stacked on it', () => {
    fc.assert(
      fc.property(strangeText, fc.integer({ min: 1, max: 30 }), (text, times) => {
        for (const cluster of splitGraphemes(sanitizeText(text.repeat(times)))) {
          expect(cluster.length).toBeLessThanOrEqual(2 + 2 * maxMarksPerLetter * 2);
          expect(cluster.match(/\p{M}/gu)?.length ?? 0).toBeLessThanOrEqual(maxMarksPerLetter);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('shows every letter of every script', () => {
    const text =
      'Zoë, Ελλάδα, Привет, שָׁלוֹם, السَّلامُ, हिन्दी में, தமிழ், ไทยน้ำ, ລາວ, 日本語が, 한국어, ខ្មែរ, မြန်မာ, ཨོཾ';
    expect(sanitizeText(text).replaceAll('\u200b', '').normalize('NFC')).toBe(text.normalize('NFC'));
  });
});

describe('sanitizeGrapheme', () => {
  it('never answers more than a few columns for one grapheme of the edited text', () => {
    fc.assert(
      fc.property(strangeText, (text) => {
        for (const grapheme of splitGraphemes(text.toWellFormed()))
          expect(sanitizeGrapheme(grapheme)).not.toMatch(/[\n\t]\P{Cc}/u);
      }),
      { numRuns: 50 },
    );
    expect(cellWidth(sanitizeGrapheme('👨‍👩‍👧‍👦'))).toBe(8);
  });
});
