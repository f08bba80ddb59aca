// Owns: what is forgiven in a question: slips of the finger, words that were cut otherwise, other words for the same.
// Must not measure how good retrieval is: that is the evaluation's affair.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { extractQuestions } from '../../src/services/assistant/knowledge/retrieval/question-extraction.ts';
import { generalSynonyms } from '../../src/services/assistant/knowledge/retrieval/general-synonyms.ts';
import { isCorrectable, findCorrections } from '../../src/services/assistant/knowledge/retrieval/spelling.ts';
import {
  resegment,
  findUnspacedRuns,
} from '../../src/services/assistant/knowledge/retrieval/resegmentation.ts';
import { toQueryTerms } from '../../src/services/assistant/knowledge/retrieval/synonyms.ts';
import { terms } from '../../src/services/assistant/knowledge/retrieval/terms.ts';
import { synonyms } from '../../src/protocol/assistant.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { createApplication, createOrganization } from '../helpers/fixtures.ts';

const word = fc.stringMatching(/^[a-z]{6,12}$/);

describe('slips of the finger', () => {
  test('one letter missed, added, mistaken or swapped, anywhere but at the beginning, is found', () => {
    fc.assert(
      fc.property(
        word,
        fc.nat(),
        fc.constantFrom('miss', 'add', 'mistake', 'swap'),
        fc.constantFrom(...Array.from('abcxyz')),
        (right, where, how, letter) => {
          const at = 1 + (where % (right.length - 2));
          const letters = Array.from(right);
          if (how === 'miss') letters.splice(at, 1);
          else if (how === 'add') letters.splice(at, 0, letter);
          else if (how === 'mistake') letters[at] = letter;
          else letters.splice(at, 2, letters[at + 1] ?? '', letters[at] ?? '');
          expect(findCorrections(letters.join(''), [right])).toEqual([right]);
        },
      ),
    );
  });

  test('what is found is as near as was said, in both directions, and the nearest only', () => {
    fc.assert(
      fc.property(word, fc.array(word, { maxLength: 20 }), (typed, known) => {
        const meant = findCorrections(typed, known);
        expect(meant.length).toBeLessThanOrEqual(3);
        for (const one of meant) {
          expect(known).toContain(one);
          expect(Math.abs(one.length - typed.length)).toBeLessThanOrEqual(2);
          if (known.includes(typed)) expect(one).toBe(typed);
        }
      }),
    );
  });

  test.each([
    ['delivar', ['deliver', 'delay', 'diver'], ['deliver']],
    ['webhok', ['webhook', 'web'], ['webhook']],
    ['tandem', ['random', 'tender'], []],
    ['crash', ['cash'], []],
    ['basel', ['bezel'], []],
  ])('%s among %j is meant to be %j', (typed, known, meant) => {
    expect(findCorrections(typed, known)).toEqual(meant);
  });

  test('short words, general words, numbers and scripts that do not spell are left as they are', () => {
    for (const term of [
      'tea',
      'cost',
      ...terms('about something because'),
      '12345',
      'e2e45',
      '押金是多少钱',
      'เงินมัดจำ',
    ])
      expect(isCorrectable(term), term).toBe(false);
    for (const term of ['delivari', 'доставк', 'παραδοση']) expect(isCorrectable(term), term).toBe(true);
  });
});

describe('cutting anew', () => {
  test('loses no letter, whatever is typed and known', () => {
    const thai = fc.string({
      unit: fc.constantFrom(...Array.from('กขคงจชดตถทนบปพมยรลวสหอาิีุูเแโไ่้์')),
      maxLength: 60,
    });
    fc.assert(
      fc.property(thai, fc.array(thai, { maxLength: 10 }), (stretch, known) => {
        expect(resegment(stretch, new Set(known)).join('')).toBe(stretch);
      }),
    );
  });

  test('finds the longest known words, and keeps what lies between them together', () => {
    expect(resegment('ยางแบนมากมาย', new Set(['ยาง', 'แบน', 'แบนมาก']))).toEqual(['ยาง', 'แบนมาก', 'มาย']);
  });

  test('only runs of scripts without blanks are looked at', () => {
    expect(findUnspacedRuns(['tyre', 'ยาง', 'แบ', 'tyre', 'ยาง', '押金'])).toEqual([
      { start: 1, count: 2 },
      { start: 4, count: 1 },
    ]);
  });
});

