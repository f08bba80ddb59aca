// The events of new messages are not written out: a row tells how many messages follow each other, and they say the rest.
// The log reads as if all were, from wherever it is read; no number is told twice, and no event tells of another message.
import Database from 'better-sqlite3';
import fc from 'fast-check';
import type { CompiledQuery } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CommittedEvent, NewEvent, Tx } from '../../src/engine/engine.ts';
import { databaseFile } from '../../src/engine/open-engine.ts';
import { integrityProblem } from '../../src/engine/sqlite/examine.ts';
import { createRunner } from '../../src/engine/sqlite/runner.ts';
import { SqliteStore } from '../../src/engine/sqlite/sqlite-store.ts';
import { LogEnd } from '../../src/engine/sqlite/log-end.ts';
import { createGrowingEvents } from '../../src/engine/sqlite/repositories/events.ts';
import { readLogPage } from '../../src/services/core/event-log.ts';
import { updateSearchIndex } from '../../src/services/chat/search.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { rowsOf } from '../helpers/database.ts';
import { watchStatements } from '../helpers/storage.ts';
import {
  createConversation,
  createOrganization,
  createVisitor,
  type TestClient,
} from '../helpers/fixtures.ts';
import { newMessage } from '../helpers/new-message.ts';

let app: TestApp;
let organization: string;
let visitor: TestClient;
let conversation: string;
/** What subscribers were told, in their order. */
let told: CommittedEvent[];

beforeEach(async () => {
  // It looks into SQLite's tables.
  app = await startApp({ engine: 'sqlite' });
  const { id, application } = await createOrganization(app, 'acme');
  organization = id;
  visitor = createVisitor(app, application);
  conversation = await createConversation(visitor);
  told = [];
  app.service.engine.store.subscribe(({ events }) => told.push(...events));
});
afterEach(() => app.stop());

/** What an operation does to the log. */
type Kind = 'message' | 'note' | 'test' | 'other' | 'repeated' | 'failing';

const eventOf = (type: NewEvent['type'], message: string | null, more: Partial<NewEvent> = {}): NewEvent => ({
  organization_id: organization,
  conversation_id: conversation,
  mode: 'live',
  type,
  audience: 'room',
  actor_id: visitor.id,
  message_id: message,
  member_id: null,
  payload: {},
  ...more,
});

async function append(tx: Tx, id: string, clientMessageId: string | null): Promise<boolean> {
  const stored = await tx.repositories.messages.append(
    newMessage({
      id,
      conversation_id: conversation,
      organization_id: organization,
      sender_id: visitor.id,
      client_message_id: clientMessageId,
      created_at: app.clock.now(),
    }),
    'visitor',
  );
  return stored !== undefined;
}

/** @param id of the message; the same one where an operation is run again */
async function operate(tx: Tx, kind: Kind, id: string): Promise<void> {
  if (kind === 'other') await tx.emit(eventOf('conversation:released', null));
  else if (kind === 'repeated') expect(await append(tx, id, 'first')).toBe(false);
  else {
    await append(tx, id, null);
    if (kind === 'message') await tx.emit(eventOf('message:new', id));
    else if (kind === 'note') await tx.emit(eventOf('message:new', id, { audience: 'staff' }));
    else if (kind === 'test') await tx.emit(eventOf('message:new', id, { mode: 'test' }));
    else {
      await tx.emit(eventOf('message:new', id));
      throw new Error('undone');
    }
  }
}

/** Runs operations in one commit. @returns the ids of their messages, those of failed ones too */
async function commit(kinds: readonly Kind[]): Promise<string[]> {
  const ids = kinds.map(() => app.clock.newId());
  await Promise.allSettled(
    kinds.map((kind, at) =>
      app.service.engine.store.write({ organization }, (tx) => operate(tx, kind, ids[at] ?? '')),
    ),
  );
  return ids;
}

const logAfter = (seq: number, limit = 1_000) =>
  app.service.engine.store.read(({ repositories }) => repositories.events.after(seq, limit));
const lastSeq = () => app.service.engine.store.read(({ repositories }) => repositories.events.lastSeq());
const rowOf = ({ own, payload, activity, originConnectionId, ...row }: CommittedEvent) => row;
const written = () => rowsOf(app, "select seq from events where type = 'message:new' and audience = 'room'");

it('the messages of a commit have one row, and the log tells each of them', async () => {
  const start = await lastSeq();
  const before = (await written()).length;
  const ids = await commit(['message', 'message', 'message']);
  expect((await written()).length).toBe(before);
  expect(await rowsOf(app, 'select seq, messages from message_events where seq > ?', start)).toEqual([
    { seq: start + 1, messages: 3 },
  ]);
  expect((await logAfter(start)).map(({ seq, message_id }) => [seq, message_id])).toEqual(
    ids.map((id, at) => [start + 1 + at, id]),
  );
  expect(await lastSeq()).toBe(start + 3);
});

