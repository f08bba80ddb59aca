// Attacks on the upgrade: wrong paths, junk headers, half-open peers, floods of failed
// and of good connections. Must not test what a token says.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp, type TestAppOptions } from '../helpers/app.ts';
import { type TestSocket, connectSocket, request } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import { send } from '../helpers/raw-http.ts';
import {
  createMember,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
const dialled: Socket[] = [];
const more: TestApp[] = [];

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
});

afterEach(async () => {
  for (const socket of dialled.splice(0)) socket.destroy();
  for (const one of more.splice(0)) await one.stop();
});

afterAll(async () => {
  await app.stop();
});

/** A server of its own, stopped after the test, with a visitor who has a token. */
async function another(
  options: TestAppOptions,
): Promise<{ other: TestApp; visitor: TestClient; token: string; origin: string }> {
  const other = await startApp(options);
  more.push(other);
  const { application } = await createOrganization(other, 'acme');
  const visitor = createVisitor(other, application);
  const { body } = await visitor.call('POST', '/widget/ws-token');
  return { other, visitor, token: body.token as string, origin: application.origin };
}

async function mint(visitor: TestClient): Promise<string> {
  return (await visitor.call('POST', '/widget/ws-token')).body.token as string;
}

/** A plain TCP connection with what it has read so far. */
async function dial(
  url: string,
  text: string,
  allowHalfOpen = false,
): Promise<{ socket: Socket; read(): string }> {
  const { port, hostname } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen });
  let heard = '';
  socket.on('data', (chunk: Buffer) => {
    heard += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  dialled.push(socket);
  await once(socket, 'connect');
  socket.write(text);
  return { socket, read: () => heard };
}

function upgradeText(target: string, headers: readonly string[] = [], version = '13'): string {
  return [
    `GET ${target} HTTP/1.1`,
    'Host: localhost',
    'Connection: Upgrade',
    'Upgrade: websocket',
    ...(version === '' ? [] : [`Sec-WebSocket-Version: ${version}`]),
    ...(headers.some((line) => /^sec-websocket-key/i.test(line))
      ? []
      : ['Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']),
    ...headers,
    '',
    '',
  ].join('\r\n');
}

/** The status that an upgrade is answered with, in the shape of every error, once the server has hung up. */
async function refusedWith(target: string, headers: readonly string[] = [], version = '13'): Promise<number> {
  const { socket, read } = await dial(app.url, upgradeText(target, headers, version));
  if (!socket.closed) await once(socket, 'close');
  return readRefusal(read());
}

/** @returns the status of a refusal that was read */
function readRefusal(text: string): number {
  const [, status = '', head = '', body = ''] = /^HTTP\/1\.1 (\d{3})([^]*?)\r\n\r\n([^]*)$/.exec(text) ?? [];
  expect(head).toMatch(/\r\nX-Request-Id: [0-9a-f-]{36}\r\n/);
  expect(head).toContain('\r\nContent-Type: application/json; charset=utf-8\r\n');
  const told = JSON.parse(body) as { readonly error: string };
  expect(told).toEqual({
    error: expect.any(String),
    message: expect.stringMatching(/^[A-Z].*\.$/),
    ...(told.error === 'bad_request' ? { details: [{ path: '', message: expect.any(String) }] } : {}),
    ...(status === '429' ? { cause: 'per_address', retryAfter: expect.any(Number) } : {}),
  });
  if (status === '429') expect(head).toMatch(/\r\nRetry-After: \d+\r\n/);
  return Number(status);
}

describe('where the transport is', () => {
  it('is nowhere but at its path', async () => {
    const token = await mint(createVisitor(app, acme.application));
    const paths = [
      '/',
      '/ws',
      '/api/v1/ws/',
      '/api/v2/ws',
      '/API/V1/WS',
      '/api/v1/ws%2f',
      '/api/v1/conversations',
      '/widget.js',
      '//api/v1/ws',
      '/api/v1/wsx',
      '/%61pi/v1/ws',
      '/api/v1/./ws',
      '/api/v1/%2e/ws',
      '/x/../api/v1/ws',
      '/api\\v1\\ws',
      '/api/v1/ws#',
      '*',
    ];
    for (const path of paths)
      expect([path, await refusedWith(`${path}?token=${token}`)]).toEqual([path, 404]);
    expect(await refusedWith(`http://localhost/api/v1/ws?token=${token}`)).toBe(404);
  });

  it.each([
    ['no Host', []],
    ['two', ['acme.localhost', 'localhost']],
  ])('asks for exactly one Host, and refuses %s', async (_, hosts) => {
    const token = await mint(createVisitor(app, acme.application));
    const text = upgradeText(`/api/v1/ws?token=${token}`, [`Origin: ${acme.application.origin}`]);
    const lines = hosts.map((host) => `Host: ${host}\r\n`).join('');
    const { read } = await dial(app.url, text.replace('Host: localhost\r\n', lines));
    await eventually(() => {
      expect(read()).toContain('A request has exactly one Host header.');
    });
    expect(read()).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  });

  it.each([['GET'], ['POST']])('answers a %s that offers HTTP/2 as a plain request', async (method) => {
    // As Java's client does with each request over plain HTTP.
    const offer = [
      ['Connection', 'Upgrade, HTTP2-Settings'],
      ['Upgrade', 'h2c'],
      ['HTTP2-Settings', 'AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA'],
      ['Origin', acme.application.origin],
      ['X-App-Id', acme.application.id],
      ['X-Visitor-Id', randomUUID()],
      ['Content-Type', 'application/json'],
    ] as const;
    const { status, body } = await send(app.url, {
      method,
      path: '/api/v1/conversations',
      headers: offer,
      ...(method === 'POST' ? { body: '{}' } : {}),
    });
    expect({ status, body }).toMatchObject(
      method === 'GET'
        ? { status: 200, body: { conversations: [] } }
        : { status: 201, body: { conversation: { status: 'pending' } } },
    );
  });

  it('answers a plain GET there with 426 and names the protocol to upgrade to', async () => {
    const reply = await send(app.url, { path: '/api/v1/ws' });
    expect(reply.status).toBe(426);
    expect(reply.body.error).toBe('upgrade_required');
    expect(reply.headers.get('upgrade')).toBe('websocket');
    for (const path of ['/api/v1/ws', '/healthz', '/readyz'])
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
        const other = await request(app.url, method, path);
        expect([other.status, other.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
      }
  });

  it('lets go of a refused peer that keeps its own half open', async () => {
    const { socket, read } = await dial(app.url, upgradeText('/nowhere'), true);
    await eventually(() => {
      expect(read()).toContain('404');
    });
    // Only a peer that has let go altogether resets a connection that is still written to.
    await eventually(() => {
      socket.write('x');
      expect(socket.destroyed).toBe(true);
    });
  });
});

describe('a peer that is told why it is closed', () => {
  it.each([
    ['refused', 'INVALID_TOKEN', () => 'junk'],
    ['let in, and sends what can’t be read', '20 bad frames in a row.', mint],
  ])('is hung up on without a frame of its own: %s', { timeout: 20_000 }, async (_, reason, tokenOf) => {
    const token = await tokenOf(createVisitor(app, acme.application));
    const text = upgradeText(`/api/v1/ws?token=${token}`, [`Origin: ${acme.application.origin}`]);
    const { socket, read } = await dial(app.url, text, true);
    const ended = once(socket, 'end');
    await eventually(() => expect(read()).toContain('101 Switching Protocols'));
    // Twenty frames of one character, masked with zeros.
    socket.write(Buffer.concat(Array<Buffer>(20).fill(Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x7b]))));
    // The library alone would wait half a minute for the peer's own close frame.
    await ended;
    expect(read()).toContain(reason);
    // As long as we keep our half, what we send is taken and not read.
    const pings = Buffer.concat(Array<Buffer>(1_000).fill(Buffer.from([0x89, 0x80, 0, 0, 0, 0])));
    const heard = read();
    await new Promise((resolve) => socket.write(pings, resolve));
    app.clock.advance(3_001);
    // Only a peer that has let go altogether resets a connection that is still written to.
    await eventually(() => {
      socket.write('x');
      expect(socket.destroyed).toBe(true);
    });
    expect(read()).toBe(heard);
  });
});

