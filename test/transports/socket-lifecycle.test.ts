// What ends a live connection or must not: withdrawn access, silence, floods, slow
// reading, a restart. Must not test what passes while it lives.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect as dial, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startApp, type TestApp, type TestAppOptions } from '../helpers/app.ts';
import { type TestSocket, connectSocket } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createApplication,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  signIn,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let sockets: Socket[] = [];

beforeEach(async () => {
  await start();
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await app.stop();
});

async function start(options: TestAppOptions = {}): Promise<void> {
  app = await startApp(options);
  acme = await createOrganization(app, 'acme');
}

async function restartWith(options: TestAppOptions): Promise<void> {
  await app.stop();
  await start(options);
}

async function settled(person: TestClient, query = ''): Promise<TestSocket> {
  const socket = await person.connect(query);
  await socket.drain();
  socket.frames.length = 0;
  return socket;
}

/** What a server counts by itself, or is watched at, is asked of one of them, also where there are several. */
const firstServer = (): TestApp => ({ ...app, url: app.urls[0] ?? app.url });

/**
 * Waits until so many joins were told to wait for the next second. A limiter that is asked over a connection says so some
 * time after it has let the last one in: a clock that moves before that wakes nothing.
 */
function watchPaces(): (paces: number) => Promise<void> {
  const { limiter } = app.service.engine;
  const take = limiter.take.bind(limiter);
  let told = 0;
  vi.spyOn(limiter, 'take').mockImplementation(async (wanted) => {
    const verdict = await take(wanted);
    if (!verdict.ok && wanted[0]?.key.startsWith('sync:')) told += 1;
    return verdict;
  });
  return (paces) => eventually(() => expect(told).toBeGreaterThanOrEqual(paces));
}

async function heard(socket: TestSocket): Promise<string[]> {
  await socket.drain();
  return socket.takeTypes();
}

async function expectAlive(...several: TestSocket[]): Promise<void> {
  for (const socket of several) {
    await socket.drain();
    expect(socket.closed).toBeNull();
  }
}

