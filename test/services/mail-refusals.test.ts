// What the ways of mails say no to, and what they say: a mail that is handed in as something else, empty, broken or too
// large; too many of one sender; test mails without end; an address that wants none; a server that may not be reached.
import { once } from 'node:events';
import { request as requestHttp, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request, type Reply } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitorByKey,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { MailHost } from '../helpers/mail-host.ts';
import { plainMail } from '../helpers/send-mail.ts';
import { setByPath } from '../helpers/settings.ts';

let host: MailHost;
let app: TestApp;
let acme: TestOrganization;
let ann: TestMember;
let key: string;

beforeAll(async () => {
  host = await new MailHost().start();
  app = await startApp({
    flags: {
      mailAddress: 'reply@chat.example.com',
      baseUrl: 'https://chat.example.com',
      webhookPrivate: 'allow',
    },
    environment: { DESKBELL_SMTP_URL: host.url() },
  });
  acme = await createOrganization(app, 'acme');
  ann = await createMember(app, 'acme', 'admin');
  ({ key } = await app.local('email.createKey', { applicationId: acme.application.id }));
});

afterAll(async () => {
  await app.stop();
  await host.stop();
});

const admin = (method: string, path: string, body?: unknown): Promise<Reply> =>
  request(app.url, method, `/api/v1/admin${path}`, ann.headers, body);

describe('a mail that is handed in', () => {
  const handIn = (raw: string, type = 'message/rfc822'): Promise<Reply> =>
    request(app.url, 'POST', `/api/v1/inbound/email/${key}`, { 'content-type': type }, raw);
  const waiting = async (): Promise<number> =>
    (await ann.call('GET', '/conversations?status=pending')).body.total;
  const mail = plainMail({ from: 'eve@example.net', to: 'reply@chat.example.com', text: 'Hello' });

  it('is taken as message/rfc822 alone, whatever is said behind it', async () => {
    for (const type of ['application/json', 'text/plain', 'message/rfc822x', 'multipart/form-data']) {
      const { status, body } = await handIn(mail, type);
      expect([type, status, body.error]).toEqual([type, 415, 'unsupported_media_type']);
      expect(body.message).toContain('message/rfc822');
    }
    expect((await handIn(mail, 'Message/RFC822 ; charset=utf-8')).status).toBe(200);
  });

  it('is refused where it is empty, can’t be read, or is larger than a mail may be', async () => {
    const empty = await handIn('');
    expect([empty.status, empty.body.message]).toEqual([400, 'The mail is empty.']);
    const wide = await handIn(`X-Long: ${'a'.repeat(600 * 1_024)}\r\n\r\nHello`);
    expect([wide.status, wide.body.error]).toEqual([400, 'bad_request']);
    expect(wide.body.message).toMatch(/^The mail can't be read: .+\.$/);
    const most = 25 * 1_048_576;
    const large = await handIn(`Subject: large\r\n\r\n${'a'.repeat(most)}`);
    expect([large.status, large.body.error]).toEqual([413, 'payload_too_large']);
    expect(large.body.message).toBe('A mail has at most 25 MiB.');
    // One that says so of itself is not waited for.
    const asked = requestHttp(new URL(`/api/v1/inbound/email/${key}`, app.url), {
      method: 'POST',
      headers: { 'content-type': 'message/rfc822', 'content-length': most + 1 },
    });
    const answered = once(asked, 'response');
    asked.flushHeaders();
    const [response] = (await answered) as [IncomingMessage];
    expect(response.statusCode).toBe(413);
    asked.once('error', () => undefined).destroy();
  });

  it('opens ten conversations of an address that wait; the next comes again when one is taken', async () => {
    await setByPath(app, acme.application.id, { 'email.mode': 'inbox' });
    const open = (nth: number): Promise<Reply> =>
      handIn(
        plainMail({
          from: 'Rosa <rosa@example.net>',
          to: 'reply@chat.example.com',
          text: `Question ${nth}`,
          messageId: `<${nth}@example.net>`,
        }),
      );
    const before = await waiting();
    for (let nth = 1; nth <= 10; nth += 1) {
      expect((await open(nth)).body).toEqual({ state: 'taken' });
      app.clock.advance(60_000);
    }
    expect(await waiting()).toBe(before + 10);
    const refused = await open(11);
    expect(refused.status).toBe(429);
    expect(refused.body).toMatchObject({ error: 'rate_limit_exceeded', cause: 'per_visitor' });
    expect(refused.body.message).toContain('10 conversations of this sender wait already');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await waiting()).toBe(before + 10);
    // What came before is known, and is no conversation more.
    expect((await open(3)).body).toEqual({ state: 'taken' });
    const { conversations } = (await ann.call('GET', '/conversations?status=pending')).body;
    await ann.call('POST', `/conversations/${conversations[0].id}/accept`);
    app.clock.advance(60_000);
    expect((await open(11)).body).toEqual({ state: 'taken' });
  });
});

