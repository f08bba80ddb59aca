// Owns: that the demo's assistant understands what its first visitors ask: each question is answered from the right
// passage, or the right title is offered. The evaluation measures the rest.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { demoDocuments } from '../../src/cli/demo-documents.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { createOrganization } from '../helpers/fixtures.ts';

let app: TestApp;
let applicationId: string;

beforeAll(async () => {
  app = await startApp();
  applicationId = (await createOrganization(app, 'tea')).application.id;
  for (const document of demoDocuments) await app.local('knowledge.add', { applicationId, ...document });
});
afterAll(() => app.stop());

/** The titles that a visitor is shown: of the answer, or to choose from. */
async function titlesFor(question: string): Promise<readonly string[]> {
  const { answered, text, choices } = await app.local('knowledge.ask', { applicationId, question });
  return answered ? [/^\*\*(.*)\*\*/.exec(text)?.[1] ?? ''] : (choices ?? []).map(({ title }) => title);
}

test.each([
  ["can I send it back if I don't like it", ['Returns', 'Money back']],
  ['refund policy', ['Money back', 'Returns']],
  ['my pot came broken', ['Broken on the way']],
  ['do you deliver to Norway and how long does it take', ['How long it takes']],
  ['which tea helps me sleep', ['Caffeine']],
])('%s', async (question, right) => {
  const shown = await titlesFor(question);
  expect(shown.filter((title) => right.includes(title))).not.toEqual([]);
});

test('what is the meaning of life is shown no title', async () => {
  expect(await titlesFor('what is the meaning of life')).toEqual([]);
});
