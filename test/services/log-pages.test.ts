// Owns: that a page of a log and the number of its rows are exact however long it is, and that others have the loop beside it.
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { readLogPage } from '../../src/services/core/log-pages.ts';
import { purgeAudit } from '../../src/services/data/audit-retention.ts';
import type { ReadTx } from '../../src/services/service.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createApplication,
  createMember,
  createOrganization,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { requestBytes } from '../helpers/raw-http.ts';
import { replacing } from '../helpers/replacing.ts';
import { ask } from '../helpers/rest-checks.ts';
import { slowLooks, turnsDuring } from '../helpers/slow-looks.ts';

/** Some times what is looked at in one go. */
const count = 12_000;

let app: TestApp;
let acme: TestOrganization;
let ann: TestMember;
let webhookId: string;
let secondId: string;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  await createOrganization(app, 'other');
  secondId = (await createApplication(app, 'acme', 'second.example')).id;
  ann = await createMember(app, 'acme', 'admin');
  ({ id: webhookId } = await app.local('webhooks.create', {
    organization: 'acme',
    url: 'https://hooks.example/',
  }));
  await fillLogs();
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => app.stop());

/** Row 0 is the newest of each log. Two are made within a ms, and 1,500 within one, which no look can end among. */
async function fillLogs(): Promise<void> {
  const now = app.clock.now();
  const rows = `with recursive n(i) as (select 0 union all select i + 1 from n where i < ${count - 1}),
    made(i, id, at) as (select i, '00000000-0000-4000-8000-' || (900000000000 - i),
      ${now} - case when i < 1000 then i / 2 when i < 2500 then 499 else i end from n)`;
  const [organization] = await rowsOf(app, "select id from organizations where slug = 'acme'");
  const id = String(organization?.['id']);
  await rowsOf(
    app,
    `insert into audit (id, organization_id, actor, action, subject, detail, address, created_at)
     ${rows} select id, '${id}', 'local', case when i % 3 = 0 then 'third.row' else 'other.row' end, 'row:' || i, '{}', null, at from made`,
  );
  await rowsOf(
    app,
    `insert into webhook_deliveries (id, webhook_id, type, event_seq, event_at, in_turn, status, attempts, next_attempt_at, give_up_at, error, created_at)
     ${rows} select id, '${webhookId}', 'message:new', 9000000 - i, at, 0,
       case when i % 3 = 0 then 'failed' when i % 3 = 1 then 'waiting' else 'delivered' end, 1,
       case when i % 3 = 1 then ${now} + 3600000 end, ${now} + 86400000, 'row:' || i, at from made`,
  );
  await rowsOf(
    app,
    `insert into effects (id, organization_id, kind, key, about, payload, state, attempts, give_up_at, error, created_at)
     ${rows} select id, '${id}', case when i % 2 = 0 then 'mail' else 'push' end, 'row:' || i, 'test', '{}',
       case when i % 3 = 0 then 'failed' else 'delivered' end, 1, at, 'row:' || i, at from made`,
  );
  await rowsOf(
    app,
    `insert into ai_log (id, organization_id, application_id, mode, door, actor, question, outcome, sources, duration_ms, created_at)
     ${rows} select id, '${id}', case when i % 3 = 0 then '${secondId}' else '${acme.application.id}' end, 'live', 'answer', 'visitor', 'row:' || i, 'refused', '[]', 1, at from made`,
  );
}

type Fits = (row: number) => boolean;
const thirds: Fits = (row) => row % 3 === 0;

/** Each list with and without a filter: its path, the field that names the row, and which rows fit. */
const lists: readonly [name: string, path: () => string, field: string, rows: string, fits: Fits][] = [
  ['the audit log', () => '/admin/audit?q=row:', 'subject', 'entries', () => true],
  ['acts of the audit log', () => '/admin/audit?action=third.', 'subject', 'entries', thirds],
  ['deliveries', () => `/admin/webhooks/${webhookId}/deliveries?`, 'error', 'deliveries', () => true],
  [
    'failed deliveries',
    () => `/admin/webhooks/${webhookId}/deliveries?status=failed`,
    'error',
    'deliveries',
    thirds,
  ],
  [
    'deliveries that wait',
    () => `/admin/webhooks/${webhookId}/deliveries?status=waiting`,
    'error',
    'deliveries',
    (row) => row % 3 === 1,
  ],
  ['the outbox', () => '/admin/outbox?', 'error', 'effects', () => true],
  [
    'failed mails',
    () => '/admin/email/deliveries?status=failed',
    'error',
    'deliveries',
    (row) => row % 6 === 0,
  ],
  ["the assistant's log", () => '/admin/ai-log?', 'question', 'entries', () => true],
  [
    "an application's questions",
    () => `/admin/ai-log?applicationId=${secondId}`,
    'question',
    'entries',
    thirds,
  ],
];