it('test mails go ten times an hour, for an organization', async () => {
  const statuses: number[] = [];
  for (let at = 0; at < 10; at += 1)
    statuses.push((await admin('POST', '/email/test', { to: 'ops@example.net' })).status);
  expect(statuses).toEqual(Array(10).fill(201));
  const refused = await admin('POST', '/email/test', { to: 'ops@example.net' });
  expect(refused.status).toBe(429);
  expect(refused.body).toMatchObject({ error: 'rate_limit_exceeded', cause: 'per_organization' });
  app.clock.advance(3_600_000);
  expect((await admin('POST', '/email/test', { to: 'ops@example.net' })).status).toBe(201);
});

it('a transcript does not go to an address whose owner wants no mails', async () => {
  await setByPath(app, acme.application.id, { 'email.afterMinutes': 0 });
  const visitor = createVisitorByKey(app, acme.application);
  const email = 'quiet@example.net';
  await visitor.call('PUT', '/visitor', { email });
  const id = await createConversation(visitor, 'Parcel');
  await createMessage(visitor, id, 'Where is it?');
  await ann.call('POST', `/conversations/${id}/accept`);
  await createMessage(ann, id, 'On its way.');
  const mail = await eventually(() => {
    const found = host.taken.find(({ to }) => to.includes(email));
    if (found === undefined) throw new Error('not yet');
    return Promise.resolve(found);
  });
  const link = /<https:\/\/chat\.example\.com(\/[^>]+)>/.exec(
    mail.raw.toString().replaceAll('\r\n ', ''),
  )?.[1];
  // People find the same link at the foot of the mail, however it is shown.
  for (const body of [mail.mail.text, mail.mail.html])
    expect(body).toContain(`https://chat.example.com${String(link)}`);
  const stopped = await fetch(app.url + String(link), {
    method: 'POST',
    body: new URLSearchParams({ scope: 'address' }),
  });
  expect(stopped.status).toBe(200);
  const asked = await visitor.call('POST', `/conversations/${id}/transcript`);
  expect([asked.status, asked.body.error]).toEqual([409, 'conflict']);
  // Nor to the same address under another name.
  const other = createVisitorByKey(app, acme.application);
  await other.call('PUT', '/visitor', { email: email.toUpperCase() });
  const second = await createConversation(other, 'Another parcel');
  await ann.call('POST', `/conversations/${second}/accept`);
  await createMessage(ann, second, 'On its way, too.');
  const again = await ann.call('POST', `/conversations/${second}/transcript`);
  expect([again.status, again.body.message]).toEqual([409, 'This address takes no mails.']);
});

it('a server of an organization that may not be reached any more gets no mail, also where one is named by its address', async () => {
  const own = await new MailHost().start();
  try {
    for (const url of [own.url(), own.url().replace('127.0.0.1', '[::ffff:127.0.0.1]')]) {
      const set = await admin('PATCH', '/email', { server: { url, address: 'desk@acme.example' } });
      expect([url, set.status]).toEqual([url, 200]);
    }
    app = await app.restart({ webhookPrivate: 'refuse' });
    app.clock.advance(3_600_000);
    const made = await admin('POST', '/email/test', { to: 'ops@example.net' });
    expect(made.status).toBe(201);
    await eventually(async () => {
      const [row] = (await admin('GET', '/email/deliveries?limit=1')).body.deliveries;
      expect(row.id).toBe(made.body.delivery.id);
      expect(row.error).toMatch(/private/);
    });
    expect(own.taken).toEqual([]);
  } finally {
    await own.stop();
  }
});
