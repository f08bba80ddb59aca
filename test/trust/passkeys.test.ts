// Owns: passkeys as a second factor, over real sockets, with an authenticator that lies: what is signed for another
// challenge, page, member or server proves nothing, each challenge counts once, and a clone is known by its count.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { exportOrganization } from '../../src/services/data/export.ts';
import { importOrganization } from '../../src/services/data/import.ts';
import { relyingParty } from '../../src/services/auth/webauthn.ts';
import { totpCode, totpStep } from '../../src/services/auth/totp.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { Authenticator, type Asked, type Lies } from '../helpers/authenticator.ts';
import { connectSocket, request, type Reply } from '../helpers/client.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { createMember, createOrganization, memberPassword, type TestMember } from '../helpers/fixtures.ts';

const page = 'https://chat.example';

/** How often the library has looked at a registration. */
const library = vi.hoisted(() => ({ verified: 0 }));
vi.mock(import('@simplewebauthn/server'), async (original) => {
  const real = await original();
  return {
    ...real,
    verifyRegistrationResponse: (options) => {
      library.verified += 1;
      return real.verifyRegistrationResponse(options);
    },
  };
});

let app: TestApp;
let ann: TestMember;

beforeEach(async () => {
  app = await startApp({ flags: { trustProxy: '1', baseUrl: page } });
  await createOrganization(app, 'acme');
  ann = await createMember(app, 'acme', 'admin', 'Ann');
});
afterEach(() => app.stop());

const post = (path: string, body: object, address = '192.0.2.1'): Promise<Reply> =>
  request(app.url, 'POST', `/api/v1/staff${path}`, { 'x-forwarded-for': address }, body);
const device = (counter = 0): Authenticator => new Authenticator(page, 'chat.example', counter);

async function begin(who = ann): Promise<Asked & { readonly excludeCredentials: readonly object[] }> {
  const begun = await who.call('POST', '/me/passkeys/options', { password: memberPassword });
  expect(begun.status).toBe(201);
  return begun.body.options;
}

async function add(authenticator: Authenticator, who = ann, name = 'Laptop'): Promise<Reply> {
  const response = authenticator.create(await begin(who));
  return who.call('POST', '/me/passkeys', { name, response });
}

/** A right password: what is asked for next. */
interface Half {
  readonly ticket: string;
  readonly methods: readonly string[];
  readonly passkey: Asked;
}

async function half(who = ann, address?: string): Promise<Half> {
  const reply = await post(
    '/session',
    { organization: 'acme', email: who.email, password: memberPassword },
    address,
  );
  expect([reply.status, reply.body.error]).toEqual([401, 'second_factor']);
  return reply.body;
}

/** Signs in with a passkey, or with what pretends to be one. */
async function show(authenticator: Authenticator, lies: Lies = {}, who = ann): Promise<Reply> {
  const { ticket, passkey } = await half(who);
  return post('/session/second-factor', { ticket, assertion: authenticator.show(passkey, lies) });
}
const audits = async (action: string): Promise<unknown[]> =>
  (await rowsOf(app, `select detail from audit where action = '${action}'`)).map((row) =>
    JSON.parse(String(row['detail'])),
  );

describe('where passkeys belong', () => {
  it.each([
    ['https://chat.example', { id: 'chat.example', origins: [page, 'https://acme.chat.example'] }],
    [
      'https://chat.example:8443',
      { id: 'chat.example', origins: [`${page}:8443`, 'https://acme.chat.example:8443'] },
    ],
    [
      'http://127.0.0.1:4600',
      { id: 'localhost', origins: ['http://localhost:4600', 'http://acme.localhost:4600'] },
    ],
    [
      'http://[::1]:4600',
      { id: 'localhost', origins: ['http://localhost:4600', 'http://acme.localhost:4600'] },
    ],
    ['http://chat.example', null],
    ['https://192.0.2.7', null],
    ['https://[2001:db8::1]', null],
  ])('is %s', (base, party) => {
    expect(relyingParty(base, 'acme')).toEqual(party);
  });

  it('is the same whatever Host and Origin a request names', async () => {
    const headers = { origin: 'https://evil.example', 'x-forwarded-host': 'evil.example' };
    const { body } = await ann.call('POST', '/me/passkeys/options', { password: memberPassword }, headers);
    expect(body.options.rp).toEqual({ id: 'chat.example', name: 'acme' });
  });

  it('is nowhere on a server without a name, which says so', async () => {
    const nameless = await startApp({ flags: { baseUrl: 'https://192.0.2.7' } });
    await createOrganization(nameless, 'acme');
    const bob = await createMember(nameless, 'acme');
    const reply = await bob.call('POST', '/me/passkeys/options', { password: memberPassword });
    expect([reply.status, reply.body.message]).toEqual([409, expect.stringContaining('--base-url')]);
    await nameless.stop();
  });
});

