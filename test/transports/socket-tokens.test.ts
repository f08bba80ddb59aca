// Attacks on the WebSocket token: forging, changing, swapping, ageing and misplacing it.
// Must not test what happens after the transport has opened.
import { createHmac, generateKeyPairSync, randomUUID, sign as signRaw } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeJwt, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { startApp, type TestApp } from '../helpers/app.ts';
import { TestSocket, type HeaderMap, connectSocket, request } from '../helpers/client.ts';
import {
  createMember,
  createApplication,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let visitor: TestClient;
let operator: TestMember;
let token: string;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  visitor = createVisitor(app, acme.application);
  operator = await createMember(app, 'acme');
  token = await mint(visitor);
});

afterAll(async () => {
  await app.stop();
});

async function mint(person: TestClient): Promise<string> {
  const reply = await person.call('POST', '/widget/ws-token');
  expect(reply.status).toBe(200);
  return reply.body.token as string;
}

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const parts = (jwt: string): [string, string, string] => jwt.split('.') as [string, string, string];
const here = (): HeaderMap => ({ origin: acme.application.origin });

/** One error frame, then the end; a frame that was sent early is never handled. */
async function expectRefused(socket: TestSocket, code: string | RegExp, close = 4401): Promise<void> {
  const over = await socket.waitForClose();
  expect(over.code).toBe(close);
  expect(socket.frames).toHaveLength(1);
  expect(socket.frames[0]).toEqual({
    type: 'error',
    payload: { code: expect.stringMatching(code), message: expect.any(String) },
  });
}

async function expectOpen(socket: TestSocket): Promise<void> {
  await socket.drain();
  expect(socket.closed).toBeNull();
  await socket.close();
}

/** A token of our own making under the server's true key. */
function forge(
  change: (claims: Record<string, unknown>) => Record<string, unknown>,
  header: Record<string, unknown> = {},
): Promise<string> {
  const claims = change({ ...decodeJwt(token) });
  const { typ, ...more } = { typ: 'JWT', ...header };
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', typ, ...more } as { alg: string })
    .sign(app.service.secrets.tokenKey);
}

describe('what a visitor token holds', () => {
  it('says who, where and for how long, and nothing else', () => {
    const claims = decodeJwt(token);
    expect(Object.keys(claims).toSorted()).toEqual([
      'appId',
      'aud',
      'exp',
      'iat',
      'iss',
      'jti',
      'origin',
      'visitorId',
    ]);
    expect(claims).toMatchObject({
      appId: acme.application.id,
      visitorId: visitor.id,
      origin: acme.application.origin,
    });
    expect(claims.exp).toBe((claims.iat ?? 0) + 300);
  });

  it('is another one each time, and each may be used more than once', async () => {
    const other = await mint(visitor);
    expect(decodeJwt(other).jti).not.toBe(decodeJwt(token).jti);
    const first = await connectSocket(app.url, token, here());
    await expectOpen(await connectSocket(app.url, token, here()));
    await expectOpen(first);
    await expectOpen(await connectSocket(app.url, token, here()));
  });
});