it('whatever is committed together, the log reads from everywhere as it was told', async () => {
  await app.service.engine.store.write({ organization }, async (tx) => {
    const id = app.clock.newId();
    await append(tx, id, 'first');
    await tx.emit(eventOf('message:new', id));
  });
  const kind = fc.constantFrom<Kind>('message', 'message', 'note', 'test', 'other', 'repeated', 'failing');
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(kind, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 }),
      fc.nat(30),
      fc.integer({ min: 1, max: 9 }),
      async (commits, back, limit) => {
        for (const kinds of commits) await commit(kinds);
        await expect.poll(async () => told.at(-1)?.seq).toBe(await lastSeq());
        const rows = told.map(rowOf);
        expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, at) => at + (rows[0]?.seq ?? 0)));
        const from = Math.max((rows[0]?.seq ?? 0) - 1, (rows.at(-1)?.seq ?? 0) - back);
        expect(await logAfter(from, limit)).toEqual(rows.filter(({ seq }) => seq > from).slice(0, limit));
        expect(await rowsOf(app, 'select * from event_log where seq > ? order by seq', from)).toEqual(
          rows.filter(({ seq }) => seq > from),
        );
      },
    ),
    { numRuns: 40 },
  );
});

it('another process’s messages and events take the next numbers, and each is told once', async () => {
  const other = new SqliteStore({
    file: databaseFile(app.folder),
    durability: 'normal',
    clock: app.clock,
    lockTimeoutMs: 5_000,
    isServer: false,
    pollIntervalMs: 0,
  });
  try {
    for (let round = 0; round < 3; round += 1)
      for (const store of [app.service.engine.store, other])
        await store.write({ organization }, async (tx) => {
          const id = app.clock.newId();
          await append(tx, id, null);
          await tx.emit(eventOf('message:new', id));
          if (round === 1) await tx.emit(eventOf('conversation:released', null));
        });
    await expect
      .poll(() => {
        app.clock.advance(1_000);
        return told.length;
      })
      .toBe(8);
    expect(told.map(({ seq }) => seq)).toEqual(told.map((_, at) => at + (told[0]?.seq ?? 0)));
    expect(await logAfter((told[0]?.seq ?? 0) - 1)).toEqual(told.map(rowOf));
  } finally {
    await other.close();
  }
});

describe('once messages are removed', () => {
  /** Removes messages past every handler, the newest among them. */
  const remove = (ids: readonly string[]) =>
    rowsOf(app, `delete from messages where id in (${ids.map((id) => `'${id}'`).join()})`);

  it('their events are gone, and no later message is told in their place', async () => {
    const start = await lastSeq();
    const [first = '', ...rest] = await commit(['message', 'message', 'message']);
    await remove(rest);
    expect((await logAfter(start)).map(({ message_id }) => message_id)).toEqual([first]);
    expect(await lastSeq()).toBe(start + 3);
    const [later] = await commit(['message']);
    expect((await logAfter(start)).map(({ seq, message_id }) => [seq, message_id])).toEqual([
      [start + 1, first],
      [start + 4, later],
    ]);
  });

  it('the index of the search comes to the end of the log all the same', async () => {
    await updateSearchIndex(app.service);
    await remove(await commit(['message', 'message']));
    await updateSearchIndex(app.service);
    expect(await rowsOf(app, "select value from meta where key = 'search_cursor'")).toEqual([
      { value: String(await lastSeq()) },
    ]);
  });

  it('a page of the log says that nothing is left to its end', async () => {
    await remove(await commit(['message', 'message']));
    const last = await lastSeq();
    const page = await app.service.engine.store.read((tx) => readLogPage(tx, last - 1, 10));
    expect(page).toEqual({ events: [], through: last });
  });

  it('in the commit that has stored them, too', async () => {
    const start = await lastSeq();
    const ids = await app.service.engine.store.write({ organization }, async (tx) => {
      const made = [app.clock.newId(), app.clock.newId()];
      for (const id of made) {
        await append(tx, id, null);
        await tx.emit(eventOf('message:new', id));
        if (id === made[0]) await tx.repositories.visitorData.removeMessages(await visitorKey(), 1_000);
      }
      return made;
    });
    expect((await logAfter(start)).map(({ seq, message_id }) => [seq, message_id])).toEqual([
      [start + 2, ids[1]],
    ]);
  });

  it('a message that is imported in the commit of a removed one is told in the place of none', async () => {
    const start = await lastSeq();
    const { store } = app.service.engine;
    const [row] = await rowsOf(app, 'select * from messages where id = ?', (await commit(['message']))[0]);
    const { number: _, ...columns } = row ?? {};
    const imported = { ...columns, id: app.clock.newId(), seq: 900, changed_seq: 900 };
    const key = await visitorKey();
    await Promise.all([
      store.write({ organization }, (tx) => operate(tx, 'message', app.clock.newId())),
      store.write({ organization }, ({ repositories }) =>
        repositories.visitorData.removeMessages(key, 1_000),
      ),
      store.write({ organization }, ({ repositories }) =>
        repositories.exportImport.insert('messages', Object.keys(imported), imported),
      ),
    ]);
    expect(await rowsOf(app, 'select id from messages')).toEqual([{ id: imported.id }]);
    expect(await logAfter(start)).toEqual([]);
    const [later] = await commit(['message']);
    expect((await logAfter(start)).map(({ message_id }) => message_id)).toEqual([later]);
  });

  it('an imported message is told in the place of none', async () => {
    const start = await lastSeq();
    const [kept = '', ...rest] = await commit(['message', 'message', 'message']);
    const [row] = await rowsOf(app, 'select * from messages where id = ?', kept);
    await remove(rest);
    const { number: _, ...columns } = row ?? {};
    const imported = { ...columns, id: app.clock.newId(), seq: 900, changed_seq: 900 };
    await app.service.engine.store.write({ organization }, ({ repositories }) =>
      repositories.exportImport.insert('messages', Object.keys(imported), imported),
    );
    expect(await rowsOf(app, 'select 1 as here from messages where id = ?', imported.id)).toHaveLength(1);
    expect((await logAfter(start)).map(({ message_id }) => message_id)).toEqual([kept]);
    const [later] = await commit(['message']);
    expect((await logAfter(start)).map(({ message_id }) => message_id)).toEqual([kept, later]);
  });

  const visitorKey = async (): Promise<string> =>
    String((await rowsOf(app, 'select visitor_key from conversations'))[0]?.['visitor_key']);
});

