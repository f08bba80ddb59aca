// How connections are read where many have sent something at the same moment, and how many of an address there may be.
// Owns the turns of the loop and the refusal. Must not test what one connection may send.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { readAtOnce, readInTurns } from '../../src/http/connections.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import { exchange, requestBytes, send } from '../helpers/raw-http.ts';
import { checkReply } from '../helpers/rest-checks.ts';

const sockets: Socket[] = [];
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const step of undo.splice(0)) await step();
});

/** A server that answers at once, and notes in which turn of the loop it has begun each request. */
async function startServer(cost: {
  ms: number;
}): Promise<{ server: Server; port: number; turns: string[][] }> {
  const turns: string[][] = [];
  let isTurnNoted = false;
  let now = 0;
  const server = createServer((request, response) => {
    if (!isTurnNoted) {
      isTurnNoted = true;
      turns.push([]);
      setImmediate(() => (isTurnNoted = false));
    }
    turns.at(-1)?.push(request.url ?? '');
    now += cost.ms;
    request.resume();
    response.end('{}');
  });
  readInTurns(server, { clock: { monotonic: () => now }, mostOfAddress: null, onRefused: () => undefined });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  undo.push(() => server.close());
  return { server, port: (server.address() as AddressInfo).port, turns };
}

/** Connections that the server has taken up and read once. */
async function openAll(port: number, count: number): Promise<Socket[]> {
  const opened = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
  sockets.push(...opened);
  await Promise.all(opened.map((socket) => answerTo(socket, '/first')));
  return opened;
}

async function answerTo(socket: Socket, path: string): Promise<void> {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await once(socket, 'data');
}

it('reads no further in a turn that takes long, and each connection in its turn', async () => {
  const { port, turns } = await startServer({ ms: 10 });
  const opened = await openAll(port, 40);
  turns.length = 0;
  await Promise.all(opened.map((socket, at) => answerTo(socket, `/${at}`)));
  // The third finds that the time is over.
  expect(Math.max(...turns.map(({ length }) => length))).toBeLessThanOrEqual(3);
  expect(turns.flat().toSorted()).toEqual(opened.map((_, at) => `/${at}`).toSorted());
});

it('reads all at once where it takes no time', async () => {
  const { port, turns } = await startServer({ ms: 0 });
  const opened = await openAll(port, 40);
  turns.length = 0;
  await Promise.all(opened.map((socket, at) => answerTo(socket, `/${at}`)));
  expect(Math.max(...turns.map(({ length }) => length))).toBeGreaterThan(3);
});

it('serves who was read longest ago before those who send again and again', async () => {
  const { port, turns } = await startServer({ ms: 10 });
  const opened = await openAll(port, 20);
  const [patient] = opened.splice(10, 1);
  turns.length = 0;
  let isOver = false;
  const greedy = opened.map(async (socket) => {
    while (!isOver) await answerTo(socket, '/greedy');
  });
  await eventually(() => expect(turns.length).toBeGreaterThan(5));
  const before = turns.flat().length;
  await answerTo(patient!, '/patient');
  isOver = true;
  await Promise.all(greedy);
  // Once around, and what was on its way already.
  expect(turns.flat().indexOf('/patient') - before).toBeLessThanOrEqual(2 * opened.length);
});

it('keeps no new connection of another address out, however many send again and again', async () => {
  const { port } = await startServer({ ms: 20 });
  const requests = 'GET /greedy HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20);
  for (const socket of await openAll(port, 60)) {
    let left = 20;
    socket.on('data', (data: Buffer) => {
      left -= data.toString('latin1').split('HTTP/1.1').length - 1;
      if (left > 0) return;
      left = 20;
      socket.write(requests);
    });
    socket.write(requests);
  }
  for (let round = 0; round < 8; round += 1) {
    const other = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
    sockets.push(other);
    await answerTo(other, '/other');
  }
  expect(sockets.length).toBe(68);
});

it('reads so many of an address in a turn while others wait', async () => {
  const cost = { ms: 0 };
  const { port, turns } = await startServer(cost);
  const opened = await openAll(port, readAtOnce * 3);
  turns.length = 0;
  cost.ms = 10;
  const answered = opened.map((socket, at) => answerTo(socket, `/${at}`));
  await Promise.any(answered);
  cost.ms = 0;
  await Promise.all(answered);
  expect(Math.max(...turns.map(({ length }) => length))).toBeLessThanOrEqual(readAtOnce);
});

it('goes on with a body that comes while others are read', async () => {
  const { port, server } = await startServer({ ms: 10 });
  const opened = await openAll(port, 20);
  const [uploading] = opened.splice(0, 1);
  let received = 0;
  server.prependListener('request', (request) =>
    request.on('data', (chunk: Buffer) => (received += chunk.length)),
  );
  const bytes = 3_000_000;
  const uploaded = answerTo(uploading!, `/upload HTTP/1.1\r\nContent-Length: ${bytes}\r\nX-Rest:`);
  uploading?.write(Buffer.alloc(bytes));
  for (let round = 0; round < 3; round += 1)
    await Promise.all(opened.map((socket) => answerTo(socket, `/${round}`)));
  await uploaded;
  await eventually(() => expect(received).toBe(bytes));
});

let app: TestApp;

/** Connections to the service that stay open. */
async function stay(count: number): Promise<Socket[]> {
  const { hostname, port } = new URL(app.url);
  const opened = Array.from({ length: count }, () => connect(Number(port), hostname));
  sockets.push(...opened);
  for (const socket of opened) {
    socket.write(requestBytes(app.url, { path: '/healthz', headers: [['Connection', 'keep-alive']] }));
    const [data] = (await once(socket, 'data')) as [Buffer];
    expect(data.toString('latin1')).toMatch(/^HTTP\/1.1 200 /);
  }
  return opened;
}

it('refuses connections of an address beyond twice those that may be live, until one is closed', async () => {
  app = await startApp({ flags: { maxConnectionsPerAddress: '3' } });
  undo.push(() => app.stop());
  const [first] = await stay(6);
  const [refused] = await exchange(app.url, requestBytes(app.url, { path: '/healthz' }));
  const { body } = checkReply(refused!, 'GET', '/healthz');
  expect([refused?.status, body]).toEqual([
    429,
    {
      error: 'rate_limit_exceeded',
      message: expect.stringContaining('close some'),
      cause: 'per_address',
      retryAfter: 1,
    },
  ]);
  expect(app.service.metrics.rateLimited.per_address).toBe(1);
  first?.destroy();
  await eventually(async () => expect((await send(app.url, { path: '/healthz' })).status).toBe(200));
});

it('refuses none behind a proxy, whose connections are those of many', async () => {
  app = await startApp({ flags: { maxConnectionsPerAddress: '3', trustProxy: '1' } });
  undo.push(() => app.stop());
  expect(await stay(10)).toHaveLength(10);
});

it('ends a connection whose request has hundreds of headers with the answer', async () => {
  app = await startApp();
  undo.push(() => app.stop());
  const ends = async (count: number): Promise<string | null | undefined> => {
    const headers = [
      ['Connection', 'keep-alive'],
      ...Array.from({ length: count }, () => ['a', 'b'] as const),
    ] as const;
    const [reply] = await exchange(app.url, requestBytes(app.url, { path: '/healthz', headers }));
    expect(reply?.status).toBe(200);
    return reply?.headers.get('connection');
  };
  expect([await ends(100), await ends(1_000)]).toEqual(['keep-alive', 'close']);
});
