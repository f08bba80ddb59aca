// Attacks the dashboard's cookie: what other sites may send in a browser of a signed-in member, header by header. No
// browser takes part: that the headers are those that a browser sends is taken from their standards.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { connectSocket, type HeaderMap, type Reply } from '../helpers/client.ts';
import {
  createMember,
  createOrganization,
  createVisitor,
  memberPassword,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { send } from '../helpers/raw-http.ts';
import { totpCode, totpStep } from '../../src/services/auth/totp.ts';

let app: TestApp;
let acme: TestOrganization;
let ann: TestMember;

const host = 'acme.chat.example';
const own = { host, origin: `https://${host}` };

beforeAll(async () => {
  app = await startApp({ flags: { baseUrl: 'https://chat.example' } });
  acme = await createOrganization(app, 'acme');
  await createOrganization(app, 'beta');
});
afterAll(() => app.stop());
beforeEach(async () => {
  ann = await createMember(app, 'acme', 'admin', 'Ann');
});

function ask(method: string, path: string, headers: HeaderMap = {}, body?: object | string): Promise<Reply> {
  const json = body === undefined ? {} : { 'content-type': 'application/json' };
  return send(app.url, {
    method,
    path: `/api/v1${path}`,
    headers: Object.entries({ ...json, ...own, ...headers }),
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
}

const withPassword = (): object => ({
  organization: 'acme',
  email: ann.email,
  password: memberPassword,
  cookie: true,
});

/** The name and value of the cookie that an answer sets. */
const given = (reply: Reply): string => reply.headers.get('set-cookie')?.split(';')[0] ?? '';

async function signIn(): Promise<string> {
  const reply = await ask('POST', '/staff/session', {}, withPassword());
  expect(reply.status).toBe(201);
  return given(reply);
}

const whoAmI = async (headers: HeaderMap): Promise<number> =>
  (await ask('GET', '/staff/session', headers)).status;

describe('signing in with a cookie', () => {
  it('sets a cookie that no script and no other host reads, and leaves the token out', async () => {
    const reply = await ask('POST', '/staff/session', {}, withPassword());
    expect(reply.headers.get('set-cookie')).toMatch(
      /^__Host-deskbell=dbs_\w+; Secure; Path=\/; Max-Age=7776000; HttpOnly; SameSite=Strict$/,
    );
    expect(reply.body).toEqual({
      expiresAt: expect.any(String),
      member: expect.objectContaining({ id: ann.id }),
      organization: expect.objectContaining({ slug: 'acme' }),
    });
    expect(reply.text).not.toContain('dbs_');
    expect(await whoAmI({ cookie: given(reply) })).toBe(200);
  });

  it('is without prefix over HTTP on the same machine, and there only', async () => {
    const local = await startApp();
    const there = (headers: HeaderMap, method = 'POST', body: object | undefined = withPassword()) =>
      send(local.url, {
        method,
        path: '/api/v1/staff/session',
        headers: Object.entries({ 'content-type': 'application/json', ...headers }),
        ...(method === 'GET' ? {} : { body: JSON.stringify(body) }),
      });
    try {
      await createOrganization(local, 'acme');
      ann = await createMember(local, 'acme');
      for (const name of ['127.0.0.1:4600', 'localhost:4600', 'acme.localhost:4600', '[::1]:4600']) {
        const reply = await there({ host: name, origin: `http://${name}` });
        expect(reply.headers.get('set-cookie'), name).toMatch(
          /^deskbell=dbs_\w+; Path=\/; Max-Age=7776000; HttpOnly; SameSite=Strict$/,
        );
        const again = await there(
          { host: name, 'sec-fetch-site': 'same-origin', cookie: given(reply) },
          'GET',
        );
        expect(again.status, name).toBe(200);
      }
      const lan = await there({ host: '192.0.2.7:4600', origin: 'http://192.0.2.7:4600' });
      expect([lan.status, lan.headers.get('set-cookie')]).toEqual([403, null]);
    } finally {
      await local.stop();
    }
  });

  it('ends the session that this browser had, and no other', async () => {
    const [before, elsewhere] = [await signIn(), await signIn()];
    const bea = await createMember(app, 'acme', 'operator', 'Bea');
    const hers = { ...withPassword(), email: bea.email };
    // Refused, or asked by another page: it stays.
    const foreign = { cookie: before, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await ask('POST', '/staff/session', foreign, hers)).status).toBe(403);
    expect(
      (await ask('POST', '/staff/session', { cookie: before }, { ...hers, password: 'no' })).status,
    ).toBe(401);
    expect(await whoAmI({ cookie: before })).toBe(200);
    const reply = await ask('POST', '/staff/session', { cookie: before }, hers);
    expect(reply.status).toBe(201);
    expect(await Promise.all([before, elsewhere, given(reply)].map((cookie) => whoAmI({ cookie })))).toEqual([
      401, 200, 200,
    ]);
    const { body } = await ann.call('GET', '/sessions');
    expect(body.total).toBe(2);
    // What is over is no hindrance.
    expect((await ask('POST', '/staff/session', { cookie: before }, hers)).status).toBe(201);
  });

  it('goes on with a second factor', async () => {
    const begun = await ann.call('POST', '/me/totp', { password: memberPassword });
    const secret = begun.body.totp.secret as string;
    const code = (): string => totpCode(secret, totpStep(app.clock.now()));
    expect((await ann.call('POST', '/me/totp/confirm', { code: code() })).status).toBe(200);
    app.clock.step(60_000);
    const refused = await ask('POST', '/staff/session', {}, withPassword());
    expect([refused.status, refused.headers.get('set-cookie')]).toEqual([401, null]);
    const second = { ticket: refused.body.ticket as string, code: code(), cookie: true };
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await ask('POST', '/staff/session/second-factor', foreign, second)).status).toBe(403);
    const done = await ask('POST', '/staff/session/second-factor', {}, second);
    expect([done.status, done.body.token]).toEqual([201, undefined]);
    expect(await whoAmI({ cookie: given(done) })).toBe(200);
  });

  it('with a link works once, for ten minutes, at its own host', async () => {
    const link = async (): Promise<object> => ({
      ticket: (await app.local('session.createLink', { memberId: ann.id })).ticket,
      cookie: true,
    });
    const use = (body: object, headers: HeaderMap = {}) => ask('POST', '/staff/session/link', headers, body);
    const first = await link();
    expect(
      (await use(first, { host: 'beta.chat.example', origin: 'https://beta.chat.example' })).status,
    ).toBe(401);
    const reply = await use(first);
    expect([reply.status, await whoAmI({ cookie: given(reply) })]).toEqual([201, 200]);
    expect((await use(first)).status).toBe(401);
    const late = await link();
    app.clock.step(10 * 60_000);
    expect((await use(late)).status).toBe(401);
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await use(await link(), foreign)).status).toBe(403);
  });

  it("does not take a sign-in's ticket for a link, nor a link for a ticket", async () => {
    const begun = await ann.call('POST', '/me/totp', { password: memberPassword });
    const secret = begun.body.totp.secret as string;
    const code = (): string => totpCode(secret, totpStep(app.clock.now()));
    await ann.call('POST', '/me/totp/confirm', { code: code() });
    app.clock.step(60_000);
    const { ticket } = (await ask('POST', '/staff/session', {}, withPassword())).body as { ticket: string };
    expect((await ask('POST', '/staff/session/link', {}, { ticket })).status).toBe(401);
    const link = await app.local('session.createLink', { memberId: ann.id });
    const used = await ask('POST', '/staff/session/second-factor', {}, { ticket: link.ticket, code: code() });
    expect(used.status).toBe(401);
  });
});

