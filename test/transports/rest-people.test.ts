// Attacks what is known of people and applications: forged identities, last admins, seats
// taken at once, sessions that outlive a password, the widget's configuration, the audit log.
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { HeaderMap } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import { ask, askRaw, expectCleanLog, stored, type Caller } from '../helpers/rest-checks.ts';
import {
  createConversation,
  createMember,
  createApplication,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  memberPassword,
  signIn,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { setByPath } from '../helpers/settings.ts';

let app: TestApp;
let acme: TestOrganization;
let identitySecret: string;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  const [row] = (await rowsOf(
    app,
    'select identity_secret from applications where id = ?',
    acme.application.id,
  )) as {
    identity_secret: Uint8Array;
  }[];
  identitySecret = app.service.secrets.open(row!.identity_secret, {
    table: 'applications.identity_secret',
    row: acme.application.id,
    organizationId: acme.id,
  });
});

afterAll(async () => {
  expectCleanLog(app, [
    acme.application.key,
    identitySecret,
    memberPassword,
    'another long password',
    'CANARY',
  ]);
  await app.stop();
});

const sign = (id: string, secret = identitySecret): string =>
  createHmac('sha256', secret).update(id).digest('hex');

describe('a visitor’s identity', () => {
  it('by page is verified by the right signature alone', async () => {
    const visitor = createVisitor(app, acme.application);
    await ask(app, visitor, 'GET', '/visitor');
    const right = sign(visitor.id);
    const before = await stored(app);
    for (const signature of [
      sign(createVisitor(app, acme.application).id),
      sign(visitor.id, 'another secret'),
      sign(visitor.id.toUpperCase()),
      right.slice(0, -1),
      right.slice(0, 32),
      `${right}00`,
      '',
      ' ',
      `${right} `,
      `0x${right}`,
      Buffer.from(right, 'hex').toString('base64'),
      '0'.repeat(64),
      'a'.repeat(10_000),
      5,
      null,
      [right],
      { a: right },
      true,
    ]) {
      const reply = await ask(app, visitor, 'PUT', '/visitor', { name: 'Mallory', signature });
      expect([signature, reply.status, reply.body.details[0].path]).toEqual([signature, 400, 'signature']);
    }
    expect(await stored(app)).toEqual(before);
    expect(
      (await ask(app, visitor, 'PUT', '/visitor', { name: 'Claimed', email: 'claimed@mail.example' })).body
        .visitor,
    ).toMatchObject({
      name: 'Claimed',
      verified: false,
    });
    expect(
      (await ask(app, visitor, 'PUT', '/visitor', { name: 'Ann', signature: right.toUpperCase() })).body
        .visitor,
    ).toMatchObject({
      name: 'Ann',
      email: null,
      verified: true,
    });
  });

  it('that is verified is overwritten by no claim', async () => {
    const page = createVisitor(app, acme.application);
    const byKey = createVisitorByKey(app, acme.application, 'live', page.id);
    expect(
      (
        await ask(app, byKey, 'PUT', '/visitor', {
          name: 'CANARY Ann',
          email: 'Ann@Mail.example',
          attributes: { plan: 'gold' },
        })
      ).body.visitor,
    ).toMatchObject({ verified: true, email: 'ann@mail.example' });
    const before = await stored(app);
    for (const body of [
      { name: 'Mallory' },
      { email: 'm@evil.example' },
      { attributes: { plan: 'free' } },
      { name: 'Mallory', verified: true },
      {},
    ])
      expect((await ask(app, page, 'PUT', '/visitor', body)).body.visitor).toMatchObject({
        name: 'CANARY Ann',
        email: 'ann@mail.example',
        verified: true,
        attributes: { plan: 'gold' },
      });
    expect(await stored(app)).toEqual(before);
  });

  it('has plain attributes, kept as sent, or none', async () => {
    const visitor = createVisitorByKey(app, acme.application);
    const put = (attributes: string) => ask(app, visitor, 'PUT', '/visitor', `{"attributes":${attributes}}`);
    const kept = {
      constructor: 'c',
      toString: 1,
      hasOwnProperty: true,
      'a b': '<script>',
      ü: 'é',
      n: -1.5,
      z: 0,
      long: 'x'.repeat(1000),
    };
    const reply = await put(JSON.stringify(kept));
    expect([reply.status, Object.entries(reply.body.visitor.attributes)]).toEqual([
      200,
      Object.entries(kept),
    ]);
    expect((await ask(app, visitor, 'GET', '/visitor')).text).toBe(reply.text);
    const before = await stored(app);
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`k${at}`, at]));
    for (const bad of [
      JSON.stringify(many),
      '{"":1}',
      `{"${'k'.repeat(101)}":1}`,
      `{"${'k'.repeat(1000)}":1}`,
      '{"a":{"b":1}}',
      '{"a":[1]}',
      '{"a":null}',
      '{"a":1e400}',
      '{"a":-1e400}',
      `{"a":"${'x'.repeat(1001)}"}`,
      '[]',
      '[1]',
      '"x"',
      '5',
      'null',
      'true',
    ])
      expect([bad.slice(0, 40), (await put(bad)).status]).toEqual([bad.slice(0, 40), 400]);
    for (const body of [
      { name: '' },
      { name: ' ' },
      { name: 'a'.repeat(101) },
      { name: null },
      { name: 5 },
      { email: 'x' },
      { email: 'a@b' },
      { email: 'a@b.example, c@d.example' },
      { email: `${'a'.repeat(250)}@b.example` },
      { email: null },
      { email: 'a b@c.example' },
      { email: 'a@b.example\r\nBcc: x@y.example' },
    ])
      expect([body, (await ask(app, visitor, 'PUT', '/visitor', body)).status]).toEqual([body, 400]);
    expect(await stored(app)).toEqual(before);
    expect((await ask(app, visitor, 'GET', '/visitor')).text).toBe(reply.text);
    // An unknown field is ignored at every depth.
    for (const ignored of ['{"__proto__":{"admin":true},"a":1}', '{"a":1,"__proto__":"x"}'])
      expect((await put(ignored)).body.visitor.attributes).toEqual({ a: 1 });
    expect(({} as { admin?: boolean }).admin).toBe(undefined);
  });
});

