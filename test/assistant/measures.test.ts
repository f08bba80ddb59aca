// Owns: what is measured of a candidate, one measure at a time, and what the weights make of it. No index, no service.
import { describe, expect, test } from 'vitest';
import {
  judgeConfidence,
  rankCandidates,
  thresholds,
  type Signals,
} from '../../src/services/assistant/knowledge/retrieval/combination.ts';
import {
  compareNgrams,
  notAlike,
  type Closeness,
  type Likeness,
} from '../../src/services/assistant/knowledge/retrieval/ngrams.ts';
import { createRarity, getSearchTerms } from '../../src/services/assistant/knowledge/retrieval/ranking.ts';
import { toQueryTerms } from '../../src/services/assistant/knowledge/retrieval/synonyms.ts';
import { terms } from '../../src/services/assistant/knowledge/retrieval/terms.ts';

const alike = (share: number): Closeness => ({ cosine: share, known: share, share });
const evenly = (): number => 1;

describe('Arabic is compared as people write it', () => {
  test.each([
    ['alef with a sign', 'أحمد', 'احمد'],
    ['ta marbuta', 'مدرسة', 'مدرسه'],
    ['alef maqsura', 'مستشفى', 'مستشفي'],
    ['vowel signs', 'كِتَاب', 'كتاب'],
    ['the Persian kaf', 'کتاب', 'كتاب'],
  ])('%s', (_what, one, other) => {
    expect(terms(one)).toEqual(terms(other));
    const [same] = compareNgrams(one, [{ heading: other, text: '', questions: [] }], evenly);
    expect(same?.heading.cosine).toBeCloseTo(1);
  });
});

describe('likeness by pieces of words', () => {
  const passage = { heading: 'Broken pots', text: 'Send a photograph.', questions: ['it came cracked'] };

  const measures = ['cosine', 'known', 'share'] as const;

  test.each(measures)('is measured to the heading, the text, both and the kept questions: %s', (measure) => {
    const of = (question: string): Partial<Record<keyof Likeness, number>> => {
      const [found] = compareNgrams(question, [passage], evenly);
      return {
        heading: found?.heading[measure] ?? -1,
        text: found?.text[measure] ?? -1,
        both: found?.both[measure] ?? -1,
        question: found?.question[measure] ?? -1,
      };
    };
    expect(of('broken pot')).toMatchObject({ text: 0, question: 0 });
    expect(of('broken pot').heading).toBeGreaterThan(0.4);
    expect(of('photograph')).toMatchObject({ heading: 0, question: 0 });
    expect(of('photograph').text).toBeGreaterThan(0.2);
    expect(of('cracked')).toMatchObject({ heading: 0, text: 0 });
    expect(of('cracked').question).toBeGreaterThan(0.2);
    expect(of('broken photograph').both).toBeGreaterThan(of('broken photograph').heading ?? 1);
  });

  test('a word that is rare in all documents counts more, however many of the compared passages have it', () => {
    const texts = ['kettle order', ...Array.from({ length: 40 }, () => 'kettle lid'), 'teapot order'];
    const passages = texts.map((text) => ({ heading: '', text, questions: [] }));
    const found = compareNgrams('kettle order', passages, (word) => (word === 'kettle' ? 6 : 0.3));
    const [, lid, teapot] = [found[0], found[1], found.at(-1)];
    expect(found[0]?.text.known).toBeCloseTo(1);
    expect(lid?.text.cosine).toBeLessThan(teapot?.text.cosine ?? 0);
    expect(lid?.text.known).toBeGreaterThan(teapot?.text.known ?? 1);
  });

  test('nothing of a question stays for the next one', () => {
    const ask = (question: string): Likeness | undefined => compareNgrams(question, [passage], evenly)[0];
    const before = ask('photograph');
    ask('broken pots with a photograph');
    expect(ask('photograph')).toEqual(before);
  });

  test('words that stand side by side in the question do so in the passage', () => {
    const pairs = (question: string): number | undefined =>
      compareNgrams(question, [passage], evenly)[0]?.pairs;
    expect(pairs('I send a photograph')).toBeCloseTo(2 / 3);
    expect(pairs('broken POTS')).toBe(1);
    expect(pairs('photograph a send')).toBe(0);
    expect(pairs('photograph')).toBe(0);
  });

  test('how rare a word is, is counted in the documents; a light word is never rare, a misspelt one not the rarest', () => {
    const rarityOf = createRarity({
      passages: 20_000,
      of: (term) => ({ [terms('kettle')[0] ?? '']: 19_000, [terms('teapots')[0] ?? '']: 20 })[term] ?? 0,
    });
    expect(rarityOf('the')).toBeLessThan(0.5);
    expect(rarityOf('kettle')).toBeLessThan(0.5);
    expect(rarityOf('teapots')).toBe(6);
    expect(rarityOf('teeapotz')).toBe(6);
  });
});

describe('order and confidence', () => {
  const none: Signals = {
    words: { score: 0, coverage: 0 },
    likeness: { heading: notAlike, text: notAlike, both: notAlike, question: notAlike, pairs: 0 },
    headingShare: 0,
    nearness: null,
    isReply: false,
  };
  const good = { ...none, words: { score: 1, coverage: 0.5 } };

  test.each<[string, Signals]>([
    ['words', good],
    ['likeness to the heading', { ...none, likeness: { ...none.likeness, heading: alike(0.5) } }],
    ['likeness to the text', { ...none, likeness: { ...none.likeness, text: alike(0.5) } }],
    ['likeness to both', { ...none, likeness: { ...none.likeness, both: alike(0.5) } }],
    ['likeness to a kept question', { ...none, likeness: { ...none.likeness, question: alike(0.5) } }],
    ['pairs of words', { ...none, likeness: { ...none.likeness, pairs: 0.5 } }],
    ['share of the heading', { ...none, headingShare: 1 }],
    ['nearness', { ...none, nearness: 2 }],
  ])('%s puts a passage first', (_what, better) => {
    expect(rankCandidates([none, better])[0]?.candidate).toBe(better);
  });

  test('a kept reply that is a little like the question stands behind an article that is as much so', () => {
    const article = { ...none, likeness: { ...none.likeness, heading: alike(0.2) } };
    expect(rankCandidates([{ ...article, isReply: true }, article])[0]?.candidate).toBe(article);
  });

  test('a passage that everything speaks for is answered, one that nothing speaks for is not offered', () => {
    const sure: Signals = {
      words: { score: 20, coverage: 1 },
      likeness: { heading: alike(0.8), text: alike(0.5), both: alike(0.6), question: notAlike, pairs: 0.5 },
      headingShare: 1,
      nearness: null,
      isReply: false,
    };
    const all = { contentWords: 4, unknownShare: 0 };
    const known = judgeConfidence(rankCandidates([none, sure, none, none]), all);
    expect(known.answer).toBeGreaterThan(thresholds.answer);
    const unknown = judgeConfidence(rankCandidates([none, none, none]), { contentWords: 4, unknownShare: 1 });
    expect(unknown.choices).toBeLessThan(thresholds.choices);
  });
});

test("general synonyms are kept apart from the question's own words and the owner's synonyms", () => {
  const slots = toQueryTerms(terms('refund'), JSON.stringify([['refund', 'clawback']]));
  const { own, general } = getSearchTerms(slots);
  expect(own).toEqual([...terms('refund'), ...terms('clawback')]);
  expect(general).toContain(terms('reimbursement')[0]);
});
