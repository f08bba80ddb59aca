// Attacks the replacement of a forgotten password: unknown accounts, links that are used, old, raced for or guessed, and
// what a new password must end.
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { settlePasswordResets } from '../../src/services/auth/password-reset.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import {
  createMember,
  createOrganization,
  memberPassword,
  signIn,
  type TestMember,
} from '../helpers/fixtures.ts';
import { MailHost } from '../helpers/mail-host.ts';

const fresh = 'seven llamas of ann';
let host: MailHost;
let app: TestApp;
let ann: TestMember;

async function start(flags: Record<string, string> = {}): Promise<void> {
  app = await startApp({
    flags: { mailAddress: 'reply@chat.example.com', baseUrl: 'https://chat.example.com', ...flags },
    environment: { DESKBELL_SMTP_URL: host.url() },
  });
  await createOrganization(app, 'acme');
  ann = await createMember(app, 'acme', 'admin', 'Ann');
}

beforeEach(async () => {
  host = await new MailHost().start();
  await start();
});
afterEach(async () => {
  await app.stop();
  await host.stop();
});

const post = (path: string, body: object) => request(app.url, 'POST', `/api/v1/staff${path}`, {}, body);
const forgot = async (email = ann.email, organization = 'acme') => {
  const reply = await post('/password/forgot', { organization, email });
  await settlePasswordResets(app.service);
  return reply;
};
const reset = (token: string, password = fresh) => post('/password/reset', { token, password });
const session = (password: string) => post('/session', { organization: 'acme', email: ann.email, password });

/** The token of the newest link that was mailed. */
async function mailed(count = 1): Promise<string> {
  await host.has(count);
  const text = host.taken.at(-1)?.mail.text ?? '';
  const [, token = ''] =
    /https:\/\/chat\.example\.com\/inbox\?organization=acme#reset=(dbr_[0-9A-Za-z]{43})/.exec(text) ?? [];
  expect(token, text).not.toBe('');
  return token;
}

