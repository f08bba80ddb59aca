// What a caller makes much of with few bytes: requests, which Node hands over in one turn of the loop, pieces of a body,
// names in a query, and words of a header. Owns how many are taken and what is said of the others. Must not test what a limit counts.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { maxAtOnce, oneByOne } from '../../src/http/bursts.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { createTestClock } from '../helpers/clock.ts';
import { eventually } from '../helpers/eventually.ts';
import { createOrganization, createVisitor } from '../helpers/fixtures.ts';
import { exchange, type HeaderPairs, requestBytes, send } from '../helpers/raw-http.ts';
import { checkReply } from '../helpers/rest-checks.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());
afterEach(() => vi.restoreAllMocks());

const path = '/healthz';

/** So many requests as one piece. @param close the last one says that no other follows */
function pieceOf(count: number, close = false): Buffer {
  const headers = [['Connection', 'keep-alive']] as const;
  const pieces = Array<Buffer>(close ? count - 1 : count).fill(requestBytes(app.url, { path, headers }));
  return Buffer.concat(close ? [...pieces, requestBytes(app.url, { path })] : pieces);
}

it('answers as many as may come at once', async () => {
  const replies = await exchange(app.url, pieceOf(maxAtOnce), { wanted: maxAtOnce });
  expect(replies.map(({ status }) => status)).toEqual(Array(maxAtOnce).fill(200));
});

it('begins no more, says why, and ends the connection', async () => {
  const answered = (): number => app.service.metrics.requests.get(`GET ${path} 2xx`) ?? 0;
  const before = answered();
  const replies = await exchange(app.url, pieceOf(1_000), { wanted: 1_000 });
  expect(replies.map(({ status }) => status)).toEqual([429]);
  const [reply] = replies;
  expect(checkReply(reply!, 'GET', path).body).toMatchObject({ cause: 'per_address', retryAfter: 1 });
  expect(reply?.headers.get('connection')).toBe('close');
  expect(answered() - before).toBeLessThanOrEqual(maxAtOnce);
});

