// Owns: what is promised of connections that webhooks keep: used again, looked up again after a while, never a reason for
// a delivery to fail, and none is kept that must not be.
import { once } from 'node:events';
import { createServer, get, type Server, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openMailbox } from '../../src/net/imap-client.ts';
import { createKeptConnections } from '../../src/net/kept-connections.ts';
import { probeMailServer } from '../../src/net/smtp-client.ts';
import { createWebhookClient, type SendWebhook, type WebhookResponse } from '../../src/net/webhook-client.ts';
import { createTestClock, type TestClock } from '../helpers/clock.ts';
import { eventually } from '../helpers/eventually.ts';

let server: Server;
let sockets: Socket[] = [];
let bodies: string[] = [];
let lookUps = 0;
let answer: (response: ServerResponse, socket: Socket) => void;
let clock: TestClock;
let send: SendWebhook;
const stop = new AbortController();

beforeEach(async () => {
  sockets = [];
  bodies = [];
  lookUps = 0;
  answer = (response) => response.writeHead(204).end();
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      bodies.push(body);
      answer(response, request.socket);
    });
  });
  server.on('connection', (socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  clock = createTestClock();
  send = createWebhookClient({
    clock,
    allowPrivate: true,
    resolve: (_name, done) => {
      lookUps += 1;
      done(null, [{ address: '127.0.0.1', family: 4 }]);
    },
  });
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function post(body: string): Promise<WebhookResponse> {
  const url = `http://receiver.example:${(server.address() as AddressInfo).port}/`;
  const response = await send({ url, headers: {}, body }, stop.signal);
  // The connection becomes free a turn after its response has ended.
  await new Promise((resolve) => setImmediate(resolve));
  return response;
}

const taken = { status: 204, error: null };

it('one after the other go over one connection, which was looked up once', async () => {
  for (const body of ['1', '2', '3']) expect(await post(body)).toEqual(taken);
  expect({ bodies, connections: sockets.length, lookUps }).toEqual({
    bodies: ['1', '2', '3'],
    connections: 1,
    lookUps: 1,
  });
});

it('a connection is not used for longer than half a minute: then the name is looked up again', async () => {
  await post('1');
  clock.advance(29_999);
  await post('2');
  expect(lookUps).toBe(1);
  clock.advance(1);
  // Still on the old one, which is not kept any more.
  await post('3');
  await post('4');
  expect({ connections: sockets.length, lookUps }).toEqual({ connections: 2, lookUps: 2 });
});

it('a connection that the receiver closes at that moment fails no delivery: it goes over a new one', async () => {
  await post('1');
  answer = (response, socket) => {
    if (sockets[0] === socket) socket.destroy();
    else response.writeHead(204).end();
  };
  expect(await post('2')).toEqual(taken);
  expect({ bodies, connections: sockets.length }).toEqual({ bodies: ['1', '2', '2'], connections: 2 });
});

it('a new connection that is cut off is an attempt that has failed, and is not tried twice', async () => {
  answer = (_response, socket) => socket.destroy();
  expect(await post('1')).toEqual({ status: null, error: 'the connection was cut off' });
  expect(bodies).toEqual(['1']);
});

it('a response that breaks off after its status is not asked for again', async () => {
  await post('1');
  answer = (response, socket) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('begun');
    setTimeout(() => socket.resetAndDestroy(), 5);
  };
  expect((await post('2')).status).toBe(200);
  expect(bodies).toEqual(['1', '2']);
});

const flood = (socket: Socket, bytes: string): void => {
  const go = (): void => {
    while (!socket.destroyed && socket.write(bytes));
  };
  socket.on('drain', go).on('error', () => undefined);
  go();
};

it('a receiver that says something without end before its response is left at once', async () => {
  for (const bytes of ['HTTP/1.1 102 P\r\n\r\n', '\r\n']) {
    answer = (_response, socket) => flood(socket, bytes.repeat(2_000));
    // No time passes: only what was said ends it.
    expect(await post('1')).toEqual({ status: null, error: 'answered without end' });
  }
  await eventually(() => expect(sockets.every((socket) => socket.destroyed)).toBe(true));
});

it('the length of a piece of a body that does not end is not read on', async () => {
  answer = (_response, socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    flood(socket, '0'.repeat(10_000));
  };
  expect((await post('1')).status).toBe(200);
  await eventually(() => expect(sockets.every((socket) => socket.destroyed)).toBe(true));
});

it('a receiver that changes to another protocol is an attempt that has failed', async () => {
  answer = (_response, socket) =>
    socket.write('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n');
  expect(await post('1')).toEqual({
    status: null,
    error: 'it speaks another protocol than was asked for',
  });
  await eventually(() => expect(sockets.every((socket) => socket.destroyed)).toBe(true));
});

it('what one connection says for many requests is counted for each', async () => {
  answer = (response) => response.writeHead(200, { 'x-long': 'x'.repeat(10_000) }).end();
  for (let sent = 0; sent < 10; sent += 1) expect((await post('1')).status).toBe(200);
  expect(sockets).toHaveLength(1);
  expect(sockets[0]?.destroyed).toBe(false);
});

it('a connection with more to read than is read is not kept, nor one that the receiver ends', async () => {
  answer = (response) => response.writeHead(200).end('x'.repeat(5_000));
  expect((await post('1')).status).toBe(200);
  expect((await post('2')).status).toBe(200);
  answer = (response) => response.writeHead(204, { connection: 'close' }).end();
  expect(await post('3')).toEqual(taken);
  expect(await post('4')).toEqual(taken);
  await eventually(() => expect(sockets.every((socket) => socket.destroyed)).toBe(true));
  expect(sockets).toHaveLength(4);
});

it('of many at once only a few connections are kept', async () => {
  await Promise.all(Array.from({ length: 12 }, (_, at) => post(String(at))));
  await eventually(() => expect(sockets.filter((socket) => !socket.destroyed)).toHaveLength(4));
});

it('the address is held against what is allowed at each attempt, also beside a kept connection', async () => {
  const { port } = server.address() as AddressInfo;
  const strict = createWebhookClient({ clock, allowPrivate: false });
  const url = `https://127.0.0.1:${port}/`;
  const response = await strict({ url, headers: {}, body: '1' }, stop.signal);
  expect(response.error).toContain('private or local');
  expect(sockets).toEqual([]);
});

it('a connection that no delivery uses is closed after a few seconds, by this side', async () => {
  server.keepAliveTimeout = 0;
  await post('1');
  expect(sockets[0]?.destroyed).toBe(false);
  await eventually(() => expect(sockets[0]?.destroyed).toBe(true));
});

it('of connections to many receivers no more than 200 are kept', async () => {
  const receivers = Array.from({ length: 204 }, () => createServer((_request, response) => response.end()));
  const { http } = createKeptConnections(clock);
  try {
    await Promise.all(
      receivers.map(async (one) => {
        await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
        const { port } = one.address() as AddressInfo;
        await new Promise<void>((resolve, reject) => {
          get({ host: '127.0.0.1', port, agent: http }, (response) =>
            response.resume().on('close', resolve),
          ).on('error', reject);
        });
      }),
    );
    await new Promise((resolve) => setImmediate(resolve));
    const kept = Object.values(http.freeSockets).flat();
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.length).toBeLessThanOrEqual(200);
    const others = Object.values(http.sockets).flat();
    expect(others.filter((socket) => socket?.destroyed !== true)).toEqual([]);
  } finally {
    http.destroy();
    for (const one of receivers) one.close();
  }
});

