// Owns: what is measured of a candidate, one measure at a time, and what the weights make of it. No index, no service.
import { describe, expect, test } from 'vitest';
import {
  judgeConfidence,
  rankCandidates,
  thresholds,
  type Signals,
} from '../../src/services/assistant/knowledge/retrieval/combination.ts';
import { compareNgrams } from '../../src/services/assistant/knowledge/retrieval/ngrams.ts';
import { getSearchTerms } from '../../src/services/assistant/knowledge/retrieval/ranking.ts';
import { toQueryTerms } from '../../src/services/assistant/knowledge/retrieval/synonyms.ts';
import { terms } from '../../src/services/assistant/knowledge/retrieval/terms.ts';

describe('Arabic is compared as people write it', () => {
  test.each([
    ['alef with a sign', 'أحمد', 'احمد'],
    ['ta marbuta', 'مدرسة', 'مدرسه'],
    ['alef maqsura', 'مستشفى', 'مستشفي'],
    ['vowel signs', 'كِتَاب', 'كتاب'],
    ['the Persian kaf', 'کتاب', 'كتاب'],
  ])('%s', (_what, one, other) => {
    expect(terms(one)).toEqual(terms(other));
    const [same] = compareNgrams(one, [{ heading: other, text: '', questions: [] }]);
    expect(same?.heading).toBeCloseTo(1);
  });
});

describe('likeness by pieces of words', () => {
  const passage = { heading: 'Broken pots', text: 'Send a photograph.', questions: ['it came cracked'] };

  test('is measured to the heading, the text, both and the kept questions', () => {
    const of = (question: string) => compareNgrams(question, [passage])[0];
    expect(of('broken pot')).toMatchObject({ text: 0, question: 0 });
    expect(of('broken pot')?.heading).toBeGreaterThan(0.5);
    expect(of('photograph')).toMatchObject({ heading: 0, question: 0 });
    expect(of('photograph')?.text).toBeGreaterThan(0.5);
    expect(of('cracked')).toMatchObject({ heading: 0, text: 0 });
    expect(of('cracked')?.question).toBeGreaterThan(0.3);
    expect(of('broken photograph')?.both).toBeGreaterThan(of('broken photograph')?.heading ?? 1);
  });
});

describe('order and confidence', () => {
  const none: Signals = {
    words: { score: 0, coverage: 0 },
    likeness: { heading: 0, text: 0, both: 0, question: 0 },
    headingShare: 0,
    nearness: null,
    isReply: false,
  };
  const good = { ...none, words: { score: 1, coverage: 0.5 } };

  test.each<[string, Signals]>([
    ['words', good],
    ['likeness to the heading', { ...none, likeness: { ...none.likeness, heading: 0.5 } }],
    ['likeness to the text', { ...none, likeness: { ...none.likeness, text: 0.5 } }],
    ['likeness to both', { ...none, likeness: { ...none.likeness, both: 0.5 } }],
    ['likeness to a kept question', { ...none, likeness: { ...none.likeness, question: 0.5 } }],
    ['share of the heading', { ...none, headingShare: 1 }],
    ['nearness', { ...none, nearness: 2 }],
  ])('%s puts a passage first', (_what, better) => {
    expect(rankCandidates([none, better])[0]?.candidate).toBe(better);
  });

  test('a kept reply that is a little like the question stands behind an article that is as much so', () => {
    const article = { ...none, likeness: { ...none.likeness, heading: 0.2 } };
    expect(rankCandidates([{ ...article, isReply: true }, article])[0]?.candidate).toBe(article);
  });

  test('a passage that everything speaks for is answered, one that nothing speaks for is not offered', () => {
    const sure: Signals = {
      words: { score: 20, coverage: 1 },
      likeness: { heading: 0.8, text: 0.5, both: 0.6, question: 0 },
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