describe('no token, no entry', () => {
  it('answers UNAUTHORIZED without one, and ignores what was sent along', async () => {
    const socket = await connectSocket(app.url, null, here());
    socket.socket.send('{"type":"ping"}');
    await expectRefused(socket, /^UNAUTHORIZED$/);
  });

  it.each([
    '',
    'undefined',
    'null',
    'abc',
    'a.b',
    'a.b.c',
    'a.b.c.d',
    '..',
    'ey',
    '\u0000',
    '💥',
    'x'.repeat(8_000),
  ])('answers INVALID_TOKEN to %j', async (text) => {
    await expectRefused(await connectSocket(app.url, text, here()), /^INVALID_TOKEN$/);
  });

  it('takes it from nowhere but the query', async () => {
    const elsewhere: HeaderMap[] = [
      { authorization: `Bearer ${token}` },
      { cookie: `token=${token}` },
      { 'x-token': token },
    ];
    for (const headers of elsewhere)
      await expectRefused(await connectSocket(app.url, null, { ...here(), ...headers }), /^UNAUTHORIZED$/);
    await expectRefused(await openRaw('', [token]), /^UNAUTHORIZED$/);
  });

  it('takes neither of two tokens', async () => {
    await expectRefused(await connectSocket(app.url, token, here(), `&token=${token}`), /^INVALID_TOKEN$/);
  });

  it('reads one layer of percent-encoding and no second', async () => {
    const encoded = Array.from(Buffer.from(token), (byte) => `%${byte.toString(16)}`).join('');
    await expectOpen(await openRaw(`?token=${encoded}`));
    await expectRefused(await openRaw(`?token=${encodeURIComponent(encoded)}`), /^INVALID_TOKEN$/);
  });
});

/** A connection with the query exactly as it is written, and perhaps a subprotocol. */
async function openRaw(query: string, protocols: string[] = []): Promise<TestSocket> {
  const raw = new WebSocket(`${app.url.replace('http', 'ws')}/api/v1/ws${query}`, protocols, {
    headers: here(),
  });
  const socket = new TestSocket(raw);
  await Promise.race([once(raw, 'open'), once(raw, 'close')]);
  return socket;
}

