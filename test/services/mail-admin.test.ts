// What admins see and set of mail: the log and sending once more, an own server, test mails, transcripts; and what they
// must not see or reach of another organization.
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { EffectRow } from '../../src/engine/rows.ts';
import type { VisitorActor } from '../../src/services/core/actor.ts';
import { markAddress } from '../../src/services/mail/mail-addresses.ts';
import { mailWords } from '../../src/services/mail/mail-words.ts';
import { mailRoute } from '../../src/services/mail/mail-server.ts';
import {
  countTranscript,
  createTranscriptComposer,
  requestTranscript,
} from '../../src/services/mail/transcript.ts';
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
import { setByPath } from '../helpers/settings.ts';

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

afterEach(() => vi.unstubAllEnvs());

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
    for (const [name, value] of Object.entries(app.environment)) vi.stubEnv(name, value);
    const args = app.database === null ? ['--data', app.folder] : [];
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

describe('a test mail', () => {
  it('speaks the language of who asks for it', async () => {
    const subjectOf = async (to: string): Promise<string | undefined> => {
      expect((await testMail(to)).status).toBe(201);
      return eventually(() => {
        const found = host.taken.find((mail) => mail.to.includes(to));
        if (found === undefined) throw new Error('not yet');
        return Promise.resolve(found.mail.subject);
      });
    };
    expect(await subjectOf('english@example.net')).toBe('Test mail from acme');
    expect((await ann.call('PATCH', '/me', { locale: 'de' })).status).toBe(200);
    expect(await subjectOf('german@example.net')).toBe('Testmail von acme');
    expect((await ann.call('PATCH', '/me', { locale: null })).status).toBe(200);
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
      // What is left out is said.
      const { ownLeftOut } = mailWords('en', '').words;
      for (const body of [mail.mail.text, mail.mail.html])
        expect(body?.includes(ownLeftOut)).toBe(visitor === claimed);
      const shown = await ann.call('GET', `/conversations/${id}/transcript`);
      expect(shown.body.transcript.text).toContain('Where is my parcel?');
      expect(shown.text).not.toContain('SECRET');
    }
  });

  it('says that it holds the newest 500 messages only, where there are more', async () => {
    const visitor = createVisitor(app, acme.application);
    const id = await createConversation(visitor, 'Long');
    await ann.call('POST', `/conversations/${id}/accept`);
    const shown = async (): Promise<string> =>
      (await ann.call('GET', `/conversations/${id}/transcript`)).body.transcript.text;
    const { olderLeftOut } = mailWords('en', '').words;
    const write = (count: number): Promise<unknown> =>
      Promise.all(Array.from({ length: count }, () => createMessage(ann, id, 'More.')));
    await createMessage(ann, id, 'The oldest.');
    for (let at = 0; at < 10; at += 1) await write(at === 9 ? 49 : 50);
    expect(await shown()).toContain('The oldest.');
    expect(await shown()).not.toContain(olderLeftOut(500));
    await write(1);
    expect(await shown()).not.toContain('The oldest.');
    expect(await shown()).toContain(olderLeftOut(500));
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

  const ask = (who: TestClient | TestMember, id: string): Promise<Reply> =>
    who.call('POST', `/conversations/${id}/transcript`);

  const rowOf = async (id: string): Promise<EffectRow> => {
    const [found] = await rowsOf(
      app,
      `select id from effects where conversation_id = '${id}' and about = 'transcript' order by id desc`,
    );
    const row = await app.service.engine.store.read(({ repositories }) =>
      repositories.effects.byId(String(found?.['id'])),
    );
    if (row === undefined) throw new Error('No transcript is planned.');
    return row;
  };

  /** What is made of a planned transcript if it is tried now. */
  async function compose(row: EffectRow): Promise<unknown> {
    const route = await app.service.engine.store.read((tx) => mailRoute(app.service, tx, acme.id));
    if (route === null) throw new Error('There is no mail server.');
    return createTranscriptComposer(app.service)(row, route);
  }

  const stopConversation = (id: string, ago = 0): Promise<unknown> =>
    app.service.engine.store.write({ organization: acme.id }, (tx) =>
      tx.repositories.conversations.stopMail(id, app.service.engine.clock.now() - ago),
    );

  async function nameAs(visitor: TestClient, email: string): Promise<TestClient> {
    expect((await visitor.call('PUT', '/visitor', { email })).status).toBe(200);
    return visitor;
  }

  it('counts with answers: a stranger whose address was typed gets 20 mails an hour, however it is asked', async () => {
    const victim = 'victim@example.net';
    const one = await nameAs(createVisitor(app, acme.application), victim);
    const two = await nameAs(createVisitor(app, acme.application), victim.toUpperCase());
    const statuses: number[] = [];
    let last: Reply | null = null;
    for (let at = 0; at < 12; at += 1) {
      const visitor = at % 2 === 0 ? one : two;
      const id = await talk(visitor);
      for (const who of [visitor, ann]) statuses.push((last = await ask(who, id)).status);
    }
    expect(statuses).toEqual([...Array<number>(20).fill(200), 429, 429, 429, 429]);
    expect(last?.body).toMatchObject({ error: 'rate_limit_exceeded', cause: 'per_visitor' });
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(3_000);
    // Members' answers go to it as little, and other addresses are not concerned.
    await setByPath(app, acme.application.id, { 'email.afterMinutes': 0 });
    const id = await talk(one);
    await eventually(async () =>
      expect(
        await rowsOf(app, `select error from effects where conversation_id = '${id}' and about = 'reply'`),
      ).toEqual([{ error: 'this address has had 20 mails in an hour' }]),
    );
    await setByPath(app, acme.application.id, { 'email.afterMinutes': 2 });
    const other = await nameAs(createVisitor(app, acme.application), 'other@example.net');
    expect((await ask(other, await talk(other))).status).toBe(200);
  });

  it('counts against the mails of the organization’s day', async () => {
    const small = await createOrganization(app, 'small', 'free');
    const bob = await createMember(app, 'small');
    const visitor = await nameAs(createVisitor(app, small.application), 'day@example.net');
    const id = await createConversation(visitor);
    await bob.call('POST', `/conversations/${id}/accept`);
    await createMessage(bob, id, 'Hello.');
    const { limiter } = app.service.engine;
    const day = { key: `mail:organization:${small.id}`, windows: [{ limit: 500, windowMs: 86_400_000 }] };
    for (let at = 0; at < 499; at += 1) expect((await limiter.take([day])).ok).toBe(true);
    expect((await ask(visitor, id)).status).toBe(200);
    expect((await ask(visitor, id)).body).toMatchObject({
      error: 'rate_limit_exceeded',
      cause: 'per_organization',
    });
  });

  it('does not go where nothing in it may go, and such requests use nothing up', async () => {
    const visitor = await nameAs(createVisitor(app, acme.application), 'silent@example.net');
    const id = await createConversation(visitor, 'Pills');
    await createMessage(visitor, id, 'BUY CHEAP PILLS');
    for (let at = 0; at < 6; at += 1) expect((await ask(visitor, id)).status).toBe(409);
    await ann.call('POST', `/conversations/${id}/accept`);
    await createMessage(ann, id, 'No, thank you.');
    expect((await ask(visitor, id)).status).toBe(200);
  });

  it('does not go of test data, nor where mail is off', async () => {
    const tester = await nameAs(createVisitorByKey(app, acme.application, 'test'), 'tester@example.net');
    const visitor = await nameAs(createVisitor(app, acme.application), 'off@example.net');
    const [tested, id] = [await talk(tester), await talk(visitor)];
    for (const who of [tester, ann]) expect((await ask(who, tested)).status).toBe(409);
    await setByPath(app, acme.application.id, { 'email.mode': 'off' });
    for (const who of [visitor, ann]) expect((await ask(who, id)).status).toBe(409);
    await setByPath(app, acme.application.id, { 'email.mode': 'replies' });
    expect((await ask(visitor, id)).status).toBe(200);
  });

  it('does not go where the reader has ended the mails, unless the owner of the address asks', async () => {
    const claimed = await nameAs(createVisitor(app, acme.application), 'stopped@example.net');
    const proven = await nameAs(createVisitorByKey(app, acme.application), 'owner@example.net');
    const [first, second] = [await talk(claimed), await talk(proven)];
    for (const id of [first, second]) await stopConversation(id, 1_000);
    for (const [who, id] of [
      [claimed, first],
      [ann, first],
      [ann, second],
    ] as const)
      expect((await ask(who, id)).status).toBe(409);
    expect((await ask(proven, second)).status).toBe(200);
    await eventually(async () => expect((await rowOf(second)).state).toBe('delivered'));
  });

  it('does not go where the reader ends the mails, or the visitor changes the address, before it leaves', async () => {
    for (const [number, end] of [
      (id: string) => stopConversation(id),
      () =>
        app.service.engine.store.write({ organization: acme.id }, (tx) =>
          markAddress(tx, app.service, acme.id, 'late1@example.net', 'stopped'),
        ),
      (_id: string, visitor: TestClient) => nameAs(visitor, 'changed@example.net'),
    ].entries()) {
      const visitor = await nameAs(createVisitor(app, acme.application), `late${number}@example.net`);
      const id = await talk(visitor);
      expect((await ask(visitor, id)).status).toBe(200);
      const row = await rowOf(id);
      expect(await compose(row)).toHaveProperty('mail');
      await end(id, visitor);
      expect(await compose(row)).toMatchObject({ state: 'skipped' });
    }
  });

  it('goes to no address but the one that it was counted against', async () => {
    const visitor = await nameAs(createVisitor(app, acme.application), 'before@example.net');
    const id = await talk(visitor);
    const actor: VisitorActor = {
      kind: 'visitor',
      organizationId: acme.id,
      applicationId: acme.application.id,
      visitorId: visitor.id,
      mode: 'live',
      via: 'origin',
      origin: acme.application.origin,
    };
    const call = { service: app.service, actor, address: null, contentLimit: 1 };
    const counted = await countTranscript(call, { conversationId: id });
    await nameAs(visitor, 'after@example.net');
    await expect(
      app.service.engine.store.write({ organization: acme.id }, (tx) =>
        requestTranscript(tx, call, { conversationId: id }, counted),
      ),
    ).rejects.toMatchObject({ code: 'conflict' });
  });
});
