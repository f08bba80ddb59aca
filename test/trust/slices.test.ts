// Whatever writes, removes or reads many rows does so in many short transactions: no one of them holds the write lock or
// the event loop, and with it everyone else, for long. Counted in rows by transaction, on a clock that moves 5 ms at each look.
import { setImmediate as yieldToLoop } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Output } from '../../src/protocol/operations.ts';
import { runAutoRelease } from '../../src/services/chat/auto-release.ts';
import { updateSearchIndex } from '../../src/services/chat/search.ts';
import { runMaintenance } from '../../src/services/data/maintenance.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const rows = 120;
const day = 86_400_000;
/** A slice looks at the clock three times, and a statement removes 25 rows at most. */
const mostInOneTransaction = 75;

let app: TestApp;
let acme: TestOrganization;

beforeEach(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
});
afterEach(async () => {
  vi.restoreAllMocks();
  await app.stop();
});

const countRows = async (table: string): Promise<number> =>
  Number((await rowsOf(app, `select count(*) as n from ${table}`))[0]?.['n']);

/** By how many rows of a table one transaction changed at most, while `work` ran. */
async function largestStep(table: string, work: () => Promise<unknown>): Promise<number> {
  const { store } = app.service.engine;
  const { monotonic } = app.clock;
  const write = store.write.bind(store);
  let looks = 0;
  let largest = 0;
  let before = await countRows(table);
  vi.spyOn(app.clock, 'monotonic').mockImplementation(() => monotonic() + 5 * (looks += 1));
  vi.spyOn(store, 'write').mockImplementation(async (scope, some) => {
    const done = await write(scope, some);
    const now = await countRows(table);
    largest = Math.max(largest, Math.abs(now - before));
    before = now;
    return done;
  });
  await work();
  vi.restoreAllMocks();
  return largest;
}

const sections = (count: number, words: string): string =>
  Array.from({ length: count }, (_, at) => `## Part ${at}\n\n${`${words} ${at} `.repeat(40)}\n\n`).join('');

const addDocument = (words: string) =>
  app.local('knowledge.add', {
    applicationId: acme.application.id,
    source: 'long.md',
    format: 'markdown',
    content: sections(rows, words),
  });

