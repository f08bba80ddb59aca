// Order in the queue by REST and WebSocket: tags, priority, snooze, reopen, unread, filters, views, many at once. Who may
// call which route is test/transports/rest-matrix.test.ts.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { Frame, Reply, TestSocket } from '../helpers/client.ts';
import { ask } from '../helpers/rest-checks.ts';
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

let app: TestApp;
let acme: TestOrganization;
let visitor: TestClient;
let operator: TestMember;
let colleague: TestMember;
let admin: TestMember;
let foreign: TestMember;
let watcher: TestSocket;
let id: string;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  await createOrganization(app, 'other');
  await app.local('organizations.update', { organization: 'acme', limits: { requestsPerMinute: 1_000_000 } });
  operator = await createMember(app, 'acme', 'operator', 'Olivia');
  colleague = await createMember(app, 'acme', 'operator', 'Otto');
  admin = await createMember(app, 'acme', 'admin', 'Ada');
  foreign = await createMember(app, 'other', 'admin', 'Fremd');
  watcher = await colleague.connect();
});
afterAll(() => app.stop());

beforeEach(async () => {
  visitor = createVisitor(app, acme.application);
  id = await createConversation(visitor);
});

const at = (who: TestClient, method: string, path: string, body?: object): Promise<Reply> =>
  who.call(method, `/conversations/${id}${path}`, body);
const inMs = (ms: number): string => new Date(app.clock.now() + ms).toISOString();
const ok = (reply: Reply): Reply['body'] => {
  expect(reply.status, reply.text).toBe(200);
  return reply.body.conversation;
};
const now = async (who: TestClient = operator): Promise<Reply['body']> => ok(await at(who, 'GET', ''));
const found = async (query: string, who: TestClient = operator): Promise<string[]> => {
  const reply = await who.call('GET', `/conversations?limit=100&${query}`);
  expect(reply.status, reply.text).toBe(200);
  expect(reply.body.total).toBe(reply.body.conversations.length);
  return reply.body.conversations.map((one: { id: string }) => one.id);
};
/** What staff heard of a conversation since the last call, but for what tells of it behind the log. */
async function heard(conversationId = id): Promise<{ type: string; payload: Frame['payload'] }[]> {
  await watcher.drain();
  return watcher.frames
    .splice(0)
    .flatMap(({ type, payload }) =>
      payload?.conversationId === conversationId &&
      type !== 'conversation:activity' &&
      type !== 'notification:new'
        ? [{ type, payload }]
        : [],
    );
}

