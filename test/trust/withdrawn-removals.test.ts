// A removal that goes in slices ends with the right of who began it: what is left stays, the audit log says who began,
// and another one's same call goes on.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request, type Reply } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const rows = 90;

let app: TestApp;
let acme: TestOrganization;
let admin: TestMember;

beforeEach(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  admin = await createMember(app, 'acme', 'admin', 'Ann');
});
afterEach(async () => {
  vi.restoreAllMocks();
  await app.stop();
});

const countRows = async (table: string): Promise<number> =>
  Number((await rowsOf(app, `select count(*) as n from ${table}`))[0]?.['n']);

const remove = (member: TestMember, path: string): Promise<Reply> =>
  request(app.url, 'DELETE', `/api/v1${path}`, member.headers);

const auditOf = async (verb: string): Promise<{ action: string; actor: string; subject: string }[]> => {
  const { entries } = await app.local('audit.list', { organization: 'acme', action: verb });
  return entries.map(({ action, actor, subject }) => ({ action, actor, subject }));
};

/** Removes as the admin, whose right is withdrawn once some rows of the table are gone, before the next write. */
async function withdrawnHalfWay(
  path: string,
  table: string,
  withdraw: () => Promise<unknown>,
): Promise<{ readonly reply: Reply; readonly left: number }> {
  const { store } = app.service.engine;
  const write = store.write.bind(store);
  const { monotonic } = app.clock;
  const before = await countRows(table);
  let looks = 0;
  let left = -1;
  // A slice looks at the clock three times.
  vi.spyOn(app.clock, 'monotonic').mockImplementation(() => monotonic() + 5 * (looks += 1));
  vi.spyOn(store, 'write').mockImplementation(async (scope, work, behind) => {
    const now = await countRows(table);
    if (now < before && left < 0) {
      left = now;
      await withdraw();
    }
    return write(scope, work, behind);
  });
  const reply = await remove(admin, path);
  vi.restoreAllMocks();
  return { reply, left };
}

async function writeMuch(): Promise<TestClient> {
  const visitor = createVisitor(app, acme.application);
  const conversationId = await createConversation(visitor);
  for (let at = 0; at < rows; at += 1) await createMessage(visitor, conversationId, `parcel ${at}`);
  return visitor;
}

interface Removal {
  readonly path: string;
  readonly table: string;
  readonly begun: string;
  readonly done: string;
  readonly subject: string;
}

const removals: Readonly<Record<string, () => Promise<Removal>>> = {
  'an application': async () => {
    await writeMuch();
    return {
      path: `/admin/applications/${acme.application.id}`,
      table: 'messages',
      begun: 'applications.deleteBegun',
      done: 'applications.delete',
      subject: `application:${acme.application.id}`,
    };
  },
  'a visitor': async () => {
    const { id } = await writeMuch();
    const [row] = await rowsOf(app, 'select id from visitors where visitor_id = ?', id);
    return {
      path: `/admin/visitors/${id}`,
      table: 'messages',
      begun: 'visitors.eraseBegun',
      done: 'visitors.erase',
      subject: `visitor:${String(row?.['id'])}`,
    };
  },
  'a document': async () => {
    await app.local('knowledge.add', {
      applicationId: acme.application.id,
      source: 'long.md',
      format: 'markdown',
      content: Array.from(
        { length: rows },
        (_, at) => `## Part ${at}\n\n${`parcels and letters ${at} `.repeat(40)}\n\n`,
      ).join(''),
    });
    const { documents } = await app.local('knowledge.list', { applicationId: acme.application.id });
    return {
      path: `/admin/knowledge/${documents[0]?.id}`,
      table: 'knowledge_passages',
      begun: 'knowledge.removeBegun',
      done: 'knowledge.remove',
      subject: `application:${acme.application.id}`,
    };
  },
  'a tag': async () => {
    const ids = [];
    const visitor = createVisitor(app, acme.application);
    for (let at = 0; at < rows; at += 1) ids.push(await createConversation(visitor));
    expect((await admin.call('POST', '/conversations/bulk', { ids, act: 'tag', tag: 'late' })).status).toBe(
      200,
    );
    const { body } = await admin.call('GET', '/tags');
    return {
      path: `/staff/tags/${body.tags[0].id as string}`,
      table: 'conversation_tags',
      begun: 'tags.deleteBegun',
      done: 'tags.delete',
      subject: `tag:${body.tags[0].id as string}`,
    };
  },
  'a webhook': async () => {
    const { id } = await app.local('webhooks.create', {
      organization: 'acme',
      url: 'https://hooks.example/',
    });
    const { store, clock } = app.service.engine;
    await store.write('server', async ({ repositories }) => {
      for (let at = 0; at < rows; at += 1)
        await repositories.webhooks.insertDelivery({
          id: clock.newId(),
          webhook_id: id,
          type: 'message:new',
          event_seq: at + 1_000,
          event_at: 0,
          conversation_id: null,
          actor_id: null,
          message_id: null,
          member_id: null,
          in_turn: 1,
          status: 'delivered',
          attempts: 1,
          next_attempt_at: null,
          give_up_at: 0,
          last_attempt_at: 0,
          duration_ms: 1,
          response_status: 200,
          error: null,
          created_at: clock.now(),
        });
    });
    return {
      path: `/admin/webhooks/${id}`,
      table: 'webhook_deliveries',
      begun: 'webhooks.update',
      done: 'webhooks.delete',
      subject: `webhook:${id}`,
    };
  },
};

