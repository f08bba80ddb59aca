// Attacks the headers that say who asks: keys, app ids and visitor ids that are almost
// right, sent twice, over the wrong transport, to the wrong host.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeApiKey, makeSessionToken } from '../../src/services/auth/secrets.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { exchange, requestBytes, type HeaderPairs } from '../helpers/raw-http.ts';
import { ask, askRaw, expectCleanLog, idsOf, checkReply, stored } from '../helpers/rest-checks.ts';
import {
  createMember,
  createApplication,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  signIn,
  type TestApplication,
  type TestMember,
} from '../helpers/fixtures.ts';

let app: TestApp;
let site: TestApplication;
let operator: TestMember;
const visitorId = randomUUID();

beforeAll(async () => {
  app = await startApp({ flags: { baseUrl: 'http://chat.example:4600' } });
  site = (await createOrganization(app, 'acme')).application;
  await createOrganization(app, 'acme-1');
  operator = await createMember(app, 'acme');
  await ask(app, createVisitorByKey(app, site, 'live', visitorId), 'GET', '/visitor');
});

afterAll(async () => {
  await app.stop();
});

const get = (headers: HeaderPairs, path = '/api/v1/conversations') => askRaw(app, { path, headers });
const withKey = (...authorization: string[]): HeaderPairs => [
  ...authorization.map((value): [string, string] => ['Authorization', value]),
  ['X-App-Id', site.id],
  ['X-Visitor-Id', visitorId],
];

describe('Authorization', () => {
  it('takes the scheme in any letter case', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR'])
      expect((await get(withKey(`${scheme} ${site.key}`))).status).toBe(200);
  });

  const broken: readonly [string, (key: string) => string[]][] = [
    ['two blanks', (key) => [`Bearer  ${key}`]],
    ['a tab', (key) => [`Bearer\t${key}`]],
    ['Token', (key) => [`Token ${key}`]],
    ['Basic', (key) => [`Basic ${Buffer.from(`${key}:`).toString('base64')}`]],
    ['no scheme', (key) => [key]],
    ['no key', () => ['Bearer']],
    ['a blank for a key', () => ['Bearer ']],
    ['a list', (key) => [`Bearer ${key},${key}`]],
    ['a list with blanks', (key) => [`Bearer ${key}, Bearer ${key}`]],
    ['upper case', (key) => [`Bearer ${key.toUpperCase()}`]],
    ['lower case', (key) => [`Bearer ${key.toLowerCase()}`]],
    ['quotes', (key) => [`Bearer "${key}"`]],
    ['something after it', (key) => [`Bearer ${key} x`]],
    ['a dot after it', (key) => [`Bearer ${key}.`]],
    ['a cut key', (key) => [`Bearer ${key.slice(0, -1)}`]],
    ['a longer key', (key) => [`Bearer ${key}a`]],
    ['the public part alone', (key) => [`Bearer ${key.slice(0, 21)}`]],
    ['another prefix', (key) => [`Bearer ${key.replace('live', 'test')}`]],
    ['percent', (key) => [`Bearer ${key.replace('_', '%5f')}`]],
    ['bytes', (key) => [`Bearer ${key}\xff`]],
    ['empty', () => ['']],
    ['good then bad', (key) => [`Bearer ${key}`, `Bearer ${makeApiKey('live').text}`]],
    ['bad then good', (key) => [`Bearer ${makeApiKey('live').text}`, `Bearer ${key}`]],
    ['twice the same', (key) => [`Bearer ${key}`, `Bearer ${key}`]],
    ['an unknown key', () => [`Bearer ${makeApiKey('live').text}`]],
    ['an unknown test key', () => [`Bearer ${makeApiKey('test').text}`]],
    ['a session', () => [`Bearer ${operator.token}`]],
    ['an unknown session', () => [`Bearer ${makeSessionToken()}`]],
    ['a prototype', () => ['Bearer __proto__']],
    ['8 kB', () => [`Bearer dbk_live_${'a'.repeat(8000)}`]],
    ['SQL', () => ["Bearer ' or 1=1 --"]],
    ['undefined', () => ['Bearer undefined']],
  ];
  it.each(broken)('refuses %s', async (_what, values) => {
    const before = await stored(app);
    for (const origin of [[], [['Origin', site.origin]]] as HeaderPairs[]) {
      const reply = await get([...withKey(...values(site.key)), ...origin]);
      expect([reply.status, reply.body]).toEqual([
        401,
        { error: 'unauthorized', message: 'The API key or the app id is not valid.' },
      ]);
      expect((await get(withKey(...values(site.key)), '/api/v1/staff/conversations')).status).toBe(
        values(site.key)[0] === `Bearer ${operator.token}` ? 200 : 401,
      );
    }
    expect(await stored(app)).toEqual(before);
  });

  it('every single changed character of a key or a session is noticed', async () => {
    for (const [token, path] of [
      [site.key, '/api/v1/conversations'],
      [operator.token, '/api/v1/staff/session'],
    ] as const)
      for (let at = 0; at < token.length; at += 1) {
        const changed = token.slice(0, at) + (token[at] === 'x' ? 'y' : 'x') + token.slice(at + 1);
        expect([at, (await get(withKey(`Bearer ${changed}`), path)).status]).toEqual([at, 401]);
      }
  });

  it('a key that is revoked dies on a connection that is open already', async () => {
    const { id, key } = await app.local('keys.create', { applicationId: site.id });
    const one = requestBytes(app.url, {
      path: '/api/v1/conversations',
      headers: [...withKey(`Bearer ${key}`), ['Connection', 'keep-alive']],
    });
    expect(
      (await exchange(app.url, Buffer.concat([one, one]), { wanted: 2 })).map(({ status }) => status),
    ).toEqual([200, 200]);
    await app.local('keys.revoke', { keyId: id });
    expect(
      (await exchange(app.url, Buffer.concat([one, one]), { wanted: 2 })).map(({ status }) => status),
    ).toEqual([401, 401]);
  });

  it('a rotated key works for its grace and not a moment longer', async () => {
    const { id, key } = await app.local('keys.create', { applicationId: site.id });
    const successor = await app.local('keys.rotate', { keyId: id, graceSeconds: 3600 });
    app.clock.step(3_599_999);
    expect((await get(withKey(`Bearer ${key}`))).status).toBe(200);
    app.clock.step(1);
    expect((await get(withKey(`Bearer ${key}`))).status).toBe(401);
    expect((await get(withKey(`Bearer ${successor.key}`))).status).toBe(200);
  });
});

