// One table of cases, each run through REST and through the socket by the same driver:
// the answer in both languages, who heard what, and that no one else heard anything.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { TestSocket, Frame } from '../helpers/client.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const transports = ['REST', 'socket'] as const;
type Transport = (typeof transports)[number];

const names = ['visitor', 'visitorEcho', 'operator', 'colleague', 'other', 'foreigner'] as const;
type Name = (typeof names)[number];

let app: TestApp;
let acme: TestOrganization;
const people = {} as Record<Name, TestClient>;
const sockets = {} as Record<Name, TestSocket>;
let conversationId: string;
/** Messages of the visitor and of the operator, both fresh. */
let own: string;
let theirs: string;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  await createOrganization(app, 'other');
  people.visitor = createVisitor(app, acme.application);
  people.visitorEcho = people.visitor;
  people.operator = await createMember(app, 'acme', 'operator', 'Olivia');
  people.colleague = await createMember(app, 'acme', 'admin', 'Carl');
  people.other = createVisitor(app, acme.application);
  people.foreigner = await createMember(app, 'other', 'admin', 'Fred');
});

afterAll(async () => {
  await app.stop();
});

beforeEach(async () => {
  app.clock.advance(1_001);
  for (const name of names)
    if (sockets[name] === undefined || sockets[name].closed !== null)
      sockets[name] = await people[name].connect();
  conversationId = await createConversation(people.visitor);
  await people.operator.call('POST', `/conversations/${conversationId}/accept`);
  own = await send(people.visitor, 'of the visitor');
  theirs = await send(people.operator, 'of the operator');
  // In the room: both tabs of the visitor, the operator, and no one of the rest.
  for (const [name, echo] of [
    ['visitor', false],
    ['visitorEcho', true],
    ['operator', false],
  ] as const) {
    sockets[name].send('room:join', { conversationId, echo });
    await sockets[name].receives('room:joined', (payload) => payload.conversationId === conversationId);
  }
  await heard();
});

async function send(person: TestClient, content: string, more: object = {}): Promise<string> {
  const { body } = await person.call('POST', `/conversations/${conversationId}/messages`, {
    content,
    ...more,
  });
  return body.message.id as string;
}

async function heard(): Promise<Record<Name, Frame[]>> {
  const result = {} as Record<Name, Frame[]>;
  for (const name of names) {
    await sockets[name].drain();
    result[name] = sockets[name].frames
      .splice(0)
      .flatMap(({ type, payload }) => (type === 'pong' ? [] : [{ type, payload }]));
  }
  return result;
}

type Act = 'send' | 'edit' | 'delete' | 'read';

interface Answer {
  /** REST: `201` or `403 forbidden`; socket: `ack`, `ok` or the code. */
  readonly text: string;
  readonly messageId: string | undefined;
}

/** Method, path below the conversation, and whether the message is named in the path. */
const rest: Record<Act, readonly [string, string, boolean]> = {
  send: ['POST', '/messages', false],
  edit: ['PATCH', '/messages', true],
  delete: ['DELETE', '/messages', true],
  read: ['POST', '/read', false],
};

/** The same act through one of the transports. */
async function perform(
  transport: Transport,
  who: Name,
  act: Act,
  fields: Record<string, unknown>,
): Promise<Answer> {
  if (transport === 'REST') {
    const { conversationId: id, ...given } = { conversationId, ...fields } as Record<string, unknown>;
    const [method, path, named] = rest[act];
    const { messageId, ...others } = given;
    const reply = await people[who].call(
      method,
      `/conversations/${String(id)}${path}${named ? `/${String(messageId)}` : ''}`,
      act === 'delete' ? undefined : named ? others : given,
    );
    return {
      text: reply.status < 300 ? String(reply.status) : `${reply.status} ${reply.body.error as string}`,
      messageId: reply.body.message?.id,
    };
  }
  const socket = sockets[who];
  const from = socket.frames.length;
  socket.send(act === 'read' ? 'conversation:read' : `message:${act}`, {
    conversationId,
    ...(act === 'send' ? { clientMessageId: randomUUID() } : {}),
    ...fields,
  });
  await socket.drain();
  const [answer] = socket.frames.slice(from).filter(({ type }) => type === 'error' || type === 'message:ack');
  if (answer === undefined) return { text: 'ok', messageId: undefined };
  socket.frames.splice(socket.frames.indexOf(answer), 1);
  return answer.type === 'message:ack'
    ? { text: 'ack', messageId: answer.payload.serverMessageId }
    : { text: answer.payload.code, messageId: undefined };
}

