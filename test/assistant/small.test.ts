// Owns: an organization's first minute with the assistant: five short documents, the questions that everybody tries
// first, and what they don't say. The evaluation measures the rest.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { createDocument } from '../helpers/assistant.ts';
import { createOrganization } from '../helpers/fixtures.ts';

let app: TestApp;
let applicationId: string;

beforeAll(async () => {
  app = await startApp();
  applicationId = (await createOrganization(app, 'acme')).application.id;
  await app.local('organizations.update', { organization: 'acme', plan: 'premium' });
  await createDocument(
    app,
    applicationId,
    'shipping.md',
    '# Shipping\n\nWe ship within 3 business days. Shipping costs 5 euros.',
  );
  await createDocument(
    app,
    applicationId,
    'returns.md',
    '# Returns\n\nYou can return items within 30 days of purchase for a full refund.',
  );
  await createDocument(
    app,
    applicationId,
    'hours.md',
    '# Opening hours\n\nWe are open Monday to Friday, 9 to 17.',
  );
  await createDocument(app, applicationId, 'warranty.md', 'The warranty lasts two years.');
  await createDocument(
    app,
    applicationId,
    'password.md',
    '# Reset your password\n\nChoose Forgot password and follow the link in the mail.',
  );
});
afterAll(() => app.stop());

const ask = (question: string) => app.local('knowledge.ask', { applicationId, question });

test.each([
  ['How long does shipping take?', '3 business days'],
  ['How much does shipping cost?', '5 euros'],
  ['What is the shipping time?', '3 business days'],
  ['What is your return policy?', '30 days'],
  ['Can I return an item?', '30 days'],
  ['When are you open?', '9 to 17'],
  ['What are your opening hours?', '9 to 17'],
  ['How long is the warranty?', 'two years'],
  ['I forgot my password', 'follow the link'],
])('%s', async (question, answer) => {
  const { answered, text } = await ask(question);
  expect(text).toContain(answer);
  expect(answered).toBe(true);
});

test('How do I get a refund? is answered with a question back, whose first title is the right one', async () => {
  const { answered, text, choices } = await ask('How do I get a refund?');
  expect(answered).toBe(false);
  expect(choices?.[0]?.title).toBe('Returns');
  expect(text).toContain('- Returns');
});

test.each([
  'Do you offer gift cards?',
  'What is the capital of France?',
  'Who is the CEO?',
  'What is your privacy policy?',
  'What are the terms?',
])('%s is refused', async (question) => expect((await ask(question)).answered).toBe(false));
