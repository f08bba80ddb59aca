// Attacks the reading of requests: bodies that are no JSON, lie about their length or
// type, are compressed, too deep or broken, and requests that no HTTP library would send.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import { exchange, requestBytes, type HeaderPairs } from '../helpers/raw-http.ts';
import { ask, askRaw, expectCleanLog, checkReply, stored } from '../helpers/rest-checks.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitorByKey,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let visitor: TestClient;
let operator: TestMember;
let conversationId: string;
let messageId: string;
let start: Awaited<ReturnType<typeof stored>>;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  visitor = createVisitorByKey(app, acme.application);
  operator = await createMember(app, 'acme', 'admin');
  conversationId = await createConversation(visitor);
  messageId = await createMessage(visitor, conversationId, 'CANARY-TEXT');
  await operator.call('POST', `/conversations/${conversationId}/accept`);
  start = await stored(app);
});

afterAll(async () => {
  await app.stop();
});

const json: HeaderPairs = [['Content-Type', 'application/json']];
const credentials = (): HeaderPairs => Object.entries(visitor.headers);
const messages = (): string => `/api/v1/conversations/${conversationId}/messages`;
const post = (body: string | Buffer, headers: HeaderPairs = json, path = messages()) =>
  askRaw(app, { method: 'POST', path, headers: [...credentials(), ...headers], body });
/** Nothing was stored since the beginning. */
const expectUnchanged = async (): Promise<void> => expect(await stored(app)).toEqual(start);

/** Every transport that reads a body, for a caller who may use it. */
const transports = (): readonly (readonly [method: string, path: string, headers: HeaderPairs])[] => {
  const staff: HeaderPairs = Object.entries(operator.headers);
  const own = `/api/v1/staff/conversations/${conversationId}`;
  return [
    ['POST', '/api/v1/conversations', credentials()],
    ['POST', messages(), credentials()],
    ['PATCH', `${messages()}/${messageId}`, credentials()],
    ['POST', `/api/v1/conversations/${conversationId}/read`, credentials()],
    ['PUT', '/api/v1/visitor', credentials()],
    ['POST', '/api/v1/widget/ws-token', [...credentials(), ['Origin', acme.application.origin]]],
    ['POST', '/api/v1/staff/session', []],
    ['POST', '/api/v1/staff/ws-token', staff],
    ['POST', `${own}/messages`, staff],
    ['POST', `${own}/accept`, staff],
    ['POST', `${own}/release`, staff],
    ['POST', `${own}/resolve`, staff],
    ['POST', `${own}/transfer`, staff],
    ['POST', `${own}/read`, staff],
  ];
};

const deep = (levels: number): string => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);
const deepArray = (levels: number): string => `{"content":${'['.repeat(levels)}${']'.repeat(levels)}}`;

