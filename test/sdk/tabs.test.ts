// Owns what survives a page and what tabs share: the outbox over reloads and outages, one
// socket for all tabs, and the hand-over when the leader goes.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { startApp, type TestApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import { fastTimers } from '../helpers/fast-timers.ts';
import { Browser, openPage, type Page, type PageOptions } from '../helpers/sdk-page.ts';
import { startProxy, type Proxy } from '../helpers/proxy.ts';
import type { HttpRequest } from '../../src/sdk/types.ts';
import {
  createMember,
  createOrganization,
  createVisitor,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let operator: TestMember;
let browser: Browser;
let proxy: Proxy;
let pages: Page[];

beforeEach(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  operator = await createMember(app, 'acme');
  proxy = await startProxy(app.url);
  browser = new Browser();
  pages = [];
});

afterEach(async () => {
  for (const page of pages) page.sdk.destroy();
  await proxy.stop();
  await app.stop();
});

function tab(options: Partial<PageOptions> = {}): Page {
  const page = openPage({
    url: proxy.url,
    appId: acme.application.id,
    origin: acme.application.origin,
    browser,
    ...options,
  });
  pages.push(page);
  return page;
}

/** A page's surroundings in which some requests are answered, or fail, without the service. */
function answering(
  instead: (method: string, path: string, request: HttpRequest) => Response | undefined,
): NonNullable<PageOptions['environment']> {
  return {
    fetch: async (url, request) =>
      instead(request.method, new URL(url).pathname.replace('/api/v1', ''), request) ??
      fetch(url, {
        ...(request as RequestInit),
        keepalive: false,
        headers: { ...request.headers, origin: acme.application.origin },
      }),
  };
}

function refusal(status: number, error: string, more: object = {}): Response {
  return Response.json({ error, message: 'Not now.', ...more }, { status });
}

function texts(page: Page): string[] {
  return page.sdk.getState().messages.map(({ content, state }) => `${content}:${state}`);
}

async function stored(page: Page, id: string): Promise<string[]> {
  const { body } = await createVisitor(app, acme.application, page.sdk.getState().visitorId!).call(
    'GET',
    `/conversations/${id}/messages?limit=100`,
  );
  return (body.messages as { content: string }[]).map(({ content }) => content);
}

/** Waits until a page has lost its connection and is back in a room. */
async function reconnect(page: Page): Promise<void> {
  const before = page.joined.length;
  page.sockets.at(-1)!.terminate();
  await eventually(() => expect(page.joined.length).toBeGreaterThan(before));
}

it('writes nothing, makes no id and opens no socket before the visitor acts', async () => {
  const page = tab();
  await page.ready;
  page.sdk.open();
  page.sdk.close();
  page.emit('wake');
  expect(browser.storage.writes).toBe(0);
  expect(page.sockets).toEqual([]);
  expect(page.requests).toEqual(['GET /api/v1/widget/config']);
});

it('keeps what was written offline over a reload, and sends it once and in order', async () => {
  const first = tab();
  await first.ready;
  proxy.refuse(true);
  for (const text of ['one', 'two', 'three']) first.sdk.sendMessage(text).catch(() => undefined);
  expect(texts(first)).toEqual(['one:sending', 'two:sending', 'three:sending']);
  await eventually(() => expect(first.received('error').map(({ code }) => code)).toContain('network'));
  first.sdk.destroy();

  const second = tab();
  await second.ready;
  const [draft] = second.sdk.getState().conversations;
  expect(draft).toMatchObject({ draft: true, status: 'pending' });
  await second.sdk.openConversation(draft!.id);
  expect(texts(second)).toEqual(['one:sending', 'two:sending', 'three:sending']);
  proxy.refuse(false);
  await eventually(() => expect(texts(second)).toEqual(['one:sent', 'two:sent', 'three:sent']));
  const { conversationId, visitorId } = second.sdk.getState();
  expect(visitorId).toBe(first.sdk.getState().visitorId);
  expect(await stored(second, conversationId!)).toEqual(['one', 'two', 'three']);
  expect([...browser.storage.entries.keys()]).toEqual([`deskbell:${acme.application.id}:visitor`]);
  const { body } = await createVisitor(app, acme.application, visitorId!).call('GET', '/conversations');
  expect(body.total).toBe(1);
});

