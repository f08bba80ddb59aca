// The index of messages is merged while it is written, a few pages at a time: no commit writes hundreds of them, and a
// search never has many parts to look into.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openEngine, databaseFile, prepareFolder } from '../../src/engine/open-engine.ts';
import { createLogReader } from '../../src/engine/sqlite/checkpoints.ts';
import { openConnection, type Connection } from '../../src/engine/sqlite/connection.ts';
import { createSearchRepository } from '../../src/engine/sqlite/repositories/search.ts';
import { createRunner } from '../../src/engine/sqlite/runner.ts';
import { createTestClock } from '../helpers/clock.ts';
import { seededRandom } from '../helpers/rounds.ts';

let folder: string;
let connection: Connection;
let search: ReturnType<typeof createSearchRepository>;
let random: () => number;
let put: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-merges-'));
  await prepareFolder(folder);
  const clock = createTestClock();
  const engine = await openEngine({ folder, durability: 'normal', clock, keyCheck: 'key', as: 'command' });
  await engine.close();
  connection = openConnection(databaseFile(folder), { durability: 'normal', lockTimeoutMs: 0 });
  connection.pragma('wal_autocheckpoint = 0');
  // The index alone: no messages, and no organization.
  connection.pragma('foreign_keys = OFF');
  search = createSearchRepository(createRunner(connection));
  random = seededRandom(1);
  put = 0;
});

afterEach(async () => {
  connection.close();
  await rm(folder, { recursive: true });
});

/** Most words are rare, as in any language. */
const word = (): string => `w${Math.floor(30_000 ** random()).toString(36)}`;

/** What one commit does. @returns pages that it has written */
async function commit(work: () => Promise<unknown>): Promise<number> {
  const readLog = createLogReader(connection);
  const { pages: before } = readLog();
  connection.exec('begin immediate');
  await work();
  connection.exec('commit');
  const { pages } = readLog();
  if (pages > 2_000) connection.pragma('wal_checkpoint(TRUNCATE)');
  return pages - before;
}

/** Puts messages into the index by one commit, and merges by the next ones. @returns the most pages that one has written */
async function index(messages: number, words: number): Promise<number> {
  let isDue = false;
  let most = await commit(async () => {
    const scope = await search.scopeOf('acme');
    for (let one = 0; one < messages; one += 1)
      isDue = await search.put(scope, `message-${(put += 1)}`, Array.from({ length: words }, word));
  });
  while (isDue)
    most = Math.max(
      most,
      await commit(async () => {
        isDue = await search.merge();
      }),
    );
  return most;
}

const parts = (): number =>
  connection.prepare<[], number>('select count(distinct segid) from search_idx').pluck().get() ?? 0;

it('is one part more for a commit, however many messages it adds', async () => {
  await commit(async () => {
    const scope = await search.scopeOf('acme');
    for (let at = 0; at < 300; at += 1) await search.put(scope, `message-${at}`, [word(), word()]);
  });
  expect(parts()).toBe(1);
});

it('has the words of a message once that was put in again', async () => {
  const putOne = (...words: string[]): Promise<number> =>
    commit(async () => search.put(await search.scopeOf('acme'), 'one', words));
  await putOne('first', 'same');
  await putOne('second', 'same');
  await putOne();
  await putOne('third', 'same');
  expect(connection.prepare('select words from search').pluck().all()).toEqual(['1xthird 1xsame']);
  connection.exec("insert into search (search) values ('integrity-check')");
});

/** A process that ends after so many messages is followed by another one. */
const never = Infinity;

// FTS5 by itself writes up to 95, 473 and 552 pages in one commit of the first three; without any merges it is 54, 696 and
// 3,075 with up to 35 parts. Where each short process begins as if nothing were due, the last is 173 with 32 parts.
describe.each([
  {
    what: 'one by one',
    total: 6_000,
    messages: 1,
    words: 12,
    endsAfter: never,
    mostPages: 80,
    mostParts: 30,
  },
  {
    what: 'a hundred at once',
    total: 60_000,
    messages: 100,
    words: 12,
    endsAfter: never,
    mostPages: 160,
    mostParts: 18,
  },
  {
    what: 'long ones',
    total: 2_000,
    messages: 5,
    words: 1_500,
    endsAfter: never,
    mostPages: 210,
    mostParts: 17,
  },
  {
    what: 'by short processes',
    total: 20_000,
    messages: 20,
    words: 12,
    endsAfter: 20,
    mostPages: 140,
    mostParts: 20,
  },
])('messages, $what', ({ total, messages, words, endsAfter, mostPages, mostParts }) => {
  it('are merged in small steps, and the index stays whole', async () => {
    let most = 0;
    let mostPartsSeen = 0;
    while (put < total) {
      if (put % endsAfter === 0) search = createSearchRepository(createRunner(connection));
      most = Math.max(most, await index(messages, words));
      mostPartsSeen = Math.max(mostPartsSeen, parts());
    }
    expect(most).toBeLessThan(mostPages);
    expect(mostPartsSeen).toBeLessThan(mostParts);
    connection.exec("insert into search (search) values ('integrity-check')");
    expect(connection.prepare('select count(*) from search').pluck().get()).toBe(total);
  });
});
