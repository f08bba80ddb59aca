// Attacks on rooms: who gets in, who hears typing, notes, presence and activity, and
// that nothing crosses from one visitor, organization or mode to another.
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { TestSocket } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { settleEngines } from '../helpers/hostile-engine.ts';

let app: TestApp;
let acme: TestOrganization;
let other: TestOrganization;
let visitor: TestClient;
let operator: TestMember;
let foreigner: TestMember;
let conversationId: string;
let sockets: TestSocket[] = [];

beforeAll(async () => {
  app = await startApp({ flags: { maxRoomsPerConnection: '5' } });
  acme = await createOrganization(app, 'acme');
  other = await createOrganization(app, 'other');
  operator = await createMember(app, 'acme', 'operator', 'Olivia');
  foreigner = await createMember(app, 'other', 'admin', 'Fred');
  // Someone of each is always there, so that no one hears of presence here.
  for (const slug of ['acme', 'other']) await (await (await createMember(app, slug)).connect()).drain();
});

beforeEach(async () => {
  app.clock.advance(1_001);
  visitor = createVisitor(app, acme.application);
  conversationId = await createConversation(visitor);
  await operator.call('POST', `/conversations/${conversationId}/accept`);
});

afterEach(async () => {
  for (const socket of sockets) await socket.close();
  sockets = [];
});

afterAll(async () => {
  await app.stop();
});

async function connect(person: TestClient, query = ''): Promise<TestSocket> {
  const socket = await person.connect(query);
  sockets.push(socket);
  await socket.drain();
  return socket;
}

async function join(person: TestClient, payload: object = {}, query = ''): Promise<TestSocket> {
  const socket = await connect(person, query);
  socket.send('room:join', { conversationId, ...payload });
  await socket.receives('room:joined');
  socket.frames.length = 0;
  return socket;
}

/** What an socket has heard so far and what was on its way. */
async function heard(socket: TestSocket): Promise<string[]> {
  await socket.drain();
  return socket.takeTypes();
}

/** Holds every read of the store until it is let go: anyone who joins in between waits for the answer. */
function holdReads(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  void app.service.engine.store.read(() => promise);
  return resolve;
}

