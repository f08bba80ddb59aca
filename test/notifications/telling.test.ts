// What members are told by push, mail and bell while things happen on a real server: what it says, to whom, when not, and
// what becomes of browsers and mail servers that fail.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { noticeFor } from '../../src/services/notifications/notice.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request, type TestSocket } from '../helpers/client.ts';
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
import { isSignedPush, PushBrowser, PushService } from '../helpers/push-browser.ts';

let service: PushService;
let host: MailHost;
let app: TestApp;
let acme: TestOrganization;
let visitor: TestClient;
/** An admin, an operator, and one who is told of everything that is new: by them one knows how far the server is. */
let ann: TestMember;
let bob: TestMember;
let marker: TestMember;
let annsBrowser: PushBrowser;
let bobsBrowser: PushBrowser;
let markersBrowser: PushBrowser;

beforeEach(async () => {
  service = await new PushService().start();
  host = await new MailHost().start();
  app = await startApp({
    flags: {
      pushHosts: service.origin,
      mailAddress: 'reply@chat.example.com',
      baseUrl: 'https://chat.example.com',
    },
    environment: { DESKBELL_SMTP_URL: host.url() },
  });
  acme = await createOrganization(app, 'acme');
  visitor = createVisitor(app, acme.application);
  ann = await createMember(app, 'acme', 'admin', 'Ann');
  bob = await createMember(app, 'acme', 'operator', 'Bob Stone');
  marker = await createMember(app, 'acme', 'operator', 'Marker');
  annsBrowser = await aBrowser(ann);
  bobsBrowser = await aBrowser(bob);
  markersBrowser = await aBrowser(marker);
  for (const member of [ann, bob]) await choose(member, { events: { new: { push: false } } });
});

afterEach(async () => {
  await app.stop();
  await service.stop();
  await host.stop();
});

async function aBrowser(member: TestMember, locale?: string): Promise<PushBrowser> {
  const browser = new PushBrowser(service);
  const body = { ...browser.subscription, label: 'A browser', ...(locale === undefined ? {} : { locale }) };
  const reply = await member.call('POST', '/push', body);
  expect(reply.status, reply.text).toBe(201);
  return browser;
}

const choose = (member: TestMember, change: object) => member.call('PUT', '/notifications', change);
const admin = (path: string, body: object) =>
  request(app.url, 'PATCH', `/api/v1/admin${path}`, ann.headers, body);
const effects = () =>
  rowsOf(
    app,
    'select kind, key, about, state, error, member_id, recipient from effects order by created_at, id',
  );

/** Waits until the server has told everything that happened before. */
async function told(): Promise<void> {
  const before = markersBrowser.received.length;
  await createConversation(createVisitor(app, acme.application), 'mark');
  await eventually(() => expect(markersBrowser.received.length).toBeGreaterThan(before));
  await eventually(async () =>
    expect(
      await rowsOf(app, `select key from effects where state = 'waiting' and due_at <= ${app.clock.now()}`),
    ).toEqual([]),
  );
}

/** Lets time pass by while a connection goes on answering. */
async function pass(ms: number, socket: TestSocket): Promise<void> {
  for (let left = ms; left > 0; left -= 25_000) {
    app.clock.advance(Math.min(left, 25_000));
    await socket.drain();
  }
}

async function anActive(assignee = ann): Promise<string> {
  const id = await createConversation(visitor, 'My order');
  await assignee.call('POST', `/conversations/${id}/accept`);
  return id;
}

