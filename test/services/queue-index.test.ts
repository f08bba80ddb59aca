// The index of the queue says what the rows say, whatever has changed them, in this process or another: each way in which it could lie
// is done between two looks, and lists and counts are held against a plain statement.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { localOn } from '../../src/cli/local.ts';
import { readConfig } from '../../src/config.ts';
import type { ConversationFilter, QueueFacets } from '../../src/engine/repositories/conversations.ts';
import { openService } from '../../src/open-service.ts';
import { conversationStatus, priority } from '../../src/protocol/entities.ts';
import { queueSort, type QueueSort } from '../../src/protocol/queue.ts';
import { QueueIndex } from '../../src/services/chat/queue-index/queue-index.ts';
import { queueIndexes } from '../../src/services/chat/queue-index/queue-indexes.ts';
import { memberActor } from '../helpers/actors.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
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
import { seededRandom } from '../helpers/rounds.ts';

let app: TestApp;
let acme: TestOrganization;
let ann: TestMember;
let bob: TestMember;
let visitor: TestClient;
let open: string[];

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  ann = await createMember(app, 'acme', 'admin', 'Ann');
  bob = await createMember(app, 'acme', 'operator', 'Bob');
});
afterAll(() => app.stop());

beforeEach(async () => {
  visitor = createVisitor(app, acme.application);
  app.clock.advance(60_000);
  open = [];
  for (const text of ['one', 'two', 'three']) {
    const id = await createConversation(visitor);
    await createMessage(visitor, id, text);
    open.push(id);
  }
  // The index is there before anything happens.
  await hold();
});

const questions: Readonly<Record<string, string>> = {
  '': 'true',
  'status=pending': `c.status = 'pending'`,
  'status=closed': `c.status = 'closed'`,
  'assignedTo=me': 'c.assigned_to = :me',
  'assignedTo=none': 'c.assigned_to is null',
  'unread=true': 'c.last_visitor_seq > position',
  'unread=false': 'c.last_visitor_seq <= position',
  'snoozed=true': 'true',
  'priority=urgent': `c.priority = 'urgent'`,
  'untagged=true': 'tags is null',
  'tag=bug': `tags like '%,bug,%'`,
  'tag=bug&tag=bill&unread=true': `tags like '%,bug,%' and tags like '%,bill,%' and c.last_visitor_seq > position`,
  'channel=email': `c.channel = 'email'`,
  'channel=chat': 'c.channel is null',
  'waitingLonger=1': 'c.waiting_since <= :now - 60000',
};

/** Holds the lists and totals of both members against the rows. @returns how many conversations there are */
async function hold(): Promise<number> {
  let all = 0;
  for (const member of [ann, bob])
    for (const [question, condition] of Object.entries(questions)) {
      const snoozed = question.startsWith('snoozed') ? 'is not null' : 'is null';
      const rows = await rowsOf(
        app,
        `select c.id, c.updated_at from (select conversations.*, (select ',' || group_concat(t.name, ',') || ',' from conversation_tags as h
             join tags as t on t.id = h.tag_id where h.conversation_id = conversations.id) as tags,
           coalesce((select last_read_seq from participants where conversation_id = conversations.id and user_id = '${member.id}'), 0) as position
           from conversations) as c
         where c.organization_id = '${acme.id}' and c.mode = 'live' and c.snoozed_until ${snoozed} and
           ${condition.replace(':me', `'${member.id}'`).replace(':now', String(app.clock.now()))}
         order by c.updated_at desc, c.id desc`,
      );
      const { body } = await member.call('GET', `/conversations?sort=updated&limit=100&${question}`);
      const found = (body.conversations as { id: string }[]).map(({ id }) => id);
      if (question === '') all = body.total as number;
      expect([question, body.total, found]).toEqual([
        question,
        rows.length,
        rows.slice(0, 100).map(({ id }) => id),
      ]);
    }
  return all;
}

const act = (who: TestMember, id: string, name: string, body: object = {}) =>
  who.call('POST', `/conversations/${id}/${name}`, body);