describe('a registration', () => {
  it('of two members at once is each one’s own, and by no other’s challenge', async () => {
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    const finish = async (who: TestMember, asked: Asked): Promise<number> =>
      (await who.call('POST', '/me/passkeys', { name: 'Laptop', response: device().create(asked) })).status;
    let [anns, bobs] = [await begin(), await begin(bob)];
    expect([await finish(bob, bobs), await finish(ann, anns)]).toEqual([201, 201]);
    [anns, bobs] = [await begin(), await begin(bob)];
    expect([await finish(bob, anns), await finish(ann, bobs)]).toEqual([400, 400]);
  });

  it('asks for a verified user, and takes the present password', async () => {
    expect((await ann.call('POST', '/me/passkeys/options', { password: 'wrong' })).status).toBe(400);
    expect(await begin()).toMatchObject({
      authenticatorSelection: { userVerification: 'required' },
      attestation: 'none',
      excludeCredentials: [],
      user: { name: ann.email, displayName: 'Ann' },
    });
  });

  it('of the first one switches the second factor on: recovery codes, and every other session ends', async () => {
    const other = await post('/session', {
      organization: 'acme',
      email: ann.email,
      password: memberPassword,
    });
    const bearer = { authorization: `Bearer ${other.body.token}` };
    const token = await request(app.url, 'POST', '/api/v1/staff/ws-token', bearer);
    const socket = await connectSocket(app.url, token.body.token as string);
    const first = await add(device());
    expect(first.status).toBe(201);
    expect(first.body).toEqual({
      passkey: { id: expect.any(String), name: 'Laptop', createdAt: expect.any(String), lastUsedAt: null },
      recoveryCodes: expect.any(Array),
    });
    expect(new Set(first.body.recoveryCodes).size).toBe(10);
    expect((await socket.waitForClose()).code).toBe(4403);
    expect((await ann.call('GET', '/session')).status).toBe(200);
    // A second one leaves the codes as they are.
    const second = await add(device(), ann, 'Phone');
    expect(second.body).toEqual({ passkey: expect.objectContaining({ name: 'Phone' }) });
    const { body } = await ann.call('GET', '/me/passkeys');
    expect(body.passkeys.map(({ name }: { name: string }) => name)).toEqual(['Laptop', 'Phone']);
    expect((await ann.call('GET', '/me/totp')).body.totp.recoveryCodesLeft).toBe(10);
    expect(await audits('passkeys.add')).toEqual([{ name: 'Laptop' }, { name: 'Phone' }]);
  });

  it.each<[string, Lies]>([
    ['another page', { origin: 'https://evil.example' }],
    ['a look-alike of the page', { origin: 'https://chat.example.evil.example' }],
    ["another organization's host", { origin: 'https://beta.chat.example' }],
    ['the page without https', { origin: 'http://chat.example' }],
    ['another party', { rpId: 'evil.example' }],
    ['an authenticator that did not verify its user', { verified: false }],
    ['a signature in place of a making', { type: 'webauthn.get' }],
  ])('refuses %s', async (_what, lies) => {
    const response = device().create(await begin(), lies);
    const reply = await ann.call('POST', '/me/passkeys', { name: 'Laptop', response });
    expect([reply.status, reply.body.details?.[0]?.path]).toEqual([400, 'response']);
    expect(await rowsOf(app, 'select id from member_passkeys')).toEqual([]);
  });

  it.each(['packed', 'fido-u2f', 'apple'])('leaves certificates unread: %s', async (fmt) => {
    const attestation = { fmt, alg: -7, sig: Buffer.alloc(70), x5c: [Buffer.alloc(9)] };
    const response = device().create(await begin(), { attestation });
    const before = library.verified;
    const reply = await ann.call('POST', '/me/passkeys', { name: 'Laptop', response });
    expect([reply.status, library.verified - before]).toEqual([400, 0]);
  });

  it("takes the organization's own host", async () => {
    const made = device().create(await begin(), { origin: 'https://acme.chat.example' });
    expect((await ann.call('POST', '/me/passkeys', { name: 'Laptop', response: made })).status).toBe(201);
  });

  it('takes each challenge once, right or wrong, for five minutes, in the session that asked', async () => {
    const asked = await begin();
    const wrong = device().create({ challenge: 'AAAA' });
    expect((await ann.call('POST', '/me/passkeys', { name: 'A', response: wrong })).status).toBe(400);
    const late = { name: 'A', response: device().create(asked) };
    expect((await ann.call('POST', '/me/passkeys', late)).status).toBe(409);

    const again = await begin();
    app.clock.step(5 * 60_000);
    const expired = { name: 'A', response: device().create(again) };
    expect((await ann.call('POST', '/me/passkeys', expired)).status).toBe(409);

    const other = await post('/session', {
      organization: 'acme',
      email: ann.email,
      password: memberPassword,
    });
    const elsewhere = { name: 'A', response: device().create(await begin()) };
    const bearer = { authorization: `Bearer ${other.body.token}` };
    const stolen = await request(app.url, 'POST', '/api/v1/staff/me/passkeys', bearer, elsewhere);
    expect(stolen.status).toBe(409);
    expect((await ann.call('POST', '/me/passkeys', elsewhere)).status).toBe(201);
  });

  it('knows each passkey once on the whole server, and at most twenty of a member', async () => {
    const shared = device();
    const bob = await createMember(app, 'acme');
    expect((await add(shared)).status).toBe(201);
    expect((await begin()).excludeCredentials).toHaveLength(1);
    expect((await add(shared)).status).toBe(409);
    expect((await add(shared, bob)).status).toBe(409);
    for (let count = 1; count < 20; count += 1) {
      app.clock.advance(10 * 60_000);
      expect((await add(device())).status).toBe(201);
    }
    app.clock.advance(10 * 60_000);
    const reply = await ann.call('POST', '/me/passkeys/options', { password: memberPassword });
    expect([reply.status, reply.body.message]).toEqual([409, expect.stringContaining('at most 20')]);
  });
});

