// A database that can't be what was stored is refused and left as it is, and one database has one server, by whatever
// name it is reached.
import {
  link,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSystemClock } from '../../src/engine/clock.ts';
import type { Engine } from '../../src/engine/engine.ts';
import {
  databaseExists,
  databaseFile,
  inspectDatabase,
  isServed,
  openEngine,
} from '../../src/engine/open-engine.ts';
import { createDatabaseFile } from '../../src/engine/sqlite/database-file.ts';
import { serve, startServing } from '../helpers/process.ts';

/** Rows of the index of the search, enough for several pages. */
const fillers = Array.from({ length: 200 }, (_, row) => `(${row + 1}, 'word${row} another${row * 7}')`).join(
  ', ',
);

let parent: string;
let folder: string;

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'deskbell-damaged-'));
  folder = join(parent, 'data');
  await mkdir(folder, { mode: 0o700 });
});
afterEach(() => rm(parent, { recursive: true, force: true }));

const openAs = (as: 'server' | 'command', where = folder): Promise<Engine> =>
  openEngine({ folder: where, durability: 'normal', clock: createSystemClock(), keyCheck: 'k', as });

async function refusal(as: 'server' | 'command' = 'server', where = folder): Promise<string> {
  try {
    await (await openAs(as, where)).close();
  } catch (error) {
    return String(error);
  }
  return 'opened';
}

async function overwrite(position: number, bytes: Buffer): Promise<void> {
  const handle = await open(databaseFile(folder), 'r+');
  await handle.write(bytes, 0, bytes.length, position);
  await handle.close();
}

describe('a database that has lost something', () => {
  const cases: Readonly<Record<string, () => Promise<void>>> = {
    'an empty file': () => writeFile(databaseFile(folder), ''),
    'all but its first page cut off': () => truncate(databaseFile(folder), 4_096),
    'a header that says there is no schema': () => overwrite(60, Buffer.alloc(4)),
    'a first page without tables': () => overwrite(103, Buffer.alloc(2)),
    'a first page of noise': () => overwrite(0, Buffer.alloc(4_096, 7)),
    'a page of zeros': () => overwrite(4_096 * 3, Buffer.alloc(4_096)),
    'a page of noise': () => overwrite(4_096 * 5, Buffer.alloc(4_096, 0x5a)),
  };

  it.each(Object.keys(cases))('%s is refused with a word on restore, and stays as it is', async (name) => {
    await (await openAs('server')).close();
    await cases[name]?.();
    const before = await readFile(databaseFile(folder));
    expect(await refusal()).toMatch(
      /EngineError: The database .* is damaged: .*deskbell restore FILE --force/,
    );
    expect((await readFile(databaseFile(folder))).equals(before)).toBe(true);
  });

  it('is refused where a page of the index of the search is damaged', async () => {
    await (await openAs('server')).close();
    const database = new Database(databaseFile(folder));
    database.exec(`insert into search (rowid, words) values ${fillers}; pragma wal_checkpoint(truncate)`);
    const page = database
      .prepare<[], number>("select max(pageno) from dbstat where name = 'search_data' and pagetype = 'leaf'")
      .pluck()
      .get();
    database.close();
    await overwrite(4_096 * ((page ?? 0) - 1), Buffer.alloc(4_096, 0x5a));
    expect(await refusal()).toMatch(/is damaged/);
  });

  it('starts where that index alone contradicts itself: doctor says so, and messages are not to be lost for it', async () => {
    await (await openAs('server')).close();
    const database = new Database(databaseFile(folder));
    database.unsafeMode();
    database.exec(
      `insert into search (rowid, words) values ${fillers}; delete from search_content where id < 50`,
    );
    database.close();
    expect(await refusal()).toBe('opened');
    expect((await inspectDatabase(databaseFile(folder))).problem).toMatch(/fts5.*search/i);
  });

  it('is refused by the program, too: no server, no empty service', async () => {
    await (await serve(folder)).stop();
    await truncate(databaseFile(folder), 0);
    const { code, stderr } = await startServing(folder).ended;
    expect([code, stderr.trim().split('\n')]).toEqual([
      1,
      [expect.stringContaining(`restore FILE --force --data ${folder}`)],
    ]);
    expect((await stat(databaseFile(folder))).size).toBe(0);
  });
});

