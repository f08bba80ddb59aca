// The places of messages follow behind them, many at once. Whatever has its place and whatever has none yet, a
// conversation shows every message once and in order; and nothing that is removed leaves a place.
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { migrations } from '../../migrations/index.ts';
import { StoreUnavailableError } from '../../src/engine/engine.ts';
import { databaseFile } from '../../src/engine/open-engine.ts';
import { integrityProblem } from '../../src/engine/sqlite/examine.ts';
import { migrate } from '../../src/engine/sqlite/migrate.ts';
import type { MessagesRepository, NewMessage } from '../../src/engine/repositories/messages.ts';
import { LogEnd } from '../../src/engine/sqlite/log-end.ts';
import {
  createMessagePlaces,
  manyPlacedAtOnce,
  placedAtOnce,
  type MessagePlaces,
} from '../../src/engine/sqlite/repositories/message-places.ts';
import { effectStatements } from '../../src/engine/sqlite/repositories/effects.ts';
import { createMessagesRepository } from '../../src/engine/sqlite/repositories/messages.ts';
import { deliveryStatements } from '../../src/engine/sqlite/repositories/webhooks.ts';
import { createRunner } from '../../src/engine/sqlite/runner.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createConversation,
  createOrganization,
  createVisitor,
  type TestApplication,
  type TestClient,
} from '../helpers/fixtures.ts';
import { rowsOf } from '../helpers/database.ts';
import { newMessage } from '../helpers/new-message.ts';
import { watchStatements } from '../helpers/storage.ts';

/** A commit is no quick one where the one before it was so long ago, ms. */
const quietMs = 5;

let app: TestApp;
let organization: string;
let application: TestApplication;
let visitor: TestClient;

beforeAll(async () => {
  // It looks into SQLite's tables.
  app = await startApp({ engine: 'sqlite' });
});
afterAll(async () => {
  await app.stop();
});
let made = 0;
beforeEach(async () => {
  // What the test before it has left without places gets them.
  app.clock.advance(quietMs);
  ({ id: organization, application } = await createOrganization(app, `places-${(made += 1)}`));
  visitor = createVisitor(app, application);
});

/** How many messages wait for their places. */
async function waiting(): Promise<number> {
  const [row] = await rowsOf(
    app,
    'select count(*) as n from messages where number > (select through from message_placing)',
  );
  return Number(row?.['n']);
}

/** Sends in one commit, which comes a while after others. @returns the ids */
function sendTogether(conversations: readonly string[], texts: readonly string[] = []): Promise<string[]> {
  app.clock.advance(quietMs);
  return sendAtOnce(conversations, texts);
}

/** A message of the visitor's, with an id of its own. */
function plainMessage(conversationId: string, text?: string): NewMessage {
  const { clock } = app.service.engine;
  const id = clock.newId();
  return newMessage({
    id,
    conversation_id: conversationId,
    organization_id: organization,
    sender_id: visitor.id,
    content: text ?? `text ${id}`,
    created_at: clock.now(),
  });
}

/** Sends in one commit, at the moment of the one before it. @returns the ids */
function sendAtOnce(conversations: readonly string[], texts: readonly string[] = []): Promise<string[]> {
  return Promise.all(
    conversations.map((conversationId, at) =>
      app.service.engine.store.write({ organization }, async ({ repositories: { messages } }) => {
        const message = plainMessage(conversationId, texts[at]);
        await messages.append(message, 'visitor');
        return message.id;
      }),
    ),
  );
}

/** A commit of its own that sends nothing, a while after others. */
const commitAlone = () => {
  app.clock.advance(quietMs);
  return app.service.engine.store.write('server', ({ repositories }) => repositories.meta.set('a', 'b'));
};

/** The same, in which nothing at all is written. */
const commitNothing = () => {
  app.clock.advance(quietMs);
  return app.service.engine.store.write('server', () => undefined);
};

const problem = (): string | null => {
  const database = new Database(databaseFile(app.folder), { readonly: true });
  try {
    return integrityProblem(database, 'quick_check');
  } finally {
    database.close();
  }
};

