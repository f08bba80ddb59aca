// Owns: signing in with a second factor, over real sockets, with time moved by hand: codes count once, tickets are
// bound and end, guesses are limited, and what ends a member's access ends all of it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectSocket, request, type Reply } from '../helpers/client.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { createMember, createOrganization, memberPassword, type TestMember } from '../helpers/fixtures.ts';
import { expectCleanLog } from '../helpers/rest-checks.ts';
import { matchTotp, totpCode, totpStep } from '../../src/services/auth/totp.ts';

let app: TestApp;
let ann: TestMember;

beforeEach(async () => {
  app = await startApp({ flags: { trustProxy: '1' } });
  await createOrganization(app, 'acme');
  ann = await createMember(app, 'acme', 'admin', 'Ann');
});
afterEach(() => app.stop());

const post = (path: string, body: object, address = '192.0.2.1'): Promise<Reply> =>
  request(app.url, 'POST', `/api/v1/staff${path}`, { 'x-forwarded-for': address }, body);
const password = (who = ann, word = memberPassword, address?: string): Promise<Reply> =>
  post('/session', { organization: 'acme', email: who.email, password: word }, address);
const code = (secret: string, steps = 0): string => totpCode(secret, totpStep(app.clock.now()) + steps);
const asMember = (token: string, method: string, path: string, body?: object): Promise<Reply> =>
  request(app.url, method, `/api/v1${path}`, { authorization: `Bearer ${token}` }, body);

/** Switches a member's second factor on, and steps past the code that did it. */
async function enable(who = ann): Promise<{ secret: string; recoveryCodes: string[] }> {
  const begun = await who.call('POST', '/me/totp', { password: memberPassword });
  expect(begun.status).toBe(201);
  const { secret } = begun.body.totp as { secret: string };
  const confirmed = await who.call('POST', '/me/totp/confirm', { code: code(secret) });
  expect(confirmed.status).toBe(200);
  app.clock.step(30_000);
  return { secret, recoveryCodes: confirmed.body.recoveryCodes as string[] };
}

async function ticket(who = ann, address?: string): Promise<string> {
  const reply = await password(who, memberPassword, address);
  expect(reply.status).toBe(401);
  expect(reply.body.error).toBe('second_factor');
  return reply.body.ticket as string;
}

describe('codes', () => {
  it('are those of RFC 6238, appendix B', () => {
    const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
    for (const [seconds, expected] of [
      [59, '287082'],
      [1_111_111_109, '081804'],
      [1_111_111_111, '050471'],
      [1_234_567_890, '005924'],
      [2_000_000_000, '279037'],
      [20_000_000_000, '353130'],
    ] as const)
      expect(totpCode(secret, totpStep(seconds * 1000))).toBe(expected);
    expect(matchTotp(secret, '287 082', 59_000, 0)).toBe(1);
    expect(matchTotp(secret, '287082', 89_999, 0)).toBe(1);
    expect(matchTotp(secret, '287082', 90_000, 0)).toBeNull();
    expect(matchTotp(secret, '287082', 59_000, 1)).toBeNull();
  });
});