describe('a sign-in', () => {
  it('takes the password and then a passkey, once', async () => {
    const laptop = device();
    await add(laptop);
    const asked = await half();
    expect(asked.methods).toEqual(['passkey', 'recovery']);
    expect(asked.passkey).toMatchObject({
      rpId: 'chat.example',
      userVerification: 'required',
      allowCredentials: [
        { type: 'public-key', id: laptop.id.toString('base64url'), transports: ['internal'] },
      ],
    });
    const assertion = laptop.show(asked.passkey);
    const done = await post('/session/second-factor', { ticket: asked.ticket, assertion });
    expect(done.status).toBe(201);
    expect(done.body.member.id).toBe(ann.id);
    const bearer = { authorization: `Bearer ${done.body.token}` };
    const { body } = await request(app.url, 'GET', '/api/v1/staff/sessions', bearer);
    expect(body.sessions[0]).toMatchObject({ current: true, secondFactor: true });
    const [kept] = (await ann.call('GET', '/me/passkeys')).body.passkeys;
    expect(kept.lastUsedAt).not.toBeNull();
    expect((await audits('session.create')).at(-1)).toEqual({
      secondFactor: 'passkey',
      passkey: kept.id,
      name: 'Laptop',
    });
    // Replayed, with its own ticket and with another.
    expect((await post('/session/second-factor', { ticket: asked.ticket, assertion })).body.error).toBe(
      'unauthorized',
    );
    const next = await half();
    const replayed = await post('/session/second-factor', { ticket: next.ticket, assertion });
    expect([replayed.status, replayed.body.error]).toEqual([401, 'second_factor']);
  });

  it('takes one of several sent at once', async () => {
    const laptop = device();
    await add(laptop);
    const { ticket, passkey } = await half();
    const assertion = laptop.show(passkey);
    const replies = await Promise.all(
      Array.from({ length: 4 }, () => post('/session/second-factor', { ticket, assertion })),
    );
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 401, 401, 401]);
  });

  it.each<[string, Lies]>([
    ['another page', { origin: 'https://evil.example' }],
    ["another organization's host", { origin: 'https://beta.chat.example' }],
    ['another party', { rpId: 'evil.example' }],
    ['an authenticator that did not verify its user', { verified: false }],
    ['a making in place of a signature', { type: 'webauthn.create' }],
    ["another member's handle", { userHandle: 'AAAA' }],
  ])('refuses %s', async (_what, lies) => {
    const laptop = device();
    await add(laptop);
    const reply = await show(laptop, lies);
    expect([reply.status, reply.body.error]).toEqual([401, 'second_factor']);
    expect((await show(laptop)).status).toBe(201);
  });

  it("refuses another member's passkey, and one that is not registered", async () => {
    const laptop = device();
    const bob = await createMember(app, 'acme');
    const phone = device();
    await add(laptop);
    await add(phone, bob);
    for (const wrong of [phone, device()]) expect((await show(wrong)).body.error).toBe('second_factor');
    // Its id with another key's signature.
    const forged = device();
    forged.id.set(laptop.id);
    expect((await show(forged)).status).toBe(401);
    expect((await show(phone, {}, bob)).status).toBe(201);
  });

  it('asks with another challenge in every try, and takes the present one only', async () => {
    const laptop = device();
    await add(laptop);
    const first = await half();
    const early = laptop.show(first.passkey);
    const wrong = await post('/session/second-factor', { ticket: first.ticket, code: '000000' });
    expect(wrong.body.passkey.challenge).not.toBe(first.passkey.challenge);
    const stale = await post('/session/second-factor', { ticket: first.ticket, assertion: early });
    expect(stale.body.error).toBe('second_factor');
    const last = laptop.show(stale.body.passkey);
    expect((await post('/session/second-factor', { ticket: first.ticket, assertion: last })).status).toBe(
      201,
    );
  });

  it('ends with its ticket: after five minutes, after five tries, at another address', async () => {
    const laptop = device();
    await add(laptop);
    const late = await half();
    app.clock.step(5 * 60_000);
    const expired = { ticket: late.ticket, assertion: laptop.show(late.passkey) };
    expect((await post('/session/second-factor', expired)).body.error).toBe('unauthorized');
    const bound = await half(ann, '192.0.2.7');
    const elsewhere = { ticket: bound.ticket, assertion: laptop.show(bound.passkey) };
    expect((await post('/session/second-factor', elsewhere, '198.51.100.9')).body.error).toBe('unauthorized');
    let asked = await half();
    const { ticket } = asked;
    const errors: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      const assertion = laptop.show(asked.passkey, { verified: false });
      const { body } = await post('/session/second-factor', { ticket, assertion });
      errors.push(body.error);
      if (body.error === 'second_factor') asked = body;
    }
    expect(errors).toEqual([...Array.from({ length: 4 }, () => 'second_factor'), 'unauthorized']);
  });

  it('counts tries with passkeys and with codes together', async () => {
    const laptop = device();
    // Two of the ten are for the password of the registration and its answer.
    await add(laptop);
    const statuses: number[] = [];
    for (let index = 0; index < 9; index += 1) {
      const { ticket, passkey } = await half(ann, `192.0.2.${index}`);
      const body =
        index % 2 === 0
          ? { ticket, code: '000000' }
          : { ticket, assertion: laptop.show(passkey, { verified: false }) };
      statuses.push((await post('/session/second-factor', body, `192.0.2.${index}`)).status);
    }
    expect(statuses).toEqual([...Array.from({ length: 8 }, () => 401), 429]);
  });

  it('refuses a count that does not grow, and says so in the audit log', async () => {
    const key = device(5);
    await add(key);
    expect((await show(key)).status).toBe(201);
    const clone = await show(key, { counter: 6 });
    expect([clone.status, clone.body.error]).toEqual([401, 'second_factor']);
    expect((await show(key, { counter: 0 })).status).toBe(401);
    const [{ id }] = (await ann.call('GET', '/me/passkeys')).body.passkeys;
    const refused = { secondFactor: true, passkey: id, name: 'Laptop', cloned: true };
    expect(await audits('session.refused')).toEqual([refused, refused]);
    // Only a right signature says anything about a clone.
    const { ticket, passkey } = await half();
    const assertion = key.show(passkey, { counter: 1 }) as { response: { signature: string } };
    assertion.response.signature = Buffer.from('no signature').toString('base64url');
    await post('/session/second-factor', { ticket, assertion });
    expect((await audits('session.refused')).at(-1)).toEqual({ secondFactor: true });
    expect((await show(key, { counter: 9 })).status).toBe(201);
  });

  it('takes a recovery code in its place, and either a code or an assertion, not both', async () => {
    const laptop = device();
    const { recoveryCodes } = (await add(laptop)).body;
    const { ticket, passkey } = await half();
    const both = { ticket, code: recoveryCodes[0], assertion: laptop.show(passkey) };
    for (const body of [both, { ticket }])
      expect((await post('/session/second-factor', body)).status).toBe(400);
    expect((await post('/session/second-factor', { ticket, code: recoveryCodes[0] })).status).toBe(201);
  });

  it.each([
    ['a new password', { password: 'another long password' }],
    ['disabling', { disabled: true }],
  ])('half-way ends with %s', async (_what, change) => {
    const bob = await createMember(app, 'acme');
    const laptop = device();
    await add(laptop, bob);
    const { ticket, passkey } = await half(bob);
    await app.local('members.update', { memberId: bob.id, ...change });
    const reply = await post('/session/second-factor', { ticket, assertion: laptop.show(passkey) });
    expect([reply.status, reply.body.error]).toEqual([401, 'unauthorized']);
  });

  it('half-way ends with the passkey', async () => {
    const laptop = device();
    await add(laptop);
    await add(device(), ann, 'Phone');
    const { ticket, passkey } = await half();
    const [{ id }] = (await ann.call('GET', '/me/passkeys')).body.passkeys;
    await ann.call('POST', `/me/passkeys/${id}/remove`, { password: memberPassword });
    const reply = await post('/session/second-factor', { ticket, assertion: laptop.show(passkey) });
    expect(reply.status).toBe(401);
  });
});