it('sends once although every first answer is lost, and never shows it twice', async () => {
  let lose = true;
  const page = tab({
    environment: {
      fetch: async (url, request) => {
        const response = await fetch(url, {
          ...(request as RequestInit),
          headers: { ...request.headers, origin: acme.application.origin },
        });
        if (request.method !== 'POST' || !url.includes('/conversations')) return response;
        lose = !lose;
        if (lose) return response;
        await response.text();
        throw new TypeError('connection reset');
      },
    },
  });
  const counts: number[] = [];
  page.sdk.subscribe(({ messages }) =>
    counts.push(messages.filter(({ content }) => content === 'same').length),
  );
  const { conversationId } = await page.sdk.sendMessage('same');
  await page.sdk.sendMessage('other');
  await eventually(() => expect(texts(page)).toEqual(['same:sent', 'other:sent']));
  expect(await stored(page, conversationId)).toEqual(['same', 'other']);
  expect(Math.max(...counts)).toBe(1);
});

it('keeps what is refused for good as failed, over a reload too, and sends it on retry', async () => {
  let refuse = true;
  const environment: PageOptions['environment'] = {
    fetch: (url, request) =>
      refuse && request.method === 'POST' && url.endsWith('/messages')
        ? Promise.resolve(Response.json({ error: 'forbidden', message: 'Not now.' }, { status: 403 }))
        : fetch(url, {
            ...(request as RequestInit),
            headers: { ...request.headers, origin: acme.application.origin },
          }),
  };
  const first = tab({ environment });
  await expect(first.sdk.sendMessage('again')).rejects.toMatchObject({
    code: 'forbidden',
    status: 403,
    message: 'Not now.',
  });
  const { conversationId } = first.sdk.getState();
  expect(texts(first)).toEqual(['again:failed']);
  first.sdk.destroy();
  refuse = false;
  const second = tab({ environment });
  await second.sdk.openConversation(conversationId);
  expect(texts(second)).toEqual(['again:failed']);
  await second.sdk.retry(second.sdk.getState().messages[0]!.key);
  await eventually(() => expect(texts(second)).toEqual(['again:sent']));
  expect(await stored(second, conversationId!)).toEqual(['again']);
});

it('waits as long as the service says, and shows until when', async () => {
  let limited = true;
  const waits: number[] = [];
  const page = tab({
    environment: {
      fetch: (url, request) => {
        if (!limited || !url.endsWith('/messages') || request.method !== 'POST')
          return fetch(url, {
            ...(request as RequestInit),
            headers: { ...request.headers, origin: acme.application.origin },
          });
        limited = false;
        return Promise.resolve(
          Response.json(
            { error: 'rate_limit_exceeded', message: 'Slow down.', cause: 'per_visitor', retryAfter: 7 },
            { status: 429 },
          ),
        );
      },
      after: (ms, run) => {
        waits.push(ms);
        return fastTimers(50)(ms, run);
      },
    },
  });
  const sending = page.sdk.sendMessage('later');
  await eventually(() => expect(page.sdk.getState().retryAt).toBe(Date.UTC(2026, 10, 21, 12) + 7_000));
  expect(page.received('error')).toMatchObject([
    { code: 'rate_limit_exceeded', status: 429, retryAfter: 7, cause: 'per_visitor' },
  ]);
  expect(waits).toContain(7_000);
  await sending;
  expect(page.sdk.getState().retryAt).toBeNull();
});