describe('a sign-in', () => {
  it('takes the password and then a code, and the code counts once', async () => {
    const { secret } = await enable();
    const refused = await password();
    expect(refused.body).toEqual({
      error: 'second_factor',
      message: expect.any(String),
      ticket: expect.stringMatching(/^dbx_/),
      methods: ['totp', 'recovery'],
    });
    const first = await post('/session/second-factor', { ticket: refused.body.ticket, code: code(secret) });
    expect(first.status).toBe(201);
    expect(first.body.member.id).toBe(ann.id);
    expect((await asMember(first.body.token, 'GET', '/staff/session')).status).toBe(200);
    // The ticket is used up, and so is the code, with another ticket too.
    const again = await post('/session/second-factor', {
      ticket: refused.body.ticket,
      code: code(secret, 1),
    });
    expect([again.status, again.body.error]).toEqual([401, 'unauthorized']);
    const replayed = await post('/session/second-factor', { ticket: await ticket(), code: code(secret) });
    expect([replayed.status, replayed.body.error]).toEqual([401, 'second_factor']);
    // Neither does an older one count, which the drift of clocks would let in.
    const older = await post('/session/second-factor', { ticket: await ticket(), code: code(secret, -1) });
    expect(older.status).toBe(401);
    app.clock.step(30_000);
    expect(
      (await post('/session/second-factor', { ticket: await ticket(), code: code(secret) })).status,
    ).toBe(201);
  });

  it('says nothing of a second factor to a wrong password', async () => {
    await enable();
    const reply = await password(ann, 'not the password');
    expect(reply.body).toEqual({ error: 'unauthorized', message: expect.any(String) });
  });

  it('takes each recovery code once, however it is typed', async () => {
    const { recoveryCodes } = await enable();
    expect(new Set(recoveryCodes).size).toBe(10);
    const [first = '', second = ''] = recoveryCodes;
    const use = async (text: string): Promise<number> =>
      (await post('/session/second-factor', { ticket: await ticket(), code: text })).status;
    expect(await use(first)).toBe(201);
    expect(await use(first)).toBe(401);
    expect(await use(second.toUpperCase().replaceAll('-', ' '))).toBe(201);
    const state = await ann.call('GET', '/me/totp');
    expect(state.body.totp).toMatchObject({ enabled: true, recoveryCodesLeft: 8 });
  });

  it("does not take another member's code or recovery code", async () => {
    await enable();
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    const { secret, recoveryCodes } = await enable(bob);
    for (const wrong of [code(secret), recoveryCodes[0] ?? ''])
      expect((await post('/session/second-factor', { ticket: await ticket(), code: wrong })).status).toBe(
        401,
      );
  });

  it('ends its ticket after five minutes, and after five wrong codes', async () => {
    const { secret } = await enable();
    const late = await ticket();
    app.clock.step(5 * 60_000);
    expect((await post('/session/second-factor', { ticket: late, code: code(secret) })).body.error).toBe(
      'unauthorized',
    );
    const tried = await ticket();
    const errors: string[] = [];
    for (let index = 0; index < 5; index += 1)
      errors.push(
        (await post('/session/second-factor', { ticket: tried, code: '000000' })).body.error as string,
      );
    expect(errors).toEqual([...Array.from({ length: 4 }, () => 'second_factor'), 'unauthorized']);
    expect((await post('/session/second-factor', { ticket: tried, code: code(secret) })).status).toBe(401);
  });

  it('binds its ticket to the address that knew the password', async () => {
    const { secret } = await enable();
    const bound = await ticket(ann, '192.0.2.7');
    const elsewhere = { ticket: bound, code: code(secret) };
    expect((await post('/session/second-factor', elsewhere, '198.51.100.9')).body.error).toBe('unauthorized');
    expect((await post('/session/second-factor', elsewhere, '192.0.2.7')).status).toBe(201);
  });

  it('limits the tries of a member over all tickets, also those sent at once', async () => {
    const { secret } = await enable();
    const tickets = await Promise.all(
      Array.from({ length: 12 }, (_, index) => ticket(ann, `192.0.2.${index}`)),
    );
    const replies = await Promise.all(
      tickets.flatMap((one, index) =>
        ['000000', '111111'].map((wrong) =>
          post('/session/second-factor', { ticket: one, code: wrong }, `192.0.2.${index}`),
        ),
      ),
    );
    // One of the ten was taken when the second factor was switched on, one when its password was asked for.
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(8);
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(16);
    app.clock.advance(10 * 60_000);
    expect(
      (await post('/session/second-factor', { ticket: await ticket(), code: code(secret) })).status,
    ).toBe(201);
  });

  it.each([
    ['a new password', { password: 'another long password' }],
    ['disabling', { disabled: true }],
  ])('half-way ends with %s', async (_what, change) => {
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    const { secret } = await enable(bob);
    const waiting = await ticket(bob);
    await app.local('members.update', { memberId: bob.id, ...change });
    const reply = await post('/session/second-factor', { ticket: waiting, code: code(secret) });
    expect([reply.status, reply.body.error]).toEqual([401, 'unauthorized']);
    expect((await bob.call('GET', '/session')).status).toBe(401);
  });
});

