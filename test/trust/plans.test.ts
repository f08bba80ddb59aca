// A tenant does not grant itself a larger plan, and the log does not hold what opens a visitor's conversations.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let admin: TestMember;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme', 'free');
  admin = await createMember(app, 'acme', 'admin');
});
afterAll(() => app.stop());

it.each([
  [{ plan: 'enterprise' }],
  [{ plan: 'enterprise', limits: { requestsPerMinute: 1_000_000 } }],
  [{ limits: { seats: 1_000 } }],
  [{ name: 'Renamed', limits: { applications: 1_000 } }],
])('an admin who asks for %j is refused, and nothing is changed', async (change) => {
  const refused = await admin.call('PATCH', '/../admin/organization', change);
  expect([refused.status, refused.body.error]).toEqual([403, 'forbidden']);
  expect((await admin.call('GET', '/../admin/organization')).body.organization).toMatchObject({
    name: 'acme',
    plan: 'free',
  });
});

it('an admin still names the organization, and the owner sets its plan', async () => {
  const named = await admin.call('PATCH', '/../admin/organization', { name: 'Acme & Sons' });
  expect([named.status, named.body.organization?.name]).toEqual([200, 'Acme & Sons']);
  const { plan } = await app.local('organizations.update', { organization: 'acme', plan: 'premium' });
  expect(plan).toBe('premium');
});

it('an admin has data kept for a shorter time than the plan says, and for no longer', async () => {
  const ask = async (retentionDays: unknown): Promise<unknown[]> => {
    const { status, body } = await small.call('PATCH', '/../admin/organization', {
      limits: { retentionDays },
    });
    return [status, body.error ?? body.organization.limits.retentionDays];
  };
  await createOrganization(app, 'small', 'free');
  const small = await createMember(app, 'small', 'admin');
  expect(await ask(7)).toEqual([200, 7]);
  for (const longer of [31, 'unlimited']) expect(await ask(longer)).toEqual([403, 'plan_limit']);
  const move = (plan: 'free' | 'premium' | 'enterprise') =>
    app.local('organizations.update', { organization: 'small', plan });
  // What was shortened stays short; what another plan allowed ends with it.
  for (const plan of ['premium', 'enterprise', 'free'] as const)
    expect((await move(plan)).limits.retentionDays).toBe(7);
  expect(await ask(null)).toEqual([200, 30]);
  await move('enterprise');
  expect(await ask(800)).toEqual([200, 800]);
  expect((await move('premium')).limits.retentionDays).toBe(365);
});

it('an admin has data kept for no longer than the owner of the server has set, under any plan', async () => {
  await createOrganization(app, 'bounded', 'enterprise');
  const bounded = await createMember(app, 'bounded', 'admin');
  const ask = async (retentionDays: unknown): Promise<unknown[]> => {
    const { status, body } = await bounded.call('PATCH', '/../admin/organization', {
      limits: { retentionDays },
    });
    return [
      status,
      body.error ?? body.organization.limits.retentionDays,
      body.organization?.ownLimits.retentionDays,
    ];
  };
  const grant = async (retentionDays: number | 'unlimited' | null): Promise<unknown> =>
    (await app.local('organizations.update', { organization: 'bounded', limits: { retentionDays } })).limits
      .retentionDays;
  expect(await ask('unlimited')).toEqual([200, null, 'unlimited']);
  expect(await grant(90)).toBe(90);
  for (const longer of [91, 'unlimited']) expect(await ask(longer)).toEqual([403, 'plan_limit', undefined]);
  expect(await ask(30)).toEqual([200, 30, 30]);
  // Their own choice taken back, the owner's holds again.
  expect(await ask(90)).toEqual([200, 90, 90]);
  expect(await ask(null)).toEqual([200, 90, 90]);
  // What the owner says at last holds, whatever was chosen before.
  expect(await ask(30)).toEqual([200, 30, 30]);
  expect(await grant(60)).toBe(60);
  expect(await grant(null)).toBeNull();
});

it('an admin sets the plan where the owner of the server lets them', async () => {
  const open = await startApp({ flags: { selfServicePlans: 'allow' } });
  try {
    await createOrganization(open, 'acme', 'free');
    const own = await createMember(open, 'acme', 'admin');
    const reply = await own.call('PATCH', '/../admin/organization', { plan: 'premium' });
    expect([reply.status, reply.body.organization?.plan]).toEqual([200, 'premium']);
  } finally {
    await open.stop();
  }
});

it("no line of the log holds a visitor's id", async () => {
  const visitor = createVisitor(app, acme.application);
  await createConversation(visitor);
  expect((await admin.call('GET', `/../admin/visitors/${visitor.id}`)).status).toBe(200);
  expect((await admin.call('DELETE', `/../admin/visitors/${visitor.id}`)).status).toBe(200);
  expect(app.logged.join('')).not.toContain(visitor.id);
  expect(app.logged.join('')).toContain(`/visitors/${visitor.id.slice(0, 8)}…`);
});

it.each(['/api/v1/inbound/email/dbm_0123456789abcdef', '/mail/stop/s.0123456789abcdef0123'])(
  'no line of the log holds what lets in at %s',
  async (path) => {
    await fetch(app.url + path, { method: 'POST' });
    const lines = app.logged.join('');
    expect(lines).toContain(path.slice(0, path.lastIndexOf('/') + 9));
    expect(lines).not.toContain(path.split('/').at(-1));
  },
);