it('a commit that storage refuses takes its numbers along', async () => {
  await commit(['message']);
  const last = await lastSeq();
  const watch = watchStatements();
  try {
    watch.insteadOfCommit = () => {
      throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
    };
    await commit(['message', 'other', 'message']);
    expect(await lastSeq()).toBe(last);
    const ids = await commit(['message', 'message']);
    expect((await logAfter(last)).map(({ seq, message_id }) => [seq, message_id])).toEqual(
      ids.map((id, at) => [last + 1 + at, id]),
    );
  } finally {
    watch.end();
  }
});

it('old ones are removed with the rest of the log, but never the newest', async () => {
  for (let at = 0; at < 12; at += 1) await commit(['message']);
  await commit(['other']);
  app.clock.step(1_000);
  const limit = app.clock.now();
  const [newest] = await commit(['message']);
  const last = await lastSeq();
  // As slices ask: until fewer are removed than might be.
  const prune = async (before: number): Promise<void> => {
    const { store } = app.service.engine;
    while ((await store.write('server', ({ repositories }) => repositories.events.prune(before, 10))) === 10);
  };
  await prune(limit);
  expect((await logAfter(0)).filter(({ type }) => type === 'message:new')).toMatchObject([
    { seq: last, message_id: newest },
  ]);
  await prune(limit + 1_000);
  expect(await lastSeq()).toBe(last);
  expect((await logAfter(0)).at(-1)).toMatchObject({ seq: last, message_id: newest });
});

it.each([
  ['two events have the same number', 'update message_events set messages = messages + 1'],
  [
    'two events tell that the same message is new',
    'insert into message_events select seq + 20, number, messages, created_at from message_events',
  ],
])('an examination finds that %s', async (problem, damage) => {
  await commit(['message', 'message', 'other']);
  const database = new Database(databaseFile(app.folder));
  try {
    expect(integrityProblem(database, 'quick_check')).toBeNull();
    database.exec(damage);
    expect(integrityProblem(database, 'quick_check')).toBe(problem);
  } finally {
    database.close();
  }
});

it('a page of the log is found by its numbers, however much lies behind it', async () => {
  const database = new Database(databaseFile(app.folder), { readonly: true });
  try {
    const texts: string[] = [];
    const runner = createRunner(database);
    const all = (query: CompiledQuery): Promise<never[]> => {
      texts.push(query.sql);
      return Promise.resolve([]);
    };
    await createGrowingEvents({ ...runner, all }, new LogEnd(runner.direct)).after(0, 10);
    expect(texts).toHaveLength(2);
    for (const text of texts) {
      const plan = database
        .prepare<number[], { detail: string }>(`explain query plan ${text}`)
        .all(...Array.from(text.matchAll(/\?/g), () => 1));
      expect(plan.map(({ detail }) => detail).join('\n')).not.toMatch(/SCAN (?!CONSTANT)|TEMP B-TREE/);
    }
  } finally {
    database.close();
  }
});
