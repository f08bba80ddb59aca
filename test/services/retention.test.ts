// Attacks retention: what may go and what must stay, other organizations' data, read
// positions and counters, clocks that jump, grace, test data, copies of the database.
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runMaintenance } from '../../src/services/data/maintenance.ts';
import { purge } from '../../src/services/data/retention.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { stored } from '../helpers/rest-checks.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestClient,
} from '../helpers/fixtures.ts';

const minute = 60_000;
const day = 86_400_000;
let app: TestApp;

beforeEach(async () => {
  app = await startApp();
});
afterEach(() => app.stop());

/** For what is about the files of the database. */
async function startOnSqlite(): Promise<void> {
  await app.stop();
  app = await startApp({ engine: 'sqlite' });
}

const texts = async (visitor: TestClient, id: string): Promise<string[]> =>
  (
    (await visitor.call('GET', `/conversations/${id}/messages?limit=100`)).body.messages as {
      content: string;
    }[]
  ).map(({ content }) => content);

/** Moves the wall clock without waking the hourly maintenance. */
const later = (ms: number): void => app.clock.step(ms);

describe('the audit log', () => {
  const entries = async (): Promise<number> =>
    Number((await rowsOf(app, 'select count(*) as n from audit'))[0]?.['n']);
  const fill = async (count: number, at: number): Promise<void> => {
    await rowsOf(
      app,
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
       insert into audit (id, organization_id, actor, action, subject, detail, address, created_at)
       select lower(hex(randomblob(16))), case i % 3 when 0 then null else 'o' || (i % 3) end, 'local', 'keys.create', 'key', '{}', null, ${at} from n`,
    );
  };

  it('loses what is older than the server keeps, in slices, of all organizations and of none', async () => {
    const old = app.clock.now() - 366 * day;
    const young = app.clock.now() - 364 * day;
    const before = await entries();
    await fill(1_500, old);
    await fill(1_600, young);
    expect((await purge(app.service, { dryRun: true })).audit).toEqual({
      retentionDays: 365,
      state: 'purged',
      entries: 1_500,
    });
    expect(await entries()).toBe(before + 3_100);
    expect((await purge(app.service)).audit).toMatchObject({ state: 'purged', entries: 1_500 });
    expect(await entries()).toBe(before + 1_600);
    expect((await purge(app.service)).audit).toMatchObject({ state: 'kept', entries: 0 });
  });

  it('waits for a confirmation where more than half would go', async () => {
    await fill(100, app.clock.now() - 366 * day);
    const before = await entries();
    expect((await purge(app.service)).audit).toMatchObject({ state: 'held', entries: 100 });
    expect(await entries()).toBe(before);
    expect((await purge(app.service, { force: true })).audit).toMatchObject({
      state: 'purged',
      entries: 100,
    });
  });

  it('is kept for as long as the setting says', async () => {
    await app.stop();
    app = await startApp({ flags: { auditDays: 'unlimited' } });
    await fill(10, 0);
    expect((await purge(app.service, { force: true })).audit).toEqual({
      retentionDays: null,
      state: 'kept',
      entries: 0,
    });
    expect(await entries()).toBeGreaterThanOrEqual(10);
  });
});

/** Enough young conversations that the old ones are less than half. */
async function youngOnes(visitor: TestClient, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1)
    await createMessage(visitor, await createConversation(visitor), 'young');
}

const count = async (table: string): Promise<number> =>
  Number((await rowsOf(app, `select count(*) as n from ${table}`))[0]?.['n']);

describe('one organization that fails', () => {
  it('keeps none of the others, and nothing that follows, from being purged', async () => {
    const broken = await createOrganization(app, 'broken', 'free');
    const whole = [];
    for (const slug of ['before', 'behind']) {
      const { application } = await createOrganization(app, slug, 'free');
      whole.push(createVisitor(app, application));
    }
    for (const visitor of [createVisitor(app, broken.application), ...whole])
      await createMessage(visitor, await createConversation(visitor), 'too old');
    later(31 * day);
    const { store, maintenance } = app.service.engine;
    const write = store.write.bind(store);
    vi.spyOn(store, 'write').mockImplementation((scope, ...rest) =>
      typeof scope === 'object' && 'organization' in scope && scope.organization === broken.id
        ? Promise.reject(new Error('one row can not be read'))
        : write(scope, ...rest),
    );
    const cleared = vi.spyOn(maintenance, 'clearRemoved');
    try {
      await expect(purge(app.service, { force: true })).rejects.toThrow('one row can not be read');
      expect(cleared).toHaveBeenCalled();
    } finally {
      vi.restoreAllMocks();
    }
    expect(await rowsOf(app, 'select organization_id from messages')).toEqual([
      { organization_id: broken.id },
    ]);
    expect((await purge(app.service, { force: true })).total.messages).toBe(1);
  });
});

describe('what goes', () => {
  it('takes messages past the window to the minute, in every status, and leaves the rest alone', async () => {
    const { application } = await createOrganization(app, 'acme', 'free');
    const other = await createOrganization(app, 'beta', 'enterprise');
    const visitor = createVisitor(app, application);
    const foreign = createVisitor(app, other.application);
    const operator = await createMember(app, 'acme');
    const [pending, active, closed, silent] = [
      await createConversation(visitor),
      await createConversation(visitor),
      await createConversation(visitor),
      await createConversation(visitor, 'silent'),
    ];
    await operator.call('POST', `/conversations/${active}/accept`);
    for (const id of [pending, active, closed, silent]) await createMessage(visitor, id, 'too old');
    await createMessage(foreign, await createConversation(foreign), 'kept for ever');
    later(2 * minute);
    for (const id of [pending, active, closed]) await createMessage(visitor, id, 'just young enough');
    await operator.call('POST', `/conversations/${closed}/resolve`);
    const before = await stored(app);
    later(30 * day - minute);
    const report = await app.local('retention.purge', {});
    expect(report.organizations.find(({ slug }) => slug === 'acme')).toMatchObject({
      state: 'purged',
      live: { conversations: 1, messages: 4, visitors: 0 },
    });
    expect(report.organizations.find(({ slug }) => slug === 'beta')).toMatchObject({
      state: 'kept',
      retentionDays: null,
      live: { messages: 0 },
    });
    for (const id of [pending, active, closed])
      expect(await texts(visitor, id)).toEqual(['just young enough']);
    expect((await visitor.call('GET', `/conversations/${silent}`)).status).toBe(404);
    expect((await visitor.call('GET', '/conversations')).body.total).toBe(3);
    expect(await rowsOf(app, 'select content from messages where organization_id = ?', other.id)).toEqual([
      { content: 'kept for ever' },
    ]);
    expect(await rowsOf(app, 'select status from conversations where id = ?', active)).toEqual([
      { status: 'active' },
    ]);
    for (const table of ['applications', 'members', 'visitors', 'api_keys', 'domains'])
      expect((await stored(app))[table], table).toBe(before[table]);
    expect((await app.local('retention.purge', {})).total).toEqual({
      conversations: 0,
      messages: 0,
      visitors: 0,
    });
  });

  it('says beforehand exactly what it will remove, and removes nothing by saying so', async () => {
    const { application } = await createOrganization(app, 'acme', 'free');
    const gone = createVisitor(app, application);
    for (let index = 0; index < 3; index += 1) {
      const id = await createConversation(gone);
      for (let each = 0; each < 40; each += 1) await createMessage(gone, id, `old ${each}`);
    }
    await createMember(app, 'acme');
    later(31 * day);
    await youngOnes(createVisitor(app, application), 4);
    const before = await stored(app);
    const dry = await app.local('retention.purge', { dryRun: true });
    expect(dry.total).toEqual({ conversations: 3, messages: 120, visitors: 1 });
    expect(await stored(app)).toEqual(before);
    const real = await app.local('retention.purge', {});
    expect({ ...real, dryRun: true }).toEqual(dry);
    expect([await count('conversations'), await count('messages'), await count('visitors')]).toEqual([
      4, 4, 1,
    ]);
    const [row] = await rowsOf(app, "select detail from audit where action = 'retention.purge'");
    expect(JSON.parse(String(row?.['detail']))).toMatchObject({
      conversations: 3,
      messages: 120,
      visitors: 1,
    });
  });

  it('goes on where it was cut off', async () => {
    const { application } = await createOrganization(app, 'acme');
    const limits = { requestsPerMinute: 10_000, retentionDays: 30 };
    await app.local('organizations.update', { organization: 'acme', limits });
    const visitor = createVisitor(app, application);
    for (let index = 0; index < 2; index += 1) {
      const id = await createConversation(visitor);
      for (let each = 0; each < 250; each += 1) await createMessage(visitor, id, 'old');
    }
    later(31 * day);
    await youngOnes(createVisitor(app, application), 3);
    // Cut off one question later each time, so that at least one purge ends between two slices of messages.
    const removed: number[] = [];
    for (let most = 1; removed.length === 0; most += 1) {
      let asked = 0;
      const { total } = await purge(app.service, { stopped: () => (asked += 1) > most });
      if (total.messages > 0) removed.push(total.messages);
    }
    expect(removed[0]).toBeLessThan(500);
    const second = await purge(app.service);
    expect(Number(removed[0]) + second.total.messages).toBe(500);
    expect(await count('messages')).toBe(3);
    expect((await purge(app.service)).total).toEqual({ conversations: 0, messages: 0, visitors: 0 });
  });

  it('runs by itself every hour, and tells the log', async () => {
    const { application } = await createOrganization(app, 'acme', 'free');
    const visitor = createVisitor(app, application);
    await createMessage(visitor, await createConversation(visitor), 'old');
    later(31 * day);
    await youngOnes(createVisitor(app, application), 2);
    app.clock.advance(3_600_000);
    await eventually(async () => expect(await count('messages')).toBe(2));
    await eventually(() => expect(app.logged.join('')).toContain('retention removed'));
  });

  it('removes copies of the database after 30 days, and no other file', async () => {
    await startOnSqlite();
    const made = async (name: string, age: number): Promise<void> => {
      await writeFile(join(app.folder, name), 'x');
      const seconds = (app.clock.now() - age) / 1000;
      await utimes(join(app.folder, name), seconds, seconds);
    };
    await made('deskbell-before-schema-2.db', 31 * day);
    await made('deskbell-before-schema-3.db', 29 * day);
    await made('deskbell-before-schema-2.db.mine', 31 * day);
    expect((await app.local('retention.purge', { dryRun: true })).expiredBackups).toBe(1);
    expect((await app.local('retention.purge', {})).expiredBackups).toBe(1);
    expect((await app.service.engine.maintenance.copies()).map(({ name }) => name)).toEqual([
      'deskbell-before-schema-3.db',
    ]);
  });
});

describe('what stays right', () => {
  it('keeps read positions, unread counts, seq and catching up', async () => {
    const { application } = await createOrganization(app, 'acme', 'free');
    const visitor = createVisitor(app, application);
    const operator = await createMember(app, 'acme');
    const id = await createConversation(visitor);
    await operator.call('POST', `/conversations/${id}/accept`);
    const old = await createMessage(operator, id, 'old answer');
    await visitor.call('POST', `/conversations/${id}/read`, { messageId: old });
    later(20 * day);
    await createMessage(operator, id, 'first unread');
    await createMessage(visitor, id, 'question');
    later(15 * day);
    expect((await app.local('retention.purge', {})).total).toMatchObject({ conversations: 0, messages: 1 });
    expect((await visitor.call('GET', `/conversations/${id}/unread`)).body.unreadCount).toBe(1);
    const socket = await visitor.connect();
    socket.send('room:join', { conversationId: id, lastMessageId: old });
    const sync = await socket.receives('messages:sync');
    expect((sync.messages as { content: string }[]).map(({ content }) => content)).toEqual([
      'first unread',
      'question',
    ]);
    await createMessage(operator, id, 'next');
    expect((await socket.receives('message:new')).content).toBe('next');
    expect(await rowsOf(app, 'select seq from messages where conversation_id = ? order by seq', id)).toEqual([
      { seq: 2 },
      { seq: 3 },
      { seq: 4 },
    ]);
    await socket.close();
  });

  it('takes the words out of the search, and their text out of the files', async () => {
    await startOnSqlite();
    const { application } = await createOrganization(app, 'acme', 'free');
    const visitor = createVisitor(app, application);
    await createMessage(visitor, await createConversation(visitor), 'hippopotamus');
    app.clock.advance(1_000);
    await eventually(async () => expect(await count('search_rows')).toBe(1));
    later(31 * day);
    await youngOnes(createVisitor(app, application), 2);
    await app.local('retention.purge', {});
    expect(await rowsOf(app, "select rowid from search where search match 'hippopotamus'")).toEqual([]);
  });
});

describe('what it refuses', () => {
  it('holds back more than half of an organization until someone says so, and writes it down once', async () => {
    const { application, id } = await createOrganization(app, 'acme', 'free');
    const other = await createOrganization(app, 'beta', 'free');
    for (const one of [application, other.application]) {
      const visitor = createVisitor(app, one);
      for (let index = 0; index < 3; index += 1)
        await createMessage(visitor, await createConversation(visitor), 'old');
    }
    later(31 * day);
    await youngOnes(createVisitor(app, application), 2);
    await youngOnes(createVisitor(app, other.application), 3);
    const dry = await app.local('retention.purge', { dryRun: true });
    for (let run = 0; run < 2; run += 1) {
      const report = await purge(app.service);
      if (run === 0) expect({ ...report, dryRun: true }).toEqual(dry);
      expect(report.organizations.find(({ slug }) => slug === 'acme')).toMatchObject({
        state: 'held',
        live: { conversations: 3, messages: 3, visitors: 1 },
      });
    }
    expect(await rowsOf(app, 'select count(*) as n from messages where organization_id = ?', id)).toEqual([
      { n: 5 },
    ]);
    // Exactly half is not more than half.
    expect(
      await rowsOf(app, 'select count(*) as n from messages where organization_id = ?', other.id),
    ).toEqual([{ n: 3 }]);
    expect(await rowsOf(app, "select organization_id from audit where action = 'retention.held'")).toEqual([
      { organization_id: id },
    ]);
    app.clock.advance(3_600_000);
    await eventually(() => expect(app.logged.join('')).toContain('deskbell purge --yes'));
    expect((await app.local('retention.purge', { force: true })).total).toEqual({
      conversations: 3,
      messages: 3,
      visitors: 1,
    });
    expect(await rowsOf(app, 'select count(*) as n from messages where organization_id = ?', id)).toEqual([
      { n: 2 },
    ]);
  });

  it('does nothing on a clock that has jumped a year or ten on, or behind what is stored', async () => {
    const { application } = await createOrganization(app, 'acme', 'free');
    await youngOnes(createVisitor(app, application), 3);
    for (const jump of [365 * day, 3_650 * day]) {
      later(jump);
      const { total, organizations } = await purge(app.service);
      expect(total).toEqual({ conversations: 0, messages: 0, visitors: 0 });
      expect(organizations).toMatchObject([{ state: 'held', live: { messages: 3 } }]);
      later(-jump);
    }
    later(-app.clock.now());
    await expect(purge(app.service)).rejects.toThrow(/clock says 1970.*nothing was removed/);
    await runMaintenance(app.service);
    expect(await count('messages')).toBe(3);
  });

  it('waits 7 days after a downgrade', async () => {
    const { application } = await createOrganization(app, 'acme', 'premium');
    const visitor = createVisitor(app, application);
    await createMessage(visitor, await createConversation(visitor), 'old');
    later(100 * day);
    await youngOnes(createVisitor(app, application), 2);
    await app.local('organizations.update', { organization: 'acme', plan: 'free' });
    later(7 * day - minute);
    expect((await purge(app.service)).organizations[0]).toMatchObject({
      state: 'grace',
      live: { messages: 0 },
    });
    // Said again, the same plan is no change.
    await app.local('organizations.update', { organization: 'acme', plan: 'free' });
    later(2 * minute);
    expect((await purge(app.service)).organizations[0]).toMatchObject({
      state: 'purged',
      live: { messages: 1 },
    });
  });
});

it('lets test data go after 7 days, whatever the plan, and live data stay', async () => {
  const { application } = await createOrganization(app, 'acme', 'enterprise');
  const live = createVisitor(app, application);
  const test = createVisitorByKey(app, application, 'test');
  await createMessage(live, await createConversation(live), 'live');
  await createMessage(test, await createConversation(test), 'test');
  later(7 * day - minute);
  expect((await purge(app.service)).total.messages).toBe(0);
  later(2 * minute);
  expect((await purge(app.service)).organizations[0]).toMatchObject({
    state: 'kept',
    test: { conversations: 1, messages: 1, visitors: 1 },
  });
  expect(await rowsOf(app, 'select content from messages')).toEqual([{ content: 'live' }]);
});