describe('the conversations of a member', () => {
  /** A member with many active conversations. @param each how many */
  async function aBusyMember(each: number): Promise<TestMember> {
    const member = await createMember(app, 'acme', 'operator');
    const conversationId = await createConversation(createVisitor(app, acme.application), 'first');
    await app.service.engine.store.write('server', async ({ repositories }) => {
      const found = await repositories.conversations.byId(conversationId);
      if (found === undefined) throw new Error('no conversation');
      const { visitor_id: _id, visitor_name: _name, ...conversation } = found;
      for (let at = 0; at < each; at += 1)
        await repositories.conversations.insert({
          ...conversation,
          id: app.clock.newId(),
          idempotency_key: null,
          status: 'active',
          assigned_to: member.id,
        });
    });
    return member;
  }

  const held = async ({ id }: TestMember): Promise<number> =>
    Number(
      (await rowsOf(app, 'select count(*) as n from conversations where assigned_to = ?', id))[0]?.['n'],
    );

  /** How many of them one transaction released at most, while `work` ran. */
  async function mostReleased(member: TestMember, work: () => Promise<unknown>): Promise<number> {
    const { store } = app.service.engine;
    const write = store.write.bind(store);
    let most = 0;
    let before = await held(member);
    vi.spyOn(store, 'write').mockImplementation(async (scope, some) => {
      const done = await write(scope, some);
      const now = await held(member);
      most = Math.max(most, before - now);
      before = now;
      return done;
    });
    await work();
    vi.restoreAllMocks();
    return most;
  }

  const disable = (memberId: string) => app.local('members.update', { memberId, disabled: true });

  it('go back to the queue a part at a time when the member is disabled', async () => {
    const member = await aBusyMember(230);
    expect(await mostReleased(member, () => disable(member.id))).toBe(50);
    expect(await held(member)).toBe(0);
    const states = await rowsOf(app, 'select status, count(*) as n from conversations group by status');
    expect(states).toEqual([{ status: 'pending', n: 231 }]);
    const released = await rowsOf(app, "select * from events where type = 'conversation:released'");
    expect(released).toHaveLength(230);
  });

  it('go back, the first of them, in the commit that ends the rights of the member', async () => {
    for (const end of [
      ({ id }: TestMember) => disable(id),
      ({ id }: TestMember) => app.local('members.remove', { memberId: id }),
    ]) {
      const member = await aBusyMember(60);
      const { store } = app.service.engine;
      const write = store.write.bind(store);
      const left: number[] = [];
      vi.spyOn(store, 'write').mockImplementation(async (scope, some) => {
        const done = await write(scope, some);
        left.push(await held(member));
        return done;
      });
      await end(member);
      vi.restoreAllMocks();
      expect([left[0], left.at(-1)]).toEqual([10, 0]);
    }
  });

  it('go back to the queue a part at a time when the member is removed, who is removed then', async () => {
    const member = await aBusyMember(230);
    const admin = await createMember(app, 'acme', 'admin');
    let status: number | undefined;
    const most = await mostReleased(member, async () => {
      ({ status } = await request(app.url, 'DELETE', `/api/v1/admin/members/${member.id}`, admin.headers));
    });
    expect([status, most, await held(member)]).toEqual([200, 50, 0]);
    const members = await rowsOf(app, 'select id from members');
    expect(members).toEqual([{ id: admin.id }]);
    const noted = await rowsOf(app, "select action from audit where action like 'members.%' order by id");
    expect(noted.slice(-2)).toEqual([{ action: 'members.removeBegun' }, { action: 'members.remove' }]);
    expect((await member.call('GET', '/members')).status).toBe(401);
  });

  it('and unsent answers are removed a part at a time with the member', async () => {
    const member = await aBusyMember(rows);
    await app.service.engine.store.write('server', async ({ repositories }) => {
      for (const { id } of await rowsOf(app, 'select id from conversations where assigned_to = ?', member.id))
        await repositories.drafts.put({
          conversation_id: String(id),
          member_id: member.id,
          content: 'unsent',
          updated_at: app.clock.now(),
        });
    });
    expect(await countRows('drafts')).toBe(rows);
    const step = await largestStep('drafts', () => app.local('members.remove', { memberId: member.id }));
    expect([step <= mostInOneTransaction, await countRows('drafts')]).toEqual([true, 0]);
    expect(await rowsOf(app, 'select id from members')).toEqual([]);
  });

  /** Before the third write of what is called next: some of the conversations are released by then. */
  function admitAgainBetween({ id }: { readonly id: string }): void {
    const { store } = app.service.engine;
    const write = store.write.bind(store);
    let slices = 0;
    vi.spyOn(store, 'write').mockImplementation(async (scope, some) => {
      slices += 1;
      if (slices === 3)
        await write('server', ({ repositories }) => repositories.members.setDisabled(id, null));
      return write(scope, some);
    });
  }

  it('stay with a member who is admitted again in the middle', async () => {
    const member = await aBusyMember(230);
    admitAgainBetween(member);
    await disable(member.id);
    vi.restoreAllMocks();
    // Those of the first transaction and of one slice are gone.
    const left = await held(member);
    expect([left > 100, left < 180]).toEqual([true, true]);
  });

  it('stay with a member who is admitted again while being removed, and so does the member', async () => {
    const member = await aBusyMember(230);
    admitAgainBetween(member);
    await expect(app.local('members.remove', { memberId: member.id })).rejects.toMatchObject({
      code: 'conflict',
    });
    vi.restoreAllMocks();
    expect(await held(member)).toBeGreaterThan(100);
    expect(await rowsOf(app, 'select id from members where id = ?', member.id)).toHaveLength(1);
  });

  it('that were left to a disabled member, as by a server that was killed, go back by the automatic release', async () => {
    const member = await aBusyMember(230);
    const { store } = app.service.engine;
    const write = store.write.bind(store);
    let slices = 0;
    vi.spyOn(store, 'write').mockImplementation((scope, some) => {
      slices += 1;
      return slices === 1 ? write(scope, some) : Promise.reject(new Error('killed'));
    });
    await expect(disable(member.id)).rejects.toThrow('killed');
    vi.restoreAllMocks();
    expect(await held(member)).toBe(180);
    expect(await mostReleased(member, () => runAutoRelease(app.service))).toBeLessThanOrEqual(50);
    expect(await held(member)).toBe(0);
  });
});