describe('tags', () => {
  it('are added and taken off one by one, in any letter case, and staff hear of each change once', async () => {
    await heard();
    expect(ok(await at(operator, 'PUT', '/tags/VIP')).tags).toEqual(['VIP']);
    expect(ok(await at(colleague, 'PUT', '/tags/a%20%2F%20b')).tags).toEqual(['a / b', 'VIP']);
    expect(ok(await at(operator, 'PUT', '/tags/vip')).tags).toEqual(['a / b', 'VIP']);
    expect(ok(await at(operator, 'DELETE', '/tags/vIP')).tags).toEqual(['a / b']);
    expect(ok(await at(operator, 'DELETE', '/tags/never')).tags).toEqual(['a / b']);
    const rest = { conversationId: id, priority: 'normal', snoozedUntil: null, subject: null };
    expect(await heard()).toEqual([
      { type: 'conversation:changed', payload: { ...rest, tags: ['VIP'] } },
      { type: 'conversation:changed', payload: { ...rest, tags: ['a / b', 'VIP'] } },
      { type: 'conversation:changed', payload: { ...rest, tags: ['a / b'] } },
    ]);
  });

  it('in a path have escapes that can be read', async () => {
    for (const written of ['%E0%A4%A', '%', '%zz', 'a%2', '%ff'])
      for (const method of ['PUT', 'DELETE']) {
        const { status, body } = await at(operator, method, `/tags/${written}`);
        expect([written, status]).toEqual([written, 400]);
        expect(JSON.stringify(body)).toContain('percent');
      }
    expect((await now()).tags).toEqual([]);
    expect(ok(await at(operator, 'PUT', '/tags/100%25')).tags).toEqual(['100%']);
  });

  it('of twenty who tag at once none is lost, and a twenty-first is refused', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `at-once-${index}`);
    const replies = await Promise.all(
      names.map((name, index) => at(index % 2 === 0 ? operator : colleague, 'PUT', `/tags/${name}`)),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await now()).tags.toSorted()).toEqual(names.toSorted());
    const refused = await at(operator, 'PUT', '/tags/one-more');
    expect(refused.body).toMatchObject({ error: 'conflict', message: expect.stringContaining('at most 20') });
    expect((await now()).tags).toHaveLength(20);
    // Nothing of the refused act stays.
    expect(
      (await operator.call('GET', '/tags')).body.tags.map((one: { name: string }) => one.name),
    ).not.toContain('one-more');
  });

  it('are renamed everywhere, in views too, and deleted from everywhere', async () => {
    const { body } = await operator.call('POST', '/tags', { name: 'Refund' });
    expect((await operator.call('POST', '/tags', { name: 'REFUND' })).status).toBe(409);
    await at(operator, 'PUT', '/tags/refund');
    const view = (await operator.call('POST', '/views', { name: 'R', query: { tag: ['refund'] } })).body.view;
    expect((await operator.call('PATCH', `/tags/${body.tag.id}`, { name: 'Money back' })).body.tag.name).toBe(
      'Money back',
    );
    expect((await now()).tags).toEqual(['Money back']);
    expect(await found('tag=money%20BACK')).toEqual([id]);
    expect(await found('tag=refund')).toEqual([]);
    const views = (await operator.call('GET', '/views')).body.views as { id: string; query: object }[];
    expect(views.find((one) => one.id === view.id)?.query).toEqual({ tag: ['Money back'] });
    expect((await operator.call('DELETE', `/tags/${body.tag.id}`)).body).toEqual({ success: true });
    expect((await now()).tags).toEqual([]);
    expect((await operator.call('DELETE', `/tags/${body.tag.id}`)).status).toBe(404);
    await operator.call('DELETE', `/views/${view.id}`);
  });

  it('are made by tagging with a row of the audit log, and by a token only with the right to change settings', async () => {
    await at(operator, 'PUT', '/tags/by hand');
    const rows = await rowsOf(
      app,
      `select actor, detail from audit where action = 'tags.create' and detail like '%by hand%'`,
    );
    expect(rows).toEqual([{ actor: `member:${operator.id}`, detail: '{"name":"by hand"}' }]);
    const byToken = async (scopes: string[], name: string): Promise<number> => {
      const { body } = await operator.call('POST', '/tokens', {
        name: 'script',
        scopes,
        expiresAt: new Date(app.clock.now() + 86_400_000).toISOString(),
      });
      const headers = { authorization: `Bearer ${String(body.token.token)}` };
      return (await ask(app, { ...operator, headers }, 'PUT', `/staff/conversations/${id}/tags/${name}`))
        .status;
    };
    expect(await byToken(['conversations:act'], 'by hand')).toBe(200);
    expect(await byToken(['conversations:act'], 'flood')).toBe(403);
    expect(await byToken(['conversations:act', 'settings:write'], 'flood')).toBe(200);
  });

  it('are at most 500, and their names one line of at most 50 characters', async () => {
    const other = await createMember(app, 'other', 'operator');
    await rowsOf(
      app,
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 499) insert into tags
        select 'tag-' || i, (select id from organizations where slug = 'other'), 't' || i, 't' || i, 0 from n`,
    );
    expect((await other.call('POST', '/tags', { name: 'the 500th' })).status).toBe(201);
    expect((await other.call('POST', '/tags', { name: 'one more' })).body).toMatchObject({
      error: 'conflict',
    });
    for (const name of ['', ' ', 'x'.repeat(51), 'two\nlines', 'bell\u0007', 'right\u202Eleft', 7, null])
      expect((await operator.call('POST', '/tags', { name })).status, JSON.stringify(name)).toBe(400);
  });
});

describe('priority and subject', () => {
  it('change alone or together; what is the same is no news', async () => {
    await heard();
    const before = (await visitor.call('GET', `/conversations/${id}`)).body.conversation;
    app.clock.step(1_000);
    expect(ok(await at(operator, 'PATCH', '', { priority: 'urgent' }))).toMatchObject({
      priority: 'urgent',
      dueAt: null,
    });
    // The visitor can't notice.
    expect((await visitor.call('GET', `/conversations/${id}`)).body.conversation).toEqual(before);
    expect(ok(await at(operator, 'PATCH', '', { priority: 'urgent' })).priority).toBe('urgent');
    expect(ok(await at(operator, 'PATCH', '', { subject: ' Broken lamp ' })).subject).toBe('Broken lamp');
    expect(ok(await at(operator, 'PATCH', '', { subject: null })).subject).toBeUndefined();
    expect((await heard()).map(({ payload }) => [payload.priority, payload.subject])).toEqual([
      ['urgent', null],
      ['urgent', 'Broken lamp'],
      ['urgent', null],
    ]);
    for (const body of [{ priority: 'highest' }, { subject: '' }, { subject: 'x'.repeat(501) }])
      expect((await at(operator, 'PATCH', '', body)).status).toBe(400);
  });
});

describe('snooze', () => {
  it('leaves the queue and comes back at its time, by itself; its status stays', async () => {
    await heard();
    const until = inMs(60_000);
    expect(ok(await at(operator, 'POST', '/snooze', { until }))).toMatchObject({
      status: 'pending',
      snoozedUntil: until,
    });
    expect(await found('')).not.toContain(id);
    expect(await found('snoozed=true')).toContain(id);
    expect(await found('snoozed=all')).toContain(id);
    expect(await found(`visitorId=${visitor.id}`)).toEqual([id]);
    app.clock.advance(59_000);
    await watcher.drain();
    expect((await now()).snoozedUntil).toBe(until);
    app.clock.advance(1_000);
    await eventually(async () => expect((await now()).snoozedUntil).toBeNull());
    expect(await found('')).toContain(id);
    expect((await heard()).map(({ type, payload }) => [type, payload.snoozedUntil])).toEqual([
      ['conversation:changed', until],
      ['conversation:changed', null],
    ]);
  });

  it("ends with the visitor's message, in the same commit", async () => {
    await at(operator, 'POST', '/snooze', { until: inMs(3_600_000) });
    await heard();
    const notices: string[][] = [];
    const undo = app.service.engine.store.subscribe(({ events }) =>
      notices.push(events.map(({ type }) => type)),
    );
    await createMessage(visitor, id);
    await heard();
    undo();
    expect(notices.flat()).toEqual(['message:new', 'conversation:changed']);
    expect((await now()).snoozedUntil).toBeNull();
    // A note of a colleague wakes nothing.
    await at(operator, 'POST', '/snooze', { until: inMs(3_600_000) });
    await at(colleague, 'POST', '/messages', { content: 'by the way', internal: true });
    expect((await now()).snoozedUntil).not.toBeNull();
  });

  it.each(['accept', 'resolve', 'unsnooze', 'transfer', 'release'])('ends with %s', async (act) => {
    const isHeld = act === 'transfer' || act === 'release';
    if (isHeld) await at(operator, 'POST', '/accept');
    await at(isHeld ? operator : admin, 'POST', '/snooze', { until: inMs(3_600_000) });
    await heard();
    const reply =
      act === 'unsnooze'
        ? await at(admin, 'DELETE', '/snooze')
        : await at(admin, 'POST', `/${act}`, act === 'transfer' ? { memberId: colleague.id } : undefined);
    expect(ok(reply).snoozedUntil).toBeNull();
    // Who gets a conversation is told so, in no promised order.
    expect((await heard()).findLast(({ type }) => type !== 'notification:new')).toMatchObject({
      type: 'conversation:changed',
      payload: { snoozedUntil: null },
    });
    expect(
      await rowsOf(app, `select 1 from conversations where id = '${id}' and snoozed_until is not null`),
    ).toEqual([]);
  });

  it('is refused for a closed one, for what a colleague has, and for times that make no sense', async () => {
    for (const until of [inMs(0), inMs(-1), inMs(400 * 86_400_000), 'tomorrow', 5])
      expect((await at(operator, 'POST', '/snooze', { until })).status, String(until)).toBe(400);
    await at(operator, 'POST', '/accept');
    expect((await at(colleague, 'POST', '/snooze', { until: inMs(1_000) })).status).toBe(403);
    ok(await at(operator, 'POST', '/snooze', { until: inMs(3_600_000) }));
    expect((await at(colleague, 'DELETE', '/snooze')).status).toBe(403);
    ok(await at(operator, 'POST', '/resolve'));
    expect((await at(operator, 'POST', '/snooze', { until: inMs(1_000) })).body).toMatchObject({
      error: 'conflict',
      status: 'closed',
    });
  });
});

describe('what a snooze costs', () => {
  it('is no look at the database before it is due; a clock that was set forward is noticed within ten seconds', async () => {
    ok(await at(operator, 'POST', '/snooze', { until: inMs(3_600_000) }));
    await heard();
    const conversations = await app.service.engine.store.read(
      async ({ repositories }) => repositories.conversations,
    );
    const looks = vi.spyOn(conversations, 'dueSnoozes');
    for (let round = 0; round < 3; round += 1) {
      app.clock.advance(3_000);
      await at(operator, 'GET', '');
    }
    expect(looks).not.toHaveBeenCalled();
    looks.mockRestore();
    app.clock.step(3_600_000);
    app.clock.advance(10_000);
    await eventually(async () =>
      expect((await at(operator, 'GET', '')).body.conversation.snoozedUntil).toBeNull(),
    );
  });
});

describe('a snooze over a restart', () => {
  it('ends at its time while the server is down, and after it', async () => {
    let own = await startApp();
    try {
      const { application } = await createOrganization(own, 'sleepy');
      const member = await createMember(own, 'sleepy');
      const customer = createVisitor(own, application);
      const [early, late] = [await createConversation(customer), await createConversation(customer)];
      for (const [one, ms] of [
        [early, 60_000],
        [late, 120_000],
      ] as const)
        await member.call('POST', `/conversations/${one}/snooze`, {
          until: new Date(own.clock.now() + ms).toISOString(),
        });
      own.clock.step(60_000);
      own = await own.restart();
      const asleep = async (): Promise<unknown> =>
        rowsOf(own, 'select id from conversations where snoozed_until > 0');
      await eventually(async () => expect(await asleep()).toEqual([{ id: late }]));
      own.clock.advance(60_000);
      await eventually(async () => expect(await asleep()).toEqual([]));
    } finally {
      await own.stop();
    }
  });
});

describe('reopen', () => {
  it('makes the caller the assignee, and is told as reopened and then accepted, to the visitor too', async () => {
    await at(operator, 'POST', '/accept');
    await at(operator, 'POST', '/resolve');
    const socket = await visitor.connect();
    socket.send('room:join', { conversationId: id });
    await socket.receives('room:joined');
    await heard();
    expect(ok(await at(colleague, 'POST', '/reopen'))).toMatchObject({
      status: 'active',
      assignedTo: colleague.id,
      resolvedBy: null,
      resolvedAt: null,
    });
    expect(await heard()).toEqual([
      { type: 'conversation:reopened', payload: { conversationId: id, reopenedBy: colleague.id } },
      {
        type: 'conversation:accepted',
        payload: { conversationId: id, assignedTo: colleague.id, assignedToName: 'Otto' },
      },
    ]);
    await socket.drain();
    // Of the end before it a store may tell only now.
    expect(socket.takeTypes().filter((type) => type !== 'conversation:resolved')).toEqual([
      'room:joined',
      'conversation:reopened',
      'conversation:accepted',
    ]);
    await createMessage(visitor, id, 'again');
    const { participants } = (await visitor.call('GET', `/conversations/${id}`)).body.conversation;
    expect(participants.map((one: { userId: string }) => one.userId)).toEqual([visitor.id, colleague.id]);
    await socket.close();
  });

  it('of two at once one wins, and the other is told who', async () => {
    for (let round = 0; round < 5; round += 1) {
      await at(operator, 'POST', '/accept');
      await at(admin, 'POST', '/resolve');
      await heard();
      const replies = await Promise.all(
        (round % 2 === 0 ? [operator, colleague] : [colleague, operator]).map((who) =>
          at(who, 'POST', '/reopen'),
        ),
      );
      const [won, lost] = replies.toSorted((one, other) => one.status - other.status) as [Reply, Reply];
      const winner = ok(won).assignedTo as string;
      expect(lost.status).toBe(409);
      expect(lost.body).toMatchObject({ error: 'conflict', status: 'active', assignedTo: winner });
      expect((await heard()).map(({ type }) => type)).toEqual([
        'conversation:reopened',
        'conversation:accepted',
      ]);
    }
  });

  it('is refused for one that is open', async () => {
    expect((await at(operator, 'POST', '/reopen')).body).toMatchObject({
      error: 'conflict',
      message: "The conversation is pending, so it can't be reopened.",
      status: 'pending',
    });
    await at(operator, 'POST', '/accept');
    expect((await at(operator, 'POST', '/reopen')).body).toMatchObject({
      message: "The conversation is active, so it can't be reopened.",
      assignedTo: operator.id,
    });
  });
});

describe('unread', () => {
  it('moves the own position back, not a colleague’s, and the visitor hears nothing', async () => {
    await at(operator, 'POST', '/accept');
    const first = await createMessage(visitor, id, 'first');
    const answer = await createMessage(operator, id, 'answer');
    const last = await createMessage(visitor, id, 'last');
    for (const who of [operator, colleague]) await at(who, 'POST', '/read', { messageId: last });
    const socket = await visitor.connect();
    socket.send('room:join', { conversationId: id });
    await socket.receives('room:joined');
    await socket.drain();
    socket.takeTypes();
    expect(await now()).toMatchObject({ unreadCount: 0, unread: false });
    expect(ok(await at(operator, 'POST', '/unread', {}))).toMatchObject({ unreadCount: 1, unread: true });
    expect(ok(await at(operator, 'POST', '/unread', { messageId: answer }))).toMatchObject({
      unreadCount: 1,
    });
    expect(ok(await at(operator, 'POST', '/unread', { messageId: first }))).toMatchObject({ unreadCount: 2 });
    // Never forward.
    expect(ok(await at(operator, 'POST', '/unread', { messageId: last }))).toMatchObject({ unreadCount: 2 });
    expect(await now(colleague)).toMatchObject({ unreadCount: 0, unread: false });
    expect(await found(`unread=true&visitorId=${visitor.id}`)).toEqual([id]);
    expect(await found(`unread=true&visitorId=${visitor.id}`, colleague)).toEqual([]);
    expect(await found(`unread=false&visitorId=${visitor.id}`, colleague)).toEqual([id]);
    await socket.drain();
    expect(socket.takeTypes()).toEqual([]);
    // And forward again, as ever.
    await at(operator, 'POST', '/read', { messageId: last });
    expect(await now()).toMatchObject({ unreadCount: 0 });
    await socket.close();
  });

  it('is refused where nothing would be unread, and follows deletions', async () => {
    expect((await at(operator, 'POST', '/unread', {})).body.message).toContain('message of the visitor');
    const written = await createMessage(visitor, id);
    await at(operator, 'POST', '/accept');
    const answer = await createMessage(operator, id);
    expect((await at(operator, 'POST', '/unread', { messageId: answer })).status).toBe(400);
    expect((await at(operator, 'POST', '/unread', { messageId: randomUUID() })).status).toBe(404);
    expect(await found(`unread=true&visitorId=${visitor.id}`)).toEqual([id]);
    expect((await visitor.call('DELETE', `/conversations/${id}/messages/${written}`)).status).toBe(200);
    expect(await now()).toMatchObject({ unreadCount: 0, unread: false });
    expect(await found(`unread=true&visitorId=${visitor.id}`)).toEqual([]);
  });
});

describe('field and filter', () => {
  it('agree behind more messages of staff than are counted, notes and the system’s among them', async () => {
    const first = await createMessage(visitor, id, 'still to read');
    await at(operator, 'POST', '/accept');
    await createMessage(operator, id, 'an answer does not read');
    await rowsOf(
      app,
      `with recursive n(i) as (select 3 union all select i + 1 from n where i < 212)
       insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content, content_format, internal, created_at)
       select printf('%s-%012d', substr('${randomUUID()}', 1, 23), i), c.id, c.organization_id, i, i, '${operator.id}',
         case i % 3 when 0 then 'system' else 'operator' end, 'x', 'plain', i % 2, c.updated_at
       from n, conversations as c where c.id = '${id}'`,
    );
    await rowsOf(app, `update conversations set last_seq = 212 where id = '${id}'`);
    const unread = `unread=true&visitorId=${visitor.id}`;
    expect(await now()).toMatchObject({ unread: true, unreadCount: 1 });
    expect(await found(unread)).toEqual([id]);
    await at(operator, 'POST', '/read', { messageId: first });
    expect(await now()).toMatchObject({ unread: false, unreadCount: 0 });
    expect(await found(unread)).toEqual([]);
  });
});

describe('the filters', () => {
  it('find what they say, alone and together', async () => {
    const someone = createVisitor(app, acme.application);
    const made: string[] = [];
    for (let index = 0; index < 4; index += 1) {
      app.clock.step(60_000);
      made.push(await createConversation(someone));
    }
    const [plain, tagged, both, urgent] = made as [string, string, string, string];
    for (const [one, tag] of [
      [tagged, 'f-one'],
      [both, 'f-one'],
      [both, 'f-two'],
    ] as const)
      await operator.call('PUT', `/conversations/${one}/tags/${tag}`);
    await operator.call('PATCH', `/conversations/${urgent}`, { priority: 'urgent' });
    await operator.call('PATCH', `/conversations/${both}`, { priority: 'low' });
    app.clock.step(1_000);
    await createMessage(someone, both, 'hello');
    const mine = `visitorId=${someone.id}`;
    expect((await found('tag=f-one')).toSorted()).toEqual([tagged, both].toSorted());
    expect(await found('tag=f-one&tag=f-two')).toEqual([both]);
    expect(await found('tag=f-one&tag=unheard-of')).toEqual([]);
    expect((await found(`untagged=true&${mine}`)).toSorted()).toEqual([plain, urgent].toSorted());
    expect((await found(`untagged=false&${mine}`)).toSorted()).toEqual([tagged, both].toSorted());
    expect(await found(`priority=urgent&${mine}`)).toEqual([urgent]);
    expect((await found(`priority=urgent&priority=low&${mine}`)).toSorted()).toEqual(
      [urgent, both].toSorted(),
    );
    expect(await found(`unread=true&tag=f-one&tag=f-two&channel=chat&${mine}`)).toEqual([both]);
    expect(await found(`sort=newest&${mine}`)).toEqual(made.toReversed());
    expect(await found(`sort=oldest&${mine}`)).toEqual(made);
    expect(await found(`sort=priority&${mine}`)).toEqual([urgent, plain, tagged, both]);
    expect(await found(`sort=updated&${mine}`)).toEqual([both, urgent, tagged, plain]);
    app.clock.step(60_000);
    expect(await found(`waitingLonger=3&sort=waiting&${mine}`)).toEqual([plain, tagged]);
    expect((await found(mine, foreign)).length).toBe(0);
    for (const query of [
      'tag=',
      'untagged=1',
      'unread=yes',
      'snoozed=some',
      'priority=top',
      'visitorId=x',
      'channel=fax',
      'sort=random',
      'waitingLonger=-1',
      'tag[]=a&tag[]=b',
    ])
      expect((await operator.call('GET', `/conversations?${query}`)).status, query).toBe(400);
  });

  it('say which values there are, to one and to several', async () => {
    const refused = async (query: string): Promise<string> =>
      (await operator.call('GET', `/conversations?${query}`)).body.message;
    for (const query of ['priority=top', 'priority=low&priority=top'])
      expect(await refused(query)).toBe(
        'The field priority is not valid: must be low, normal, high or urgent.',
      );
    expect(await refused('tag=')).toBe('The field tag is not valid: must not be empty.');
  });
});

describe('views', () => {
  it('are their maker’s alone or everybody’s; a shared one is changed by its maker or an admin', async () => {
    const query = { status: 'pending', tag: ['v-tag'], unread: true, sort: 'waiting' };
    const own = (await operator.call('POST', '/views', { name: 'Mine', query })).body.view;
    expect(own).toMatchObject({ name: 'Mine', shared: false, query, createdBy: operator.id });
    const shared = (await operator.call('POST', '/views', { name: 'Ours', query: {}, shared: true })).body
      .view;
    const seen = async (who: TestClient): Promise<string[]> =>
      (await who.call('GET', '/views')).body.views.map((one: { id: string }) => one.id);
    expect(await seen(operator)).toEqual([own.id, shared.id]);
    expect(await seen(colleague)).toEqual([shared.id]);
    expect(await seen(foreign)).toEqual([]);
    expect((await admin.call('PATCH', `/views/${own.id}`, { name: 'x' })).status).toBe(404);
    expect((await colleague.call('PATCH', `/views/${shared.id}`, { name: 'x' })).status).toBe(403);
    expect((await colleague.call('DELETE', `/views/${shared.id}`)).status).toBe(403);
    expect((await admin.call('PATCH', `/views/${shared.id}`, { name: 'All' })).body.view.name).toBe('All');
    expect((await foreign.call('DELETE', `/views/${shared.id}`)).status).toBe(404);
    const audited = await app.local('audit.list', { organization: 'acme' });
    expect(
      audited.entries.filter(({ action }) => action.startsWith('views.')).map(({ action }) => action),
    ).toEqual(['views.update', 'views.create']);
    for (const one of [own, shared])
      expect((await operator.call('DELETE', `/views/${one.id}`)).status).toBe(200);
    for (const body of [{ name: 'x' }, { name: 'x', query: { status: 'open' } }, { name: 'x\ny', query: {} }])
      expect((await operator.call('POST', '/views', body)).status).toBe(400);
  });

  it('are counted as their list counts, for each member alone, at most once a second', async () => {
    await createMessage(visitor, id, 'count me');
    await at(operator, 'PUT', '/tags/counted');
    const who = await createMember(app, 'acme');
    const view = (await who.call('POST', '/views', { name: 'C', query: { tag: ['counted'], unread: true } }))
      .body.view;
    const mine = (await who.call('POST', '/views', { name: 'Me', query: { assignedTo: 'me' } })).body.view;
    const counts = async (): Promise<unknown> => (await who.call('GET', '/views/counts')).body.counts;
    const expected = (one: number, two: number) => [
      { id: view.id, count: one },
      { id: mine.id, count: two },
    ];
    expect(await counts()).toEqual(expected(1, 0));
    await at(who, 'POST', '/accept');
    await at(operator, 'DELETE', '/tags/counted');
    expect(await counts()).toEqual(expected(1, 0));
    app.clock.advance(1_000);
    expect(await counts()).toEqual(expected(0, 1));
  });

  it('are at most 50 shared and 50 own, and own ones fall with their member', async () => {
    const who = await createMember(app, 'acme');
    for (let index = 0; index < 50; index += 1)
      expect((await who.call('POST', '/views', { name: `n${index}`, query: {} })).status).toBe(201);
    expect((await who.call('POST', '/views', { name: 'more', query: {} })).body.message).toContain(
      'at most 50',
    );
    const shared = (await who.call('POST', '/views', { name: 'stays', query: {}, shared: true })).body.view;
    expect((await who.call('PATCH', `/views/${shared.id}`, { shared: false })).status).toBe(409);
    await app.local('members.remove', { memberId: who.id });
    expect(await rowsOf(app, `select name from views where created_by = '${who.id}'`)).toEqual([
      { name: 'stays' },
    ]);
    await admin.call('DELETE', `/views/${shared.id}`);
  });

  it('that name a visitor fall when that visitor is erased', async () => {
    const view = (await operator.call('POST', '/views', { name: 'V', query: { visitorId: visitor.id } })).body
      .view;
    await app.local('visitors.erase', { visitorId: visitor.id });
    expect((await operator.call('DELETE', `/views/${view.id}`)).status).toBe(404);
  });
});

describe('many at once', () => {
  it('answers each as if alone, and of another organization nothing', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 98; index += 1) ids.push(await createConversation(visitor));
    const closed = ids[5] as string;
    await admin.call('POST', `/conversations/${closed}/resolve`);
    const theirs = await createConversation(
      createVisitor(app, (await createOrganization(app, 'third')).application),
    );
    ids.push(theirs, randomUUID());
    await heard();
    const { status, body } = await operator.call('POST', '/conversations/bulk', { ids, act: 'accept' });
    expect(status).toBe(200);
    expect(body.results.map((one: { id: string }) => one.id)).toEqual(ids);
    for (const [index, result] of body.results.entries()) {
      if (index === 5) expect(result).toMatchObject({ ok: false, error: 'conflict', status: 'closed' });
      else if (index >= 98) expect(result).toMatchObject({ ok: false, error: 'not_found' });
      else
        expect(result).toMatchObject({
          ok: true,
          conversation: { status: 'active', assignedTo: operator.id },
        });
    }
    expect(await rowsOf(app, `select status from conversations where id = '${theirs}'`)).toEqual([
      { status: 'pending' },
    ]);
  });

  it('go twenty in a commit', async () => {
    // Elsewhere a store may tell of one commit in several notices.
    const own = await startApp({ engine: 'sqlite' });
    try {
      const { application } = await createOrganization(own, 'acme');
      const member = await createMember(own, 'acme');
      const someone = createVisitor(own, application);
      const ids: string[] = [];
      for (let index = 0; index < 45; index += 1) ids.push(await createConversation(someone));
      await member.call('POST', `/conversations/${ids[5]}/accept`);
      await member.call('POST', `/conversations/${ids[5]}/resolve`);
      const groups: number[] = [];
      const undo = own.service.engine.store.subscribe(({ events }) => groups.push(events.length));
      const { status } = await member.call('POST', '/conversations/bulk', { ids, act: 'accept' });
      undo();
      expect(status).toBe(200);
      // One of the first twenty is closed.
      expect(groups).toEqual([19, 20, 5]);
    } finally {
      await own.stop();
    }
  });

  it.each([
    [{ act: 'tag', tag: 'b-tag' }, { tags: ['b-tag'] }],
    [{ act: 'priority', priority: 'high' }, { priority: 'high' }],
    [{ act: 'resolve' }, { status: 'closed' }],
  ])('does %j', async (act, expected) => {
    const { body } = await admin.call('POST', '/conversations/bulk', { ids: [id], ...act });
    expect(body.results).toEqual([{ id, ok: true, conversation: expect.objectContaining(expected) }]);
  });

  it('snoozes, wakes, marks unread, takes tags off, hands over, releases and reopens', async () => {
    await createMessage(visitor, id);
    const bulk = async (act: object): Promise<Reply['body']> =>
      (await admin.call('POST', '/conversations/bulk', { ids: [id], ...act })).body.results[0];
    const until = inMs(60_000);
    expect(await bulk({ act: 'snooze', until })).toMatchObject({ conversation: { snoozedUntil: until } });
    expect(await bulk({ act: 'unsnooze' })).toMatchObject({ conversation: { snoozedUntil: null } });
    expect(await bulk({ act: 'unread' })).toMatchObject({ conversation: { unread: true } });
    await bulk({ act: 'tag', tag: 'off' });
    expect(await bulk({ act: 'untag', tag: 'off' })).toMatchObject({ conversation: { tags: [] } });
    expect(await bulk({ act: 'transfer', memberId: colleague.id })).toMatchObject({
      ok: false,
      error: 'conflict',
    });
    await bulk({ act: 'accept' });
    expect(await bulk({ act: 'transfer', memberId: colleague.id })).toMatchObject({
      conversation: { assignedTo: colleague.id },
    });
    expect(await bulk({ act: 'release' })).toMatchObject({ conversation: { status: 'pending' } });
    await bulk({ act: 'resolve' });
    expect(await bulk({ act: 'reopen' })).toMatchObject({ conversation: { status: 'active' } });
  });

  it('refuses what it can’t mean', async () => {
    for (const body of [
      { ids: [], act: 'accept' },
      { ids: [id, id.toUpperCase()], act: 'accept' },
      { ids: Array.from({ length: 101 }, () => randomUUID()), act: 'accept' },
      { ids: ['x'], act: 'accept' },
      { ids: [id], act: 'delete' },
      { ids: [id], act: 'tag' },
      { ids: [id], act: 'snooze' },
      { ids: [id], act: 'transfer' },
      { ids: [id], act: 'priority' },
      { ids: [id] },
    ])
      expect((await operator.call('POST', '/conversations/bulk', body)).status, JSON.stringify(body)).toBe(
        400,
      );
  });
});