describe('getting in', () => {
  it("answers alike for another visitor's room, another organization's and one that does not exist", async () => {
    const otherVisitor = createVisitor(app, acme.application);
    const twin = createVisitor(app, other.application, visitor.id);
    const foreign = await createConversation(twin);
    const socket = await connect(otherVisitor);
    const answers: unknown[] = [];
    for (const id of [conversationId, foreign, randomUUID()]) {
      for (const [type, payload] of [
        ['room:join', {}],
        ['message:send', { content: 'hi', clientMessageId: 'c' }],
        ['message:edit', { content: 'hi', messageId: randomUUID() }],
        ['message:delete', { messageId: randomUUID() }],
        ['conversation:read', { messageId: randomUUID() }],
      ] as const) {
        socket.frames.length = 0;
        socket.send(type, { ...payload, conversationId: id });
        const { conversationId: named, messageId: _message, ...rest } = await socket.receives('error');
        expect(named).toBe(id);
        answers.push([type, rest]);
      }
    }
    expect(answers.slice(0, 5)).toEqual(answers.slice(10));
    expect(answers.slice(5, 10)).toEqual(answers.slice(10));
    expect(answers.map((one) => (one as [string, { code: string }])[1].code)).toEqual(
      Array(15).fill('FORBIDDEN'),
    );
    // The same UUID under another application gets nowhere either, nor does staff of another organization.
    for (const person of [twin, foreigner, createVisitorByKey(app, acme.application, 'test', visitor.id)]) {
      if (person !== foreigner) await person.call('POST', '/conversations', {});
      const outside = await connect(person);
      outside.send('room:join', { conversationId });
      expect((await outside.receives('error')).code).toBe('FORBIDDEN');
    }
  });

  it('lets a stranger hear nothing while the right to be there is still being looked up', async () => {
    const visitorSocket = await join(visitor);
    const operatorSocket = await join(operator);
    const stranger = await connect(createVisitor(app, acme.application));
    const enemy = await connect(foreigner);
    const letGo = holdReads();
    stranger.send('room:join', { conversationId });
    enemy.send('room:join', { conversationId });
    // A protocol ping overtakes the held frame: once it is answered, the join has been received.
    for (const socket of [stranger, enemy])
      await new Promise((resolve) => {
        socket.socket.once('pong', resolve).ping();
      });
    operatorSocket.send('typing:start', { conversationId });
    await visitorSocket.receives('typing:start');
    operatorSocket.send('typing:stop', { conversationId });
    await visitorSocket.receives('typing:stop');
    await createMessage(operator, conversationId, 'for your eyes only');
    letGo();
    for (const socket of [stranger, enemy]) {
      await socket.receives('error');
      expect(await heard(socket)).toEqual(['error']);
    }
  });

  it('is one place, however often it is asked for', async () => {
    const socket = await connect(visitor);
    for (let round = 0; round < 10; round += 1) {
      for (let index = 0; index < 100; index += 1) socket.send('room:join', { conversationId });
      await socket.drain();
      app.clock.advance(1_001);
    }
    expect(socket.all('room:joined')).toHaveLength(1_000);
    const id = await createMessage(operator, conversationId);
    await socket.drain();
    expect(socket.all('message:new').map(({ payload }) => payload.id)).toEqual([id]);
    socket.send('room:leave', { conversationId });
    await socket.drain();
    socket.frames.length = 0;
    await createMessage(operator, conversationId);
    expect(await heard(socket)).toEqual([]);
  });

  it('loses nothing of what comes while someone in the room joins it again', async () => {
    const socket = await join(visitor);
    const letGo = holdReads();
    socket.send('room:join', { conversationId });
    await new Promise((resolve) => {
      socket.socket.once('pong', resolve).ping();
    });
    const sent = createMessage(operator, conversationId, 'in between');
    // Committed before the second join could read: writes do not wait for reads.
    const id = await sent;
    letGo();
    await socket.receives('room:joined');
    await socket.drain();
    expect(socket.all('message:new').map(({ payload }) => payload.id)).toEqual([id]);
  });

  it('has a limit for one connection, and leaving makes room', async () => {
    const socket = await connect(visitor);
    const rooms: string[] = [];
    for (let index = 0; index < 6; index += 1) rooms.push(await createConversation(visitor));
    for (const room of rooms) socket.send('room:join', { conversationId: room });
    const error = await socket.receives('error');
    expect(error).toMatchObject({ code: 'VALIDATION_ERROR', conversationId: rooms[5] });
    expect(socket.all('room:joined')).toHaveLength(5);
    // One that is joined already may be joined again.
    socket.send('room:join', { conversationId: rooms[0] });
    socket.send('room:leave', { conversationId: rooms[1] });
    socket.send('room:join', { conversationId: rooms[5] });
    await socket.drain();
    expect(socket.all('room:joined')).toHaveLength(7);
    for (let index = 0; index < 50; index += 1) {
      socket.send('room:leave', { conversationId: rooms[5] });
      socket.send('room:join', { conversationId: rooms[5] });
    }
    await socket.drain();
    expect(socket.all('room:joined')).toHaveLength(57);
    expect(socket.all('error')).toHaveLength(1);
  });
});

