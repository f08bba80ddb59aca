// Attacks the questions about plain text: what shows, what can be stored, previews, what a terminal may see.
// Must not test formats or HTML.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { counted, formatBytes, preview, hasVisibleText, escapeControls } from '../../src/text/text.ts';
import { findUnstorable } from '../../src/protocol/text.ts';

const FAMILY = '👨‍👩‍👧‍👦';

describe('showsSomething', () => {
  it.each([
    '',
    ' \t\r\n',
    '\u00a0\u2003\u3000\u1680',
    '\u200b\u200c\u200d\u2060\ufeff',
    '\u0000\u0007\u001b\u009b',
    '\u202e\u2066\u2069\u061c',
    '\u00ad\u034f\u115f\u1160\u3164\uffa0',
    '\ufe0f\u{e0101}',
    '\u{e0001}\u{e0068}\u{e0069}',
    '\u0301\u0489\u093e',
    '\u2028\u2029\u0085',
    '\u2800',
    '\ud800',
    '\ufffe\u{1ffff}',
    '\u{1d159}\u{1d173}',
    ' \u200b\u0301\u2800\ufe0f ',
  ])('sees nothing in %j', (text) => {
    expect(hasVisibleText(text)).toBe(false);
  });

  it.each([
    'a',
    '.',
    '0',
    '\u200bа\u200b',
    'é',
    'e\u0301',
    'ـ',
    '漢',
    '𠮷',
    FAMILY,
    '🇩🇪',
    '1️⃣',
    '\ue000',
    '👍🏽',
    'नि',
  ])('sees something in %j', (text) => {
    expect(hasVisibleText(text)).toBe(true);
  });
});

describe('unstorable', () => {
  it.each([
    ['a\0b', 'nul'],
    ['\0\ud800', 'nul'],
    ['a\ud800', 'lone_surrogate'],
    ['\udc00a', 'lone_surrogate'],
    ['\udc00\ud800', 'lone_surrogate'],
    ['😀', null],
    ['', null],
    ['e\u0301é\u202eشكراً\u{e0068}\ufffd', null],
  ])('%j is %j', (text, reason) => {
    expect(findUnstorable(text)).toBe(reason);
  });
});

describe('preview', () => {
  it.each([
    ['short', 10, 'short'],
    [' a \r\n\t b\u2028c\u0085d\u001be ', 50, 'a b c d e'],
    ['0123456789', 10, '0123456789'],
    ['0123456789x', 10, '012345678…'],
    ['01234567 9x', 10, '01234567…'],
    ['01234567😀x', 10, '01234567…'],
    [`0${FAMILY}xyz`, 11, '0…'],
    ['01234567e\u0301\u0301\u0301', 10, '01234567…'],
    [`x${'\u0301'.repeat(50)}`, 5, 'x\u0301\u0301\u0301…'],
    ['😀\u0301\u0301\u0301', 3, '😀…'],
    ['😀\u0301\u0301\u0301', 2, '…'],
    ['abc', 1, '…'],
    ['abc', 0, ''],
    ['', 5, ''],
  ])('%j in %i units is %j', (text, max, line) => {
    expect(preview(text, max)).toBe(line);
  });

  it('is one line of 120 units by default', () => {
    expect(preview('ab\n'.repeat(500))).toHaveLength(120);
    expect(preview('a'.repeat(500))).toHaveLength(120);
  });

  it('never exceeds its limit, never splits a pair, and only ever shortens', () => {
    const unit = fc.constantFrom('a', ' ', '\n', '😀', FAMILY, '\u0301', '🇩', '\u200d', '\u001b', '한', '\r');
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (units, max) => {
        const text = units.join('');
        const line = preview(text, max);
        const whole = preview(text, 10_000);
        expect(line.length).toBeLessThanOrEqual(max);
        expect(line.isWellFormed()).toBe(true);
        expect(line).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        const shortened = line.endsWith('…') && whole.startsWith(line.slice(0, -1));
        expect(whole.length <= max ? line === whole : shortened).toBe(true);
      }),
    );
  });
});

describe('visibleText', () => {
  it.each([
    ['red \u001b[31m', 'red ␛[31m'],
    ['\u001b]0;title\u0007', '␛]0;title␇'],
    ['\u009b31m', '\ufffd31m'],
    ['good\rbad', 'good\nbad'],
    ['a\r\nb\u0085c\u2028d\u2029e', 'a\nb\nc\nd\ne'],
    ['tab\tand\nline', 'tab\tand\nline'],
    ['\b\u000b\f\u007f\u0000', '␈␋␌␡␀'],
    ['\u202egnp.exe\u2066x\u2069\u202c', 'gnp.exex'],
    ['\ufeffx\ufff9y', 'xy'],
    ['\ud800', '\ufffd'],
    [`${FAMILY} שלום\u200f`, `${FAMILY} שלום\u200f`],
  ])('%j becomes %j', (text, shown) => {
    expect(escapeControls(text)).toBe(shown);
  });

  it('lets no control character and no bidi override through, whatever comes', () => {
    const unit = fc.oneof(fc.integer({ min: 0, max: 0x2100 }), fc.integer({ min: 0, max: 0xffff }));
    fc.assert(
      fc.property(fc.array(unit), (units) => {
        const shown = escapeControls(String.fromCharCode(...units));
        expect(shown).not.toMatch(/(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069\u2028\u2029]/u);
        expect(shown.isWellFormed()).toBe(true);
      }),
    );
  });
});

describe('formatBytes', () => {
  it('names the powers of 1024 that it counts in', () => {
    expect([1, 1024, 26_214_400, 1_572_864, 5_368_709_120].map(formatBytes)).toEqual([
      '1 KiB',
      '1 KiB',
      '25 MiB',
      '1.5 MiB',
      '5 GiB',
    ]);
  });
});

describe('counted', () => {
  it('has the singular for one alone', () => {
    expect([0, 1, 2].map((number) => counted(number, 'row'))).toEqual(['0 rows', '1 row', '2 rows']);
    expect([1, 3].map((number) => counted(number, 'copy', 'copies'))).toEqual(['1 copy', '3 copies']);
  });
});