describe('junk in the handshake', () => {
  it.each([
    ['version 8', [], '8', [101, 400, 426]],
    ['version 12', [], '12', [400, 426]],
    ['version 99', [], '99', [400, 426]],
    ['no version', [], '', [400, 426]],
    ['an empty key', ['Sec-WebSocket-Key: '], '13', [400]],
    ['a short key', ['Sec-WebSocket-Key: abc'], '13', [400]],
    [
      'two keys',
      ['Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='],
      '13',
      [400],
    ],
    ['junk protocols', [`Sec-WebSocket-Protocol: ${' ,'.repeat(7_000)}`], '13', [400]],
    ['too long a header', [`X-Long: ${'x'.repeat(17_000)}`], '13', [431]],
    ['too many headers', Array.from({ length: 2_900 }, (_, index) => `X-${index}: x`), '13', [431]],
  ] as const)('refuses %s', async (_name, headers, version, statuses) => {
    if (statuses.includes(101 as never)) {
      // Version 8 is what old browsers spoke before the RFC; its frames are the same, so the library takes it.
      const { socket, read } = await dial(app.url, upgradeText('/api/v1/ws', headers, version));
      await eventually(() => {
        expect(statuses).toContain(Number(/^HTTP\/1\.1 (\d{3})/.exec(read())?.[1]));
      });
      socket.destroy();
      return;
    }
    expect(statuses).toContain(await refusedWith('/api/v1/ws', headers, version));
    const { socket, read } = await dial(app.url, upgradeText('/api/v1/ws', headers, version));
    if (!socket.closed) await once(socket, 'close');
    // What is too large to be read was no request to upgrade.
    if (!statuses.includes(431 as never)) expect(read()).toContain('\r\nSec-WebSocket-Version: 13\r\n');
  });

  it('never compresses, whatever the peer offers', async () => {
    const token = await mint(createVisitor(app, acme.application));
    for (const offer of [
      'permessage-deflate',
      'permessage-deflate; client_max_window_bits',
      'permessage-deflate; server_max_window_bits=8, junk',
      '=;=,"',
    ]) {
      const { socket, read } = await dial(
        app.url,
        upgradeText(`/api/v1/ws?token=${token}`, [
          `Origin: ${acme.application.origin}`,
          `Sec-WebSocket-Extensions: ${offer}`,
        ]),
      );
      await eventually(() => {
        expect(read()).toMatch(/^HTTP\/1\.1 (101|400)[^]*\r\n\r\n/);
      });
      expect(read()).not.toMatch(/sec-websocket-extensions/i);
      socket.destroy();
    }
  });

  it('serves real visitors after all that', async () => {
    const socket = await createVisitor(app, acme.application).connect();
    await socket.drain();
    expect(app.logged.filter((line) => line.includes('"level":50') || line.includes('"level":60'))).toEqual(
      [],
    );
    await socket.close();
  });
});