describe('a push', () => {
  it('is encrypted and signed for its browser, lives an hour, and replaces one of the same conversation', async () => {
    const { publicKey } = (await ann.call('GET', '/push')).body;
    const id = await anActive();
    await createMessage(visitor, id, 'Where is it?');
    const [push] = await eventually(() => {
      expect(annsBrowser.received).toHaveLength(1);
      return annsBrowser.received;
    });
    expect(isSignedPush(push!, publicKey, service.origin)).toBe(true);
    expect(push!.headers).toMatchObject({
      ttl: '3600',
      urgency: 'high',
      topic: id.replaceAll('-', ''),
      'content-encoding': 'aes128gcm',
    });
    expect(String(push!.headers['topic'])).toMatch(/^[A-Za-z0-9_-]{32}$/);
    expect(annsBrowser.told).toEqual([
      { title: 'Visitor', body: 'New message', conversationId: id, organization: 'acme' },
    ]);
    await told();
    const [device] = (await ann.call('GET', '/push')).body.devices;
    expect(device).toMatchObject({ lastSentAt: '2026-11-21T12:00:00.000Z', problem: null });
    expect(bobsBrowser.received).toEqual([]);
    expect(JSON.stringify(await effects())).not.toContain('Where is it');
  });

  it('shows as much of a message as its member wants, in the language of the browser', async () => {
    const german = await aBrowser(ann, 'de-AT');
    await createVisitorByKey(app, acme.application, 'live', visitor.id).call('PUT', '/visitor', {
      name: 'Rosa',
    });
    const id = await anActive();
    const shown: [string, string][] = [];
    for (const preview of ['none', 'name', 'text']) {
      await choose(ann, { preview });
      await createMessage(visitor, id, `Canary for ${preview}`);
      await told();
      const { title, body } = german.told.at(-1)!;
      shown.push([title, body]);
    }
    expect(shown).toEqual([
      ['Neue Nachricht', ''],
      ['Rosa', 'Neue Nachricht'],
      ['Rosa', 'Canary for text'],
    ]);
  });

  it('tells all of what waits, one of what they were given, one whom a note names', async () => {
    for (const member of [ann, bob])
      await choose(member, { preview: 'text', events: { new: { push: true } } });
    const id = await createConversation(visitor, 'My order');
    await told();
    // Those of two conversations come in any order.
    const first = (browser: PushBrowser) => browser.told.find(({ conversationId }) => conversationId === id);
    expect([first(annsBrowser), first(bobsBrowser)]).toMatchObject([
      { title: 'A visitor is waiting', body: 'Visitor: My order' },
      { title: 'A visitor is waiting', body: 'Visitor: My order' },
    ]);
    for (const member of [ann, bob]) await choose(member, { events: { new: { push: false } } });
    await ann.call('POST', `/conversations/${id}/accept`);
    const note = { content: '@bob stone, the invoice is wrong', internal: true };
    await ann.call('POST', `/conversations/${id}/messages`, note);
    await told();
    expect(bobsBrowser.told.at(-1)).toMatchObject({
      title: 'Ann mentioned you in a note',
      body: '@bob stone, the invoice is wrong',
    });
    await ann.call('POST', `/conversations/${id}/transfer`, { memberId: bob.id });
    await told();
    expect(bobsBrowser.told.at(-1)).toMatchObject({ title: 'Ann has given you a conversation' });
    expect([annsBrowser.received.length, bobsBrowser.received.length]).toEqual([2, 4]);
  });

  it('comes to who has the conversation, also where its visitor wrote while no one had it', async () => {
    const id = await createConversation(visitor, 'My order');
    const write = async (text: string): Promise<number[]> => {
      const before = [annsBrowser.received.length, bobsBrowser.received.length];
      await createMessage(visitor, id, text);
      await told();
      return [annsBrowser.received.length - before[0]!, bobsBrowser.received.length - before[1]!];
    };
    expect(await write('Hello?')).toEqual([0, 0]);
    expect(await write('Where is it?')).toEqual([0, 0]);
    await ann.call('POST', `/conversations/${id}/accept`);
    expect(await write('It is red.')).toEqual([1, 0]);
    await ann.call('POST', `/conversations/${id}/release`);
    expect(await write('Still there?')).toEqual([0, 0]);
    await bob.call('POST', `/conversations/${id}/accept`);
    expect(await write('And small.')).toEqual([0, 1]);
  });

  it('comes when the time of a snooze has come, to who has the conversation, else to all', async () => {
    const until = (): string => new Date(app.clock.now() + 3_600_000).toISOString();
    const before = [annsBrowser.received.length, bobsBrowser.received.length];
    const anns = await anActive();
    await ann.call('POST', `/conversations/${anns}/snooze`, { until: until() });
    const ended = await anActive(bob);
    await bob.call('POST', `/conversations/${ended}/snooze`, { until: until() });
    // Ended by hand: no time has come.
    expect((await ann.call('DELETE', `/conversations/${ended}/snooze`)).status).toBe(200);
    await told();
    app.clock.advance(3_600_000);
    await eventually(() => expect(annsBrowser.received.length).toBe(before[0]! + 1));
    await told();
    expect([annsBrowser.received.length, bobsBrowser.received.length]).toEqual([before[0]! + 1, before[1]!]);
    expect(annsBrowser.told.at(-1)).toMatchObject({ conversationId: anns });
    const waits = await createConversation(createVisitor(app, acme.application), 'later');
    await ann.call('POST', `/conversations/${waits}/snooze`, { until: until() });
    app.clock.advance(3_600_000);
    await eventually(() => expect(bobsBrowser.told.at(-1)).toMatchObject({ conversationId: waits }));
    await eventually(() => expect(annsBrowser.told.at(-1)).toMatchObject({ conversationId: waits }));
  });

  it('does not come for what is before the eyes, and comes again once it is not', async () => {
    const id = await anActive();
    const socket = await ann.connect();
    socket.send('desk:focus', { conversationId: id });
    await socket.drain();
    for (let n = 0; n < 5; n += 1) await createMessage(visitor, id, `seen ${n}`);
    await told();
    expect(annsBrowser.received).toEqual([]);
    // It holds as long as the connection does.
    await pass(4 * 60_000, socket);
    await createMessage(visitor, id, 'still seen');
    await told();
    expect(annsBrowser.received).toEqual([]);
    socket.send('desk:focus', { conversationId: null });
    await socket.drain();
    await createMessage(visitor, id, 'not seen');
    await eventually(() => expect(annsBrowser.received).toHaveLength(1));
    socket.send('desk:focus', { conversationId: id });
    await socket.drain();
    socket.socket.terminate();
    await eventually(() => expect(app.service.focus.of(ann.id).size).toBe(0));
    await createMessage(visitor, id, 'gone');
    await eventually(() => expect(annsBrowser.received).toHaveLength(2));
    const visitorsSocket = await visitor.connect();
    visitorsSocket.send('desk:focus', { conversationId: id });
    expect(await visitorsSocket.receives('error')).toMatchObject({ code: 'FORBIDDEN' });
  });

  it('does not come in quiet hours, of test conversations, of what was read, or to other organizations', async () => {
    await createOrganization(app, 'globex');
    const eve = await createMember(app, 'globex', 'admin', 'Bob Stone');
    const evesBrowser = await aBrowser(eve);
    const id = await anActive();
    await choose(ann, { quietHours: { from: '11:00', to: '13:00', timezone: 'UTC' } });
    await createMessage(visitor, id, 'quiet');
    await ann.call('POST', `/conversations/${id}/messages`, { content: '@Bob Stone', internal: true });
    await createConversation(createVisitorByKey(app, acme.application, 'test'), 'test');
    await told();
    expect([annsBrowser.received.length, bobsBrowser.received.length, evesBrowser.received.length]).toEqual([
      0, 1, 0,
    ]);
    expect(markersBrowser.told.map(({ body }) => body)).not.toContain('test');
  });

  it('is not sent to who was disabled, signed out or read it while the push service was down', async () => {
    service.answer = ({ path }) => (path === markersBrowser.path ? 201 : 503);
    const id = await anActive();
    const others = await anActive(bob);
    const messageId = await createMessage(visitor, id, 'for ann');
    await createMessage(visitor, others, 'for bob');
    await service.has(2);
    await told();
    await ann.call('POST', `/conversations/${id}/read`, { messageId });
    await app.local('members.update', { memberId: bob.id, disabled: true });
    const before = annsBrowser.received.length + bobsBrowser.received.length;
    service.answer = () => 201;
    app.clock.advance(10_000);
    await told();
    expect(annsBrowser.received.length + bobsBrowser.received.length).toBe(before);
    const ends = (await effects()).filter(({ about }) => about === 'member-reply');
    expect(ends.filter(({ kind }) => kind === 'push')).toMatchObject([
      { state: 'skipped', error: 'the member has read it' },
      { state: 'skipped', error: 'the browser is sent no pushes any more' },
    ]);
  });

  it('is not sent to a session without the second factor that is demanded by now', async () => {
    const id = await anActive();
    await app.local('organizations.update', { organization: 'acme', signIn: { secondFactor: 'all' } });
    await createMessage(visitor, id, 'for those who have shown it');
    await eventually(async () => {
      const ends = (await effects()).filter(({ about, kind }) => about === 'member-reply' && kind === 'push');
      expect(ends).toMatchObject([{ state: 'skipped', error: 'the member is not signed in there any more' }]);
    });
    expect(annsBrowser.received).toEqual([]);
  });

  it('is sent once, whatever the log is read again for', async () => {
    const id = await anActive();
    await createMessage(visitor, id, 'once');
    await told();
    app = await app.restart();
    await told();
    expect(annsBrowser.received).toHaveLength(1);
  });
});

