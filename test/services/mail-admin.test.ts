// What admins see and set of mail: the log and sending once more, an own server, test mails, transcripts; and what they
// must not see or reach of another organization.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inProcess } from '../helpers/cli.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { MailHost } from '../helpers/mail-host.ts';
import { request, type Reply } from '../helpers/client.ts';

let host: MailHost;
let own: MailHost;
let app: TestApp;
let acme: TestOrganization;
let ann: TestMember;
let stranger: TestMember;

beforeAll(async () => {
  host = await new MailHost().start();
  own = await new MailHost({ user: 'acme', password: 'pass word' }).start();
  // The command line has the machine's clock, and what it plans is due by it.
  app = await startApp({
    realTime: true,
    flags: { mailAddress: 'reply@chat.example.com', webhookPrivate: 'allow' },
    environment: { DESKBELL_SMTP_URL: host.url() },
  });
  acme = await createOrganization(app, 'acme');
  await createOrganization(app, 'globex');
  ann = await createMember(app, 'acme', 'admin');
  stranger = await createMember(app, 'globex', 'admin');
});

afterAll(async () => {
  await app.stop();
  await host.stop();
  await own.stop();
});

const admin = (member: TestMember, method: string, path: string, body?: unknown): Promise<Reply> =>
  request(app.url, method, `/api/v1/admin${path}`, member.headers, body);

const testMail = (to: string): Promise<Reply> => admin(ann, 'POST', '/email/test', { to });

describe('the log of the outbox', () => {
  it('shows what became of a mail, sends it once more, and shows nothing of it to others', async () => {
    host.refuse = () => ({ at: 'rcpt', code: 550, text: '5.7.1 not you' });
    const made = await testMail('ops@example.net');
    expect(made.status).toBe(201);
    expect(made.body.delivery).toMatchObject({ kind: 'mail', about: 'test', recipient: 'ops@example.net' });
    const { id } = made.body.delivery;
    const logged = async (): Promise<{ readonly error: string | null }> =>
      (await admin(ann, 'GET', '/email/deliveries?limit=1')).body.deliveries[0];
    await eventually(async () =>
      expect(await logged()).toMatchObject({
        id,
        status: 'failed',
        attempts: 1,
        error: expect.stringContaining('550'),
      }),
    );
    host.refuse = () => null;
    expect((await admin(stranger, 'POST', `/outbox/${id}/replay`)).status).toBe(404);
    expect((await admin(stranger, 'GET', '/outbox')).body).toMatchObject({ effects: [], total: 0 });
    expect((await admin(ann, 'POST', `/outbox/${id}/replay`)).status).toBe(200);
    await eventually(async () =>
      expect(await logged()).toMatchObject({ id, status: 'delivered', attempts: 2 }),
    );
    expect(host.taken.at(-1)?.to).toEqual(['ops@example.net']);
    // Its words were removed with its delivery: there is nothing to send once more.
    await admin(ann, 'POST', `/outbox/${id}/replay`);
    await eventually(async () => expect((await logged()).error).toContain('carries its words no more'));
    expect((await admin(ann, 'GET', '/outbox?kind=push')).body.effects).toEqual([]);
  });

  it('is there on the command line, too', async () => {
    const args = ['--data', app.folder];
    const listed = await inProcess([...args, 'mail', 'log', '--org', 'acme', '--json']);
    expect(JSON.parse(listed.stdout).items[0]).toMatchObject({ about: 'test' });
    const sent = await inProcess([...args, 'mail', 'test', 'cli@example.net', '--org', 'acme']);
    expect(sent.code).toBe(0);
    await eventually(() => expect(host.taken.some(({ to }) => to.includes('cli@example.net'))).toBe(true));
    const status = await inProcess([...args, 'mail', 'status', '--org', 'acme']);
    expect(status.code).toBe(0);
    const key = await inProcess([...args, 'mail', 'key', acme.application.id, '--json']);
    expect(JSON.parse(key.stdout).key).toMatch(/^dbm_[\w-]{43}$/);
    expect(
      (await inProcess([...args, 'outbox', 'list', '--org', 'acme', '--kind', 'mail'])).stdout,
    ).toContain('cli@example.net');
    const none = await inProcess([...args, 'mail', 'log', '--org', 'acme', '--status', 'waiting', '--json']);
    expect(JSON.parse(none.stdout)).toEqual({ items: [] });
    for (const wrong of [
      ['list', '--org', 'acme', '--kind', 'fax'],
      ['replay', 'nope'],
    ]) {
      const { code, stderr } = await inProcess([...args, 'outbox', ...wrong]);
      expect(code).toBe(2);
      expect(stderr).toMatch(/Allowed choices are mail, push, escalation|^The id must be a UUID/);
    }
    expect((await admin(ann, 'GET', '/outbox?kind=fax')).status).toBe(400);
  });
});