describe('floods', () => {
  it('answers a wrong token with 429 before the upgrade where its address failed too often, and lets a right one in', async () => {
    const { other, token, origin } = await another({ flags: { limitAddressFailed: '5/s,20/m' } });
    const failing = async (): Promise<number | undefined> => (await open('junk')).closed?.code;
    const open = async (text: string): Promise<TestSocket> => {
      const socket = await connectSocket(other.url, text, { origin });
      if (text === 'junk') await socket.waitForClose();
      return socket;
    };
    for (let index = 0; index < 5; index += 1) expect(await failing()).toBe(4401);
    // 1006: the answer to the upgrade was no upgrade.
    expect(await failing()).toBe(1006);
    const { socket, read } = await dial(
      other.url,
      upgradeText('/api/v1/ws?token=junk', [`Origin: ${origin}`]),
    );
    await once(socket, 'close');
    expect(readRefusal(read())).toBe(429);
    const admitted = await open(token);
    await admitted.drain();
    expect(admitted.closed).toBeNull();
    other.clock.advance(1_001);
    // The minute's window goes on counting: being refused added nothing to it.
    for (let round = 0; round < 3; round += 1) {
      for (let index = 0; index < 5; index += 1) expect(await failing()).toBe(4401);
      other.clock.advance(1_001);
    }
    expect(await failing()).toBe(1006);
  });

  it('holds a visitor to so many live connections, and frees a place at once', async () => {
    const { other, visitor, origin } = await another({ flags: { maxConnectionsPerVisitor: '3' } });
    const sockets: TestSocket[] = [];
    for (let index = 0; index < 3; index += 1) sockets.push(await visitor.connect());
    for (const socket of sockets) await socket.drain();
    const extra = await visitor.connect();
    expect((await extra.waitForClose()).code).toBe(4429);
    expect(extra.frames[0]?.payload.code).toBe('RATE_LIMITED');
    // Someone else, and the same UUID in another application, are not concerned.
    const application = (await createOrganization(other, 'beta')).application;
    for (const person of [
      createVisitor(other, { ...application }, visitor.id),
      createVisitor(other, application, randomUUID()),
    ]) {
      const socket = await person.connect();
      await socket.drain();
      expect(socket.closed).toBeNull();
    }
    expect(origin).toBe('https://acme.example');
    sockets[0]?.socket.terminate();
    await eventually(async () => {
      const socket = await visitor.connect();
      await socket.drain();
    });
  });

  it('holds an address to so many live connections, refused ones included in the freeing', async () => {
    const { other, visitor } = await another({ flags: { maxConnectionsPerAddress: '4' } });
    const staff = await createMember(other, 'acme');
    // Places that failed attempts took are free again.
    for (let index = 0; index < 6; index += 1) await (await connectSocket(other.url, 'junk')).waitForClose();
    const sockets: TestSocket[] = [];
    await eventually(async () => {
      const socket = await visitor.connect();
      sockets.push(socket);
      await socket.drain();
      expect(sockets.filter((one) => one.closed === null)).toHaveLength(4);
    });
    for (const person of [visitor, staff])
      expect((await (await person.connect()).waitForClose()).code).toBe(4429);
    await sockets.find((socket) => socket.closed === null)?.close();
    await eventually(async () => {
      const socket = await staff.connect();
      await socket.drain();
    });
  });

  it('forgets every peer that left, however it left', async () => {
    const { other, visitor } = await another({
      flags: { maxConnectionsPerVisitor: '8', maxConnectionsPerAddress: '8' },
    });
    const { body } = await visitor.call('POST', '/conversations', {});
    const conversationId = body.conversation.id as string;
    for (let round = 0; round < 30; round += 1) {
      const socket = await eventually(async () => {
        const fresh = await visitor.connect();
        await fresh.drain();
        return fresh;
      });
      socket.send('room:join', { conversationId });
      socket.send('typing:start', { conversationId });
      if (round % 3 === 0) socket.socket.terminate();
      else if (round % 3 === 1) socket.socket.close();
      else {
        // A connection reset in the middle of a frame.
        const { socket: raw } = await dial(
          other.url,
          upgradeText(`/api/v1/ws?token=${await mint(visitor)}`, [`Origin: https://acme.example`]) +
            '\x81\xfe\x01',
        );
        raw.resetAndDestroy();
        socket.socket.terminate();
      }
    }
    await eventually(async () => {
      const sockets: TestSocket[] = [];
      for (let index = 0; index < 8; index += 1) sockets.push(await visitor.connect());
      try {
        for (const socket of sockets) await socket.drain();
        expect(sockets.map(({ closed }) => closed)).toEqual(Array(8).fill(null));
      } finally {
        for (const socket of sockets) await socket.close();
      }
    });
  });
});
