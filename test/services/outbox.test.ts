// Attacks the outbox: keys that come twice, servers that refuse for now or for good, a stop in the middle, many
// organizations at once; nothing may be lost, doubled under two Message-IDs, or kept from others.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EffectRow } from '../../src/engine/rows.ts';
import { queueMail, type ReadyMail } from '../../src/services/mail/mail-effects.ts';
import { effectRetryDelay } from '../../src/services/outbox/outbox.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { createMember, createOrganization, type TestOrganization } from '../helpers/fixtures.ts';
import { MailHost } from '../helpers/mail-host.ts';

let host: MailHost;
let app: TestApp;
let acme: TestOrganization;

beforeEach(async () => {
  host = await new MailHost().start();
  app = await startApp({
    flags: { mailAddress: 'reply@chat.example.com' },
    environment: { DESKBELL_SMTP_URL: host.url() },
  });
  acme = await createOrganization(app, 'acme');
});

afterEach(async () => {
  await app.stop();
  await host.stop();
});

const effects = async (): Promise<EffectRow[]> =>
  (await rowsOf(app, 'select * from effects order by created_at, id')) as unknown as EffectRow[];

const plan = (mail: Partial<ReadyMail> & { key: string }, organizationId = acme.id): Promise<boolean> =>
  app.service.engine.store.write({ organization: organizationId }, (tx) =>
    queueMail(tx, app.service, {
      organizationId,
      about: 'test',
      to: 'rosa@example.net',
      subject: 'A word',
      text: 'The secret word is swordfish.',
      ...mail,
    }),
  );

async function settles(fits: (rows: EffectRow[]) => boolean): Promise<EffectRow[]> {
  return eventually(async () => {
    const rows = await effects();
    if (!fits(rows))
      throw new Error(JSON.stringify(rows.map(({ state, attempts, error }) => ({ state, attempts, error }))));
    return rows;
  });
}

