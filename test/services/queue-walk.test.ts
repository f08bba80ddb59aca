// The queue answers in stretches what one plain look at all rows would: random questions over random conversations, as
// lists in every order and as counts of views. And a turn of the loop looks at so many rows, however many there are.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { ViewQuery } from '../../src/protocol/queue.ts';
import { rowsPerTurn } from '../../src/services/chat/queue-stretches.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { ask } from '../helpers/rest-checks.ts';
import { insertRows, rowsOf, type Row } from '../helpers/database.ts';
import { createMember, createOrganization, type TestMember } from '../helpers/fixtures.ts';
import { replacing } from '../helpers/replacing.ts';

const conversations = 3_000;
const tags = ['bug', 'bill', 'shop', 'rare'];
let app: TestApp;
let member: TestMember;
let colleague: TestMember;
let applications: string[];
/** Where no random number falls. */
let visitors: string[];

/** Numbers from 0 to 1, the same in each run. */
let state = 20_261_122;
const random = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 4_294_967_296;
};
const oneOf = <T>(...list: readonly [T, ...T[]]): T => list[Math.floor(random() * list.length)] ?? list[0];

beforeAll(async () => {
  app = await startApp();
  const { id: organizationId, application } = await createOrganization(app, 'acme');
  const other = await createOrganization(app, 'other');
  await app.local('organizations.update', { organization: 'acme', limits: { requestsPerMinute: 1_000_000 } });
  member = await createMember(app, 'acme');
  colleague = await createMember(app, 'acme');
  applications = [application.id];
  for (const name of [...tags, 'unused']) await member.call('POST', '/tags', { name });
  visitors = Array.from({ length: 40 }, () => randomUUID());
  const now = app.clock.now();
  const owners = [
    { organization_id: organizationId, application_id: application.id },
    { organization_id: other.id, application_id: other.application.id },
  ] as const;
  const modes = ['live', 'test'] as const;
  await insertRows(
    app,
    'visitors',
    owners.flatMap((owner) =>
      modes.flatMap((mode) =>
        visitors.map((visitor_id, index) => ({
          id: `${owner.application_id}${mode}${index}`,
          visitor_id,
          ...owner,
          mode,
          name: `Visitor ${index}`,
          verified: 0,
          verified_fields: '',
          attributes: '{}',
          created_at: 0,
        })),
      ),
    ),
  );
  const tagIds = new Map((await rowsOf(app, 'select id, name from tags')).map(({ id, name }) => [name, id]));
  const rows: Row[] = [];
  const tagRows: Row[] = [];
  const readRows: Row[] = [];
  for (let index = 0; index < conversations; index += 1) {
    const id = randomUUID();
    const foreign = random() < 0.1;
    const owner = owners[foreign ? 1 : 0];
    const status = oneOf('pending', 'active', 'closed', 'closed');
    const visitor = Math.floor(random() * visitors.length);
    const mode = random() < 0.1 ? 'test' : 'live';
    rows.push({
      id,
      ...owner,
      visitor_key: `${owner.application_id}${mode}${visitor}`,
      mode,
      status,
      subject: oneOf(null, 'A Parcel', 'money back'),
      assigned_to: status === 'pending' ? null : oneOf(member.id, colleague.id),
      last_seq: 5,
      last_visitor_seq: Math.floor(random() * 4),
      waiting_since: oneOf(null, now - Math.floor(random() * 20) * 60_000),
      priority: oneOf('low', 'normal', 'high', 'urgent'),
      snoozed_until: oneOf(null, null, now + 86_400_000),
      created_at: index % 97,
      updated_at: now - Math.floor(random() * 50),
    });
    for (const tag of tags)
      if (!foreign && random() < (tag === 'rare' ? 0.01 : 0.4))
        tagRows.push({ conversation_id: id, tag_id: tagIds.get(tag) });
    const read = oneOf(null, 0, 1, 2, 3);
    if (read !== null)
      readRows.push({
        conversation_id: id,
        user_id: member.id,
        role: 'operator',
        joined_at: 0,
        last_read_seq: read,
      });
  }
  await insertRows(app, 'conversations', rows);
  await insertRows(app, 'conversation_tags', tagRows);
  await insertRows(app, 'participants', readRows);
});
afterAll(() => app.stop());

