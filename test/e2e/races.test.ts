// Many hands at once: of several acts exactly one wins, the end is that of some serial
// order, and what is heard tells of the same order. Must not test one act alone.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { TestSocket, Frame, Reply } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import { rounds } from '../helpers/rounds.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let visitor: TestClient;
let operators: TestMember[];
let admin: TestMember;
let watcher: TestSocket;
let conversationId: string;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  await app.local('organizations.update', { organization: 'acme', limits: { requestsPerMinute: 1_000_000 } });
  admin = await createMember(app, 'acme', 'admin', 'Ada');
  operators = [];
  for (let index = 0; index < 20; index += 1)
    operators.push(await createMember(app, 'acme', 'operator', `Operator ${index}`));
  watcher = await admin.connect();
});

afterAll(async () => {
  await app.stop();
});

beforeEach(() => {
  app.clock.advance(1_001);
});

/** A fresh conversation, looked at by no one yet. */
async function fresh(): Promise<void> {
  visitor = createVisitor(app, acme.application);
  conversationId = await createConversation(visitor);
  app.clock.advance(10);
  await watcher.drain();
  watcher.frames.length = 0;
}

const act = (member: TestMember, name: string, body?: object): Promise<Reply> =>
  member.call('POST', `/conversations/${conversationId}/${name}`, body);

interface State {
  readonly status: string;
  readonly assignedTo: string | null;
}

async function state(): Promise<State> {
  const { body } = await admin.call('GET', `/conversations/${conversationId}`);
  return { status: body.conversation.status, assignedTo: body.conversation.assignedTo };
}

/** What staff heard of this conversation, in order. */
async function heard(): Promise<Frame[]> {
  await watcher.drain();
  return watcher.frames
    .splice(0)
    .filter(({ type, payload }) => type !== 'pong' && payload?.conversationId === conversationId);
}

const one = (): TestMember => operators[0] as TestMember;
const two = (): TestMember => operators[1] as TestMember;

/** Who takes part, as a conversation says: the visitor first. */
function takingPart(conversation: { participants: { userId: string }[] }): string[] {
  return conversation.participants.map(({ userId }) => userId);
}

/** Both orders happen when each of two is started first in turn. */
async function both(
  round: number,
  first: () => Promise<Reply>,
  second: () => Promise<Reply>,
): Promise<[Reply, Reply]> {
  if (round % 2 === 0) return Promise.all([first(), second()]);
  const late = second();
  return [await first(), await late];
}

/** The others are told how things stand, and that is how they stood. */
function expectConflict(reply: Reply, now: State): void {
  expect(reply.status).toBe(409);
  expect(reply.body).toMatchObject({ error: 'conflict', ...now });
}

describe('twenty accept at once', () => {
  it('one wins, nineteen are told who, and it is announced once', async () => {
    const winners = new Set<string>();
    for (let round = 0; round < rounds(10, 30); round += 1) {
      await fresh();
      const order = operators.map((_operator, index) => operators[(index * 7 + round) % 20] as TestMember);
      const replies = await Promise.all(order.map((operator) => act(operator, 'accept')));
      const won = replies.filter(({ status }) => status === 200);
      expect(won).toHaveLength(1);
      const winner = won[0]?.body.conversation.assignedTo as string;
      expect(order[replies.findIndex(({ status }) => status === 200)]?.id).toBe(winner);
      for (const reply of replies)
        if (reply !== won[0]) expectConflict(reply, { status: 'active', assignedTo: winner });
      expect(await heard()).toEqual([
        {
          type: 'conversation:accepted',
          payload: { conversationId, assignedTo: winner, assignedToName: expect.any(String) },
        },
      ]);
      const { body } = await visitor.call('GET', `/conversations/${conversationId}`);
      expect(takingPart(body.conversation)).toEqual([visitor.id, winner]);
      winners.add(winner);
    }
    expect(winners.size).toBeGreaterThan(1);
  });
});