describe('forged and changed tokens', () => {
  it.each(['none', 'None', 'nOnE', 'NONE', '', null])('refuses the algorithm %j', async (alg) => {
    const [, payload, signature] = parts(token);
    for (const end of ['', signature])
      await expectRefused(
        await connectSocket(app.url, `${encode({ alg, typ: 'JWT' })}.${payload}.${end}`, here()),
        /^INVALID_TOKEN$/,
      );
  });

  it('refuses keys that the token itself brings, and fetches none', async () => {
    const calls: string[] = [];
    const trap = createServer((incoming, answer) => {
      calls.push(incoming.url ?? '');
      answer.end('{"keys":[]}');
    });
    await new Promise<void>((resolve) => {
      trap.listen(0, '127.0.0.1', resolve);
    });
    const url = `http://127.0.0.1:${(trap.address() as AddressInfo).port}/jwks`;
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const jwk = publicKey.export({ format: 'jwk' });
    const [, payload] = parts(token);
    const symmetric = Buffer.from('a key of the attacker');
    for (const more of [{ jwk }, { jku: url }, { x5u: url }, { x5c: ['MIIB'] }]) {
      const head = encode({ alg: 'ES256', typ: 'JWT', ...more });
      const signature = signRaw('sha256', Buffer.from(`${head}.${payload}`), {
        key: privateKey,
        dsaEncoding: 'ieee-p1363',
      }).toString('base64url');
      await expectRefused(
        await connectSocket(app.url, `${head}.${payload}.${signature}`, here()),
        /^INVALID_TOKEN$/,
      );
    }
    for (const more of [
      { kid: '../../dev/null' },
      { kid: "' or 1=1" },
      { jwk: { kty: 'oct', k: symmetric.toString('base64url') } },
    ]) {
      for (const key of [symmetric, Buffer.alloc(0), Buffer.alloc(32)]) {
        const head = encode({ alg: 'HS256', typ: 'JWT', ...more });
        const signature = createHmac('sha256', key).update(`${head}.${payload}`).digest('base64url');
        await expectRefused(
          await connectSocket(app.url, `${head}.${payload}.${signature}`, here()),
          /^INVALID_TOKEN$/,
        );
      }
    }
    expect(calls).toEqual([]);
    await new Promise((resolve) => {
      trap.close(resolve);
    });
  });

  it.each(['appId', 'visitorId', 'origin', 'exp', 'aud', 'mode'])(
    'refuses a changed %s under the old signature',
    async (claim) => {
      const [head, payload, signature] = parts(token);
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
      claims[claim] =
        claim === 'exp'
          ? (claims['exp'] as number) + 60
          : claim === 'origin'
            ? 'https://evil.com'
            : randomUUID();
      await expectRefused(
        await connectSocket(app.url, `${head}.${encode(claims)}.${signature}`, {
          origin: String(claims['origin']),
        }),
        /^INVALID_TOKEN$/,
      );
    },
  );

  it('refuses a signature that is missing, cut, or off by one bit', async () => {
    const [head, payload, signature] = parts(token);
    const flipped = Buffer.from(signature, 'base64url');
    flipped[7] = (flipped[7] ?? 0) ^ 1;
    for (const bad of [
      '',
      signature.slice(0, -4),
      flipped.toString('base64url'),
      `${signature}AAAA`,
      signature.toUpperCase(),
    ])
      await expectRefused(
        await connectSocket(app.url, `${head}.${payload}.${bad}`, here()),
        /^INVALID_TOKEN$/,
      );
  });

  it('gains nothing by the twin of the last character: the same token, as long as it lives', async () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const twin = token.slice(0, -1) + (alphabet[alphabet.indexOf(token.at(-1) as string) ^ 1] as string);
    expect(Buffer.from(parts(twin)[2], 'base64url')).toEqual(Buffer.from(parts(token)[2], 'base64url'));
    const socket = await connectSocket(app.url, twin, here());
    await expectOpen(socket);
  });

  it('holds even the true key to every claim', async () => {
    const now = Math.floor(app.clock.now() / 1000);
    const without = (name: string) => (claims: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(claims).filter(([key]) => key !== name));
    const changes: Record<string, (claims: Record<string, unknown>) => Record<string, unknown>> = {
      'exp missing': without('exp'),
      'iat missing': without('iat'),
      'jti missing': without('jti'),
      'iss missing': without('iss'),
      'aud missing': without('aud'),
      'origin missing': without('origin'),
      'visitorId missing': without('visitorId'),
      'nbf ahead': (claims) => ({ ...claims, nbf: now + 60 }),
      'iat ahead': (claims) => ({ ...claims, iat: now + 60 }),
      'aud wrong': (claims) => ({ ...claims, aud: 'deskbell:staff-socket' }),
      'aud two': (claims) => ({ ...claims, aud: ['deskbell:visitor-socket', 'deskbell:staff-socket'] }),
      'iss wrong': (claims) => ({ ...claims, iss: 'unknown' }),
      'visitorId no UUID': (claims) => ({ ...claims, visitorId: "' or 1=1" }),
      'mode unknown': (claims) => ({ ...claims, mode: 'all' }),
    };
    for (const [name, change] of Object.entries(changes)) {
      const socket = await connectSocket(app.url, await forge(change), here());
      await socket.waitForClose();
      expect([name, socket.frames[0]?.payload.code, socket.closed?.code]).toEqual([
        name,
        'INVALID_TOKEN',
        4401,
      ]);
    }
    await expectRefused(
      await connectSocket(app.url, await forge((claims) => claims, { typ: 'at+jwt' }), here()),
      /^INVALID_TOKEN$/,
    );
    // A far end does not stretch the five minutes.
    const old = await forge((claims) => ({ ...claims, iat: now - 301, exp: 99_999_999_999 }));
    await expectRefused(await connectSocket(app.url, old, here()), /^(INVALID|EXPIRED)_TOKEN$/);
    // The forger itself is sound: an unchanged one opens.
    await expectOpen(await connectSocket(app.url, await forge((claims) => claims), here()));
  });

  it('refuses a token of another installation', async () => {
    const other = await startApp();
    try {
      const twin = createVisitor(other, (await createOrganization(other, 'acme')).application, visitor.id);
      await expectRefused(await connectSocket(app.url, await mint(twin), here()), /^INVALID_TOKEN$/);
    } finally {
      await other.stop();
    }
  });
});

