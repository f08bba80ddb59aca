// Signing in under attack: floods of guesses, many networks, old invitations.
import { afterEach, describe, expect, it } from 'vitest';
import type { Flags } from '../../src/config.ts';
import { isCommonPassword } from '../../src/protocol/common-passwords.ts';
import { createFairLimit, QueueFullError } from '../../src/net/fair-limit.ts';
import { addressNetworks } from '../../src/net/ip-ranges.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request, type Reply } from '../helpers/client.ts';
import { createMember, createOrganization, memberPassword, type TestMember } from '../helpers/fixtures.ts';

let app: TestApp;

async function start(flags: Flags = {}, passwordCost?: number): Promise<void> {
  app = await startApp({
    flags: { trustProxy: '1', ...flags },
    realTime: passwordCost !== undefined,
    passwordCost,
  });
  await createOrganization(app, 'acme');
}
afterEach(async () => {
  await app?.stop();
});

const signIn = (email: string, password: string, address = '10.0.0.1'): Promise<Reply> =>
  request(
    app.url,
    'POST',
    '/api/v1/staff/session',
    { 'x-forwarded-for': address },
    { organization: 'acme', email, password },
  );
const accept = (token: string, password: string, address = '10.9.0.1'): Promise<Reply> =>
  request(app.url, 'POST', '/api/v1/staff/invitation', { 'x-forwarded-for': address }, { token, password });
const invite = (email: string, role: 'admin' | 'operator' = 'operator') =>
  app.local('members.invite', { organization: 'acme', email, name: 'Ida', role });

describe('an invitation', () => {
  const changed = 'set by an admin';

  it('ends when an admin sets a password', async () => {
    await start();
    const { member, token } = await invite('ida@acme.example');
    await app.local('members.update', { memberId: member.id, password: changed });
    expect((await accept(token, 'chosen by the thief')).status).toBe(401);
    expect((await signIn('ida@acme.example', changed)).status).toBe(201);
  });

  it('ends when the member is disabled, and stays ended when enabled again', async () => {
    await start();
    const { member, token } = await invite('ida@acme.example');
    await app.local('members.update', { memberId: member.id, disabled: true });
    await app.local('members.update', { memberId: member.id, disabled: false });
    expect((await accept(token, 'chosen by the thief')).status).toBe(401);
  });

  it('ends when the member is removed', async () => {
    await start();
    const { member, token } = await invite('ida@acme.example');
    await app.local('members.remove', { memberId: member.id });
    expect((await accept(token, 'chosen by the thief')).status).toBe(401);
  });

  it('ends every session of the member when it is accepted', async () => {
    await start();
    const { member, token } = await invite('ida@acme.example');
    const session = await app.local('session.createLocal', { memberId: member.id });
    const whoAmI = () =>
      request(app.url, 'GET', '/api/v1/staff/session', { authorization: `Bearer ${session.token}` });
    expect((await whoAmI()).status).toBe(200);
    expect((await accept(token, 'chosen by the member')).status).toBe(201);
    expect((await whoAmI()).status).toBe(401);
  });

  it('of an admin who has not accepted it does not count as an admin', async () => {
    await start();
    const { id } = await createMember(app, 'acme', 'admin');
    const { token } = await invite('ida@acme.example', 'admin');
    const remove = () => app.local('members.remove', { memberId: id });
    await expect(remove()).rejects.toMatchObject({ code: 'conflict' });
    await accept(token, 'chosen by the member');
    await expect(remove()).resolves.toEqual({ success: true });
  });
});

/** The service slows an account down that fails often: its pause is on the clock of the test. */
async function patiently(pending: Promise<Reply>): Promise<Reply> {
  const timer = setInterval(() => app.clock.advance(100), 2);
  return pending.finally(() => clearInterval(timer));
}

