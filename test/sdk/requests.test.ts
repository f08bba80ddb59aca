// Counts every REST request that the SDK makes at the real server, journey by journey, under the service's own
// limits: its clock stands still, so that more than ten requests of a journey would be refused.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { startApp, type TestApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createMember,
  createOrganization,
  createVisitor,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { Browser, openPage, type Page, type PageOptions } from '../helpers/sdk-page.ts';

let app: TestApp;
let acme: TestOrganization;
let operator: TestMember;
let browser: Browser;
let pages: Page[];

beforeEach(async () => {
  app = await startApp({ flags: { limitVisitor: '10/s,120/m,2000/h' } });
  acme = await createOrganization(app, 'acme');
  operator = await createMember(app, 'acme', 'operator', 'Olivia');
  browser = new Browser();
  pages = [];
});

afterEach(async () => {
  for (const page of pages) page.sdk.destroy();
  await app.stop();
});

/** A tab of the visitor's browser, whose timers run as they do there. */
function tab(options: Partial<PageOptions> = {}): Page {
  const page = openPage({
    url: app.url,
    appId: acme.application.id,
    origin: acme.application.origin,
    browser,
    speed: 1,
    ...options,
  });
  pages.push(page);
  return page;
}

/** What was asked since the last time, without the ids, sorted. */
function take(page: Page): string[] {
  return page.requests
    .splice(0)
    .map((request) => request.replace('/api/v1', '').replace(/[0-9a-f-]{36}/g, ':id'))
    .toSorted();
}

function texts({ sdk }: Page): string[] {
  return sdk.getState().messages.map(({ content, state }) => `${content}:${state}`);
}

function errors(page: Page): string[] {
  return page.received('error').map(({ code }) => code);
}

async function reply(id: string, content: string): Promise<void> {
  const { status } = await operator.call('POST', `/conversations/${id}/messages`, { content });
  expect(status).toBe(201);
}

/** What the service has stored, as another client of the visitor's sees it. */
async function stored(page: Page, id: string): Promise<string[]> {
  app.clock.advance(1_000);
  const visitor = createVisitor(app, acme.application, page.sdk.getState().visitorId!);
  const { body } = await visitor.call('GET', `/conversations/${id}/messages?limit=100`);
  return (body.messages as { content: string }[]).map(({ content }) => content);
}

/** A visitor with a conversation that an operator has answered, on a live connection. */
async function startConversation(options: Partial<PageOptions> = {}): Promise<{ page: Page; id: string }> {
  const page = tab(options);
  await page.ready;
  take(page);
  const { conversationId: id } = await page.sdk.sendMessage('hello');
  await eventually(() => expect(page.joined).toContain(id));
  await operator.call('POST', `/conversations/${id}/accept`);
  await eventually(() => expect(page.sdk.getState().conversations[0]).toMatchObject({ status: 'active' }));
  await reply(id, 'good day');
  await eventually(() => expect(texts(page)).toEqual(['hello:sent', 'good day:sent']));
  app.clock.advance(1_000);
  return { page, id };
}

describe('the first message', () => {
  it('takes four requests: conversation, message, token, and whether anybody is there', async () => {
    const { page } = await startConversation();
    expect(take(page)).toEqual([
      'GET /widget/config',
      'POST /conversations',
      'POST /conversations/:id/messages',
      'POST /widget/ws-token',
    ]);
    expect(page.sdk.getState()).toMatchObject({ unread: 1, loaded: true, hasMore: false });
    expect(errors(page)).toEqual([]);
  });
});