describe('a mail of the outbox', () => {
  it('is sent once for its key, its words sealed until then and gone afterwards', async () => {
    await app.stop();
    const held = Promise.withResolvers<void>();
    host.hold = () => held.promise;
    app = await startApp({
      flags: { mailAddress: 'reply@chat.example.com' },
      environment: { DESKBELL_SMTP_URL: host.url() },
    });
    acme = await createOrganization(app, 'acme');
    expect(await plan({ key: 'one' })).toBe(true);
    expect(await plan({ key: 'one', subject: 'again' })).toBe(false);
    const [waiting] = await effects();
    expect(waiting?.state).toBe('waiting');
    expect(JSON.stringify(waiting)).not.toContain('swordfish');
    expect(Buffer.from(waiting?.sealed ?? []).includes('swordfish')).toBe(false);
    held.resolve();
    const [row] = await settles(([one]) => one?.state === 'delivered');
    expect(row).toMatchObject({ attempts: 1, sealed: null, error: null, due_at: null });
    expect(host.taken).toHaveLength(1);
    const [taken] = host.taken;
    expect(taken).toMatchObject({ from: 'reply@chat.example.com', to: ['rosa@example.net'] });
    expect(taken?.mail).toMatchObject({
      subject: 'A word',
      from: { name: 'acme', address: 'reply@chat.example.com' },
      messageId: `<${row?.id}@chat.example.com>`,
    });
    expect(taken?.mail.headers).toContainEqual(
      expect.objectContaining({ key: 'auto-submitted', value: 'auto-generated' }),
    );
  });

  it('is tried again later each time, under the same Message-ID, and given up at last', async () => {
    host.refuse = () => ({ at: 'data', code: 451, text: '4.3.0 busy' });
    await plan({ key: 'patient' });
    await settles(([one]) => one?.attempts === 1);
    expect((await effects())[0]?.error).toBe('the mail server answered 451 4.3.0 busy');
    host.refuse = () => null;
    app.clock.advance(effectRetryDelay(1, 1));
    await settles(([one]) => one?.state === 'delivered' && one.attempts === 2);
    expect(new Set(host.taken.map(({ mail }) => mail.messageId)).size).toBe(1);

    host.refuse = () => ({ at: 'data', code: 451, text: 'busy' });
    await plan({ key: 'given-up', retryForMs: 1 });
    await settles((rows) => rows[1]?.attempts === 1);
    app.clock.advance(effectRetryDelay(1, 1));
    await settles((rows) => rows[1]?.state === 'failed' && rows[1].attempts === 2);
  });

  it('is not tried again where the address is refused for good', async () => {
    host.refuse = () => ({ at: 'rcpt', code: 550, text: '5.1.1 unknown' });
    await plan({ key: 'unknown' });
    const [row] = await settles(([one]) => one?.state === 'failed');
    expect(row).toMatchObject({ attempts: 1, error: 'the mail server answered 550 5.1.1 unknown' });
  });

  it('waits until it is due', async () => {
    const at = app.clock.now() + 120_000;
    await plan({ key: 'later', dueAt: at });
    await plan({ key: 'now' });
    await settles((rows) => rows[1]?.state === 'delivered');
    app.clock.advance(119_000);
    await plan({ key: 'then' });
    await settles((rows) => rows[2]?.state === 'delivered');
    expect((await effects())[0]).toMatchObject({ state: 'waiting', attempts: 0 });
    app.clock.advance(1_000);
    await settles(([one]) => one?.state === 'delivered');
  });

  it('goes on after a restart, and with it goes what it concerns', async () => {
    host.refuse = () => ({ at: 'data', code: 451, text: 'busy' });
    const member = await createMember(app, 'acme', 'operator');
    await plan({ key: 'of-member', memberId: member.id });
    await plan({ key: 'of-acme' });
    await settles((rows) => rows.length === 2 && rows.every(({ attempts }) => attempts === 1));
    app = await app.restart();
    await app.local('members.remove', { memberId: member.id });
    host.refuse = () => null;
    app.clock.advance(effectRetryDelay(1, 1));
    await settles((rows) => rows.length === 1 && rows[0]?.state === 'delivered');
    await app.local('organizations.delete', { organization: 'acme' });
    expect(await effects()).toEqual([]);
  });

  it('of one organization is not kept back by those of another', async () => {
    const globex = await createOrganization(app, 'globex');
    const held = Promise.withResolvers<void>();
    host.forward = ({ to }) => (to[0] === 'stuck@example.net' ? held.promise : Promise.resolve());
    for (let at = 0; at < 10; at += 1) await plan({ key: `stuck-${at}`, to: 'stuck@example.net' });
    await plan({ key: 'free' }, globex.id);
    await settles((rows) => rows.some(({ key, state }) => key === 'free' && state === 'delivered'));
    held.resolve();
    await settles((rows) => rows.every(({ state }) => state === 'delivered'));
    expect(host.taken).toHaveLength(11);
  });

  it('breaks no header, whatever name and subject it has', async () => {
    await plan({
      key: 'injection',
      subject: 'Hello\r\nBcc: victim@example.org\r\n\r\nbody\u202e',
      fromName: 'Ann"\r\nBcc: victim@example.org <evil@example.org>',
    });
    await settles(([one]) => one?.state === 'delivered');
    const [taken] = host.taken;
    expect(taken?.to).toEqual(['rosa@example.net']);
    expect(taken?.mail.bcc).toBeUndefined();
    expect(taken?.mail.from?.address).toBe('reply@chat.example.com');
    expect(taken?.mail.subject).toBe('Hello Bcc: victim@example.org body');
  });
});

it('without a mail server says what is missing', async () => {
  await app.stop();
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  await plan({ key: 'nowhere' });
  const [row] = await settles(([one]) => one?.state === 'failed');
  expect(row?.error).toContain('DESKBELL_SMTP_URL');
});