describe('switching it on and off', () => {
  it('takes the present password, and a code before it counts', async () => {
    expect((await ann.call('POST', '/me/totp', { password: 'wrong' })).status).toBe(400);
    expect((await ann.call('POST', '/me/totp/confirm', { code: '123456' })).status).toBe(409);
    await ann.call('POST', '/me/totp', { password: memberPassword });
    expect((await ann.call('POST', '/me/totp/confirm', { code: '123456' })).status).toBe(400);
    // Not confirmed: the password is still enough.
    expect((await password()).status).toBe(201);
  });

  it('ends every other session, and keeps the one that did it', async () => {
    const other = await password();
    const socket = await connectSocket(
      app.url,
      (await asMember(other.body.token, 'POST', '/staff/ws-token')).body.token as string,
    );
    await enable();
    expect((await asMember(other.body.token, 'GET', '/staff/session')).status).toBe(401);
    expect((await socket.waitForClose()).code).toBe(4403);
    expect((await ann.call('GET', '/session')).status).toBe(200);
    expect((await ann.call('POST', '/me/totp', { password: memberPassword })).status).toBe(409);
  });

  it('off takes a code, which counts once', async () => {
    const { secret } = await enable();
    expect((await ann.call('POST', '/me/totp/disable', { code: '000000' })).status).toBe(400);
    expect((await ann.call('POST', '/me/totp/disable', { code: code(secret) })).status).toBe(200);
    expect((await password()).status).toBe(201);
    expect((await ann.call('POST', '/me/recovery-codes', { password: memberPassword })).status).toBe(409);
  });

  it('new recovery codes end the old ones', async () => {
    const { recoveryCodes } = await enable();
    const made = await ann.call('POST', '/me/recovery-codes', { password: memberPassword });
    expect(made.status).toBe(201);
    const use = async (text: string): Promise<number> =>
      (await post('/session/second-factor', { ticket: await ticket(), code: text })).status;
    expect(await use(recoveryCodes[0] ?? '')).toBe(401);
    expect(await use(made.body.recoveryCodes[0] as string)).toBe(201);
  });

  it("is reset by an admin for a member, never for themselves, and the member's sessions end", async () => {
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    await enable(bob);
    await enable();
    const reset = (id: string): Promise<Reply> =>
      asMember(ann.token, 'DELETE', `/admin/members/${id}/second-factor`);
    expect((await reset(ann.id)).status).toBe(409);
    expect((await reset(bob.id)).status).toBe(200);
    expect((await bob.call('GET', '/session')).status).toBe(401);
    expect((await password(bob)).status).toBe(201);
  });

  it('keeps no secret, code or ticket in a readable column, the audit log or the log', async () => {
    const { secret, recoveryCodes } = await enable();
    const waiting = await ticket();
    const dump = JSON.stringify(
      await Promise.all(
        ['member_totp', 'recovery_codes', 'sign_in_tickets', 'audit'].map((table) =>
          rowsOf(app, `select * from ${table}`),
        ),
      ),
    );
    for (const one of [secret, waiting, ...recoveryCodes]) expect(dump).not.toContain(one);
    expect(await rowsOf(app, 'select sealed from member_totp')).toHaveLength(1);
    expectCleanLog(app, [secret, waiting, ...recoveryCodes]);
    const actions = (await rowsOf(app, 'select action from audit')).map((row) => row['action']);
    expect(actions).toContain('totp.confirm');
  });
});