describe('withdrawn access ends the live connection at once', () => {
  it('of the visitors of a domain that is removed, and of no one else', async () => {
    await app.local('domains.add', { applicationId: acme.application.id, domain: 'second.example' });
    const second = { ...acme.application, domain: 'second.example', origin: 'https://second.example' };
    const gone = await settled(createVisitor(app, second));
    const stays = await settled(createVisitor(app, acme.application));
    await app.local('domains.remove', { applicationId: acme.application.id, domain: 'second.example' });
    expect((await gone.waitForClose()).code).toBe(4403);
    await expectAlive(stays);
  });

  it('of the visitors of an application that is deleted', async () => {
    const application = await createApplication(app, 'acme', 'second.example');
    const gone = await settled(createVisitor(app, application));
    const stays = await settled(createVisitor(app, acme.application));
    await app.local('applications.delete', { applicationId: application.id });
    expect((await gone.waitForClose()).code).toBe(4404);
    await expectAlive(stays);
  });

  it('of a member who is disabled, signs out, gets another password or is removed; not of the others', async () => {
    const others = [
      await settled(await createMember(app, 'acme', 'admin')),
      await settled(createVisitor(app, acme.application)),
    ];
    const acts: Record<string, (member: { id: string; call: TestClient['call'] }) => Promise<unknown>> = {
      disabled: ({ id }) => app.local('members.update', { memberId: id, disabled: true }),
      removed: ({ id }) => app.local('members.remove', { memberId: id }),
      'another password': ({ id }) =>
        app.local('members.update', { memberId: id, password: 'another long password' }),
      'signed out': ({ call }) => call('DELETE', '/session'),
    };
    for (const [name, act] of Object.entries(acts)) {
      const member = await createMember(app, 'acme');
      const sameMember = await signIn(app, 'acme', member.email, member.id);
      const { body } = await member.call('POST', '/ws-token');
      const [first, second] = [await settled(member), await settled(sameMember)];
      await act(member);
      expect([name, (await first.waitForClose()).code]).toEqual([name, 4403]);
      // Signing out ends the one session only.
      if (name === 'signed out') await expectAlive(second);
      else expect((await second.waitForClose()).code).toBe(4403);
      expect((await member.call('GET', '/session')).status).toBe(401);
      // A token that was minted before opens nothing any more.
      const late = await connectSocket(app.url, body.token as string);
      expect((await late.waitForClose()).code).toBe(4401);
      await second.close();
    }
    await expectAlive(...others);
  });

  it.each(['live', 'test'] as const)(
    'of who came by a token that an API key had asked for, once that key ends: %s',
    async (mode) => {
      const stays = await settled(createVisitor(app, acme.application));
      const { id, key } = await app.local('keys.create', { applicationId: acme.application.id, mode });
      const application = { ...acme.application, key, testKey: key };
      const revoked = createVisitorByKey(app, application, mode);
      const token = async (): Promise<string> =>
        (await revoked.call('POST', '/widget/ws-token', undefined, { origin: application.origin })).body
          .token;
      const open = await settled(revoked);
      const early = await token();
      await app.local('keys.revoke', { keyId: id });
      expect((await open.waitForClose()).code).toBe(4401);
      const late = await connectSocket(app.url, early, { origin: application.origin });
      expect((await late.waitForClose()).code).toBe(4401);

      const rotated = await app.local('keys.create', { applicationId: acme.application.id, mode });
      const visitor = createVisitorByKey(
        app,
        { ...acme.application, key: rotated.key, testKey: rotated.key },
        mode,
      );
      const [socket, silent] = [await settled(visitor), await settled(visitor)];
      await app.local('keys.rotate', { keyId: rotated.id, graceSeconds: 60 });
      app.clock.advance(59_000);
      await expectAlive(socket, silent, stays);
      app.clock.advance(1_000);
      socket.send('ping');
      expect((await socket.waitForClose()).code).toBe(4401);
      // That of the look before.
      expect(socket.all('pong')).toHaveLength(1);
      // The next beat of the server finds who says nothing.
      app.clock.advance(30_000);
      expect((await silent.waitForClose()).code).toBe(4401);
      await expectAlive(stays);
    },
  );

  it('hears nothing that happens after its access was withdrawn', async () => {
    const member = await createMember(app, 'acme');
    const visitor = createVisitor(app, acme.application);
    const conversationId = await createConversation(visitor);
    const socket = await settled(member);
    socket.send('room:join', { conversationId });
    await socket.receives('room:joined');
    await Promise.all([
      app
        .local('members.update', { memberId: member.id, disabled: true })
        .then(() => createMessage(visitor, conversationId, 'CANARY')),
      socket.waitForClose(),
    ]);
    expect(JSON.stringify(socket.frames)).not.toContain('CANARY');
  });
});

