// A search finds by subject, visitor's name and address exactly what a plain comparison of all rows finds, whatever has
// changed them: the index of them only says where to look. And it looks at little: a turn of the loop is short for a text
// that everybody has, and of few conversations the index is not asked to the end.
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openBackup, writeBackup } from '../../src/engine/sqlite/backup.ts';
import { migrate } from '../../src/engine/sqlite/migrate.ts';
import { createRunner } from '../../src/engine/sqlite/runner.ts';
import { createSubstringsRepository } from '../../src/engine/sqlite/repositories/substrings.ts';
import type { QueueStretch } from '../../src/engine/repositories/conversations.ts';
import { exportOrganization } from '../../src/services/data/export.ts';
import { importOrganization } from '../../src/services/data/import.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { rowsPerTurn } from '../../src/services/chat/queue-stretches.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request } from '../helpers/client.ts';
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
import { repeatable, rounds, seededRandom } from '../helpers/rounds.ts';

let app: TestApp;
let acme: TestOrganization;
let other: TestOrganization;
let member: TestMember;
let stranger: TestMember;

beforeAll(async () => {
  // The index is a table of SQLite's: PostgreSQL finds parts of texts by itself.
  app = await startApp({ engine: 'sqlite' });
  acme = await createOrganization(app, 'acme');
  other = await createOrganization(app, 'other');
  await app.local('organizations.update', { organization: 'acme', limits: { requestsPerMinute: 1_000_000 } });
  await app.local('organizations.update', {
    organization: 'other',
    limits: { requestsPerMinute: 1_000_000 },
  });
  member = await createMember(app, 'acme', 'admin');
  stranger = await createMember(app, 'other', 'admin');
});
afterAll(() => app.stop());

const random = seededRandom();
const below = (n: number): number => Math.floor(random() * n);
const oneOf = <T>(list: readonly [T, ...T[]]): T => list[below(list.length)] ?? list[0];

/** Few letters of each script, so that texts share many pieces; what LIKE, GLOB and SQLite's tokenizers fold or escape. */
const alphabets = [
  Array.from('abAB'),
  Array.from('aA eE%_\\"\'*x'),
  Array.from('éÉ*?[]^-!\\a'),
  Array.from('äÄaA\u0308ßẞs'),
  Array.from('σΣςοΟό'),
  Array.from('жЖиИ І'),
  Array.from('iIİıſsSKk\u212a'),
  Array.from('我的包裹还没'),
  Array.from('荷物がまだ'),
  Array.from('พัสดุของ'),
  Array.from('أينطلبي ١٢'),
  Array.from('😀👍🏽e\u0301\u200d🎉'),
] as const;

function someText(most: number): string {
  const letters = alphabets[below(alphabets.length)] ?? alphabets[0];
  const length = 1 + below(most);
  const text = Array.from({ length }, () => letters[below(letters.length)])
    .join('')
    .trim();
  return text === '' ? 'a' : text;
}

/** A part of a text, its letters in either case. */
function partOf(text: string): string {
  const letters = Array.from(text);
  const from = below(letters.length);
  const part = letters.slice(from, from + 1 + below(7)).join('');
  const cased = random() < 0.3 ? part.toUpperCase() : random() < 0.3 ? part.toLowerCase() : part;
  return cased.trim() === '' ? text : cased.trim();
}

async function texts(): Promise<string[]> {
  const rows = await rowsOf(
    app,
    `select subject as text from conversations where subject is not null
     union all select name from visitors where name is not null union all select email from visitors where email is not null`,
  );
  return rows.map(({ text }) => String(text));
}

/** Whether a letter of a text is the one that is looked for: beyond ASCII, one of the two cases is the same. */
function isSameLetter(sought: string, letter: string): boolean {
  if (sought === letter) return true;
  const lower = sought.toLowerCase() === letter.toLowerCase();
  // A sign that becomes an ASCII letter, as that of Kelvin, is another one for those who look for the letter.
  if (/[a-z]/i.test(sought)) return lower && /[a-z]/i.test(letter) && letter <= 'z';
  return lower || sought.toUpperCase() === letter.toUpperCase();
}

function occursIn(text: unknown, q: string): boolean {
  const sought = Array.from(q);
  const letters = typeof text === 'string' ? Array.from(text) : [];
  return letters.some(
    (_, at) =>
      at + sought.length <= letters.length &&
      sought.every((letter, index) => isSameLetter(letter, letters[at + index] ?? '')),
  );
}

