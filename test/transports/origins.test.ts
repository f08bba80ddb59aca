// Attacks the origin check and CORS at the transport itself: every disguise of a registered
// domain on POST /widget/ws-token, and every preflight that must stay unanswered.
import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { routes } from '../../src/http/operation-routes.ts';
import { isKnownOrigin } from '../../src/services/auth/authenticate.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { HeaderPairs } from '../helpers/raw-http.ts';
import { askRaw, expectCleanLog, stored } from '../helpers/rest-checks.ts';
import {
  createApplication,
  createOrganization,
  type TestApplication,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let site: TestApplication;
let other: TestOrganization;
let bare: string;
const visitorId = randomUUID();
const domains = [
  'example.com',
  '*.shop.example',
  'localhost:3000',
  'https://full.example:8443',
  '127.0.0.1:8080',
];

beforeAll(async () => {
  app = await startApp();
  await createOrganization(app, 'acme');
  site = await createApplication(app, 'acme', domains[0]);
  for (const domain of domains.slice(1)) await app.local('domains.add', { applicationId: site.id, domain });
  other = await createOrganization(app, 'other');
  bare = (await app.local('applications.create', { organization: 'acme', name: 'bare' })).id;
});

afterAll(async () => {
  await app.stop();
});

const headers = (appId: string, ...origins: string[]): HeaderPairs => [
  ['X-App-Id', appId],
  ['X-Visitor-Id', visitorId],
  ...origins.map((origin): [string, string] => ['Origin', origin]),
];
const mint = (appId: string, ...origins: string[]) =>
  askRaw(app, { method: 'POST', path: '/api/v1/widget/ws-token', headers: headers(appId, ...origins) });
const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

describe('a token is given to', () => {
  it.each([
    ['https://example.com', 'https://example.com'],
    ['http://example.com', 'http://example.com'],
    ['https://example.com:443', 'https://example.com'],
    ['http://example.com:80', 'http://example.com'],
    ['HTTPS://EXAMPLE.com', 'https://example.com'],
    ['https://example.com.', 'https://example.com'],
    ['https://a.shop.example', 'https://a.shop.example'],
    ['https://a.b.shop.example', 'https://a.b.shop.example'],
    ['http://localhost:3000', 'http://localhost:3000'],
    ['https://localhost:3000', 'https://localhost:3000'],
    ['https://full.example:8443', 'https://full.example:8443'],
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ])('%s', async (origin, normalised) => {
    const reply = await mint(site.id, origin);
    expect(reply.status, reply.text).toBe(200);
    expect(reply.headers.get('access-control-allow-origin')).toBe(origin);
    const claims = decodeJwt(reply.body.token as string);
    const now = Math.floor(app.clock.now() / 1000);
    expect(claims).toEqual({
      appId: site.id,
      visitorId,
      origin: normalised,
      iss: 'deskbell',
      aud: 'deskbell:visitor-socket',
      iat: now,
      exp: now + 300,
      jti: expect.any(String),
    });
  });
});

describe('no token, and no permission to read the answer, for', () => {
  it.each([
    'https://example.com:8443',
    'http://example.com:443',
    'https://example.com:80',
    'https://sub.example.com',
    'https://www.example.com',
    'https://evil-example.com',
    'https://evilexample.com',
    'https://example.com.evil.com',
    'https://example.community',
    'https://example.co',
    'https://example.com@evil.com',
    'https://user:pw@example.com',
    'https://evil.com/example.com',
    'https://evil.com#example.com',
    'https://evil.com?example.com',
    'https://evil.com\\example.com',
    'https://evil.com%23.example.com',
    'https://example.com/',
    'https://example.com/path',
    'null',
    'NULL',
    '',
    '*',
    'file://',
    'chrome-extension://abc',
    'moz-extension://0f0f',
    'data:text/html,x',
    'about:blank',
    'blob:https://example.com/x',
    'capacitor://localhost',
    'wss://example.com',
    'ftp://example.com',
    utf8('https://еxample.com'),
    'https://xn--xample-2of.com',
    utf8('https://ｅxample.com'),
    utf8('https://example。com'),
    'https://ex\u00E4mple.com',
    'https://example.com, https://evil.com',
    'https://example.com https://evil.com',
    'https://example.com,https://example.com',
    'https://shop.example',
    'https://evilshop.example',
    'https://a.shop.example:8443',
    'https://a.shop.example.evil.com',
    'http://localhost:3001',
    'http://localhost',
    'http://127.0.0.1:3000',
    'http://[::1]:3000',
    'http://full.example:8443',
    'https://full.example',
    'https://full.example:08443',
    'https://full.example:443',
    'http://127.1:8080',
    'http://0x7f.1:8080',
    'http://2130706433:8080',
    'http://[::ffff:127.0.0.1]:8080',
    'https://other.example',
    `https://${'a'.repeat(5000)}.example.com`,
    'example.com',
    '//example.com',
    'javascript:alert(1)//example.com',
  ])('%s', async (origin) => {
    const before = await stored(app);
    const reply = await mint(site.id, origin);
    expect(reply.status, reply.text).toBe(403);
    expect(reply.body.error).toBe('origin_not_allowed');
    expect(reply.headers.has('access-control-allow-origin')).toBe(false);
    if (origin.includes('evil')) expect(reply.text).not.toContain('evil');
    expect(await stored(app)).toEqual(before);
  });

  it('two Origin headers, in either order, and none at all', async () => {
    for (const origins of [
      ['https://example.com', 'https://evil.com'],
      ['https://evil.com', 'https://example.com'],
      ['https://example.com', 'https://example.com'],
      [],
    ]) {
      const reply = await mint(site.id, ...origins);
      expect([origins, reply.status, reply.body.error]).toEqual([origins, 403, 'origin_not_allowed']);
      expect(reply.headers.has('access-control-allow-origin')).toBe(false);
    }
  });

  it('an application without domains, whose message says what opens it', async () => {
    for (const origin of ['https://example.com', app.url, 'null']) {
      const reply = await mint(bare, origin);
      expect(reply.status).toBe(403);
      expect(reply.body.message).toContain('deskbell domain add');
    }
  });

  it('a domain that was removed a moment ago', async () => {
    await app.local('domains.add', { applicationId: site.id, domain: 'passing.example' });
    expect((await mint(site.id, 'https://passing.example')).status).toBe(200);
    await app.local('domains.remove', { applicationId: site.id, domain: 'passing.example' });
    expect((await mint(site.id, 'https://passing.example')).status).toBe(403);
  });
});

describe('what every preflight looks through', () => {
  it('is 200 domains of an application at most', async () => {
    const application = await app.local('applications.create', { organization: 'acme', name: 'many' });
    const add = (domain: string) => app.local('domains.add', { applicationId: application.id, domain });
    for (let at = 0; at < 200; at += 1) await add(`shop-${at}.example`);
    await expect(add('one-more.example')).rejects.toThrow('An application has at most 200 domains.');
    await expect(add('shop-1.example')).rejects.toThrow('is registered for this application already');
    await app.local('domains.remove', { applicationId: application.id, domain: 'shop-1.example' });
    await add('one-more.example');
  });

  it('is read once for all that come before it is known', async () => {
    const reads = vi.spyOn(app.service.engine.store, 'read');
    await app.local('domains.add', { applicationId: site.id, domain: 'known.example' });
    reads.mockClear();
    const known = await Promise.all(
      Array.from({ length: 20 }, () => isKnownOrigin(app.service, 'https://known.example')),
    );
    expect(known).toEqual(Array(20).fill(true));
    // What the server does by itself reads, too.
    expect(reads.mock.calls.length).toBeLessThan(20);
    reads.mockRestore();
    await app.local('domains.remove', { applicationId: site.id, domain: 'known.example' });
    expect(await isKnownOrigin(app.service, 'https://known.example')).toBe(false);
  });
});

describe('an API key', () => {
  const create = (...origins: string[]) =>
    askRaw(app, {
      method: 'POST',
      path: '/api/v1/conversations',
      headers: [['Authorization', `Bearer ${site.key}`], ...headers(site.id, ...origins)],
    });

  it('needs no Origin, but a wrong one is refused', async () => {
    expect((await create()).status).toBe(201);
    expect((await create('https://example.com')).status).toBe(201);
    const before = await stored(app);
    for (const origins of [
      ['https://evil.com'],
      ['null'],
      [''],
      ['https://example.com', 'https://example.com'],
    ])
      expect([origins, (await create(...origins)).status]).toEqual([origins, 403]);
    expect(await stored(app)).toEqual(before);
  });
});

describe("the service's own pages", () => {
  it('count by Sec-Fetch-Site on GET and HEAD alone', async () => {
    const [origin = ''] = app.urls;
    const ask = async (
      method: string,
      site_: string | null,
      path = '/api/v1/conversations',
    ): Promise<number> =>
      (
        await askRaw(
          { ...app, url: origin },
          {
            method,
            path,
            headers: [...headers(own.id), ...(site_ === null ? [] : [['Sec-Fetch-Site', site_] as const])],
          },
        )
      ).status;
    const own = await createApplication(app, 'acme', origin);
    expect(await ask('GET', 'same-origin')).toBe(200);
    expect(await ask('HEAD', 'same-origin')).toBe(200);
    for (const site_ of [
      'same-site',
      'cross-site',
      'none',
      'SAME-ORIGIN',
      'same-origin, same-origin',
      '',
      null,
    ])
      expect([site_, await ask('GET', site_)]).toEqual([site_, 403]);
    expect(await ask('POST', 'same-origin')).toBe(403);
    expect(await ask('POST', 'same-origin', '/api/v1/widget/ws-token')).toBe(403);
  });
});

describe('a preflight', () => {
  const preflight = (path: string, ...origins: string[]) =>
    askRaw(app, {
      method: 'OPTIONS',
      path,
      headers: [
        ['Access-Control-Request-Method', 'POST'],
        ['Access-Control-Request-Headers', 'x-app-id,x-visitor-id,content-type'],
        ...origins.map((origin): [string, string] => ['Origin', origin]),
      ],
    });
  const concrete = (path: string): string => path.replace(/:[a-zA-Z]+/g, randomUUID());

  it.each(routes)('for $method $path', async ({ path }) => {
    const open = !/^\/api\/v1\/(staff|admin)/.test(path);
    const good = await preflight(concrete(path), 'https://example.com');
    expect(good.status).toBe(204);
    expect(good.headers.get('access-control-allow-origin')).toBe(open ? 'https://example.com' : null);
    if (open) {
      expect(good.headers.get('vary')).toContain('Origin');
      expect(good.headers.get('access-control-allow-headers')?.toLowerCase()).not.toContain('authorization');
    }
    // It names no application: any registered origin is answered, and the request itself is refused.
    expect(
      (await preflight(concrete(path), other.application.origin)).headers.get('access-control-allow-origin'),
    ).toBe(open ? other.application.origin : null);
    for (const origins of [
      ['https://evil.com'],
      ['null'],
      ['*'],
      [],
      ['https://example.com', 'https://example.com'],
      ['https://example.com, https://evil.com'],
    ]) {
      const bad = await preflight(concrete(path), ...origins);
      expect(
        [...bad.headers.keys()].filter((name) => name.startsWith('access-control')),
        `${path} ${origins.join()}`,
      ).toEqual([]);
    }
  });

  it('is answered for one application and refused by the other', async () => {
    expect((await preflight('/api/v1/widget/ws-token', other.application.origin)).status).toBe(204);
    const reply = await mint(site.id, other.application.origin);
    expect(reply.status).toBe(403);
    expect(reply.headers.has('access-control-allow-origin')).toBe(false);
  });
});

it('lets a registered page read a refusal, and no other', async () => {
  const path = `/api/v1/conversations/${randomUUID()}`;
  const own = await askRaw(app, { path, headers: headers(site.id, 'https://example.com') });
  expect([own.status, own.headers.get('access-control-allow-origin')]).toEqual([404, 'https://example.com']);
  expect(own.headers.get('vary')).toContain('Origin');
  const unknown = await askRaw(app, { path, headers: headers(randomUUID(), 'https://example.com') });
  expect([unknown.status, unknown.headers.has('access-control-allow-origin')]).toEqual([401, false]);
  const staff = await askRaw(app, {
    path: '/api/v1/staff/session',
    headers: headers(site.id, 'https://example.com'),
  });
  expect([staff.status, staff.headers.has('access-control-allow-origin')]).toEqual([401, false]);
});

it('leaves no secret in the log', () => {
  expectCleanLog(app, [site.key, visitorId, 'Bearer', 'dbk_']);
});