it('the passages of a long document come, change and go', async () => {
  expect(await largestStep('knowledge_passages', () => addDocument('parcels and letters'))).toBeLessThan(10);
  const passages = await countRows('knowledge_passages');
  expect(passages).toBeGreaterThanOrEqual(rows);
  expect(await largestStep('knowledge_passages', () => addDocument('letters and stamps'))).toBeLessThan(
    mostInOneTransaction,
  );
  expect(await countRows('knowledge_passages')).toBe(passages);
  const { documents } = await app.local('knowledge.list', { applicationId: acme.application.id });
  expect(
    await largestStep('knowledge_passages', () =>
      app.local('knowledge.remove', { documentId: documents[0]!.id }),
    ),
  ).toBeLessThan(mostInOneTransaction);
  expect(await countRows('knowledge_passages')).toBe(0);
});

it('a long document that was cut off in the middle is completed in the background', async () => {
  await addDocument('parcels and letters');
  const found = await rowsOf(app, 'select heading, text from knowledge_passages order by position');
  await rowsOf(app, 'delete from knowledge_passages where position >= 50');
  await rowsOf(app, 'update knowledge_documents set edition = -edition');
  const { rechunkStaleDocuments } = await import('../../src/services/assistant/knowledge/documents.ts');
  await rechunkStaleDocuments(app.service);
  expect(await rowsOf(app, 'select heading, text from knowledge_passages order by position')).toEqual(found);
  expect(await rowsOf(app, 'select 1 from knowledge_documents where edition > 0')).toHaveLength(1);
});

/** How many turns of the loop others have while `work` runs. */
async function countTurns(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let over = false;
  const counting = (async () => {
    while (!over) {
      await yieldToLoop();
      turns += 1;
    }
  })();
  await work();
  over = true;
  await counting;
  return turns;
}

it('unanswered questions are grouped while others are served', async () => {
  await rowsOf(
    app,
    `with recursive series(value) as (select 1 union all select value + 1 from series where value < 500)
     insert into ai_log (id, organization_id, application_id, mode, door, actor, question, outcome, sources, duration_ms, created_at)
     select 'gap-' || value, (select id from organizations where slug = 'acme'), '${acme.application.id}', 'live', 'answer', 'visitor', hex(randomblob(500)), 'refused', '[]', 1, value
     from series`,
  );
  const { monotonic } = app.clock;
  let looks = 0;
  // A slice takes three texts then.
  vi.spyOn(app.clock, 'monotonic').mockImplementation(() => monotonic() + 5 * (looks += 1));
  let total = 0;
  const turns = await countTurns(async () => {
    ({ total } = await app.local('knowledge.gaps', { applicationId: acme.application.id }));
  });
  expect(total).toBeGreaterThan(100);
  // Each text is cut in one step, and compared in another one.
  expect(turns).toBeGreaterThan(300);
});