describe('what happened before the page listened', () => {
  /** A page whose requests to an address are held back, each until it is let go. */
  function heldBack(part: string): { options: Partial<PageOptions>; held: (() => void)[] } {
    const held: (() => void)[] = [];
    const hold = async (address: string, request: RequestInit): Promise<Response> => {
      const answer = await fetch(address, {
        ...request,
        headers: { ...(request.headers as Record<string, string>), origin: acme.application.origin },
      });
      if (address.endsWith(part)) await new Promise<void>((resolve) => held.push(resolve));
      return answer;
    };
    return { options: { environment: { fetch: hold } }, held };
  }

  it('is asked for: who accepted the first message while the socket was opening', async () => {
    const { options, held } = heldBack('/widget/ws-token');
    const page = tab(options);
    const { conversationId: id } = await page.sdk.sendMessage('hello');
    await eventually(() => expect(held).toHaveLength(1));
    await operator.call('POST', `/conversations/${id}/accept`);
    held[0]?.();
    await eventually(() =>
      expect(page.sdk.getState().conversations).toMatchObject([
        { id, status: 'active', assignedTo: operator.id },
      ]),
    );
    expect(errors(page)).toEqual([]);
  });

  it('is not undone by an answer that was given before', async () => {
    const first = await startConversation();
    await operator.call('POST', `/conversations/${first.id}/release`);
    first.page.sdk.destroy();
    const { options, held } = heldBack(`/conversations/${first.id}`);
    const page = tab(options);
    await eventually(() => expect(page.joined).toContain(first.id));
    const opened = page.sdk.openConversation(first.id);
    await eventually(() => expect(held).toHaveLength(1));
    await operator.call('POST', `/conversations/${first.id}/accept`);
    await eventually(() => expect(page.sdk.getState().conversations[0]).toMatchObject({ status: 'active' }));
    held[0]?.();
    await eventually(() => expect(held).toHaveLength(2));
    held[1]?.();
    expect(await opened).toMatchObject({ status: 'active', assignedTo: operator.id });
  });
});

describe('a live conversation', () => {
  it('sends, receives and follows edits without a request, and marks as read with one', async () => {
    const { page, id } = await startConversation();
    const { sdk } = page;
    take(page);
    const sent = await sdk.sendMessage('over the socket');
    expect(sent).toMatchObject({ state: 'sent', senderRole: 'visitor', own: true, contentHtml: null });
    const { body } = await operator.call('POST', `/conversations/${id}/messages`, { content: 'second' });
    await operator.call('PATCH', `/conversations/${id}/messages/${body.message.id}`, { content: 'edited' });
    await eventually(() =>
      expect(texts(page)).toEqual(['hello:sent', 'good day:sent', 'over the socket:sent', 'edited:sent']),
    );
    expect(sdk.getState().unread).toBe(2);
    expect(take(page)).toEqual([]);
    await sdk.markRead();
    await eventually(() => expect(page.received('read')).toHaveLength(1));
    await reply(id, 'third');
    await eventually(() => expect(sdk.getState().unread).toBe(1));
    expect(take(page)).toEqual(['POST /conversations/:id/read']);
    expect(errors(page)).toEqual([]);
    expect(await stored(page, id)).toEqual(['hello', 'good day', 'over the socket', 'edited', 'third']);
  });

  it('opens a second conversation with one request', async () => {
    const { page } = await startConversation();
    take(page);
    await page.sdk.openConversation(null);
    const { conversationId } = await page.sdk.sendMessage('another matter');
    expect(take(page)).toEqual(['POST /conversations']);
    expect(await stored(page, conversationId)).toEqual(['another matter']);
  });

  it('answers a message in rich text with its sanitised HTML', async () => {
    const { page } = await startConversation();
    take(page);
    const text = { type: 'text', text: 'bold', format: 1, version: 1 };
    const root = {
      type: 'root',
      version: 1,
      children: [{ type: 'paragraph', version: 1, children: [text] }],
    };
    const content = JSON.stringify({ root });
    const sent = await page.sdk.sendMessage({ content, contentFormat: 'lexical' });
    expect(sent.contentHtml).toBe('<p><strong>bold</strong></p>');
    expect(take(page)).toEqual([]);
  });

  it('keeps to the order of the service while both sides write', async () => {
    const { page, id } = await startConversation();
    take(page);
    const sends: Promise<unknown>[] = [];
    for (let n = 0; n < 8; n += 1) {
      sends.push(page.sdk.sendMessage(`visitor ${n}`), reply(id, `operator ${n}`));
    }
    await Promise.all(sends);
    const all = await stored(page, id);
    await eventually(() => expect(page.sdk.getState().messages.map(({ content }) => content)).toEqual(all));
    expect(all).toHaveLength(18);
    expect(take(page)).toEqual([]);
    expect(page.received('message')).toHaveLength(9);
  });

  it('shows a message once where the page\u2019s clock is an hour ahead', async () => {
    const { page } = await startConversation({
      environment: { now: () => app.clock.now() + 3_600_000 },
    });
    take(page);
    await page.sdk.sendMessage('from tomorrow');
    expect(texts(page)).toEqual(['hello:sent', 'good day:sent', 'from tomorrow:sent']);
    expect(page.received('message').map(({ content }) => content)).toEqual(['good day']);
    expect(take(page)).toEqual([]);
  });

  it('is the same for a second tab: it sends over the socket of the first', async () => {
    const { page, id } = await startConversation();
    const other = tab();
    await other.sdk.openConversation(id);
    await eventually(() => expect(texts(other)).toEqual(['hello:sent', 'good day:sent']));
    await eventually(() => expect(other.sdk.getState().unread).toBe(1));
    app.clock.advance(1_000);
    await eventually(() => expect(other.sdk.getState().connection).toBe('online'));
    take(page);
    take(other);
    await other.sdk.sendMessage('from the second tab');
    await reply(id, 'to both');
    for (const one of [page, other])
      await eventually(() =>
        expect(texts(one)).toEqual([
          'hello:sent',
          'good day:sent',
          'from the second tab:sent',
          'to both:sent',
        ]),
      );
    expect([take(page), take(other)]).toEqual([[], []]);
    // What the second tab asked for did not change what the first one has counted.
    for (const one of [page, other]) await eventually(() => expect(one.sdk.getState().unread).toBe(2));
    expect([page.liveSockets, other.liveSockets]).toEqual([1, 0]);
  });
});

