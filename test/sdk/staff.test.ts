// Attacks the staff side where a console lives: processes that die with messages unsent,
// sessions that end in the middle, long days, and connections that are gone for a while.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { browserEnvironment } from '../../src/sdk/browser-environment.ts';
import { createStaffClient } from '../../src/sdk/staff.ts';
import type { StaffClient } from '../../src/sdk/staff-types.ts';
import type { HttpRequest, KeyValueStorage, SocketLike } from '../../src/sdk/types.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { fastTimers } from '../helpers/fast-timers.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  signIn,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let member: TestMember;
let visitor: TestClient;
const clients: StaffClient[] = [];

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  member = await createMember(app, 'acme', 'operator', 'Olivia');
  visitor = createVisitor(app, acme.application);
});
afterEach(() => {
  for (const client of clients.splice(0)) client.stop();
});
afterAll(() => app.stop());

function memory(): KeyValueStorage & { readonly map: Map<string, string> } {
  const map = new Map<string, string>();
  return {
    map,
    get length() {
      return map.size;
    },
    key: (index) => [...map.keys()][index] ?? null,
    getItem: (key) => map.get(key) ?? null,
    setItem: (key, value) => void map.set(key, value),
    removeItem: (key) => void map.delete(key),
  };
}

type Fetch = ReturnType<typeof browserEnvironment>['fetch'];

function aClient(
  options: {
    storage?: KeyValueStorage;
    fetch?: Fetch;
    requests?: string[];
    sockets?: SocketLike[];
    offline?: boolean;
  } = {},
): StaffClient {
  const real = browserEnvironment();
  const client = createStaffClient({
    baseUrl: app.url,
    ...(options.storage !== undefined && { storage: options.storage }),
    environment: {
      openSocket: (url) => {
        if (options.offline === true)
          return { send: () => undefined, close: () => undefined } as unknown as SocketLike;
        const socket = new WebSocket(url) as unknown as SocketLike;
        options.sockets?.push(socket);
        return socket;
      },
      fetch: (url, request) => {
        options.requests?.push(`${request.method} ${url.slice(url.indexOf('/staff'))}`);
        return (options.fetch ?? real.fetch)(url, request);
      },
      after: fastTimers(50),
    },
  });
  clients.push(client);
  return client;
}

const isSending = (url: string, request: HttpRequest): boolean =>
  request.method === 'POST' && url.endsWith('/messages');
const history = async (id: string): Promise<{ content: string; internal?: true }[]> =>
  (await member.call('GET', `/conversations/${id}/messages?limit=100`)).body.messages;

/** A conversation of the member's. */
async function accepted(): Promise<string> {
  const id = await createConversation(visitor);
  await createMessage(visitor, id, 'question');
  await member.call('POST', `/conversations/${id}/accept`);
  return id;
}

describe('what became of a mail', () => {
  it('is on its message, live and after an interruption, and told once', async () => {
    const id = await accepted();
    const { body } = await member.call('POST', `/conversations/${id}/messages`, { content: 'here' });
    const sockets: SocketLike[] = [];
    const client = aClient({ sockets });
    await client.resume(member.token);
    await client.join(id);
    const told: unknown[] = [];
    client.on('message:updated', ({ emailed }) => told.push(emailed?.state));
    const state = (): unknown =>
      client.getState().rooms[id]?.messages.find((one) => one.id === body.message.id)?.emailed?.state;
    await eventually(() => expect(client.getState().connection).toBe('online'));
    const hear = (frame: object): void => sockets.at(-1)?.onmessage?.({ data: JSON.stringify(frame) });
    const payload = { conversationId: id, messageId: body.message.id };
    hear({ type: 'message:emailed', payload: { ...payload, state: 'queued' } });
    hear({ type: 'message:emailed', payload: { ...payload, state: 'queued' } });
    expect(state()).toBe('queued');
    await rowsOf(
      app,
      `update messages set emailed = 'bounced', emailed_at = ${app.clock.now() + 1} where id = '${body.message.id}'`,
    );
    sockets.at(-1)?.close();
    await eventually(() => expect(state()).toBe('bounced'));
    expect(told).toEqual(['queued', 'bounced']);
  });
});

