// A conversation of many thousand messages: its far pages, what of it was not read and what of it was changed are exact, and
// others have the loop beside it.
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
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
import { ask } from '../helpers/rest-checks.ts';
import { slowLooks, turnsDuring } from '../helpers/slow-looks.ts';

/** Some times what is passed over or counted in one go. */
const count = 13_000;

type Kind = 'visitor' | 'operator' | 'assistant' | 'note' | 'deleted';
/** Of each message in its order. */
const kinds = Array.from({ length: count }, (_, at): Kind => {
  if (at % 70 === 69) return 'deleted';
  if (at % 50 === 49) return 'note';
  return (['visitor', 'operator', 'assistant'] as const)[at % 3] ?? 'visitor';
});

let app: TestApp;
let acme: TestOrganization;
let rosa: TestClient;
let ann: TestMember;
let conversationId: string;

const idOf = (at: number): string => `00000000-0000-4000-8000-${900_000_000_000 + at}`;
const seen = (who: TestClient): number[] =>
  [...kinds.keys()].filter((at) => kinds[at] !== 'deleted' && (who === ann || kinds[at] !== 'note'));

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  rosa = createVisitor(app, acme.application);
  ann = await createMember(app, 'acme');
  conversationId = await createConversation(rosa);
  const template = await createMessage(rosa, conversationId);
  // An edit takes a number as well: every second one.
  await rowsOf(
    app,
    `insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content, content_format, internal, created_at, deleted_at)
     with recursive n(i) as (select 0 union all select i + 1 from n where i < ${count - 1})
     select '00000000-0000-4000-8000-' || (900000000000 + i), conversation_id, organization_id, 10 + 2 * i, 10 + 2 * i, sender_id,
       case when i % 70 = 69 then 'operator' when i % 50 = 49 then 'operator' when i % 3 = 0 then 'visitor' when i % 3 = 1 then 'operator' else 'assistant' end,
       'message ' || i, content_format, case when i % 70 <> 69 and i % 50 = 49 then 1 else 0 end, created_at,
       case when i % 70 = 69 then created_at end
     from messages, n where messages.id = '${template}'`,
  );
  await rowsOf(app, `delete from messages where id = '${template}'`);
  await rowsOf(app, `update conversations set last_seq = ${10 + 2 * count} where id = '${conversationId}'`);
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => app.stop());

const pathFor = (who: TestClient): string =>
  `${who === ann ? '/staff' : ''}/conversations/${conversationId}/messages`;

describe.each([
  ['the visitor', () => rosa],
  ['a member, with notes', () => ann],
] as const)('a far page for %s', (_name, reader) => {
  it.each(['asc', 'desc'] as const)('%s', async (order) => {
    const all = seen(reader());
    const ordered = order === 'asc' ? all : all.toReversed();
    for (const offset of [
      0,
      1_999,
      2_000,
      2_001,
      4_002,
      9_777,
      all.length - 5,
      all.length,
      all.length + 9_000,
    ]) {
      const query = `order=${order}&limit=30&offset=${offset}`;
      const { status, body } = await ask(app, reader(), 'GET', `${pathFor(reader())}?${query}`);
      expect([status, body.limit, body.offset]).toEqual([200, 30, offset]);
      expect(
        (body.messages as { id: string }[]).map(({ id }) => id),
        query,
      ).toEqual(ordered.slice(offset, offset + 30).map(idOf));
    }
  });

  it('after and before a message', async () => {
    const all = seen(reader());
    const place = 7_000;
    const named = idOf(all[place] ?? 0);
    const pages: readonly [query: string, page: readonly number[]][] = [
      [`order=asc&after=${named}&offset=2500`, all.slice(place + 1).slice(2_500, 2_530)],
      [
        `order=desc&after=${named}&offset=2500`,
        all
          .slice(place + 1)
          .toReversed()
          .slice(2_500, 2_530),
      ],
      [`order=desc&before=${named}&offset=2500`, all.slice(0, place).toReversed().slice(2_500, 2_530)],
      // Counted from the message, shown in order.
      [`order=asc&before=${named}&offset=2500`, all.slice(place - 2_530, place - 2_500)],
      [`order=desc&before=${named}&offset=6995`, all.slice(0, 5).toReversed()],
    ];
    for (const [query, page] of pages) {
      const { body } = await ask(app, reader(), 'GET', `${pathFor(reader())}?limit=30&${query}`);
      expect(
        (body.messages as { id: string }[]).map(({ id }) => id),
        query,
      ).toEqual(page.map(idOf));
    }
  });
});

