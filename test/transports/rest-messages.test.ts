// Attacks messages and lists over REST: lengths at their edges, text that is no text, page
// parameters, repeated sends, the 15 minutes, read positions.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { ask, askRaw, expectCleanLog, idsOf, stored } from '../helpers/rest-checks.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let visitor: TestClient;
let operator: TestMember;
let conversationId: string;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  visitor = createVisitor(app, acme.application);
  operator = await createMember(app, 'acme');
  conversationId = await createConversation(visitor);
  await operator.call('POST', `/conversations/${conversationId}/accept`);
});

afterAll(async () => {
  expectCleanLog(app, [acme.application.key, operator.token, visitor.id, 'CANARY']);
  await app.stop();
});

const post = (body: unknown, headers = {}) =>
  ask(app, visitor, 'POST', `/conversations/${conversationId}/messages`, body, headers);
const family = '👨\u200d👩\u200d👧\u200d👦';

describe('content', () => {
  it.each([
    ['5,000 letters', 'a'.repeat(5000)],
    ['2,500 emoji', '😀'.repeat(2500)],
    ['5,000 and blanks around', `  ${'a'.repeat(5000)}\n\t `],
    ['454 families', family.repeat(454)],
    ['a decomposed word', 'e\u0301'],
    ['a composed word', '\u00e9'],
    ['right to left', 'שלום \u202eabc'],
    ['CJK beyond the BMP', '𠮷𩸽'],
    ['a tag flag', '🏴\u{e0067}\u{e0062}\u{e007f}'],
    ['templates', '{{7*7}} ${7*7} <%=7*7%> #{7*7} %n %s'],
    ['markup', '<script>alert(1)</script>'],
    ['JSON', '{"root":{"type":"root","version":1,"children":[]}}'],
    ['CANARY', 'CANARY'],
  ])('%s come back bit for bit', async (_what, content) => {
    const reply = await post({ content });
    expect(reply.status, reply.text).toBe(201);
    expect(reply.body.message).toMatchObject({
      content: content.trim(),
      contentFormat: 'plain',
      contentHtml: null,
    });
    const { body } = await ask(
      app,
      visitor,
      'GET',
      `/conversations/${conversationId}/messages?order=desc&limit=1`,
    );
    expect(body.messages[0]).toEqual({ ...reply.body.message, editedAt: null });
  });

  it.each([
    'a'.repeat(5001),
    '😀'.repeat(2501),
    family.repeat(455),
    '',
    ' ',
    '\n\t\u00a0\u3000',
    '\u200b\u200d\u2060\ufeff',
    '\u00ad',
    'a\u0000b',
    '\ud800',
    'a\udc00b',
    '\ud83d',
    null,
    5,
    true,
    [],
    ['hi'],
    {},
    { content: 'hi' },
    undefined,
  ])('%j is refused, sent or edited', async (content) => {
    const own = await createMessage(visitor, conversationId);
    const before = await stored(app);
    for (const [who, base] of [
      [visitor, ''],
      [operator, '/staff'],
    ] as const) {
      const reply = await ask(app, who, 'POST', `${base}/conversations/${conversationId}/messages`, {
        content,
      });
      expect([reply.status, reply.body.details?.[0]?.path]).toEqual([400, 'content']);
    }
    expect(
      (await ask(app, visitor, 'PATCH', `/conversations/${conversationId}/messages/${own}`, { content }))
        .status,
    ).toBe(400);
    expect(await stored(app)).toEqual(before);
  });

  it('of rich text is rendered once, or refused', async () => {
    const lexical = (children: unknown): string =>
      JSON.stringify({ root: { type: 'root', version: 1, children } });
    const rich = await post({
      contentFormat: 'lexical',
      content: lexical([
        { type: 'paragraph', version: 1, children: [{ type: 'text', text: '<b>&', format: 3, version: 1 }] },
      ]),
    });
    expect(rich.body.message.contentHtml).toBe('<p><strong><em>&lt;b&gt;&amp;</em></strong></p>');
    const before = await stored(app);
    for (const content of [
      'hi',
      '{}',
      '[]',
      'null',
      lexical(null),
      lexical([]),
      lexical([null]),
      lexical([{ type: 5 }]),
      JSON.stringify({ root: { type: 'root', version: 2, children: [] } }),
      `{"root":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}`,
    ])
      expect([content, (await post({ contentFormat: 'lexical', content })).status]).toEqual([content, 400]);
    for (const contentFormat of ['html', 'LEXICAL', '', null, 1, ['plain']])
      expect([contentFormat, (await post({ contentFormat, content: 'hi' })).status]).toEqual([
        contentFormat,
        400,
      ]);
    expect(await stored(app)).toEqual(before);
    const { id } = rich.body.message;
    expect(
      (
        await ask(app, visitor, 'PATCH', `/conversations/${conversationId}/messages/${id}`, {
          content: 'plain now',
        })
      ).body.message,
    ).toMatchObject({ contentFormat: 'plain', contentHtml: null });
  });

  it('of a subject is 1 to 500 characters', async () => {
    for (const subject of ['a', 'a'.repeat(500), `  ${'a'.repeat(500)}  `])
      expect((await ask(app, visitor, 'POST', '/conversations', { subject })).body.conversation.subject).toBe(
        subject.trim(),
      );
    const before = await stored(app);
    for (const subject of ['', ' ', 'a'.repeat(501), null, 5, [], {}, 'a\u0000', '\ud800'])
      expect([
        subject,
        (await ask(app, visitor, 'POST', '/conversations', { subject })).body.details?.[0]?.path,
      ]).toEqual([subject, 'subject']);
    expect(await stored(app)).toEqual(before);
  });
});