describe('X-App-Id', () => {
  const withApp = (...ids: string[]): HeaderPairs => [
    ['Authorization', `Bearer ${site.key}`],
    ['X-Visitor-Id', visitorId],
    ...ids.map((id): [string, string] => ['X-App-Id', id]),
  ];

  it('may be in upper case or have blanks around it', async () => {
    for (const id of [site.id.toUpperCase(), `  ${site.id}  `])
      expect((await get(withApp(id))).status).toBe(200);
  });

  it.each([
    ['a percent escape', (id: string) => [`${id}%20`]],
    ['braces', (id: string) => [`{${id}}`]],
    ['bytes', (id: string) => [`${id}\xff`]],
    ['empty', () => ['']],
    ['missing', () => []],
    ['a list', (id: string) => [`${id}, ${id}`]],
    ['twice', (id: string) => [id, id]],
    ['without hyphens', (id: string) => [id.replaceAll('-', '')]],
    ['cut', (id: string) => [id.slice(0, -1)]],
    ['SQL', (id: string) => [`${id}' or '1'='1`]],
    ['a wildcard', () => ['%']],
    ['a prototype', () => ['__proto__']],
    ['null', () => ['null']],
    ['unknown', () => [randomUUID()]],
    ['a key', () => [site.key]],
  ])('refuses %s', async (_what, values) => {
    const before = await stored(app);
    const origin: HeaderPairs = [
      ['X-Visitor-Id', visitorId],
      ['Origin', site.origin],
      ...values(site.id).map((id): [string, string] => ['X-App-Id', id]),
    ];
    for (const headers of [withApp(...values(site.id)), origin])
      for (const path of ['/api/v1/conversations', '/api/v1/widget/config'])
        expect([(await get(headers, path)).status, path]).toEqual([401, path]);
    expect(await stored(app)).toEqual(before);
  });
});