it('goes on when a message that had to wait is taken back', async () => {
  let limited = true;
  const page = tab({
    environment: answering((method, path) => {
      if (!limited || method !== 'POST' || !path.endsWith('/messages')) return undefined;
      limited = false;
      return refusal(429, 'rate_limit_exceeded', { retryAfter: 7 });
    }),
  });
  const taken = page.sdk.sendMessage('taken back');
  await eventually(() => expect(page.sdk.getState().retryAt).not.toBeNull());
  await page.sdk.deleteMessage(page.sdk.getState().messages[0]!.key);
  await expect(taken).rejects.toMatchObject({ code: 'destroyed' });
  await eventually(() => expect(page.sdk.getState().retryAt).toBeNull());
  expect(await page.sdk.sendMessage('next')).toMatchObject({ state: 'sent' });
});

it('is told that a message is too large, which a browser would not send with keepalive', async () => {
  const page = tab({
    environment: answering((_method, _path, { body = '', keepalive = false }) => {
      if (keepalive && Buffer.byteLength(body) > 65_536) throw new TypeError('Failed to fetch');
      return undefined;
    }),
  });
  await expect(page.sdk.sendMessage('ü'.repeat(40_000))).rejects.toMatchObject({ status: 413 });
  expect(await page.sdk.sendMessage('short')).toMatchObject({ state: 'sent' });
});

it.each(['send', 'wake'] as const)('connects again after a refusal: %s', async (what) => {
  let refused = true;
  const page = tab({
    environment: answering((_method, path) =>
      refused && path === '/widget/ws-token' ? refusal(404, 'not_found') : undefined,
    ),
  });
  await page.sdk.sendMessage('hello');
  await eventually(() => expect(page.received('error')).toMatchObject([{ status: 404 }]));
  refused = false;
  if (what === 'send') await page.sdk.sendMessage('again');
  else page.emit('wake');
  await eventually(() => expect(page.sdk.getState().connection).toBe('online'));
});

it('asks for the conversations until it has them, and listens then', async () => {
  const first = tab();
  const { conversationId: id } = await first.sdk.sendMessage('hello');
  first.sdk.destroy();
  let failures = 2;
  const second = tab({
    environment: answering((_method, path) => {
      if (path !== '/conversations' || failures === 0) return undefined;
      failures -= 1;
      throw new TypeError('Failed to fetch');
    }),
  });
  await eventually(() => expect(second.joined).toEqual([id]));
  expect(second.received('error').map(({ code }) => code)).toEqual(['network', 'network']);
});

it('says who the visitor is until the service has been told, and no more after that or a refusal', async () => {
  let answer: 'lost' | 'told' | 'refused' = 'lost';
  let asked = 0;
  const environment = answering((_method, path) => {
    if (path !== '/visitor') return undefined;
    asked += 1;
    if (answer === 'lost') throw new TypeError('Failed to fetch');
    return answer === 'refused' ? refusal(400, 'bad_request') : undefined;
  });
  const page = tab({ environment, user: { name: 'Ann' } });
  await page.sdk.sendMessage('hello');
  await eventually(() => expect(page.joined).toHaveLength(1));
  expect(page.sdk.getState().visitor).toBeNull();
  answer = 'told';
  await reconnect(page);
  await eventually(() => expect(page.sdk.getState().visitor).toMatchObject({ name: 'Ann' }));
  asked = 0;
  await reconnect(page);
  expect(asked).toBe(0);
  // The next visitor is as unknown as the last one was.
  answer = 'refused';
  await page.sdk.reset();
  await page.sdk.sendMessage('hello again');
  await eventually(() => expect(page.sdk.getState().connection).toBe('online'));
  await reconnect(page);
  expect([asked, page.sdk.getState().visitor]).toEqual([1, null]);
});