describe('a push service', () => {
  it.each([404, 410])('that answers %i ends the browser at once', async (status) => {
    service.answer = ({ path }) => (path === annsBrowser.path ? status : 201);
    const id = await anActive();
    await createMessage(visitor, id, 'one');
    await eventually(async () => expect((await ann.call('GET', '/push')).body.devices).toEqual([]));
    await createMessage(visitor, id, 'two');
    await told();
    expect(annsBrowser.received).toHaveLength(1);
  });

  it('that fails is asked again, later where it says so, and not after an hour', async () => {
    service.answer = ({ path }) => (path === annsBrowser.path ? [429, { 'retry-after': '120' }] : 201);
    const id = await anActive();
    await createMessage(visitor, id, 'one');
    await eventually(() => expect(annsBrowser.received).toHaveLength(1));
    await told();
    app.clock.advance(60_000);
    await told();
    expect(annsBrowser.received).toHaveLength(1);
    service.answer = () => 201;
    app.clock.advance(61_000);
    await eventually(() => expect(annsBrowser.received).toHaveLength(2));
    await told();
    expect(
      (await effects()).find(({ kind, member_id }) => kind === 'push' && member_id === ann.id),
    ).toMatchObject({
      state: 'delivered',
    });
  });

  it('that refuses the key is named at the browser', async () => {
    service.answer = ({ path }) => (path === annsBrowser.path ? 403 : 201);
    const id = await anActive();
    await createMessage(visitor, id, 'one');
    await told();
    expect((await ann.call('GET', '/push')).body.devices).toMatchObject([
      { problem: "the push service does not take this server's key (403)" },
    ]);
    expect(await app.local('push.check', {})).toMatchObject({ failing: 1 });
  });
});

