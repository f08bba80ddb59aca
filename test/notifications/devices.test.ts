// Browsers that are sent pushes, and what members want to be told of: who may add what, whose it is, and when it ends.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import { createMember, createOrganization, signIn, type TestMember } from '../helpers/fixtures.ts';
import { PushBrowser, PushService } from '../helpers/push-browser.ts';

let app: TestApp;
let service: PushService;
let ann: TestMember;
let bob: TestMember;

beforeAll(async () => {
  service = await new PushService().start();
  app = await startApp({ flags: { pushHosts: `${service.origin},push.example.com` } });
  await createOrganization(app, 'acme');
  await createOrganization(app, 'globex');
  ann = await createMember(app, 'acme', 'admin');
  bob = await createMember(app, 'globex', 'admin');
});
afterAll(async () => {
  await app.stop();
  await service.stop();
});

const add = (member: TestMember, subscription: object, label = 'Firefox on Linux') =>
  member.call('POST', '/push', { ...subscription, label });
const admin = (method: string, path: string, body: object) =>
  request(app.url, method, `/api/v1/admin${path}`, ann.headers, body);
const devicesOf = async (member: TestMember) => (await member.call('GET', '/push')).body.devices;

describe('a browser', () => {
  it('is added, listed and removed by its member alone; no one is shown where its pushes go', async () => {
    const { publicKey, devices } = (await ann.call('GET', '/push')).body;
    expect([Buffer.from(publicKey, 'base64url').length, devices]).toEqual([65, []]);
    const browser = new PushBrowser(service);
    const added = await add(ann, browser.subscription);
    expect([added.status, added.body.device]).toMatchObject([
      201,
      {
        label: 'Firefox on Linux',
        host: new URL(service.origin).host,
        current: true,
        lastSentAt: null,
        problem: null,
      },
    ]);
    expect(JSON.stringify([added.body, await devicesOf(ann)])).not.toContain(browser.path);
    const stored = await rowsOf(app, 'select * from push_devices');
    expect(JSON.stringify(stored)).not.toContain(browser.path);
    expect((await bob.call('DELETE', `/push/${added.body.device.id}`)).status).toBe(404);
    expect((await ann.call('DELETE', `/push/${added.body.device.id}`)).body).toEqual({ success: true });
    expect(await devicesOf(ann)).toEqual([]);
  });

  it('has one subscription: again is the same, and another member in it takes it over', async () => {
    const browser = new PushBrowser(service);
    await add(ann, browser.subscription);
    await add(ann, browser.subscription, 'The same');
    expect((await devicesOf(ann)).map(({ label }: { label: string }) => label)).toEqual(['The same']);
    await add(bob, browser.subscription);
    expect([(await devicesOf(ann)).length, (await devicesOf(bob)).length]).toEqual([0, 1]);
    await bob.call('DELETE', `/push/${(await devicesOf(bob))[0].id}`);
  });

  it('is one of ten at most', async () => {
    for (let n = 0; n < 10; n += 1)
      expect((await add(ann, new PushBrowser(service).subscription)).status).toBe(201);
    expect((await add(ann, new PushBrowser(service).subscription)).status).toBe(409);
    for (const { id } of await devicesOf(ann)) await ann.call('DELETE', `/push/${id}`);
  });

  it('ends with the session in which it was added, and with the member', async () => {
    const session = await signIn(app, 'acme', ann.email, ann.id);
    await add(session, new PushBrowser(service).subscription);
    expect((await rowsOf(app, 'select id from push_devices')).length).toBe(1);
    await session.call('DELETE', '/session');
    expect(await rowsOf(app, 'select id from push_devices')).toEqual([]);
    const cy = await createMember(app, 'acme');
    await add(cy, new PushBrowser(service).subscription);
    await admin('PATCH', `/members/${cy.id}`, { disabled: true });
    expect(await rowsOf(app, 'select id from push_devices')).toEqual([]);
  });

  it.each([
    ['http://fcm.googleapis.com/x', 'no encryption'],
    ['https://127.0.0.1/x', 'this machine'],
    ['https://169.254.169.254/latest', 'a machine of the cloud'],
    ['https://[::1]/x', 'this machine, by IPv6'],
    ['https://internal.example/x', 'an unknown host'],
    ['https://fcm.googleapis.com.evil.example/x', 'a name that begins like a known one'],
    ['https://evilfcm.googleapis.com/x', 'a name that ends like a known one'],
    ['https://push.services.mozilla.com.evil/x', 'a known name in front'],
    ['https://evilpush.apple.com/x', 'a name that ends like those below a known one'],
    ['https://fcm.googleapis.com:8443/x', 'another port'],
    ['https://user:pass@fcm.googleapis.com/x', 'a password in it'],
    ['https://fcm.googleapis.com@evil.example/x', 'a known name as user'],
    ['file:///etc/passwd', 'a file'],
    ['nothing', 'no address'],
  ])('may not lie at %s: %s', async (endpoint) => {
    const { keys } = new PushBrowser(service).subscription;
    const reply = await add(ann, { endpoint, keys });
    expect([reply.status, reply.body.details[0].path]).toEqual([400, 'endpoint']);
  });

  it.each([
    'https://fcm.googleapis.com/fcm/send/a:b',
    'https://updates.push.services.mozilla.com/wpush/v2/abc',
    'https://web.push.apple.com/abc',
    'https://wns2-par02p.notify.windows.com/w/?token=abc',
    'https://push.example.com/abc',
  ])('may lie at %s', async (endpoint) => {
    const { keys } = new PushBrowser(service).subscription;
    const reply = await add(ann, { endpoint, keys });
    expect(reply.status).toBe(201);
    await ann.call('DELETE', `/push/${reply.body.device.id}`);
  });

  it('has keys that can be encrypted for, and is added in a session only', async () => {
    const { endpoint, keys } = new PushBrowser(service).subscription;
    for (const bad of [
      { ...keys, auth: 'x' },
      { ...keys, p256dh: 'x' },
    ])
      expect((await add(ann, { endpoint, keys: bad })).body.details[0].path).toBe('keys');
    const { token } = (
      await ann.call('POST', '/tokens', {
        name: 'script',
        scopes: ['settings:write'],
        expiresAt: new Date(app.clock.now() + 3_600_000).toISOString(),
      })
    ).body.token;
    const byToken = await request(
      app.url,
      'POST',
      '/api/v1/staff/push',
      { authorization: `Bearer ${token}` },
      { endpoint, keys, label: 'x' },
    );
    expect(byToken.status).toBe(403);
  });
});