async function history(conversationId: string, client: TestClient = visitor): Promise<string[]> {
  const found: string[] = [];
  for (;;) {
    const { body } = await client.call(
      'GET',
      `/conversations/${conversationId}/messages?order=asc&limit=100&offset=${found.length}`,
    );
    const page = (body.messages as { id: string }[]).map(({ id }) => id);
    found.push(...page);
    if (page.length < 100) return found;
  }
}

const many = <T>(count: number, of: T): T[] => Array.from({ length: count }, () => of);

it('a busy commit leaves its messages without places, and the next quiet one gives them theirs', async () => {
  const conversationId = await createConversation(visitor);
  const ids = await sendTogether(many(20, conversationId));
  expect(await waiting()).toBe(20);
  expect(await history(conversationId)).toEqual(ids);
  await commitAlone();
  expect(await waiting()).toBe(0);
  expect(await history(conversationId)).toEqual(ids);
  expect(problem()).toBeNull();
});

it('busy commits alone leave no more than a bounded number without', async () => {
  const conversationId = await createConversation(visitor);
  const ids: string[] = [];
  let most = 0;
  for (let round = 0; round < 12; round += 1) {
    ids.push(...(await sendTogether(many(100, conversationId))));
    most = Math.max(most, await waiting());
  }
  // None was read: the more are placed at once, the fewer pages are written.
  expect(most).toBeGreaterThan(placedAtOnce);
  expect(most).toBeLessThan(manyPlacedAtOnce);
  expect(await history(conversationId)).toEqual(ids);
  expect(problem()).toBeNull();
});

it('a small commit among large ones is no reason to place fewer at once', async () => {
  const conversationId = await createConversation(visitor);
  let most = 0;
  for (let round = 0; round < 8; round += 1) {
    await sendTogether(many(100, conversationId));
    await sendTogether(many(6, conversationId));
    most = Math.max(most, await waiting());
  }
  expect(most).toBeGreaterThan(2 * placedAtOnce);
});