describe('limits', () => {
  /** The notices of a way to a member, by how each stands. */
  async function standing(kind: 'mail' | 'push', { id }: TestMember): Promise<Record<string, number>> {
    const rows = await rowsOf(
      app,
      `select state, error from effects where kind = '${kind}' and member_id = '${id}'`,
    );
    const texts = rows.map(
      ({ state, error }) => `${String(state)}${typeof error === 'string' ? `: ${error}` : ''}`,
    );
    return Object.fromEntries(
      [...Map.groupBy(texts, (text) => text)].map(([text, all]) => [text, all.length]),
    );
  }

  const stands = (kind: 'mail' | 'push', member: TestMember, expected: Record<string, number>) =>
    eventually(async () => expect(await standing(kind, member)).toEqual(expected));

  async function mention(count: number, name = 'Bob'): Promise<void> {
    const id = await createConversation(visitor, 'My order');
    await ann.call('POST', `/conversations/${id}/accept`);
    for (let at = 0; at < count; at += 1)
      await ann.call('POST', `/conversations/${id}/messages`, {
        content: `@${name} look ${at}`,
        internal: true,
      });
  }

  const replayMail = async ({ id }: TestMember, state: string): Promise<unknown> => {
    const [row] = await rowsOf(
      app,
      `select id from effects where kind = 'mail' and member_id = '${id}' and state = '${state}' order by id limit 1`,
    );
    return app.local('outbox.replay', { effectId: String(row?.['id']) });
  };

  it('a member gets 20 mails an hour, however they come about, and also where they were added anew', async () => {
    const beyond = 'skipped: the member has had 20 mails in an hour';
    await mention(22);
    await told();
    app.clock.advance(121_000);
    await stands('mail', bob, { delivered: 20, [beyond]: 2 });
    await host.has(20);
    // Neither by sending one once more, nor by another member with the same address.
    await replayMail(bob, 'delivered');
    await stands('mail', bob, { delivered: 19, [beyond]: 3 });
    await app.local('members.remove', { memberId: bob.id });
    const { id } = await app.local('members.add', {
      organization: 'acme',
      email: bob.email.toUpperCase(),
      name: 'Robert',
      role: 'operator',
      password: 'a password of many',
    });
    const robert = { ...bob, id };
    await mention(1, 'Robert');
    await told();
    app.clock.advance(121_000);
    await stands('mail', robert, { [beyond]: 1 });
    expect(host.taken).toHaveLength(20);
    app.clock.advance(3_600_000);
    await mention(1, 'Robert');
    await told();
    app.clock.advance(121_000);
    await stands('mail', robert, { [beyond]: 1, delivered: 1 });
  });

  it('a mail that is tried again counts once', async () => {
    expect.hasAssertions();
    await mention(1);
    await told();
    host.refuse = () => ({ at: 'data', code: 451, text: 'busy' });
    app.clock.advance(121_000);
    await stands('mail', bob, { 'waiting: the mail server answered 451 busy': 1 });
    await mention(19);
    await told();
    host.refuse = () => null;
    app.clock.advance(121_000);
    await stands('mail', bob, { delivered: 20 });
  });

  it('a member gets 120 pushes an hour, and the bell as before', async () => {
    const socket = await bob.connect();
    const { limiter } = app.service.engine;
    const check = { key: `push:member:${bob.id}`, windows: [{ limit: 120, windowMs: 3_600_000 }] };
    for (let at = 0; at < 119; at += 1) expect((await limiter.take([check])).ok).toBe(true);
    await mention(2);
    await stands('push', bob, { delivered: 1, 'skipped: the member has had 120 pushes in an hour': 1 });
    expect(bobsBrowser.received).toHaveLength(1);
    for (let at = 0; at < 2; at += 1)
      expect(await socket.receives('notification:new')).toMatchObject({ event: 'mention' });
    socket.socket.terminate();
    // No other member is concerned.
    await mention(1, 'Marker');
    await eventually(() =>
      expect(markersBrowser.told.at(-1)).toMatchObject({ title: expect.stringContaining('Ann') }),
    );
  });

  it('mails to members are mails of the organization’s day', async () => {
    await app.local('organizations.update', { organization: 'acme', plan: 'free' });
    const { limiter } = app.service.engine;
    const day = { key: `mail:organization:${acme.id}`, windows: [{ limit: 500, windowMs: 86_400_000 }] };
    for (let at = 0; at < 499; at += 1) expect((await limiter.take([day])).ok).toBe(true);
    await mention(2);
    await told();
    app.clock.advance(121_000);
    await stands('mail', bob, {
      delivered: 1,
      'skipped: the organization has sent its 500 mails of this day': 1,
    });
  });
});