it('a tab that follows says again who the visitor is, too', async () => {
  const leader = tab();
  const { conversationId: id } = await leader.sdk.sendMessage('hello');
  await eventually(() => expect(leader.joined).toEqual([id]));
  let lost = 0;
  const follower = tab({
    user: { name: 'Ann' },
    environment: answering((_method, path) => {
      if (path !== '/visitor' || lost > 0) return undefined;
      lost += 1;
      throw new TypeError('Failed to fetch');
    }),
  });
  await follower.sdk.openConversation(id);
  await eventually(() => expect(follower.sdk.getState().loaded).toBe(true));
  expect([lost, follower.sdk.getState().visitor]).toEqual([1, null]);
  await reconnect(leader);
  await eventually(() => expect(follower.sdk.getState().visitor).toMatchObject({ name: 'Ann' }));
});

it('what a page says later of its visitor stands, though what it said at its start is lost after that', async () => {
  const gate = Promise.withResolvers<void>();
  const told: string[] = [];
  const { fetch: ask } = answering(() => undefined);
  const page = tab({
    user: { name: 'Ann' },
    environment: {
      fetch: async (url, request) => {
        if (!url.endsWith('/visitor')) return ask!(url, request);
        told.push(request.body!);
        if (told.length > 1) return ask!(url, request);
        await gate.promise;
        throw new TypeError('Failed to fetch');
      },
    },
  });
  await page.sdk.identify({ name: 'Bob' });
  gate.resolve();
  await page.sdk.sendMessage('hello');
  await eventually(() => expect(page.joined).toHaveLength(1));
  await reconnect(page);
  expect(told.map((body) => (JSON.parse(body) as { name: string }).name)).toEqual(['Ann', 'Bob']);
  expect(page.sdk.getState().visitor).toMatchObject({ name: 'Bob' });
});

it('goes on with an earlier visit also where the page writes its visitor’s id in capitals', async () => {
  const visitorId = randomUUID().toUpperCase();
  const first = tab({ visitorId });
  const { conversationId: id } = await first.sdk.sendMessage('hello');
  first.sdk.destroy();
  const second = tab({ visitorId });
  expect(second.sdk.getState().visitorId).toBe(visitorId.toLowerCase());
  await eventually(() => expect(second.joined).toEqual([id]));
});

it('sends where the browser forbids a socket, and connects once it does not', async () => {
  let forbids = true;
  const page = tab({
    openSocket: (address) => {
      if (forbids) throw new DOMException('mixed content', 'SecurityError');
      return new WebSocket(address, { origin: acme.application.origin });
    },
  });
  await page.sdk.sendMessage('hello');
  expect(await page.sdk.sendMessage('by REST')).toMatchObject({ state: 'sent' });
  forbids = false;
  await eventually(() => expect(page.sdk.getState().connection).toBe('online'));
});

it('loads what could not be loaded when the page is looked at again', async () => {
  const first = tab();
  const { conversationId: id } = await first.sdk.sendMessage('hello');
  await operator.call('POST', `/conversations/${id}/accept`);
  // Closed: it is listened to only once it is opened.
  await operator.call('POST', `/conversations/${id}/resolve`);
  first.sdk.destroy();
  let down = true;
  const second = tab({
    environment: answering((_method, path) => {
      if (down && path.endsWith('/messages')) throw new TypeError('Failed to fetch');
      return undefined;
    }),
  });
  await expect(second.sdk.openConversation(id)).rejects.toMatchObject({ code: 'network' });
  down = false;
  second.emit('wake');
  await eventually(() => expect(second.joined).toEqual([id]));
  expect(texts(second)).toEqual(['hello:sent']);
});

it('shows a refused message also where it looked like one that was stored before', async () => {
  let answer: 'stored' | 'lost' | 'refused' = 'stored';
  const environment = answering((method, path) => {
    if (answer === 'stored' || method !== 'POST' || !path.endsWith('/messages')) return undefined;
    if (answer === 'lost') throw new TypeError('Failed to fetch');
    return refusal(403, 'forbidden');
  });
  const first = tab({ environment });
  const { conversationId: id } = await first.sdk.sendMessage('yes');
  first.sdk.destroy();
  answer = 'lost';
  const second = tab({ environment });
  second.sdk.openConversation(id).catch(() => undefined);
  second.sdk.sendMessage('yes').catch(() => undefined);
  await eventually(() => expect(texts(second)).toEqual(['yes:sent']));
  answer = 'refused';
  await eventually(() => expect(texts(second)).toEqual(['yes:sent', 'yes:failed']));
  expect(new Set(second.sdk.getState().messages.map(({ key }) => key)).size).toBe(2);
});