describe('the key', () => {
  it('is made once, also by many at a time, and a new one leaves the old ones to the browsers that have them', async () => {
    const keys = await Promise.all(
      Array.from({ length: 5 }, async () => (await ann.call('GET', '/push')).body.publicKey),
    );
    expect(new Set(keys).size).toBe(1);
    const before = await app.local('push.check', {});
    await add(ann, new PushBrowser(service).subscription);
    const { publicKey } = await app.local('push.rotateKey', {});
    expect(publicKey).not.toBe(keys[0]);
    expect((await ann.call('GET', '/push')).body.publicKey).toBe(publicKey);
    expect(await app.local('push.check', {})).toEqual({
      keys: before.keys + 1,
      devices: 1,
      failing: 0,
      problem: null,
    });
    for (const { id } of await devicesOf(ann)) await ann.call('DELETE', `/push/${id}`);
    await app.local('push.rotateKey', {});
    expect(await app.local('push.check', {})).toMatchObject({ keys: 1, devices: 0 });
    expect(JSON.stringify(await rowsOf(app, "select value from meta where key = 'push_keys'"))).not.toMatch(
      /"d"/,
    );
  });
});

describe('what a member wants to be told of', () => {
  it('has defaults, is changed in part, and is the own alone', async () => {
    const first = (await ann.call('GET', '/notifications')).body.notifications;
    expect(first).toMatchObject({
      quietHours: null,
      preview: 'name',
      events: { new: { push: true, email: false, bell: true } },
    });
    const quietHours = { from: '22:00', to: '07:00', timezone: 'Europe/Berlin' };
    const changed = await ann.call('PUT', '/notifications', {
      events: { new: { push: false }, offered: { push: true } },
      quietHours,
    });
    expect(changed.body.notifications).toEqual({
      ...first,
      quietHours,
      events: { ...first.events, new: { ...first.events.new, push: false } },
    });
    expect((await ann.call('GET', '/notifications')).body.notifications).toEqual(changed.body.notifications);
    expect((await bob.call('GET', '/notifications')).body.notifications).toEqual(first);
    const back = await ann.call('PUT', '/notifications', {
      quietHours: null,
      preview: 'name',
      events: { new: { push: true } },
    });
    expect(back.body.notifications).toEqual(first);
    expect(await rowsOf(app, `select notifications from members where id = '${ann.id}'`)).toEqual([
      { notifications: '{}' },
    ]);
  });

  it.each([
    [{ quietHours: { from: '24:00', to: '07:00', timezone: 'UTC' } }, 'quietHours.from'],
    [{ quietHours: { from: '07:00', to: '07:00', timezone: 'UTC' } }, 'quietHours.to'],
    [{ quietHours: { from: '07:00', to: '08:00', timezone: 'Mars/Base' } }, 'quietHours.timezone'],
    [{ preview: 'all' }, 'preview'],
    [{ events: { new: { push: 'yes' } } }, 'events.new.push'],
  ])('refuses %j', async (change, path) => {
    const reply = await ann.call('PUT', '/notifications', change);
    expect([reply.status, reply.body.details[0].path]).toEqual([400, path]);
  });
});

describe('what is done when no member accepts', () => {
  it('is set by an admin, in order, with members of the organization alone', async () => {
    const steps = [
      { afterMinutes: 10, to: ann.id, ways: ['email', 'email'] },
      { afterMinutes: 2, to: 'available', ways: ['push'] },
    ];
    const reply = await admin('PATCH', '/organization', { escalation: steps });
    expect(reply.body.organization.escalation).toEqual([
      { afterMinutes: 2, to: 'available', ways: ['push'] },
      { afterMinutes: 10, to: ann.id, ways: ['email'] },
    ]);
    for (const [escalation, path] of [
      [[{ afterMinutes: 1, to: bob.id, ways: ['push'] }], 'escalation.0.to'],
      [[{ afterMinutes: 0, to: 'all', ways: ['push'] }], 'escalation.0.afterMinutes'],
      [[{ afterMinutes: 1, to: 'all', ways: [] }], 'escalation.0.ways'],
      [[{ afterMinutes: 1, to: 'no one', ways: ['push'] }], 'escalation.0.to'],
      [Array.from({ length: 11 }, () => steps[1]), 'escalation'],
    ] as const)
      expect((await admin('PATCH', '/organization', { escalation })).body.details[0].path).toBe(path);
    expect((await admin('PATCH', '/organization', { escalation: [] })).body.organization.escalation).toEqual(
      [],
    );
  });
});