describe('typing', () => {
  it('needs the room, is heard by the others only, and lapses after ten seconds', async () => {
    const outside = await connect(visitor);
    outside.send('typing:start', { conversationId });
    expect((await outside.receives('error')).code).toBe('FORBIDDEN');
    const typist = await join(visitor);
    const secondTab = await join(visitor, { echo: true });
    const operatorSocket = await join(operator);
    typist.send('typing:start', { conversationId });
    expect(await operatorSocket.receives('typing:start')).toEqual({
      conversationId,
      userId: visitor.id,
      userName: 'Visitor',
      senderRole: 'visitor',
    });
    app.clock.advance(9_000);
    expect(await heard(operatorSocket)).toEqual(['typing:start']);
    // Renewed: ten more seconds from now.
    typist.send('typing:start', { conversationId });
    await typist.drain();
    app.clock.advance(9_000);
    expect(await heard(operatorSocket)).toEqual(['typing:start']);
    app.clock.advance(1_000);
    expect(await heard(operatorSocket)).toEqual(['typing:stop']);
    app.clock.advance(30_000);
    expect(await heard(operatorSocket)).toEqual([]);
    expect(await heard(typist)).toEqual([]);
    expect(await heard(secondTab)).toEqual([]);
  });

  it('says the name that the visitor has now', async () => {
    const named = createVisitor(app, acme.application);
    const room = await createConversation(named);
    const listener = await operator.connect();
    listener.send('room:join', { conversationId: room });
    const typist = await named.connect();
    typist.send('room:join', { conversationId: room });
    await typist.drain();
    await named.call('PUT', '/visitor', { name: 'Vera' });
    typist.send('typing:start', { conversationId: room });
    expect((await listener.receives('typing:start')).userName).toBe('Vera');
    await typist.close();
    await listener.close();
  });

  it('says the name that a member has now, and so does what they send', async () => {
    const named = createVisitor(app, acme.application);
    const room = await createConversation(named);
    const vera = await createMember(app, 'acme', 'operator', 'Vera Before');
    await vera.call('POST', `/conversations/${room}/accept`);
    const listener = await named.connect();
    const typist = await vera.connect();
    for (const socket of [listener, typist]) {
      socket.send('room:join', { conversationId: room });
      await socket.receives('room:joined');
    }
    await vera.call('PATCH', '/me', { name: 'Vera After' });
    // The change is heard of as a commit is: a moment later, where that comes late.
    await eventually(async () => {
      listener.takeTypes();
      typist.send('typing:start', { conversationId: room });
      const { userName } = await listener.receives('typing:start');
      typist.send('typing:stop', { conversationId: room });
      await listener.receives('typing:stop');
      expect(userName).toBe('Vera After');
    });
    typist.send('message:send', { conversationId: room, content: 'hello', clientMessageId: 'after' });
    expect((await listener.receives('message:new')).senderName).toBe('Vera After');
    await typist.close();
    await listener.close();
  });

  it('ends with the socket, with leaving and with the message, once', async () => {
    const operatorSocket = await join(operator);
    const typist = await join(visitor);
    typist.send('typing:start', { conversationId });
    await operatorSocket.receives('typing:start');
    typist.socket.terminate();
    await operatorSocket.receives('typing:stop');
    const again = await join(visitor);
    again.send('typing:start', { conversationId });
    again.send('room:leave', { conversationId });
    again.send('room:join', { conversationId });
    again.send('typing:start', { conversationId });
    again.send('message:send', { conversationId, content: 'there', clientMessageId: 'm' });
    again.send('typing:stop', { conversationId });
    await again.receives('message:ack');
    await again.drain();
    // An engine may tell of typing later than of what is stored: then the last end comes behind the message.
    const mayBeLate = await settleEngines();
    const types = await heard(operatorSocket);
    const isTyping = (type: string): boolean => type.startsWith('typing:');
    const inOrder = mayBeLate
      ? [...types.filter(isTyping), ...types.filter((type) => !isTyping(type))]
      : types;
    expect(inOrder).toEqual([
      'typing:start',
      'typing:stop',
      'typing:start',
      'typing:stop',
      'typing:start',
      'typing:stop',
      'message:new',
      'conversation:activity',
    ]);
  });
});