describe('X-Visitor-Id', () => {
  const withVisitor = (...ids: string[]): HeaderPairs => [
    ['Authorization', `Bearer ${site.key}`],
    ['X-App-Id', site.id],
    ...ids.map((id): [string, string] => ['X-Visitor-Id', id]),
  ];
  const v = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';

  it.each([
    [''],
    ['abc'],
    [v.slice(0, -1)],
    [`${v}0`],
    [v.replaceAll('-', '')],
    [`{${v}}`],
    [`urn:uuid:${v}`],
    ['6ba7b810-9dad-11d1-80b4-00c04fd430c8'],
    ['6fa459ea-ee8a-3ca4-894e-db77e160355e'],
    ['886313e1-3b8a-5372-9b90-0c9aee199e5d'],
    ['01920a3b-7c1d-7e2f-9a0b-1c2d3e4f5a6b'],
    ['00000000-0000-0000-0000-000000000000'],
    ['ffffffff-ffff-ffff-ffff-ffffffffffff'],
    ...['0', '1', '7', 'c', 'd', 'e', 'f'].map((variant) => [
      `3f2504e0-4f89-41d3-${variant}a0c-0305e82c3301`,
    ]),
    [`${v}, ${v}`],
    [`${v}\xa0`],
    [v.replace('3f', '３'.slice(0, 0) + '\xef\xbc\x93')],
    ['__proto__'],
    ["' or 1=1 --"],
  ])('%s is no visitor', async (id) => {
    const before = await stored(app);
    const reply = await get(withVisitor(id));
    expect([reply.status, reply.body.error, reply.body.details[0].path]).toEqual([
      400,
      'bad_request',
      'X-Visitor-Id',
    ]);
    expect(await stored(app)).toEqual(before);
  });

  it('must be there, once', async () => {
    expect((await get(withVisitor())).status).toBe(400);
    expect((await get(withVisitor(v, v))).status).toBe(400);
    expect((await get(withVisitor(v, randomUUID()))).status).toBe(400);
  });

  it('is one visitor in any letter case, answered in lower case', async () => {
    const upper = createVisitorByKey(app, site, 'live', v.toUpperCase());
    const made = await ask(app, upper, 'POST', '/conversations', {});
    expect(made.body.conversation.participants[0].userId).toBe(v);
    const lower = createVisitorByKey(app, site, 'live', v);
    expect((await ask(app, lower, 'GET', `/conversations/${made.body.conversation.id}`)).status).toBe(200);
    expect((await ask(app, upper, 'GET', '/visitor')).body.visitor.id).toBe(v);
    expect(await rowsOf(app, 'select count(*) as n from visitors where lower(visitor_id) = ?', v)).toEqual([
      { n: 1 },
    ]);
  });

  it('first used by fifty requests at once is one visitor', async () => {
    const fresh = createVisitorByKey(app, site);
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        ask(
          app,
          fresh,
          index % 2 === 0 ? 'GET' : 'POST',
          index % 2 === 0 ? '/visitor' : '/conversations',
          index % 2 === 0 ? undefined : {},
        ),
      ),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 201]));
    expect(await rowsOf(app, 'select count(*) as n from visitors where visitor_id = ?', fresh.id)).toEqual([
      { n: 1 },
    ]);
  });
});