describe('pages', () => {
  const lists = (): [TestClient, string][] => [
    [visitor, '/conversations'],
    [visitor, `/conversations/${conversationId}/messages`],
    [operator, '/staff/conversations'],
    [operator, `/staff/conversations/${conversationId}/messages`],
  ];
  const get = (who: TestClient, path: string, query: string) =>
    askRaw(app, { path: `/api/v1${path}?${query}`, headers: Object.entries(who.headers) });

  it.each([
    ...[
      '0',
      '-1',
      '101',
      '1.5',
      'abc',
      '',
      '%205',
      '5%20',
      '%2B5',
      '1e1',
      '0x10',
      '%D9%A3',
      '9007199254740993',
      'null',
      'NaN',
      'Infinity',
      '5%00',
      '--',
      "1'",
      '1;2',
      '1,2',
      '%ff',
      '%zz',
    ].map((value) => ['limit', `limit=${value}`]),
    ['limit', 'limit=5&limit=6'],
    ['limit', 'limit[]=5'],
    ['limit', 'limit[a]=5'],
    ['limit', 'limit'],
    ...['-1', '1.5', 'x', '9007199254740992', '1000000000000000000', '', '%2B1', '0x1'].map((value) => [
      'offset',
      `offset=${value}`,
    ]),
    ['offset', 'offset=0&offset=0'],
  ])('%s is refused as %s', async (field, query) => {
    for (const [who, path] of lists()) {
      const reply = await get(who, path, query);
      expect([path, reply.status, reply.body.details?.[0]?.path]).toEqual([path, 400, field]);
      expect(reply.body.message).toContain(field);
    }
  });

  it('go from 1 to 100, and beyond the end there is nothing', async () => {
    for (const [who, path] of lists()) {
      for (const limit of [1, 100]) expect((await get(who, path, `limit=${limit}`)).body.limit).toBe(limit);
      expect((await get(who, path, '')).body).toMatchObject({ limit: 20, offset: 0 });
      const { body } = await get(who, path, 'offset=999999999999999');
      expect(body.conversations ?? body.messages).toEqual([]);
    }
  });

  it('of history take an order and a place', async () => {
    const place = await createMessage(visitor, conversationId, 'place');
    const path = `/conversations/${conversationId}/messages`;
    const elsewhere = await createMessage(visitor, await createConversation(visitor));
    for (const query of [
      'order=sideways',
      'order=',
      'order=ASC',
      'order=asc&order=desc',
      `after=${place}&before=${place}`,
      `after=${randomUUID()}`,
      `before=${randomUUID()}`,
      `after=${elsewhere}`,
      'after=abc',
      'after=',
      `after=${place}&after=${place}`,
      `after[]=${place}`,
    ])
      expect([query, (await get(visitor, path, query)).status]).toEqual([query, 400]);
    const whole = idsOf((await get(visitor, path, 'limit=100')).body.messages);
    const at = whole.indexOf(place);
    expect(
      idsOf((await get(visitor, path, `limit=100&before=${place.toUpperCase()}`)).body.messages),
    ).toEqual(whole.slice(0, at));
    expect(idsOf((await get(visitor, path, `limit=100&after=${whole[1]}`)).body.messages)).toEqual(
      whole.slice(2),
    );
    // `before` answers the page that ends just before the message, in the order asked for; an offset goes further back.
    for (const [query, start, end] of [
      ['limit=2', at - 2, at],
      ['limit=2&offset=1', at - 3, at - 1],
      ['limit=2&offset=2', at - 4, at - 2],
    ] as const) {
      const page = async (order: string) =>
        idsOf((await get(visitor, path, `${query}&before=${place}&order=${order}`)).body.messages);
      expect(await page('asc')).toEqual(whole.slice(start, end));
      expect(await page('desc')).toEqual(whole.slice(start, end).toReversed());
    }
    expect(at).toBeGreaterThan(4);
    expect(idsOf((await get(visitor, path, 'limit=100&order=desc')).body.messages)).toEqual(
      whole.toReversed(),
    );
  });

  it('of the queue take filters and a search that is only text', async () => {
    const found = await createConversation(visitor, "100%_sure 'quoted' \"double\" x' UNION SELECT \\");
    const search = async (q: string): Promise<string[]> => {
      const reply = await ask(
        app,
        operator,
        'GET',
        `/staff/conversations?limit=100&q=${encodeURIComponent(q)}`,
      );
      expect([q, reply.status]).toEqual([q, 200]);
      expect(reply.body.total).toBe(reply.body.conversations.length);
      return idsOf(reply.body.conversations);
    };
    for (const q of ['100%_sure', "'quoted'", '"double"', "x' UNION SELECT", 'select \\', '100%_SURE'])
      expect([q, await search(q)]).toEqual([q, [found]]);
    for (const q of ['%', '_', '\\'])
      expect([q, await search(q)]).toEqual([q, [found, ...(await search(q)).filter((id) => id !== found)]]);
    for (const q of [
      '100_',
      '%sure%',
      'NEAR(',
      'a AND',
      'col:x',
      '-x',
      '^',
      ')(',
      '*',
      "' or 1=1 --",
      '\u0001',
      '😀😀😀x',
    ])
      expect([q, (await search(q)).includes(found)]).toEqual([q, false]);
    for (const query of [
      'q=',
      'q=%20',
      `q=${'a'.repeat(201)}`,
      'q=a&q=b',
      'q[]=a',
      'status=open',
      'status=',
      'status=PENDING',
      'assignedTo=unknown',
      'assignedTo=',
      'applicationId=x',
      'mode=both',
      'mode=',
      `assignedTo=${'x'.repeat(10_000)}`,
    ])
      expect([query, (await get(operator, '/staff/conversations', query)).status]).toEqual([query, 400]);
    const ids = async (query: string): Promise<string[]> =>
      idsOf((await get(operator, '/staff/conversations', `limit=100&${query}`)).body.conversations);
    expect(await ids('assignedTo=me')).toEqual([conversationId]);
    expect(await ids(`assignedTo=${operator.id}&status=active`)).toEqual([conversationId]);
    expect(await ids('assignedTo=none')).not.toContain(conversationId);
    expect(await ids('status=closed')).toEqual([]);
    expect(await ids(`applicationId=${randomUUID()}`)).toEqual([]);
  });
});