it('what was not read is counted exactly, from wherever the visitor has read to', async () => {
  const ofStaff = (at: number): boolean => kinds[at] === 'operator' || kinds[at] === 'assistant';
  const unread = async (): Promise<unknown> =>
    (await ask(app, rosa, 'GET', `/conversations/${conversationId}/unread`)).body.unreadCount;
  expect(await unread()).toBe([...kinds.keys()].filter(ofStaff).length);
  for (const at of [0, 1_000, 6_001, 12_990, count - 2]) {
    expect(
      (await ask(app, rosa, 'POST', `/conversations/${conversationId}/read`, { messageId: idOf(at) })).status,
    ).toBe(200);
    expect(await unread()).toBe([...kinds.keys()].filter((one) => one > at && ofStaff(one)).length);
  }
  await rowsOf(app, 'update participants set last_read_seq = 0');
});

it('what became of messages is found among those that were changed or mailed', async () => {
  const [first, second] = [idOf(4), idOf(10)];
  // By members.
  await rowsOf(
    app,
    `update messages set changed_seq = ${11 + 2 * count}, content = 'edited' where id = '${first}'`,
  );
  await rowsOf(
    app,
    `update messages set emailed = 'sent', emailed_at = ${app.clock.now()} where id = '${second}'`,
  );
  await rowsOf(app, `update conversations set last_seq = ${11 + 2 * count} where id = '${conversationId}'`);
  for (const [who, changed, missed] of [
    [rosa, [first], [count - 2]],
    [ann, [first, second], [count - 2, count - 1]],
  ] as const) {
    const socket = await who.connect();
    socket.send('room:join', { conversationId, lastMessageId: idOf(count - 3) });
    const { edited, messages } = await socket.receives('messages:sync');
    expect((edited as { id: string }[]).map(({ id }) => id)).toEqual(changed);
    expect((messages as { id: string }[]).map(({ id }) => id)).toEqual(missed.map(idOf));
    await socket.close();
  }
});

describe('others have the loop', () => {
  it.each([
    ['a far page', `messages?offset=${count - 1_000}`],
    ['a far page from the beginning', `messages?order=asc&offset=${count - 1_000}`],
    ['unread messages', 'unread'],
  ])('beside %s', async (_name, path) => {
    const looks = vi.spyOn(app.service.engine.store, 'read');
    await turnsDuring(app, () => ask(app, rosa, 'GET', `/conversations/${conversationId}/${path}`));
    expect(looks.mock.calls.length).toBeGreaterThan(5);
  });

  it('and no more long ones of an organization wait than may', async () => {
    slowLooks(app);
    const replies = await Promise.all(
      Array.from({ length: 60 }, () => ask(app, rosa, 'GET', `/conversations/${conversationId}/unread`)),
    );
    const counts = replies.filter(({ status }) => status === 200).map(({ body }) => body.unreadCount);
    expect(counts.length).toBeGreaterThan(20);
    expect(new Set(counts).size).toBe(1);
    const refused = replies.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThan(0);
    for (const { status, body } of refused)
      expect([status, body.cause, body.message]).toEqual([
        429,
        'per_organization',
        'Too many requests of yours wait already; try again in 1 s.',
      ]);
  });
});

it('a far page is not shown to a visitor who was erased while it was looked for', async () => {
  const { store } = app.service.engine;
  const read = store.read.bind(store);
  let looks = 0;
  vi.spyOn(store, 'read').mockImplementation(async (work) => {
    looks += 1;
    if (looks === 3) await app.local('visitors.erase', { visitorId: rosa.id });
    return read(work);
  });
  const page = `/conversations/${conversationId}/messages?offset=${count - 1_000}`;
  expect((await ask(app, rosa, 'GET', page)).status).toBe(404);
});