describe('an e-mail', () => {
  it('goes to who is away, two minutes later, once until they have read', async () => {
    await choose(ann, { preview: 'text' });
    const id = await anActive();
    await createMessage(visitor, id, 'first words');
    await createMessage(visitor, id, 'second words');
    await told();
    app.clock.advance(119_000);
    await told();
    expect(host.taken).toEqual([]);
    app.clock.advance(2_000);
    const [mail] = await host.has(1);
    expect([mail?.to, mail?.mail.subject]).toEqual([[ann.email], 'Visitor']);
    expect(mail?.mail.text).toContain('first words');
    expect(mail?.mail.text).toContain(`https://chat.example.com/inbox?organization=acme#/c/${id}`);
    expect(mail?.mail.headers.find(({ key }) => key === 'auto-submitted')?.value).toBe('auto-generated');
    const third = await createMessage(visitor, id, 'third words');
    await told();
    app.clock.advance(130_000);
    await told();
    expect(host.taken).toHaveLength(1);
    await ann.call('POST', `/conversations/${id}/read`, { messageId: third });
    await createMessage(visitor, id, 'fourth words');
    await told();
    app.clock.advance(130_000);
    await host.has(2);
  });

  it('comes for a later message where the one before was kept back, failed or lost its message', async () => {
    const id = await anActive();
    const ends = async (): Promise<unknown[]> =>
      (await effects()).flatMap(({ kind, about, state }) =>
        kind === 'mail' && about === 'member-reply' ? [state] : [],
      );
    const write = async (text: string): Promise<string> => {
      const messageId = await createMessage(visitor, id, text);
      await told();
      return messageId;
    };
    const socket = await ann.connect();
    await write('while she is there');
    await pass(130_000, socket);
    await eventually(async () => expect(await ends()).toEqual(['skipped']));
    socket.socket.terminate();
    await eventually(async () => expect((await app.service.engine.presence.present([ann.id])).size).toBe(0));
    host.refuse = () => ({ at: 'data', code: 550, text: 'no' });
    await write('while the mail server refuses');
    app.clock.advance(130_000);
    await eventually(async () => expect(await ends()).toEqual(['skipped', 'failed']));
    host.refuse = () => null;
    const withdrawn = await write('taken back');
    await visitor.call('DELETE', `/conversations/${id}/messages/${withdrawn}`);
    await write('at last');
    await write('and one more');
    app.clock.advance(130_000);
    await host.has(1);
    await eventually(async () => expect(await ends()).toEqual(['skipped', 'failed', 'skipped', 'delivered']));
    await write('not read yet');
    expect(await ends()).toHaveLength(4);
  });

  it('says no more than its member wants shown, and does not go to who reads, or is connected', async () => {
    const id = await anActive();
    await createMessage(visitor, id, 'CANARY');
    await createMessage(visitor, await anActive(bob), 'CANARY');
    await told();
    app.clock.advance(130_000);
    const [first, second] = await host.has(2);
    expect(first!.raw.toString() + second!.raw.toString()).not.toContain('CANARY');
    const socket = await ann.connect();
    await createMessage(visitor, await anActive(ann), 'connected');
    const others = await anActive(bob);
    const read = await createMessage(visitor, others, 'read');
    await bob.call('POST', `/conversations/${others}/read`, { messageId: read });
    await told();
    await pass(130_000, socket);
    await told();
    expect(host.taken).toHaveLength(2);
    const skipped = (await effects()).filter(({ kind, state }) => kind === 'mail' && state === 'skipped');
    expect(skipped.map(({ error }) => String(error)).toSorted()).toEqual([
      'a dashboard or console of the member is connected',
      'the member has read it',
    ]);
    socket.socket.terminate();
  });
});

