// What was missed and what is live, together: catching up page by page, one strict order
// everywhere, and joins in the middle of a burst, with no gap, no double and no disorder.
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { TestSocket, Frame } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import { rounds, seed, seededRandom } from '../helpers/rounds.ts';
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
let operator: TestMember;
let visitor: TestClient;
let conversationId: string;
let sockets: TestSocket[] = [];

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  await app.local('organizations.update', { organization: 'acme', limits: { requestsPerMinute: 1_000_000 } });
  operator = await createMember(app, 'acme');
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

async function connect(person: TestClient): Promise<TestSocket> {
  const socket = await person.connect();
  sockets.push(socket);
  await socket.drain();
  return socket;
}

/** Sends so many messages by a socket, all within one millisecond of the server's clock; their ids in order of commit. */
async function burst(person: TestClient, count: number, prefix = 'm'): Promise<string[]> {
  const socket = await connect(person);
  for (let index = 0; index < count; index += 1)
    socket.send('message:send', {
      conversationId,
      content: `${prefix}${index}`,
      clientMessageId: `${prefix}${index}`,
    });
  await eventually(() => {
    expect(socket.all('message:ack')).toHaveLength(count);
  });
  return socket.all('message:ack').map(({ payload }) => payload.serverMessageId as string);
}

interface Caught {
  readonly ids: string[];
  readonly sizes: number[];
  /** The last page. */
  readonly last: Frame['payload'];
}

const idsOf = (messages: unknown): string[] => (messages as { id: string }[]).map(({ id }) => id);

/** Joins a room and puts the pages together. */
async function catchUp(person: TestClient, lastMessageId: string): Promise<Caught> {
  const socket = await connect(person);
  socket.send('room:join', { conversationId, lastMessageId });
  await socket.receives('room:joined');
  const pages = socket.all('messages:sync').map(({ payload }) => payload);
  // Sync comes whole before room:joined, every page but the last says that there is more.
  expect(socket.frames.findLastIndex(({ type }) => type === 'messages:sync')).toBeLessThan(
    socket.frames.findIndex(({ type }) => type === 'room:joined'),
  );
  expect(pages.map(({ hasMore }) => hasMore as boolean)).toEqual(
    pages.map((_page, index) => index < pages.length - 1),
  );
  for (const page of pages.slice(0, -1))
    expect(Object.keys(page).toSorted()).toEqual(['conversationId', 'hasMore', 'messages']);
  return {
    ids: pages.flatMap(({ messages }) => idsOf(messages)),
    sizes: pages.map(({ messages }) => messages.length),
    last: pages.at(-1),
  };
}

/** The whole history by REST, page after page. */
async function history(order = 'asc', limit = 100): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const { body } = await visitor.call(
      'GET',
      `/conversations/${conversationId}/messages?limit=${limit}&offset=${ids.length}&order=${order}`,
    );
    ids.push(...idsOf(body.messages));
    if (body.messages.length < limit) return ids;
  }
}

