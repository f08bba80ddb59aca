// Owns: what of signing in, blocking and mails goes with an organization to another server: the second factor, the block of
// a visitor and whether their address wants mails do, with their secrets sealed anew; recovery codes, tokens, sessions and
// blocks of addresses do not.
import { hash, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { totpCode, totpStep } from '../../src/services/auth/totp.ts';
import { exportOrganization } from '../../src/services/data/export.ts';
import { importOrganization } from '../../src/services/data/import.ts';
import { markAddress, refusesMail } from '../../src/services/mail/mail-addresses.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request, type Reply } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  memberPassword,
} from '../helpers/fixtures.ts';

let from: TestApp;
let to: TestApp;

beforeEach(async () => {
  from = await startApp();
  to = await startApp();
});
afterEach(async () => {
  await from.stop();
  await to.stop();
});

const callOf = ({ service }: TestApp) => ({
  service,
  actor: { kind: 'local' } as const,
  address: null,
  contentLimit: sizeLimits.contentRest,
});

it('a member shows the same second factor there, and a blocked visitor stays blocked', async () => {
  const { application } = await createOrganization(from, 'acme');
  const ann = await createMember(from, 'acme', 'admin', 'Ann');
  const begun = await ann.call('POST', '/me/totp', { password: memberPassword });
  const { secret } = begun.body.totp as { secret: string };
  const code = (app: TestApp, steps = 0): string =>
    totpCode(secret, totpStep(app.service.engine.clock.now()) + steps);
  expect((await ann.call('POST', '/me/totp/confirm', { code: code(from) })).status).toBe(200);
  const visitor = createVisitor(from, application);
  await createConversation(visitor);
  await ann.call('PUT', `/visitors/${visitor.id}/block`, { address: true });

  const lines: string[] = [];
  await exportOrganization(callOf(from), 'acme', async (line) => void lines.push(line));
  // The sealed secret and the digest of the address are of no use elsewhere: the one travels opened, the other not.
  const digest = (await rowsOf(from, 'select digest from address_blocks'))[0]?.['digest'] as Uint8Array;
  expect(lines.join('')).toContain(secret);
  expect(lines.join('')).not.toContain(Buffer.from(digest).toString('hex'));
  await importOrganization(callOf(to), async function* read() {
    yield* lines;
  });

  expect(await rowsOf(to, 'select id from visitors where address_digest is not null')).toEqual([]);
  const post = (path: string, body: object): Promise<Reply> =>
    request(to.url, 'POST', `/api/v1/staff${path}`, {}, body);
  const signIn = { organization: 'acme', email: ann.email, password: memberPassword };
  const refused = await post('/session', signIn);
  expect(refused.body).toMatchObject({ error: 'second_factor', methods: ['totp'] });
  const { ticket } = refused.body as { ticket: string };
  // What was used up there is used up here.
  expect((await post('/session/second-factor', { ticket, code: code(to) })).status).toBe(401);
  expect((await post('/session/second-factor', { ticket, code: code(to, 1) })).status).toBe(201);
  expect((await createVisitor(to, application, visitor.id).call('GET', '/visitor')).body.error).toBe(
    'visitor_blocked',
  );
  expect((await createVisitor(to, application).call('GET', '/visitor')).status).toBe(200);
  for (const table of ['recovery_codes', 'sign_in_tickets', 'address_blocks'])
    expect(await rowsOf(to, `select * from ${table}`), table).toEqual([]);
});

it('who wants no mails gets none from there either, whatever the letter case, and others do', async () => {
  const { id, application } = await createOrganization(from, 'acme');
  const named = async (email: string): Promise<void> => {
    await createVisitorByKey(from, application).call('PUT', '/visitor', { email });
  };
  for (const email of ['Stopped@example.net', 'bounced@example.net', 'open@example.net']) await named(email);
  const { service } = from;
  const since = service.engine.clock.now();
  await service.engine.store.write({ organization: id }, async (tx) => {
    await markAddress(tx, service, id, 'stopped@example.net', 'stopped');
    await markAddress(tx, service, id, 'bounced@example.net', 'bounced');
    await markAddress(tx, service, id, 'gone@example.net', 'stopped');
  });
  const lines: string[] = [];
  await exportOrganization(callOf(from), 'acme', async (line) => void lines.push(line));
  to.clock.advance(86_400_000);
  await importOrganization(callOf(to), async function* read() {
    yield* lines;
  });
  const refused = (email: string): Promise<string | null> =>
    to.service.engine.store.read((tx) => refusesMail(tx, to.service, id, email));
  expect(await refused('stopped@example.net')).toMatch(/wants no mails/);
  expect(await refused('bounced@example.net')).toMatch(/came back/);
  expect(await refused('open@example.net')).toBeNull();
  const noted = await rowsOf(to, 'select state, created_at from mail_addresses order by state');
  expect(noted).toEqual([
    { state: 'bounced', created_at: since },
    { state: 'stopped', created_at: since },
  ]);
});

it('a second factor that could not have been made here is refused, and nothing is taken in', async () => {
  await createOrganization(from, 'acme');
  const ann = await createMember(from, 'acme', 'admin', 'Ann');
  await ann.call('POST', '/me/totp', { password: memberPassword });
  await rowsOf(
    from,
    `insert into member_passkeys (id, organization_id, member_id, name, credential_id, public_key, counter, transports, created_at)
     select ?, organization_id, id, 'key', 'Y3JlZGVudGlhbA', 'a2V5', 0, 'usb nfc', 0 from members where id = ?`,
    randomUUID(),
    ann.id,
  );
  const lines: string[] = [];
  await exportOrganization(callOf(from), 'acme', async (line) => void lines.push(line));
  /** Takes the file in, as a forger would have written it. */
  const taken = async (table: string, changed: object): Promise<unknown> => {
    const body = lines.slice(0, -1).map((line) => {
      const value = JSON.parse(line) as { table?: string; row: object };
      return value.table === table ? JSON.stringify({ table, row: { ...value.row, ...changed } }) : line;
    });
    const sha256 = hash('sha256', body.map((line) => `${line}\n`).join(''), 'hex');
    return importOrganization(callOf(to), async function* read() {
      yield* body;
      yield JSON.stringify({ end: true, rows: body.length - 1, sha256 });
    });
  };
  for (const [table, changed, why] of [
    ['member_totp', { sealed: 'no secret' }, 'column sealed: is no secret of an authenticator'],
    ['member_totp', { sealed: 'A'.repeat(31) }, 'column sealed'],
    ['member_passkeys', { transports: 'usb;nfc' }, 'column transports: names no way to an authenticator'],
    ['member_passkeys', { transports: 'a'.repeat(401) }, 'column transports'],
    ['member_passkeys', { counter: -1 }, 'column counter'],
    ['member_passkeys', { counter: 2 ** 32 }, 'column counter'],
    ['member_passkeys', { public_key: 'not base64url!' }, 'column public_key'],
    ['member_passkeys', { member_id: randomUUID() }, 'belongs to no row of members'],
  ] as const) {
    await expect(taken(table, changed), why).rejects.toThrow(`(${table}) ${why}`);
    expect(await rowsOf(to, 'select id from organizations')).toEqual([]);
  }
  await taken('member_passkeys', { counter: 2 ** 32 - 1 });
  expect(await rowsOf(to, 'select member_id, transports from member_passkeys')).toEqual([
    { member_id: ann.id, transports: 'usb nfc' },
  ]);
});