it('has one socket for two tabs, the same messages in both, and hands over when the leader goes', async () => {
  const one = tab();
  const { conversationId: id } = await one.sdk.sendMessage('from the first tab');
  await eventually(() => expect(one.sdk.getState().connection).toBe('online'));
  const two = tab();
  await two.ready;
  await two.sdk.openConversation(id);
  await eventually(() => expect(two.sdk.getState().connection).toBe('online'));
  expect([one.liveSockets, two.liveSockets]).toEqual([1, 0]);

  await operator.call('POST', `/conversations/${id}/accept`);
  await two.sdk.sendMessage('from the second tab');
  await operator.call('POST', `/conversations/${id}/messages`, { content: 'to both' });
  const all = ['from the first tab:sent', 'from the second tab:sent', 'to both:sent'];
  for (const page of [one, two]) await eventually(() => expect(texts(page)).toEqual(all));
  for (const page of [one, two])
    expect(page.received('message').map(({ content }) => content)).toEqual(['to both']);
  expect(
    two.requests.filter((request) => request.endsWith('/messages') && request.startsWith('POST')),
  ).toEqual([]);

  one.sdk.destroy();
  await operator.call('POST', `/conversations/${id}/messages`, { content: 'in between' });
  await eventually(() => expect(texts(two)).toEqual([...all, 'in between:sent']));
  await eventually(() => expect([one.liveSockets, two.liveSockets]).toEqual([0, 1]));
  await two.sdk.sendMessage('still here');
  expect(await stored(two, id)).toEqual([
    ...all.map((text) => text.replace(':sent', '')),
    'in between',
    'still here',
  ]);
});

it('hands over also where a page ends at the moment at which it begins to lead', async () => {
  const one = tab();
  const { conversationId: id } = await one.sdk.sendMessage('hello');
  await eventually(() => expect(one.sdk.getState().connection).toBe('online'));
  const two = tab();
  await two.sdk.openConversation(id);
  await eventually(() => expect(two.sdk.getState().connection).toBe('online'));
  // A tab that begins to lead is idle first: it has no socket yet.
  two.sdk.on('connection', ({ status }) => {
    if (status === 'idle') two.sdk.destroy();
  });
  const three = tab();
  await three.sdk.openConversation(id);
  one.sdk.destroy();
  await eventually(() => expect(three.sdk.getState().connection).toBe('online'));
  await eventually(() => expect([one, two, three].map((page) => page.liveSockets)).toEqual([0, 0, 1]));
});

it.each(['leads', 'follows'])(
  'a tab that %s tells no typing before its room is joined, and keeps the room',
  async (role) => {
    const gate = Promise.withResolvers<void>();
    let held = '';
    const { fetch: ask } = answering(() => undefined);
    const environment: NonNullable<PageOptions['environment']> = {
      fetch: async (url, request) => {
        if (held && url.includes(`${held}/messages`)) await gate.promise;
        return ask!(url, request);
      },
    };
    const leader = tab({ environment });
    const { conversationId } = await leader.sdk.sendMessage('hello');
    const follower = tab({ environment });
    await eventually(() => expect(follower.sdk.getState().connection).toBe('online'));
    await follower.sdk.openConversation(conversationId);
    const visitor = createVisitor(app, acme.application, leader.sdk.getState().visitorId!);
    const { body } = await visitor.call('POST', '/conversations', {});
    held = body.conversation.id as string;
    const typist = role === 'leads' ? leader : follower;
    const opening = typist.sdk.openConversation(held);
    typist.sdk.setTyping();
    typist.sdk.setTyping(false);
    gate.resolve();
    await opening;
    // Frames are answered in their order: a refusal would have come before.
    await eventually(() => expect(leader.joined).toContain(held));
    expect([leader, follower].flatMap((page) => page.received('error'))).toEqual([]);
    expect(await typist.sdk.sendMessage('typed')).toMatchObject({ conversationId: held });
    await eventually(() => expect(texts(typist)).toEqual(['typed:sent']));
  },
);

