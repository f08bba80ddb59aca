// Owns: that no question, however it is put, shows a word of another application's documents. Attacks the index's own
// syntax and its way of keeping applications apart. Must not care whether an answer is a good one.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { createApplication, createOrganization } from '../helpers/fixtures.ts';

let app: TestApp;
const letters = 'abcdefghijkl'.split('');
/** By application: what stands in its documents and in no other's. */
const canaries = new Map<string, string>();

beforeAll(async () => {
  app = await startApp({ flags: { limitAiOrganization: 'off', limitAiVisitor: 'off' } });
  const first = await createOrganization(app, 'first');
  const second = await createOrganization(app, 'second');
  const applications = [
    first.application.id,
    second.application.id,
    (await createApplication(app, 'first', 'other.example')).id,
  ];
  // Enough applications that one's number begins like another's.
  for (let more = 0; more < 9; more += 1)
    applications.push((await createApplication(app, 'second', `more-${more}.example`)).id);
  for (const [index, applicationId] of applications.entries()) {
    const canary = `canary${(letters[index] ?? '').repeat(4)}`;
    canaries.set(applicationId, canary);
    const content = `# Delivery and refunds\n\nDelivery takes three days, says ${canary}. 押金是五十欧元。\n\n## ${canary}\n\nRefunds take a week. เงินมัดจำ 50 ยูโร\n`;
    await app.local('knowledge.add', {
      applicationId,
      source: 'help.md',
      content,
      url: `https://${canary}.example/help`,
    });
    await app.local('knowledge.setSynonyms', { applicationId, synonyms: [['delivery', canary]] });
  }
});
afterAll(() => app.stop());

/** Words that everybody has, words that only one has, whole and broken, and what the index might take for its syntax. */
const piece = fc.oneof(
  fc.constantFrom('delivery', 'refunds', 'how long', '押金', 'เงินมัดจำ', 'days', 'delivry'),
  fc.constantFrom(...letters).map((letter) => `canary${letter.repeat(4)}`),
  fc.constantFrom(...letters).map((letter) => `canary${letter.repeat(3)}`),
  fc
    .tuple(fc.nat(12), fc.constantFrom(...letters))
    .map(([scope, letter]) => `${scope}xcanary${letter.repeat(4)}`),
  fc.constantFrom(
    'OR',
    'AND',
    'NOT',
    'NEAR(delivery, 9)',
    '*',
    '"',
    "'",
    '(',
    ')',
    '^',
    ':',
    'words:',
    '{heading words}:',
    '-',
    '+',
    '1x*',
    '\u0001',
    '--',
  ),
  fc.string({ maxLength: 8 }),
);
const question = fc
  .array(piece, { minLength: 1, maxLength: 8 })
  .map((pieces) => pieces.join(' ').slice(0, 900))
  .filter((text) => text.trim() !== '' && text.isWellFormed());

/** What of others is in a text. */
function ofOthers(text: string, applicationId: string): string[] {
  return [...canaries]
    .filter(([other, canary]) => other !== applicationId && text.includes(canary))
    .map(([, canary]) => canary);
}

test('a thousand questions find nothing of others', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(11), question, async (which, query) => {
      const applicationId = [...canaries.keys()][which] ?? '';
      const { passages } = await app.local('knowledge.search', { applicationId, query, limit: 50 });
      expect(ofOthers(JSON.stringify(passages), applicationId)).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});

test('and are answered with nothing of others', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(11), question, async (which, asked) => {
      const applicationId = [...canaries.keys()][which] ?? '';
      const { text, sources, passages } = await app.local('knowledge.ask', {
        applicationId,
        question: asked,
      });
      expect(ofOthers(JSON.stringify({ text, sources, passages }), applicationId)).toEqual([]);
    }),
    { numRuns: 100 },
  );
});

test('everybody does find their own, so that the tests above mean something', async () => {
  for (const [applicationId, canary] of canaries) {
    const { passages } = await app.local('knowledge.search', {
      applicationId,
      query: `what says ${canary}?`,
    });
    expect(JSON.stringify(passages)).toContain(canary);
  }
});
