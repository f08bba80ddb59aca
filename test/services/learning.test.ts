// What the assistant learns from the team: the list of unanswered questions, replies and questions that a person kept,
// and that nothing is learnt by itself.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findPersonal } from '../../src/services/assistant/knowledge/learning.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { createShop } from '../helpers/assistant.ts';
import { rowsOf } from '../helpers/database.ts';
import { createVisitor, type TestClient, type TestOrganization } from '../helpers/fixtures.ts';
import {
  findCandidates,
  measureCandidates,
} from '../../src/services/assistant/knowledge/retrieval/retrieval.ts';

let app: TestApp;
let shop: TestOrganization;
let visitor: TestClient;
let applicationId: string;

beforeAll(async () => {
  app = await startApp();
  shop = await createShop(app, 'shop', 'assist');
  applicationId = shop.application.id;
  visitor = createVisitor(app, shop.application);
});
afterAll(() => app.stop());

const ask = async (question: string) => (await visitor.call('POST', '/ai/answer', { question })).body;
const gaps = async () => (await app.local('knowledge.gaps', { applicationId })).gaps;

test('unanswered questions are grouped by likeness, the most frequent first', async () => {
  for (const question of [
    'Do you gift wrap parcels?',
    'Which quantum telescopes do you stock?',
    'do you gift wrap my parcel',
    'Can you gift-wrap a parcel?',
    'Can I return a product, and is shipping refunded?',
  ])
    await ask(question);
  const [first, second, ...rest] = await gaps();
  expect(first).toMatchObject({ question: 'Can you gift-wrap a parcel?', count: 3 });
  expect(second).toMatchObject({
    question: 'Which quantum telescopes do you stock?',
    count: 1,
    chosen: null,
  });
  expect(rest).toEqual([]);
});

test('a visitor who asks a thousand times, and chooses each time, teaches nothing', async () => {
  const before = await ask('Do you gift wrap?');
  const [passage] = await rowsOf(app, 'select id from knowledge_passages limit 1');
  const columns = (await rowsOf(app, "select name from pragma_table_info('ai_log')"))
    .map(({ name }) => String(name))
    .filter((name) => name !== 'id' && name !== 'chosen');
  await rowsOf(
    app,
    `with recursive series(value) as (select 1 union all select value + 1 from series where value < 1000)
     insert into ai_log (id, chosen, ${columns.join(', ')})
     select 'copy-' || value, '${String(passage?.['id'])}', ${columns.map((name) => `a.${name}`).join(', ')}
     from ai_log a, series where a.question = 'Do you gift wrap?'`,
  );
  expect(await ask('Do you gift wrap?')).toEqual(before);
  expect(await rowsOf(app, 'select * from knowledge_questions')).toEqual([]);
  await rowsOf(app, "delete from ai_log where id like 'copy-%'");
});

test('a kept reply answers like questions, and the gap is closed', async () => {
  const [gap] = await gaps();
  const { id, title } = await app.local('knowledge.keepReply', {
    applicationId,
    question: 'Do you wrap gifts?',
    reply: 'We wrap any parcel as a gift for 3 euros: tick Gift wrap in the cart.',
    settles: gap?.entries ?? [],
  });
  expect(title).toBe('Do you wrap gifts?');
  expect(await ask('Do you gift wrap my parcels?')).toMatchObject({ answered: true, sources: [{ id }] });
  expect((await gaps()).map(({ question }) => question)).not.toContain(gap?.question);
  // It has weights of its own in the order: a title that is a question resembles every question.
  const found = await findCandidates(app.service, applicationId, 'Do you gift wrap my parcels?', []);
  const replies = found === null ? [] : measureCandidates(found).filter(({ isReply }) => isReply);
  expect(replies.map(({ candidate }) => candidate.document_id)).toEqual([id]);
});

test('names and numbers of people are pointed out before anything is kept', async () => {
  const reply = 'Hello Mary, we sent it to mary@example.com, call +49 30 1234567.';
  expect(findPersonal(reply)).toEqual(['mary@example.com', '+49 30 1234567', 'Hello Mary']);
  expect(findPersonal('We wrap any parcel for 3 euros within 30 days, from 9 to 17.')).toEqual([]);
  const input = { applicationId, question: 'Where is my parcel?', reply };
  await expect(app.local('knowledge.keepReply', input)).rejects.toMatchObject({
    code: 'bad_request',
    context: { details: [{ path: 'reply', message: expect.stringContaining('mary@example.com') as string }] },
  });
  expect((await app.local('knowledge.keepReply', { ...input, reviewed: true })).title).toBe(
    'Where is my parcel?',
  );
});

test('a kept question is a further heading of its passage, until it is removed', async () => {
  const question = 'My doodad is wonky, what now?';
  expect((await ask(question)).answered).toBe(false);
  const { passages } = await app.local('knowledge.search', { applicationId, query: 'return a product' });
  const passageId = passages[0]?.id ?? '';
  const kept = await app.local('knowledge.keepQuestion', { applicationId, passageId, question });
  const found = await app.local('knowledge.search', { applicationId, query: 'wonky doodad' });
  expect(found.passages[0]).toMatchObject({ id: passageId });
  expect(await ask('my doodad is wonky')).toMatchObject({ answered: true, sources: [{ title: 'Refunds' }] });
  const { documentId } = kept;
  expect((await app.local('knowledge.questions', { documentId })).questions).toEqual([kept]);

  // The passages are made anew, and the question stays with the heading.
  const { content, source, url } = await app.local('knowledge.get', { documentId });
  await app.local('knowledge.add', { applicationId, source, url, content: `${content} Thank you.` });
  expect((await ask('my doodad is wonky')).answered).toBe(true);

  await app.local('knowledge.forgetQuestion', { documentId, questionId: kept.id });
  expect((await app.local('knowledge.search', { applicationId, query: 'wonky doodad' })).passages).toEqual(
    [],
  );
});

test("another organization's passage and entries can't be named", async () => {
  const other = await createShop(app, 'other', 'assist');
  const { passages } = await app.local('knowledge.search', {
    applicationId: other.application.id,
    query: 'return a product',
  });
  await expect(
    app.local('knowledge.keepQuestion', {
      applicationId,
      passageId: passages[0]?.id ?? '',
      question: 'Stolen?',
    }),
  ).rejects.toMatchObject({ code: 'not_found' });
  await createVisitor(app, other.application).call('POST', '/ai/answer', { question: 'Any unicorns here?' });
  const [entry] = await rowsOf(app, `select id from ai_log where application_id = '${other.application.id}'`);
  await app.local('knowledge.settleGaps', { applicationId, settles: [String(entry?.['id'])] });
  const list = await app.local('knowledge.gaps', { applicationId: other.application.id });
  expect(list.gaps).toHaveLength(1);
});