describe('silence and leaving', () => {
  it('drops a peer after 75 silent seconds, clears what it left, and keeps anyone who answers', async () => {
    const visitor = createVisitor(app, acme.application);
    const member = await createMember(app, 'acme');
    const conversationId = await createConversation(visitor);
    const listener = await settled(visitor);
    const silent = await settled(member);
    expect(await heard(listener)).toEqual(['presence']);
    for (const socket of [listener, silent]) {
      socket.send('room:join', { conversationId });
      await socket.receives('room:joined');
    }
    silent.send('typing:start', { conversationId });
    await listener.receives('typing:start');
    listener.frames.length = 0;
    // Half-open: what the server sends is never read, and nothing comes back.
    silent.socket.pause();
    for (let index = 0; index < 14; index += 1) {
      app.clock.advance(5_000);
      await listener.drain();
    }
    expect(listener.takeTypes()).toEqual(['typing:stop']);
    app.clock.advance(5_000);
    expect(await listener.receives('presence')).toEqual({ online: false });
    silent.socket.resume();
    expect((await silent.waitForClose()).code).toBe(1006);
    await expectAlive(listener);
  });

  it('drops one that has never sent anything, no sooner than after 75 seconds', async () => {
    const listener = await settled(createVisitor(app, acme.application));
    const mute = await createVisitor(app, acme.application).connect();
    mute.socket.pause();
    const { connections } = app.service.metrics;
    const before = connections.visitor;
    for (let index = 0; index < 14; index += 1) {
      app.clock.advance(5_000);
      await listener.drain();
    }
    expect(connections.visitor).toBe(before);
    app.clock.advance(5_000);
    await eventually(() => expect(connections.visitor).toBe(before - 1));
    mute.socket.resume();
    expect((await mute.waitForClose()).code).toBe(1006);
    await expectAlive(listener);
  });

  it('tells everybody 1001 when the server goes, and serves them again after', async () => {
    const visitor = createVisitor(app, acme.application);
    const conversationId = await createConversation(visitor);
    const id = await createMessage(visitor, conversationId);
    const sockets = [
      await settled(visitor),
      await settled(await createMember(app, 'acme')),
      await settled(createVisitor(app, acme.application)),
    ];
    app = await app.restart();
    for (const socket of sockets) expect((await socket.waitForClose()).code).toBe(1001);
    const back = await settled(createVisitor(app, acme.application, visitor.id));
    back.send('room:join', { conversationId, lastMessageId: randomUUID() });
    expect((await back.receives('messages:sync')).messages).toMatchObject([{ id }]);
  });
});