describe('whether there is a database', () => {
  it('is said only where the system says it', async () => {
    expect(await databaseExists(join(parent, 'nowhere'))).toBe(false);
    await writeFile(join(parent, 'a-file'), '');
    expect(await databaseExists(join(parent, 'a-file'))).toBe(false);
    const loop = join(parent, 'loop');
    await symlink(loop, loop);
    await expect(databaseExists(loop)).rejects.toThrow(
      /^The data folder .*loop can't be looked into: ELOOP.*choose another with --data\.$/,
    );
  });
});

describe('a first start', () => {
  it('that is cut off leaves no database, so that the next one is a first start again', async () => {
    const cutOff = createDatabaseFile(databaseFile(folder), async (connection) => {
      connection.exec('create table half (x)');
      throw new Error('cut off');
    });
    await expect(cutOff).rejects.toThrow('cut off');
    expect(await readdir(folder)).toEqual([]);
    expect(await refusal()).toBe('opened');
  });

  it('of several processes at once makes one database', async () => {
    const engines = await Promise.all([1, 2, 3].map(() => openAs('command')));
    const [first, second] = engines;
    await first?.store.write('server', ({ repositories }) => repositories.meta.set('a', 'b'));
    expect(await second?.store.read(({ repositories }) => repositories.meta.get('a'))).toBe('b');
    for (const engine of engines) await engine.close();
    expect((await readdir(folder)).filter((name) => name.includes('.new-'))).toEqual([]);
  });

  it('that was cut off behind the name of the database is completed by the next', async () => {
    await (await openAs('server')).close();
    await link(databaseFile(folder), `${databaseFile(folder)}.new-0123456789ab`);
    expect(await refusal()).toBe('opened');
    expect((await readdir(folder)).filter((name) => name.includes('.new-'))).toEqual([]);
  });
});

describe('one server per database', () => {
  it('also where another folder has a symbolic link to it', async () => {
    const first = await openAs('server');
    const other = join(parent, 'other');
    await mkdir(other);
    await symlink(databaseFile(folder), databaseFile(other));
    expect(await refusal('server', other)).toMatch(/Another deskbell server \(process \d+\) is running/);
    expect(await isServed(other)).toBe(true);
    await first.close();
    expect(await isServed(other)).toBe(false);
    const second = await openAs('server', other);
    expect(await refusal('server')).toMatch(/Another deskbell server \(process \d+\) is running/);
    await second.close();
  });

  it.each(['server', 'command'] as const)('and no second name for it, for a %s', async (as) => {
    await (await openAs('server')).close();
    await link(databaseFile(folder), join(parent, 'second.db'));
    expect(await refusal(as)).toMatch(/has 2 names \(hard links\)/);
    await rm(join(parent, 'second.db'));
    expect(await refusal(as)).toBe('opened');
  });

  it('and where a restore that was cut off has left two, it is to be repeated', async () => {
    await (await openAs('server')).close();
    const before = join(folder, 'deskbell-before-restore-2026-11-21T09-00-00-000Z');
    await mkdir(before);
    await link(databaseFile(folder), databaseFile(before));
    const incoming = `${databaseFile(folder)}.restoring`;
    await writeFile(incoming, '');
    expect(await refusal()).toMatch(
      /A restore into \S+ was cut off .* Repeat it: deskbell restore FILE --force\./,
    );
    // Once the new one has taken the place there is one name.
    await rm(databaseFile(folder));
    await rename(databaseFile(before), databaseFile(folder));
    expect(await refusal()).toBe('opened');
  });
});