describe('what of a message asks', () => {
  test.each([
    ['What does delivery cost?', []],
    [
      'We rode along the river. What does delivery to Zurich cost? Thanks, Ann',
      ['What does delivery to Zurich cost?'],
    ],
    ['The teapot is broken. What should I do now?', ['The teapot is broken. What should I do now?']],
    ['Hello. The teapot leaks.', ['The teapot leaks.']],
    ['昨天收到了茶壶。可以退货吗？', ['可以退货吗？']],
    ['وصلت الدراجة متأخرة. هل الإلغاء مجاني قبل الاستلام؟', ['هل الإلغاء مجاني قبل الاستلام؟']],
    ['Hi! How are you? And you?', []],
  ])('%j: %j', (message, stretches) => {
    expect(extractQuestions(message)).toEqual(stretches);
  });

  test('is at most three stretches, the last ones, however long the message', () => {
    const sentences = Array.from({ length: 200 }, (_, index) => `Where is parcel ${index} of teapots?`);
    expect(extractQuestions(sentences.join(' '))).toEqual(sentences.slice(-3));
  });
});

describe('words that mean the same', () => {
  test('the general list is one that an application could have as its own', () => {
    expect(synonyms.safeParse(generalSynonyms).error).toBeUndefined();
    for (const line of generalSynonyms)
      expect(
        line.every((phrase) => terms(phrase).length > 0),
        line.join(', '),
      ).toBe(true);
  });

  test("an application's own word counts more than a general one", () => {
    const [slot] = toQueryTerms(terms('refund'), JSON.stringify([['refund', 'clawback']]));
    const shareOf = (phrase: string): number | undefined =>
      slot?.alternatives.find((one) => one.terms.join(' ') === terms(phrase).join(' '))?.weight;
    expect(shareOf('clawback')).toBeGreaterThan(shareOf('reimbursement') ?? 1);
    expect(shareOf('reimbursement')).toBeGreaterThan(0);
  });
});

describe('in a search', () => {
  let app: TestApp;
  let mine: string;
  let theirs: string;

  const covers = async (applicationId: string, query: string): Promise<number> =>
    (await app.local('knowledge.search', { applicationId, query })).coverage;

  beforeAll(async () => {
    app = await startApp();
    const organization = await createOrganization(app, 'tea');
    mine = organization.application.id;
    theirs = (await createApplication(app, 'tea', 'other.example')).id;
    const add = (applicationId: string, content: string) =>
      app.local('knowledge.add', { applicationId, source: 'a.md', content });
    await add(mine, '# Teapots\n\nThe teapots are glazed by hand.\n\n# ยางแบน\n\nชุดปะยางอยู่ใต้อาน\n');
    await add(theirs, '# Chandeliers\n\nThe chandeliers are polished on Mondays.\n');
  });
  afterAll(() => app.stop());

  test('a slip still finds the passage', async () => {
    expect(await covers(mine, 'are the taepots glazed')).toBeGreaterThan(0.7);
  });

  test("nothing is meant to be a word of another application's documents", async () => {
    expect(await covers(theirs, 'chandelirs')).toBeGreaterThan(0.7);
    expect(await covers(mine, 'chandelirs')).toBe(0);
    expect(await covers(mine, 'chandeliers')).toBe(0);
  });

  test('a word that the letters around it hid from the segmenter is found', async () => {
    expect(terms('ยางแบนทำอย่างไร')).not.toContain('แบน');
    expect(await covers(mine, 'ยางแบนทำอย่างไร')).toBeGreaterThan(0.7);
  });

  test('an endless word without blanks is answered, not pondered', async () => {
    expect(await covers(mine, 'กขคง'.repeat(250))).toBe(0);
    expect(await covers(mine, 'a'.repeat(1_000))).toBe(0);
  });
});
