// Attacks the renderer with random trees whose leaves are an attacker's favourites (T191); a browser's parser judges.
// Must not repeat the tables of content-html.

import fc from 'fast-check';
import { parseFragment, serialize } from 'parse5';
import { expect, it } from 'vitest';
import { buildHtml, renderHtml, sanitize } from '../../src/services/content/html.ts';
import { checkLexical, plainText } from '../../src/services/content/lexical.ts';
import { bare, TAGS, TEXTS, tree, walk, written } from '../helpers/lexical-trees.ts';
import { rounds, seed } from '../helpers/rounds.ts';

it('makes only allowed, stable HTML of any tree, and loses no text', () => {
  const count = rounds(600, 6_000);
  let rendered = 0;
  fc.assert(
    fc.property(fc.array(tree, { maxLength: 5 }), (children) => {
      const checked = checkLexical(JSON.stringify({ root: { type: 'root', version: 1, children } }));
      if (!checked.ok) return checked.problem.startsWith('shows no text');
      rendered++;
      const html = buildHtml(checked.root);
      expect(sanitize(html)).toBe(html);
      expect(renderHtml(checked.root)).toBe(html);

      const parsed = parseFragment(html);
      const again = serialize(parsed);
      expect(serialize(parseFragment(again))).toBe(again);
      // What a browser builds must be what was written: any repair of bad nesting would change the tags.
      expect(again.replaceAll('&nbsp;', '\u00a0')).toBe(html);

      const { texts, faults } = walk(parsed);
      expect(faults).toEqual([]);
      const all = bare(children.map(written).join(''));
      expect(bare(texts.join(''))).toBe(all);
      expect(bare(plainText(checked.root))).toBe(all);
      return true;
    }),
    { numRuns: count, seed },
  );
  expect(rendered).toBeGreaterThan(count / 2);
});

it('sanitises any string to something that it leaves alone', () => {
  const piece = fc.oneof(
    fc.constantFrom(...TEXTS),
    fc.constantFrom(...[...TAGS].flatMap((tag) => [`<${tag}>`, `</${tag}>`])),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const clean = sanitize(pieces.join(''));
      for (const [, tag] of clean.matchAll(/<\/?([^\s/>]*)/g)) expect(TAGS).toContain(tag);
    }),
  );
});