describe('two acts at once leave the state of one order or the other', () => {
  const times = rounds(10, 40);

  it('accept and resolve', async () => {
    const ends = new Set<string>();
    for (let round = 0; round < times; round += 1) {
      await fresh();
      const [accepted, resolved] = await both(
        round,
        () => act(one(), 'accept'),
        () => act(admin, 'resolve'),
      );
      expect(resolved.status).toBe(200);
      const types = (await heard()).map(({ type }) => type);
      const end = await state();
      expect(end.status).toBe('closed');
      if (accepted.status === 200) expect(types).toEqual(['conversation:accepted', 'conversation:resolved']);
      else {
        expectConflict(accepted, { status: 'closed', assignedTo: null });
        expect(types).toEqual(['conversation:resolved']);
        expect(end.assignedTo).toBeNull();
      }
      ends.add(String(accepted.status));
    }
    expect([...ends]).toContain('200');
  });

  it('release and resolve', async () => {
    for (let round = 0; round < times; round += 1) {
      await fresh();
      await act(one(), 'accept');
      await heard();
      const [released, resolved] = await both(
        round,
        () => act(one(), 'release'),
        () => act(admin, 'resolve'),
      );
      expect(resolved.status).toBe(200);
      const types = (await heard()).map(({ type }) => type);
      expect((await state()).status).toBe('closed');
      if (released.status === 200) expect(types).toEqual(['conversation:released', 'conversation:resolved']);
      else {
        expectConflict(released, { status: 'closed', assignedTo: one().id });
        expect(types).toEqual(['conversation:resolved']);
      }
    }
  });

  it('transfer and release', async () => {
    for (let round = 0; round < times; round += 1) {
      await fresh();
      await act(one(), 'accept');
      await heard();
      const [moved, released] = await both(
        round,
        () => act(one(), 'transfer', { memberId: two().id }),
        () => act(one(), 'release'),
      );
      const types = (await heard()).map(({ type }) => type);
      const end = await state();
      if (moved.status === 200) {
        // The conversation was someone else's by the time it was to be given back.
        expect(released.status).toBe(403);
        expect(types).toEqual(['conversation:released', 'conversation:accepted']);
        expect(end).toEqual({ status: 'active', assignedTo: two().id });
      } else {
        expect(released.status).toBe(200);
        expectConflict(moved, { status: 'pending', assignedTo: null });
        expect(types).toEqual(['conversation:released']);
        expect(end).toEqual({ status: 'pending', assignedTo: null });
      }
      const { body } = await visitor.call('GET', `/conversations/${conversationId}`);
      expect(takingPart(body.conversation)).toEqual([
        visitor.id,
        ...(end.assignedTo === null ? [] : [end.assignedTo]),
      ]);
    }
  });

  it('two resolve', async () => {
    for (let round = 0; round < times; round += 1) {
      await fresh();
      await act(one(), 'accept');
      await heard();
      const replies = await both(
        round,
        () => act(one(), 'resolve'),
        () => act(admin, 'resolve'),
      );
      expect(replies.map(({ status }) => String(status)).toSorted()).toEqual(['200', '409']);
      const winner = replies[0].status === 200 ? one().id : admin.id;
      expect(await heard()).toEqual([
        { type: 'conversation:resolved', payload: { conversationId, resolvedBy: winner } },
      ]);
      const { body } = await admin.call('GET', `/conversations/${conversationId}`);
      expect(body.conversation).toMatchObject({ status: 'closed', resolvedBy: winner });
    }
  });

  it('two transfers to different members: never two assignees', async () => {
    for (let round = 0; round < times; round += 1) {
      await fresh();
      await act(one(), 'accept');
      await heard();
      const third = operators[2] as TestMember;
      await both(
        round,
        () => act(admin, 'transfer', { memberId: two().id }),
        () => act(admin, 'transfer', { memberId: third.id }),
      );
      const events = await heard();
      expect(events.map(({ type }) => type)).toEqual([
        'conversation:released',
        'conversation:accepted',
        'conversation:released',
        'conversation:accepted',
      ]);
      const end = await state();
      expect(end).toEqual({ status: 'active', assignedTo: events[3]?.payload.assignedTo });
      const { body } = await visitor.call('GET', `/conversations/${conversationId}`);
      expect(takingPart(body.conversation)).toEqual([visitor.id, end.assignedTo]);
    }
  });

  it('send and resolve: what was acknowledged is there, and was heard before the end', async () => {
    for (let round = 0; round < times; round += 1) {
      await fresh();
      await act(one(), 'accept');
      const socket = await visitor.connect();
      watcher.send('room:join', { conversationId });
      await watcher.receives('room:joined', (payload) => payload.conversationId === conversationId);
      await heard();
      const sends: Promise<Reply>[] = [];
      for (let index = 0; index < 4; index += 1) {
        sends.push(
          visitor.call('POST', `/conversations/${conversationId}/messages`, { content: `rest ${index}` }),
        );
        socket.send('message:send', {
          conversationId,
          content: `socket ${index}`,
          clientMessageId: `c${index}`,
        });
        if (index === round % 4) sends.push(act(one(), 'resolve'));
      }
      const replies = await Promise.all(sends);
      await socket.drain();
      const stored = replies
        .filter(({ status }) => status === 201)
        .map(({ body }) => body.message.id as string);
      for (const reply of replies) expect([200, 201, 422]).toContain(reply.status);
      for (const { payload } of socket.all('message:ack')) stored.push(payload.serverMessageId as string);
      for (const { payload } of socket.all('error')) expect(payload.code).toBe('FORBIDDEN');
      expect(socket.all('message:ack').length + socket.all('error').length).toBe(4);
      const table = (
        (await visitor.call('GET', `/conversations/${conversationId}/messages?limit=100`)).body.messages as {
          id: string;
        }[]
      ).map(({ id }) => id);
      expect(new Set(table)).toEqual(new Set(stored));
      const events = (await heard()).filter(({ type }) => type !== 'conversation:activity');
      expect(
        events.filter(({ type }) => type === 'message:new').map(({ payload }) => payload.id as string),
      ).toEqual(table);
      expect(events.at(-1)?.type).toBe('conversation:resolved');
      await socket.close();
    }
  });
});