describe('guessing', () => {
  it('an account from 30 networks is refused after 20 in a minute; a known address still gets in', async () => {
    await start({ limitAccountFailed: '20/m' });
    const { email } = await createMember(app, 'acme');
    expect((await signIn(email, memberPassword, '10.0.0.1')).status).toBe(201);
    const statuses: number[] = [];
    for (let network = 0; network < 30; network += 1) {
      const guess = signIn(email, 'wrong password', `10.${network}.1.1`);
      statuses.push((await patiently(guess)).status);
    }
    expect(statuses.filter((status) => status === 401)).toHaveLength(20);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    expect((await signIn(email, memberPassword, '10.200.0.9')).status).toBe(429);
    expect((await patiently(signIn(email, memberPassword, '10.0.0.1'))).status).toBe(201);
  });

  it('after five in a minute each try from a new address waits a second, and none from a known one', async () => {
    await start();
    const { email } = await createMember(app, 'acme');
    expect((await signIn(email, memberPassword, '10.0.0.1')).status).toBe(201);
    for (let network = 0; network < 5; network += 1)
      expect((await signIn(email, 'wrong password', `10.${network}.1.1`)).status).toBe(401);
    let answered = false;
    const slowed = signIn(email, memberPassword, '10.9.1.1').finally(() => (answered = true));
    // The clock stands still: each of these takes as long as the other would if it did not wait for it.
    for (let times = 0; times < 3; times += 1)
      expect((await signIn(email, memberPassword, '10.0.0.1')).status).toBe(201);
    expect(answered).toBe(false);
    app.clock.advance(1_000);
    expect((await slowed).status).toBe(201);
  });

  it('counts IPv6 networks of 64, 56 and 48 bits', async () => {
    expect(addressNetworks('2001:db8:1:2ff::1').map(({ key }) => key)).toEqual([
      '2001:db8:1:2ff::/64',
      '2001:db8:1:200::/56',
      '2001:db8:1::/48',
    ]);
    await start({ limitAddressFailed: '2/m' });
    let account = 0;
    const guess = async (address: string) =>
      (await signIn(`a${(account += 1)}@acme.example`, 'wrong password', address)).status;
    // One /64 after the other: each has two, the /56 around them eight.
    const statuses: number[] = [];
    for (let subnet = 0; subnet < 10; subnet += 1) statuses.push(await guess(`2001:db8:1:20${subnet}::1`));
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(8);
    expect(await guess('2001:db8:2::1')).toBe(401);
  });

  it('needs more than the passwords that are tried first', async () => {
    await start();
    for (const password of [
      'password',
      'Password1!',
      '12345678',
      'qwertyuiop',
      'Summer2026!',
      'aaaaaaaaaa',
    ]) {
      expect(isCommonPassword(password)).toBe(true);
      await expect(
        app.local('members.add', {
          organization: 'acme',
          email: 'a@acme.example',
          name: 'A',
          role: 'operator',
          password,
        }),
      ).rejects.toMatchObject({ code: 'bad_request' });
    }
    for (const password of ['correct horse', 'Krähe-im-Regen', 'x7!kQ2pz'])
      expect(isCommonPassword(password)).toBe(false);
  });
});

describe('a flood of sign-ins', () => {
  it('of 80 at once does not keep a member at another address waiting', async () => {
    await start({}, 15);
    const { email } = await createMember(app, 'acme');
    const tried: number[] = [];
    const flood = Array.from({ length: 80 }, async (_, at) => {
      tried.push((await signIn(`unknown${at}@acme.example`, 'wrong password')).status);
    });
    expect((await signIn(email, memberPassword, '10.7.0.1')).status).toBe(201);
    const passwords = (): number => tried.filter((status) => status === 401).length;
    const before = passwords();
    await Promise.all(flood);
    expect(new Set(tried)).toEqual(new Set([401, 429]));
    // Nearly all of them, where it waits for its turn behind them.
    expect(before).toBeLessThan(40);
  });
});