describe('a visitor who comes back', () => {
  it('has the newest conversations with two requests each, and none is refused', async () => {
    const { page } = await startConversation();
    for (const text of ['second', 'third', 'fourth']) {
      await page.sdk.openConversation(null);
      const { conversationId } = await page.sdk.sendMessage(text);
      await operator.call('POST', `/conversations/${conversationId}/accept`);
      await reply(conversationId, `to ${text}`);
      app.clock.advance(1_000);
    }
    page.sdk.destroy();
    const later = tab();
    await eventually(() => expect(later.sdk.getState().unread).toBe(3));
    expect(take(later)).toEqual([
      'GET /conversations',
      'GET /conversations/:id/messages',
      'GET /conversations/:id/messages',
      'GET /conversations/:id/messages',
      'GET /conversations/:id/unread',
      'GET /conversations/:id/unread',
      'GET /conversations/:id/unread',
      'GET /widget/config',
      'GET /widget/config',
      'POST /widget/ws-token',
    ]);
    expect(errors(later)).toEqual([]);
  });

  it('opens a conversation with three requests: who has it, its messages, what is unread', async () => {
    const { page, id } = await startConversation();
    await operator.call('POST', `/conversations/${id}/resolve`);
    await eventually(() => expect(page.sdk.getState().conversations[0]).toMatchObject({ status: 'closed' }));
    page.sdk.destroy();
    const later = tab();
    // Closed: it is in the list, but not listened to.
    await eventually(() => expect(later.sdk.getState().conversations).toHaveLength(1));
    await later.ready;
    take(later);
    const opened = await later.sdk.openConversation(id);
    expect(opened).toMatchObject({ id, status: 'closed' });
    await eventually(() => expect(later.sdk.getState().unread).toBe(1));
    expect(take(later).filter((request) => request.includes(':id'))).toEqual([
      'GET /conversations/:id',
      'GET /conversations/:id/messages',
      'GET /conversations/:id/unread',
    ]);
  });

  it('opens what is listened to already with one', async () => {
    const { page, id } = await startConversation();
    page.sdk.destroy();
    const later = tab();
    await eventually(() => expect(later.sdk.getState().unread).toBe(1));
    take(later);
    expect(await later.sdk.openConversation(id)).toMatchObject({ id, status: 'active', unread: 1 });
    expect(later.sdk.getState()).toMatchObject({ loaded: true });
    expect(take(later)).toEqual(['GET /conversations/:id']);
  });
});