describe('what was not sent', () => {
  it('goes out when the next process starts, once, although the first one died between sending and hearing', async () => {
    const id = await accepted();
    const storage = memory();
    const first = aClient({
      storage,
      fetch: async (url, request) => {
        const answer = await browserEnvironment().fetch(url, request);
        // Stored, but the caller will never know.
        if (isSending(url, request)) throw new Error('cut');
        return answer;
      },
    });
    await first.resume(member.token);
    first.sendMessage(id, 'once').catch(() => undefined);
    await eventually(async () => expect((await history(id)).map(({ content }) => content)).toContain('once'));
    first.stop();
    expect(storage.map.size).toBeGreaterThan(0);
    const second = aClient({ storage });
    await second.resume(member.token);
    await eventually(() => expect(storage.map.size).toBe(0));
    expect((await history(id)).filter(({ content }) => content === 'once')).toHaveLength(1);
  });

  it('stays a note', async () => {
    const id = await accepted();
    const storage = memory();
    const first = aClient({
      storage,
      fetch: (url, request) =>
        isSending(url, request) ? Promise.reject(new Error('cut')) : browserEnvironment().fetch(url, request),
    });
    await first.resume(member.token);
    first.sendMessage(id, 'for us only', { internal: true }).catch(() => undefined);
    await eventually(() => expect(storage.map.size).toBe(2));
    first.stop();
    const second = aClient({ storage });
    await second.resume(member.token);
    await eventually(() => expect(storage.map.size).toBe(0));
    expect((await history(id)).find(({ content }) => content === 'for us only')?.internal).toBe(true);
    expect(
      (await visitor.call('GET', `/conversations/${id}/messages`)).body.messages.map(
        (one: { content: string }) => one.content,
      ),
    ).not.toContain('for us only');
  });

  it('of one member is never sent by another who signs in at the same place, then or later', async () => {
    const id = await accepted();
    const storage = memory();
    const requests: string[] = [];
    let reachable = false;
    const first = aClient({
      storage,
      requests,
      fetch: (url, request) =>
        isSending(url, request) && !reachable
          ? Promise.reject(new Error('cut'))
          : browserEnvironment().fetch(url, request),
    });
    await first.resume(member.token);
    first.sendMessage(id, 'mine').catch(() => undefined);
    await eventually(() =>
      expect(requests.filter((one) => one.endsWith('/messages')).length).toBeGreaterThan(0),
    );
    const other = await createMember(app, 'acme', 'admin', 'Otto');
    requests.length = 0;
    reachable = true;
    await first.resume(other.token);
    await eventually(() => expect(first.getState().connection).toBe('online'));
    // Whatever waits goes out before this does.
    await first.sendMessage(id, 'a note of the other', { internal: true });
    first.stop();
    const second = aClient({ storage, requests });
    await second.resume(other.token);
    await eventually(() => expect(second.getState().connection).toBe('online'));
    await second.sendMessage(id, 'another note', { internal: true });
    expect(requests.filter((one) => one.endsWith('/messages'))).toHaveLength(2);
    expect((await history(id)).map(({ content }) => content)).not.toContain('mine');
    expect([...storage.map.keys()].filter((key) => key.startsWith(member.id))).toHaveLength(1);
  });
});

describe('a session that ends', () => {
  it('takes no message with it: it waits, and goes out after the next sign-in', async () => {
    const leaving = await createMember(app, 'acme', 'operator', 'Lea');
    const id = await createConversation(visitor);
    await createMessage(visitor, id, 'question');
    await leaving.call('POST', `/conversations/${id}/accept`);
    const client = aClient();
    const failed: string[] = [];
    client.on('message:failed', ({ content }) => failed.push(content));
    let over = 0;
    client.on('signed-out', () => (over += 1));
    await client.resume(leaving.token);
    await client.join(id);
    await leaving.call('DELETE', '/session');
    const stored = client.sendMessage(id, 'written at the end');
    await eventually(() => expect(over).toBe(1));
    expect(failed).toEqual([]);
    const again = await signIn(app, 'acme', leaving.email, leaving.id);
    await client.resume(again.token);
    expect((await stored).content).toBe('written at the end');
    await eventually(() =>
      expect(
        client.getState().rooms[id]?.messages.filter(({ content }) => content === 'written at the end'),
      ).toHaveLength(1),
    );
  });
});

describe('a connection that is gone', () => {
  it('tells when the next attempt comes, and nothing while there is one', async () => {
    const sockets: SocketLike[] = [];
    const client = aClient({ sockets });
    const told: (number | null)[] = [];
    client.subscribe(({ connection, reconnectAt }) => {
      if (connection === 'offline') told.push(reconnectAt);
    });
    await client.resume(member.token);
    await eventually(() => expect(client.getState().connection).toBe('online'));
    expect(client.getState().reconnectAt).toBeNull();
    const before = Date.now();
    sockets[0]!.close();
    await eventually(() => expect(told.length).toBeGreaterThan(0));
    expect(told[0]).toBeGreaterThanOrEqual(before + 500);
    expect(told[0]).toBeLessThanOrEqual(Date.now() + 31_000);
    await eventually(() => expect(client.getState().connection).toBe('online'));
    expect(client.getState().reconnectAt).toBeNull();
  });

  it('asks again for the pages that are to be asked for again, and for no others', async () => {
    const sockets: SocketLike[] = [];
    const requests: string[] = [];
    const client = aClient({ sockets, requests });
    await client.resume(member.token);
    await eventually(() => expect(client.getState().connection).toBe('online'));
    await client.listConversations({ status: 'pending' });
    await client.listConversations({ status: 'closed' }, { again: false });
    requests.length = 0;
    sockets[0]!.close();
    await eventually(() => expect(requests.filter((one) => one.includes('status=pending'))).toHaveLength(1));
    expect(requests.filter((one) => one.includes('status=closed'))).toEqual([]);
  });
});

