// Attacks the search in the audit log: each question alone, together, across the stretches in which a long log is looked
// through, and from another organization.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import {
  createMember,
  createOrganization,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { ask } from '../helpers/rest-checks.ts';

let app: TestApp;
let acme: TestOrganization;
let ann: TestMember;
let bob: TestMember;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  await createOrganization(app, 'other');
  ann = await createMember(app, 'acme', 'admin', 'Ann');
  bob = await createMember(app, 'acme', 'admin', 'Bob');
  for (const [who, name] of [
    [ann, 'first'],
    [bob, 'second'],
    [ann, 'third'],
  ] as const) {
    app.clock.advance(60_000);
    await who.call('POST', '/tags', { name });
  }
});
afterAll(() => app.stop());

interface Entry {
  readonly action: string;
  readonly detail: Record<string, unknown>;
}

async function find(query: Record<string, string>, who: TestMember = ann): Promise<[number, ...unknown[]]> {
  const { status, body } = await ask(
    app,
    who,
    'GET',
    `/admin/audit?${new URLSearchParams(query).toString()}`,
  );
  expect(status).toBe(200);
  return [
    body.total as number,
    ...(body.entries as Entry[]).map(({ action, detail }) => detail['name'] ?? action),
  ];
}

describe('each question', () => {
  it('by action, actor, subject, word and time, and all that is said must hold', async () => {
    expect(await find({ action: 'tags.' })).toEqual([3, 'third', 'second', 'first']);
    expect(await find({ action: 'tags.create', actor: ann.id })).toEqual([2, 'third', 'first']);
    expect(await find({ action: 'tags.', actor: `member:${bob.id}` })).toEqual([1, 'second']);
    expect(await find({ subject: 'tag:', q: 'SECOND' })).toEqual([1, 'second']);
    expect(await find({ q: 'nowhere' })).toEqual([0]);
    // A pattern is none.
    expect(await find({ q: '%' })).toEqual([0]);
    expect(await find({ action: 'tags_' })).toEqual([0]);
    const now = app.clock.now();
    const at = (ms: number): string => new Date(now - ms).toISOString();
    expect(await find({ action: 'tags.', from: at(60_000) })).toEqual([2, 'third', 'second']);
    expect(await find({ action: 'tags.', from: at(120_000), to: at(60_000) })).toEqual([1, 'first']);
    const local = await find({ actor: 'local', action: 'organizations.' });
    expect(local[0]).toBeGreaterThan(0);
    expect(await find({ action: 'tags.', limit: '1', offset: '1' })).toEqual([3, 'second']);
  });

  it('a token counts as its member', async () => {
    const { body } = await ann.call('POST', '/tokens', {
      name: 'ci',
      scopes: ['settings:write'],
      expiresAt: new Date(app.clock.now() + 86_400_000).toISOString(),
    });
    const headers = { authorization: `Bearer ${(body.token as { token: string }).token}` };
    expect((await ask(app, { ...ann, headers }, 'POST', '/staff/tags', { name: 'by a token' })).status).toBe(
      201,
    );
    expect(await find({ actor: ann.id, q: 'by a token' })).toEqual([1, 'by a token']);
  });

  it('refuses what is no time', async () => {
    const { status, body } = await ask(app, ann, 'GET', '/admin/audit?from=yesterday');
    expect([status, body.error]).toEqual([400, 'bad_request']);
  });
});

describe('a long log', () => {
  it('is looked through to its end, each entry once, and of no other organization', async () => {
    const stranger = await createMember(app, 'other', 'admin');
    const at = app.clock.now();
    // Many in the same ms: a stretch may end among them.
    await rowsOf(
      app,
      `with recursive n(i) as (select 0 union all select i + 1 from n where i < 4999)
       insert into audit (id, organization_id, actor, action, subject, detail, address, created_at)
       select printf('%08d-${randomUUID().slice(9)}', i), '${acme.id}', 'local', 'long.log', 'row:' || i, '{}', null, ${at} + i / 3000 from n`,
    );
    const seen = new Set<string>();
    for (let offset = 1_900; offset < 2_200; offset += 100) {
      const { body } = await ask(app, ann, 'GET', `/admin/audit?action=long.&limit=100&offset=${offset}`);
      expect(body.total).toBe(5_000);
      for (const { subject } of body.entries as { subject: string }[]) seen.add(subject);
    }
    expect(seen.size).toBe(300);
    expect(seen.has(`row:${4_999 - 1_900}`)).toBe(true);
    expect(await find({ action: 'long.' }, stranger)).toEqual([0]);
    expect((await app.local('audit.list', { action: 'long.', limit: 1 })).total).toBe(5_000);
  });
});
