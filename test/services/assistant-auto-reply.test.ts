// Owns: the assistant that answers visitors by itself, without a model: what everybody hears of it, when it falls silent,
// whom it leaves alone. The races are in assistant-races.test.ts.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { startApp, type TestApp, type TestAppOptions } from '../helpers/app.ts';
import {
  createShop,
  configure,
  assistantMessages,
  historyOf,
  waitForAiLog,
  aiLogOf,
  waitForAssistantMessages,
} from '../helpers/assistant.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createVisitor,
  createVisitorByKey,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { replacing } from '../helpers/replacing.ts';

const question = 'Can I return a product, and is shipping refunded?';

let app: TestApp;
let shop: TestOrganization;
let visitor: TestClient;

async function start(options: TestAppOptions = {}): Promise<void> {
  app = await startApp(options);
  shop = await createShop(app, 'shop');
  visitor = createVisitor(app, shop.application);
}

afterEach(async () => {
  vi.restoreAllMocks();
  await app.stop();
});

describe('an answer by itself', () => {
  beforeEach(() => start());

  test("quotes the documents, names them, and is marked as the assistant's for everybody", async () => {
    const operator = await createMember(app, 'shop');
    const [socket, staff] = [await visitor.connect(), await operator.connect()];
    const id = await createConversation(visitor);
    socket.send('room:join', { conversationId: id });
    await socket.receives('room:joined');
    await createMessage(visitor, id, question);
    const [message] = await waitForAssistantMessages(visitor, id, 1);
    expect(message).toMatchObject({
      senderName: 'Robin',
      senderId: shop.application.id,
      contentFormat: 'lexical',
    });
    expect(message?.contentHtml).toContain('within 30 days after delivery');
    expect(message?.contentHtml).toContain('Source: <a href="https://shop.example/refunds#refunds"');
    expect(
      await socket.receives('message:new', ({ senderRole }) => senderRole === 'assistant'),
    ).toMatchObject({
      id: message?.id,
    });
    expect(
      await staff.receives('conversation:activity', ({ lastMessageId }) => lastMessageId === message?.id),
    ).toMatchObject({
      waiting: true,
      preview: expect.stringContaining('You can return any product') as string,
    });
    expect(await historyOf(operator, id)).toContainEqual(
      expect.objectContaining({ id: message?.id, senderRole: 'assistant' }),
    );
  });

  test('leaves the conversation waiting for a person, unread by the visitor, and is no first response', async () => {
    const operator = await createMember(app, 'shop');
    const id = await createConversation(visitor);
    await createMessage(visitor, id, question);
    await waitForAssistantMessages(visitor, id, 1);
    const { body } = await operator.call('GET', `/conversations/${id}`);
    expect(body.conversation).toMatchObject({
      status: 'pending',
      assignedTo: null,
      lastMessage: { senderRole: 'assistant', senderName: 'Robin' },
    });
    expect(body.conversation.waitingSince).not.toBeNull();
    expect((await visitor.call('GET', `/conversations/${id}/unread`)).body.unreadCount).toBe(1);
    const stats = await app.local('organizations.stats', { organization: 'shop' });
    expect(stats.stats.firstResponse.medianSeconds).toBeNull();
  });

  test("is in the log with its source, and that in the visitor's export", async () => {
    const id = await createConversation(visitor);
    await createMessage(visitor, id, question);
    const [entry] = await waitForAiLog(app, 1);
    expect(entry).toMatchObject({
      door: 'auto',
      outcome: 'answered',
      question,
      conversationId: id,
      model: null,
      sources: [{ title: 'Refunds' }],
    });
    const data = await app.local('visitors.export', { visitorId: visitor.id });
    expect(data.assistant).toMatchObject([{ question, outcome: 'answered' }]);
    expect(data.conversations[0]?.messages.map(({ senderRole }) => senderRole)).toEqual([
      'visitor',
      'assistant',
    ]);
  });

  test('what the documents do not say is said once, with a person, and then nothing more', async () => {
    const id = await createConversation(visitor);
    await createMessage(visitor, id, 'Which quantum telescope tastes of strawberries?');
    const [message] = await waitForAssistantMessages(visitor, id, 1);
    expect(message?.contentHtml).toBe(
      '<p>I found nothing about that in our documents. A person will answer you here.</p>',
    );
    await createMessage(visitor, id, question);
    const other = await createConversation(visitor);
    await createMessage(visitor, other, question);
    await waitForAssistantMessages(visitor, other, 1);
    expect(await assistantMessages(visitor, id)).toHaveLength(1);
  });

  test("of the visitor's language, where their words tell it", async () => {
    const id = await createConversation(visitor);
    await createMessage(visitor, id, 'Wie backe ich einen Kuchen mit der Waschmaschine?');
    expect((await waitForAssistantMessages(visitor, id, 1))[0]?.contentHtml).toContain(
      'Dazu habe ich in unseren Unterlagen nichts gefunden.',
    );
  });

  test.each([
    'I want to talk to a human please',
    'Ich möchte mit einem Menschen sprechen.',
    'أود التحدث إلى شخص.',
    'Porozmawiaj z człowiekiem',
  ])('anyone who writes %j gets a person, and no more answers', async (wish) => {
    const id = await createConversation(visitor);
    await createMessage(visitor, id, wish);
    await waitForAssistantMessages(visitor, id, 1);
    await createMessage(visitor, id, question);
    expect(await waitForAiLog(app, 1)).toMatchObject([{ outcome: 'person' }]);
    expect(await assistantMessages(visitor, id)).toHaveLength(1);
  });

  test('anyone who asks by the button gets a person in the same moment, by either transport, once', async () => {
    const socket = await visitor.connect();
    const id = await createConversation(visitor);
    socket.send('message:send', {
      conversationId: id,
      content: question,
      clientMessageId: 'm1',
      person: true,
    });
    await socket.receives('message:ack');
    expect((await assistantMessages(visitor, id)).map(({ contentHtml }) => contentHtml)).toEqual([
      '<p>A person will answer you here.</p>',
    ]);
    await visitor.call('POST', `/conversations/${id}/messages`, { content: question, person: true });
    await visitor.call('POST', `/conversations/${id}/messages`, { content: question });
    const next = await createConversation(visitor);
    await visitor.call('POST', `/conversations/${next}/messages`, { content: question, person: true });
    expect(await assistantMessages(visitor, next)).toHaveLength(1);
    expect(await assistantMessages(visitor, id)).toHaveLength(1);
    const operator = await createMember(app, 'shop');
    expect(
      (await operator.call('GET', `/conversations/${id}`)).body.conversation.waitingSince,
    ).not.toBeNull();
  });

  test('asking for a person where nothing answers by itself stores the message and nothing else', async () => {
    await configure(app, shop.application.id, { 'ai.mode': 'assist' });
    const id = await createConversation(visitor);
    expect(
      (await visitor.call('POST', `/conversations/${id}/messages`, { content: 'hello', person: true }))
        .status,
    ).toBe(201);
    await configure(app, shop.application.id, { 'ai.mode': 'auto' });
    await createMessage(visitor, id, question);
    const other = await createConversation(visitor);
    await createMessage(visitor, other, question);
    await waitForAssistantMessages(visitor, other, 1);
    expect(await assistantMessages(visitor, id)).toEqual([]);
  });

  test('no one is answered with the setting off, in a plan without it, in an active or closed conversation', async () => {
    const operator = await createMember(app, 'shop');
    const active = await createConversation(visitor);
    await operator.call('POST', `/conversations/${active}/accept`);
    await createMessage(visitor, active, question);
    await operator.call('POST', `/conversations/${active}/release`);
    // Given back, but a person was there.
    await createMessage(visitor, active, question);
    await configure(app, shop.application.id, { 'ai.mode': 'assist' });
    const off = await createConversation(visitor);
    await createMessage(visitor, off, question);
    await app.local('organizations.update', { organization: 'shop', plan: 'enterprise' });
    const quiet = await createShop(app, 'free-one');
    await app.local('organizations.update', { organization: 'free-one', plan: 'free' });
    const poor = createVisitor(app, quiet.application);
    const unpaid = await createConversation(poor);
    await createMessage(poor, unpaid, question);
    // Another shop's answer comes after all of them had their turn.
    const busy = await createShop(app, 'busy');
    const other = createVisitor(app, busy.application);
    const answered = await createConversation(other);
    await createMessage(other, answered, question);
    await eventually(async () => expect(await historyOf(other, answered)).toHaveLength(2));
    expect(await assistantMessages(visitor, active)).toEqual([]);
    expect(await assistantMessages(visitor, off)).toEqual([]);
    expect(await historyOf(poor, unpaid)).toHaveLength(1);
  });

  test('conversations of test data too, and only staff who listen for them hear of it', async () => {
    const tester = createVisitorByKey(app, shop.application, 'test');
    const operator = await createMember(app, 'shop');
    const [live, all] = [await operator.connect(), await operator.connect('&mode=all')];
    const id = await createConversation(tester);
    await createMessage(tester, id, question);
    await all.receives('conversation:activity', ({ preview }) =>
      (preview as string).includes('You can return'),
    );
    expect((await historyOf(tester, id)).map(({ senderRole }) => senderRole)).toEqual([
      'visitor',
      'assistant',
    ]);
    expect(live.all('conversation:activity')).toEqual([]);
  });

  test('a greeting is no question: it is left alone, and so are thanks', async () => {
    const id = await createConversation(visitor);
    await createMessage(visitor, id, 'Hello there!');
    await createMessage(visitor, id, '🙂');
    await createMessage(visitor, id, question);
    await waitForAssistantMessages(visitor, id, 1);
    await createMessage(visitor, id, 'Thanks a lot');
    await createMessage(visitor, id, 'Do you deliver to every country of the European Union?');
    expect((await waitForAssistantMessages(visitor, id, 2))[1]?.contentHtml).toContain('Lisbon');
    expect(await aiLogOf(app)).toMatchObject([{ outcome: 'answered' }, { outcome: 'answered' }]);
  });

  test('a switch to auto answers who has just asked, and no one from long ago', async () => {
    await configure(app, shop.application.id, { 'ai.mode': 'assist' });
    const old = await createConversation(visitor);
    await createMessage(visitor, old, question);
    app.clock.advance(16 * 60_000);
    // Something was written since, but it is no question any more.
    await visitor.call(
      'DELETE',
      `/conversations/${old}/messages/${await createMessage(visitor, old, 'Wait')}`,
    );
    const recent = await createConversation(visitor);
    await createMessage(visitor, recent, question);
    await configure(app, shop.application.id, { 'ai.mode': 'auto' });
    await waitForAssistantMessages(visitor, recent, 1);
    expect(await assistantMessages(visitor, old)).toEqual([]);
  });

  test('a change of one organization has no one else’s applications and conversations looked at', async () => {
    const looks: string[] = [];
    const { store } = app.service.engine;
    const read = store.read.bind(store);
    vi.spyOn(store, 'read').mockImplementation((work) =>
      read(({ repositories }) => {
        const { aiLog } = repositories;
        const watched: Partial<typeof aiLog> = {
          automaticOrganizations: (id) => {
            looks.push(`organizations ${id ?? 'of all'}`);
            return aiLog.automaticOrganizations(id);
          },
          unanswered: (after, limit, id) => {
            looks.push(`conversations ${id ?? 'of all'}`);
            return aiLog.unanswered(after, limit, id);
          },
        };
        return work({ repositories: replacing(repositories, 'aiLog', { ...aiLog, ...watched }) });
      }),
    );
    const other = await createShop(app, 'other');
    await configure(app, other.application.id, { 'ai.mode': 'off' });
    await app.local('organizations.update', { organization: 'other', name: 'Other' });
    await app.local('organizations.update', { organization: 'shop', name: 'Shop' });
    const own = [other, shop].flatMap(({ id }) => [`organizations ${id}`, `conversations ${id}`]);
    // Where a notice comes late, the other one is switched off by then, and has no conversations to be looked at.
    const needed = own.filter((look) => look !== `conversations ${other.id}`);
    await eventually(() => expect(looks).toEqual(expect.arrayContaining(needed)));
    expect(looks.filter((look) => !own.includes(look))).toEqual([]);
    // The one that was switched off is answered no more, the other one still is.
    const [theirs, ours] = [createVisitor(app, other.application), visitor];
    const unanswered = await createConversation(theirs);
    await createMessage(theirs, unanswered, question);
    const id = await createConversation(ours);
    await createMessage(ours, id, question);
    await waitForAssistantMessages(ours, id, 1);
    expect(await assistantMessages(theirs, unanswered)).toEqual([]);
  });

  test('a switch to auto answers behind five hundred that wait for no answer', async () => {
    await configure(app, shop.application.id, { 'ai.mode': 'assist' });
    const recent = await createConversation(visitor);
    await createMessage(visitor, recent, question);
    const columns = (await rowsOf(app, "select name from pragma_table_info('conversations')"))
      .map(({ name }) => String(name))
      .filter((name) => name !== 'id');
    const copied = columns.map((name) => (name === 'updated_at' ? 'c.updated_at - 1' : `c.${name}`));
    await rowsOf(
      app,
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 500)
       insert into conversations (id, ${columns.join()})
       select lower(hex(randomblob(16))), ${copied.join()} from n, conversations as c where c.id = '${recent}'`,
    );
    await configure(app, shop.application.id, { 'ai.mode': 'auto' });
    expect(await waitForAssistantMessages(visitor, recent, 1)).toHaveLength(1);
  });

  test('no budget left: a person, said once', async () => {
    await app.stop();
    await start({ flags: { limitAiVisitor: '1/m' } });
    const [first, second] = [await createConversation(visitor), await createConversation(visitor)];
    await createMessage(visitor, first, question);
    await waitForAssistantMessages(visitor, first, 1);
    await createMessage(visitor, second, question);
    expect((await waitForAssistantMessages(visitor, second, 1))[0]?.contentHtml).toBe(
      "<p>I can't answer at the moment. A person will answer you here.</p>",
    );
    expect((await aiLogOf(app))[0]).toMatchObject({ outcome: 'failed', model: null });
  });

  /** Asks as so many new visitors, all at once. */
  async function rush(visitors: number): Promise<{ person: TestClient; id: string }[]> {
    const asked = [];
    for (let count = 0; count < visitors; count += 1) {
      const person = createVisitor(app, shop.application);
      asked.push({ person, id: await createConversation(person) });
    }
    await Promise.all(asked.map(({ person, id }) => createMessage(person, id, question)));
    return asked;
  }

  test('a rush of a second: the others wait for the limit, and are answered', async () => {
    await app.stop();
    await start({ flags: { limitAiOrganization: '2/s' } });
    const asked = await rush(5);
    for (const answered of [2, 4, 5]) {
      await waitForAiLog(app, answered);
      app.clock.advance(1_100);
    }
    expect((await aiLogOf(app)).map(({ outcome }) => outcome)).toEqual(Array(5).fill('answered'));
    for (const { person, id } of asked) await waitForAssistantMessages(person, id, 1);
  });

  test('a rush of more than ten seconds: who would wait longer is told that a person answers', async () => {
    await app.stop();
    await start({ flags: { limitAiOrganization: '1/s' } });
    await rush(13);
    for (let answered = 1; answered <= 10; answered += 1) {
      await eventually(async () => expect((await aiLogOf(app)).length).toBeGreaterThanOrEqual(answered));
      app.clock.advance(1_100);
    }
    const outcomes = (await waitForAiLog(app, 13)).map(({ outcome }) => outcome);
    expect(new Set(outcomes)).toEqual(new Set(['answered', 'failed']));
    expect(outcomes.filter((outcome) => outcome === 'answered').length).toBeGreaterThanOrEqual(9);
  });
});