describe('the live connection', () => {
  it('hears of mentions and assignments where the bell is on, and that something was read elsewhere', async () => {
    const id = await anActive();
    const bobs = await bob.connect();
    const anns = await ann.connect();
    const visitors = await visitor.connect();
    await ann.call('POST', `/conversations/${id}/messages`, { content: '@Bob Stone look', internal: true });
    expect(await bobs.receives('notification:new')).toMatchObject({
      event: 'mention',
      conversationId: id,
      name: 'Ann',
    });
    await ann.call('POST', `/conversations/${id}/transfer`, { memberId: bob.id });
    await bobs.receives('notification:new', ({ event }) => event === 'assigned');
    const messageId = await createMessage(visitor, id, 'hello');
    await bob.call('POST', `/conversations/${id}/read`, { messageId });
    expect(await bobs.receives('notification:cleared')).toEqual({ conversationId: id });
    await choose(bob, { events: { mention: { bell: false } } });
    await ann.call('POST', `/conversations/${id}/messages`, { content: '@Bob Stone again', internal: true });
    await told();
    for (const socket of [bobs, anns, visitors]) await socket.drain();
    expect(bobs.all('notification:new')).toHaveLength(2);
    expect(
      [...anns.frames, ...visitors.frames].filter(({ type }) => type.startsWith('notification')),
    ).toEqual([]);
  });
});