describe('notes', () => {
  it('never reach a visitor: not live, not by catching up, not as a position, not by a reading', async () => {
    const visitorSocket = await join(visitor, { echo: true });
    const operatorSocket = await join(operator, { echo: true });
    const first = await createMessage(operator, conversationId, 'hello');
    const secret = 'CANARY-note';
    const note = await operator.call('POST', `/conversations/${conversationId}/messages`, {
      content: secret,
      internal: true,
    });
    operatorSocket.send('message:send', {
      conversationId,
      content: `${secret} live`,
      clientMessageId: 'n',
      internal: true,
    });
    const noteId = (await operatorSocket.receives('message:ack')).serverMessageId as string;
    operatorSocket.send('message:edit', { conversationId, messageId: noteId, content: `${secret} edited` });
    await operatorSocket.receives('message:edited');
    await operator.call('POST', `/conversations/${conversationId}/read`, { messageId: noteId });
    await operatorSocket.receives('conversation:read');
    operatorSocket.send('message:delete', { conversationId, messageId: noteId });
    await operatorSocket.receives('message:deleted');
    expect(await heard(visitorSocket)).toEqual(['message:new']);
    for (const lastMessageId of [first, noteId, note.body.message.id as string, randomUUID()]) {
      const late = await connect(visitor);
      late.send('room:join', { conversationId, lastMessageId });
      expect((await late.receives('room:joined')).lastMessageId).toBe(first);
      const sync = await late.receives('messages:sync');
      expect((sync.messages as { id: string }[]).map(({ id }) => id)).toEqual(
        lastMessageId === first ? [] : [first],
      );
      expect([...(sync.edited as unknown[]), ...(sync.deleted as unknown[])]).toEqual([]);
      expect(JSON.stringify(late.frames)).not.toMatch(new RegExp(`${secret}|${noteId}`));
      await late.close();
    }
    // A visitor can neither touch one nor tell that it is there.
    for (const [type, more] of [
      ['message:edit', { content: 'x' }],
      ['message:delete', {}],
    ] as const) {
      const codes: unknown[] = [];
      for (const messageId of [note.body.message.id as string, randomUUID()]) {
        visitorSocket.frames.length = 0;
        visitorSocket.send(type, { conversationId, messageId, ...more });
        const { messageId: _named, ...error } = await visitorSocket.receives('error');
        codes.push(error);
      }
      expect(codes[0]).toEqual(codes[1]);
      expect(codes[0]).toMatchObject({ code: 'MESSAGE_NOT_FOUND' });
    }
    // Staff hear of it everywhere.
    expect(operatorSocket.all('conversation:activity').map(({ payload }) => payload.preview)).toContain(
      secret,
    );
  });
});

describe('echo', () => {
  it("reaches the sender's other tab that asked for it, once, and never the tab that sent", async () => {
    const sender = await join(visitor, { echo: true });
    const echoing = await join(visitor, { echo: true });
    const silent = await join(visitor);
    sender.send('message:send', { conversationId, content: 'by socket', clientMessageId: 'e1' });
    const { serverMessageId } = await sender.receives('message:ack');
    expect((await echoing.receives('message:new')).id).toBe(serverMessageId);
    expect([await heard(sender), await heard(echoing), await heard(silent)]).toEqual([
      ['message:ack'],
      ['message:new'],
      [],
    ]);
    await createMessage(visitor, conversationId, 'by REST');
    expect([await heard(sender), await heard(echoing), await heard(silent)]).toEqual([
      ['message:new'],
      ['message:new'],
      [],
    ]);
    // Joining again without a word about it keeps what was chosen; `false` ends it.
    echoing.send('room:join', { conversationId });
    await createMessage(visitor, conversationId, 'still');
    expect(await heard(echoing)).toEqual(['room:joined', 'message:new']);
    echoing.send('room:join', { conversationId, echo: false });
    await echoing.receives('room:joined');
    await createMessage(visitor, conversationId, 'no more');
    expect(await heard(echoing)).toEqual(['room:joined']);
  });
});