describe('after an interruption', () => {
  it('asks once for what the socket cannot tell', async () => {
    // Nothing is done again before the test says so.
    let again = Promise.resolve();
    const { page, id } = await startConversation({
      environment: {
        after: (ms, run) => {
          const ended = new AbortController();
          setTimeout(() => void again.then(() => ended.signal.aborted || run()), ms).unref();
          return () => ended.abort();
        },
      },
    });
    take(page);
    const answered = Promise.withResolvers<void>();
    again = answered.promise;
    page.sockets.at(-1)!.terminate();
    await reply(id, 'missed');
    answered.resolve();
    await eventually(() => expect(page.sdk.getState().unread).toBe(2));
    await eventually(() => expect(page.sdk.getState().connection).toBe('online'));
    await eventually(() =>
      expect(page.requests.filter((request) => request.endsWith('/unread'))).toHaveLength(1),
    );
    expect(take(page)).toEqual([
      'GET /conversations',
      'GET /conversations/:id',
      'GET /conversations/:id/unread',
      'GET /widget/config',
      'POST /widget/ws-token',
    ]);
    expect(errors(page)).toEqual([]);
  });
});

describe('where the socket does not do it', () => {
  /** A socket that does something else with the frames that carry messages. */
  function filteredSocket(
    onMessageFrame: (socket: WebSocket, data: string, deliver: (data: string) => void) => void,
  ): Partial<PageOptions> {
    return {
      openSocket: (address) => {
        const socket = new WebSocket(address, { origin: acme.application.origin });
        const send = (data: string): void => WebSocket.prototype.send.call(socket, data, {}, () => undefined);
        socket.send = ((data: string) =>
          data.includes('"message:send"')
            ? onMessageFrame(socket, data, send)
            : send(data)) as typeof socket.send;
        return socket;
      },
    };
  }

  it('no answer in time: REST sends the same message, once', async () => {
    const { page, id } = await startConversation({ ...filteredSocket(() => undefined), speed: 50 });
    take(page);
    await page.sdk.sendMessage('into the void');
    expect(take(page)).toEqual(['POST /conversations/:id/messages']);
    expect(await stored(page, id)).toEqual(['hello', 'good day', 'into the void']);
    await eventually(() =>
      expect(texts(page)).toEqual(['hello:sent', 'good day:sent', 'into the void:sent']),
    );
  });

  it('the connection ends with the message under way: it is stored once, whether it had arrived or not', async () => {
    for (const arrives of [true, false]) {
      const { page, id } = await startConversation({
        browser: new Browser(),
        ...filteredSocket((socket, data, deliver) => {
          if (arrives) deliver(data);
          // Closed in order, so that the service handles the frame and the page does not hear of it.
          socket.onmessage = null;
          socket.close();
        }),
      });
      await page.sdk.sendMessage('cut off');
      expect(await stored(page, id)).toEqual(['hello', 'good day', 'cut off']);
      await eventually(() => expect(page.sdk.getState().connection).toBe('online'));
      await eventually(() => expect(texts(page)).toEqual(['hello:sent', 'good day:sent', 'cut off:sent']));
    }
  });

  it('a message that the socket refuses is refused by REST, which says why', async () => {
    // Timers take a hundred times as long: only the refusal itself can bring the answer.
    const { page, id } = await startConversation({ speed: 0.01 });
    await operator.call('POST', `/conversations/${id}/resolve`);
    take(page);
    await expect(page.sdk.sendMessage('too late')).rejects.toMatchObject({
      code: 'conversation_not_active',
      status: 422,
    });
    expect(take(page)).toEqual(['POST /conversations/:id/messages']);
    // The room is still listened to, and the refusal is told once, by the promise.
    expect(errors(page)).toEqual([]);
    expect(page.received('message:failed')).toHaveLength(1);
  });
});