describe('one token, one purpose', () => {
  it('is no credential anywhere else', async () => {
    const staffToken = (await operator.call('POST', '/ws-token')).body.token as string;
    for (const bearer of [token, staffToken]) {
      const headers = { authorization: `Bearer ${bearer}` };
      expect(
        (
          await request(app.url, 'GET', '/api/v1/conversations', {
            ...headers,
            ...visitor.headers,
            authorization: headers.authorization,
          })
        ).status,
      ).toBe(401);
      expect((await request(app.url, 'GET', '/api/v1/staff/session', headers)).status).toBe(401);
    }
  });

  it('lets no other secret in', async () => {
    for (const secret of [operator.token, acme.application.key, acme.application.testKey])
      await expectRefused(await connectSocket(app.url, secret, here()), /^INVALID_TOKEN$/);
  });

  it('refuses a staff token whose claims do not belong together', async () => {
    const colleague = await createMember(app, 'acme');
    const staffToken = (await operator.call('POST', '/ws-token')).body.token as string;
    const mixed = await new SignJWT({ ...decodeJwt(staffToken), memberId: colleague.id })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .sign(app.service.secrets.tokenKey);
    await expectRefused(await connectSocket(app.url, mixed), /^UNAUTHORIZED$/);
    await expectOpen(await connectSocket(app.url, staffToken));
  });
});

describe('the origin that a token is bound to', () => {
  it.each([
    'https://evil.com',
    'null',
    'https://acme.example:8443',
    'http://acme.example',
    'https://acme.example@evil.com',
    '',
  ])('refuses the origin %j', async (origin) => {
    await expectRefused(await connectSocket(app.url, token, { origin }), /^ORIGIN_MISMATCH$/, 4403);
  });

  it('refuses none at all, and knows the same origin in another spelling', async () => {
    await expectRefused(await connectSocket(app.url, token, {}), /^ORIGIN_MISMATCH$/, 4403);
    await expectOpen(await connectSocket(app.url, token, { origin: 'https://ACME.example:443' }));
  });

  it('binds a staff token to its page where it was asked for from one', async () => {
    const bound = (await operator.call('POST', '/ws-token', undefined, { origin: 'https://desk.example' }))
      .body.token as string;
    await expectRefused(
      await connectSocket(app.url, bound, { origin: 'https://evil.com' }),
      /^ORIGIN_MISMATCH$/,
      4403,
    );
    await expectOpen(await connectSocket(app.url, bound, { origin: 'https://desk.example' }));
  });

  it('refuses once the domain is gone, and once the application is', async () => {
    const { id, origin, domain } = await createApplication(app, 'acme', 'short.example');
    const guest = createVisitor(app, { id, origin, domain, key: '', testKey: '' });
    const early = await mint(guest);
    await app.local('domains.remove', { applicationId: id, domain });
    await expectRefused(await connectSocket(app.url, early, { origin }), /^ORIGIN_MISMATCH$/, 4403);
    await app.local('applications.delete', { applicationId: id });
    await expectRefused(await connectSocket(app.url, early, { origin }), /^APP_NOT_FOUND$/, 4404);
  });
});

describe('age, by a clock moved by hand', () => {
  it('opens for 299 seconds and not for 301, while the connection lives on', async () => {
    const fresh = await mint(visitor);
    app.clock.step(299_000);
    const socket = await connectSocket(app.url, fresh, here());
    await socket.drain();
    app.clock.step(2_000);
    await expectRefused(await connectSocket(app.url, fresh, here()), /^EXPIRED_TOKEN$/);
    await expectOpen(socket);
  });

  it('takes a token of a node whose clock is up to five seconds ahead', async () => {
    const fresh = await mint(visitor);
    app.clock.step(-5_000);
    await expectOpen(await connectSocket(app.url, fresh, here()));
    app.clock.step(-1_000);
    await expectRefused(await connectSocket(app.url, fresh, here()), /^INVALID_TOKEN$/);
    app.clock.step(6_000);
  });
});