describe.each(Object.keys(removals))('the removal of %s', (what) => {
  it('ends when the admin who began it is disabled, and another goes on', async () => {
    const other = await createMember(app, 'acme', 'admin', 'Bea');
    const { path, table, begun, done, subject } = await (removals[what] as () => Promise<Removal>)();
    const { reply, left } = await withdrawnHalfWay(path, table, () =>
      app.local('members.update', { memberId: admin.id, disabled: true }),
    );
    expect(reply.status).toBe(401);
    expect(left).toBeGreaterThan(0);
    expect(await countRows(table)).toBe(left);
    const ofAnn = { action: begun, actor: expect.stringContaining(admin.id), subject };
    expect(await auditOf(begun)).toEqual([ofAnn]);
    expect((await auditOf(done)).filter(({ action }) => action === done)).toEqual([]);
    expect((await remove(other, path)).status).toBe(200);
    expect(await countRows(table)).toBe(0);
    const ofBea = { action: done, actor: expect.stringContaining(other.id), subject };
    expect((await auditOf(done)).filter(({ action }) => action === done)).toEqual([ofBea]);
  });
});

it.each([
  ['an operator now', 403, () => app.local('members.update', { memberId: admin.id, role: 'operator' })],
  ['signed out', 401, () => request(app.url, 'DELETE', '/api/v1/staff/session', admin.headers)],
])('the removal of an application ends when the admin is %s: %i', async (_what, status, withdraw) => {
  await createMember(app, 'acme', 'admin', 'Bea');
  await writeMuch();
  const path = `/admin/applications/${acme.application.id}`;
  const { reply, left } = await withdrawnHalfWay(path, 'messages', withdraw);
  expect(reply.status).toBe(status);
  expect(await countRows('messages')).toBe(left);
});

it('what changes beside it ends no removal', async () => {
  await writeMuch();
  const { reply } = await withdrawnHalfWay(`/admin/applications/${acme.application.id}`, 'messages', () =>
    app.local('organizations.update', { organization: 'acme', name: 'Acme & Sons' }),
  );
  expect(reply.status).toBe(200);
  expect(await countRows('messages')).toBe(0);
  expect((await auditOf('applications.delete')).map(({ action }) => action)).toEqual([
    'applications.delete',
    'applications.deleteBegun',
  ]);
});

it('a purge that was confirmed says who said yes before it removes, and one that was not leaves nothing', async () => {
  await writeMuch();
  app.clock.step(800 * 86_400_000);
  await app.local('organizations.update', { organization: 'acme', limits: { retentionDays: 30 } });
  await app.local('retention.purge', {});
  expect((await auditOf('retention.')).map(({ action }) => action)).toEqual(['retention.held']);
  await app.local('retention.purge', { force: true });
  expect((await auditOf('retention.purge')).map(({ action }) => action)).toEqual([
    'retention.purge',
    'retention.purgeBegun',
  ]);
});
