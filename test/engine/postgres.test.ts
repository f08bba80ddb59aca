// One set of migrations and queries for both databases: what they make of SQLite is what it was, PostgreSQL takes all of
// them. A new table or query that PostgreSQL would not take fails here.
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { CompiledQuery } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrations } from '../../migrations/index.ts';
import { compile } from '../../src/engine/postgres/compiler.ts';
import { measureSkew } from '../../src/engine/postgres/clock-skew.ts';
import { Link } from '../../src/engine/postgres/link.ts';
import { migrate } from '../../src/engine/sqlite/migrate.ts';
import { preparedQueries } from '../../src/engine/sqlite/query.ts';
import { createDatabase, type TestDatabase } from '../helpers/postgres.ts';
import { migratePostgres } from '../helpers/migrate-postgres.ts';

/** The schema as it was before PostgreSQL took the same migrations. */
const firstMigrations = 15;
const firstSchema = '89f904360a34ad6a17deb2368cef656918cc26424d773c4c32791c61bf002afd';

/** Tables that only one of the databases has: its index of words, its own book-keeping, what nodes share. */
const own =
  /^(?:search|knowledge_(?:search|headings|vocabulary|words)|message_(?:plac|events)|conversation_numbers|schema_migrations|sqlite_|(?:nodes|presence|seats|limits)$)/;

let database: TestDatabase;
let link: Link;
let applied: number[];

beforeAll(async () => {
  database = await createDatabase();
  // Several nodes may begin at once.
  applied = await Promise.all([migratePostgres(database.url), migratePostgres(database.url)]);
  link = await Link.open({ url: database.url, name: 'test', durable: false });
});
afterAll(async () => {
  await link.close();
  await database.remove();
});

async function sqlite(count = migrations.length): Promise<Database.Database> {
  const db = new Database(':memory:');
  await migrate(db, async () => undefined, migrations.slice(0, count));
  return db;
}

describe('migrations', () => {
  it('make of SQLite byte for byte what they made before', async () => {
    const db = await sqlite(firstMigrations);
    const schema = db
      .prepare('select type, name, tbl_name, sql from sqlite_schema order by rowid')
      .raw()
      .all();
    db.close();
    expect(createHash('sha256').update(JSON.stringify(schema)).digest('hex')).toBe(firstSchema);
  });

  it('make the same tables and columns in both databases', async () => {
    const db = await sqlite();
    const inSqlite = db
      .prepare<[], [string, string, 0 | 1]>(
        `select t.name, c.name, c."notnull" or c.pk > 0 from sqlite_schema as t join pragma_table_info(t.name) as c
         where t.type in ('table', 'view') and not (t.name = 'messages' and c.name = 'number')`,
      )
      .raw()
      .all();
    db.close();
    const { rows } = await link.query<{ table: string; column: string; required: 0 | 1 }>({
      text: `select table_name::text as table, column_name::text as column, is_nullable = 'NO' as required
        from information_schema.columns where table_schema = current_schema() and column_name <> 'rowid'`,
    });
    const lines = (columns: readonly (readonly [string, string, 0 | 1])[]): string[] =>
      columns
        .filter(([table]) => !own.test(table))
        .map(([table, column, required]) => `${table}.${column}${required === 1 ? '' : '?'}`)
        .toSorted();
    expect(lines(rows.map(({ table, column, required }) => [table, column, required] as const))).toEqual(
      lines(inSqlite),
    );
  });

  it('run once, however many nodes begin at the same time', () => {
    expect(applied.toSorted((a, b) => a - b)).toEqual([0, migrations.length]);
  });

  it('refuse a database that is newer than the program', async () => {
    await expect(migratePostgres(database.url, migrations.slice(0, 3))).rejects.toThrow(
      `The database has schema ${migrations.length}, and this version of deskbell knows only 3.`,
    );
  });
});

/** Asks the database to take a statement; what it says against it. */
async function refusal(query: CompiledQuery): Promise<string | null> {
  await link.query({ text: 'begin' });
  try {
    await link.query({ text: `prepare tried as ${query.sql}` });
    return null;
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}: ${query.sql}`;
  } finally {
    await link.query({ text: 'rollback' });
    await link.query({ text: 'deallocate all' });
  }
}

describe('queries', () => {
  it('are taken by PostgreSQL, every one that is prepared (a piece that it words otherwise is `twoFaced`)', async () => {
    const folder = join(import.meta.dirname, '../../src/engine/sqlite/repositories');
    for (const name of await readdir(folder)) await import(join(folder, name));
    expect(preparedQueries.length).toBeGreaterThan(200);
    const refused: string[] = [];
    for (const query of preparedQueries) {
      const said = await refusal(query.compiledBy(compile).compiled);
      if (said !== null) refused.push(said);
    }
    expect(refused).toEqual([]);
  });
});

describe('the clock of the database', () => {
  /** A database that takes a while to answer, as on a busy machine. */
  const answering = (ahead: number): Pick<Link, 'query'> => ({
    query: async <R>() => {
      const row = { now: Date.now() + ahead };
      await new Promise((resolve) => setTimeout(resolve, 40));
      return { rows: [row as R], count: 1, command: 'SELECT' };
    },
  });

  it('agrees with the machine’s, however long an answer takes', async () => {
    expect(await measureSkew(answering(0))).toBe(0);
  });

  it.each([600_000, -600_000])('is %i ms ahead', async (ahead) => {
    expect(Math.sign(await measureSkew(answering(ahead)))).toBe(Math.sign(ahead));
  });
});