describe('a forgotten password', () => {
  it('is replaced once by a link; every session and token ends, and the audit log says so', async () => {
    const other = await signIn(app, 'acme', ann.email, ann.id);
    const made = await ann.call('POST', '/tokens', {
      name: 'script',
      scopes: ['settings:read'],
      expiresAt: new Date(app.clock.now() + 3_600_000).toISOString(),
    });
    expect((await forgot()).body).toEqual({ success: true });
    const token = await mailed();
    expect(host.taken[0]?.to).toEqual([ann.email]);
    expect(JSON.stringify(await rowsOf(app, 'select * from password_resets'))).not.toContain(token);
    expect(
      JSON.stringify(await rowsOf(app, 'select payload, key, recipient, error from effects')),
    ).not.toContain(token);
    // Asking changes nothing yet.
    expect((await ann.call('GET', '/session')).status).toBe(200);
    expect((await reset(token, 'password1')).body.details[0].path).toBe('password');
    expect((await reset(token)).body).toEqual({ success: true, organization: 'acme', email: ann.email });
    expect([(await session(memberPassword)).status, (await session(fresh)).status]).toEqual([401, 201]);
    const bearer = { authorization: `Bearer ${made.body.token.token}` };
    expect([
      (await ann.call('GET', '/session')).status,
      (await other.call('GET', '/session')).status,
      (await request(app.url, 'GET', '/api/v1/staff/session', bearer)).status,
    ]).toEqual([401, 401, 401]);
    const again = await reset(token, 'another password of ann');
    expect([again.status, again.body.message]).toEqual([401, expect.stringContaining('used already')]);
    const { entries } = await app.local('audit.list', { organization: 'acme' });
    expect(entries.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['password.forgot', 'password.reset']),
    );
    expect(JSON.stringify(entries) + app.logged.join('')).not.toContain(token);
  });

  it('is answered alike for accounts that are not there, and mails go to none of them', async () => {
    const bob = await createMember(app, 'acme');
    await app.local('members.update', { memberId: bob.id, disabled: true });
    const replies = [
      await forgot(),
      await forgot('no-one@acme.example'),
      await forgot(ann.email, 'globex'),
      await forgot(ann.email, 'no such slug'),
      await forgot(bob.email),
    ];
    const seen = replies.map(({ status, body, headers }) => [
      status,
      body,
      [...headers.keys()].toSorted((one, two) => one.localeCompare(two)),
      headers.get('content-length'),
    ]);
    for (const one of seen) expect(one).toEqual(seen[0]);
    await mailed();
    expect(await rowsOf(app, 'select member_id from password_resets')).toEqual([{ member_id: ann.id }]);
    expect((await rowsOf(app, "select id from effects where about = 'password-reset'")).length).toBe(1);
    expect((await rowsOf(app, "select id from audit where action = 'password.forgot'")).length).toBe(1);
  });

  it('has a link that is over after an hour, and with the next one, a new password or the member', async () => {
    await forgot();
    const first = await mailed();
    await forgot();
    const second = await mailed(2);
    expect([(await reset(first)).status, first === second]).toEqual([401, false]);
    app.clock.advance(3_600_001);
    expect((await reset(second)).status).toBe(401);
    await forgot();
    const third = await mailed(3);
    await app.local('members.update', { memberId: ann.id, password: 'set by the owner of it' });
    expect((await reset(third)).status).toBe(401);
    app.clock.advance(3_600_001);
    await createMember(app, 'acme', 'admin');
    await forgot();
    const fourth = await mailed(4);
    await app.local('members.update', { memberId: ann.id, disabled: true });
    expect((await reset(fourth)).status).toBe(401);
  });

  it('has its link mailed also where the server stops just after it was asked for', async () => {
    const { limiter } = app.service.engine;
    const take = limiter.take.bind(limiter);
    const goOn = Promise.withResolvers<undefined>();
    const reached = Promise.withResolvers<undefined>();
    vi.spyOn(limiter, 'take').mockImplementation(async (checks) => {
      if (checks.some(({ key }) => key.startsWith('reset:'))) {
        reached.resolve(undefined);
        await goOn.promise;
      }
      return take(checks);
    });
    expect((await post('/password/forgot', { organization: 'acme', email: ann.email })).status).toBe(200);
    await reached.promise;
    const restarted = app.restart({
      mailAddress: 'reply@chat.example.com',
      baseUrl: 'https://chat.example.com',
    });
    await setTimeout(200);
    goOn.resolve(undefined);
    app = await restarted;
    expect(await rowsOf(app, "select about from effects where about = 'password-reset'")).toHaveLength(1);
  });

  it('is won by one of two who use the link at once', async () => {
    await forgot();
    const token = await mailed();
    const replies = await Promise.all(
      ['first password of two', 'second password of two'].map((password) => reset(token, password)),
    );
    expect(replies.map(({ status }) => status).toSorted((one, two) => one - two)).toEqual([200, 401]);
    const works = await Promise.all(
      ['first password of two', 'second password of two'].map((one) => session(one)),
    );
    expect(works.map(({ status }) => status)).toEqual(
      replies.map(({ status }) => (status === 200 ? 201 : 401)),
    );
  });

  it('leaves the second factor demanded', async () => {
    await app.local('organizations.update', { organization: 'acme', signIn: { secondFactor: 'all' } });
    await forgot();
    await reset(await mailed());
    expect(await session(fresh)).toMatchObject({
      status: 401,
      body: { error: 'second_factor', methods: ['setup'] },
    });
  });

  it('is mailed three times an hour to an account, and asked for as often as an address may fail', async () => {
    for (let n = 0; n < 5; n += 1) expect((await forgot()).status).toBe(200);
    await host.has(3);
    expect((await rowsOf(app, "select id from effects where about = 'password-reset'")).length).toBe(3);
    await app.stop();
    await start({ limitAddressFailed: '3/m' });
    const statuses = [];
    for (let n = 0; n < 5; n += 1) statuses.push((await forgot(`someone${n}@acme.example`)).status);
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
  });

  it('says what to do where the server sends no mail', async () => {
    await app.stop();
    app = await startApp();
    await createOrganization(app, 'acme');
    for (const organization of ['acme', 'globex']) {
      const reply = await forgot('ann@acme.example', organization);
      expect([reply.status, reply.body.message]).toEqual([409, expect.stringContaining('DESKBELL_SMTP_URL')]);
    }
  });
});