function question(): ViewQuery {
  const maybe = <K extends string, V>(key: K, share: number, value: () => V): object =>
    random() < share ? { [key]: value() } : {};
  return {
    ...maybe('mode', 0.3, () => oneOf('live', 'test', 'all')),
    ...maybe('status', 0.4, () => oneOf('pending', 'active', 'closed')),
    ...maybe('assignedTo', 0.2, () => oneOf('me', 'none', colleague.id)),
    ...maybe('applicationId', 0.1, () => applications[0]),
    ...maybe('tag', 0.4, () =>
      oneOf(['bug'], ['bug', 'bill'], ['shop', 'rare'], ['BUG'], ['unused'], ['none']),
    ),
    ...maybe('untagged', 0.1, () => random() < 0.5),
    ...maybe('unread', 0.3, () => random() < 0.5),
    ...maybe('snoozed', 0.3, () => oneOf<boolean | 'all'>(true, false, 'all')),
    ...maybe('priority', 0.2, () => oneOf(['urgent'], ['low', 'high'])),
    ...maybe('waitingLonger', 0.2, () => Math.floor(random() * 20)),
    ...maybe('visitorId', 0.1, () => oneOf(visitors[0], visitors[1])),
    ...maybe('q', 0.1, () => oneOf('parcel', 'visitor 1')),
  };
}

/** The same question to one plain statement, in the order `updated`. */
async function plainly(query: ViewQuery): Promise<string[]> {
  const { mode = 'live', status, assignedTo, tag = [], untagged, unread, priority, visitorId, q } = query;
  const { snoozed = q === undefined && visitorId === undefined ? false : 'all' } = query;
  const has = (name: string): string =>
    `exists (select 1 from conversation_tags t join tags on tags.id = t.tag_id where t.conversation_id = c.id and tags.folded = '${name.toLowerCase()}')`;
  const tagged = 'exists (select 1 from conversation_tags t where t.conversation_id = c.id)';
  const isUnread = `last_visitor_seq > coalesce((select last_read_seq from participants p where p.conversation_id = c.id and p.user_id = '${member.id}'), 0)`;
  const terms = [
    "organization_id = (select id from organizations where slug = 'acme')",
    mode === 'all' ? 'true' : `mode = '${mode}'`,
    status === undefined ? 'true' : `status = '${status}'`,
    assignedTo === undefined
      ? 'true'
      : `assigned_to ${assignedTo === 'none' ? 'is null' : `= '${assignedTo === 'me' ? member.id : assignedTo}'`}`,
    query.applicationId === undefined ? 'true' : `application_id = '${query.applicationId}'`,
    ...tag.map(has),
    untagged === undefined ? 'true' : `${untagged ? 'not' : ''} ${tagged}`,
    unread === undefined ? 'true' : `${unread ? '' : 'not'} (${isUnread})`,
    snoozed === 'all' ? 'true' : `snoozed_until is ${snoozed ? 'not' : ''} null`,
    priority === undefined ? 'true' : `priority in (${priority.map((one) => `'${one}'`).join()})`,
    query.waitingLonger === undefined
      ? 'true'
      : `waiting_since <= ${app.clock.now() - query.waitingLonger * 60_000}`,
    visitorId === undefined
      ? 'true'
      : `visitor_key in (select id from visitors where visitor_id = '${visitorId}')`,
    q === undefined
      ? 'true'
      : `(lower(subject) like '%${q}%' or (select lower(name) from visitors v where v.id = c.visitor_key) like '%${q}%')`,
  ];
  const rows = await rowsOf(
    app,
    `select id from conversations c where ${terms.join(' and ')} order by updated_at desc, id desc`,
  );
  return rows.map(({ id }) => String(id));
}

function address(query: ViewQuery): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of [value].flat()) parameters.append(name, String(one));
  return parameters.toString();
}

it('comes to the end of a search, however late each of its reads begins', async () => {
  const { store } = app.service.engine;
  const read = store.read.bind(store);
  let reads = 0;
  const late = vi.spyOn(store, 'read').mockImplementation((work) => {
    reads += 1;
    // A search that never ends would hold the test as well.
    if (reads > 500) throw new Error('it reads without an end');
    app.clock.advance(20);
    return read(work);
  });
  try {
    const { body } = await member.call('GET', '/conversations?mode=live&q=parcel');
    expect(body.total).toBeGreaterThan(100);
  } finally {
    late.mockRestore();
  }
});