describe('a page and the number of all', () => {
  it.each(lists)('%s', async (_name, path, field, rows, fits) => {
    const expected = Array.from({ length: count }, (_, row) => row)
      .filter(fits)
      .map((row) => `row:${row}`);
    // The first, across what one ms holds, further back, the last, and behind it.
    for (const offset of [0, 330, 820, 1_500, expected.length - 10, expected.length + 5]) {
      const { status, body } = await ask(app, ann, 'GET', `${path()}&limit=30&offset=${offset}`);
      expect(status).toBe(200);
      expect([body.total, body.limit, body.offset]).toEqual([expected.length, 30, offset]);
      expect((body[rows] as Record<string, unknown>[]).map((row) => row[field])).toEqual(
        expected.slice(offset, offset + 30),
      );
    }
  });

  it('of the whole audit log, of all organizations on the command line, and between two times', async () => {
    const { total: own } = (await ask(app, ann, 'GET', '/admin/audit')).body as { total: number };
    const { total: all } = await app.local('audit.list', {});
    const counted = await rowsOf(
      app,
      'select organization_id, count(*) as n from audit group by organization_id',
    );
    const numbers = counted.map(({ n }) => Number(n));
    expect(own).toBe(Math.max(...numbers));
    expect(all).toBe(numbers.reduce((sum, one) => sum + one, 0));
    const at = (ms: number): string => new Date(app.clock.now() - ms).toISOString();
    // From row 7,000 to row 3,001.
    const { entries, total } = await app.local('audit.list', {
      from: at(7_000),
      to: at(3_000),
      action: 'third.',
      limit: 1,
      offset: 1_332,
    });
    expect([total, entries[0]?.subject]).toEqual([1_333, 'row:6999']);
  });

  it('of what waits for a webhook, few and many', async () => {
    const waiting = async (id: string): Promise<unknown[]> => {
      const { body: list } = await ask(app, ann, 'GET', '/admin/webhooks');
      const { body: one } = await ask(app, ann, 'GET', `/admin/webhooks/${id}`);
      const { body: changed } = await ask(app, ann, 'PATCH', `/admin/webhooks/${id}`, { events: null });
      const listed = list.webhooks.find((webhook: { id: string }) => webhook.id === id);
      const { body: page } = await ask(
        app,
        ann,
        'GET',
        `/admin/webhooks/${id}/deliveries?status=waiting&limit=2&offset=1`,
      );
      const rows = page.deliveries.map(({ error }: { error: string }) => error);
      return [listed.waiting, one.webhook.waiting, changed.webhook.waiting, page.total, ...rows];
    };
    const many = await app.local('webhooks.create', { organization: 'acme', url: 'https://many.example/' });
    await write(
      `insert into webhook_deliveries (id, webhook_id, type, event_seq, event_at, in_turn, status, attempts, next_attempt_at, give_up_at, error, created_at)
       with recursive n(i) as (select 0 union all select i + 1 from n where i < 51999)
       select '00000000-0000-4000-9000-' || (900000000000 - i), '${many.id}', 'message:new', 9000000 - i, 0, 0, 'waiting', 1,
         ${app.clock.now() + 3_600_000}, ${app.clock.now() + 86_400_000}, 'row:' || i, ${app.clock.now()} - i from n`,
    );
    expect(await waiting(many.id)).toEqual([52_000, 52_000, 52_000, 52_000, 'row:1', 'row:2']);
    expect(await waiting(webhookId)).toEqual([4_000, 4_000, 4_000, 4_000, 'row:4', 'row:7']);
    await write(`delete from webhook_deliveries where webhook_id = '${many.id}'`);
    await app.local('webhooks.delete', { webhookId: many.id });
  });

  it('of what was there when it was asked for: what comes and goes in between moves nothing', async () => {
    const offset = 6_000;
    slowLooks(app);
    const come = '00000000-0000-4000-9000-000000000001';
    const change = async (): Promise<void> => {
      await write(
        `insert into webhook_deliveries (id, webhook_id, type, event_seq, event_at, in_turn, status, attempts, give_up_at, created_at)
         values ('${come}', '${webhookId}', 'message:new', 9000001, 0, 0, 'failed', 1, 0, ${app.clock.now()})`,
      );
      await write(`delete from webhook_deliveries where error = 'row:${count - 1}'`);
    };
    let looks = 0;
    const log = ({ repositories: { webhooks } }: ReadTx): typeof webhooks.log => ({
      ...webhooks.log,
      timeOf: async (...look) => {
        looks += 1;
        if (looks === 3) await change();
        return webhooks.log.timeOf(...look);
      },
    });
    const { rows, total } = await readLogPage(
      { service: app.service },
      'acme',
      { log, filter: { webhookId } },
      { limit: 3, offset },
    );
    expect(rows.map(({ error }) => error)).toEqual([
      `row:${offset}`,
      `row:${offset + 1}`,
      `row:${offset + 2}`,
    ]);
    expect(total).toBe(count - 1);
    await write(`delete from webhook_deliveries where id = '${come}'`);
  });
});

/** The server may be writing just then, in this very process. */
function write(sql: string): Promise<unknown> {
  return eventually(() => rowsOf(app, sql));
}