/** What fits, by a plain comparison of all rows. */
async function plainly(organizationId: string, q: string, condition = 'true'): Promise<string[]> {
  const rows = await rowsOf(
    app,
    `select c.id, c.subject, v.name, v.email from conversations as c join visitors as v on v.id = c.visitor_key
     where c.organization_id = ? and c.mode = 'live' and ${condition}
     order by c.updated_at desc, c.id desc`,
    organizationId,
  );
  return rows
    .filter(({ subject, name, email }) => [subject, name, email].some((text) => occursIn(text, q)))
    .map(({ id }) => String(id));
}

/** All that a search finds, page by page. */
async function found(who: TestMember, q: string, more = ''): Promise<string[]> {
  const ids: string[] = [];
  for (let offset = 0; ; offset += 100) {
    const { status, text, body } = await who.call(
      'GET',
      `/conversations?sort=updated&limit=100&offset=${offset}&q=${encodeURIComponent(q)}${more}`,
    );
    expect(status, text).toBe(200);
    ids.push(...body.conversations.map(({ id }: { id: string }) => id));
    if (body.conversations.length < 100) {
      expect(body.total, q).toBe(ids.length);
      return ids;
    }
  }
}

const indexes = ['search_subjects', 'search_visitors'] as const;

/** Fails where an index does not hold exactly what the rows say: FTS5 makes its words anew and compares. */
function expectTrue(file = join(app.folder, 'deskbell.db')): void {
  const database = new Database(file, { timeout: 5_000 });
  try {
    for (const index of indexes)
      database.exec(`insert into ${index} (${index}, rank) values ('integrity-check', 1)`);
  } finally {
    database.close();
  }
}

async function insertVisitor(
  of: TestOrganization,
  name: string | null,
  email: string | null,
): Promise<string> {
  const id = randomUUID();
  await rowsOf(
    app,
    `insert into visitors (id, visitor_id, organization_id, application_id, mode, name, email, verified, verified_fields, attributes, created_at)
     values (?, ?, ?, ?, 'live', ?, ?, 0, '', '{}', 0)`,
    id,
    randomUUID(),
    of.id,
    of.application.id,
    name,
    email,
  );
  return id;
}

async function insertConversation(
  of: TestOrganization,
  visitorKey: string,
  subject: string | null,
): Promise<string> {
  const id = randomUUID();
  await rowsOf(
    app,
    `insert into conversations (id, organization_id, application_id, visitor_key, mode, status, subject, last_seq, created_at, updated_at)
     values (?, ?, ?, ?, 'live', ?, ?, 0, 0, ?)`,
    id,
    of.id,
    of.application.id,
    visitorKey,
    oneOf(['pending', 'active', 'closed', 'closed']),
    subject,
    below(50),
  );
  return id;
}

describe('random texts', () => {
  beforeAll(async () => {
    const maybe = (text: () => string): string | null => (random() < 0.25 ? null : text());
    for (const of of [acme, other])
      for (let index = 0; index < 60; index += 1) {
        const email = (): string => `${someText(6)}@${oneOf(['mail', 'post'])}.example`;
        const visitor = await insertVisitor(
          of,
          maybe(() => someText(20)),
          maybe(email),
        );
        for (let n = below(4); n > 0; n -= 1)
          await insertConversation(
            of,
            visitor,
            maybe(() => someText(40)),
          );
      }
  });

  /** Something changes, past the server or through it. */
  async function change(): Promise<void> {
    const pick = async (table: 'visitors' | 'conversations'): Promise<unknown> => {
      const [row] = await rowsOf(app, `select id from ${table} order by id limit 1 offset ?`, below(50));
      return row?.['id'] ?? '';
    };
    const text = random() < 0.2 ? null : someText(30);
    switch (below(6)) {
      case 0:
        await rowsOf(
          app,
          'update conversations set subject = ? where id = ?',
          text,
          await pick('conversations'),
        );
        break;
      case 1:
        await rowsOf(
          app,
          `update visitors set ${oneOf(['name', 'email'])} = ? where id = ?`,
          text,
          await pick('visitors'),
        );
        break;
      case 2:
        await rowsOf(app, 'delete from conversations where id = ?', await pick('conversations'));
        break;
      case 3:
        // With all conversations of theirs.
        await rowsOf(app, 'delete from visitors where id = ?', await pick('visitors'));
        break;
      case 4:
        await insertConversation(acme, await insertVisitor(acme, someText(9), null), text);
        break;
      default:
        await insertConversation(acme, await insertVisitor(acme, text, null), someText(30));
    }
  }

  it('are found as a plain comparison of all rows finds them', async () => {
    const count = rounds(120, 3_000);
    let some = 0;
    await repeatable('test/services/search-substrings.test.ts', count, async () => {
      for (let round = 0; round < count; round += 1) {
        await change();
        const all = await texts();
        const q = random() < 0.15 ? someText(4) : partOf(all[below(all.length)] ?? 'a');
        const status = random() < 0.3 ? oneOf(['pending', 'active', 'closed']) : undefined;
        const expected = await plainly(acme.id, q, status === undefined ? 'true' : `c.status = '${status}'`);
        expect(
          await found(member, q, status === undefined ? '' : `&status=${status}`),
          JSON.stringify(q),
        ).toEqual(expected);
        some += Math.min(expected.length, 1);
        if (round % 10 === 0) expectTrue();
      }
    });
    expect(some).toBeGreaterThan(count / 3);
    expectTrue();
  });

  it('are found by their own organization alone', async () => {
    for (const text of (await texts()).slice(0, 30)) {
      const q = text.slice(0, 200);
      expect(await found(stranger, q)).toEqual(await plainly(other.id, q));
    }
  });
});