describe('their member', () => {
  it('renames and removes them, with the password, and no other member does', async () => {
    await add(device());
    const bob = await createMember(app, 'acme', 'admin');
    const [{ id }] = (await ann.call('GET', '/me/passkeys')).body.passkeys;
    const renamed = await ann.call('PATCH', `/me/passkeys/${id}`, { name: 'Work laptop' });
    expect(renamed.body.passkey).toMatchObject({ id, name: 'Work laptop' });
    expect((await bob.call('PATCH', `/me/passkeys/${id}`, { name: 'Mine' })).status).toBe(404);
    const remove = (who: TestMember, password: string): Promise<Reply> =>
      who.call('POST', `/me/passkeys/${id}/remove`, { password });
    expect((await remove(bob, memberPassword)).status).toBe(404);
    expect((await remove(ann, 'wrong')).status).toBe(400);
    expect((await remove(ann, memberPassword)).status).toBe(200);
    // The last one: the password is enough again, and no recovery code is left.
    expect((await ann.call('GET', '/me/totp')).body.totp.recoveryCodesLeft).toBe(0);
    const signedIn = await post('/session', {
      organization: 'acme',
      email: ann.email,
      password: memberPassword,
    });
    expect(signedIn.status).toBe(201);
    expect(await audits('passkeys.rename')).toEqual([{ name: 'Work laptop' }]);
    expect(await audits('passkeys.remove')).toEqual([{ name: 'Work laptop' }]);
  });

  it('has no token do any of it', async () => {
    const expiresAt = new Date(app.clock.now() + 60_000).toISOString();
    const made = await ann.call('POST', '/tokens', { name: 'ci', scopes: ['conversations:read'], expiresAt });
    const bearer = { authorization: `Bearer ${made.body.token.token}` };
    expect((await request(app.url, 'GET', '/api/v1/staff/me/passkeys', bearer)).status).toBe(403);
  });

  it('keeps the last second factor where the organization demands one, a passkey or an authenticator', async () => {
    const laptop = device();
    await add(laptop);
    const demand = { signIn: { secondFactor: 'all' } };
    const bearer = { authorization: `Bearer ${ann.token}` };
    expect((await request(app.url, 'PATCH', '/api/v1/admin/organization', bearer, demand)).status).toBe(200);
    const [{ id }] = (await ann.call('GET', '/me/passkeys')).body.passkeys;
    const remove = (): Promise<Reply> =>
      ann.call('POST', `/me/passkeys/${id}/remove`, { password: memberPassword });
    expect((await remove()).status).toBe(409);
    expect((await show(laptop)).status).toBe(201);
    // With an authenticator beside it, either may end, and then the other may not.
    const { totp } = (await ann.call('POST', '/me/totp', { password: memberPassword })).body;
    const code = (): string => totpCode(totp.secret as string, totpStep(app.clock.now()));
    expect((await ann.call('POST', '/me/totp/confirm', { code: code() })).status).toBe(200);
    expect((await half()).methods).toEqual(['passkey', 'totp', 'recovery']);
    app.clock.advance(10 * 60_000);
    expect((await remove()).status).toBe(200);
    expect((await ann.call('GET', '/me/totp')).body.totp.recoveryCodesLeft).toBe(10);
    expect((await ann.call('POST', '/me/totp/disable', { code: code() })).status).toBe(409);
    expect((await half()).methods).toEqual(['totp', 'recovery']);
    await add(device());
    app.clock.advance(10 * 60_000);
    expect((await ann.call('POST', '/me/totp/disable', { code: code() })).status).toBe(200);
    expect((await half()).methods).toEqual(['passkey', 'recovery']);
  });

  it('loses them to an admin who resets the second factor, and with their account', async () => {
    const bob = await createMember(app, 'acme');
    await add(device(), bob);
    await begin(bob);
    const reset = `/api/v1/admin/members/${bob.id}/second-factor`;
    const bearer = { authorization: `Bearer ${ann.token}` };
    expect((await request(app.url, 'DELETE', reset, bearer)).status).toBe(200);
    expect(await rowsOf(app, 'select * from member_passkeys')).toEqual([]);
    expect(await rowsOf(app, 'select * from passkey_registrations')).toEqual([]);
    expect(await rowsOf(app, 'select * from recovery_codes')).toEqual([]);
    const eve = await createMember(app, 'acme');
    await add(device(), eve);
    await app.local('members.remove', { memberId: eve.id });
    expect(await rowsOf(app, 'select * from member_passkeys')).toEqual([]);
  });

  it('takes them along to another server, and leaves recovery codes and challenges behind', async () => {
    const key = device(3);
    await add(key);
    await begin();
    const to = await startApp({ flags: { baseUrl: page } });
    const callOf = ({ service }: TestApp) => ({
      service,
      actor: { kind: 'local' } as const,
      address: null,
      contentLimit: sizeLimits.contentRest,
    });
    const lines: string[] = [];
    await exportOrganization(callOf(app), 'acme', async (line) => void lines.push(line));
    expect(lines.join('')).not.toContain('challenge');
    await importOrganization(callOf(to), async function* read() {
      yield* lines;
    });
    const credentials = { organization: 'acme', email: ann.email, password: memberPassword };
    const refused = await request(to.url, 'POST', '/api/v1/staff/session', {}, credentials);
    expect(refused.body.methods).toEqual(['passkey']);
    const body = { ticket: refused.body.ticket, assertion: key.show(refused.body.passkey) };
    const done = await request(to.url, 'POST', '/api/v1/staff/session/second-factor', {}, body);
    expect(done.status).toBe(201);
    await to.stop();
  });
});