/** The numbers of the ciphers that a client offers in its first message (RFC 8446, section 4.1.2; the same in TLS 1.2). */
function ciphersOffered(hello: Buffer): number[] {
  // Record and handshake headers, version, random bytes; then the session's id.
  const idLength = 43;
  const at = idLength + 1 + hello.readUInt8(idLength);
  const count = hello.readUInt16BE(at) / 2;
  return Array.from({ length: count }, (_, index) => hello.readUInt16BE(at + 2 + 2 * index));
}

/** Of finite-field Diffie-Hellman, as the registry of IANA numbers them. */
const dhe = [
  0x33, 0x39, 0x67, 0x6b, 0x9e, 0x9f, 0x32, 0x38, 0x40, 0x6a, 0xa2, 0xa3, 0xccaa, 0xc09e, 0xc09f, 0xc0a2,
  0xc0a3,
];

it('a server that is named by an organization is offered no cipher whose numbers it chooses', async () => {
  const peer = createTcpServer().listen(0, '127.0.0.1');
  await once(peer, 'listening');
  const { port } = peer.address() as AddressInfo;
  const offered = async (ask: () => Promise<unknown>): Promise<number[]> => {
    const asking = ask();
    const [socket] = (await once(peer, 'connection')) as [Socket];
    const [hello] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    await asking;
    return ciphersOffered(hello);
  };
  const webhook = await offered(() =>
    send({ url: `https://receiver.example:${port}/`, headers: {}, body: '1' }, stop.signal),
  );
  // TLS_AES_256_GCM_SHA384 and ECDHE-ECDSA-AES128-GCM-SHA256: the list was read rightly.
  expect(webhook).toEqual(expect.arrayContaining([0x1302, 0xc02b]));
  expect(webhook.filter((cipher) => dhe.includes(cipher))).toEqual([]);
  const mail = await offered(() => probeMailServer(`smtps://127.0.0.1:${port}`, stop.signal));
  expect(mail).toEqual(webhook);
  const mailbox = { url: `imaps://a:b@127.0.0.1:${port}`, clock, signal: stop.signal, maxMailBytes: 1 };
  expect(await offered(() => openMailbox(mailbox).catch(() => undefined))).toEqual(webhook);
  await new Promise((resolve) => peer.close(resolve));
});