describe('an organization that demands it', () => {
  const demand = (secondFactor: string, token = ann.token): Promise<Reply> =>
    asMember(token, 'PATCH', '/admin/organization', { signIn: { secondFactor } });

  it('is told by an admin who has one, and ends every session without, sockets included', async () => {
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    const socket = await bob.connect();
    expect((await demand('all')).status).toBe(409);
    await enable();
    const changed = await demand('admins');
    expect(changed.status).toBe(200);
    expect(changed.body.organization.signIn).toEqual({ secondFactor: 'admins' });
    expect((await bob.call('GET', '/session')).status).toBe(200);
    expect((await demand('all')).status).toBe(200);
    expect((await bob.call('GET', '/session')).status).toBe(401);
    expect((await socket.waitForClose()).code).toBe(4403);
    expect((await ann.call('GET', '/session')).status).toBe(200);
  });

  it('lets a member without one set it up in the sign-in, and no further before', async () => {
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    await app.local('organizations.update', { organization: 'acme', signIn: { secondFactor: 'all' } });
    const refused = await password(bob);
    expect(refused.body.methods).toEqual(['setup']);
    const { ticket: waiting } = refused.body as { ticket: string };
    expect((await post('/session/second-factor', { ticket: waiting, code: '123456' })).status).toBe(401);
    const setup = await post('/session/second-factor/setup', { ticket: waiting });
    expect(setup.status).toBe(201);
    expect(setup.body.totp.uri).toBe(
      `otpauth://totp/acme:${encodeURIComponent(bob.email)}?secret=${setup.body.totp.secret}&issuer=acme`,
    );
    const done = await post('/session/second-factor', {
      ticket: waiting,
      code: code(setup.body.totp.secret as string),
    });
    expect(done.status).toBe(201);
    expect(done.body.recoveryCodes).toHaveLength(10);
    expect((await asMember(done.body.token, 'GET', '/staff/session')).status).toBe(200);
    app.clock.step(30_000);
    expect(
      (
        await asMember(done.body.token, 'POST', '/staff/me/totp/disable', {
          code: code(setup.body.totp.secret),
        })
      ).status,
    ).toBe(409);
    // A member who has one can't be given another by the password alone.
    const next = await password(bob);
    expect(next.body.methods).toEqual(['totp', 'recovery']);
    expect((await post('/session/second-factor/setup', { ticket: next.body.ticket })).status).toBe(401);
  });

  it('of its admins ends the sessions of an operator who becomes one', async () => {
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    await app.local('organizations.update', { organization: 'acme', signIn: { secondFactor: 'admins' } });
    expect((await bob.call('GET', '/session')).status).toBe(200);
    await app.local('members.update', { memberId: bob.id, role: 'admin' });
    expect((await bob.call('GET', '/session')).status).toBe(401);
  });
});

it('is named in the list of members, as soon as it is confirmed', async () => {
  const bob = await createMember(app, 'acme', 'operator', 'Bob');
  const listed = async (): Promise<Record<string, string[]>> => {
    const { body } = await request(app.url, 'GET', '/api/v1/admin/members', ann.headers);
    const members = body.members as { name: string; secondFactors: string[] }[];
    return Object.fromEntries(members.map(({ name, secondFactors }) => [name, secondFactors]));
  };
  expect(await listed()).toEqual({ Ann: [], Bob: [] });
  await bob.call('POST', '/me/totp', { password: memberPassword });
  expect(await listed()).toEqual({ Ann: [], Bob: [] });
  await enable(ann);
  expect(await listed()).toEqual({ Ann: ['totp'], Bob: [] });
  expect((await app.local('members.list', { organization: 'acme' })).members).toMatchObject([
    { name: 'Ann', secondFactors: ['totp'] },
    { name: 'Bob', secondFactors: [] },
  ]);
});