describe('when no member accepts', () => {
  const steps = [
    { afterMinutes: 2, to: 'available', ways: ['push', 'bell'] },
    { afterMinutes: 5, to: 'all', ways: ['email'] },
  ];

  it('each step is taken once, at its time, also when the server restarts in between', async () => {
    await admin('/organization', { escalation: [...steps, { afterMinutes: 9, to: bob.id, ways: ['push'] }] });
    const socket = await ann.connect();
    const id = await createConversation(visitor, 'My order');
    const of = (browser: PushBrowser) => browser.told.filter(({ conversationId }) => conversationId === id);
    await told();
    await pass(118_000, socket);
    await told();
    expect(of(annsBrowser)).toEqual([]);
    app.clock.advance(2_000);
    await eventually(() => expect(of(annsBrowser)).toHaveLength(1));
    expect(of(annsBrowser)[0]).toMatchObject({
      title: 'No one has accepted a visitor within 2 min',
      conversationId: id,
    });
    expect(await socket.receives('notification:new')).toMatchObject({ event: 'waiting', minutes: 2 });
    expect(of(bobsBrowser)).toEqual([]);
    socket.socket.terminate();
    app = await app.restart();
    await told();
    app.clock.advance(181_000);
    await host.has(3);
    // A mail that was taken and not noted yet would be sent again under the same Message-ID.
    await told();
    app = await app.restart();
    app.clock.advance(3 * 60_000);
    await told();
    app.clock.advance(61_000);
    await eventually(() => expect(of(bobsBrowser)).toHaveLength(1));
    await told();
    const taken = host.taken.filter(({ mail }) => mail.text?.includes(id) === true);
    expect(taken.map(({ to }) => String(to[0])).toSorted()).toEqual(
      [ann.email, bob.email, marker.email].toSorted(),
    );
    expect([of(annsBrowser).length, of(bobsBrowser).length]).toEqual([1, 1]);
  });

  it('ends when the conversation is accepted, and begins anew when it is put back', async () => {
    await admin('/organization', { escalation: [{ afterMinutes: 2, to: bob.id, ways: ['push'] }] });
    const id = await createConversation(visitor, 'My order');
    await told();
    app.clock.advance(60_000);
    await ann.call('POST', `/conversations/${id}/accept`);
    await ann.call('POST', `/conversations/${id}/release`);
    await told();
    app.clock.advance(61_000);
    await told();
    const mine = () => bobsBrowser.told.filter(({ conversationId }) => conversationId === id);
    expect(mine()).toEqual([]);
    app.clock.advance(60_000);
    await eventually(() => expect(mine()).toHaveLength(1));
    await ann.call('POST', `/conversations/${id}/accept`);
    app.clock.advance(300_000);
    await told();
    expect(mine()).toHaveLength(1);
  });

  it('tells all where the member whom it names is disabled or gone', async () => {
    await admin('/organization', { escalation: [{ afterMinutes: 2, to: bob.id, ways: ['push'] }] });
    const mine = (id: string) => annsBrowser.told.filter(({ conversationId }) => conversationId === id);
    const first = await createConversation(visitor, 'My order');
    await told();
    await app.local('members.update', { memberId: bob.id, disabled: true });
    app.clock.advance(121_000);
    await eventually(() => expect(mine(first)).toHaveLength(1));
    // Planned while the step named Bob still.
    const second = await createConversation(createVisitor(app, acme.application), 'My parcel');
    await told();
    await app.local('members.remove', { memberId: bob.id });
    app.clock.advance(121_000);
    await eventually(() => expect(mine(second)).toHaveLength(1));
    const { organization } = (await request(app.url, 'GET', '/api/v1/admin/organization', ann.headers)).body;
    expect(organization.escalation).toEqual([{ afterMinutes: 2, to: 'all', ways: ['push'] }]);
    const [row] = await rowsOf(app, "select detail from audit where action = 'members.remove'");
    expect(JSON.parse(String(row?.['detail']))).toEqual({
      fields: 'escalation',
      escalation: JSON.stringify(organization.escalation),
    });
  });

  it('waits for business hours, and reaches one who is named in their quiet hours too', async () => {
    await admin('/organization', { escalation: [{ afterMinutes: 2, to: bob.id, ways: ['push'] }] });
    await choose(bob, { quietHours: { from: '00:00', to: '23:59', timezone: 'UTC' } });
    const closed = { week: { monday: [{ open: '08:00', close: '18:00' }] } };
    await app.local('applications.update', {
      applicationId: acme.application.id,
      behavior: { businessHours: closed, timezone: 'UTC' },
    });
    // A Saturday, noon.
    const id = await createConversation(visitor, 'My order');
    await told();
    app.clock.advance(Date.parse('2026-11-23T08:01:30Z') - app.clock.now());
    await told();
    const mine = () => bobsBrowser.told.filter(({ conversationId }) => conversationId === id);
    expect(mine()).toEqual([]);
    app.clock.advance(31_000);
    await eventually(() => expect(mine()).toHaveLength(1));
  });
});