type Hearing = Partial<Record<Name, readonly string[]>>;

interface Case {
  readonly name: string;
  readonly who: Name;
  readonly act: Act;
  /** What has to be so before; its own noise is not looked at. */
  readonly given?: (transport: Transport) => Promise<unknown>;
  readonly fields: () => Record<string, unknown>;
  readonly answers: readonly [rest: string, socket: string];
  /** By either transport alike: the visitor's first tab has not asked for an echo, the second one has. */
  readonly hears?: Hearing;
  readonly also?: (answer: Answer, events: Record<Name, Frame[]>) => void | Promise<void>;
}

const rich = (text: string): string =>
  JSON.stringify({
    root: {
      type: 'root',
      version: 1,
      children: [
        { type: 'paragraph', version: 1, children: [{ type: 'text', version: 1, text, format: 1 }] },
      ],
    },
  });
const act = (name: string) => (): Promise<unknown> =>
  people.operator.call('POST', `/conversations/${conversationId}/${name}`);
const fromVisitor: Hearing = {
  visitorEcho: ['message:new'],
  operator: ['message:new', 'conversation:activity'],
  colleague: ['conversation:activity'],
};
const fromOperator: Hearing = {
  visitor: ['message:new'],
  visitorEcho: ['message:new'],
  operator: ['conversation:activity'],
  colleague: ['conversation:activity'],
};
const room = (type: string): Hearing => ({ visitor: [type], visitorEcho: [type], operator: [type] });
const aRetry = { content: 'once', clientMessageId: 'the-same' };
const allowed = ['201', 'ack'] as const;
const forbidden = ['403 forbidden', 'FORBIDDEN'] as const;
const noConversation = ['404 not_found', 'FORBIDDEN'] as const;
const noMessage = ['404 not_found', 'MESSAGE_NOT_FOUND'] as const;
const invalid = ['400 bad_request', 'VALIDATION_ERROR'] as const;
const tooLate = ['422 edit_window_expired', 'EDIT_WINDOW_EXPIRED'] as const;
const minutes = (count: number) => async (): Promise<void> => {
  // The wall clock alone: no one falls silent by it.
  app.clock.step(count * 60_000);
};