describe('catching up', () => {
  it('comes in pages of at most 200, for 0, 1, 200, 201, 400 and 401 missed messages', async () => {
    const first = await createMessage(visitor, conversationId, 'first');
    const ids = await burst(visitor, 401);
    const sizes = new Map([
      [first, [200, 200, 1]],
      [ids[0] as string, [200, 200]],
      [ids[199] as string, [200, 1]],
      [ids[200] as string, [200]],
      [ids[399] as string, [1]],
      [ids[400] as string, [0]],
    ]);
    for (const [lastMessageId, expected] of sizes) {
      const caught = await catchUp(visitor, lastMessageId);
      expect(caught.sizes).toEqual(expected);
      expect(caught.ids).toEqual(ids.slice(ids.indexOf(lastMessageId) + 1));
      expect(caught.last).toMatchObject({ conversationId, hasMore: false, edited: [], deleted: [] });
    }
  });

  it('has messages in their full shape', async () => {
    const id = await createMessage(operator, conversationId, 'whole');
    const { last } = await catchUp(visitor, randomUUID());
    expect(last.messages).toEqual([
      {
        id,
        senderId: operator.id,
        senderName: 'Olivia Operator',
        senderRole: 'operator',
        type: 'text',
        content: 'whole',
        contentFormat: 'plain',
        contentHtml: null,
        createdAt: expect.any(String),
        editedAt: null,
      },
    ]);
  });

  it('tells of the whole history when the last id is unknown or of another conversation, and knows one in upper case', async () => {
    const ids = await burst(visitor, 5);
    const elsewhere = await createMessage(visitor, await createConversation(visitor));
    for (const unknown of [randomUUID(), elsewhere]) {
      const caught = await catchUp(visitor, unknown);
      expect(caught.ids).toEqual(ids);
      expect(caught.last).toMatchObject({ edited: [], deleted: [] });
    }
    expect((await catchUp(visitor, (ids[2] as string).toUpperCase())).ids).toEqual(ids.slice(3));
    const socket = await connect(visitor);
    for (const junk of ['x', 5, {}, '']) socket.send('room:join', { conversationId, lastMessageId: junk });
    await socket.drain();
    expect(socket.all('error').map(({ payload }) => payload.code)).toEqual(Array(4).fill('VALIDATION_ERROR'));
    expect(socket.all('messages:sync')).toEqual([]);
  });

  it('keeps the place of a deleted last message, and says what became of older ones', async () => {
    const ids = await burst(visitor, 6);
    const message = (index: number): string => `/conversations/${conversationId}/messages/${ids[index]}`;
    // Changed before message 3 was there would not be told; changed after it is.
    await visitor.call('PATCH', message(1), { content: 'changed' });
    await visitor.call('DELETE', message(0));
    await visitor.call('DELETE', message(3));
    await visitor.call('PATCH', message(4), { content: 'newer, and changed' });
    await visitor.call('DELETE', message(5));
    const caught = await catchUp(visitor, ids[3] as string);
    expect(caught.ids).toEqual([ids[4]]);
    expect(caught.last.messages[0]).toMatchObject({
      content: 'newer, and changed',
      editedAt: expect.any(String),
    });
    expect(caught.last.edited).toMatchObject([{ id: ids[1], content: 'changed' }]);
    expect(caught.last.deleted).toEqual([ids[0], ids[3]]);
    // Who has seen a message that came after all of it is told nothing again.
    const newest = await createMessage(visitor, conversationId, 'newest');
    expect((await catchUp(visitor, newest)).last).toMatchObject({ messages: [], edited: [], deleted: [] });
  });
});

describe('order', () => {
  it('is one and the same in history both ways, by position, by sync and live, for hundreds in one millisecond', async () => {
    const live = await connect(operator);
    live.send('room:join', { conversationId });
    await live.receives('room:joined');
    const ids = await burst(visitor, 300);
    await live.drain();
    expect(live.all('message:new').map(({ payload }) => payload.id as string)).toEqual(ids);
    expect(new Set(live.all('message:new').map(({ payload }) => payload.createdAt as string)).size).toBe(1);
    expect(await history()).toEqual(ids);
    expect(await history('desc')).toEqual(ids.toReversed());
    expect((await catchUp(visitor, randomUUID())).ids).toEqual(ids);
    // By position, while new ones come in: no gap, no overlap.
    const paged: string[] = [];
    while (paged.length < ids.length) {
      const after = paged.length === 0 ? '' : `&after=${paged.at(-1)}`;
      const { body } = await visitor.call(
        'GET',
        `/conversations/${conversationId}/messages?limit=37${after}`,
      );
      paged.push(...idsOf(body.messages));
      if (paged.length < 290) ids.push(await createMessage(visitor, conversationId, 'one more'));
    }
    expect(paged).toEqual(ids.slice(0, paged.length));
    const backwards: string[] = [];
    for (let before = ids.at(-1) as string; ; before = backwards.at(-1) as string) {
      const { body } = await visitor.call(
        'GET',
        `/conversations/${conversationId}/messages?limit=50&order=desc&before=${before}`,
      );
      backwards.push(...idsOf(body.messages));
      if (body.messages.length < 50) break;
    }
    expect(backwards.toReversed()).toEqual(ids.slice(0, -1));
  });
});