it('a long document is cut while others are served', async () => {
  const { prepareDocument } = await import('../../src/services/assistant/knowledge/documents.ts');
  let found = 0;
  const turns = await countTurns(async () => {
    const { passages } = await prepareDocument(
      { service: app.service, actor: { kind: 'local' }, address: null, contentLimit: 0 },
      {
        applicationId: acme.application.id,
        source: 'book.md',
        format: 'markdown',
        content: sections(rows * 5, 'ink and paper'),
      },
    );
    found = passages.length;
  });
  expect(found).toBeGreaterThanOrEqual(rows * 5);
  expect(turns).toBeGreaterThan(10);
});

async function addWebhook(): Promise<string> {
  const webhook = await app.local('webhooks.create', { organization: 'acme', url: 'https://hooks.example/' });
  const { store, clock } = app.service.engine;
  await store.write('server', async ({ repositories }) => {
    for (let at = 0; at < rows; at += 1)
      await repositories.webhooks.insertDelivery({
        id: clock.newId(),
        webhook_id: webhook.id,
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
  return webhook.id;
}

it('the deliveries of a webhook go before it does', async () => {
  const webhookId = await addWebhook();
  expect(
    await largestStep('webhook_deliveries', () => app.local('webhooks.delete', { webhookId })),
  ).toBeLessThan(mostInOneTransaction);
  expect((await countRows('webhook_deliveries')) + (await countRows('webhooks'))).toBe(0);
});

async function addEvents(): Promise<void> {
  const visitor = createVisitor(app, acme.application);
  const conversationId = await createConversation(visitor);
  for (let at = 0; at < rows; at += 1) await createMessage(visitor, conversationId);
  await app.service.engine.store.write('server', async (tx) => {
    for (let at = 0; at < rows; at += 1)
      await tx.emit({
        organization_id: acme.id,
        conversation_id: conversationId,
        mode: 'live',
        type: 'conversation:released',
        audience: 'staff',
        actor_id: visitor.id,
        message_id: null,
        member_id: null,
        payload: {},
      });
  });
}

it('old events and deliveries go', async () => {
  await addEvents();
  await addWebhook();
  app.clock.step(31 * day);
  const largest = await largestStep('event_log', () => runMaintenance(app.service));
  expect(largest).toBeGreaterThan(0);
  expect(largest).toBeLessThan(mostInOneTransaction);
  expect(await countRows('event_log')).toBe(1);
  expect(await countRows('webhook_deliveries')).toBe(0);
  await addWebhook();
  app.clock.step(31 * day);
  expect(await largestStep('webhook_deliveries', () => runMaintenance(app.service))).toBeLessThan(
    mostInOneTransaction,
  );
});

it.each(['audit', 'webhook_deliveries', 'knowledge_passages', 'messages'])(
  "an organization's rows of %s go before it does",
  async (table) => {
    await addEvents();
    await addWebhook();
    await addDocument('parcels and letters');
    const { store, clock } = app.service.engine;
    await store.write('server', async ({ repositories }) => {
      for (let at = 0; at < rows; at += 1)
        await repositories.audit.insert({
          id: clock.newId(),
          organization_id: acme.id,
          actor: 'local',
          action: 'test',
          subject: `organization:${acme.id}`,
          detail: '{}',
          address: null,
          created_at: clock.now(),
        });
    });
    const most = await largestStep(table, () => app.local('organizations.delete', { organization: 'acme' }));
    expect(most).toBeLessThanOrEqual(mostInOneTransaction);
    expect(await rowsOf(app, 'select 1 from events where organization_id = ?', acme.id)).toEqual([]);
    // The log of the server keeps that it was begun and done.
    expect(await countRows(table)).toBe(table === 'audit' ? 2 : 0);
  },
);

it('words are put into the index of the search', async () => {
  await addEvents();
  await rowsOf(app, 'delete from search_rows');
  await rowsOf(app, "delete from meta where key = 'search_cursor'");
  expect(await largestStep('search_rows', () => updateSearchIndex(app.service))).toBeLessThan(10);
  expect(await countRows('search_rows')).toBe(rows);
});

it('events become deliveries of many webhooks', async () => {
  const webhooks = 5;
  for (let at = 0; at < webhooks; at += 1)
    await app.local('webhooks.create', { organization: 'acme', url: 'https://hooks.example/' });
  const conversationId = await createConversation(createVisitor(app, acme.application));
  await eventually(async () => expect(await countRows('webhook_deliveries')).toBe(webhooks));
  const event = (await rowsOf(app, 'select * from events order by seq desc limit 1'))[0]!;
  const most = await largestStep('webhook_deliveries', async () => {
    await app.service.engine.store.write('server', async (tx) => {
      for (let at = 0; at < rows; at += 1)
        await tx.emit({
          organization_id: acme.id,
          conversation_id: conversationId,
          mode: 'live',
          type: 'message:new',
          audience: 'room',
          actor_id: String(event['actor_id']),
          message_id: null,
          member_id: null,
          payload: {},
        });
    });
    await eventually(async () => expect(await countRows('webhook_deliveries')).toBe(webhooks * (rows + 1)));
  });
  expect(most).toBeLessThanOrEqual(100);
});

describe('figures and exports are read in slices', () => {
  /** Turns of the loop that others had while `work` ran. */
  async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
    let turns = 0;
    let over = false;
    const counting = (async () => {
      while (!over) {
        await yieldToLoop();
        turns += 1;
      }
    })();
    await work();
    over = true;
    await counting;
    return turns;
  }

  async function addConversations(count: number, messages: number): Promise<string> {
    const visitor = createVisitor(app, acme.application);
    const conversationId = await createConversation(visitor, 'first');
    const template = await createMessage(visitor, conversationId, 'the parcel never arrived');
    const { store, clock } = app.service.engine;
    await store.write('server', async ({ repositories }) => {
      const {
        visitor_id: _id,
        visitor_name: _name,
        ...conversation
      } = (await repositories.conversations.byId(conversationId))!;
      const {
        visitor_name: _visitor,
        member_name: _member,
        ...message
      } = (await repositories.messages.byId(template))!;
      for (let at = 0; at < count; at += 1)
        await repositories.conversations.insert({
          ...conversation,
          id: clock.newId(),
          idempotency_key: null,
        });
      for (let at = 0; at < messages; at += 1)
        await repositories.messages.append(
          { ...message, id: clock.newId(), client_message_id: null },
          'visitor',
        );
    });
    return visitor.id;
  }

  it('what an organization did', async () => {
    await addConversations(2_000, 0);
    let opened = 0;
    const turns = await turnsDuring(async () => {
      ({
        stats: { opened },
      } = await app.local('organizations.stats', { organization: 'acme' }));
    });
    expect(opened).toBe(2_001);
    expect(turns).toBeGreaterThanOrEqual(5);
  });

  it('what an organization used', async () => {
    await addConversations(300, 2_000);
    let used = { conversations: 0, messages: 0, visitors: 0 };
    const turns = await turnsDuring(async () => {
      used = await app.local('organizations.usage', { organization: 'acme' });
    });
    expect(used).toMatchObject({ conversations: 301, messages: 2_001, visitors: 1 });
    expect(turns).toBeGreaterThanOrEqual(4);
  });

  it('what is kept of a visitor, with an answer in pieces that are the same JSON', async () => {
    const visitorId = await addConversations(3, 2_000);
    const admin = await createMember(app, 'acme', 'admin');
    let data: Output<'visitors.export'> | undefined;
    const turns = await turnsDuring(async () => {
      data = await app.local('visitors.export', { visitorId });
    });
    expect(data?.conversations.flatMap(({ messages }) => messages)).toHaveLength(2_001);
    expect(turns).toBeGreaterThanOrEqual(10);
    const { status, headers, body } = await admin.call('GET', `/../admin/visitors/${visitorId}`);
    expect([status, headers.get('content-length')]).toEqual([200, null]);
    expect(body.conversations).toEqual(JSON.parse(JSON.stringify(data?.conversations)));
  });
});
