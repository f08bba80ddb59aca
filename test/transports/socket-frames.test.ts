// Attacks by single frames: what is no JSON, too big, too deep, of the wrong shape, or
// carries more than it may. Must not test who hears what.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { TestSocket, Frame } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let visitor: TestClient;
let conversationId: string;
let socket: TestSocket;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  visitor = createVisitor(app, acme.application);
  conversationId = await createConversation(visitor);
});

afterAll(async () => {
  await app.stop();
});

beforeEach(async () => {
  app.clock.advance(1_001);
  if (socket === undefined || socket.closed !== null) socket = await visitor.connect();
  // A good frame: whatever was bad before is forgotten.
  await socket.drain();
  socket.frames.length = 0;
});

/** Sends one frame as it is; what it is answered with, pongs left out. */
async function answer(data: string | Buffer, binary = false): Promise<Frame[]> {
  socket.frames.length = 0;
  socket.socket.send(data, { binary });
  await socket.drain();
  return socket.frames.slice(0, -1);
}

async function expectCode(data: string | Buffer, code: string, binary = false): Promise<void> {
  const heard = await answer(data, binary);
  expect(heard).toHaveLength(1);
  expect(heard[0]).toEqual({
    type: 'error',
    payload: expect.objectContaining({ code, message: expect.any(String) }),
  });
  expect(socket.closed).toBeNull();
}

const text = (type: unknown, payload?: unknown): string => JSON.stringify({ type, payload });
const send = (payload: object): string =>
  text('message:send', {
    conversationId,
    content: 'hi',
    clientMessageId: randomBytes(8).toString('hex'),
    ...payload,
  });

describe('what is no JSON', () => {
  it.each([
    'not json',
    '',
    '{',
    '"',
    '\ufeff{"type":"ping"}',
    '{"type":"ping"}{}',
    "{'type':'ping'}",
    '{"type":"ping",}',
    'NaN',
    '[1,2',
    '\u0000',
    '{"type":"ping"}\u0000',
  ])('%j is a PARSE_ERROR, and the connection lives', async (data) => {
    await expectCode(data, 'PARSE_ERROR');
  });

  it.each([
    'null',
    '1',
    'true',
    '"x"',
    '[]',
    '[{"type":"ping"}]',
    '{}',
    '{"type":5}',
    '{"type":{}}',
    '{"type":null}',
    '{"type":["ping"]}',
    '{"type":"nope"}',
    '{"type":"PING"}',
    '{"type":" ping"}',
    '{"type":"message:new"}',
    '{"type":"pong"}',
  ])('%j is a VALIDATION_ERROR', async (data) => {
    await expectCode(data, 'VALIDATION_ERROR');
  });

  it('takes no binary frame, even with good JSON in it', async () => {
    await expectCode(Buffer.from('{"type":"ping"}'), 'VALIDATION_ERROR', true);
    await expectCode(randomBytes(500), 'VALIDATION_ERROR', true);
  });
});

describe('names that every object has', () => {
  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__'])(
    '%s is no frame type',
    async (type) => {
      await expectCode(text(type), 'VALIDATION_ERROR');
      await expectCode(text(type, { conversationId }), 'VALIDATION_ERROR');
    },
  );

  it('a __proto__ key brings neither a type nor a payload nor a field', async () => {
    await expectCode('{"__proto__":{"type":"ping"}}', 'VALIDATION_ERROR');
    await expectCode(
      `{"type":"room:leave","__proto__":{"payload":{"conversationId":"${conversationId}"}}}`,
      'VALIDATION_ERROR',
    );
    await expectCode(
      `{"type":"room:join","payload":{"__proto__":{"conversationId":"${conversationId}"}}}`,
      'VALIDATION_ERROR',
    );
    await expectCode(
      `{"type":"room:join","payload":{"constructor":{"prototype":{"conversationId":"${conversationId}"}}}}`,
      'VALIDATION_ERROR',
    );
    expect(({} as Record<string, unknown>)['conversationId']).toBeUndefined();
    expect(({} as Record<string, unknown>)['type']).toBeUndefined();
    await expectCode(text('room:join', {}), 'VALIDATION_ERROR');
  });
});