describe('sending again', () => {
  it('the same id answers the first message, whatever the text', async () => {
    const first = await post({ content: 'first', clientMessageId: 'again' });
    const before = await stored(app);
    for (const body of [
      { content: 'first', clientMessageId: 'again' },
      { content: 'second', clientMessageId: 'again' },
    ]) {
      const again = await post(body);
      expect([again.status, again.text]).toEqual([201, first.text]);
    }
    expect((await post({ content: 'third' }, { 'idempotency-key': 'again' })).text).toBe(first.text);
    expect(
      (await post({ content: 'first', clientMessageId: 'again' }, { 'idempotency-key': 'again' })).text,
    ).toBe(first.text);
    expect(
      (await post({ content: 'first', clientMessageId: 'again' }, { 'idempotency-key': 'other' })).status,
    ).toBe(400);
    for (const clientMessageId of ['', 'a'.repeat(101), null, 5, [], {}])
      expect([clientMessageId, (await post({ content: 'x', clientMessageId })).status]).toEqual([
        clientMessageId,
        400,
      ]);
    expect(
      (
        await askRaw(app, {
          method: 'POST',
          path: `/api/v1/conversations/${conversationId}/messages`,
          headers: [
            ...Object.entries(visitor.headers),
            ['Content-Type', 'application/json'],
            ['Idempotency-Key', 'again'],
            ['Idempotency-Key', 'again'],
          ],
          body: '{"content":"x"}',
        })
      ).status,
    ).toBe(400);
    expect(await stored(app)).toEqual(before);
  });

  it('is per sender and per conversation', async () => {
    const elsewhere = await createConversation(visitor);
    const ids = [
      await post({ content: 'a', clientMessageId: 'shared' }),
      await ask(app, visitor, 'POST', `/conversations/${elsewhere}/messages`, {
        content: 'b',
        clientMessageId: 'shared',
      }),
      await ask(app, operator, 'POST', `/staff/conversations/${conversationId}/messages`, {
        content: 'c',
        clientMessageId: 'shared',
      }),
    ].map(({ body }) => body.message.id as string);
    expect(new Set(ids).size).toBe(3);
  });

  it('a hundred times at once, half over the socket, is one message', async () => {
    const socket = await visitor.connect();
    const listener = await operator.connect();
    listener.send('room:join', { conversationId });
    await listener.receives('room:joined');
    const replies = Array.from({ length: 50 }, () => {
      socket.send('message:send', { conversationId, content: 'once', clientMessageId: 'hundred' });
      return post({ content: 'once', clientMessageId: 'hundred' });
    });
    const ids = new Set((await Promise.all(replies)).map(({ body }) => body.message.id as string));
    await socket.drain();
    await listener.drain();
    expect(socket.all('message:ack')).toHaveLength(50);
    for (const { payload } of socket.all('message:ack')) ids.add(payload.serverMessageId as string);
    expect(ids.size).toBe(1);
    expect(listener.all('message:new').filter(({ payload }) => payload.content === 'once')).toHaveLength(1);
    expect(await rowsOf(app, "select count(*) as n from messages where content = 'once'")).toEqual([
      { n: 1 },
    ]);
    await socket.close();
    await listener.close();
  });

  it('a conversation twenty times at once is one conversation', async () => {
    const fresh = createVisitor(app, acme.application);
    const replies = await Promise.all(
      Array.from({ length: 20 }, () =>
        ask(app, fresh, 'POST', '/conversations', { subject: 'once' }, { 'idempotency-key': 'twenty' }),
      ),
    );
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect((await ask(app, fresh, 'GET', '/conversations')).body.total).toBe(1);
    // Under another key, and under none, it is another.
    for (const [total, more] of [
      [2, { 'idempotency-key': 'twenty-one' }],
      [3, {}],
    ] as const) {
      const { body } = await ask(app, fresh, 'POST', '/conversations', { subject: 'twice' }, more);
      expect(body.conversation).toMatchObject({ subject: 'twice' });
      expect((await ask(app, fresh, 'GET', '/conversations')).body.total).toBe(total);
    }
    expect(
      (await ask(app, fresh, 'POST', '/conversations', {}, { 'idempotency-key': 'a'.repeat(101) })).status,
    ).toBe(400);
  });

  it('a key that can not be is named as it came: by the header, or in the body', async () => {
    const fresh = createVisitor(app, acme.application);
    const key = 'x'.repeat(101);
    const reply = await fresh.call('POST', '/conversations', {}, { 'idempotency-key': key });
    expect(reply.body).toMatchObject({
      message: 'The header Idempotency-Key is not valid: must have at most 100 characters.',
      details: [{ path: 'idempotencyKey', message: 'must have at most 100 characters' }],
    });
    const talk = (await fresh.call('POST', '/conversations', {})).body.conversation.id as string;
    const send = (body: object, headers = {}): Promise<{ body: { message: string } }> =>
      fresh.call('POST', `/conversations/${talk}/messages`, { content: 'x', ...body }, headers);
    expect((await send({}, { 'idempotency-key': key })).body.message).toMatch(/^The header Idempotency-Key /);
    expect((await send({ clientMessageId: key })).body.message).toMatch(/^The field clientMessageId /);
  });

  it('revives nothing that was deleted, nor in a closed conversation', async () => {
    const own = await createConversation(visitor);
    const send = () =>
      ask(app, visitor, 'POST', `/conversations/${own}/messages`, {
        content: 'gone',
        clientMessageId: 'deleted',
      });
    const { id } = (await send()).body.message;
    await ask(app, visitor, 'DELETE', `/conversations/${own}/messages/${id}`);
    const again = await send();
    expect([again.status, again.body.message.id]).toEqual([201, id]);
    expect((await ask(app, visitor, 'GET', `/conversations/${own}/messages`)).body.messages).toEqual([]);
    await operator.call('POST', `/conversations/${own}/accept`);
    await operator.call('POST', `/conversations/${own}/resolve`);
    expect((await send()).body.message.id).toBe(id);
    const late = await ask(app, visitor, 'POST', `/conversations/${own}/messages`, {
      content: 'late',
      clientMessageId: 'new',
    });
    expect([late.status, late.body.error]).toEqual([422, 'conversation_not_active']);
    expect(late.body.message).toMatch(/Start a new one/);
    const staff = await operator.call('POST', `/conversations/${own}/messages`, { content: 'late' });
    expect([staff.status, staff.body.message]).toEqual([422, expect.stringMatching(/Reopen it/)]);
  });
});

