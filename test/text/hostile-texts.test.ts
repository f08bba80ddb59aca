// Attacks the patterns that read what people and models write: texts as long as may be, made so that a pattern which
// looks at each place from each place before it takes the square of their length. Counts CPU, not time.
import { describe, expect, it } from 'vitest';
import { isCommonPassword } from '../../src/protocol/common-passwords.ts';
import { checkAnswer, checkRewrite } from '../../src/services/assistant/answer-check.ts';
import { indexTerms } from '../../src/services/assistant/knowledge/retrieval/terms.ts';
import { readRel, safeHref } from '../../src/text/links.ts';
import { sanitizeText } from '../../src/text/sanitize-text.ts';
import { stripHidden } from '../../src/text/strip-hidden.ts';
import { stripInvisible } from '../../src/text/strip-invisible.ts';

/** As long as the longest text that any of these is given. */
const length = 10_000;
/** Below this a measurement says nothing, and there is nothing to fear, ms. */
const harmlessMs = 30;
/** Twice the text: about 2 where the work is in proportion to it, about 4 where it is the square. */
const maxGrowth = 3;
/** Where a single measurement shows less growth than this, no second one is made. */
const clearGrowth = 2.5;

const pieces = [
  'a A 1 . , - _ @ / \\ < > [ ] ( ) ` * # " \' = : & ال 日 한 é \u0301 😀 \u200d ** // a. a@ a- 1. 1, [1 [1, [1]'.split(
    ' ',
  ),
  ['www.', 'http://', '"text"', '<a', '&a', '`a', ' ', '\n', '\t', '\r\n', ' \n', 'a ', '1 '],
].flat();
/** Each piece over and over, ended by what no pattern takes. */
const hostile = (piece: string, units: number): string =>
  `${piece.repeat(Math.ceil(units / piece.length))}!\u0001`;

async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function bestOfThree(work: () => unknown): Promise<number> {
  return Math.min(await cpuMs(work), await cpuMs(work), await cpuMs(work));
}

/** On a busy machine the same work may take twice as long: too much growth is shown by every attempt, or is none. */
const attempts = 3;

const passage = {
  id: 'p',
  documentId: 'd',
  title: 'Title',
  heading: null,
  url: 'https://example.com/',
  text: 'A passage.',
  coverage: 1,
  score: 1,
};

const readers: Readonly<Record<string, (text: string) => unknown>> = {
  'a text to rewrite': (text) => checkRewrite('{"text": "Good day."}', text),
  'a rewritten text': (text) => checkRewrite(text, text),
  'the answer of a model': (text) => checkAnswer(`${text} [1]`, [passage], 'a question'),
  'a passage': (text) => checkAnswer('A passage [1].', [{ ...passage, text }], 'a question'),
  'a question': (text) => checkAnswer('A passage [1].', [passage], text),
  terms: (text) => indexTerms(text),
  'a terminal': (text) => sanitizeText(text),
  'hidden characters': (text) => stripHidden(stripInvisible(text)),
  'a link': (text) => [safeHref(text), safeHref(`https://${text}`), readRel(text, false)],
  'a password': (text) => isCommonPassword(text),
};

describe('the work grows with the length of the text, not with its square', () => {
  it.each(Object.entries(readers))('%s', async (_name, read) => {
    const slow: string[] = [];
    for (const piece of pieces) {
      const twice = hostile(piece, 2 * length);
      const first = await cpuMs(() => read(twice));
      if (first < harmlessMs) continue;
      const once = hostile(piece, length);
      if (first / (await cpuMs(() => read(once))) < clearGrowth) continue;
      const shown: string[] = [];
      for (let attempt = 0; attempt < attempts && shown.length === attempt; attempt += 1) {
        const [small, large] = [await bestOfThree(() => read(once)), await bestOfThree(() => read(twice))];
        if (large > harmlessMs && large / small > maxGrowth)
          shown.push(`${JSON.stringify(piece)}: ${small.toFixed(0)} ms, then ${large.toFixed(0)} ms`);
      }
      if (shown.length === attempts) slow.push(shown.join('; '));
    }
    expect(slow).toEqual([]);
  });
});