describe('floods', () => {
  it('limits the eleventh message of a second, whichever transport the ten came by, and closes who goes on', async () => {
    await restartWith({ flags: { limitVisitor: '10/s,120/m,2000/h' } });
    const visitor = createVisitor(app, acme.application);
    const other = createVisitor(app, acme.application);
    const conversationId = await createConversation(visitor);
    const socket = await settled(visitor);
    const otherSocket = await settled(other);
    const theirs = await createConversation(other);
    app.clock.advance(1_001);
    for (let index = 0; index < 5; index += 1)
      expect(
        (await visitor.call('POST', `/conversations/${conversationId}/messages`, { content: 'rest' })).status,
      ).toBe(201);
    for (let index = 0; index < 6; index += 1)
      socket.send('message:send', { conversationId, content: 'socket', clientMessageId: `c${index}` });
    expect(await socket.receives('error')).toMatchObject({
      code: 'RATE_LIMITED',
      clientMessageId: 'c5',
      conversationId,
    });
    expect(socket.all('message:ack')).toHaveLength(5);
    expect((await visitor.call('GET', '/conversations')).status).toBe(429);
    // No one else pays for it.
    otherSocket.send('message:send', { conversationId: theirs, content: 'me too', clientMessageId: 'n' });
    await otherSocket.receives('message:ack');
    // A pause is enough.
    app.clock.advance(1_001);
    socket.send('message:send', { conversationId, content: 'again', clientMessageId: 'again' });
    await socket.receives('message:ack', ({ clientMessageId }) => clientMessageId === 'again');
    // Pings in between excuse nothing.
    for (let index = 0; index < 60; index += 1) {
      socket.send('message:send', { conversationId, content: 'flood', clientMessageId: `f${index}` });
      socket.send('ping');
    }
    expect((await socket.waitForClose()).code).toBe(4429);
    await expectAlive(otherSocket);
  });

  it('paces a client that joins all its rooms again, and lets it into each', async () => {
    const visitor = createVisitor(firstServer(), acme.application);
    const rooms: { conversationId: string; lastMessageId: string }[] = [];
    for (let index = 0; index < 30; index += 1) {
      const conversationId = await createConversation(visitor);
      rooms.push({ conversationId, lastMessageId: await createMessage(visitor, conversationId) });
    }
    const socket = await settled(visitor);
    const paced = watchPaces();
    for (const room of rooms) socket.send('room:join', room);
    // Ten in a second: the others are not refused, but wait.
    await eventually(() => expect(socket.all('room:joined')).toHaveLength(10));
    for (const joined of [20, 30]) {
      await paced(joined / 10 - 1);
      app.clock.advance(1_001);
      await eventually(() => expect(socket.all('room:joined')).toHaveLength(joined));
    }
    expect(socket.all('error')).toEqual([]);
    await expectAlive(socket);
  });

  it('refuses at once where an address has too many who come back', async () => {
    app.clock.advance(1_001);
    const sockets: TestSocket[] = [];
    for (let person = 0; person < 5; person += 1) {
      const visitor = createVisitor(app, acme.application);
      const conversationId = await createConversation(visitor);
      const socket = await settled(visitor);
      for (let index = 0; index < 10; index += 1)
        socket.send('room:join', { conversationId, lastMessageId: randomUUID() });
      await socket.drain();
      sockets.push(socket);
    }
    // Forty in a second: other frames do not stand behind joins that wait for another visitor's.
    expect(sockets.map((socket) => socket.all('room:joined').length)).toEqual([10, 10, 10, 10, 0]);
    expect(
      sockets
        .at(-1)
        ?.all('error')
        .map(({ payload }) => payload.code),
    ).toEqual(Array(10).fill('RATE_LIMITED'));
  });

  it('bounds what catching up costs', async () => {
    const visitor = createVisitor(firstServer(), acme.application);
    const conversationId = await createConversation(visitor);
    for (let index = 0; index < 20; index += 1) await createMessage(visitor, conversationId);
    const socket = await settled(visitor);
    const paced = watchPaces();
    for (let index = 0; index < 145; index += 1)
      socket.send('room:join', { conversationId, lastMessageId: randomUUID() });
    // A hundred and twenty in a minute, ten in each second; what comes on top is refused, and then cut off.
    for (let joined = 10; joined < 120; joined += 10) {
      await eventually(() => expect(socket.all('room:joined')).toHaveLength(joined));
      await paced(joined / 10);
      app.clock.advance(1_001);
    }
    expect((await socket.waitForClose()).code).toBe(4429);
    expect(socket.all('room:joined')).toHaveLength(120);
    expect(socket.all('error').map(({ payload }) => payload)).toEqual(
      Array(20).fill(expect.objectContaining({ code: 'RATE_LIMITED', conversationId })),
    );
  });

  it('bounds plain frames as well', async () => {
    const socket = await settled(createVisitor(app, acme.application));
    // What was spent on settling is over.
    app.clock.advance(1_001);
    for (let index = 0; index < 330; index += 1) socket.send('ping');
    expect((await socket.waitForClose()).code).toBe(4429);
    expect(socket.all('pong')).toHaveLength(300);
  });

  it.each(['ping', 'pong'] as const)('counts each %s of the WebSocket itself among them', async (kind) => {
    const socket = await settled(createVisitor(app, acme.application));
    // What was spent on settling is over.
    app.clock.advance(1_001);
    let answered = 0;
    socket.socket.on('pong', () => (answered += 1));
    for (let index = 0; index < 330; index += 1) socket.socket[kind]();
    expect((await socket.waitForClose()).code).toBe(4429);
    expect(answered).toBe(kind === 'ping' ? 300 : 0);
  });

  it('counts frames that can’t be read, with pings in between or without', async () => {
    const socket = await settled(createVisitor(app, acme.application));
    // What was spent on settling is over.
    app.clock.advance(1_001);
    for (let index = 0; index < 330; index += 1)
      if (index % 10 === 0) socket.send('ping');
      else socket.socket.send('{');
    expect((await socket.waitForClose()).code).toBe(4429);
    const heard = [...socket.all('pong'), ...socket.all('error')];
    expect(heard.filter(({ payload }) => payload?.code !== 'RATE_LIMITED')).toHaveLength(300);
  });

  it('reads no large frames of a user after too many that are no messages, with small ones in between or without', async () => {
    const visitor = createVisitor(firstServer(), acme.application);
    const conversationId = await createConversation(visitor);
    const several = [await settled(visitor), await settled(visitor), await settled(visitor)] as const;
    app.clock.advance(1_001);
    const junk = JSON.stringify({ type: 'room:join', payload: { conversationId, x: '['.repeat(60_000) } });
    const codes = (socket: TestSocket): unknown[] => socket.all('error').map(({ payload }) => payload.code);
    for (let index = 0; index < 10; index += 1) several[0].socket.send(junk);
    await eventually(() => expect(several[0].all('room:joined')).toHaveLength(10));
    // Long messages that are taken don't count, and what can't be read does.
    for (const clientMessageId of ['a', 'b', 'c', 'd', 'e', 'f'])
      several[1].send('message:send', { conversationId, content: 'x'.repeat(9_000), clientMessageId });
    await eventually(() => expect(several[1].all('message:ack')).toHaveLength(6));
    for (let index = 0; index < 5; index += 1) several[1].socket.send('{'.repeat(60_000));
    await eventually(() => expect(codes(several[1])).toEqual(Array(5).fill('VALIDATION_ERROR')));
    for (let index = 0; index < 20; index += 1) {
      several[2].socket.send(junk);
      several[2].send('ping');
    }
    expect((await several[2].waitForClose()).code).toBe(4429);
    expect(codes(several[2])).toEqual(Array(20).fill('RATE_LIMITED'));
    expect(several[2].all('room:joined')).toEqual([]);
    // Small frames pass all the while, and a second later large ones.
    await expectAlive(several[1]);
    app.clock.advance(1_001);
    several[1].socket.send(junk);
    await several[1].receives('room:joined');
  });

  /** Sends so many frames through each, all answered. @returns how many were refused */
  async function refusedOf(several: readonly TestSocket[], each: number): Promise<number> {
    for (const socket of several) for (let index = 0; index < each; index += 1) socket.send('ping');
    const count = (type: string): number => several.reduce((sum, socket) => sum + socket.all(type).length, 0);
    await eventually(() => expect(count('pong') + count('error')).toBe(several.length * each));
    return count('error');
  }

  it('bounds the plain frames of a user, however many connections there are', async () => {
    const visitor = createVisitor(firstServer(), acme.application);
    const several = [await settled(visitor), await settled(visitor), await settled(visitor)];
    app.clock.advance(1_001);
    expect(await refusedOf(several, 205)).toBe(15);
    // Another one is not held up.
    await expectAlive(await settled(createVisitor(firstServer(), acme.application)));
  });

  it('bounds the plain frames of an address, however many visitors it is', async () => {
    const several: TestSocket[] = [];
    for (let at = 0; at < 11; at += 1)
      several.push(await settled(createVisitor(firstServer(), acme.application)));
    const member = await settled(await createMember(firstServer(), 'acme'));
    app.clock.advance(1_001);
    expect(await refusedOf(several, 274)).toBe(14);
    await expectAlive(member);
  });
});