describe('joining in the middle of a burst', () => {
  /** Holds every read of the store until it is let go. */
  function holdReads(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    void app.service.engine.store.read(() => promise);
    return resolve;
  }

  it('tells once what was committed between the joining and the reading', async () => {
    const from = await createMessage(operator, conversationId, 'start');
    const [reader, writer] = [await connect(visitor), await connect(operator)];
    const letGo = holdReads();
    reader.send('room:join', { conversationId, lastMessageId: from });
    await new Promise((resolve) => {
      reader.socket.once('pong', resolve).ping();
    });
    writer.send('message:send', { conversationId, content: 'between', clientMessageId: 'between' });
    const { serverMessageId } = await writer.receives('message:ack');
    letGo();
    await reader.receives('room:joined');
    await reader.drain();
    // By the sync; live where an engine has read for the join before it held other reads.
    const synced = reader.all('messages:sync').flatMap(({ payload }) => idsOf(payload.messages));
    const live = reader.all('message:new').map(({ payload }) => payload.id);
    expect([...synced, ...live]).toEqual([serverMessageId]);
  });

  it('hears every message once and in order: sync and live together are the table', async () => {
    const next = seededRandom();
    const writers = [await connect(operator), await connect(visitor)];
    const known = [await createMessage(operator, conversationId, 'start')];
    const reader = await connect(visitor);
    const earlier = new Set<string>();
    let sent = 0;
    for (let round = 0; round < rounds(30, 150); round += 1) {
      app.clock.advance(250);
      const from = known[Math.floor(next() * known.length)] as string;
      reader.frames.length = 0;
      const joinAt = Math.floor(next() * 12);
      const again = next() < 0.3;
      let letGo = (): void => undefined;
      for (let index = 0; index < 12; index += 1) {
        // Now and then the join has to wait for its reading, while messages go on being committed.
        if (index === joinAt && next() < 0.5) letGo = holdReads();
        if (index > joinAt && next() < 0.3) letGo();
        if (index === joinAt) reader.send('room:join', { conversationId, lastMessageId: from, echo: true });
        if (again && index === joinAt + 3) reader.send('room:join', { conversationId, echo: true });
        if (next() < 0.3)
          await new Promise((resolve) => {
            setImmediate(resolve);
          });
        if (next() < 0.2) await writers[0]?.drain();
        const content = `r${round}-${index}`;
        (next() < 0.7 ? writers[0] : writers[1])?.send('message:send', {
          conversationId,
          content,
          clientMessageId: content,
        });
        sent += 1;
      }
      letGo();
      const acked = await eventually(() => {
        const ids = writers.flatMap((socket) =>
          socket.all('message:ack').map(({ payload }) => payload.serverMessageId as string),
        );
        expect(ids).toHaveLength(sent);
        return ids;
      });
      await reader.receives('room:joined');
      await reader.drain();
      const table: string[] = [];
      for (let after = from; ; after = table.at(-1) as string) {
        const { body } = await visitor.call(
          'GET',
          `/conversations/${conversationId}/messages?limit=100&after=${after}`,
        );
        table.push(...idsOf(body.messages));
        if (body.messages.length < 100) break;
      }
      expect(table).toEqual(expect.arrayContaining(acked.filter((id) => !earlier.has(id))));
      for (const id of acked) earlier.add(id);
      const heard = reader.frames.flatMap(({ type, payload }) =>
        type === 'message:new'
          ? [payload.id as string]
          : type === 'messages:sync'
            ? idsOf(payload.messages)
            : [],
      );
      expect({ seed, round, heard }).toEqual({ seed, round, heard: table });
      known.push(...table.slice(-12));
      if (known.length > 40) known.splice(0, known.length - 40);
      reader.send('room:leave', { conversationId });
    }
  });
});

// Last: it ends every connection.
describe('a restart', () => {
  it('loses nothing of it', async () => {
    const ids = await burst(visitor, 3);
    sockets = [];
    app = await app.restart();
    const back = createVisitor(app, acme.application, visitor.id);
    expect((await catchUp(back, ids[0] as string)).ids).toEqual(ids.slice(1));
  });
});