it('lets another tab lead while a page sleeps in the back-forward cache, and catches up when it wakes', async () => {
  const one = tab();
  const { conversationId: id } = await one.sdk.sendMessage('hello');
  await eventually(() => expect(one.sdk.getState().connection).toBe('online'));
  const two = tab();
  await two.sdk.openConversation(id);
  one.emit('suspend');
  await eventually(() => expect([one.liveSockets, two.liveSockets]).toEqual([0, 1]));
  await operator.call('POST', `/conversations/${id}/accept`);
  await operator.call('POST', `/conversations/${id}/messages`, { content: 'while you slept' });
  await eventually(() => expect(texts(two)).toContain('while you slept:sent'));
  one.emit('wake');
  await eventually(() => expect(texts(one)).toEqual(['hello:sent', 'while you slept:sent']));
  expect([one.liveSockets, two.liveSockets]).toEqual([0, 1]);
});

it('catches up with what a tab that followed has slept through in the back-forward cache', async () => {
  const one = tab();
  const { conversationId: id } = await one.sdk.sendMessage('hello');
  await eventually(() => expect(one.sdk.getState().connection).toBe('online'));
  const two = tab();
  await two.sdk.openConversation(id);
  await eventually(() => expect(two.sdk.getState().connection).toBe('online'));
  two.emit('suspend');
  await operator.call('POST', `/conversations/${id}/accept`);
  await operator.call('POST', `/conversations/${id}/messages`, { content: 'while you slept' });
  await eventually(() => expect(texts(one)).toEqual(['hello:sent', 'while you slept:sent']));
  await one.sdk.openConversation(null);
  const { conversationId: other } = await one.sdk.sendMessage('another matter');
  expect(texts(two)).toEqual(['hello:sent']);
  two.emit('wake');
  await eventually(() => expect(texts(two)).toEqual(['hello:sent', 'while you slept:sent']));
  await eventually(() =>
    expect(two.sdk.getState()).toMatchObject({
      connection: 'online',
      unread: 1,
      conversations: expect.arrayContaining([
        expect.objectContaining({ id, status: 'active', assignedTo: operator.id }),
        expect.objectContaining({ id: other }),
      ]),
    }),
  );
  expect([one.liveSockets, two.liveSockets]).toEqual([1, 0]);
});

it('forgets the visitor in all tabs and in storage', async () => {
  const one = tab();
  const { conversationId: id } = await one.sdk.sendMessage('hello');
  const two = tab();
  await two.sdk.openConversation(id);
  const before = one.sdk.getState().visitorId;
  await one.sdk.reset();
  for (const page of [one, two])
    await eventually(() =>
      expect(page.sdk.getState()).toMatchObject({
        visitorId: null,
        messages: [],
        conversations: [],
        conversationId: null,
        ready: true,
      }),
    );
  expect(browser.storage.length).toBe(0);
  await one.sdk.sendMessage('a new visitor');
  expect(one.sdk.getState().visitorId).not.toBe(before);
});