/** A connection that is let in and then never read. */
async function deafPeer(person: TestClient): Promise<Socket> {
  const { body } = await person.call('POST', '/widget/ws-token');
  const socket = dial({ port: Number(new URL(app.url).port), host: '127.0.0.1' });
  sockets.push(socket);
  socket.on('error', () => undefined);
  socket.write(
    `GET /api/v1/ws?token=${body.token as string} HTTP/1.1\r\nHost: x\r\nOrigin: ${acme.application.origin}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  );
  const [first] = (await once(socket, 'data')) as [Buffer];
  expect(first.toString()).toContain('101 Switching');
  socket.pause();
  return socket;
}

/** A client's frame, masked with zeros. */
function clientFrame(opcode: number, payload: Buffer): Buffer {
  const length =
    payload.length < 126
      ? Buffer.from([0x80 | payload.length])
      : Buffer.from([0xfe, payload.length >> 8, payload.length & 255]);
  return Buffer.concat([Buffer.from([0x80 | opcode]), length, Buffer.alloc(4), payload]);
}

describe('who does not read', () => {
  it('is cut off with 4408 while the others hear everything', async () => {
    const visitor = createVisitor(firstServer(), acme.application);
    const member = await createMember(app, 'acme');
    const conversationId = await createConversation(visitor);
    await member.call('POST', `/conversations/${conversationId}/accept`);
    const [socket, deaf] = [await settled(visitor), await settled(visitor)];
    for (const one of [socket, deaf]) {
      one.send('room:join', { conversationId });
      await one.receives('room:joined');
    }
    deaf.socket.pause();
    const visitors = app.service.metrics.connections.visitor;
    const memberSocket = await settled(member);
    // The kernel's buffers take the first ten MB or so; then the server's own, up to 1 MiB; then it is over.
    const total = 1_000;
    for (let index = 0; index < total; index += 1)
      memberSocket.send('message:send', {
        conversationId,
        content: 'ü'.repeat(10_000),
        clientMessageId: `m${index}`,
      });
    // It reads again as soon as the server has given it up, which then waits only so long for the peer's answer: what
    // it was sent, without a hole, and then why.
    await eventually(() => {
      expect(app.service.metrics.connections.visitor).toBe(visitors - 1);
    });
    deaf.socket.resume();
    await eventually(() => {
      expect(socket.all('message:new')).toHaveLength(total);
    });
    expect((await deaf.waitForClose()).code).toBe(4408);
    const got = deaf.all('message:new').map(({ payload }) => payload.id as string);
    expect(got.length).toBeLessThan(total);
    expect(got).toEqual(
      socket
        .all('message:new')
        .slice(0, got.length)
        .map(({ payload }) => payload.id as string),
    );
    await expectAlive(socket, memberSocket);
  });

  it('may read a long history slowly, and loses nothing of what else comes in between', async () => {
    const visitor = createVisitor(app, acme.application);
    const conversationId = await createConversation(visitor);
    const writer = await settled(visitor);
    // Pages of more than 1 MiB each: more than may wait unread for any other reason.
    const content = 'ü'.repeat(10_000);
    const total = 450;
    for (let index = 0; index < total; index += 1)
      writer.send('message:send', { conversationId, content, clientMessageId: `m${index}` });
    await eventually(() => {
      expect(writer.all('message:ack')).toHaveLength(total);
    });
    const slow = await settled(visitor);
    slow.send('room:join', { conversationId, lastMessageId: randomUUID() });
    slow.socket.pause();
    const member = await createMember(app, 'acme');
    await member.call('POST', `/conversations/${conversationId}/accept`);
    // Things of other rooms, of the organization and of this room, all while the first page is still on its way.
    const memberSocket = await settled(member);
    await eventually(() => {
      expect(writer.all('presence')).toHaveLength(1);
    });
    memberSocket.send('message:send', { conversationId, content: 'live', clientMessageId: 'live' });
    await memberSocket.receives('message:ack');
    slow.socket.resume();
    await slow.receives('room:joined');
    await slow.drain();
    expect(slow.closed).toBeNull();
    const pages = slow.all('messages:sync').map(({ payload }) => payload);
    expect(pages.map(({ messages, hasMore }) => [messages.length, hasMore])).toEqual([
      ...Array.from({ length: 7 }, () => [60, true]),
      [expect.any(Number), false],
    ]);
    expect(slow.all('presence')).toHaveLength(1);
    const ids = [
      ...pages.flatMap(({ messages }) => (messages as { id: string }[]).map(({ id }) => id)),
      ...slow.all('message:new').map(({ payload }) => payload.id as string),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(total + 1);
  });

  it('can not fill the memory with answers to its pings', async () => {
    const deaf = await deafPeer(createVisitor(app, acme.application));
    const flood = Buffer.concat(Array.from({ length: 1_000 }, () => clientFrame(9, Buffer.alloc(125, 65))));
    let sent = 0;
    await eventually(() => {
      deaf.write(flood);
      sent += 1;
      app.clock.advance(10);
      expect([...liveDeaf(deaf)]).not.toEqual([]);
    });
    expect(sent).toBeGreaterThan(1);
  });
});

/** What the system says once the other side has cut this connection: asked without reading from it. */
function liveDeaf(socket: Socket): Set<string> {
  const signs = new Set<string>();
  if (socket.destroyed) signs.add('destroyed');
  if (socket.errored !== null) signs.add('errored');
  if (socket.closed) signs.add('closed');
  return signs;
}