describe('an own mail server', () => {
  it('sends under its own address, and its password is in no answer and in no row', async () => {
    const server = { url: own.url('acme', 'pass word'), address: 'help@acme.example' };
    const set = await admin(ann, 'PATCH', '/email', { server });
    expect(set.body).toMatchObject({ server: 'organization', address: 'help@acme.example' });
    await testMail('first@example.net');
    await own.has(1);
    expect(own.taken[0]?.mail.from?.address).toBe('help@acme.example');
    const all = JSON.stringify(await rowsOf(app, 'select host, address from mail_settings'));
    for (const text of [set.text, (await admin(ann, 'GET', '/email')).text, all, app.logged.join('')])
      expect(text).not.toMatch(/pass( |%20)word/);
    const wrong = { ...server, url: own.url('acme', 'guess') };
    await admin(ann, 'PATCH', '/email', { server: wrong });
    await testMail('second@example.net');
    await eventually(async () =>
      expect((await admin(ann, 'GET', '/email/deliveries?limit=1')).body.deliveries[0].error).toBe(
        'the mail server refused the user name or the password',
      ),
    );
    expect((await admin(ann, 'PATCH', '/email', { server: null })).body.server).toBe('server');
    expect(
      (await admin(ann, 'PATCH', '/email', { server: { url: 'https://x.example', address: 'a@b.example' } }))
        .status,
    ).toBe(400);
  });

  it('is not at a private address unless the owner allows it', async () => {
    const strict = await startApp();
    try {
      await createOrganization(strict, 'acme');
      const set = strict.local('email.update', {
        organization: 'acme',
        server: { url: 'smtp://127.0.0.1:25', address: 'a@b.example' },
      });
      await expect(set).rejects.toThrow('private or local');
    } finally {
      await strict.stop();
    }
  });
});

describe('a transcript', () => {
  async function talk(visitor: TestClient): Promise<string> {
    const id = await createConversation(visitor, 'Parcel');
    await createMessage(visitor, id, 'Where is my parcel?');
    await ann.call('POST', `/conversations/${id}/accept`);
    await createMessage(ann, id, 'On its way.');
    await ann.call('POST', `/conversations/${id}/messages`, { content: 'SECRET NOTE', internal: true });
    return id;
  }

  it('is without notes, and with the visitor’s words only where the address was proven', async () => {
    const proven = createVisitorByKey(app, acme.application);
    await proven.call('PUT', '/visitor', { email: 'proven@example.net' });
    const claimed = createVisitor(app, acme.application);
    await claimed.call('PUT', '/visitor', { email: 'claimed@example.net' });
    for (const [visitor, address] of [
      [proven, 'proven@example.net'],
      [claimed, 'claimed@example.net'],
    ] as const) {
      const id = await talk(visitor);
      expect((await visitor.call('POST', `/conversations/${id}/transcript`)).status).toBe(200);
      const mail = await eventually(() => {
        const found = host.taken.find(({ to }) => to.includes(address));
        if (found === undefined) throw new Error('not yet');
        return Promise.resolve(found);
      });
      expect(mail.mail.text).toContain('On its way.');
      expect(mail.raw.toString()).not.toContain('SECRET');
      expect(mail.mail.text?.includes('Where is my parcel?')).toBe(visitor === proven);
      const shown = await ann.call('GET', `/conversations/${id}/transcript`);
      expect(shown.body.transcript.text).toContain('Where is my parcel?');
      expect(shown.text).not.toContain('SECRET');
    }
  });

  it('goes five times an hour, and to no one else’s conversation', async () => {
    const visitor = createVisitor(app, acme.application);
    await visitor.call('PUT', '/visitor', { email: 'often@example.net' });
    const id = await talk(visitor);
    const statuses: number[] = [];
    for (let at = 0; at < 6; at += 1)
      statuses.push((await visitor.call('POST', `/conversations/${id}/transcript`)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    const other = createVisitor(app, acme.application);
    expect((await other.call('POST', `/conversations/${id}/transcript`)).status).toBe(404);
    expect((await stranger.call('GET', `/conversations/${id}/transcript`)).status).toBe(404);
  });
});