describe('a room that is joined again while the first request hangs', () => {
  it('is not taken away when that one fails', async () => {
    const id = await accepted();
    const hanging = Promise.withResolvers<void>();
    let asked = 0;
    const client = aClient({
      fetch: async (url, request) => {
        if (request.method === 'GET' && url.includes(`/conversations/${id}/messages`)) {
          asked += 1;
          if (asked === 1) {
            await hanging.promise;
            // Refused for good: nothing asks once more.
            return browserEnvironment().fetch(url.replace(id, crypto.randomUUID()), request);
          }
        }
        return browserEnvironment().fetch(url, request);
      },
    });
    await client.resume(member.token);
    const first = client.join(id);
    client.leave(id);
    await client.join(id);
    hanging.resolve();
    await expect(first).rejects.toMatchObject({ status: 404 });
    expect(client.getState().rooms[id]?.loaded).toBe(true);
    await createMessage(visitor, id, 'heard');
    await eventually(() =>
      expect(client.getState().rooms[id]?.messages.map(({ content }) => content)).toContain('heard'),
    );
  });
});

describe('a live message', () => {
  it('costs no request: not the one that is watched, with its mark, and not one in another room', async () => {
    const watched = await accepted();
    const other = await accepted();
    const requests: string[] = [];
    const client = aClient({ requests });
    await client.resume(member.token);
    await client.listConversations({});
    await client.join(watched);
    await eventually(() => expect(client.getState().connection).toBe('online'));
    requests.length = 0;
    const item = (id: string) => client.getState().conversations.find((one) => one.id === id);
    const messageId = await createMessage(visitor, watched, 'read at once');
    await eventually(() =>
      expect(client.getState().rooms[watched]?.messages.at(-1)).toMatchObject({ content: 'read at once' }),
    );
    await client.markRead(watched);
    expect(item(watched)).toMatchObject({ unread: false, unreadCount: 0 });
    await eventually(async () =>
      expect((await member.call('GET', `/conversations/${watched}`)).body.conversation.unread).toBe(false),
    );
    await createMessage(visitor, other, 'elsewhere');
    await member.call('POST', `/conversations/${other}/messages`, { content: 'a note', internal: true });
    await eventually(() =>
      expect(item(other)).toMatchObject({
        unreadCount: 2,
        lastMessage: { preview: 'a note', internal: true, senderRole: 'operator', senderName: 'Olivia' },
      }),
    );
    // What was heard is what a list says.
    const { body } = await member.call('GET', `/conversations?limit=100`);
    for (const id of [watched, other])
      expect(item(id)).toEqual((body.conversations as { id: string }[]).find((one) => one.id === id));
    expect(item(watched)?.lastMessage?.id).toBe(messageId);
    expect(requests).toEqual([]);
  });

  it('is not taken back by an answer that was on its way', async () => {
    const id = await accepted();
    const { fetch } = browserEnvironment();
    const arrived = Promise.withResolvers<void>();
    const goesOn = Promise.withResolvers<void>();
    let holds = false;
    const client = aClient({
      fetch: async (url, request) => {
        const answer = await fetch(url, request);
        if (!holds) return answer;
        arrived.resolve();
        await goesOn.promise;
        return answer;
      },
    });
    await client.resume(member.token);
    await eventually(() => expect(client.getState().connection).toBe('online'));
    await client.listConversations({});
    holds = true;
    const answered = client.listConversations({});
    await arrived.promise;
    const item = () => client.getState().conversations.find((one) => one.id === id);
    const before = item()?.unreadCount ?? 0;
    await createMessage(visitor, id, 'overtaken');
    await member.call('POST', `/conversations/${id}/release`);
    const now = { status: 'pending', unreadCount: before + 1, lastMessage: { preview: 'overtaken' } };
    await eventually(() => expect(item()).toMatchObject(now));
    goesOn.resolve();
    await answered;
    expect(item()).toMatchObject(now);
  });

  it('is marked by a request where no socket is open', async () => {
    const id = await accepted();
    const requests: string[] = [];
    const client = aClient({ requests, offline: true });
    await client.resume(member.token);
    await client.listConversations({});
    await client.join(id);
    requests.length = 0;
    await client.markRead(id);
    expect(requests.filter((one) => one.endsWith('/read'))).toEqual([`POST /staff/conversations/${id}/read`]);
  });
});

describe('a long day', () => {
  it('conversations that are not kept are forgotten, and come back when they are heard of', async () => {
    const ids = [
      await createConversation(visitor),
      await createConversation(visitor),
      await createConversation(visitor),
    ];
    const client = aClient();
    await client.resume(member.token);
    await client.listConversations({ status: 'pending', limit: 100 });
    client.keepConversations(new Set([ids[0]!]));
    expect(client.getState().conversations.map(({ id }) => id)).toEqual([ids[0]]);
    await eventually(() => expect(client.getState().connection).toBe('online'));
    await createMessage(visitor, ids[1]!, 'here I am');
    await eventually(() => expect(client.getState().conversations.map(({ id }) => id)).toContain(ids[1]));
  });
});