describe('members', () => {
  it('the last admin stays, also when two demote each other at once', async () => {
    await createOrganization(app, 'admins');
    const [one, two] = [
      await createMember(app, 'admins', 'admin'),
      await createMember(app, 'admins', 'admin'),
    ];
    const outcomes = await Promise.allSettled([
      app.local('members.update', { memberId: one.id, role: 'operator' }),
      app.local('members.update', { memberId: two.id, role: 'operator' }),
    ]);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(outcomes.find((outcome) => outcome.status === 'rejected')).toMatchObject({
      reason: { code: 'conflict' },
    });
    const [last] = (await rowsOf(
      app,
      "select m.id from members m join organizations o on o.id = m.organization_id where o.slug = 'admins' and m.role = 'admin'",
    )) as { id: string }[];
    const before = await stored(app);
    await expect(app.local('members.remove', { memberId: last!.id })).rejects.toMatchObject({
      code: 'conflict',
    });
    for (const change of [
      { disabled: true },
      { role: 'operator' },
      { role: 'admin', disabled: true },
    ] as const)
      await expect(app.local('members.update', { memberId: last!.id, ...change })).rejects.toMatchObject({
        code: 'conflict',
      });
    expect(await stored(app)).toEqual(before);
  });

  it('nine at once take exactly the three seats of the free plan', async () => {
    await createOrganization(app, 'seats', 'free');
    const add = (at: number) =>
      app.local('members.add', {
        organization: 'seats',
        email: `m${at}@seats.example`,
        name: `M${at}`,
        role: 'operator',
        password: memberPassword,
      });
    // Nine: of one caller, one password is hashed and eight wait; a tenth is told to come again.
    const outcomes = await Promise.allSettled(Array.from({ length: 9 }, (_, at) => add(at)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        expect(outcome.reason).toMatchObject({
          code: 'plan_limit',
          message: expect.stringContaining('premium'),
        });
    const { members } = await app.local('members.list', { organization: 'seats' });
    expect(members).toHaveLength(3);
    await app.local('members.update', { memberId: members[0]!.id, disabled: true });
    await add(11);
    await expect(
      app.local('members.update', { memberId: members[0]!.id, disabled: false }),
    ).rejects.toMatchObject({
      code: 'plan_limit',
    });
    await expect(
      app.local('applications.create', { organization: 'seats', name: 'second' }),
    ).rejects.toMatchObject({ code: 'plan_limit' });
  });

  it('a new password ends every session, a disabled member everything at once', async () => {
    const member = await createMember(app, 'acme');
    const second = await signIn(app, 'acme', member.email, member.id);
    const socket = await second.connect();
    await socket.drain();
    await app.local('members.update', { memberId: member.id, password: 'another long password' });
    for (const session of [member, second])
      expect((await ask(app, session, 'GET', '/staff/session')).status).toBe(401);
    expect((await socket.waitForClose()).code).toBe(4403);
    const credentials = (password: string) =>
      ask(app, { headers: {} }, 'POST', '/staff/session', {
        organization: 'acme',
        email: member.email,
        password,
      });
    expect([
      (await credentials(memberPassword)).status,
      (await credentials('another long password')).status,
    ]).toEqual([401, 201]);

    const gone = await createMember(app, 'acme');
    const conversationId = await createConversation(createVisitor(app, acme.application));
    await gone.call('POST', `/conversations/${conversationId}/accept`);
    const live = await gone.connect();
    await live.drain();
    await app.local('members.update', { memberId: gone.id, disabled: true });
    expect((await live.waitForClose()).code).toBe(4403);
    for (const path of ['/staff/session', '/staff/conversations'])
      expect((await ask(app, gone, 'GET', path)).status).toBe(401);
    expect(
      (
        await ask(app, { headers: {} }, 'POST', '/staff/session', {
          organization: 'acme',
          email: gone.email,
          password: memberPassword,
        })
      ).status,
    ).toBe(401);
    const admin = await createMember(app, 'acme', 'admin');
    expect(
      (await ask(app, admin, 'GET', `/staff/conversations/${conversationId}`)).body.conversation,
    ).toMatchObject({
      status: 'pending',
      assignedTo: null,
    });
    await app.local('members.update', { memberId: gone.id, disabled: false });
    expect((await ask(app, gone, 'GET', '/staff/session')).status).toBe(401);
  });

  it('signing in wrongly says one thing only, and wrong types are no sign-in', async () => {
    const { email } = await createMember(app, 'acme');
    const post = (body: unknown) => ask(app, { headers: {} }, 'POST', '/staff/session', body);
    const texts = new Set<string>();
    for (const body of [
      { organization: 'acme', email, password: 'wrong' },
      { organization: 'acme', email: 'unknown@acme.example', password: memberPassword },
      { organization: 'unknown', email, password: memberPassword },
      { organization: 'acme', email, password: `${memberPassword} ` },
      { organization: 'acme', email, password: 'x'.repeat(1024) },
    ]) {
      const reply = await post(body);
      expect(reply.status).toBe(401);
      texts.add(reply.text);
    }
    expect(texts.size).toBe(1);
    for (const field of ['organization', 'email', 'password'])
      for (const value of [undefined, null, '', 5, true, [], {}, ['acme'], { $ne: '' }, 'x'.repeat(1025)])
        expect([
          field,
          value,
          (await post({ organization: 'acme', email, password: memberPassword, [field]: value })).status,
        ]).toEqual([field, value, 400]);
    expect(
      (await post({ organization: ' ACME ', email: ` ${email.toUpperCase()} `, password: memberPassword }))
        .status,
    ).toBe(201);
  });
});

describe('the widget’s configuration', () => {
  // As bytes: fetch adds a Cache-Control of its own to a conditional request.
  const config = (who: Caller, more: HeaderMap = {}) =>
    askRaw(app, { path: '/api/v1/widget/config', headers: Object.entries({ ...who.headers, ...more }) });

  it('has the same headers whether it was asked for at all, with a condition, or without its body', async () => {
    const page = { headers: { 'x-app-id': acme.application.id, origin: acme.application.origin } };
    const headersOf = ({ headers }: { readonly headers: Headers }) =>
      Object.fromEntries([...headers].filter(([name]) => !['date', 'x-request-id'].includes(name)));
    const plain = headersOf(await config(page));
    expect(plain).toMatchObject({
      'cache-control': 'public, max-age=60',
      vary: 'Origin, X-App-Id',
      etag: expect.stringMatching(/^"[\w-]{22}"$/) as unknown,
      'access-control-allow-origin': acme.application.origin,
    });
    expect(headersOf(await config(page, { 'if-none-match': '"x"' }))).toEqual(plain);
    const { 'content-length': _length, 'content-type': _type, ...unchanged } = plain;
    const same = await config(page, { 'if-none-match': String(plain['etag']) });
    expect([same.status, headersOf(same)]).toEqual([304, unchanged]);
    const request = { method: 'HEAD', path: '/api/v1/widget/config', headers: Object.entries(page.headers) };
    expect(headersOf(await askRaw(app, request))).toEqual(plain);
  });

  it('opens and closes with the hours, and is fetched again only when it changed', async () => {
    const application = await createApplication(app, 'acme', 'hours.example');
    const page = { headers: { 'x-app-id': application.id, origin: application.origin } };
    const set = (path: string, value: unknown) => setByPath(app, application.id, { [path]: value });
    const always = await config(page);
    expect(always.body.application).toMatchObject({
      appId: application.id,
      behavior: { isOpen: true, nextOpenAt: null, businessHours: null, timezone: 'UTC' },
      ai: { enabled: false },
    });
    const etag = always.headers.get('etag')!;
    for (const match of [etag, `W/${etag}`, `"x", ${etag}`, '*'])
      expect([match, (await config(page, { 'if-none-match': match })).status]).toEqual([match, 304]);
    for (const match of ['"x"', etag.slice(1, -1)])
      expect([match, (await config(page, { 'if-none-match': match })).status]).toEqual([match, 200]);
    expect(always.headers.get('vary')).toMatch(/Origin/);
    expect(always.headers.get('vary')).toMatch(/X-App-Id/i);
    await set('behavior.businessHours', {
      week: { monday: [{ open: '09:00', close: '17:30' }] },
      exceptions: [],
    });
    await set('behavior.timezone', 'Europe/Berlin');
    // The clock of the tests stands on Saturday, 21 November 2026, 12:00 UTC.
    const closed = await config(page, { 'if-none-match': etag });
    expect([
      closed.status,
      closed.body.application.behavior.isOpen,
      closed.body.application.behavior.nextOpenAt,
    ]).toEqual([200, false, '2026-11-23T08:00:00.000Z']);
    const wait = Date.parse('2026-11-23T08:00:00.000Z') - app.clock.now();
    app.clock.step(wait - 1);
    expect((await config(page)).body.application.behavior.isOpen).toBe(false);
    app.clock.step(1);
    expect((await config(page)).body.application.behavior.isOpen).toBe(true);
    app.clock.step(8.5 * 3_600_000);
    expect((await config(page)).body.application.behavior).toMatchObject({
      isOpen: false,
      nextOpenAt: '2026-11-30T08:00:00.000Z',
    });
    app.clock.step(-wait - 8.5 * 3_600_000);
  });

  it('is for a registered page, holds nothing private, and takes no dangerous setting', async () => {
    const text = (
      await config({ headers: { 'x-app-id': acme.application.id, origin: acme.application.origin } })
    ).text;
    for (const secret of [
      acme.id,
      acme.slug + '.example',
      identitySecret,
      'dbk_',
      'dbi_',
      'domains',
      'organization',
    ])
      expect(text).not.toContain(secret);
    expect(
      (
        await config({ headers: { 'x-app-id': acme.application.id, origin: 'https://evil.example' } })
      ).headers.get('cache-control'),
    ).toBe('no-store');
    const before = await stored(app);
    for (const [path, value] of [
      ['appearance.logo', 'javascript:alert(1)'],
      ['appearance.logo', 'data:image/svg+xml,<svg/>'],
      ['appearance.logo', 'http://x.example/a.png'],
      ['appearance.logo', `https://x.example/${'a'.repeat(3000)}`],
      ['appearance.colors.primary', 'red;}*{x:y'],
      ['appearance.colors.primary', '#12345'],
      ['appearance.position', 'top'],
      ['behavior.timezone', 'Mars/Olympus'],
      ['behavior.businessHours', { week: { funday: [] } }],
      ['behavior.businessHours', 5],
      ['behavior.greeting', ''],
      ['behavior.greeting', 'x'.repeat(1001)],
      ['__proto__.admin', true],
      ['constructor.prototype', {}],
      ['appearance.__proto__', {}],
      ['nothing', 1],
      ['', 1],
      ['ai.mode', 'always'],
      ['locale', '<script>'],
    ] as const)
      await expect(
        setByPath(app, acme.application.id, { 'behavior.outsideHours': 'Closed', [path]: value }),
        `${path}=${JSON.stringify(value).slice(0, 40)}`,
      ).rejects.toMatchObject({ code: 'bad_request' });
    expect(await stored(app)).toEqual(before);
  });
});

it('the audit log has who, what, when and from where, and no secret', async () => {
  const { id } = await app.local('organizations.create', { name: 'Audited', slug: 'audited' });
  const application = await app.local('applications.create', {
    organization: 'audited',
    name: 'a',
    domains: ['a.example'],
  });
  await app.local('organizations.update', { organization: 'audited', plan: 'enterprise' });
  await app.local('organizations.update', { organization: 'audited', limits: { seats: 9 } });
  await app.local('domains.add', { applicationId: application.id, domain: 'b.example' });
  await app.local('domains.remove', { applicationId: application.id, domain: 'b.example' });
  await app.local('applications.update', { applicationId: application.id, locale: 'de' });
  const key = await app.local('keys.create', { applicationId: application.id });
  await app.local('keys.reveal', { keyId: key.id });
  const next = await app.local('keys.rotate', { keyId: key.id });
  await app.local('keys.revoke', { keyId: next.id });
  const admin = await createMember(app, 'audited', 'admin');
  const member = await createMember(app, 'audited');
  await app.local('members.update', { memberId: member.id, role: 'admin' });
  await app.local('members.update', { memberId: member.id, password: 'another long password' });
  await app.local('members.update', { memberId: member.id, disabled: true });
  await app.local('members.update', { memberId: member.id, disabled: false });
  await app.local('members.remove', { memberId: member.id });
  await ask(app, admin, 'DELETE', '/staff/session');
  const rows = (await rowsOf(app, 'select * from audit where organization_id = ? order by rowid', id)) as {
    actor: string;
    action: string;
    subject: string;
    detail: string;
    address: string | null;
    created_at: number;
  }[];
  expect(rows.map(({ action }) => action)).toEqual(
    [
      'organizations.create',
      'domains.add',
      'applications.create',
      'organizations.update',
      'organizations.update',
      'domains.add',
      'domains.remove',
      'applications.update',
      'keys.create',
      'keys.reveal',
      'keys.create',
      'keys.rotate',
      'keys.revoke',
      'members.add',
      'session.create',
      'members.add',
      'session.create',
      'members.update',
      'members.update',
      'members.update',
      'members.update',
      'members.remove',
      'session.delete',
    ].filter((action, at) => !(action === 'keys.create' && at === 10)),
  );
  const updates = rows.flatMap(({ action, detail }) =>
    action.endsWith('.update') ? [JSON.parse(detail)] : [],
  );
  expect(updates).toEqual([
    { fields: 'plan', plan: 'enterprise', previousPlan: 'free' },
    { fields: 'seats', seats: 9 },
    { fields: 'locale' },
    { fields: 'role', role: 'admin', previousRole: 'operator' },
    { fields: 'password', password: true },
    { fields: 'disabled', disabled: true },
    { fields: 'disabled', disabled: false },
  ]);
  for (const row of rows) expect(row.created_at).toBe(app.clock.now());
  expect(rows.find(({ action }) => action === 'session.create')).toMatchObject({
    subject: `member:${admin.id}`,
    address: '127.0.0.1',
  });
  expect(rows.at(-1)).toMatchObject({
    actor: `member:${admin.id}`,
    subject: `member:${admin.id}`,
    address: '127.0.0.1',
  });
  expect(rows[0]).toMatchObject({ actor: 'local', address: null });
  for (const secret of [key.key, next.key, memberPassword, 'another long password', admin.token, admin.email])
    expect(JSON.stringify(rows)).not.toContain(secret);
});

it('an update is one row of the audit log with the fields that changed, and none where nothing did', async () => {
  const { id } = await app.local('organizations.create', { name: 'Once', slug: 'once' });
  const application = await app.local('applications.create', { organization: 'once', name: 'a' });
  const member = await createMember(app, 'once');
  const details = async () =>
    (
      await rowsOf(
        app,
        "select action, detail from audit where organization_id = ? and action like '%.update' order by rowid",
        id,
      )
    ).map((row) => [row['action'], JSON.parse(String(row['detail']))]);
  await app.local('organizations.update', {
    organization: 'once',
    name: 'Twice',
    plan: 'enterprise',
    limits: { seats: 9, retentionDays: 'unlimited', applications: null },
    releaseAfterMinutes: 5,
  });
  await app.local('applications.update', {
    applicationId: application.id,
    name: 'b',
    appearance: { colors: { primary: '#FF0000', text: '#111827' } },
    behavior: { greeting: 'Hi', outsideHours: null },
    locale: 'de',
  });
  await app.local('members.update', {
    memberId: member.id,
    role: 'admin',
    password: 'another long password',
    disabled: false,
  });
  const expected = [
    [
      'organizations.update',
      {
        fields: 'name,plan,retentionDays,seats,releaseAfterMinutes',
        name: 'Twice',
        plan: 'enterprise',
        previousPlan: 'free',
        retentionDays: -1,
        seats: 9,
        releaseAfterMinutes: 5,
      },
    ],
    ['applications.update', { fields: 'name,appearance.colors.primary,behavior.greeting,locale' }],
    ['members.update', { fields: 'role,password', role: 'admin', previousRole: 'operator', password: true }],
  ];
  expect(await details()).toEqual(expected);
  await app.local('organizations.update', { organization: 'once', plan: 'enterprise', limits: { seats: 9 } });
  await app.local('applications.update', { applicationId: application.id, locale: 'de', ai: {} });
  await app.local('members.update', { memberId: member.id, role: 'admin', disabled: false });
  expect(await details()).toEqual(expected);
});