describe('the test', () => {
  const test = async (member = ann) => (await member.call('POST', '/notifications/test')).body;

  it('names the link that is broken', async () => {
    const socket = await ann.connect();
    expect((await test()).results).toMatchObject([
      { way: 'push', ok: true, device: { label: 'A browser' }, problem: null },
      { way: 'email', ok: true, problem: null },
      { way: 'bell', ok: true, problem: null },
    ]);
    expect(annsBrowser.told).toMatchObject([{ title: 'Notifications work', conversationId: null }]);
    expect(await socket.receives('notification:new')).toMatchObject({ event: 'test' });
    expect((await host.has(1))[0]?.to).toEqual([ann.email]);
    socket.socket.terminate();
    await eventually(async () => expect((await app.service.engine.presence.present([ann.id])).size).toBe(0));
    host.refuse = () => ({ at: 'rcpt', code: 550, text: 'no such user' });
    service.answer = () => 403;
    expect((await test()).results.map(({ problem }: { problem: string }) => problem)).toEqual([
      expect.stringContaining("does not take this server's key"),
      expect.stringContaining('550'),
      expect.stringContaining('no dashboard or console'),
    ]);
    service.answer = () => 503;
    expect((await test()).results[0].problem).toContain("not this server's fault");
    service.answer = () => 410;
    expect((await test()).results[0].problem).toContain('press "Push in this browser"');
    expect((await test()).results[0].problem).toContain('no browser of yours is sent pushes');
    expect((await ann.call('POST', '/notifications/test')).status).toBe(429);
  });

  it('names a push service that does not answer, a mail server that is not there, and quiet hours', async () => {
    await choose(bob, { quietHours: { from: '11:00', to: '13:00', timezone: 'UTC' } });
    await service.stop();
    const { results, quiet } = await test(bob);
    expect([results[0].problem, quiet]).toEqual([
      expect.stringContaining('the connection was refused'),
      true,
    ]);
    service = await new PushService().start();
    await app.stop();
    app = await startApp({ flags: { baseUrl: 'http://chat.example.com' } });
    await createOrganization(app, 'acme');
    const cy = await createMember(app, 'acme');
    // Without a mail server no mail is planned that could only fail.
    const seen = createVisitor(app, (await createOrganization(app, 'globex')).application);
    const dora = await createMember(app, 'globex');
    const id = await createConversation(seen, 'no mail');
    await dora.call('POST', `/conversations/${id}/accept`);
    await createMessage(seen, id, 'hello');
    expect((await test(cy)).results.map(({ problem }: { problem: string }) => problem)).toEqual([
      expect.stringContaining('plain http'),
      expect.stringContaining('DESKBELL_SMTP_URL'),
      expect.stringContaining('no dashboard or console'),
    ]);
    expect(await effects()).toEqual([]);
  });
});

it('calls who has no name in the language of who is told', async () => {
  const id = await createConversation(createVisitor(app, acme.application), 'My order');
  const conversation = await app.service.engine.store.read(async ({ repositories }) =>
    repositories.conversations.byId(id),
  );
  if (conversation === undefined) throw new Error('The conversation is not there.');
  const subject = { conversation, message: null, by: null, minutes: 0 };
  const told = { shows: 'name', locale: 'de' } as const;
  expect(noticeFor({ ...subject, event: 'new' }, told).body).toBe('Besucher');
  expect(noticeFor({ ...subject, event: 'assigned' }, told).title).toBe(
    'Ein Teammitglied hat Ihnen ein Gespräch übergeben',
  );
  expect(noticeFor({ ...subject, event: 'mention' }, told).title).toBe(
    'Ein Teammitglied hat Sie in einer Notiz erwähnt',
  );
});