describe('a cookie counts', () => {
  const pages: readonly (readonly [string, HeaderMap, number])[] = [
    ['a page of this server', {}, 200],
    ['a page of this server that names no origin', { 'sec-fetch-site': 'same-origin', origin: '' }, 200],
    ['another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }, 401],
    ['another site in an old browser', { origin: 'https://evil.example' }, 401],
    ['another site that hides', { origin: 'null', 'sec-fetch-site': 'cross-site' }, 401],
    ['a frame in a sandbox', { origin: 'null' }, 401],
    ['another organization', { origin: 'https://beta.chat.example', 'sec-fetch-site': 'same-site' }, 401],
    ['the base host', { origin: 'https://chat.example', 'sec-fetch-site': 'same-site' }, 401],
    ['the base host in an old browser', { origin: 'https://chat.example' }, 401],
    ['the same host without TLS', { origin: `http://${host}`, 'sec-fetch-site': 'cross-site' }, 401],
    ['the same host without TLS in an old browser', { origin: `http://${host}` }, 401],
    ['another port', { origin: `https://${host}:8443`, 'sec-fetch-site': 'same-site' }, 401],
    ['a typed address', { origin: '', 'sec-fetch-site': 'none' }, 401],
    ['a program', { origin: '' }, 401],
    ['signs that contradict', { 'sec-fetch-site': 'cross-site' }, 401],
    ['an origin with more behind it', { origin: `https://${host}/` }, 401],
    ['an origin that begins like ours', { origin: `https://${host}.evil.example` }, 401],
  ];
  it.each(pages)('from %s', async (_name, headers, status) => {
    const cookie = await signIn();
    const sent = Object.fromEntries(
      Object.entries({ ...own, ...headers, cookie }).filter(([, value]) => value !== ''),
    );
    const reply = await send(app.url, {
      method: 'GET',
      path: '/api/v1/staff/session',
      headers: Object.entries(sent),
    });
    expect(reply.status).toBe(status);
    // Nothing is ever readable for another origin.
    expect(reply.headers.get('access-control-allow-origin')).toBeNull();
    expect(reply.headers.get('access-control-allow-credentials')).toBeNull();
  });

  it('where a proxy names another host than was asked, for the base address alone', async () => {
    const cookie = await signIn();
    const upstream = '127.0.0.1:4600';
    expect(await whoAmI({ host: upstream, origin: 'https://chat.example', cookie })).toBe(200);
    expect(await whoAmI({ host: upstream, origin: 'https://evil.example', cookie })).toBe(401);
  });

  it('never beside Authorization', async () => {
    const cookie = await signIn();
    for (const authorization of ['Bearer nothing', 'Basic YTpi', 'Bearer'])
      expect(await whoAmI({ cookie, authorization }), authorization).toBe(401);
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    const reply = await ask('GET', '/staff/session', { cookie, authorization: `Bearer ${bob.token}` });
    expect(reply.body.member.id).toBe(bob.id);
  });

  it('only once, by its whole name', async () => {
    const cookie = await signIn();
    const value = cookie.slice(cookie.indexOf('=') + 1);
    expect(await whoAmI({ cookie: `a=b; ${cookie}; c=d` })).toBe(200);
    for (const wrong of [
      `${cookie}; __Host-deskbell=dbs_x`,
      `__Host-deskbell=dbs_x; ${cookie}`,
      // A page at a sibling host can set this one for all of them.
      `deskbell=${value}`,
      `x__Host-deskbell=${value}`,
      `__host-deskbell=${value}`,
    ])
      expect(await whoAmI({ cookie: wrong }), wrong).toBe(401);
  });

  it("never at another organization's host", async () => {
    const cookie = await signIn();
    const beta = 'beta.chat.example';
    expect(await whoAmI({ cookie, host: beta, origin: `https://${beta}` })).toBe(401);
  });

  it('never for a visitor', async () => {
    const cookie = await signIn();
    const visitor = createVisitor(app, acme.application);
    const headers = { 'x-app-id': acme.application.id, 'x-visitor-id': visitor.id, cookie };
    expect((await ask('GET', '/conversations', headers)).status).toBe(403);
    expect((await ask('GET', '/conversations', { cookie })).status).toBe(401);
  });

  it('is gone with the session, in the browser and on the server', async () => {
    const cookie = await signIn();
    const out = await ask('DELETE', '/staff/session', { cookie });
    expect(out.headers.get('set-cookie')).toMatch(/^__Host-deskbell=; Secure; Path=\/; Max-Age=0;/);
    expect(await whoAmI({ cookie })).toBe(401);
  });

  it('is the current one in the list of sessions', async () => {
    const cookie = await signIn();
    const { sessions } = (await ask('GET', '/staff/sessions', { cookie })).body as {
      sessions: { id: string; current: boolean }[];
    };
    expect(sessions.map(({ current }) => current)).toEqual([true, false]);
    const [mine] = sessions;
    expect((await ask('DELETE', `/staff/sessions/${mine?.id}`, { cookie })).status).toBe(200);
    expect(await whoAmI({ cookie })).toBe(401);
  });
});

describe('another site', () => {
  const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };

  it('can sign no reader in, with a form or with a script', async () => {
    const fetched = await ask('POST', '/staff/session', foreign, withPassword());
    expect([fetched.status, fetched.headers.get('set-cookie')]).toEqual([403, null]);
    for (const type of [
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/plain',
    ]) {
      const form = await ask(
        'POST',
        '/staff/session',
        { ...foreign, 'content-type': type },
        JSON.stringify(withPassword()),
      );
      expect([form.status, form.headers.get('set-cookie')], type).toEqual([415, null]);
    }
  });

  it('can change nothing with the cookie of its reader, and does not sign them out', async () => {
    const cookie = await signIn();
    const body = { name: 'Evil' };
    expect((await ask('PATCH', '/admin/organization', { ...foreign, cookie }, body)).status).toBe(401);
    const form = { ...foreign, cookie, 'content-type': 'text/plain' };
    expect((await ask('POST', '/staff/tokens', form, '{}')).status).toBe(401);
    expect((await ask('DELETE', '/staff/session', { ...foreign, cookie })).status).toBe(401);
    expect(await whoAmI({ cookie })).toBe(200);
  });

  it('opens no socket: neither with the cookie, nor with a token that it has found', async () => {
    const cookie = await signIn();
    expect((await ask('POST', '/staff/ws-token', { ...foreign, cookie })).status).toBe(401);
    const alone = await connectSocket(app.url, null, { ...own, cookie });
    await alone.waitForClose();
    expect(alone.all('error')[0]?.payload.code).toBe('UNAUTHORIZED');
    const { token } = (await ask('POST', '/staff/ws-token', { cookie })).body as { token: string };
    const stolen = await connectSocket(app.url, token, { host, origin: 'https://evil.example' });
    await stolen.waitForClose();
    expect(stolen.all('error')[0]?.payload.code).toBe('ORIGIN_MISMATCH');
    const mine = await connectSocket(app.url, token, own);
    await mine.drain();
    expect(mine.closed).toBeNull();
    await mine.close();
  });
});