describe('the 15 minutes', () => {
  const edit = (id: string, content = 'changed') =>
    ask(app, visitor, 'PATCH', `/conversations/${conversationId}/messages/${id}`, { content });
  const remove = (id: string) =>
    ask(app, visitor, 'DELETE', `/conversations/${conversationId}/messages/${id}`);

  it('end after 15 minutes and not before, counted from the sending', async () => {
    const created = app.clock.now();
    const id = await createMessage(visitor, conversationId);
    app.clock.advance(14 * 60_000 + 59_000);
    expect((await edit(id)).body.message.editedAt).toBe(new Date(app.clock.now()).toISOString());
    app.clock.advance(1_000);
    const last = await edit(id, 'last');
    expect([last.status, last.body.message.createdAt]).toEqual([200, new Date(created).toISOString()]);
    app.clock.advance(1);
    const before = await stored(app);
    for (const reply of [await edit(id), await remove(id)]) {
      expect([reply.status, reply.body.error]).toEqual([422, 'edit_window_expired']);
      expect(reply.body.message).toContain(id);
      expect(reply.body.message).toContain(new Date(created + 15 * 60_000).toISOString());
    }
    expect(await stored(app)).toEqual(before);
  });

  it('are the sender’s alone, young or old', async () => {
    const theirs = await createMessage(operator, conversationId, 'from staff');
    const admin = await createMember(app, 'acme', 'admin');
    const mine = await createMessage(visitor, conversationId, 'from visitor');
    const before = await stored(app);
    for (const minutes of [0, 20]) {
      app.clock.advance(minutes * 60_000);
      for (const reply of [
        await edit(theirs),
        await remove(theirs),
        await ask(app, admin, 'PATCH', `/staff/conversations/${conversationId}/messages/${mine}`, {
          content: 'x',
        }),
        await ask(app, admin, 'DELETE', `/staff/conversations/${conversationId}/messages/${theirs}`),
      ])
        expect([reply.status, reply.body.error]).toEqual([403, 'forbidden']);
    }
    expect(await stored(app)).toEqual(before);
  });

  it('go on in a closed conversation, and a deleted message is gone for good', async () => {
    const own = await createConversation(visitor);
    const [one, two] = [
      await createMessage(visitor, own, 'CANARY one'),
      await createMessage(visitor, own, 'CANARY two'),
    ];
    await operator.call('POST', `/conversations/${own}/accept`);
    await operator.call('POST', `/conversations/${own}/resolve`);
    expect(
      (await ask(app, visitor, 'PATCH', `/conversations/${own}/messages/${one}`, { content: 'edited' }))
        .status,
    ).toBe(200);
    expect((await ask(app, visitor, 'DELETE', `/conversations/${own}/messages/${one}`)).status).toBe(200);
    for (const method of ['PATCH', 'DELETE'])
      expect(
        (
          await ask(
            app,
            visitor,
            method,
            `/conversations/${own}/messages/${one}`,
            method === 'PATCH' ? { content: 'x' } : undefined,
          )
        ).status,
      ).toBe(404);
    const history = await ask(app, visitor, 'GET', `/conversations/${own}/messages?after=${one}`);
    expect(idsOf(history.body.messages)).toEqual([two]);
    expect((await ask(app, operator, 'GET', `/staff/conversations/${own}/messages`)).text).not.toContain(one);
    expect(JSON.stringify(await rowsOf(app, 'select * from messages where id = ?', one))).not.toMatch(
      /CANARY|edited"/,
    );
  });
});

