// The interface as a stranger reads it: exact shapes and the words of refusals that no
// other test holds. Owns what a client sees through the transports; rules have their own tests.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitorByKey,
  type TestClient,
  type TestMember,
} from '../helpers/fixtures.ts';

let app: TestApp;
let visitor: TestClient;
let operator: TestMember;
let conversationId: string;

beforeAll(async () => {
  app = await startApp();
  const { application } = await createOrganization(app, 'acme');
  visitor = createVisitorByKey(app, application);
  operator = await createMember(app, 'acme');
  conversationId = await createConversation(visitor, 'My order');
});

afterAll(async () => {
  await app.stop();
});

describe('a refused field is told what it must be', () => {
  it.each([
    ['a field that is missing', '/messages', {}, 'content', 'must be given, as a string'],
    ['a value of another type', '/messages', { content: 5 }, 'content', 'must be a string'],
    [
      'null for an optional field',
      '/messages',
      { content: 'x', contentFormat: null },
      'contentFormat',
      'must be plain or lexical',
    ],
    [
      'a choice that is none',
      '/messages',
      { content: 'x', contentFormat: 'html' },
      'contentFormat',
      'must be plain or lexical',
    ],
    ['an id that is none', '/read', { messageId: 'x' }, 'messageId', 'must be a UUID'],
  ])('%s', async (_case, path, body, field, words) => {
    const reply = await visitor.call('POST', `/conversations/${conversationId}${path}`, body);
    expect(reply.status).toBe(400);
    expect(reply.body).toEqual({
      error: 'bad_request',
      message: `The field ${field} is not valid: ${words}.`,
      details: [{ path: field, message: words }],
    });
  });

  it('a length, by its number', async () => {
    const long = await visitor.call('POST', '/conversations', { subject: 'x'.repeat(501) });
    expect(long.body.details).toEqual([{ path: 'subject', message: 'must have at most 500 characters' }]);
  });

  it('every field of a body at once', async () => {
    const reply = await visitor.call('PUT', '/visitor', { name: '', attributes: { plan: {} } });
    expect(reply.body.details).toEqual([
      { path: 'name', message: 'must not be empty' },
      { path: 'attributes.plan', message: 'must be a string, a number or true or false' },
    ]);
  });

  it('what is wrong with an attribute: its length, or its name', async () => {
    const refusalOf = async (attributes: object): Promise<unknown> =>
      (await visitor.call('PUT', '/visitor', { attributes })).body.details;
    expect(await refusalOf({ plan: 'x'.repeat(1_001) })).toEqual([
      { path: 'attributes.plan', message: 'must have at most 1000 characters' },
    ]);
    expect(await refusalOf({ '': 1 })).toEqual([
      { path: 'attributes.', message: 'has a name that must not be empty' },
    ]);
  });

  it('a list without an entry', async () => {
    const reply = await operator.call('POST', '/conversations/bulk', { ids: [], act: 'accept' });
    expect(reply.body.details).toEqual([{ path: 'ids', message: 'must not be empty' }]);
  });

  it('whose conversations staff may ask for', async () => {
    const reply = await operator.call('GET', '/conversations?assignedTo=unknown');
    expect(reply.body.details).toEqual([
      { path: 'assignedTo', message: 'must be me, none or the id of a member' },
    ]);
    for (const known of ['me', 'none', operator.id.toUpperCase()])
      expect((await operator.call('GET', `/conversations?assignedTo=${known}`)).status, known).toBe(200);
  });

  it('a body that is JSON but no object', async () => {
    for (const body of ['null', '5', '"x"', '[]']) {
      const reply = await visitor.call('POST', '/conversations', body);
      expect(reply.status, body).toBe(400);
      expect(reply.body.message, body).toContain('JSON object');
    }
  });

  it('a method that is not there, and which are', async () => {
    const reply = await visitor.call('PUT', `/conversations/${conversationId}`);
    expect(reply.status).toBe(405);
    expect(reply.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
    expect(reply.body).toEqual({
      error: 'method_not_allowed',
      message: 'PUT is not possible here. Possible are GET, HEAD, OPTIONS.',
    });
  });

  it('in a frame, with the same words', async () => {
    const socket = await operator.connect();
    socket.send('message:send', { conversationId, content: 'x' });
    expect(await socket.receives('error')).toEqual({
      code: 'VALIDATION_ERROR',
      message: 'The field payload.clientMessageId of message:send is not valid: must be given, as a string.',
      conversationId,
    });
    await socket.close();
  });
});

describe('what given.md says is absent stays absent', () => {
  it('in a list, after an operator has come', async () => {
    await operator.call('POST', `/conversations/${conversationId}/accept`);
    const { body } = await visitor.call('GET', '/conversations');
    expect(Object.keys(body)).toEqual(['conversations', 'total', 'limit', 'offset']);
    expect(Object.keys(body.conversations[0]).sort()).toEqual([
      'createdAt',
      'id',
      'status',
      'subject',
      'updatedAt',
    ]);
  });

  it('in the answer to a repeated send, after an edit', async () => {
    const send = (): ReturnType<TestClient['call']> =>
      visitor.call('POST', `/conversations/${conversationId}/messages`, {
        content: 'first',
        clientMessageId: 'again',
      });
    const { message } = (await send()).body;
    await visitor.call('PATCH', `/conversations/${conversationId}/messages/${message.id}`, {
      content: 'second',
    });
    const repeated = (await send()).body.message;
    expect(repeated.id).toBe(message.id);
    expect(repeated).not.toHaveProperty('editedAt');
  });

  it('for a visitor, the trace of a note: not in the room, not in the count', async () => {
    const { body } = await operator.call('POST', `/conversations/${conversationId}/messages`, {
      content: 'a note',
      internal: true,
    });
    expect(body.message.internal).toBe(true);
    const history = await visitor.call('GET', `/conversations/${conversationId}/messages`);
    expect(history.text).not.toContain(body.message.id);
    expect((await visitor.call('GET', `/conversations/${conversationId}/unread`)).body).toEqual({
      unreadCount: 0,
    });
    expect(
      (await visitor.call('POST', `/conversations/${conversationId}/read`, { messageId: body.message.id }))
        .status,
    ).toBe(404);
  });
});