describe('depth and size', () => {
  const nested = (depth: number): string =>
    `{"type":"ping","payload":${'['.repeat(depth)}${']'.repeat(depth)}}`;

  it('takes 32 levels and refuses 33, 5,000 and 30,000', async () => {
    expect((await answer(nested(31))).map(({ type }) => type)).toEqual(['pong']);
    for (const depth of [32, 33, 5_000, 30_000]) await expectCode(nested(depth), 'VALIDATION_ERROR');
    await expectCode(
      `{"type":"ping","payload":${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}}`,
      'VALIDATION_ERROR',
    );
  });

  it('takes 65,536 bytes and ends with 1009 at one more', async () => {
    const frame = text('ping').padEnd(65_536, ' ');
    expect((await answer(frame)).map(({ type }) => type)).toEqual(['pong']);
    socket.socket.send(`${frame} `);
    expect((await socket.waitForClose()).code).toBe(1009);
  });

  it('counts bytes, not characters', async () => {
    socket.socket.send(JSON.stringify({ type: 'ping', payload: 'ü'.repeat(33_000) }));
    expect((await socket.waitForClose()).code).toBe(1009);
  });

  it('adds fragments up', async () => {
    for (let index = 0; index < 16; index += 1) socket.socket.send(' '.repeat(4_096), { fin: false });
    socket.socket.send('{}', { fin: true });
    expect((await socket.waitForClose()).code).toBe(1009);
  });

  it('puts few fragments together and refuses a thousand', async () => {
    socket.socket.send('{"type":', { fin: false });
    socket.socket.send('"ping"', { fin: false });
    socket.socket.send('}', { fin: true });
    await eventually(() => {
      expect(socket.all('pong')).toHaveLength(1);
    });
    for (let index = 0; index < 1_000; index += 1) socket.socket.send(' ', { fin: false });
    expect([1008, 1009]).toContain((await socket.waitForClose()).code);
  });

  // Sent raw: no library writes these.
  it.each([
    [
      'a length of 2^63-1',
      Buffer.from([0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4]),
      [1009],
    ],
    ['a length of 1 GiB', Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4]), [1009]],
    ['no mask', Buffer.from([0x81, 0x02, 0x7b, 0x7d]), [1002]],
    ['a reserved bit', Buffer.from([0xc1, 0x82, 1, 2, 3, 4, 0x7a, 0x7f]), [1002]],
    ['an unknown opcode', Buffer.from([0x83, 0x80, 1, 2, 3, 4]), [1002]],
    ['a continuation of nothing', Buffer.from([0x80, 0x80, 1, 2, 3, 4]), [1002]],
    [
      'a ping of 126 bytes',
      Buffer.from([0x89, 0xfe, 0, 126, 0, 0, 0, 0, ...Array<number>(126).fill(65)]),
      [1002],
    ],
    ['bytes that are no UTF-8', Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28]), [1007]],
  ])('ends with a code of the RFC for %s, and the server lives', async (_name, bytes, codes) => {
    const { body } = await visitor.call('POST', '/widget/ws-token');
    const { port } = new URL(app.url);
    const socket = connect({ port: Number(port), host: '127.0.0.1' });
    let heard = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      heard = Buffer.concat([heard, chunk]);
    });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    socket.write(
      `GET /api/v1/ws?token=${body.token as string} HTTP/1.1\r\nHost: x\r\nOrigin: ${acme.application.origin}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    );
    socket.write(bytes);
    const close = await eventually(() => {
      const at = heard.indexOf('\r\n\r\n') + 4;
      expect(at).toBeGreaterThan(3);
      const from = heard.indexOf(0x88, at);
      expect(from).toBeGreaterThan(0);
      return heard.readUInt16BE(from + 2);
    });
    expect(codes).toContain(close);
    socket.destroy();
    expect(await answer(text('ping'))).toEqual([{ type: 'pong' }]);
  });
});

describe('bad frames in a row', () => {
  it('forgives nineteen, twice, with one good one in between', async () => {
    for (let round = 0; round < 2; round += 1) {
      for (let index = 0; index < 19; index += 1) socket.send(index % 2 === 0 ? 'nope' : 'room:join', {});
      await socket.drain();
    }
    expect(socket.closed).toBeNull();
    expect(socket.all('error')).toHaveLength(38);
  });

  it('ends with 4400 at the twentieth, and handles nothing after it', async () => {
    for (let index = 0; index < 20; index += 1) socket.socket.send(index % 2 === 0 ? '{' : '{}');
    socket.socket.send(send({ content: 'after the end' }));
    expect((await socket.waitForClose()).code).toBe(4400);
    expect(socket.all('error')).toHaveLength(20);
    expect(socket.all('message:ack')).toHaveLength(0);
    expect((await visitor.call('GET', `/conversations/${conversationId}/messages`)).text).not.toContain(
      'after the end',
    );
  });

  it('is not counted up by refusals that are no bad frames', async () => {
    for (let index = 0; index < 40; index += 1)
      socket.send('typing:start', { conversationId: crypto.randomUUID() });
    await socket.drain();
    expect(socket.all('error').map(({ payload }) => payload.code)).toEqual(Array(40).fill('FORBIDDEN'));
    expect(socket.closed).toBeNull();
  });
});

describe('the fields of a message', () => {
  it.each([
    ['no client id', { clientMessageId: undefined }],
    ['an empty client id', { clientMessageId: '' }],
    ['a client id of 101 characters', { clientMessageId: 'x'.repeat(101) }],
    ['a number for a client id', { clientMessageId: 5 }],
    ['null for a client id', { clientMessageId: null }],
    ['no content', { content: undefined }],
    ['a number for content', { content: 5 }],
    ['an array for content', { content: ['hi'] }],
    ['empty content', { content: '' }],
    ['blanks', { content: ' \t\n\u3000' }],
    ['zero-width characters', { content: '\u200b\u200d\ufeff' }],
    ['10,001 characters', { content: 'x'.repeat(10_001) }],
    ['U+0000', { content: 'a\u0000b' }],
    ['a lone surrogate', { content: 'a\ud800b' }],
    ['an unknown format', { contentFormat: 'html' }],
    ['lexical that is none', { contentFormat: 'lexical' }],
    [
      'lexical without text',
      { contentFormat: 'lexical', content: '{"root":{"type":"root","version":1,"children":[]}}' },
    ],
    ['no conversation', { conversationId: undefined }],
    ['a number for a conversation', { conversationId: 1 }],
    ['braces around the id', { conversationId: '{0}' }],
  ])('refuses %s', async (_name, change) => {
    const heard = await answer(send(change));
    expect(heard.map(({ type, payload }) => [type, payload.code])).toEqual([['error', 'VALIDATION_ERROR']]);
    // The answer names what the frame named, as far as it can be told apart from junk.
    const named = change as { clientMessageId?: unknown };
    if (!Object.hasOwn(named, 'clientMessageId'))
      expect(heard[0]?.payload.clientMessageId).toMatch(/^[0-9a-f]{16}$/);
    else if (typeof named.clientMessageId === 'string')
      expect(heard[0]?.payload.clientMessageId).toBe(named.clientMessageId);
  });

  it('takes 10,000 characters, also after trimming, and also when every one of them is escaped', async () => {
    for (const content of ['x'.repeat(10_000), `  ${'y'.repeat(10_000)}\n`, '😀'.repeat(5_000)]) {
      expect((await answer(send({ content }))).map(({ type }) => type)).toEqual(['message:ack']);
    }
    const escaped = send({ content: 'MARK' }).replace('MARK', '\\u00fc'.repeat(10_000));
    expect((await answer(escaped)).map(({ type }) => type)).toEqual(['message:ack']);
    const { body } = await visitor.call(
      'GET',
      `/conversations/${conversationId}/messages?order=desc&limit=1`,
    );
    expect(body.messages[0].content).toBe('ü'.repeat(10_000));
  });

  it('takes client ids of 1 and 100 characters, whatever they are made of', async () => {
    for (const clientMessageId of ['1', 'x'.repeat(100), "' or 1=1 --", '__proto__', '💬'])
      expect((await answer(send({ clientMessageId })))[0]).toMatchObject({
        type: 'message:ack',
        payload: { clientMessageId },
      });
  });

  it('takes ids in either letter case and answers in lower', async () => {
    const heard = await answer(text('room:join', { conversationId: conversationId.toUpperCase() }));
    expect(heard).toEqual([{ type: 'room:joined', payload: expect.objectContaining({ conversationId }) }]);
  });

  it('believes nothing that only the server may say', async () => {
    const fake = {
      senderId: crypto.randomUUID(),
      senderRole: 'operator',
      senderName: 'Boss',
      createdAt: '1970-01-01T00:00:00.000Z',
      contentHtml: '<script>',
      type: 'system',
      id: crypto.randomUUID(),
      internal: true,
    };
    const [ack] = await answer(send({ content: 'really me', ...fake }));
    expect(ack?.type).toBe('message:ack');
    expect(ack?.payload.serverMessageId).not.toBe(fake.id);
    const { body } = await visitor.call(
      'GET',
      `/conversations/${conversationId}/messages?order=desc&limit=1`,
    );
    expect(body.messages[0]).toEqual({
      id: ack?.payload.serverMessageId,
      conversationId,
      senderId: visitor.id,
      senderName: 'Visitor',
      senderRole: 'visitor',
      type: 'text',
      content: 'really me',
      contentFormat: 'plain',
      contentHtml: null,
      createdAt: ack?.payload.createdAt,
      editedAt: null,
    });
    expect(body.messages[0].createdAt).toMatch(/^2026-11-21T12:/);
  });

  it('answers ids only as ids: no long echo of junk', async () => {
    const [error] = await answer(
      text('room:join', { conversationId: 'x'.repeat(60_000), clientMessageId: { a: 1 }, messageId: 7 }),
    );
    expect(Object.keys(error?.payload).toSorted()).toEqual(['code', 'message']);
    expect(error?.payload.message.length).toBeLessThan(300);
  });
});