describe('a flood of sign-ins from many addresses', () => {
  it('keeps no member out who has signed in from theirs before, and does not slow them', async () => {
    await start({}, 13);
    const { email } = await createMember(app, 'acme');
    const rightful = async () => (await signIn(email, memberPassword, '10.7.0.1')).status;
    expect(await rightful()).toBe(201);
    const flood = Promise.all(
      Array.from({ length: 80 }, (_, at) => signIn(email, 'wrong password', `10.8.0.${at}`)),
    );
    expect(await rightful()).toBe(201);
    const statuses = new Set((await flood).map(({ status }) => status));
    expect(statuses.has(201)).toBe(false);
  });
});

describe("a flood of one organization's new passwords", () => {
  it.each([
    [
      'for members, from many addresses',
      ([admin]: readonly TestMember[]) =>
        Array.from({ length: 60 }, (_, at) =>
          request(
            app.url,
            'POST',
            '/api/v1/admin/members',
            { ...admin?.headers, 'x-forwarded-for': `10.8.0.${at}` },
            { email: `m${at}@acme.example`, name: 'M', role: 'operator', password: memberPassword },
          ),
        ),
    ],
    [
      'of many members for themselves',
      (members: readonly TestMember[]) =>
        members.flatMap((member) =>
          Array.from({ length: 9 }, () =>
            member.call('PATCH', '/me', { password: 'seven llamas', currentPassword: 'a wrong one' }),
          ),
        ),
    ],
  ])('%s keeps no one of another out', async (_what, flood) => {
    await start({}, 13);
    await createOrganization(app, 'globex');
    const { email } = await createMember(app, 'globex');
    const members: TestMember[] = [];
    for (let at = 0; at < 6; at += 1) members.push(await createMember(app, 'acme', 'admin'));
    const flooding = Promise.all(flood(members));
    const reply = await request(
      app.url,
      'POST',
      '/api/v1/staff/session',
      { 'x-forwarded-for': '10.7.0.1' },
      { organization: 'globex', email, password: memberPassword },
    );
    expect(reply.status).toBe(201);
    expect(new Set((await flooding).map(({ status }) => status)).has(429)).toBe(true);
  });
});

describe('the queue of slow work', () => {
  const gate = () => Promise.withResolvers<void>();

  it('serves those who ask in turn, and bounds what each and all may have waiting', async () => {
    const limit = createFairLimit({ maxRunning: 1, maxRunningPerKey: 1, maxWaiting: 4, maxWaitingPerKey: 3 });
    const order: string[] = [];
    const first = gate();
    const running = limit('a', () => first.promise);
    const call = (key: string, name: string) => limit(key, async () => void order.push(name));
    const waiting = [call('a', 'a1'), call('a', 'a2'), call('a', 'a3'), call('b', 'b1')];
    await expect(call('a', 'a4')).rejects.toMatchObject({ asker: 'a' });
    await expect(call('c', 'c1')).rejects.toBeInstanceOf(QueueFullError);
    first.resolve();
    await Promise.all([running, ...waiting]);
    expect(order).toEqual(['a1', 'b1', 'a2', 'a3']);
  });

  it('keeps a place for others while one asker has all that it may', async () => {
    const limit = createFairLimit({ maxRunning: 2, maxRunningPerKey: 1, maxWaiting: 9, maxWaitingPerKey: 9 });
    const slow = gate();
    const calls = [limit('slow', () => slow.promise), limit('slow', () => slow.promise)];
    await expect(limit('quick', () => Promise.resolve('done'))).resolves.toBe('done');
    slow.resolve();
    await Promise.all(calls);
  });

  it('gives up a waiting call that is aborted, and goes on with the next', async () => {
    const limit = createFairLimit({ maxRunning: 1, maxRunningPerKey: 1, maxWaiting: 9, maxWaitingPerKey: 9 });
    const first = gate();
    const running = limit('a', () => first.promise);
    const stop = new AbortController();
    const aborted = limit('b', () => Promise.resolve('never'), stop.signal);
    const last = limit('c', () => Promise.resolve('last'));
    stop.abort(new Error('withdrawn'));
    await expect(aborted).rejects.toThrow('withdrawn');
    first.resolve();
    await running;
    await expect(last).resolves.toBe('last');
  });
});