it('busy commits leave fewer without once it has taken long to place many', async () => {
  const conversationId = await createConversation(visitor);
  const { monotonic } = app.clock;
  let late = 0;
  const clock = vi.spyOn(app.clock, 'monotonic').mockImplementation(() => monotonic() + late);
  const watch = watchStatements();
  watch.onFinish = (source) => {
    if (/into "?message_places/.test(source)) late += 5;
  };
  try {
    for (let round = 0; round < 12; round += 1) await sendTogether(many(100, conversationId));
    for (let round = 0; round < 12; round += 1) {
      await sendTogether(many(100, conversationId));
      expect(await waiting()).toBeLessThan(placedAtOnce);
    }
  } finally {
    watch.end();
    clock.mockRestore();
  }
});

it('busy commits leave fewer without where conversations are read', async () => {
  const conversationId = await createConversation(visitor);
  const path = `/conversations/${conversationId}/messages?limit=1`;
  for (let round = 0; round < 12; round += 1) {
    expect((await visitor.call('GET', path)).status).toBe(200);
    await sendTogether(many(100, conversationId));
    expect(await waiting()).toBeLessThan(placedAtOnce);
  }
});

it('small commits that follow each other at once leave their messages without places, too', async () => {
  const conversationId = await createConversation(visitor);
  const ids: string[] = [];
  for (let round = 0; round < 8; round += 1) ids.push(...(await sendAtOnce([conversationId])));
  expect(await waiting()).toBeGreaterThanOrEqual(8);
  expect(await history(conversationId)).toEqual(ids);
  await commitAlone();
  expect(await waiting()).toBe(0);
  expect(await history(conversationId)).toEqual(ids);
  expect(problem()).toBeNull();
});

it('an operation that is taken back leaves no place, and the others of its commit have theirs', async () => {
  const conversationId = await createConversation(visitor);
  const { store } = app.service.engine;
  const sent = sendTogether(many(3, conversationId));
  const failing = store.write({ organization }, async ({ repositories: { messages } }) => {
    await messages.append({ ...plainMessage(conversationId), client_message_id: 'taken-back' }, 'visitor');
    throw new Error('taken back');
  });
  const more = sendAtOnce(many(3, conversationId));
  await expect(failing).rejects.toThrow('taken back');
  const ids = [...(await sent), ...(await more)];
  await commitNothing();
  expect(await waiting()).toBe(0);
  expect(await history(conversationId)).toEqual(ids);
  expect(problem()).toBeNull();
});

it('an idle server gives all of them their places', async () => {
  const conversationId = await createConversation(visitor);
  const ids = await sendTogether(many(50, conversationId));
  expect(await waiting()).toBe(50);
  app.clock.advance(2_000);
  await expect.poll(waiting).toBe(0);
  expect(await history(conversationId)).toEqual(ids);
});

it('rows that another program has put in are found, and get their places', async () => {
  const conversationId = await createConversation(visitor);
  const other = new Database(databaseFile(app.folder));
  other.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 2500)
    insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content,
      content_format, internal, created_at)
    select printf('%08x-0000-4000-8000-000000000000', i), '${conversationId}', '${organization}', i, i, '${visitor.id}',
      'visitor', 'text', 'plain', 0, 0 from n`);
  other.prepare('update conversations set last_seq = 2500 where id = ?').run(conversationId);
  other.close();
  expect(await history(conversationId)).toHaveLength(2500);
  const [next] = await sendTogether([conversationId]);
  expect(await waiting()).toBeLessThanOrEqual(2501 - placedAtOnce);
  for (let round = 0; round < 9; round += 1) await commitAlone();
  expect(await waiting()).toBe(0);
  const all = await history(conversationId);
  expect([all.length, all.at(-1)]).toEqual([2501, next]);
});

it('a server that was ended before it could give places is started, and gives them', async () => {
  const conversationId = await createConversation(visitor);
  const ids = await sendTogether(many(30, conversationId));
  const other = new Database(databaseFile(app.folder));
  other.exec('delete from message_places; update message_placing set through = 0');
  other.close();
  app = await app.restart();
  const again = createVisitor(app, application, visitor.id);
  expect(await history(conversationId, again)).toEqual(ids);
  app.clock.advance(2_000);
  await expect.poll(waiting).toBe(0);
  expect(await history(conversationId, again)).toEqual(ids);
  expect(problem()).toBeNull();
});

describe('what is removed', () => {
  it('leaves no place, and its number leads to no other message', async () => {
    const conversationId = await createConversation(visitor);
    const other = await createConversation(visitor);
    const [first, second] = await sendTogether([conversationId, conversationId]);
    expect(await waiting()).toBe(0);
    await rowsOf(app, 'delete from messages where id = ?', second);
    const [third] = await sendTogether([other]);
    expect(await history(conversationId)).toEqual([first]);
    expect(await history(other)).toEqual([third]);
    expect(problem()).toBeNull();
  });

  it('leaves no place where this server removes it before it has one', async () => {
    const conversationId = await createConversation(visitor);
    const ids = await sendTogether(many(10, conversationId));
    expect(await waiting()).toBe(10);
    const { store, clock } = app.service.engine;
    const removed = await store.write({ organization }, ({ repositories: { retention } }) =>
      // Not the oldest: what is known still begins with that one.
      retention.removeMessages(conversationId, clock.now() + 1, 1, 4),
    );
    expect([removed, await waiting()]).toEqual([3, 7]);
    ids.splice(1, 3);
    ids.push(...(await sendTogether(many(6, conversationId))));
    await commitNothing();
    expect(await waiting()).toBe(0);
    expect(await history(conversationId)).toEqual(ids);
    expect(problem()).toBeNull();
  });

  it('goes with its conversation, with and without a place', async () => {
    const conversationId = await createConversation(visitor);
    await sendTogether([conversationId]);
    await sendTogether(many(10, conversationId));
    expect(await waiting()).toBe(10);
    await rowsOf(app, 'delete from conversations where id = ?', conversationId);
    expect(await rowsOf(app, 'select * from messages where conversation_id = ?', conversationId)).toEqual([]);
    expect(
      await rowsOf(app, 'select * from conversation_numbers where conversation_id = ?', conversationId),
    ).toEqual([]);
    expect(
      await rowsOf(
        app,
        'select * from message_places where conversation not in (select number from conversation_numbers)',
      ),
    ).toEqual([]);
    expect(problem()).toBeNull();
  });

  it('goes with its organization', async () => {
    const conversationId = await createConversation(visitor);
    await sendTogether([conversationId]);
    await sendTogether(many(10, conversationId));
    await rowsOf(app, 'delete from organizations where id = ?', organization);
    expect(await rowsOf(app, 'select * from messages where organization_id = ?', organization)).toEqual([]);
    expect(
      await rowsOf(app, 'select * from conversation_numbers where conversation_id = ?', conversationId),
    ).toEqual([]);
    expect(
      await rowsOf(
        app,
        'select * from message_places where conversation not in (select number from conversation_numbers)',
      ),
    ).toEqual([]);
  });
});

it('numbers that removed messages have left are passed over at once', async () => {
  const conversationId = await createConversation(visitor);
  for (let round = 0; round < 10; round += 1) await sendTogether(many(100, conversationId));
  await commitAlone();
  await rowsOf(app, 'delete from messages where conversation_id = ?', conversationId);
  const ids = await sendTogether([conversationId]);
  await commitAlone();
  expect(await waiting()).toBe(0);
  expect(await history(conversationId)).toEqual(ids);
  expect(problem()).toBeNull();
});

it('a commit that fails while it gives places keeps none of them, and the next one gives them', async () => {
  const conversationId = await createConversation(visitor);
  const before = await sendTogether(many(20, conversationId));
  await rowsOf(
    app,
    "create trigger refuse before update on message_placing begin select raise(abort, 'refused'); end",
  );
  await expect(commitAlone()).rejects.toThrow(StoreUnavailableError);
  expect(await waiting()).toBe(20);
  expect(problem()).toBeNull();
  await rowsOf(app, 'drop trigger refuse');
  app.clock.advance(2_000);
  await expect.poll(waiting).toBe(0);
  expect(await history(conversationId)).toEqual(before);
  expect(problem()).toBeNull();
});

it('a place that another program has left beyond the others stops no message', async () => {
  const conversationId = await createConversation(visitor);
  const [first] = await sendTogether([conversationId]);
  await rowsOf(
    app,
    `insert into message_places select conversation, seq + 1, number + 1 from message_places
      where conversation = (select number from conversation_numbers where conversation_id = ?)`,
    conversationId,
  );
  const [second] = await sendTogether([conversationId]);
  expect(await history(conversationId)).toEqual([first, second]);
  expect(problem()).toBeNull();
});

describe('what the writing connection knows of messages', () => {
  it('is not changed by what deliveries and effects write: no trigger stands behind them', () => {
    const known = [
      'conversations',
      'conversation_numbers',
      'visitors',
      'messages',
      'events',
      'message_events',
    ];
    const written = [...deliveryStatements, ...effectStatements].map(
      ({ compiled }) => /^(?:insert into|update) "(\w+)"/.exec(compiled.sql)?.[1],
    );
    expect(written.filter((table) => table === undefined || known.includes(table))).toEqual([]);
    const triggers = db
      .prepare(
        `select name from sqlite_master where type = 'trigger' and tbl_name in (select value from json_each(?))`,
      )
      .all(JSON.stringify(written));
    expect(triggers).toEqual([]);
  });

  const conversations = ['c1', 'c2', 'c3'];
  let db: Database.Database;
  let log: LogEnd;
  let places: MessagePlaces;
  let messages: MessagesRepository;
  /** Statements that gave places: by what was known, or by reading messages. */
  let placedBy: ('known' | 'read')[];
  /** What was asked about places. */
  let queries: string[];
  beforeEach(async () => {
    queries = [];
    db = new Database(':memory:');
    await migrate(db, () => Promise.resolve());
    db.pragma('foreign_keys = OFF');
    db.exec(`insert into visitors (id, visitor_id, organization_id, application_id, mode, verified, attributes, created_at)
      values ('v', 'v', 'o', 'a', 'live', 0, '{}', 0)`);
    for (const id of conversations)
      db.prepare(
        `insert into conversations (id, organization_id, application_id, visitor_key, mode, status, last_seq, created_at,
           updated_at) values (?, 'o', 'a', 'v', 'live', 'pending', 0, 0, 0)`,
      ).run(id);
    placedBy = [];
    const runner = createRunner(db, {
      onWrite: (text) => {
        if (/into "?message_places/.test(text)) placedBy.push(text.includes('select') ? 'read' : 'known');
      },
      onFailure: () => undefined,
      onOrderedRead: () => undefined,
    });
    const direct: typeof runner.direct = {
      ...runner.direct,
      first: (query, parameters) => {
        queries.push(query.sql);
        return runner.direct.first(query, parameters);
      },
    };
    log = new LogEnd(runner.direct);
    places = createMessagePlaces({ ...runner, direct }, log);
    messages = createMessagesRepository(runner, undefined, log);
  });
  afterEach(() => void db.close());

  const send = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1)
      await messages.append(plainMessage(conversations[at % 3] as string), 'visitor');
  };
  const place = (count = placedAtOnce): void => {
    const { oldest } = places.unplaced();
    if (oldest !== null) places.place(oldest, count);
  };
  /** Each message has one place, which is its own. */
  const isWhole = (): boolean =>
    db
      .prepare(
        `select 1 from messages as m left join conversation_numbers as n using (conversation_id)
           left join message_places as p on p.conversation = n.number and p.number = m.number and p.seq = m.seq
           where p.number is null
         union all select 1 where (select count(*) from message_places) <> (select count(*) from messages)`,
      )
      .get() === undefined && places.unplaced().oldest === null;

  it('gives places without reading any again, many by each statement', async () => {
    await send(35);
    expect(places.unplaced()).toEqual({ oldest: 1, atMost: 35 });
    place();
    expect(placedBy).toEqual(many(2 + 3, 'known'));
    expect(isWhole()).toBe(true);
    await send(3);
    place();
    expect(placedBy).toEqual(many(2 + 3 + 3, 'known'));
    expect(isWhole()).toBe(true);
  });

  it('goes on where more wait than are placed at once', async () => {
    await send(20);
    place(16);
    expect(places.unplaced()).toEqual({ oldest: 17, atMost: 4 });
    place(16);
    expect([isWhole(), new Set(placedBy)]).toEqual([true, new Set(['known'])]);
  });

  it('is not used where something else may have written, until the rest has its places', async () => {
    await send(10);
    log.forget();
    await send(10);
    place(5);
    expect(placedBy).toEqual(['read']);
    place();
    expect(placedBy).toEqual(['read', 'read']);
    expect(isWhole()).toBe(true);
    await send(2);
    place();
    expect(placedBy).toEqual(['read', 'read', 'known', 'known']);
    expect(isWhole()).toBe(true);
  });

  it('is used again under a load that never ends', async () => {
    await send(10);
    log.forget();
    for (let round = 0; round < 4; round += 1) {
      await send(5);
      place(12);
    }
    expect(placedBy.slice(0, 2)).toEqual(['read', 'known']);
    expect(placedBy.filter((by) => by === 'read')).toHaveLength(1);
    place();
    expect(isWhole()).toBe(true);
  });

  it('leaves no place of what was rolled back', async () => {
    await send(2);
    db.exec('begin');
    await send(4);
    db.exec('rollback');
    log.undo();
    await send(3);
    place();
    expect(isWhole()).toBe(true);
  });

  it('tells how many wait without a query, as long as it has seen all of them', async () => {
    const asked = (): number => queries.filter((text) => text.includes('min(number)')).length;
    expect(places.unplaced()).toEqual({ oldest: null, atMost: 0 });
    await send(20);
    place(16);
    expect(places.unplaced()).toEqual({ oldest: 17, atMost: 4 });
    place();
    expect(places.unplaced()).toEqual({ oldest: null, atMost: 0 });
    expect(asked()).toBe(1);
    // Another process has stored some, which the queue notices.
    db.exec(`insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content,
      content_format, internal, created_at) values ('m', 'c1', 'o', 8, 8, 'v', 'visitor', 'text', 'plain', 0, 0)`);
    log.forget();
    await send(2);
    expect(places.unplaced()).toEqual({ oldest: 21, atMost: 3 });
    // It has not seen the first of these: the query is asked each time.
    expect(places.unplaced()).toEqual({ oldest: 21, atMost: 3 });
    expect(asked()).toBe(3);
    place();
    expect(isWhole()).toBe(true);
  });

  it('stays bounded where no places can be given', async () => {
    await send(2_100);
    expect(log.takeUnplaced(2_001, 10_000)).toHaveLength(100);
    while (places.unplaced().oldest !== null) place();
    expect(isWhole()).toBe(true);
  });
});

it('an idle server gives places to what another process has left without', async () => {
  const conversationId = await createConversation(visitor);
  await sendTogether([conversationId]);
  expect(await waiting()).toBe(0);
  await rowsOf(
    app,
    `insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content,
       content_format, internal, created_at)
     values ('another', ?, ?, 2, 2, 'x', 'visitor', 'text', 'plain', 0, 0)`,
    conversationId,
    organization,
  );
  expect(await waiting()).toBe(1);
  await expect
    .poll(async () => {
      app.clock.advance(2_000);
      return waiting();
    })
    .toBe(0);
});

it('whatever happens in whatever order, every message is there once and in order', async () => {
  const step = fc.oneof(
    fc.record({
      what: fc.constant('send' as const),
      to: fc.array(fc.nat(3), { minLength: 1, maxLength: 12 }),
    }),
    fc.record({ what: fc.constant('remove' as const), of: fc.nat(3), from: fc.nat(2), newest: fc.boolean() }),
    fc.record({ what: fc.constant('quiet' as const) }),
    fc.record({ what: fc.constant('nothing' as const) }),
    fc.record({
      what: fc.constant('at once' as const),
      to: fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ what: fc.constant('foreign' as const), of: fc.nat(3) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
      const ids = await Promise.all(
        [0, 1, 2, 3].map(() => createConversation(createVisitor(app, application))),
      );
      const expected = new Map(ids.map((id): [string, string[]] => [id, []]));
      const of = (at: number): string => ids[at] as string;
      for (const one of steps) {
        if (one.what === 'quiet') await commitAlone();
        else if (one.what === 'nothing') await commitNothing();
        else if (one.what === 'send' || one.what === 'at once') {
          const send = one.what === 'send' ? sendTogether : sendAtOnce;
          const sent = await send(one.to.map(of));
          for (const [at, id] of sent.entries()) expected.get(of(one.to[at] as number))?.push(id);
        } else if (one.what === 'remove') {
          const list = expected.get(of(one.of)) as string[];
          const removed = one.newest ? list.splice(-1 - one.from) : list.splice(0, 1 + one.from);
          for (const id of removed) await rowsOf(app, 'delete from messages where id = ?', id);
        } else {
          const id = app.service.engine.clock.newId();
          const other = new Database(databaseFile(app.folder));
          other.prepare('update conversations set last_seq = last_seq + 1 where id = ?').run(of(one.of));
          other
            .prepare(
              `insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role,
                 content, content_format, internal, created_at)
               select ?, id, organization_id, last_seq, last_seq, 'x', 'visitor', 'text', 'plain', 0, 0
                 from conversations where id = ?`,
            )
            .run(id, of(one.of));
          other.close();
          expected.get(of(one.of))?.push(id);
        }
      }
      for (const [id, list] of expected) {
        const rows = await rowsOf(
          app,
          'select id from ordered_messages where conversation_id = ? order by seq',
          id,
        );
        expect(rows.map((row) => row['id'])).toEqual(list);
      }
      expect(problem()).toBeNull();
    }),
    { numRuns: 40 },
  );
});

/** An organization with a visitor and conversations. */
function seed(db: Database.Database, conversations: readonly string[]): void {
  db.exec(`
    insert into organizations (id, slug, name, plan, plan_changed_at, created_at) values ('o', 'o', 'o', 'free', 0, 0);
    insert into applications (id, organization_id, name, settings, identity_secret, created_at)
      values ('a', 'o', 'a', '{}', x'00', 0);
    insert into visitors (id, visitor_id, organization_id, application_id, mode, verified, attributes, created_at)
      values ('v', 'v', 'o', 'a', 'live', 0, '{}', 0);`);
  const insert = db.prepare(`
    insert into conversations (id, organization_id, application_id, visitor_key, mode, status, last_seq, created_at,
      updated_at)
    values (?, 'o', 'a', 'v', 'live', 'pending', 9, 0, 0)`);
  for (const id of conversations) insert.run(id);
}

const insertMessage = (db: Database.Database, id: string, conversation: string, seq: number) =>
  db
    .prepare(
      `insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, content,
         content_format, internal, client_message_id, created_at)
       values (@id, @conversation, 'o', @seq, @seq, 's', 'visitor', 'text of ' || @id, 'plain', 0, 'id ' || @id, 7)`,
    )
    .run({ id, conversation, seq });

describe('the examination of a database', () => {
  let db: Database.Database;
  beforeEach(async () => {
    db = new Database(':memory:');
    await migrate(db, () => Promise.resolve());
    seed(db, ['c']);
    for (const seq of [1, 2, 3]) insertMessage(db, `m${seq}`, 'c', seq);
    db.exec('insert into message_places select 1, seq, number from messages where seq < 3');
    db.exec('update message_placing set through = 2');
  });

  it('finds nothing wrong where the newest have no place yet', () => {
    expect(integrityProblem(db, 'quick_check')).toBeNull();
  });

  it.each([
    ['update message_placing set through = 3', 'a message is missing in its conversation'],
    ['delete from message_places where seq = 2', 'a message is missing in its conversation'],
    ['insert into message_places values (1, 3, 3)', 'a place in a conversation holds no message of it'],
    ['insert into message_places values (1, 2, 1)', 'a place in a conversation holds no message of it'],
    ['insert into message_places values (9, 2, 2)', 'a place in a conversation holds no message of it'],
    ['update conversation_numbers set number = 9', 'a message is missing in its conversation'],
    ["update messages set conversation_id = 'd'", 'a message belongs to no conversation'],
    [
      'update messages set seq = 1 where seq = 2; update message_places set seq = 1',
      'two messages have the same place in a conversation',
    ],
  ])('after "%s" tells of it', (change, told) => {
    db.exec(change);
    expect(integrityProblem(db, 'quick_check')).toBe(told);
  });
});

describe('the migration', () => {
  it('keeps every message, its order, its file and its words', async () => {
    const db = new Database(':memory:');
    db.pragma('foreign_keys = ON');
    const before = migrations.findIndex(({ name }) => name.includes('message-places'));
    await migrate(db, () => Promise.resolve(), migrations.slice(0, before));
    seed(db, ['c1', 'c2']);
    insertMessage(db, 'm9', 'c1', 1);
    insertMessage(db, 'm2', 'c2', 1);
    insertMessage(db, 'm5', 'c1', 2);
    insertMessage(db, 'm1', 'c1', 4);
    insertMessage(db, 'm7', 'c2', 3);
    db.exec("update messages set emailed_at = 8, choices = '[]' where id = 'm7'");
    db.exec(`insert into files (id, organization_id, uploader, message_id, object, name, type, size, digest, state, created_at)
      values ('f', 'o', 'v', 'm5', 'ob', 'n', 't', 1, 'd', 'ready', 0)`);
    db.exec("insert into search_rows (id, message_id) values (1, 'm1')");
    const rows = () =>
      db.prepare('select id, * from messages order by id').all() as Record<string, unknown>[];
    const old = rows();
    // A later one has the index of words made anew (migrations/0029-search-parts.ts).
    const words = migrations.findIndex(({ name }) => name.includes('search-parts'));
    await migrate(db, () => Promise.resolve(), migrations.slice(0, words));
    expect(db.pragma('foreign_keys', { simple: true })).toBe(1);
    expect(rows().map(({ number: _number, ...row }) => row)).toEqual(old);
    expect(
      db
        .prepare('select conversation_id, id from ordered_messages order by conversation_id, seq')
        .raw()
        .all(),
    ).toEqual([
      ['c1', 'm9'],
      ['c1', 'm5'],
      ['c1', 'm1'],
      ['c2', 'm2'],
      ['c2', 'm7'],
    ]);
    expect(integrityProblem(db, 'integrity_check')).toBeNull();
    expect(db.prepare('select count(*) from files, search_rows').pluck().get()).toBe(1);
    expect(() => insertMessage(db, 'm1', 'c1', 8)).toThrow(/UNIQUE/);
    // What refers to a message still falls with it.
    db.exec("delete from conversations where id = 'c1'");
    expect(
      db.prepare('select (select count(*) from files) + (select count(*) from search_rows)').pluck().get(),
    ).toBe(0);
    db.close();
  });

  it('shows every column of a message but its number', async () => {
    const db = new Database(':memory:');
    await migrate(db, () => Promise.resolve());
    const columns = (table: string) =>
      db
        .prepare(`select name from pragma_table_info('${table}') where name <> 'number' order by name`)
        .pluck()
        .all();
    expect(columns('ordered_messages')).toEqual(columns('messages'));
    db.close();
  });
});
