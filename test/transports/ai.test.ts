// Owns: the assistant's REST transports without a model: who is answered, from what, what is refused, budgets, the log, and
// that nothing passes from one tenant to another. With a model: ai-model.test.ts.
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp, type TestAppOptions } from '../helpers/app.ts';
import { createDocument, createShop, configure } from '../helpers/assistant.ts';
import type { Reply } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createApplication,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const question = 'Can I return a product, and is shipping refunded?';

let app: TestApp;
let shop: TestOrganization;
let visitor: TestClient;
let operator: TestClient;
let admin: TestClient;

async function start(options: TestAppOptions = {}): Promise<void> {
  app = await startApp(options);
  shop = await createShop(app, 'shop');
  visitor = createVisitor(app, shop.application);
  operator = await createMember(app, 'shop');
  admin = await createMember(app, 'shop', 'admin');
}

const ask = (asked: string, who: TestClient = visitor): Promise<Reply> =>
  who.call('POST', '/ai/answer', { question: asked });
const asAdmin = (method: string, path: string, body?: unknown): Promise<Reply> =>
  fetch(`${app.url}/api/v1/admin${path}`, {
    method,
    headers: { ...admin.headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).then(async (response) => {
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as unknown };
  });

describe('without a model', () => {
  beforeAll(() => start());
  afterAll(() => app.stop());

  test('an answer is a quotation with its source', async () => {
    const { status, body } = await ask(question);
    expect(status).toBe(200);
    expect(Object.keys(body).toSorted()).toEqual(['answered', 'sources', 'text']);
    expect(body).toMatchObject({
      answered: true,
      sources: [{ title: 'Refunds', url: 'https://shop.example/refunds#refunds' }],
    });
    expect(body.text).toContain('You can return any product within 30 days after delivery.');
  });

  test('what the documents do not say is refused in words, not with an error', async () => {
    const { status, body } = await ask('Which quantum telescope tastes of strawberries?');
    expect(status).toBe(200);
    expect(body).toEqual({
      text: 'I found nothing about that in our documents.',
      sources: [],
      answered: false,
    });
    expect((await ask('Wie backe ich einen Kuchen mit der Waschmaschine?')).body.text).toContain(
      'Unterlagen',
    );
  });

  test.each([undefined, '', '   ', 5, null, 'x'.repeat(1_001), ['x']])('%j is no question', async (asked) => {
    const reply = await visitor.call('POST', '/ai/answer', { question: asked });
    expect(reply.status).toBe(400);
    expect(reply.body.error).toBe('bad_request');
  });

  test.each([
    '"',
    '*',
    'AND OR NOT',
    'NEAR(a b)',
    'text:"x"',
    '\u0000\u202e\ud800',
    '🙂'.repeat(400),
    "'; drop table messages; --",
    '<script>',
  ])('%j is a question like any other', async (asked) => {
    const reply = await ask(asked);
    expect([200, 400]).toContain(reply.status);
    expect(reply.body.answered ?? false).toBe(false);
  });

  test('what a document holds is text: its Markdown, HTML and links do nothing', async () => {
    const { id } = await createApplication(app, 'shop', 'evil-documents.example');
    await configure(app, id, { 'ai.mode': 'auto' });
    await createDocument(
      app,
      id,
      'evil',
      'Zebra crossings ![x](https://evil.example/?q=1) [here](javascript:alert(1)) &lt;img src=x onerror=alert(1)&gt; are striped.',
      'javascript:alert(1)',
    ).catch(() =>
      createDocument(
        app,
        id,
        'evil',
        'Zebra crossings ![x](https://evil.example/?q=1) [here](javascript:alert(1)) &lt;img src=x onerror=alert(1)&gt; are striped.',
      ),
    );
    const { body } = await ask(
      'Are zebra crossings striped?',
      createVisitor(app, {
        ...shop.application,
        id,
        domain: 'evil-documents.example',
        origin: 'https://evil-documents.example',
      }),
    );
    expect(body.answered).toBe(true);
    expect(body.text).not.toMatch(/(?<!\\)!\[|(?<!\\)\]\(|(?<!\\)<img/);
  });

  test('another application of the same organization knows none of it, and neither does another organization', async () => {
    const second = await createApplication(app, 'shop', 'second.example');
    await configure(app, second.id, { 'ai.mode': 'auto' });
    const other = await createOrganization(app, 'other');
    await configure(app, other.application.id, { 'ai.mode': 'auto' });
    for (const application of [second, other.application]) {
      const { body } = await ask(question, createVisitor(app, application));
      expect(body).toMatchObject({ answered: false, sources: [] });
    }
  });

  test('off answers no one, assist anyone who asks, and without the plan there is nothing', async () => {
    const quiet = await createShop(app, 'quiet', 'assist');
    const [person, member] = [createVisitor(app, quiet.application), await createMember(app, 'quiet')];
    const backend = createVisitorByKey(app, quiet.application);
    for (const asking of [person, backend]) expect((await ask(question, asking)).body.answered).toBe(true);
    const id = await createConversation(person);
    await createMessage(person, id, question);
    expect(await member.call('POST', `/conversations/${id}/ai/reply`)).toMatchObject({
      status: 200,
      body: { answered: true },
    });
    await configure(app, quiet.application.id, { 'ai.mode': 'off' });
    expect(await member.call('POST', `/conversations/${id}/ai/reply`)).toMatchObject({
      status: 403,
      body: { error: 'forbidden' },
    });
    for (const asking of [person, backend])
      expect(await ask(question, asking)).toMatchObject({ status: 403, body: { error: 'forbidden' } });
    await configure(app, quiet.application.id, { 'ai.mode': 'auto' });
    expect((await ask(question, person)).status).toBe(200);
    await app.local('organizations.update', { organization: 'quiet', plan: 'free' });
    const plan = { status: 403, body: { error: 'plan_limit' } };
    expect(await ask(question, backend)).toMatchObject(plan);
    expect(await ask(question, person)).toMatchObject(plan);
    expect(await member.call('POST', `/conversations/${id}/ai/reply`)).toMatchObject(plan);
    expect(await member.call('POST', '/ai/rewrite', { text: 'x', style: 'improve' })).toMatchObject(plan);
    await expect(
      app.local('knowledge.ask', { applicationId: quiet.application.id, question }),
    ).rejects.toMatchObject({
      code: 'plan_limit',
    });
  });

  test('a draft comes from what the visitor asked since the last answer, and from no note', async () => {
    const id = await createConversation(visitor);
    await createMessage(visitor, id, 'Which quantum telescope tastes of strawberries?');
    await operator.call('POST', `/conversations/${id}/accept`);
    expect((await operator.call('POST', `/conversations/${id}/ai/reply`)).body).toMatchObject({
      answered: false,
    });
    await createMessage(operator, id, 'None that I know of.');
    await createMessage(visitor, id, 'Can I return a product?');
    await createMessage(visitor, id, 'And is shipping refunded?');
    await operator.call('POST', `/conversations/${id}/messages`, {
      content: 'Do you deliver parcels from Lisbon?',
      internal: true,
    });
    const { body } = await operator.call('POST', `/conversations/${id}/ai/reply`);
    expect(body).toMatchObject({ answered: true, sources: [{ title: 'Refunds' }] });
    const entries = (await app.local('ai.log', { organization: 'shop' })).entries;
    expect(
      JSON.stringify((await app.local('visitors.export', { visitorId: visitor.id })).assistant),
    ).not.toContain('And is shipping');
    expect(entries[0]).toMatchObject({
      door: 'reply',
      question: 'Can I return a product?\nAnd is shipping refunded?',
      conversationId: id,
    });
  });

  test("a draft of nothing, of deleted messages, and of someone else's conversation", async () => {
    const id = await createConversation(visitor);
    expect((await operator.call('POST', `/conversations/${id}/ai/reply`)).body).toMatchObject({
      answered: false,
      sources: [],
    });
    const message = await createMessage(visitor, id, `CANARY ${question}`);
    expect((await operator.call('POST', `/conversations/${id}/ai/reply`)).body.answered).toBe(true);
    await visitor.call('DELETE', `/conversations/${id}/messages/${message}`);
    expect((await operator.call('POST', `/conversations/${id}/ai/reply`)).body.answered).toBe(false);
    expect(JSON.stringify(await rowsOf(app, "select * from ai_log where question like '%CANARY%'"))).toBe(
      '[]',
    );
    const foreign = await createMember(app, 'other');
    expect((await foreign.call('POST', `/conversations/${id}/ai/reply`)).status).toBe(404);
    expect((await operator.call('POST', `/conversations/${randomUUID()}/ai/reply`)).status).toBe(404);
  });

  test('rewriting needs a model, and a language to translate into', async () => {
    expect(await operator.call('POST', '/ai/rewrite', { text: 'hi', style: 'improve' })).toMatchObject({
      status: 409,
      body: { error: 'ai_model_required' },
    });
    expect((await operator.call('POST', '/ai/rewrite', { text: 'hi', style: 'translate' })).status).toBe(400);
    expect((await operator.call('POST', '/ai/rewrite', { text: 'hi', style: 'sarcastic' })).status).toBe(400);
    expect(
      (await operator.call('POST', '/ai/rewrite', { text: 'x'.repeat(5_001), style: 'formal' })).status,
    ).toBe(400);
  });

  test('a trial shows passages and how well they fit', async () => {
    const reply = await asAdmin('POST', '/knowledge/ask', { applicationId: shop.application.id, question });
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({
      answered: true,
      model: null,
      passages: [{ title: 'Refunds' }, {}],
      coverage: expect.any(Number) as number,
    });
    const foreign = (await createOrganization(app, 'third')).application.id;
    expect((await asAdmin('POST', '/knowledge/ask', { applicationId: foreign, question })).status).toBe(404);
  });

  test("the log is an admin's, of the own organization, in pages, by application", async () => {
    const other = await createShop(app, 'fourth');
    await ask(question, createVisitor(app, other.application));
    const own = (await asAdmin('GET', '/ai-log?limit=2')).body as { entries: unknown[]; total: number };
    expect(own.entries).toHaveLength(2);
    expect(own.total).toBeGreaterThan(2);
    expect((await asAdmin('GET', '/ai-log?organization=fourth')).status).toBe(404);
    expect((await asAdmin('GET', `/ai-log?applicationId=${other.application.id}`)).status).toBe(404);
    expect((await app.local('ai.log', { applicationId: other.application.id })).entries).toMatchObject([
      { door: 'answer', question },
    ]);
    const refused = await fetch(`${app.url}/api/v1/admin/ai-log`, { headers: operator.headers });
    expect(refused.status).toBe(403);
  });

  test('a visitor who only asked has their questions handed out, and erased', async () => {
    const asker = createVisitor(app, shop.application);
    await ask(`CANARY-ASKED ${question}`, asker);
    const data = await app.local('visitors.export', { visitorId: asker.id });
    expect(data.assistant).toMatchObject([{ question: `CANARY-ASKED ${question}`, conversationId: null }]);
    await app.local('visitors.erase', { visitorId: asker.id });
    expect(await rowsOf(app, "select * from ai_log where question like '%CANARY-ASKED%'")).toEqual([]);
  });

  test('the process log has no word of any question or answer', () => {
    expect(app.logged.join('')).not.toMatch(/CANARY|return a product|strawberries|within 30 days/);
  });
});

describe('budgets', () => {
  afterEach(() => app.stop());

  test('of one visitor, and of one organization, with the cause; everything else goes on', async () => {
    await start({ flags: { limitAiVisitor: '2/m', limitAiOrganization: '3/h' } });
    expect((await ask(question)).status).toBe(200);
    expect((await ask(question)).status).toBe(200);
    const refused = await ask(question);
    expect(refused).toMatchObject({
      status: 429,
      body: { error: 'rate_limit_exceeded', cause: 'per_visitor' },
    });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    const next = createVisitor(app, shop.application);
    expect((await ask(question, next)).status).toBe(200);
    expect(await ask(question, next)).toMatchObject({ status: 429, body: { cause: 'per_organization' } });
    expect((await visitor.call('POST', '/conversations', {})).status).toBe(201);
    const other = await createShop(app, 'other');
    expect((await ask(question, createVisitor(app, other.application))).status).toBe(200);
    app.clock.advance(61 * 60_000);
    expect((await ask(question)).status).toBe(200);
  });

  test("an admin's search, which asks the model for a vector, is a question", async () => {
    await start({ flags: { limitAiVisitor: '1/h' } });
    const search = () =>
      admin.call('POST', '/../admin/knowledge/search', {
        applicationId: shop.application.id,
        query: 'returns',
      });
    expect((await search()).status).toBe(200);
    expect(await search()).toMatchObject({ status: 429, body: { cause: 'per_visitor' } });
  });

  test("a trial from the command line is no one's budget", async () => {
    await start({ flags: { limitAiVisitor: '1/h', limitAiOrganization: '1/h' } });
    for (let round = 0; round < 3; round++)
      expect(
        (await app.local('knowledge.ask', { applicationId: shop.application.id, question })).answered,
      ).toBe(true);
  });
});

describe('retention', () => {
  afterEach(() => app.stop());

  test('removes what was asked, of live and test data, when it is older than the organization keeps', async () => {
    await start();
    await ask('old question');
    app.clock.step(366 * 86_400_000);
    await ask('young question');
    await app.local('retention.purge', { dryRun: true, force: true });
    expect((await app.local('ai.log', { organization: 'shop' })).total).toBe(2);
    await app.local('retention.purge', { force: true });
    expect((await app.local('ai.log', { organization: 'shop' })).entries).toMatchObject([
      { question: 'young question' },
    ]);
  });
});