const cases: readonly Case[] = [
  {
    name: 'up to a message of the operator',
    who: 'visitor',
    act: 'read',
    fields: () => ({ messageId: theirs }),
    answers: ['200', 'ok'],
    hears: room('conversation:read'),
    also: async (_answer, events) => {
      expect(events.operator[0]?.payload).toEqual({
        conversationId,
        userId: people.visitor.id,
        messageId: theirs,
      });
      const { body } = await people.visitor.call('GET', `/conversations/${conversationId}/unread`);
      expect(body).toEqual({ unreadCount: 0 });
    },
  },
  {
    name: 'up to a message of the visitor',
    who: 'operator',
    act: 'read',
    fields: () => ({ messageId: own }),
    answers: ['200', 'ok'],
    hears: { ...room('conversation:read'), operator: ['conversation:read', 'notification:cleared'] },
    also: async () => {
      const { body } = await people.operator.call('GET', `/conversations/${conversationId}`);
      expect(body.conversation).toMatchObject({ unread: false, unreadCount: 0 });
    },
  },
  {
    name: 'by a member who only reads along',
    who: 'colleague',
    act: 'read',
    fields: () => ({ messageId: theirs }),
    answers: ['200', 'ok'],
    // The reader's other windows take their notifications away.
    hears: { ...room('conversation:read'), colleague: ['notification:cleared'] },
  },
  {
    name: 'up to a message before the last one read: nothing changes',
    who: 'visitor',
    act: 'read',
    given: () => people.visitor.call('POST', `/conversations/${conversationId}/read`, { messageId: theirs }),
    fields: () => ({ messageId: own }),
    answers: ['200', 'ok'],
    hears: {},
  },
  {
    name: "another visitor's conversation",
    who: 'other',
    act: 'read',
    fields: () => ({ messageId: theirs }),
    answers: noConversation,
  },
  {
    name: "another organization's conversation",
    who: 'foreigner',
    act: 'read',
    fields: () => ({ messageId: theirs }),
    answers: noConversation,
  },
  {
    name: 'a message that does not exist',
    who: 'operator',
    act: 'read',
    fields: () => ({ messageId: randomUUID() }),
    answers: noMessage,
  },
  { name: 'no message', who: 'visitor', act: 'read', fields: () => ({}), answers: invalid },
  {
    name: 'plain text',
    who: 'visitor',
    act: 'send',
    fields: () => ({ content: '  <b>hi</b> ' }),
    answers: allowed,
    hears: fromVisitor,
    also: (answer, events) =>
      expect(events.operator[0]?.payload).toMatchObject({
        id: answer.messageId,
        content: '<b>hi</b>',
        contentHtml: null,
        senderRole: 'visitor',
      }),
  },
  {
    name: 'rich text',
    who: 'visitor',
    act: 'send',
    fields: () => ({ content: rich('<i>'), contentFormat: 'lexical' }),
    answers: allowed,
    hears: fromVisitor,
    also: (_answer, events) =>
      expect(events.operator[0]?.payload.contentHtml).toBe('<p><strong>&lt;i&gt;</strong></p>'),
  },
  {
    name: 'an answer of the operator',
    who: 'operator',
    act: 'send',
    fields: () => ({ content: 'hello' }),
    answers: allowed,
    hears: fromOperator,
    also: (_answer, events) =>
      expect(events.visitor[0]?.payload).toMatchObject({
        senderId: people.operator.id,
        senderName: 'Olivia',
        senderRole: 'operator',
        type: 'text',
      }),
  },
  {
    name: 'into a pending conversation',
    who: 'visitor',
    act: 'send',
    given: act('release'),
    fields: () => ({ content: 'anybody?' }),
    answers: allowed,
    hears: fromVisitor,
  },
  { name: 'nothing', who: 'visitor', act: 'send', fields: () => ({ content: '' }), answers: invalid },
  {
    name: 'blanks',
    who: 'visitor',
    act: 'send',
    fields: () => ({ content: ' \u200b\n ' }),
    answers: invalid,
  },
  { name: 'U+0000', who: 'visitor', act: 'send', fields: () => ({ content: 'a\u0000' }), answers: invalid },
  {
    name: 'rich text that is none',
    who: 'visitor',
    act: 'send',
    fields: () => ({ content: 'hi', contentFormat: 'lexical' }),
    answers: invalid,
  },
  {
    name: 'an unknown format',
    who: 'visitor',
    act: 'send',
    fields: () => ({ content: 'hi', contentFormat: 'html' }),
    answers: invalid,
  },
  { name: 'no content at all', who: 'visitor', act: 'send', fields: () => ({}), answers: invalid },
  {
    name: 'what REST finds too long',
    who: 'visitor',
    act: 'send',
    fields: () => ({ content: 'x'.repeat(sizeLimits.contentRest + 1) }),
    answers: ['400 bad_request', 'ack'],
  },
  {
    name: 'what both find too long',
    who: 'visitor',
    act: 'send',
    fields: () => ({ content: 'x'.repeat(sizeLimits.contentSocket + 1) }),
    answers: invalid,
  },
  {
    name: 'a client id that is too long',
    who: 'visitor',
    act: 'send',
    fields: () => ({ content: 'hi', clientMessageId: 'x'.repeat(101) }),
    answers: invalid,
  },
  {
    name: 'into a closed conversation',
    who: 'visitor',
    act: 'send',
    given: act('resolve'),
    fields: () => ({ content: 'late' }),
    answers: ['422 conversation_not_active', 'FORBIDDEN'],
  },
  {
    name: 'into a closed conversation, by the operator',
    who: 'operator',
    act: 'send',
    given: act('resolve'),
    fields: () => ({ content: 'late' }),
    answers: ['422 conversation_not_active', 'FORBIDDEN'],
  },
  {
    name: "into another visitor's conversation",
    who: 'other',
    act: 'send',
    fields: () => ({ content: 'hi' }),
    answers: noConversation,
  },
  {
    name: "into another organization's conversation",
    who: 'foreigner',
    act: 'send',
    fields: () => ({ content: 'hi' }),
    answers: noConversation,
  },
  {
    name: 'into no conversation',
    who: 'visitor',
    act: 'send',
    fields: () => ({ content: 'hi', conversationId: randomUUID() }),
    answers: noConversation,
  },
  {
    name: 'by a member who does not have it, though an admin',
    who: 'colleague',
    act: 'send',
    fields: () => ({ content: 'hi' }),
    answers: forbidden,
  },
  {
    name: 'by the member who gave it back',
    who: 'operator',
    act: 'send',
    given: act('release'),
    fields: () => ({ content: 'hi' }),
    answers: forbidden,
  },
  {
    name: 'a note of a member who does not have it',
    who: 'colleague',
    act: 'send',
    fields: () => ({ content: 'psst', internal: true }),
    answers: allowed,
    hears: { operator: ['message:new', 'conversation:activity'], colleague: ['conversation:activity'] },
    also: (_answer, events) => expect(events.operator[0]?.payload.internal).toBe(true),
  },
  {
    name: 'a note by a visitor, which is none',
    who: 'visitor',
    act: 'send',
    fields: () => ({ content: 'psst', internal: true }),
    answers: allowed,
    hears: fromVisitor,
    also: (_answer, events) => expect(events.operator[0]?.payload).not.toHaveProperty('internal'),
  },
  {
    name: 'a repeated client id: the first message',
    who: 'visitor',
    act: 'send',
    given: () => send(people.visitor, aRetry.content, aRetry),
    fields: () => aRetry,
    answers: allowed,
    hears: {},
  },
  {
    name: 'a repeated client id with other content: the first message',
    who: 'visitor',
    act: 'send',
    given: () => send(people.visitor, aRetry.content, aRetry),
    fields: () => ({ ...aRetry, content: 'twice' }),
    answers: allowed,
    hears: {},
    also: async () =>
      expect(
        (await people.visitor.call('GET', `/conversations/${conversationId}/messages`)).text,
      ).not.toContain('twice'),
  },
  {
    name: 'a repeated client id after the end: still the first message',
    who: 'visitor',
    act: 'send',
    given: async () => {
      await send(people.visitor, aRetry.content, aRetry);
      await act('resolve')();
    },
    fields: () => aRetry,
    answers: allowed,
    hears: {},
  },
  {
    name: "someone else's client id: another message",
    who: 'visitor',
    act: 'send',
    given: () => send(people.operator, 'mine', aRetry),
    fields: () => aRetry,
    answers: allowed,
    hears: fromVisitor,
  },
  {
    name: 'a repeated client id of a deleted message: its id, and nothing revived',
    who: 'visitor',
    act: 'send',
    given: async () =>
      people.visitor.call(
        'DELETE',
        `/conversations/${conversationId}/messages/${await send(people.visitor, aRetry.content, aRetry)}`,
      ),
    fields: () => aRetry,
    answers: allowed,
    hears: {},
    also: async (answer) =>
      expect(
        (await people.visitor.call('GET', `/conversations/${conversationId}/messages`)).text,
      ).not.toContain(answer.messageId),
  },

  {
    name: 'of one’s own',
    who: 'visitor',
    act: 'edit',
    fields: () => ({ messageId: own, content: 'changed' }),
    answers: ['200', 'ok'],
    hears: room('message:edited'),
    also: (_answer, events) =>
      expect(events.operator[0]?.payload).toEqual({
        conversationId,
        messageId: own,
        content: 'changed',
        contentFormat: 'plain',
        contentHtml: null,
        editedAt: expect.any(String),
        senderId: people.visitor.id,
      }),
  },
  {
    name: 'of one’s own, to rich text',
    who: 'operator',
    act: 'edit',
    fields: () => ({ messageId: theirs, content: rich('x'), contentFormat: 'lexical' }),
    answers: ['200', 'ok'],
    hears: room('message:edited'),
    also: (_answer, events) =>
      expect(events.visitor[0]?.payload.contentHtml).toBe('<p><strong>x</strong></p>'),
  },
  {
    name: 'in a closed conversation',
    who: 'visitor',
    act: 'edit',
    given: act('resolve'),
    fields: () => ({ messageId: own, content: 'changed' }),
    answers: ['200', 'ok'],
    hears: room('message:edited'),
  },
  {
    name: 'at the fifteenth minute',
    who: 'visitor',
    act: 'edit',
    given: minutes(15),
    fields: () => ({ messageId: own, content: 'changed' }),
    answers: ['200', 'ok'],
    hears: room('message:edited'),
  },
  {
    name: 'after sixteen minutes',
    who: 'visitor',
    act: 'edit',
    given: minutes(16),
    fields: () => ({ messageId: own, content: 'changed' }),
    answers: tooLate,
  },
  {
    name: "of someone else's",
    who: 'visitor',
    act: 'edit',
    fields: () => ({ messageId: theirs, content: 'changed' }),
    answers: forbidden,
  },
  {
    name: "of someone else's, long ago",
    who: 'visitor',
    act: 'edit',
    given: minutes(60),
    fields: () => ({ messageId: theirs, content: 'changed' }),
    answers: forbidden,
  },
  {
    name: "of the visitor's, by an admin",
    who: 'colleague',
    act: 'edit',
    fields: () => ({ messageId: own, content: 'changed' }),
    answers: forbidden,
  },
  {
    name: 'of none',
    who: 'visitor',
    act: 'edit',
    fields: () => ({ messageId: randomUUID(), content: 'changed' }),
    answers: noMessage,
  },
  {
    name: 'of a deleted one',
    who: 'visitor',
    act: 'edit',
    given: () => people.visitor.call('DELETE', `/conversations/${conversationId}/messages/${own}`),
    fields: () => ({ messageId: own, content: 'changed' }),
    answers: noMessage,
  },
  {
    name: 'of one of another conversation',
    who: 'visitor',
    act: 'edit',
    given: async () => {
      conversationId = await createConversation(people.visitor);
    },
    fields: () => ({ messageId: own, content: 'changed' }),
    answers: noMessage,
  },
  {
    name: "in someone else's conversation",
    who: 'other',
    act: 'edit',
    fields: () => ({ messageId: own, content: 'changed' }),
    answers: noConversation,
  },
  {
    name: "in another organization's conversation",
    who: 'foreigner',
    act: 'edit',
    fields: () => ({ messageId: own, content: 'changed' }),
    answers: noConversation,
  },
  {
    name: 'to nothing',
    who: 'visitor',
    act: 'edit',
    fields: () => ({ messageId: own, content: ' ' }),
    answers: invalid,
  },

  {
    name: 'of one’s own',
    who: 'visitor',
    act: 'delete',
    fields: () => ({ messageId: own }),
    answers: ['200', 'ok'],
    hears: room('message:deleted'),
    also: (_answer, events) =>
      expect(events.visitor[0]?.payload).toEqual({
        conversationId,
        messageId: own,
        senderId: people.visitor.id,
      }),
  },
  {
    name: 'in a closed conversation',
    who: 'operator',
    act: 'delete',
    given: act('resolve'),
    fields: () => ({ messageId: theirs }),
    answers: ['200', 'ok'],
    hears: room('message:deleted'),
  },
  {
    name: 'after sixteen minutes',
    who: 'visitor',
    act: 'delete',
    given: minutes(16),
    fields: () => ({ messageId: own }),
    answers: tooLate,
  },
  {
    name: "of someone else's",
    who: 'operator',
    act: 'delete',
    fields: () => ({ messageId: own }),
    answers: forbidden,
  },
  {
    name: 'of none',
    who: 'visitor',
    act: 'delete',
    fields: () => ({ messageId: randomUUID() }),
    answers: noMessage,
  },
  {
    name: 'twice',
    who: 'visitor',
    act: 'delete',
    given: () => people.visitor.call('DELETE', `/conversations/${conversationId}/messages/${own}`),
    fields: () => ({ messageId: own }),
    answers: noMessage,
  },
  {
    name: "in someone else's conversation",
    who: 'other',
    act: 'delete',
    fields: () => ({ messageId: own }),
    answers: noConversation,
  },
];

for (const one of cases) {
  describe(`${one.act} ${one.name}, by ${one.who}`, () => {
    it.each(transports)('through %s', async (transport) => {
      await one.given?.(transport);
      await heard();
      const before = await people.colleague.call('GET', `/conversations/${conversationId}/messages`);
      const answer = await perform(transport, one.who, one.act, one.fields());
      const events = await heard();
      expect(answer.text).toBe(one.answers[transport === 'REST' ? 0 : 1]);
      const succeeded = /^(20\d|ack|ok)$/.test(answer.text);
      const expected = one.hears ?? (succeeded ? fromVisitor : {});
      const types = Object.fromEntries(names.map((name) => [name, events[name].map(({ type }) => type)]));
      expect(types).toEqual({ ...Object.fromEntries(names.map((name) => [name, []])), ...expected });
      // Whatever was refused, or was there already, has changed nothing.
      if (Object.keys(expected).length === 0) {
        const after = await people.colleague.call('GET', `/conversations/${conversationId}/messages`);
        expect(after.body).toEqual(before.body);
      }
      await one.also?.(answer, events);
    });
  });
}