describe('sessions', () => {
  it('belong to the host of their organization', async () => {
    const at = async (host: string): Promise<number> =>
      (await get([...Object.entries(operator.headers), ['Host', host]], '/api/v1/staff/session')).status;
    for (const host of [
      'chat.example:4600',
      'acme.chat.example:4600',
      'ACME.chat.example:4600',
      '127.0.0.1',
      'elsewhere.example',
    ])
      expect([host, await at(host)]).toEqual([host, 200]);
    for (const host of [
      'acme-1.chat.example:4600',
      'unknown.chat.example:4600',
      'x.acme.chat.example:4600',
      '.chat.example:4600',
    ])
      expect([host, await at(host)]).toEqual([host, 401]);
  });

  it('signing out ends that session alone', async () => {
    const [one, two] = [
      await signIn(app, 'acme', operator.email, operator.id),
      await signIn(app, 'acme', operator.email, operator.id),
    ];
    const socket = await one.connect();
    const stays = await two.connect();
    await socket.drain();
    expect((await ask(app, one, 'DELETE', '/staff/session')).status).toBe(200);
    expect((await ask(app, one, 'GET', '/staff/session')).status).toBe(401);
    expect((await ask(app, two, 'GET', '/staff/session')).status).toBe(200);
    expect((await socket.waitForClose()).code).toBe(4403);
    await stays.drain();
    await stays.close();
  });

  it('slide 30 days from their last use and end after 90', async () => {
    const member = await createMember(app, 'acme');
    const day = 86_400_000;
    for (const days of [29, 29, 29]) {
      app.clock.step(days * day);
      expect((await ask(app, member, 'GET', '/staff/session')).status).toBe(200);
    }
    app.clock.step(3 * day - 1);
    expect((await ask(app, member, 'GET', '/staff/session')).status).toBe(200);
    app.clock.step(1);
    expect((await ask(app, member, 'GET', '/staff/session')).status).toBe(401);
  });
});

it('what opens one transport opens no other', async () => {
  operator = await createMember(app, 'acme');
  const visitor = createVisitor(app, site, visitorId);
  const visitorToken: string = (await ask(app, visitor, 'POST', '/widget/ws-token')).body.token;
  const staffToken: string = (await ask(app, operator, 'POST', '/staff/ws-token')).body.token;
  const before = await stored(app);
  for (const token of [visitorToken, staffToken, operator.token, site.key])
    for (const [path, own] of [
      ['/api/v1/conversations', site.key],
      ['/api/v1/visitor', site.key],
      ['/api/v1/staff/session', operator.token],
      ['/api/v1/staff/conversations', operator.token],
    ] as const) {
      const reply = await get(withKey(`Bearer ${token}`), path);
      expect([path, reply.status]).toEqual([path, token === own ? 200 : 401]);
      for (const elsewhere of [
        `?token=${token}`,
        `?access_token=${token}`,
        `?authorization=Bearer%20${token}`,
      ])
        expect(
          (
            await get(
              [
                ['Cookie', `token=${token}`],
                ['X-Api-Key', token],
              ],
              path + elsewhere,
            )
          ).status,
        ).toBe(401);
    }
  expect(await stored(app)).toEqual(before);
  checkReply(
    (await exchange(app.url, requestBytes(app.url, { path: '/api/v1/staff/session' })))[0]!,
    'GET',
    '/api/v1/staff/session',
  );
  expectCleanLog(app, [visitorToken, staffToken, operator.token, site.key, site.testKey, visitorId]);
});

it('a test key and a live key are two worlds, and the other application a third', async () => {
  const second = await createApplication(app, 'acme', 'second.example');
  const live = createVisitorByKey(app, site, 'live', visitorId);
  const test = createVisitorByKey(app, site, 'test', visitorId);
  const made = (await ask(app, test, 'POST', '/conversations', { subject: 'only a test' })).body.conversation
    .id as string;
  for (const who of [
    live,
    createVisitor(app, site, visitorId),
    createVisitorByKey(app, second, 'live', visitorId),
    createVisitorByKey(app, second, 'test', visitorId),
  ]) {
    expect((await ask(app, who, 'GET', `/conversations/${made}`)).status).toBe(404);
    expect((await ask(app, who, 'POST', `/conversations/${made}/messages`, { content: 'x' })).status).toBe(
      404,
    );
    expect((await ask(app, who, 'GET', '/conversations')).text).not.toContain(made);
  }
  expect((await ask(app, operator, 'GET', '/staff/conversations')).text).not.toContain(made);
  expect(
    idsOf((await ask(app, operator, 'GET', '/staff/conversations?mode=test')).body.conversations),
  ).toEqual([made]);
});