describe('one client id, a hundred times at once by both transports', () => {
  it('is one message, one announcement and one answer', async () => {
    await fresh();
    await act(one(), 'accept');
    const senders = [await visitor.connect(), await visitor.connect()];
    const tab = await visitor.connect();
    const operatorSocket = await one().connect();
    for (const socket of [tab, operatorSocket]) {
      socket.send('room:join', { conversationId, echo: true });
      await socket.receives('room:joined');
    }
    const replies: Promise<Reply>[] = [];
    for (let index = 0; index < 50; index += 1) {
      replies.push(
        visitor.call('POST', `/conversations/${conversationId}/messages`, {
          content: `try ${index}`,
          clientMessageId: 'the-one',
        }),
      );
      senders[index % 2]?.send('message:send', {
        conversationId,
        content: `try ${index}`,
        clientMessageId: 'the-one',
      });
    }
    const answers = await Promise.all(replies);
    await eventually(() => {
      expect(senders.flatMap((socket) => socket.all('message:ack'))).toHaveLength(50);
    });
    const ids = [
      ...answers.map(({ body }) => body.message.id as string),
      ...senders.flatMap((socket) =>
        socket.all('message:ack').map(({ payload }) => payload.serverMessageId as string),
      ),
    ];
    expect(ids).toHaveLength(100);
    expect(new Set(ids).size).toBe(1);
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    for (const socket of [tab, operatorSocket]) {
      await socket.drain();
      expect(socket.all('message:new').map(({ payload }) => payload.id as string)).toEqual([ids[0]]);
    }
    expect(
      (await visitor.call('GET', `/conversations/${conversationId}/messages`)).body.messages,
    ).toHaveLength(1);
    for (const socket of [...senders, tab, operatorSocket]) await socket.close();
  });

  it('stays one a day later, and after a lost answer', async () => {
    await fresh();
    const socket = await visitor.connect();
    socket.send('message:send', { conversationId, content: 'once', clientMessageId: 'kept' });
    const first = await socket.receives('message:ack');
    socket.socket.terminate();
    app.clock.step(86_400_000);
    const again = await visitor.connect();
    again.send('message:send', { conversationId, content: 'once', clientMessageId: 'kept' });
    expect(await again.receives('message:ack')).toEqual(first);
    expect(
      (await visitor.call('GET', `/conversations/${conversationId}/messages`)).body.messages,
    ).toHaveLength(1);
    await again.close();
  });
});

describe('read positions', () => {
  it('end at the newest, however fifty readings are shuffled, and only ever move forward', async () => {
    await fresh();
    await act(one(), 'accept');
    const ids: string[] = [];
    for (let index = 0; index < 50; index += 1)
      ids.push(await createMessage(one(), conversationId, `m${index}`));
    watcher.send('room:join', { conversationId });
    await watcher.receives('room:joined', (payload) => payload.conversationId === conversationId);
    await heard();
    const shuffled = ids.map((_id, index) => ids[(index * 37 + 11) % 50] as string);
    const replies = await Promise.all(
      shuffled.map((messageId) =>
        visitor.call('POST', `/conversations/${conversationId}/read`, { messageId }),
      ),
    );
    expect(new Set(replies.map(({ text }) => text))).toEqual(new Set(['{"success":true}']));
    expect((await visitor.call('GET', `/conversations/${conversationId}/unread`)).body).toEqual({
      unreadCount: 0,
    });
    const moves = (await heard())
      .filter(({ type }) => type === 'conversation:read')
      .map(({ payload }) => ids.indexOf(payload.messageId as string));
    expect(moves).toEqual(moves.toSorted((a, b) => a - b));
    expect(moves.at(-1)).toBe(49);
  });
});