describe('what members and visitors do', () => {
  it('a conversation that was begun by mail is one of those, and no chat', async () => {
    const id = await createConversation(visitor);
    // As a mail begins one, and with a change that tells the index of it.
    await rowsOf(app, `update conversations set channel = 'email' where id = '${id}'`);
    await act(ann, id, 'accept');
    await hold();
    const ids = async (query: string): Promise<string[]> =>
      ((await ann.call('GET', `/conversations?${query}`)).body.conversations as { id: string }[]).map(
        (one) => one.id,
      );
    expect(await ids('channel=email')).toEqual([id]);
    expect(await ids('channel=chat')).not.toContain(id);
    // Those that the database answers.
    expect(await ids(`channel=email&visitorId=${visitor.id}`)).toEqual([id]);
    expect(await ids(`channel=chat&visitorId=${visitor.id}`)).not.toContain(id);
  });

  it('messages, acts, order, reading: each is in the next answer', async () => {
    const [one = '', two = '', three = ''] = open;
    const steps: (() => Promise<unknown>)[] = [
      () => act(ann, one, 'accept'),
      () => createMessage(ann, one, 'answer'),
      () => createMessage(visitor, one, 'more'),
      () => act(ann, one, 'transfer', { memberId: bob.id }),
      () => bob.call('PUT', `/conversations/${one}/tags/bug`),
      () => bob.call('PUT', `/conversations/${one}/tags/bill`),
      () => bob.call('PATCH', `/conversations/${two}`, { priority: 'urgent' }),
      () => act(bob, two, 'snooze', { until: new Date(app.clock.now() + 30_000).toISOString() }),
      async () => {
        app.clock.advance(31_000);
        await eventually(async () =>
          expect((await bob.call('GET', `/conversations/${two}`)).body.conversation.snoozedUntil).toBeNull(),
        );
      },
      async () => {
        const { body } = await ann.call('GET', `/conversations/${one}/messages`);
        await act(ann, one, 'read', { messageId: body.messages.at(-1).id });
      },
      () => act(ann, one, 'unread'),
      () => act(bob, one, 'release'),
      () => act(ann, three, 'resolve'),
      () => act(ann, three, 'reopen'),
      () => bob.call('DELETE', `/conversations/${one}/tags/bug`),
      async () => {
        const { body } = await ann.call('GET', '/tags');
        const tag = (body.tags as { id: string; name: string }[]).find(({ name }) => name === 'bill');
        expect((await ann.call('DELETE', `/tags/${tag?.id}`)).status).toBe(200);
      },
      async () => {
        const { body } = await ann.call('GET', `/conversations/${two}/messages`);
        await visitor.call('DELETE', `/conversations/${two}/messages/${body.messages[0].id}`);
      },
    ];
    for (const step of steps) {
      await step();
      await hold();
    }
  });

  it('what is refused changes nothing, and half of a transaction is never seen', async () => {
    const [one = ''] = open;
    await act(ann, one, 'accept');
    expect((await act(bob, one, 'accept')).status).toBe(409);
    const { store } = app.service.engine;
    await expect(
      store.write({ organization: acme.id }, async ({ repositories }) => {
        await repositories.conversations.setPriority(one, 'urgent');
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    await hold();
  });
});

describe('what happens behind the server', () => {
  it('another process tags, takes over and removes: the next answer has it, before anything was told', async () => {
    const [one = '', two = '', three = ''] = open;
    const before = await hold();
    await ann.call('POST', '/tags', { name: 'bug' });
    await rowsOf(app, `insert into conversation_tags select '${one}', id from tags where folded = 'bug'`);
    await hold();
    await rowsOf(
      app,
      `update conversations set status = 'active', assigned_to = '${bob.id}' where id = '${two}'`,
    );
    await hold();
    await rowsOf(
      app,
      `insert into participants (conversation_id, user_id, role, joined_at, last_read_seq) values ('${one}', '${ann.id}', 'operator', 0, 9)`,
    );
    await hold();
    await rowsOf(app, `delete from participants where conversation_id = '${one}' and user_id = '${ann.id}'`);
    await hold();
    await rowsOf(app, `delete from conversations where id = '${three}'`);
    expect(await hold()).toBe(before - 1);
    // Its place goes to the next one.
    await createConversation(visitor);
    expect(await hold()).toBe(before);
  });

  it('a message that another process wrote is counted', async () => {
    const before = await hold();
    const other = await openService(
      readConfig(
        { data: app.database === null ? app.folder : undefined, limitVisitor: 'off' },
        app.environment,
      ),
      'command',
      () => null,
    );
    try {
      const { execute } = await import('../../src/services/execute.ts');
      await execute(
        {
          service: other.service,
          actor: {
            kind: 'visitor',
            organizationId: acme.id,
            applicationId: acme.application.id,
            visitorId: visitor.id,
            mode: 'live',
            via: 'key',
            origin: null,
          },
          address: null,
          contentLimit: 5_000,
        },
        'messages.send',
        { conversationId: open[0] ?? '', content: 'from elsewhere', clientMessageId: randomUUID() },
      );
      expect(await hold()).toBe(before);
      await localOn(other.service).run('visitors.erase', { visitorId: visitor.id });
      expect(await hold()).toBe(before - open.length);
    } finally {
      await other.close();
    }
  });

  it('more changes than are kept: it begins anew', async () => {
    const [one = '', two = ''] = open;
    await rowsOf(app, `update conversations set priority = 'urgent' where id = '${one}'`);
    await rowsOf(
      app,
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 20010)
       insert into queue_changes (organization_id, place) select 'x', i from n`,
    );
    await rowsOf(
      app,
      `delete from queue_changes where number <= (select max(number) from queue_changes) - 20000`,
    );
    await rowsOf(app, `update conversations set priority = 'low' where id = '${two}'`);
    const [kept] = await rowsOf(app, 'select count(*) as n from queue_changes');
    expect(kept?.['n']).toBe(20_000);
    await hold();
  });
});

it('is made for others also where the one who asked first hangs up', async () => {
  const { service } = app;
  // An engine without an index yet: these two are the first to ask.
  const fresh = { ...service, engine: { ...service.engine } };
  const actor = memberActor(acme.id, ann.id, { role: 'admin' });
  const call = { service: fresh, actor, address: null, contentLimit: 1 };
  // Where the logs are is known from here on, so both of those below find the same index.
  const elsewhere = { ...call, actor: { ...actor, organizationId: randomUUID() } };
  await queueIndexes(fresh).ask(elsewhere, () => Promise.resolve());
  const left = new Error('gone');
  const first = queueIndexes(fresh).ask({ ...call, gone: () => AbortSignal.abort(left) }, () =>
    Promise.resolve('not asked'),
  );
  const second = queueIndexes(fresh).ask(call, (index) => Promise.resolve(index.size));
  await expect(first).rejects.toBe(left);
  expect(await second).toBeGreaterThan(0);
});

describe('what removes', () => {
  it('retention that takes the only messages that were unread', async () => {
    const [id = ''] = open;
    await act(ann, id, 'accept');
    await createMessage(ann, id, 'an answer that stays');
    await hold();
    await app.service.engine.store.write({ organization: acme.id, removes: true }, ({ repositories }) =>
      repositories.retention.removeMessages(id, Number.MAX_SAFE_INTEGER, 0, 1),
    );
    expect(await rowsOf(app, `select last_visitor_seq from conversations where id = '${id}'`)).toEqual([
      { last_visitor_seq: 0 },
    ]);
    await hold();
  });

  it('erasure and the end of an application take conversations out', async () => {
    const before = await hold();
    await app.local('visitors.erase', { visitorId: visitor.id });
    expect(await hold()).toBe(before - open.length);
    const spare = await app.local('applications.create', {
      organization: 'acme',
      name: 'Spare',
      domains: ['spare.example'],
    });
    const other = createVisitor(app, { ...acme.application, id: spare.id, origin: 'https://spare.example' });
    await createConversation(other);
    await hold();
    await app.local('applications.delete', { applicationId: spare.id });
    await hold();
  });
});

const facetsOf = (place: number, other: Partial<QueueFacets>): QueueFacets => ({
  place,
  id: `c${place}`,
  mode: 'live',
  status: 'pending',
  application_id: 'app',
  assigned_to: null,
  priority: 'normal',
  channel: null,
  snoozed: 0,
  waiting_since: null,
  created_at: place,
  updated_at: place,
  visitor_wrote: 0,
  tag_ids: null,
  readers: null,
  ...other,
});

describe('the first of many', () => {
  const waits = (one: QueueFacets): boolean => one.status === 'pending' && one.waiting_since !== null;
  /** Each order as one text, the smaller first. */
  const wide = (value: number): string => String(value).padStart(6, '0');
  const latest = (value: number): string => wide(100_000 - value);
  const orders: Readonly<Record<QueueSort, (one: QueueFacets) => string>> = {
    queue: (one) => (waits(one) ? `0 ${wide(one.waiting_since ?? 0)}` : '1 ') + latest(one.updated_at),
    updated: (one) => latest(one.updated_at),
    newest: (one) => latest(one.created_at),
    oldest: (one) => wide(one.created_at),
    waiting: (one) =>
      (one.waiting_since === null ? '1 ' : `0 ${wide(one.waiting_since)}`) + latest(one.updated_at),
    priority: (one) =>
      wide(3 - ['low', 'normal', 'high', 'urgent'].indexOf(one.priority)) +
      (waits(one) ? wide(one.waiting_since ?? 0) : 'later') +
      latest(one.updated_at),
  };

  it.each(queueSort.options)('are those that a sort of all puts first: %s', (sort) => {
    const random = seededRandom();
    const upTo = (most: number): number => Math.floor(most * random());
    for (let round = 0; round < 30; round += 1) {
      const index = new QueueIndex();
      const all = Array.from({ length: 1 + upTo(300) }, (_, place) =>
        facetsOf(place, {
          id: `c${wide(upTo(100_000))}${place}`,
          status: conversationStatus.options[upTo(3)] ?? 'closed',
          priority: priority.options[upTo(4)] ?? 'normal',
          // Few different times: what is equal must be told apart by what comes after it.
          waiting_since: upTo(3) === 0 ? null : upTo(4),
          created_at: upTo(5),
          updated_at: upTo(5),
        }),
      );
      for (const one of all) index.put(one);
      const sorted = all
        .toSorted((one, other) => {
          const [first, second] = [orders[sort](one), orders[sort](other)];
          return first === second ? (one.id < other.id ? 1 : -1) : first < second ? -1 : 1;
        })
        .map(({ id }) => id);
      const most = 1 + upTo(40);
      expect(index.first({ organizationId: 'acme', matching: [] }, sort, most)).toEqual({
        ids: sorted.slice(0, most),
        total: all.length,
      });
    }
  });
});

describe('lists that are kept', () => {
  const asked: readonly ConversationFilter[] = [
    { organizationId: 'acme', matching: [] },
    { organizationId: 'acme', matching: [], status: 'pending', snoozed: false },
    { organizationId: 'acme', matching: [], assignedTo: null, tagIds: ['bug'] },
    { organizationId: 'acme', matching: [], unread: { readerId: 'ann', is: true } },
    { organizationId: 'acme', matching: [], unread: { readerId: 'ann', is: false }, status: 'closed' },
    { organizationId: 'acme', matching: [], waitingSince: 3 },
    // One that hardly any fits: its list ends before the page does.
    { organizationId: 'acme', matching: [], priorities: ['urgent'], channel: 'email', mode: 'test' },
  ];

  it('say after every change what a new index says', () => {
    const random = seededRandom();
    const upTo = (most: number): number => Math.floor(most * random());
    const any = (place: number): QueueFacets =>
      facetsOf(place, {
        id: `c${String(upTo(100_000)).padStart(6, '0')}-${place}`,
        mode: upTo(8) === 0 ? 'test' : 'live',
        status: conversationStatus.options[upTo(3)] ?? 'closed',
        priority: priority.options[upTo(4)] ?? 'normal',
        assigned_to: upTo(2) === 0 ? 'ann' : null,
        channel: upTo(4) === 0 ? 'email' : null,
        snoozed: upTo(10) === 0 ? 1 : 0,
        waiting_since: upTo(3) === 0 ? upTo(8) : null,
        created_at: upTo(500),
        updated_at: upTo(500),
        visitor_wrote: upTo(2),
        tag_ids: upTo(3) === 0 ? 'bug' : null,
        readers: upTo(2) === 0 ? 'ann' : null,
      });
    const rows = new Map(Array.from({ length: 2_500 }, (_, place) => [place, any(place)] as const));
    const index = new QueueIndex();
    for (const one of rows.values()) index.put(one);
    const questions = asked.flatMap((filter) => queueSort.options.map((sort) => ({ filter, sort })));
    for (let round = 0; round < 60; round += 1) {
      // More questions than are kept would keep none: those of one round are asked again in the next.
      const some = questions.filter((_, at) => (at + Math.floor(round / 10)) % 6 === 0);
      for (let change = 0; change < 40; change += 1) {
        const place = upTo(2_700);
        if (upTo(4) === 0) {
          rows.delete(place);
          index.drop(place);
        } else {
          const row = any(place);
          rows.set(place, row);
          index.put(row);
        }
      }
      const anew = new QueueIndex();
      for (const one of rows.values()) anew.put(one);
      for (const { filter, sort } of some) {
        const most = 1 + upTo(60);
        expect([filter, sort, index.first(filter, sort, most)]).toEqual([
          filter,
          sort,
          anew.first(filter, sort, most),
        ]);
        expect(index.count(filter)).toBe(anew.count(filter));
      }
    }
  });
});

describe('memory', () => {
  it('what no conversation has any more takes none', () => {
    const index = new QueueIndex();
    const facets = (place: number, tag: string | null): QueueFacets => facetsOf(place, { tag_ids: tag });
    index.put(facets(1, null));
    const before = index.kinds;
    for (let n = 0; n < 100; n += 1) index.put(facets(2, `tag${n}`));
    // The last tag, and that there is one.
    expect(index.kinds).toBe(before + 2);
    index.drop(2);
    expect(index.kinds).toBe(before);
    index.drop(1);
    expect(index.kinds).toBe(0);
  });
});