describe('the index of subjects, names and addresses', () => {
  let visitor: TestClient;
  let conversationId: string;
  let word: string;

  beforeEach(async () => {
    word = `w${randomBytes(6).toString('hex')}`;
    visitor = createVisitor(app, acme.application);
    await visitor.call('PUT', '/visitor', { name: `Name ${word}`, email: `${word}@mail.example` });
    conversationId = await createConversation(visitor, `Subject ${word}`);
  });

  const onlyBy = async (q: string): Promise<boolean> => {
    const ids = await found(member, q);
    expectTrue();
    expect(ids.every((id) => id === conversationId)).toBe(true);
    return ids.length === 1;
  };

  it('follows a subject that is changed and taken away', async () => {
    expect(await onlyBy(`ject ${word}`)).toBe(true);
    await member.call('PATCH', `/conversations/${conversationId}`, { subject: `Other ${word}` });
    expect(await onlyBy(`ject ${word}`)).toBe(false);
    expect(await onlyBy(`ther ${word}`)).toBe(true);
    await member.call('PATCH', `/conversations/${conversationId}`, { subject: null });
    expect(await onlyBy(`ther ${word}`)).toBe(false);
    expect(await onlyBy(`${word}@MAIL`)).toBe(true);
  });

  it('follows a visitor who takes another name and address', async () => {
    expect(await onlyBy(`ame ${word}`)).toBe(true);
    await visitor.call('PUT', '/visitor', { name: `Zoë ${word}`, email: `x${word}@post.example` });
    expect(await onlyBy(`ame ${word}`)).toBe(false);
    expect(await onlyBy(`${word}@mail`)).toBe(false);
    expect(await onlyBy(`zoë ${word}`)).toBe(true);
    expect(await onlyBy(`x${word}@POST`)).toBe(true);
  });

  it('finds letters beyond ASCII in either case', async () => {
    await visitor.call('PUT', '/visitor', { name: `Jürgen ${word}`, email: `${word}@mail.example` });
    expect(await onlyBy(`JÜRGEN ${word}`)).toBe(true);
    await member.call('PATCH', `/conversations/${conversationId}`, { subject: `Заказ ΓΙΏΡΓΟΣ [ж] ${word}` });
    for (const q of ['ЗАКАЗ Γιώργος', 'заказ γιώργοσ', '[Ж] '.trim() + ` ${word.toUpperCase()}`, 'ώργος [ж'])
      expect(await onlyBy(q), q).toBe(true);
    expect(await onlyBy(`заказы ${word}`)).toBe(false);
  });

  it('finds a new subject in the same moment, also beside a message with the word', async () => {
    await createMessage(visitor, conversationId, `a message with ${word}`);
    const second = await createConversation(visitor, 'Nothing');
    await createMessage(visitor, second, `again ${word}`);
    const third = await createConversation(createVisitor(app, acme.application), `${word} third`);
    expect((await found(member, word)).toSorted()).toEqual([conversationId, second, third].toSorted());
    expect(await found(stranger, word)).toEqual([]);
  });

  it('forgets a visitor who is erased, and a removed organization', async () => {
    const erased = await request(app.url, 'DELETE', `/api/v1/admin/visitors/${visitor.id}`, member.headers);
    expect(erased.status, erased.text).toBeLessThan(300);
    expect(await onlyBy(word)).toBe(false);
    const gone = await createOrganization(app, `gone-${word}`);
    await insertConversation(gone, await insertVisitor(gone, `Gone ${word}`, null), `Gone ${word}`);
    expectTrue();
    await rowsOf(app, 'delete from organizations where id = ?', gone.id);
    expectTrue();
  });

  it('is not touched by a message', async () => {
    const before = await Promise.all(
      indexes.map((index) => rowsOf(app, `select id, block from ${index}_data`)),
    );
    await createMessage(visitor, conversationId, `a message with ${word}`);
    await visitor.call('PUT', '/visitor', { name: `Name ${word}`, email: `${word}@mail.example` });
    const after = await Promise.all(
      indexes.map((index) => rowsOf(app, `select id, block from ${index}_data`)),
    );
    expect(after).toEqual(before);
  });

  it('comes with a backup, in which rows keep their numbers', async () => {
    const scratch = await mkdtemp(join(tmpdir(), 'deskbell-substrings-'));
    try {
      // Holes, which a copy could close.
      await rowsOf(app, 'delete from conversations where rowid % 3 = 0 and id <> ?', conversationId);
      const target = join(scratch, 'a.backup');
      await writeBackup(
        join(app.folder, 'deskbell.db'),
        { target, unsealed: join(scratch, 'plain'), folder: null },
        randomBytes(32),
        0,
        null,
      );
      const backup = await openBackup(target, null);
      await backup.extract(join(scratch, 'restored.db'));
      await backup.close();
      expectTrue(join(scratch, 'restored.db'));
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  });

  it('is made where an organization is imported', async () => {
    const to = await startApp({ engine: 'sqlite' });
    try {
      const moved = await createOrganization(app, 'moved');
      const person = createVisitor(app, moved.application);
      await person.call('PUT', '/visitor', { name: `Name ${word}` });
      const id = await createConversation(person, `Subject ${word}`);
      const lines: string[] = [];
      const callOn = ({ service }: TestApp) =>
        ({ service, actor: { kind: 'local' }, address: null, contentLimit: sizeLimits.contentRest }) as const;
      await exportOrganization(callOn(app), 'moved', async (line) => void lines.push(line));
      await importOrganization(callOn(to), async function* () {
        yield* lines;
      });
      expectTrue(join(to.folder, 'deskbell.db'));
      const reader = await createMember(to, 'moved', 'admin');
      for (const q of [`JECT ${word}`, `AME ${word}`]) expect(await found(reader, q)).toEqual([id]);
    } finally {
      await to.stop();
    }
  });
});

describe('a search of many', () => {
  const many = 3_000;
  let large: TestOrganization;
  let operator: TestMember;

  beforeAll(async () => {
    large = await createOrganization(app, 'large');
    await app.local('organizations.update', {
      organization: 'large',
      limits: { requestsPerMinute: 1_000_000 },
    });
    operator = await createMember(app, 'large', 'admin');
    await rowsOf(
      app,
      `insert into visitors (id, visitor_id, organization_id, application_id, mode, name, email, verified, verified_fields, attributes, created_at)
       with recursive n(value) as (select 1 union all select value + 1 from n where value < ${many})
       select 'large' || value, 'large' || value, ?, ?, 'live', 'Visitor ' || value || char(9999, 20000 + value),
         value || '@every.example', 0, '', '{}', 0 from n`,
      large.id,
      large.application.id,
    );
    await rowsOf(
      app,
      `insert into conversations (id, organization_id, application_id, visitor_key, mode, status, subject, last_seq, created_at, updated_at)
       select 'c' || id, organization_id, application_id, id, 'live', iif(substr(id, 6) % 100 = 0, 'pending', 'closed'),
         iif(substr(id, 6) % 4 = 0, 'A quarter', 'Every one'), 0, 0, 0
       from visitors where organization_id = ?`,
      large.id,
    );
  });

  interface Looked {
    /** Rows that each turn has looked at, by what led there. */
    readonly turns: { candidates: number; rows: number }[];
    readonly stretches: QueueStretch[];
  }

  /** Watches what a search looks at. */
  async function watch(work: () => Promise<void>): Promise<Looked> {
    const { store } = app.service.engine;
    const read = store.read.bind(store);
    const looked: Looked = { turns: [], stretches: [] };
    store.read = (ask) =>
      read(async ({ repositories }) => {
        const turn = { candidates: 0, rows: 0 };
        looked.turns.push(turn);
        const { conversations, substrings } = repositories;
        return ask({
          repositories: {
            ...repositories,
            substrings: substrings && {
              ...substrings,
              matches: async (...asked) => {
                const answer = await substrings.matches(...asked);
                turn.candidates += answer.numbers.length;
                return answer;
              },
            },
            conversations: {
              ...conversations,
              queueOfStretch: (filter, stretch, sort, most) => {
                looked.stretches.push(stretch);
                if ('places' in stretch) turn.rows += stretch.places.length;
                return conversations.queueOfStretch(filter, stretch, sort, most);
              },
            },
          },
        });
      });
    try {
      await work();
    } finally {
      store.read = read;
    }
    return looked;
  }

  it('looks at some hundred rows in a turn, where many have the text', async () => {
    const looked = await watch(async () => {
      expect((await operator.call('GET', '/conversations?q=quarter')).body.total).toBe(many / 4);
    });
    expect(looked.stretches.every((stretch) => 'places' in stretch)).toBe(true);
    expect(Math.max(...looked.turns.map(({ rows }) => rows))).toBe(rowsPerTurn);
    expect(looked.turns.reduce((sum, { rows }) => sum + rows, 0)).toBe(many / 4);
  });

  it('walks through all where nearly all have the text, and asks the index for a few thousand entries in a turn', async () => {
    const looked = await watch(async () => {
      expect((await operator.call('GET', '/conversations?q=every')).body.total).toBe(many);
    });
    expect(looked.stretches.every((stretch) => 'status' in stretch)).toBe(true);
    expect(Math.max(...looked.turns.map(({ candidates }) => candidates))).toBeLessThanOrEqual(2_000);
  });

  it('looks at those alone that may have the text, where few have it', async () => {
    const looked = await watch(async () => {
      expect((await operator.call('GET', '/conversations?q=2718@every')).body.total).toBe(1);
    });
    const [stretch, ...others] = looked.stretches;
    expect(others).toEqual([]);
    expect(stretch !== undefined && 'places' in stretch ? stretch.places.length : 0).toBeLessThan(20);
  });

  it('looks at the few that its filters leave, where more have the text', async () => {
    const looked = await watch(async () => {
      expect((await operator.call('GET', '/conversations?q=every&status=pending')).body.total).toBe(
        many / 100,
      );
    });
    expect(looked.stretches.every((stretch) => 'status' in stretch)).toBe(true);
    expect(looked.turns.reduce((sum, { candidates }) => sum + candidates, 0)).toBeLessThanOrEqual(2_000);
  });

  it('finds one letter and two, by the pieces that begin so or by all rows', async () => {
    const pieces = async (text: string) =>
      app.service.engine.store.read(async ({ repositories }) =>
        repositories.substrings?.query(large.id, text),
      );
    for (const q of ['27', 'ry', 'q', '@e', '✏', '9✏', String.fromCodePoint(20_007)])
      expect((await found(operator, q)).toSorted(), q).toEqual((await plainly(large.id, q)).toSorted());
    expect(await pieces('✏')).toBeNull();
    expect((await pieces('@e'))?.subjects).toBeNull();
    expect((await pieces('@e'))?.visitors).toMatch(/^\w+x406576$/);
    expect(await pieces('qq')).toEqual({ subjects: null, visitors: null });
  });
});

it('an index of a database that is brought up to date has all that was there', async () => {
  const database = new Database(':memory:');
  const { migrations } = await import('../../migrations/index.ts');
  await migrate(database, () => Promise.resolve(), migrations.slice(0, 22));
  database.pragma('foreign_keys = off');
  database.exec(`
    insert into visitors (id, visitor_id, organization_id, application_id, mode, name, email, verified, verified_fields, attributes, created_at)
      values ('v', 'v', 'org', 'a', 'live', 'Ada Lovelace', null, 0, '', '{}', 0), ('w', 'w', 'org', 'a', 'live', null, null, 0, '', '{}', 0);
    insert into conversations (id, organization_id, application_id, visitor_key, mode, status, subject, last_seq, created_at, updated_at)
      values ('c', 'org', 'a', 'v', 'live', 'closed', 'An Old Order', 0, 0, 0), ('d', 'org', 'a', 'w', 'live', 'closed', null, 0, 0, 0)`);
  // Rows of no organization are none of its concern.
  await expect(migrate(database, () => Promise.resolve())).resolves.toBe(migrations.length - 22);
  for (const index of indexes)
    database.exec(`insert into ${index} (${index}, rank) values ('integrity-check', 1)`);
  const substrings = createSubstringsRepository(createRunner(database));
  for (const [text, source] of [
    ['OLD ORD', 'subjects'],
    ['velac', 'visitors'],
  ] as const) {
    const query = (await substrings.query('org', text))?.[source] ?? '';
    expect((await substrings.matches(source, query, { after: 0, span: 100, most: 10 })).numbers).toEqual([1]);
  }
  database.close();
});