it('unread counts what staff sent since, and neither notes nor deleted nor own messages', async () => {
  const own = await createConversation(visitor);
  await operator.call('POST', `/conversations/${own}/accept`);
  const unread = async (): Promise<number> =>
    (await ask(app, visitor, 'GET', `/conversations/${own}/unread`)).body.unreadCount as number;
  const read = async (messageId: string): Promise<number> =>
    (await ask(app, visitor, 'POST', `/conversations/${own}/read`, { messageId })).status;
  expect(await unread()).toBe(0);
  await createMessage(visitor, own, 'mine');
  const first = await createMessage(operator, own, 'one');
  const second = await createMessage(operator, own, 'two');
  const third = await createMessage(operator, own, 'three');
  const note = (
    await operator.call('POST', `/conversations/${own}/messages`, { content: 'note', internal: true })
  ).body.message.id as string;
  expect(await unread()).toBe(3);
  expect([await read(note), await unread()]).toEqual([404, 3]);
  await operator.call('DELETE', `/conversations/${own}/messages/${third}`);
  expect(await unread()).toBe(2);
  expect([await read(second), await unread(), await read(first), await unread()]).toEqual([200, 0, 200, 0]);
  expect((await ask(app, visitor, 'GET', `/conversations/${own}/messages`)).text).not.toContain(note);
  for (const messageId of [undefined, null, '', 'x', 5, [], randomUUID().replace('-', '')])
    expect([
      messageId,
      (await ask(app, visitor, 'POST', `/conversations/${own}/read`, { messageId })).status,
    ]).toEqual([messageId, 400]);
  expect(await read(randomUUID())).toBe(404);
  const ids = await Promise.all(
    Array.from({ length: 10 }, (_, at) => createMessage(operator, own, `more ${at}`)),
  );
  await Promise.all(ids.toSorted((one, other) => one.slice(-4).localeCompare(other.slice(-4))).map(read));
  expect(await unread()).toBe(0);
  expect(
    (await ask(app, createVisitorByKey(app, acme.application), 'GET', `/conversations/${own}/unread`)).status,
  ).toBe(404);
});
