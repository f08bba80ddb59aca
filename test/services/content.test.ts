// Attacks the one check of message text: lengths, trimming, storable and visible text, both formats (T147-T150, T193).
// Must not repeat the tables of the parts it is made of.

import { describe, expect, it } from 'vitest';
import { prepareContent } from '../../src/services/content/content.ts';

const FAMILY = '👨‍👩‍👧‍👦';
const MAX = 5000;

const lexical = (value: string) =>
  JSON.stringify({
    root: {
      type: 'root',
      version: 1,
      children: [{ type: 'paragraph', children: [{ type: 'text', text: value }] }],
    },
  });
const stored = (content: string) => ({
  ok: true,
  value: { content, contentFormat: 'plain', contentHtml: null, text: content },
});

describe('plain content', () => {
  it.each([
    ['one character', 'x'],
    ['5,000 units', 'x'.repeat(MAX)],
    ['2,500 pairs', '😀'.repeat(2_500)],
    ['454 families', FAMILY.repeat(454)],
    ['markup', '<b>x</b> &amp;'],
    ['Lexical JSON', lexical('hi')],
    ['composed and decomposed letters', 'é e\u0301'],
    ['right to left', 'שלום \u202bعليكم\u202c'],
    ['tags, joiners, rare letters', `${FAMILY} 🏴\u{e0067}\u{e0062}\u{e007f} 𠮷 \u200d`],
  ])('keeps %s as it is', (_, content) => {
    expect(prepareContent(content.trim(), 'plain', MAX)).toEqual(stored(content.trim()));
  });

  it('trims before it counts', () => {
    const content = 'x'.repeat(MAX);
    expect(prepareContent(` \n\t\u00a0\ufeff${content}\u2003\r\n`, 'plain', MAX)).toEqual(stored(content));
  });

  it.each([
    ['nothing', '', /must not be empty/],
    ['blanks', ' \n\t ', /must not be empty/],
    ['5,001 units', 'x'.repeat(MAX + 1), /too long: 5001 characters, and at most 5000/],
    ['2,501 pairs', '😀'.repeat(2_501), /too long: 5002/],
    ['455 families', FAMILY.repeat(455), /too long: 5005/],
    ['U+0000', 'a\0b', /U\+0000/],
    ['half a pair', 'a\ud800', /surrogate/],
    ['zero-width characters', '\u200b\u200d', /shows nothing/],
    ['a combining mark alone', '\u0301', /shows nothing/],
  ])('refuses %s', (_, content, problem) => {
    const outcome = prepareContent(content, 'plain', MAX);
    expect(outcome).toEqual({ ok: false, path: 'content', problem: expect.stringMatching(problem) });
  });
});

describe('lexical content', () => {
  it('makes HTML and text, and keeps the source', () => {
    const content = lexical('a < b');
    expect(prepareContent(`\n ${content} `, 'lexical', MAX)).toEqual({
      ok: true,
      value: { content, contentFormat: 'lexical', contentHtml: '<p>a &lt; b</p>', text: 'a < b' },
    });
  });

  it('counts the JSON, not the text', () => {
    const room = MAX - lexical('').length;
    expect(prepareContent(lexical('x'.repeat(room)), 'lexical', MAX).ok).toBe(true);
    expect(prepareContent(lexical('x'.repeat(room + 1)), 'lexical', MAX)).toMatchObject({
      ok: false,
      path: 'content',
    });
  });

  it.each([
    ['plain words', 'hello', /^content is not JSON\..+contentFormat/],
    ['too deep', `${'['.repeat(2_000)}${']'.repeat(2_000)}`, /nested too deeply/],
    ['nothing shown', lexical('\u200b'), /^content shows no text/],
    ['an escaped U+0000', lexical('a\0'), /root\.children\[0\]\.children\[0\] .*U\+0000/],
    ['an escaped half pair', lexical('\ud800'), /surrogate/],
    ['a raw half pair', lexical('x').replace('x', '\ud800'), /surrogate/],
  ])('refuses %s', (_, content, problem) => {
    expect(prepareContent(content, 'lexical', MAX)).toEqual({
      ok: false,
      path: 'content',
      problem: expect.stringMatching(problem),
    });
  });
});