/** Calls with each look into the assistant's log, until mocks are restored. */
function countLooks(onLook: () => void): void {
  const { store } = app.service.engine;
  const read = store.read.bind(store);
  const counted = (tx: ReadTx): ReadTx => {
    const { aiLog } = tx.repositories;
    const timeOf: typeof aiLog.log.timeOf = (...look) => {
      onLook();
      return aiLog.log.timeOf(...look);
    };
    const log = { ...aiLog.log, timeOf };
    return { ...tx, repositories: replacing(tx.repositories, 'aiLog', { ...aiLog, log }) };
  };
  vi.spyOn(store, 'read').mockImplementation((work) => read((tx) => work(counted(tx))));
}

describe('long ones of an organization', () => {
  it('go one behind the other, and only so many wait', async () => {
    slowLooks(app);
    const asked = 100;
    const replies = await Promise.all(
      Array.from({ length: asked }, () => ask(app, ann, 'GET', '/admin/ai-log?limit=1')),
    );
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.body).toMatchObject({
      error: 'rate_limit_exceeded',
      message: 'Too many requests of yours wait already; try again in 1 s.',
    });
    const answered = replies.filter(({ status }) => status === 200);
    expect(answered.length).toBe(asked - refused.length);
    expect(answered.length).toBeGreaterThan(20);
    expect(new Set(answered.map(({ body }) => body.total))).toEqual(new Set([count]));
  });

  it.each([1, 20])(
    'end where their caller hangs up, and give their places back: %i of them',
    async (asked) => {
      // The one whose looks are counted, where there are several servers.
      const one: TestApp = { ...app, url: app.urls[0] ?? app.url };
      slowLooks(one);
      let looks = 0;
      let onLook = (): void => undefined;
      countLooks(() => {
        looks += 1;
        onLook();
      });
      await ask(one, ann, 'GET', '/admin/ai-log?limit=1');
      const whole = looks;
      // One of them is under way by then, and the others wait.
      const dropAt = whole + asked + 3;
      const { hostname, port } = new URL(one.url);
      // Those of one connection would begin one after the other.
      const sockets = Array.from({ length: asked }, () => connect(Number(port), hostname));
      onLook = () => {
        if (looks === dropAt) for (const socket of sockets) socket.destroy();
      };
      const path = '/api/v1/admin/ai-log?limit=1';
      const headers = [...Object.entries(ann.headers), ['Connection', 'keep-alive'] as const];
      const closed = Promise.all(sockets.map((socket) => once(socket, 'close')));
      for (const socket of sockets) socket.write(requestBytes(one.url, { path, headers }));
      await closed;
      const heard = looks;
      const replies = await Promise.all(
        Array.from({ length: 20 }, () => ask(one, ann, 'GET', '/admin/ai-log?limit=1')),
      );
      expect(new Set(replies.map(({ status, body }) => [status, body.total].join()))).toEqual(
        new Set([`200,${count}`]),
      );
      expect(heard - dropAt).toBeLessThan(4);
      // Where the server is told of the others later, each may have looked once by then.
      expect(looks - dropAt - 20 * whole).toBeLessThan(3 + asked);
      expect(whole).toBeGreaterThan(10);
      expect(app.logged.join('')).not.toContain('internal error');
    },
  );

  it('that wait are looked for no further than the page needs', async () => {
    slowLooks(app);
    const read = vi.spyOn(app.service.engine.store, 'read');
    await app.local('webhooks.deliveries', { webhookId, status: 'waiting' });
    expect(read.mock.calls.length).toBeLessThan(8);
    read.mockClear();
    await app.local('webhooks.deliveries', { webhookId, status: 'failed' });
    expect(read.mock.calls.length).toBeGreaterThan(8);
  });
});

describe('others have the loop', () => {
  it.each([
    ['audit.list', { organization: 'acme' }],
    ['audit.list', { organization: 'acme', q: 'nowhere' }],
    ['audit.list', { organization: 'acme', offset: count - 5 }],
    ['outbox.list', { organization: 'acme' }],
    ['outbox.list', { organization: 'acme', status: 'skipped' }],
    ['email.deliveries', { organization: 'acme', offset: count - 5 }],
    ['ai.log', { organization: 'acme' }],
  ] as const)('%s %o', async (name, input) => {
    expect(await turnsDuring(app, () => app.local(name, input))).toBeGreaterThan(8);
  });

  it.each([{}, { status: 'failed' }, { offset: count - 5 }] as const)(
    'webhooks.deliveries %o',
    async (input) => {
      expect(
        await turnsDuring(app, () => app.local('webhooks.deliveries', { webhookId, ...input })),
      ).toBeGreaterThan(8);
    },
  );

  it('while the server counts what of the audit log is due', async () => {
    const service = { ...app.service, settings: { ...app.service.settings, auditDays: 1 } };
    const later = app.clock.now() + 2 * 86_400_000;
    const { total } = await app.local('audit.list', {});
    const turns = await turnsDuring(app, async () =>
      expect(await purgeAudit(service, later, { dryRun: true })).toEqual({
        retentionDays: 1,
        state: 'held',
        entries: total,
      }),
    );
    expect(turns).toBeGreaterThan(8);
  });
});