it('takes in no answer of a visitor who was forgotten while it was on its way', async () => {
  const first = tab();
  await first.sdk.sendMessage('hello');
  first.sdk.destroy();
  const gate = Promise.withResolvers<void>();
  const held: string[] = [];
  const second = tab({
    environment: {
      fetch: async (url, request) => {
        const path = new URL(url).pathname.replace('/api/v1', '');
        if (['GET /conversations', 'PUT /visitor'].includes(`${request.method} ${path}`)) {
          held.push(path);
          await gate.promise;
        }
        return fetch(url, {
          ...(request as RequestInit),
          headers: { ...request.headers, origin: acme.application.origin },
        });
      },
    },
  });
  await second.ready;
  const naming = second.sdk.identify({ name: 'Ann' });
  const listing = second.sdk.listConversations();
  const refused = [naming, listing].map((one) => expect(one).rejects.toMatchObject({ code: 'destroyed' }));
  await eventually(() => expect(held).toHaveLength(3));
  await second.sdk.reset();
  gate.resolve();
  const { conversationId: id } = await second.sdk.sendMessage('a new visitor');
  await Promise.all(refused);
  await eventually(() => expect(second.joined).toEqual([id]));
  expect(second.sdk.getState()).toMatchObject({ visitor: null, conversations: [{ id }] });
  expect(second.sdk.getState().conversations).toHaveLength(1);
  expect(second.received('error')).toEqual([]);
});

it('asks nothing under the next visitor’s id that waited for the last one to be named', async () => {
  const { fetch: ask } = answering(() => undefined);
  let named = 0;
  const page = tab({
    user: { name: 'Ann' },
    environment: {
      fetch: async (url, request) => {
        if (url.endsWith('/visitor') && (named += 1) === 1)
          // As a browser does: it rejects once it is called off.
          await new Promise((resolve) => request.signal.addEventListener('abort', resolve));
        return ask!(url, request);
      },
    },
  });
  const starting = page.sdk.startConversation({ subject: 'of the last visitor' });
  const listing = page.sdk.listConversations();
  const ended = [starting, listing].map((one) => expect(one).rejects.toMatchObject({ code: 'destroyed' }));
  const forgetting = page.sdk.reset();
  const { conversationId } = await page.sdk.sendMessage('a new visitor');
  await Promise.all([forgetting, ...ended]);
  const { conversations } = await page.sdk.listConversations();
  expect(conversations.map(({ id }) => id)).toEqual([conversationId]);
});

it('keeps in storage the visitor who began anew before the other tabs had forgotten the last one', async () => {
  const one = tab();
  const { conversationId: id } = await one.sdk.sendMessage('hello');
  const two = tab();
  await two.sdk.openConversation(id);
  const forgetting = one.sdk.reset();
  const sending = one.sdk.sendMessage('a new visitor');
  await eventually(() => expect(two.sdk.getState()).toMatchObject({ visitorId: null, conversations: [] }));
  await Promise.all([forgetting, sending]);
  const { visitorId } = one.sdk.getState();
  expect(browser.storage.getItem(`deskbell:${acme.application.id}:visitor`)).toBe(visitorId);
});

it('forgets in a tab that slept the visitor whom another has forgotten, and keeps the next one', async () => {
  const one = tab();
  const { conversationId: id } = await one.sdk.sendMessage('hello');
  const two = tab();
  await two.sdk.openConversation(id);
  two.emit('suspend');
  await one.sdk.reset();
  const { conversationId: next } = await one.sdk.sendMessage('a new visitor');
  two.emit('wake');
  expect(two.sdk.getState()).toMatchObject({ visitorId: null, conversations: [], messages: [] });
  const { conversations } = await two.sdk.listConversations();
  expect(conversations.map((conversation) => conversation.id)).toEqual([next]);
  expect(two.sdk.getState().visitorId).toBe(one.sdk.getState().visitorId);
});

it('works where storage throws', async () => {
  const blocked = (): never => {
    throw new DOMException('blocked', 'SecurityError');
  };
  const page = tab({
    storage: {
      get length() {
        return 0;
      },
      key: () => null,
      getItem: blocked,
      setItem: blocked,
      removeItem: blocked,
    },
  });
  await page.ready;
  expect(await page.sdk.sendMessage('all the same')).toMatchObject({ state: 'sent' });
});