it('counts several pieces that come in one turn as one', async () => {
  const headers = [
    ['Connection', 'keep-alive'],
    ['X-Padding', 'x'.repeat(2_500)],
  ] as const;
  const one = requestBytes(app.url, { path, headers });
  const replies = await exchange(app.url, Buffer.concat(Array<Buffer>(200).fill(one)), { wanted: 200 });
  // Those of the first piece may have been answered by then.
  expect(replies.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(maxAtOnce);
  expect(replies.length).toBeLessThanOrEqual(maxAtOnce + 1);
});

it('counts each connection alone', async () => {
  const each = await Promise.all(
    [1, 2, 3, 4].map(() => exchange(app.url, pieceOf(maxAtOnce, true), { wanted: maxAtOnce + 1 })),
  );
  for (const replies of each) expect(replies).toHaveLength(maxAtOnce);
});

/**
 * A server on which requests wait for each other, and are answered by hand.
 * @param lookMs how far its clock goes on each time it is asked
 */
async function heldServer(lookMs = 0): Promise<Held> {
  const clock = createTestClock();
  const slowClock = {
    monotonic: () => {
      clock.advance(lookMs);
      return clock.monotonic();
    },
  };
  const begun: { readonly path: string; readonly turn: number; answer(): void }[] = [];
  let turn = 0;
  let isOver = false;
  const begin = (path: string, response: ServerResponse): void => {
    begun.push({ path, turn, answer: () => void response.end(path) });
    // What a request costs.
    clock.advance(10);
  };
  const answer = oneByOne((request, response) => begin(request.url ?? '', response), slowClock);
  const server = createServer(answer);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  const countTurns = (async () => {
    for (; !isOver; turn += 1) await nextTurn();
  })();
  return {
    begun,
    ask: (paths) => {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.resume();
      for (const path of paths) socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      sockets.push(socket);
      return socket;
    },
    close: async () => {
      isOver = true;
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await countTurns;
    },
  };
}

interface Held {
  /** In their order, with the turn of the loop in which each began. */
  readonly begun: readonly { readonly path: string; readonly turn: number; answer(): void }[];
  /** Sends requests on a new connection. */
  ask(paths: readonly string[]): Socket;
  close(): Promise<void>;
}

it('begins a request when the one before it on its connection is answered, and not before', async () => {
  const { begun, ask, close } = await heldServer();
  ask(['/1', '/2', '/3']);
  ask(['/other']);
  await eventually(() => expect(begun.map(({ path }) => path).toSorted()).toEqual(['/1', '/other']));
  // Where they began at once, /2 would have been there with /1: all three came in one piece, or before the next request.
  for (let turns = 0; turns < 20; turns += 1) await nextTurn();
  expect(begun).toHaveLength(2);
  begun.find(({ path }) => path === '/1')?.answer();
  await eventually(() => expect(begun.map(({ path }) => path)).toContain('/2'));
  expect(begun).toHaveLength(3);
  begun.at(-1)?.answer();
  await eventually(() => expect(begun.at(-1)?.path).toBe('/3'));
  await close();
});

it('gives those that have waited 15 ms of a turn, of however many connections they are', async () => {
  const { begun, ask, close } = await heldServer();
  const connections = [1, 2, 3, 4, 5];
  for (const number of connections) ask([`/first/${number}`, `/second/${number}`]);
  await eventually(() => expect(begun).toHaveLength(connections.length));
  await nextTurn();
  for (const one of begun) one.answer();
  await eventually(() => expect(begun).toHaveLength(connections.length * 2));
  const turns = begun.slice(connections.length).map(({ turn }) => turn);
  const most = Math.max(...turns.map((turn) => turns.filter((other) => other === turn).length));
  // Each takes ten: the second ends behind the fifteen.
  expect(most).toBe(2);
  await close();
});

it('begins one of them in each turn, however long that takes', async () => {
  const { begun, ask, close } = await heldServer(100);
  for (const number of [1, 2, 3]) ask([`/first/${number}`, `/second/${number}`]);
  await eventually(() => expect(begun).toHaveLength(3));
  for (const one of begun) one.answer();
  await eventually(() => expect(begun).toHaveLength(6));
  expect(new Set(begun.slice(3).map(({ turn }) => turn)).size).toBe(3);
  await close();
});

it('takes along what waits on a connection that closes', async () => {
  const { begun, ask, close } = await heldServer();
  const gone = ask(['/1', '/2']);
  await eventually(() => expect(begun).toHaveLength(1));
  gone.destroy();
  await once(gone, 'close');
  begun[0]?.answer();
  ask(['/later']);
  await eventually(() => expect(begun.map(({ path }) => path)).toEqual(['/1', '/later']));
  await close();
});

it('counts those that wait, whenever they came', async () => {
  const { begun, ask, close } = await heldServer();
  const socket = ask(['/first']);
  await eventually(() => expect(begun).toHaveLength(1));
  let heard = '';
  socket.on('data', (chunk: Buffer) => void (heard += chunk.toString()));
  for (let sent = 1; sent < maxAtOnce; sent += 1) {
    socket.write('GET /more HTTP/1.1\r\nHost: x\r\n\r\n');
    await nextTurn();
  }
  begun[0]?.answer();
  await eventually(() => expect(begun).toHaveLength(2));
  expect(heard).toContain('/first');
  // One was answered, so there is room for one.
  socket.write('GET /last HTTP/1.1\r\nHost: x\r\n\r\n');
  await nextTurn();
  expect(socket.destroyed).toBe(false);
  socket.write('GET /too-many HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'close');
  expect(begun).toHaveLength(2);
  await close();
});

/** A body in chunks of so many bytes, `count` of them, as JSON that says nothing. */
function bodyInChunks(path: string, headers: HeaderPairs, count: number, bytes: number): Buffer {
  const json = `{"x":"${'x'.repeat(count * bytes - 8)}"}`;
  const chunks = Array.from({ length: count }, (_, index) => json.slice(index * bytes, (index + 1) * bytes));
  const head = requestBytes(app.url, {
    method: 'POST',
    path,
    headers: [
      ...headers,
      ['Connection', 'keep-alive'],
      ['Content-Type', 'application/json'],
      ['Transfer-Encoding', 'chunked'],
    ],
  });
  const body = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
  return Buffer.concat([head, Buffer.from(body)]);
}

it('takes a body in many chunks, and none in thousands that are next to nothing', async () => {
  const { application } = await createOrganization(app, 'chunks');
  const headers = Object.entries(createVisitor(app, application).headers);
  const conversations = '/api/v1/conversations';
  // One that lies across two reads of the connection comes as two pieces.
  const whole = Buffer.concat([bodyInChunks(conversations, headers, 3_000, 17), Buffer.from('0\r\n\r\n')]);
  expect((await exchange(app.url, whole)).map(({ status }) => status)).toEqual([201]);
  const refused = await exchange(app.url, bodyInChunks(conversations, headers, 3_000, 15), { wanted: 2 });
  expect(refused.map(({ status }) => status)).toEqual([400]);
  expect(refused[0]?.body.message).toContain('chunks');
});

it('reads a body in chunks no further once it has answered', async () => {
  for (const path of ['/nowhere', '/api/v1/conversations', '/api/v1/files']) {
    // As long as the body goes on, the connection would be kept.
    const replies = await exchange(app.url, bodyInChunks(path, [], 10, 100), { wanted: 2 });
    expect(replies.map(({ headers }) => headers.get('connection'))).toEqual(['close']);
  }
});

it('looks at each name of a query once, however many there are', async () => {
  const { application } = await createOrganization(app, 'acme');
  const names = 'a&'.repeat(7_000);
  const lookUp = vi.spyOn(URLSearchParams.prototype, 'getAll');
  const origin = [
    ['Origin', application.origin],
    ['X-App-Id', application.id],
  ] as const;
  const config = await send(app.url, { path: `/api/v1/widget/config?${names}`, headers: origin });
  const file = await send(app.url, { path: `/api/v1/files/${randomUUID()}?${names}` });
  expect([config.status, file.status]).toEqual([200, 404]);
  expect(lookUp.mock.calls.length).toBe(0);
});

it('weighs what a client would rather have, but not thousands of words of it', async () => {
  const encodingFor = async (wish: string): Promise<string | null> => {
    const headers = [['Accept-Encoding', wish]] as const;
    const reply = await send(app.url, { method: 'HEAD', path: '/openapi.json', headers });
    return reply.headers.get('content-encoding');
  };
  expect(await encodingFor('x, br')).toBe('br');
  expect(await encodingFor(`${'x,'.repeat(500)}br`)).toBeNull();
  const asked = async (accept: string): Promise<number> =>
    (await send(app.url, { method: 'HEAD', path: '/', headers: [['Accept', accept]] })).status;
  expect([await asked('x/y, text/html'), await asked(`${'x/y,'.repeat(500)}text/html`)]).toEqual([200, 404]);
});
