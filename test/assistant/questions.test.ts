// Owns: that the evaluation's own data is sound: every answer that it calls right stands in the document that it names,
// what it calls foreign stands in another customer's, and the halves are fair. Must not ask the assistant.
import { beforeAll, describe, expect, test } from 'vitest';
import { documentsOf } from './corpus.ts';
import { questions } from './questions/all.ts';
import { applications, halves, kinds, type ApplicationName, type Kind } from './questions/question.ts';

const contents = new Map<string, string>();

beforeAll(async () => {
  for (const application of applications)
    for (const { source, content } of await documentsOf(application))
      contents.set(`${application}/${source}`, content);
});

function inDocuments(text: string, of: (application: ApplicationName) => boolean): boolean {
  return applications
    .filter(of)
    .some((application) =>
      [...contents].some(
        ([path, content]) =>
          path.startsWith(`${application}/`) && content.toLowerCase().includes(text.toLowerCase()),
      ),
    );
}

describe('the question set', () => {
  test('has at least 160 questions, each of them once, of every kind', () => {
    expect(questions.length).toBeGreaterThanOrEqual(160);
    expect(new Set(questions.map(({ application, ask }) => `${application} ${ask}`)).size).toBe(
      questions.length,
    );
    for (const kind of Object.keys(kinds))
      expect(questions.filter((question) => question.kind === kind).length).toBeGreaterThanOrEqual(14);
  });

  test('an answerable question names a document that holds the answer', () => {
    const broken = questions.filter(({ application, expected }) => {
      const content = expected === null ? undefined : contents.get(`${application}/${expected.document}`);
      // In HTML and Markdown, marks may stand inside the text; none of the set's answers has one.
      return expected !== null && content?.toLowerCase().includes(expected.holds.toLowerCase()) !== true;
    });
    expect(broken.map(({ ask }) => ask)).toEqual([]);
  });

  test("a foreign question's answer stands in another application's documents", () => {
    const foreign = questions.filter(({ kind }) => kind === 'foreign');
    for (const { application, ask, expected, never } of foreign) {
      expect(expected, ask).toBeNull();
      expect(never.length, ask).toBeGreaterThan(0);
      for (const text of never)
        expect(
          inDocuments(text, (other) => other !== application),
          `${ask}: ${text}`,
        ).toBe(true);
      // Or else a leak could not be told from an answer.
      for (const text of never)
        expect(
          inDocuments(text, (own) => own === application),
          `${ask}: ${text}`,
        ).toBe(false);
    }
  });

  test('the halves hold every question once, and of each kind equally many to one', () => {
    const { choosing, reporting } = halves(questions);
    expect(new Set([...choosing, ...reporting]).size).toBe(questions.length);
    const count = (half: typeof choosing, kind: Kind, answerable: boolean): number =>
      half.filter((question) => question.kind === kind && (question.expected !== null) === answerable).length;
    for (const kind of Object.keys(kinds) as Kind[])
      for (const answerable of [true, false])
        expect(
          Math.abs(count(choosing, kind, answerable) - count(reporting, kind, answerable)),
          kind,
        ).toBeLessThanOrEqual(1);
  });
});
