// The staff's queue costs what its page shows, not what the organization holds: a long conversation, and conversations
// on other pages, add nothing. By the processor's time of this process, the least of five rounds, and with a wide margin.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestClient,
} from '../helpers/fixtures.ts';

let app: TestApp;
let operator: TestClient;
let conversationId: string;
let organizationId: string;

beforeAll(async () => {
  app = await startApp();
  const { id, application } = await createOrganization(app, 'acme');
  organizationId = id;
  operator = await createMember(app, 'acme');
  const visitor = createVisitor(app, application);
  conversationId = await createConversation(visitor);
  await createMessage(visitor, conversationId, 'hello');
});
afterAll(() => app.stop());

const queue = async (query = '') => (await operator.call('GET', `/conversations${query}`)).body;

/** Copies the one message until there are so many. */
async function fill(count: number): Promise<void> {
  await rowsOf(
    app,
    `insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content, content_format, internal, created_at)
     with recursive n(i) as (select 2 union all select i + 1 from n where i < ${count})
     select 'm' || i, conversation_id, organization_id, i, i, sender_id, sender_role, content, content_format, internal, created_at from messages, n where seq = 1`,
  );
}

it('counts unread messages exactly up to 200, and no further', async () => {
  const unread = async () => (await queue()).conversations[0].unreadCount;
  expect(await unread()).toBe(1);
  await fill(150);
  expect(await unread()).toBe(150);
  await rowsOf(app, 'update messages set deleted_at = 1 where seq in (3, 4)');
  expect(await unread()).toBe(148);
  await rowsOf(app, 'delete from messages where seq > 1');
  await fill(1_000);
  expect(await unread()).toBe(200);
  // What operators wrote in between is no visitor's message, but one of the newest.
  await rowsOf(app, "update messages set sender_role = 'operator' where seq > 900");
  expect(await unread()).toBe(100);
});

it('reads what a line shows for the lines of the page alone', async () => {
  await rowsOf(
    app,
    `insert into conversations (id, organization_id, application_id, visitor_key, mode, status, subject, last_seq, waiting_since, created_at, updated_at)
     select 'c' || i, c.organization_id, c.application_id, c.visitor_key, c.mode, c.status, c.subject, c.last_seq, c.waiting_since - i, c.created_at, c.updated_at
     from conversations c, (with recursive n(i) as (select 1 union all select i + 1 from n where i < 200) select i from n)`,
  );
  await rowsOf(
    app,
    `insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content, content_format, internal, created_at)
     select c.id || '-' || m.seq, c.id, m.organization_id, m.seq, m.changed_seq, m.sender_id, 'visitor', m.content, m.content_format, 0, m.created_at
     from conversations c, messages m where m.conversation_id = ? and m.seq <= 250 and c.id <> m.conversation_id`,
    conversationId,
  );
  const ids = (await rowsOf(app, 'select id from conversations')).map(({ id }) => String(id));
  const cost = async (limit: number): Promise<number> => {
    const costs = [];
    for (let round = 0; round < 5; round += 1) {
      const before = process.cpuUsage();
      const page = await app.service.engine.store.read(({ repositories }) =>
        repositories.conversations.queuePage(organizationId, ids.slice(0, limit), operator.id),
      );
      expect(page).toHaveLength(limit);
      const { user, system } = process.cpuUsage(before);
      costs.push(user + system);
    }
    return Math.min(...costs);
  };
  expect(await cost(1)).toBeLessThan((await cost(100)) / 2);
  // The pages together are the list, each line once, those that have waited longest first.
  const [first, second, third] = [
    await queue('?limit=100'),
    await queue('?limit=100&offset=100'),
    await queue('?limit=100&offset=200'),
  ];
  const all = [first, second, third].flatMap(({ conversations }) => conversations);
  expect(new Set(all.map(({ id }) => id)).size).toBe(201);
  const since = all.map(({ waitingSince }) => Date.parse(waitingSince));
  expect(since).toEqual(since.toSorted((one, other) => one - other));
});