it('lists and counts what a plain statement finds, for random questions', async () => {
  const asked = Array.from({ length: 150 }, question);
  const expected: number[] = [];
  for (const query of asked) {
    const plain = await plainly(query);
    expected.push(plain.length);
    const offset = random() < 0.5 ? 0 : Math.floor(random() * (plain.length + 3));
    const { status, text, body } = await member.call(
      'GET',
      `/conversations?sort=updated&limit=20&offset=${offset}&${address(query)}`,
    );
    expect(status, text).toBe(200);
    expect(body.total, JSON.stringify(query)).toBe(plain.length);
    expect(
      body.conversations.map(({ id }: { id: string }) => id),
      JSON.stringify(query),
    ).toEqual(plain.slice(offset, offset + 20));
  }
  expect(expected.filter((count) => count > 20).length).toBeGreaterThan(30);
  for (let from = 0; from < asked.length; from += 50) {
    const views = asked.slice(from, from + 50);
    const ids: string[] = [];
    for (const query of views)
      ids.push((await member.call('POST', '/views', { name: 'v', query })).body.view.id);
    const { counts } = (await member.call('GET', '/views/counts')).body;
    expect(counts).toEqual(ids.map((id, index) => ({ id, count: expected[from + index] })));
    for (const id of ids) await member.call('DELETE', `/views/${id}`);
  }
});

const orders: Readonly<Record<string, string>> = {
  queue:
    "waiting_since is null or status <> 'pending', case when status = 'pending' then waiting_since end, updated_at desc",
  updated: 'updated_at desc',
  newest: 'created_at desc',
  oldest: 'created_at',
  waiting: 'waiting_since is null, waiting_since, updated_at desc',
  priority: `case priority when 'urgent' then 0 when 'high' then 1 when 'normal' then 2 else 3 end,
    waiting_since is null or status <> 'pending', case when status = 'pending' then waiting_since end, updated_at desc`,
};

it.each(Object.keys(orders))('puts all in the order %s, over the ends of stretches', async (sort) => {
  const plain = await rowsOf(
    app,
    `select id from conversations where organization_id = (select id from organizations where slug = 'acme')
     order by ${orders[sort]}, id desc`,
  );
  const found: string[] = [];
  for (let offset = 0; offset < plain.length; offset += 100)
    for (const { id } of (
      await member.call('GET', `/conversations?mode=all&snoozed=all&sort=${sort}&limit=100&offset=${offset}`)
    ).body.conversations)
      found.push(id);
  expect(found).toEqual(plain.map(({ id }) => id));
});

it.each([
  ['GET', '/conversations'],
  ['GET', '/conversations?tag=bug&tag=bill&unread=true'],
  ['GET', '/conversations?q=parcel'],
  ['GET', '/views/counts'],
])('%s %s looks at no more rows in a turn of the loop than it may', async (method, path) => {
  const made = await ask(app, member, 'POST', '/staff/views', { name: 'all', query: { mode: 'all' } });
  const { view } = made.body;
  // Nothing is known of the queue after a start.
  app = await app.restart();
  const { store } = app.service.engine;
  const read = store.read.bind(store);
  const looked: number[] = [];
  store.read = (work) =>
    read(async ({ repositories }) => {
      let rows = 0;
      let found = 0;
      const { conversations: own } = repositories;
      const note = async <T extends { rows: number }>(end: Promise<T>): Promise<T> => {
        found = (await end).rows;
        return end;
      };
      /** A stretch whose rows are only counted, to choose a way, costs little. */
      const count = <S extends object, T>(stretch: S, answer: T): T => {
        rows += 'places' in stretch && Array.isArray(stretch.places) ? stretch.places.length : found;
        return answer;
      };
      const seen: typeof own = {
        ...own,
        stretchByState: (...of) => note(own.stretchByState(...of)),
        stretchByTag: (...of) => note(own.stretchByTag(...of)),
        queueOfStretch: (...of) => count(of[1], own.queueOfStretch(...of)),
        facetsOfStretch: (...of) => count(of[1], own.facetsOfStretch(...of)),
      };
      const answer = await work({ repositories: replacing(repositories, 'conversations', seen) });
      looked.push(rows);
      return answer;
    });
  app.clock.advance(1_000);
  try {
    expect((await ask(app, member, method, `/staff${path}`)).status).toBe(200);
  } finally {
    store.read = read;
    await ask(app, member, 'DELETE', `/staff/views/${view.id}`);
  }
  expect(Math.max(...looked)).toBeLessThanOrEqual(rowsPerTurn);
  expect(looked.filter((rows) => rows > 0).length).toBeGreaterThan(1);
});
