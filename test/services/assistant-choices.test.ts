// Titles that the assistant offers where it is not sure what was meant: in its message and in ai/answer, and what
// follows when a visitor chooses one, none, or something that was never offered.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AiChoice } from '../../src/protocol/entities.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  aiLogOf,
  createDocument,
  createShop,
  historyOf,
  waitForAssistantMessages,
} from '../helpers/assistant.ts';
import { rowsOf } from '../helpers/database.ts';
import {
  createConversation,
  createMessage,
  createVisitor,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';

/** Near enough to offer, and too vague to answer. */
const vague = 'Where is your warehouse for parcels?';

let app: TestApp;
let shop: TestOrganization;
let visitor: TestClient;

beforeEach(async () => {
  app = await startApp();
  shop = await createShop(app, 'shop');
  visitor = createVisitor(app, shop.application);
});
afterEach(() => app.stop());

interface Offering {
  readonly id: string;
  readonly content: string;
  readonly contentHtml: string | null;
  readonly choices?: readonly AiChoice[];
  readonly choice?: string;
}

const assistantSays = async (conversationId: string, count: number): Promise<Offering[]> =>
  (await waitForAssistantMessages(visitor, conversationId, count)) as readonly Offering[] as Offering[];

async function offered(): Promise<{ id: string; choices: readonly AiChoice[] }> {
  const id = await createConversation(visitor);
  await createMessage(visitor, id, vague);
  const [message] = await assistantSays(id, 1);
  return { id, choices: message?.choices ?? [] };
}

describe('in a conversation', () => {
  test('the titles come in the message, live and in the history, and in its text for other clients', async () => {
    const socket = await visitor.connect();
    const id = await createConversation(visitor);
    socket.send('room:join', { conversationId: id });
    await socket.receives('room:joined');
    await createMessage(visitor, id, vague);
    const live = await socket.receives('message:new', ({ senderRole }) => senderRole === 'assistant');
    const titles = (live['choices'] as AiChoice[]).map(({ title }) => title);
    expect(titles).toContain('Delivery');
    expect(titles.length).toBeLessThanOrEqual(3);
    const [message] = await assistantSays(id, 1);
    expect(message?.choices).toEqual(live['choices']);
    expect(message?.contentHtml).toContain('Did you mean one of these?');
    for (const title of titles) expect(message?.contentHtml).toContain(title);
    expect(await aiLogOf(app)).toMatchObject([{ outcome: 'offered', door: 'auto' }]);
  });

  test('the one chosen is quoted, whether it is chosen over REST or over the socket', async () => {
    const { id, choices } = await offered();
    const chosen = choices.find(({ title }) => title === 'Delivery');
    const { status, body } = await visitor.call('POST', `/conversations/${id}/messages`, {
      content: 'Delivery',
      choice: chosen?.id,
    });
    expect(status).toBe(201);
    expect(body.message).toMatchObject({ choice: chosen?.id });
    expect((await assistantSays(id, 2))[1]?.contentHtml).toContain('warehouse in Lisbon');

    const other = choices.find(({ title }) => title !== 'Delivery') ?? chosen;
    const socket = await visitor.connect();
    socket.send('message:send', {
      conversationId: id,
      content: other?.title,
      clientMessageId: 'chosen',
      choice: other?.id,
    });
    await socket.receives('message:ack');
    expect((await assistantSays(id, 3))[2]?.contentHtml).toContain(other?.title);
    expect((await historyOf(visitor, id)).map((one) => (one as Offering).choice)).toContain(other?.id);
    expect((await aiLogOf(app)).map(({ outcome }) => outcome)).toEqual(['answered', 'answered', 'offered']);
    expect(await rowsOf(app, `select chosen from ai_log where outcome = 'offered'`)).toEqual([
      { chosen: other?.id },
    ]);
  });

  test('none of them is a wish for a person', async () => {
    const { id } = await offered();
    await visitor.call('POST', `/conversations/${id}/messages`, { content: 'None of these', person: true });
    expect((await assistantSays(id, 2))[1]?.contentHtml).toContain('A person will answer you here.');
    await createMessage(visitor, id, 'Can I return a product?');
    expect(await rowsOf(app, `select chosen from ai_log where outcome = 'offered'`)).toEqual([
      { chosen: null },
    ]);
  });

  test('a passage of another application, or one that is no more, is as if its words were asked', async () => {
    const other = await createShop(app, 'other');
    const foreign = await createDocument(app, other.application.id, 'secret.md', '# Delivery\n\nCANARY.');
    const [row] = await rowsOf(app, `select id from knowledge_passages where document_id = '${foreign}'`);
    const { id } = await offered();
    await visitor.call('POST', `/conversations/${id}/messages`, {
      content: 'Do you deliver to every country of the European Union?',
      choice: row?.['id'],
    });
    const said = (await assistantSays(id, 2))[1];
    expect(said?.contentHtml).toContain('Lisbon');
    expect(JSON.stringify(said)).not.toContain('CANARY');
  });

  test('a deleted message offers nothing, and an edited one chooses nothing', async () => {
    const { id, choices } = await offered();
    const { body } = await visitor.call('POST', `/conversations/${id}/messages`, {
      content: 'Delivery',
      choice: choices[0]?.id,
    });
    const { id: messageId } = body.message as { id: string };
    await visitor.call('PATCH', `/conversations/${id}/messages/${messageId}`, { content: 'thanks' });
    const stored = async (): Promise<unknown[]> =>
      await rowsOf(app, `select choice from messages where id = '${messageId}'`);
    expect(await stored()).toEqual([{ choice: null }]);
  });

  test('a choice that is no id is refused', async () => {
    const id = await createConversation(visitor);
    const { status } = await visitor.call('POST', `/conversations/${id}/messages`, {
      content: 'Delivery',
      choice: 'first',
    });
    expect(status).toBe(400);
  });
});

describe('in ai/answer', () => {
  test('titles come instead of an answer, and naming one gets its passage', async () => {
    const { body } = await visitor.call('POST', '/ai/answer', { question: vague });
    expect(body).toMatchObject({ answered: false, sources: [] });
    const choices = body.choices as AiChoice[];
    const chosen = choices.find(({ title }) => title === 'Delivery');
    const second = await visitor.call('POST', '/ai/answer', { question: vague, choice: chosen?.id });
    expect(second.body).toMatchObject({ answered: true, sources: [{ title: 'Delivery' }] });
    expect(second.body.text).toContain('**Delivery**');
    expect(second.body.choices).toBeUndefined();
  });

  test('an answer has none, and neither has a refusal', async () => {
    for (const question of [
      'Can I return a product, and is shipping refunded?',
      'Which quantum telescope tastes of strawberries?',
    ])
      expect((await visitor.call('POST', '/ai/answer', { question })).body.choices).toBeUndefined();
  });
});
