// The admin API: owners' configuration over REST, for admins of their own organization
// only, each change in the audit log and in force at once.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { wholeLog } from '../../src/engine/repositories/log-stretches.ts';
import { runAutoRelease } from '../../src/services/chat/auto-release.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request } from '../helpers/client.ts';
import {
  createMember,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  memberPassword,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let admin: TestMember;
let operator: TestMember;
let stranger: TestMember;

beforeAll(async () => {
  app = await startApp({ flags: { selfServicePlans: 'allow' } });
  acme = await createOrganization(app, 'acme');
  await createOrganization(app, 'other');
  admin = await createMember(app, 'acme', 'admin', 'Ada');
  operator = await createMember(app, 'acme', 'operator', 'Olivia');
  stranger = await createMember(app, 'other', 'admin', 'Stan');
});

afterAll(async () => {
  await app.stop();
});

function ask(who: TestClient, method: string, path: string, body?: unknown) {
  return request(app.url, method, `/api/v1/admin${path}`, who.headers, body);
}

async function audited(): Promise<string[]> {
  const rows = await app.service.engine.store.read(({ repositories }) =>
    repositories.audit.log.page({ organizationId: acme.id }, wholeLog, 200, 0),
  );
  return rows.map((row) => `${row.action} by ${row.actor}`);
}

describe('the organization', () => {
  it('shows itself and its numbers, and changes name, plan, limits and release', async () => {
    const before = await ask(admin, 'GET', '/organization');
    expect(before.body.organization).toMatchObject({
      id: acme.id,
      slug: 'acme',
      plan: 'enterprise',
      releaseAfterMinutes: null,
    });
    const after = await ask(admin, 'PATCH', '/organization', {
      name: 'Acme & Sons',
      limits: { requestsPerMinute: 900 },
      releaseAfterMinutes: 5,
    });
    expect(after.status).toBe(200);
    expect(after.body.organization).toMatchObject({
      name: 'Acme & Sons',
      limits: { requestsPerMinute: 900 },
      releaseAfterMinutes: 5,
    });
    expect(await audited()).toContain(`organizations.update by member:${admin.id}`);
  });

  it('changes nothing at all when one part is refused', async () => {
    const refused = await ask(stranger, 'PATCH', '/organization', {
      name: 'Renamed',
      plan: 'premium',
      limits: { seats: 3 },
    });
    expect(refused.status).toBe(403);
    expect(refused.body.error).toBe('plan_limit');
    expect((await ask(stranger, 'GET', '/organization')).body.organization).toMatchObject({
      name: 'other',
      plan: 'enterprise',
    });
  });

  it('is an admin’s business', async () => {
    expect((await ask(operator, 'GET', '/organization')).body.error).toBe('forbidden');
    expect((await ask(admin, 'GET', '/organization?organization=other')).status).toBe(404);
  });
});

describe('applications', () => {
  it('are made, configured by parts, and removed', async () => {
    const made = await ask(admin, 'POST', '/applications', { name: 'Second', domains: ['second.example'] });
    expect(made.status).toBe(201);
    const { id } = made.body.application;
    const changed = await ask(admin, 'PATCH', `/applications/${id}`, {
      name: 'Renamed',
      appearance: { colors: { primary: '#FF0000' }, position: 'bottom-left' },
      behavior: {
        greeting: 'Hello!',
        timezone: 'Europe/Berlin',
        businessHours: { week: { monday: [{ open: '09:00', close: '17:00' }] } },
      },
      locale: 'de',
    });
    expect(changed.status).toBe(200);
    expect(changed.body.application).toMatchObject({
      name: 'Renamed',
      settings: {
        appearance: {
          colors: { primary: '#ff0000', background: '#ffffff' },
          position: 'bottom-left',
          launcherIcon: 'chat',
        },
        behavior: { greeting: 'Hello!', timezone: 'Europe/Berlin' },
        locale: 'de',
      },
    });
    const page = createVisitor(app, { ...acme.application, id, origin: 'https://second.example' });
    expect((await page.call('GET', '/widget/config')).body.application.behavior.greeting).toBe('Hello!');
    expect((await ask(admin, 'GET', '/applications')).body).toMatchObject({
      total: 2,
      limit: 1000,
      offset: 0,
    });
    expect((await ask(admin, 'DELETE', `/applications/${id}`)).body).toEqual({ success: true });
    expect((await page.call('GET', '/widget/config')).status).toBe(401);
  });

  it.each([
    [{ appearance: { colors: { primary: 'red;}*{' } } }, 'appearance.colors.primary'],
    [{ appearance: { logo: 'javascript:alert(1)' } }, 'appearance.logo'],
    [{ appearance: { shadow: 1 } }, 'appearance.shadow'],
    [{ behavior: { timezone: 'Mars/Olympus' } }, 'behavior.timezone'],
    [
      { behavior: { businessHours: { week: { monday: [{ open: '25:00', close: '26:00' }] } } } },
      'behavior.businessHours.week.monday.0.open',
    ],
    [{ ai: { mode: 'loud' } }, 'ai.mode'],
    [{ locale: '<b>' }, 'locale'],
  ])('refuse %j by name', async (body, path) => {
    const reply = await ask(admin, 'PATCH', `/applications/${acme.application.id}`, body);
    expect(reply.status).toBe(400);
    expect(reply.body.details[0].path).toBe(path);
  });

  it('give an application 200 keys that work, and list the last 200 that are over', async () => {
    const { id: applicationId } = await app.local('applications.create', {
      organization: 'acme',
      name: 'Keys',
    });
    const base = `/applications/${applicationId}/keys`;
    for (let at = 0; at < 199; at += 1) await app.local('keys.create', { applicationId, name: `key ${at}` });
    const last = (await ask(admin, 'POST', base, { name: 'the last' })).body.key;
    const refused = await ask(admin, 'POST', base, { name: 'one more' });
    expect([refused.status, refused.body.error, refused.body.message]).toEqual([
      409,
      'conflict',
      `An application has at most 200 API keys. Revoke those that are not used: deskbell key list --app ${applicationId}`,
    ]);
    // The old one works a while longer, which would be one too many.
    const rotate = (graceSeconds: number) =>
      ask(admin, 'POST', `${base}/${last.id}/rotate`, { graceSeconds });
    expect((await rotate(60)).status).toBe(409);
    let newest = (await rotate(0)).body.key;
    expect((await ask(admin, 'GET', base)).body.total).toBe(201);
    expect((await ask(admin, 'POST', base, {})).status).toBe(409);
    // In a loop it fills no list: what ended first goes first.
    for (let at = 0; at < 200; at += 1) {
      app.clock.advance(1);
      newest = await app.local('keys.rotate', { applicationId, keyId: newest.id, graceSeconds: 0 });
    }
    const { keys, total } = await app.local('keys.list', { applicationId });
    expect([total, keys.some(({ id }) => id === last.id)]).toEqual([400, false]);
    expect(keys.filter(({ name }) => name === 'the last')).toHaveLength(201);
    expect((await ask(admin, 'DELETE', `${base}/${newest.id}`)).status).toBe(200);
    expect((await ask(admin, 'POST', base, {})).status).toBe(201);
    // An old key that is revoked late is among those that ended last.
    await app.local('keys.revoke', { applicationId, keyId: keys[0]?.id ?? '' });
    app.clock.advance(1);
    await app.local('keys.create', { applicationId });
    const left = (await app.local('keys.list', { applicationId })).keys;
    expect([left[0]?.id, left.length]).toEqual([keys[0]?.id, 400]);
  });

  it('give domains and keys, which work at once and stop at once', async () => {
    const base = `/applications/${acme.application.id}`;
    expect((await ask(admin, 'POST', `${base}/domains`, { domain: 'New.Example' })).body.domain.domain).toBe(
      'new.example',
    );
    const page = createVisitor(app, { ...acme.application, origin: 'https://new.example' });
    expect((await page.call('GET', '/conversations')).status).toBe(200);
    expect((await ask(admin, 'DELETE', `${base}/domains/new.example`)).status).toBe(200);
    expect((await page.call('GET', '/conversations')).status).toBe(403);

    const key = (await ask(admin, 'POST', `${base}/keys`, { name: 'backend' })).body.key;
    const backend = createVisitorByKey(app, { ...acme.application, key: key.key });
    expect((await backend.call('GET', '/conversations')).status).toBe(200);
    expect((await ask(admin, 'GET', `${base}/keys`)).text).not.toContain(key.key);
    expect((await ask(admin, 'POST', `${base}/keys/${key.id}/reveal`)).body.key.key).toBe(key.key);
    const successor = (await ask(admin, 'POST', `${base}/keys/${key.id}/rotate`, { graceSeconds: 60 })).body
      .key;
    expect((await backend.call('GET', '/conversations')).status).toBe(200);
    app.clock.advance(61_000);
    expect((await backend.call('GET', '/conversations')).status).toBe(401);
    const next = createVisitorByKey(app, { ...acme.application, key: successor.key });
    expect((await next.call('GET', '/conversations')).status).toBe(200);
    expect((await ask(admin, 'DELETE', `${base}/keys/${successor.id}`)).status).toBe(200);
    expect((await next.call('GET', '/conversations')).status).toBe(401);
    for (const action of [
      'keys.create',
      'keys.reveal',
      'keys.rotate',
      'keys.revoke',
      'domains.add',
      'domains.remove',
    ])
      expect(await audited()).toContain(`${action} by member:${admin.id}`);
  });

  it('show and renew the secret that vouches for visitors', async () => {
    const path = `/applications/${acme.application.id}/identity-secret`;
    const { createHmac, randomUUID } = await import('node:crypto');
    const first = (await ask(admin, 'GET', path)).body.identitySecret as string;
    const id = randomUUID();
    const sign = (secret: string) => createHmac('sha256', secret).update(id).digest('hex');
    const visitor = createVisitor(app, acme.application, id);
    expect(
      (await visitor.call('PUT', '/visitor', { name: 'Vera', signature: sign(first) })).body.visitor,
    ).toMatchObject({
      name: 'Vera',
      verified: true,
    });
    const second = (await ask(admin, 'POST', path)).body.identitySecret as string;
    expect(second).not.toBe(first);
    expect((await visitor.call('PUT', '/visitor', { name: 'Eve', signature: sign(first) })).status).toBe(400);
    expect(
      (await visitor.call('PUT', '/visitor', { name: 'Vera W', signature: sign(second) })).body.visitor.name,
    ).toBe('Vera W');
    expect((await ask(operator, 'GET', path)).status).toBe(403);
  });
});

describe('members', () => {
  it('come by a link that works once', async () => {
    const invited = await ask(admin, 'POST', '/members/invitations', {
      email: 'New@Acme.example',
      name: 'Nora',
      role: 'operator',
    });
    expect(invited.status).toBe(201);
    expect(app.urls.map((url) => `${url}/invitation#${invited.body.token}`)).toContain(invited.body.url);
    const signIn = (password: string) =>
      request(
        app.url,
        'POST',
        '/api/v1/staff/session',
        {},
        { organization: 'acme', email: 'new@acme.example', password },
      );
    expect((await signIn('invited')).status).toBe(401);
    const accept = () =>
      request(
        app.url,
        'POST',
        '/api/v1/staff/invitation',
        {},
        { token: invited.body.token, password: 'a new password' },
      );
    expect((await accept()).body).toMatchObject({ member: { name: 'Nora' }, organization: { slug: 'acme' } });
    expect((await accept()).status).toBe(401);
    expect((await signIn('a new password')).status).toBe(201);
    const late = await ask(admin, 'POST', '/members/invitations', {
      email: 'late@acme.example',
      name: 'Lea',
      role: 'operator',
    });
    app.clock.advance(3 * 86_400_000);
    expect(
      (
        await request(
          app.url,
          'POST',
          '/api/v1/staff/invitation',
          {},
          { token: late.body.token, password: 'a new password' },
        )
      ).status,
    ).toBe(401);
  });

  it('serve the page behind the link without any script but our own', async () => {
    const page = await fetch(`${app.url}/invitation`);
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(await page.text()).toMatch(/<script type="module" src="assets/);
  });

  it('change role, access and password, and the last admin stays one', async () => {
    const { body } = await ask(admin, 'POST', '/members', {
      email: 'pat@acme.example',
      name: 'Pat',
      role: 'operator',
      password: memberPassword,
    });
    const path = `/members/${body.member.id}`;
    expect((await ask(admin, 'PATCH', path, { role: 'admin' })).body.member.role).toBe('admin');
    expect((await ask(admin, 'PATCH', path, { disabled: true })).body.member.disabled).toBe(true);
    expect((await ask(admin, 'PATCH', `/members/${admin.id}`, { role: 'operator' })).body.error).toBe(
      'conflict',
    );
    expect((await ask(admin, 'DELETE', path)).body).toEqual({ success: true });
    expect((await ask(admin, 'DELETE', path)).status).toBe(404);
    expect((await ask(stranger, 'PATCH', `/members/${operator.id}`, { disabled: true })).status).toBe(404);
  });
});

describe('staff tools', () => {
  it('keep 1,000 canned replies of an organization at most', async () => {
    const gamma = await createOrganization(app, 'gamma');
    const member = await createMember(app, 'gamma');
    const { store, clock } = app.service.engine;
    await store.write({ organization: gamma.id }, async ({ repositories }) => {
      for (let at = 0; at < 1_000; at += 1)
        await repositories.cannedReplies.insert({
          id: clock.newId(),
          organization_id: gamma.id,
          shortcut: `reply-${at}`,
          content: 'hello',
          content_format: 'plain',
          content_html: null,
          created_at: 0,
          updated_at: 0,
        });
    });
    const add = (shortcut: string) => member.call('POST', '/canned-replies', { shortcut, content: 'hello' });
    const refused = await add('one-more');
    expect([refused.status, refused.body.message]).toEqual([
      409,
      'An organization has at most 1000 canned replies. Remove some that are not used first.',
    ]);
    const { body } = await member.call('GET', '/canned-replies?limit=1');
    const [{ id }] = body.cannedReplies as [{ id: string }];
    // What is there can be changed, and taken away.
    expect((await member.call('PATCH', `/canned-replies/${id}`, { content: 'hello again' })).status).toBe(
      200,
    );
    expect((await member.call('DELETE', `/canned-replies/${id}`)).status).toBe(200);
    expect((await add('one-more')).status).toBe(201);
  });

  it('keep canned replies for everyone in the organization and no one else', async () => {
    const made = await operator.call('POST', '/canned-replies', {
      shortcut: 'Hours',
      content: 'We are open from nine to five.',
    });
    expect(made.status).toBe(201);
    const { id } = made.body.cannedReply;
    expect(
      (await operator.call('POST', '/canned-replies', { shortcut: 'hours', content: 'again' })).status,
    ).toBe(409);
    expect((await admin.call('GET', '/canned-replies')).body).toMatchObject({
      total: 1,
      cannedReplies: [{ shortcut: 'hours', contentHtml: null }],
    });
    expect(
      (await admin.call('PATCH', `/canned-replies/${id}`, { content: 'Nine to six.' })).body.cannedReply
        .content,
    ).toBe('Nine to six.');
    for (const reply of [
      await stranger.call('PATCH', `/canned-replies/${id}`, { content: 'x' }),
      await stranger.call('DELETE', `/canned-replies/${id}`),
    ])
      expect(reply.status).toBe(404);
    expect((await stranger.call('GET', '/canned-replies')).body.total).toBe(0);
    expect((await operator.call('DELETE', `/canned-replies/${id}`)).body).toEqual({ success: true });
  });

  it('measure first responses and resolutions by the clock', async () => {
    const { slug, application } = await createOrganization(app, 'stats');
    const one = await createMember(app, slug, 'operator', 'One');
    const visitor = createVisitor(app, application);
    for (const minutes of [1, 2, 10]) {
      const { conversation } = (await visitor.call('POST', '/conversations', {})).body;
      await visitor.call('POST', `/conversations/${conversation.id}/messages`, { content: 'hi' });
      await one.call('POST', `/conversations/${conversation.id}/accept`);
      app.clock.advance(minutes * 60_000);
      await one.call('POST', `/conversations/${conversation.id}/messages`, { content: 'hello' });
      app.clock.advance(60_000);
      await one.call('POST', `/conversations/${conversation.id}/resolve`);
    }
    await createVisitorByKey(app, application, 'test').call('POST', '/conversations', {});
    const { stats } = (await one.call('GET', '/stats')).body;
    const figures = {
      opened: 3,
      resolved: 3,
      firstResponse: { medianSeconds: 120, p90Seconds: 600 },
      resolution: { medianSeconds: 180, p90Seconds: 660 },
    };
    expect(stats).toMatchObject(figures);
    expect(stats.applications).toEqual([{ id: application.id, name: 'stats site', ...figures }]);
    expect(stats.members).toEqual([{ ...figures, id: one.id, name: 'One', opened: 0 }]);
    const later = new Date(app.clock.now() + 1000).toISOString();
    expect(
      (await one.call('GET', `/stats?from=${later}&to=${new Date(app.clock.now() + 2000).toISOString()}`))
        .body.stats,
    ).toMatchObject({
      opened: 0,
      resolved: 0,
    });
    expect((await one.call('GET', `/stats?from=${later}`)).status).toBe(400);
  });

  it('give back what an absent operator holds, once the organization wants it so', async () => {
    const { slug, application } = await createOrganization(app, 'absent');
    const boss = await createMember(app, slug, 'admin', 'Boss');
    const gone = await createMember(app, slug, 'operator', 'Gone');
    const visitor = createVisitor(app, application);
    const { conversation } = (await visitor.call('POST', '/conversations', {})).body;
    const socket = await gone.connect();
    await gone.call('POST', `/conversations/${conversation.id}/accept`);
    const status = async () => {
      // The look at the clock has its own turn: whatever it began has been committed when a write of ours returns.
      await visitor.call('POST', '/conversations', {});
      return (await visitor.call('GET', `/conversations/${conversation.id}`)).body.conversation
        .status as string;
    };
    app.clock.advance(9 * 60_000);
    await socket.close();
    const { eventually } = await import('../helpers/eventually.ts');
    await eventually(async () => {
      // Each server measures the absence from when it heard of it; of three, each call asks another.
      for (let server = 0; server < 3; server += 1)
        expect((await boss.call('GET', '/members')).body.members).toContainEqual(
          expect.objectContaining({ id: gone.id, online: false }),
        );
    });
    app.clock.advance(9 * 60_000);
    expect(await status()).toBe('active');
    await ask(boss, 'PATCH', '/organization', { releaseAfterMinutes: 10 });
    app.clock.advance(40_000);
    expect(await status()).toBe('active');
    app.clock.advance(60_000);
    await eventually(async () => expect(await status()).toBe('pending'));
  });

  it('give back what others hold where one of them can not be looked at', async () => {
    const { slug, application } = await createOrganization(app, 'unseen');
    const visitor = createVisitor(app, application);
    const held: string[] = [];
    const holders: TestMember[] = [];
    for (const name of ['One', 'Two', 'Three']) {
      const holder = await createMember(app, slug, 'operator', name);
      const { conversation } = (await visitor.call('POST', '/conversations', {})).body;
      await holder.call('POST', `/conversations/${conversation.id}/accept`);
      holders.push(holder);
      held.push(conversation.id as string);
    }
    await app.local('organizations.update', { organization: slug, releaseAfterMinutes: 5 });
    const { engine } = app.service;
    const [, unseen] = holders;
    const presence: typeof engine.presence = Object.assign(Object.create(engine.presence), {
      awayMs: async (memberId: string) => {
        if (memberId === unseen!.id) throw new Error('can not be looked at');
        return holders.some(({ id }) => id === memberId) ? 300_000 : null;
      },
    });
    await expect(runAutoRelease({ ...app.service, engine: { ...engine, presence } })).rejects.toThrow(
      'can not be looked at',
    );
    const statuses = await Promise.all(
      held.map(async (id) => (await visitor.call('GET', `/conversations/${id}`)).body.conversation.status),
    );
    expect(statuses).toEqual(['pending', 'active', 'pending']);
  });
});