describe('a body that is no JSON object', () => {
  it.each([
    '{"a":',
    'nul',
    '{"a":1//x}',
    '{"a":1}{"b":2}',
    '[1]',
    '1',
    '"x"',
    'null',
    'true',
    '{',
    '}',
    '{a:1}',
    "{'a':1}",
    '{"a":1,}',
    '\uFEFF{}',
    '\uFEFF',
    '{"a":NaN}',
    '{"a":01}',
    '{"a":"\n"}',
    '{"content":"x"',
    ' ',
    '\u0000',
    '{}\u0000',
    'content=x',
    '<a/>',
    '{"a":"\\u12"}',
    '{"a":"\\x41"}',
    '{"content":undefined}',
    '[]',
    '{"content":"hi"}x',
    deep(33),
    deep(5_000),
    deepArray(32),
    '['.repeat(30_000),
    '{"content":'.concat('['.repeat(30_000)),
    deep(10_000).slice(0, 60_000),
  ])('%s', async (body) => {
    for (const [method, path, headers] of transports()) {
      const reply = await askRaw(app, { method, path, headers: [...headers, ...json], body });
      expect([method, path, reply.status, reply.body.error]).toEqual([method, path, 400, 'bad_request']);
    }
    await expectUnchanged();
  });

  it.each([
    ['a lone continuation byte', [0x80]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['a surrogate in UTF-8', [0xed, 0xa0, 0x80]],
    ['a cut character', [0xe2, 0x82]],
    ['beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
    ['Latin-1', [0xe9]],
    ['FF', [0xff, 0xfe]],
  ])('%s', async (_what, bytes) => {
    const body = Buffer.concat([Buffer.from('{"content":"'), Buffer.from(bytes), Buffer.from('"}')]);
    expect((await post(body)).status).toBe(400);
    expect((await post(Buffer.from('{"content":"hi"}', 'utf16le'))).status).toBe(400);
    await expectUnchanged();
  });
});

describe('a body of another kind', () => {
  it.each([
    '',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/csp-report',
    'application/vnd.x+json',
    'application/problem+json',
    'application/json; charset=utf-16',
    'application/json; charset=bogus',
    'application/json; charset=latin1',
    'application/json, text/html',
    'text/html, application/json',
    'image/svg+xml; x',
    'application/json; x=y',
    'application/jsonp',
    'text/json',
    'application /json',
    '"application/json"',
    'application/json\\',
    'application/octet-stream',
    '*/*',
    'json',
  ])('%s', async (type) => {
    for (const headers of [
      [['Content-Type', type]],
      type === '' ? [] : [['content-TYPE', ` ${type}`]],
    ] as HeaderPairs[]) {
      const reply = await post('{"content":"hi"}', headers);
      expect([reply.status, reply.body.error]).toEqual([415, 'unsupported_media_type']);
    }
    await expectUnchanged();
  });

  it.each([
    ['gzip', gzipSync('{"content":"hi"}')],
    ['gzip', gzipSync(Buffer.alloc(10_000_000, 0x20))],
    ['gzip', Buffer.from('no gzip at all')],
    ['gzip', gzipSync('{}').subarray(0, 8)],
    ['GZIP', gzipSync('{}')],
    ['br', brotliCompressSync('{"content":"hi"}')],
    ['deflate', Buffer.from('x')],
    ['zstd', Buffer.from('x')],
    ['identity, gzip', Buffer.from('{}')],
    ['bogus', Buffer.from('{}')],
    ['', Buffer.from('{}')],
  ])('encoded as %s', async (encoding, body) => {
    const reply = await post(body, [...json, ['Content-Encoding', encoding]]);
    expect(reply.status, reply.text).toBe(415);
    await expectUnchanged();
  });
});

describe('the length of a body', () => {
  const padded = (bytes: number): string => {
    const empty = JSON.stringify({ messageId, padding: '' });
    return JSON.stringify({ messageId, padding: 'x'.repeat(bytes - empty.length) });
  };
  const read = (): string => `/api/v1/conversations/${conversationId}/read`;

  it('is at most 65,536 bytes', async () => {
    expect((await post(padded(65_536), json, read())).status).toBe(200);
    start = await stored(app);
    const over = await post(padded(65_537), json, read());
    expect([over.status, over.body.error, over.headers.get('connection')]).toEqual([
      413,
      'payload_too_large',
      'close',
    ]);
    await expectUnchanged();
  });

  it('is counted, not believed, when chunked', async () => {
    const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`;
    const head = requestBytes(app.url, {
      method: 'POST',
      path: messages(),
      headers: [...credentials(), ...json, ['Transfer-Encoding', 'chunked']],
    });
    const [reply] = await exchange(
      app.url,
      Buffer.concat([head, Buffer.from(`d\r\n{"content":"x\r\n${chunk.repeat(18)}0\r\n\r\n`)]),
    );
    expect(checkReply(reply!, 'POST', messages()).status).toBe(413);
    const [small] = await exchange(
      app.url,
      Buffer.concat([head, Buffer.from('5\r\n{"con\r\n4\r\ntent\r\n7\r\n":"   "\r\n1\r\n}\r\n0\r\n\r\n')]),
    );
    expect(checkReply(small!, 'POST', messages()).status).toBe(400);
    await expectUnchanged();
  });

  it('is refused at once when it announces ten gigabytes', async () => {
    const [reply] = await exchange(
      app.url,
      requestBytes(app.url, {
        method: 'POST',
        path: messages(),
        headers: [...credentials(), ...json, ['Content-Length', '10000000000']],
      }),
    );
    expect(checkReply(reply!, 'POST', messages()).status).toBe(413);
  });

  it('stores nothing of a body that ends half way', async () => {
    const head = requestBytes(app.url, {
      method: 'POST',
      path: messages(),
      headers: [...credentials(), ...json, ['Content-Length', '40']],
    });
    for (const half of ['{"content":"hi"}', '{"content":"hal', ''])
      for (const reply of await exchange(app.url, Buffer.concat([head, Buffer.from(half)]), { hangUp: true }))
        expect(reply.status).toBe(400);
    const chunked = requestBytes(app.url, {
      method: 'POST',
      path: messages(),
      headers: [...credentials(), ...json, ['Transfer-Encoding', 'chunked']],
    });
    for (const half of [
      '10\r\n{"content":"hi"}\r\n',
      '10\r\n{"content":"hi"}',
      'zz\r\n{"content":"hi"}\r\n0\r\n\r\n',
      '-1\r\n',
      '10;ext=1\r\n{"content":"hi"}\r\n0\r\nno trailer\r\n\r\n',
    ])
      for (const reply of await exchange(app.url, Buffer.concat([chunked, Buffer.from(half)]), {
        hangUp: true,
      }))
        expect([half, reply.status]).toEqual([half, 400]);
    await expectUnchanged();
  });
});

describe('a request that could be read in two ways', () => {
  const line = (text: string): string =>
    `POST ${messages()} HTTP/1.1\r\nHost: x\r\n${credentials()
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}Content-Type: application/json\r\n${text}`;
  const smuggled = '{"content":"hi"}';

  it.each([
    [
      'a length and chunks',
      'Content-Length: 16\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{"content":"hi"}\r\n0\r\n\r\n',
    ],
    ['two lengths', `Content-Length: 16\r\nContent-Length: 15\r\n\r\n${smuggled}`],
    ['a negative length', `Content-Length: -16\r\n\r\n${smuggled}`],
    ['a length in words', `Content-Length: 1e1\r\n\r\n${smuggled}`],
    ['a list of lengths', `Content-Length: 16, 16\r\n\r\n${smuggled}`],
    ['a plus', `Content-Length: +16\r\n\r\n${smuggled}`],
    ['a hexadecimal length', `Content-Length: 0x10\r\n\r\n${smuggled}`],
    ['unknown transfer coding', `Transfer-Encoding: xchunked\r\n\r\n${smuggled}`],
    ['chunked not last', `Transfer-Encoding: chunked, gzip\r\n\r\n${smuggled}`],
    ['a header without colon', `Nonsense\r\nContent-Length: 16\r\n\r\n${smuggled}`],
    ['a blank before the colon', `Content-Length : 16\r\n\r\n${smuggled}`],
    ['a NUL in a header', `X: a\0b\r\nContent-Length: 16\r\n\r\n${smuggled}`],
    ['a bare CR', `X: a\rb\r\nContent-Length: 16\r\n\r\n${smuggled}`],
    ['a folded header', `X: a\r\n b\r\nContent-Length: 16\r\n\r\n${smuggled}`],
    ['two hosts', `Host: y\r\nContent-Length: 16\r\n\r\n${smuggled}`],
  ])('%s', async (_what, text) => {
    const [reply] = await exchange(app.url, line(text), { hangUp: true });
    expect(reply?.status).toBe(400);
    checkReply(reply!, 'POST', messages());
    await expectUnchanged();
  });

  it.each([
    ['no host', 'GET /api/v1/conversations HTTP/1.1\r\n\r\n', 400],
    ['a version of its own', 'GET /api/v1/conversations HTTP/9.9\r\nHost: x\r\n\r\n', 400],
    ['HTTP/2 without asking', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['no version', 'GET /api/v1/conversations\r\n\r\n', 400],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['a method in lower case', 'get / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['17 kB of one header', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
  ])('%s', async (_what, text, status) => {
    const [reply] = await exchange(app.url, text, { hangUp: true });
    expect(reply?.status).toBe(status);
    checkReply(reply!, 'GET', '/');
    await expectUnchanged();
  });

  it.each([
    ['http://[', 404],
    ['http://', 404],
    ['http://[::1', 404],
    ['*', 404],
    ['/healthz#part', 200],
    ['http://another.example/healthz', 200],
    ['http://another.example?limit=1', 404],
    ['http://another.example/api/v1/conversations?limit=1', 200],
  ])('the target %s, in a form that proxies use, is a path or none', async (path, status) => {
    const reply = await askRaw(app, {
      path,
      headers: credentials(),
      method: path === '*' ? 'OPTIONS' : 'GET',
    });
    expect(reply.status, reply.text).toBe(status);
    expect(app.logged.filter((line) => line.includes('internal error'))).toEqual([]);
  });

  it('a form that breaks off is no error of the service', async () => {
    const path = `/mail/stop/${'a'.repeat(26)}.${'a'.repeat(16)}`;
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n`;
    const asked = (): string[] => app.logged.filter((line) => line.includes('/mail/stop/'));
    const { hostname, port } = new URL(app.url);
    const before = asked().length;
    const cut = connect(Number(port), hostname);
    cut.write(`${head}scope=`, () => cut.resetAndDestroy());
    await eventually(() => expect(asked()).toHaveLength(before + 1));
    expect(app.logged.filter((line) => line.includes('internal error'))).toEqual([]);
    // One that is longer than the page's own is answered before its end has come.
    const long = connect(Number(port), hostname);
    long.write(head + 'x'.repeat(1_100));
    const [answer] = await once(long, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1\.1 404 /);
    long.destroy();
  });

  it('what is expected and not known is passed over', async () => {
    const reply = await askRaw(app, {
      path: '/api/v1/conversations',
      headers: [...credentials(), ['Expect', 'a-miracle']],
    });
    expect(reply.status, reply.text).toBe(200);
  });

  it('two requests on one connection are two requests', async () => {
    const one = requestBytes(app.url, {
      path: '/api/v1/conversations',
      headers: [...credentials(), ['Connection', 'keep-alive']],
    });
    const replies = await exchange(app.url, Buffer.concat([one, one]), { wanted: 2 });
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    expect(new Set(replies.map(({ headers }) => headers.get('x-request-id'))).size).toBe(2);
  });
});

describe('a path', () => {
  it.each([
    ['/', 404],
    ['/api', 404],
    ['/api/v1', 404],
    ['/api/v1/', 404],
    ['/api/v2/conversations', 404],
    ['/api/v1/conversations/', 404],
    ['/api/v1//conversations', 404],
    ['//api/v1/conversations', 404],
    ['/API/V1/CONVERSATIONS', 404],
    ['/api/v1/%63onversations', 404],
    ['/api/v1/conversations%2f', 404],
    ['/api/v1/../v1/conversations', 404],
    ['/api/v1/conversations/..%2f..%2fvisitor', 404],
    ['/api/v1/conversations/%00', 404],
    ['/api/v1/conversations/%ff', 404],
    ['/api/v1/conversations/%', 404],
    ['/api/v1/conversations/%zz/messages', 404],
    ['/api/v1/conversations/;a=b', 404],
    ['/api/v1/conversations/undefined', 404],
    ['/api/v1/conversations/null', 404],
    ['/api/v1/conversations/0', 404],
    ['/api/v1/conversations/true', 404],
    ['/api/v1/__proto__', 404],
    ['/api/v1/conversations/__proto__', 404],
    ['/api/v1/conversations/constructor/messages', 404],
    [`/api/v1/conversations/${'9'.repeat(14_000)}`, 404],
    [`/api/v1/${'../'.repeat(4000)}etc/passwd`, 404],
    ['/api/v1/conversations?__proto__[limit]=5', 200],
    ['/api/v1/conversations?constructor=1&toString=2&hasOwnProperty=3', 200],
    ['/.env', 404],
    ['/deskbell.db', 404],
    ['/secret.key', 404],
    ['/src/app.ts', 404],
    ['/api/v1/admin/organization', 401],
    ['/api/v1/admin', 404],
  ])('%s', async (path, status) => {
    const reply = await askRaw(app, { path, headers: credentials() });
    expect(reply.status, reply.text).toBe(status);
    await expectUnchanged();
  });

  it('is written in one way: in its letter case, with no slash behind', async () => {
    const path = `/api/v1/conversations/${conversationId}`;
    for (const [end, status] of [
      ['/messages', 200],
      ['/Messages', 404],
      ['/messages/', 404],
    ] as const)
      expect(
        (await askRaw(app, { path: `${path}${end}`, headers: credentials() })).status,
        `${path}${end}`,
      ).toBe(status);
  });

  it('holds one exact id: nothing around it, nothing else', async () => {
    for (const id of [
      `${conversationId}%20`,
      `%20${conversationId}`,
      `${conversationId}%00`,
      `${conversationId}%0a`,
      `{${conversationId}}`,
      `urn:uuid:${conversationId}`,
      conversationId.replaceAll('-', ''),
      conversationId.slice(0, -1),
      `${conversationId}0`,
      `${conversationId},${conversationId}`,
      `${conversationId}'--`,
      '*',
      '%25',
      '_',
    ]) {
      expect([
        id,
        (await askRaw(app, { path: `/api/v1/conversations/${id}`, headers: credentials() })).status,
      ]).toEqual([id, 404]);
      expect([
        id,
        (
          await askRaw(app, {
            path: `/api/v1/staff/conversations/${id}`,
            headers: Object.entries(operator.headers),
          })
        ).status,
      ]).toEqual([id, 404]);
    }
    expect(
      (
        await askRaw(app, {
          path: `/api/v1/conversations/${conversationId.toUpperCase()}`,
          headers: credentials(),
        })
      ).body.conversation.id,
    ).toBe(conversationId);
    await expectUnchanged();
  });

  it('answers HEAD as GET without body, and other methods with 405', async () => {
    for (const path of [
      '/api/v1/conversations',
      `/api/v1/conversations/${conversationId}`,
      messages(),
      `/api/v1/conversations/${conversationId}/unread`,
      '/api/v1/visitor',
    ]) {
      const [get, head] = [
        await askRaw(app, { path, headers: credentials() }),
        await askRaw(app, { method: 'HEAD', path, headers: credentials() }),
      ];
      expect([head.status, head.headers.get('content-length'), head.headers.get('content-type')]).toEqual([
        200,
        get.headers.get('content-length'),
        get.headers.get('content-type'),
      ]);
      for (const method of ['TRACE', 'PROPFIND', 'SEARCH', 'LOCK']) {
        const reply = await askRaw(app, { method, path, headers: credentials() });
        expect([method, path, reply.status]).toEqual([method, path, 405]);
        expect(reply.text).not.toContain(acme.application.key);
      }
    }
    const put = await askRaw(app, { method: 'PUT', path: '/api/v1/conversations', headers: credentials() });
    expect(put.headers.get('allow')?.split(', ').toSorted()).toEqual(['GET', 'HEAD', 'OPTIONS', 'POST']);
    for (const path of ['*', '/api/v1/conversations'])
      expect([200, 204, 404, 405]).toContain((await askRaw(app, { method: 'OPTIONS', path })).status);
    const connects = await exchange(app.url, 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(connects.map(({ status }) => status)).toEqual([405]);
    for (const reply of connects) checkReply(reply, 'CONNECT', 'example.com:443');
    await expectUnchanged();
  });

  it('is not changed by override headers, and the host is repeated nowhere', async () => {
    const reply = await askRaw(app, {
      method: 'POST',
      path: messages(),
      headers: [
        ...credentials(),
        ...json,
        ['X-HTTP-Method-Override', 'DELETE'],
        ['X-Method-Override', 'GET'],
      ],
      body: '{"content":" "}',
    });
    expect(reply.status).toBe(400);
    for (const host of ['evil.example', 'evil.example:x@good', 'evil.example:99999', '<script>', 'a b']) {
      const answered = await askRaw(app, {
        path: '/api/v1/conversations',
        headers: [
          ...credentials(),
          ['Host', host],
          ['X-Forwarded-Host', 'evil.example'],
          ['Forwarded', 'host=evil.example'],
        ],
      });
      expect(`${answered.text}${[...answered.headers].join()}`).not.toMatch(/evil|script/);
    }
    const many: HeaderPairs = [
      ['__proto__', 'x'],
      ['constructor', 'x'],
      ['toString', 'x'],
      ...Array.from({ length: 190 }, (_, index): [string, string] => [`X-${index}`, 'y']),
    ];
    expect(
      (await askRaw(app, { path: '/api/v1/conversations', headers: [...credentials(), ...many] })).status,
    ).toBe(200);
    await expectUnchanged();
  });
});

it('an empty body is an empty object where none is needed, and a prototype is no one’s', async () => {
  expect(
    (await askRaw(app, { method: 'POST', path: '/api/v1/conversations', headers: credentials() })).status,
  ).toBe(201);
  expect((await post('', json, '/api/v1/conversations')).status).toBe(201);
  expect((await post('', json)).status).toBe(400);
  const forged = await post(
    '{"subject":"x","status":"active","assignedTo":"y","id":"z","organizationId":"o","mode":"test","createdAt":"1970-01-01","participants":[],"constructor":{"prototype":{"x":1}},"idempotencyKey":"k"}',
    json,
    '/api/v1/conversations',
  );
  expect(forged.body.conversation).toMatchObject({
    status: 'pending',
    subject: 'x',
    participants: [{ userId: visitor.id, role: 'visitor' }],
  });
  const sent = await post(
    '{"constructor":{"prototype":{"x":1}},"content":"hi","senderRole":"operator","senderId":"x","internal":true,"contentHtml":"<b>"}',
  );
  expect(sent.body.message).toMatchObject({
    content: 'hi',
    senderRole: 'visitor',
    senderId: visitor.id,
    contentHtml: null,
  });
  expect([({} as { admin?: boolean }).admin, ({} as { x?: number }).x]).toEqual([undefined, undefined]);
  for (const body of [
    '{"__proto__":{"admin":true},"content":"hi"}',
    '{"content":"hi","a":{"__proto__":{"admin":true}}}',
    '{"content":"hi","a":[{"\\u005f_proto__":5}],"__proto__":null}',
  ])
    expect([body, (await post(body)).status]).toEqual([body, 201]);
  const before = await stored(app);
  for (const body of ['{"__proto__":{"content":"no"}}', '{"content":"hi","__proto__":}', '["__proto__"]'])
    expect([body, (await post(body)).status]).toEqual([body, 400]);
  expect(await stored(app)).toEqual(before);
  expect(({} as { admin?: boolean }).admin).toBe(undefined);
});

it('a broken client disturbs no one else, and nothing secret was logged', async () => {
  await eventually(async () =>
    expect((await ask(app, visitor, 'GET', `/conversations/${conversationId}`)).status).toBe(200),
  );
  expect((await askRaw(app, { path: '/healthz' })).body).toEqual({ status: 'ok' });
  expectCleanLog(app, [acme.application.key, operator.token, visitor.id, 'CANARY-TEXT', randomUUID()]);
});

it('a body is none where nothing comes, though its length was not said', async () => {
  const unsaid = requestBytes(app.url, {
    method: 'PUT',
    path: '/api/v1/visitor',
    headers: [...credentials(), ['Transfer-Encoding', 'chunked']],
  });
  for (const [bytes, status] of [
    ['0\r\n\r\n', 200],
    ['2\r\n{}\r\n0\r\n\r\n', 415],
  ] as const) {
    const [reply] = await exchange(app.url, Buffer.concat([unsaid, Buffer.from(bytes)]));
    expect(reply?.status).toBe(status);
  }
});
