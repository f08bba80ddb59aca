// Owns the look of tests into the database itself, past every handler. The one place that knows where a test's rows lie.
import { databaseFile, openConnection } from '../../src/engine/open-engine.ts';
import { sqliteCode, type Connection } from '../../src/engine/sqlite/connection.ts';
import type { TestApp } from './app.ts';
import { askDatabase } from './postgres.ts';

/** By folder, connections that are kept until their server stops: to open one reads the whole schema, which takes 10 ms. */
const kept = new Map<string, Connection>();

function open(folder: string): Connection {
  const connection = openConnection(databaseFile(folder), { durability: 'full', lockTimeoutMs: 1_000 });
  // The server is of this process: to wait for its lock inside of SQLite would keep it from going on.
  connection.pragma('busy_timeout = 0');
  return connection;
}

function keepOpen(folder: string, beforeStop: TestApp['beforeStop']): Connection {
  const connection = kept.get(folder) ?? open(folder);
  if (!kept.has(folder)) {
    kept.set(folder, connection);
    beforeStop(() => {
      kept.delete(folder);
      connection.close();
    });
  }
  return connection;
}

/**
 * Runs one statement in a test's database, beside its server.
 * @returns its rows; none of a statement that only changes
 */
export async function rowsOf(
  app: Pick<TestApp, 'folder'> & Partial<Pick<TestApp, 'database' | 'beforeStop'>>,
  sql: string,
  ...values: readonly unknown[]
): Promise<Record<string, unknown>[]> {
  const { folder, database = null, beforeStop } = app;
  if (database !== null) return askDatabase(database, sql, values);
  const connection = beforeStop === undefined ? open(folder) : keepOpen(folder, beforeStop);
  try {
    const statement = connection.prepare<unknown[], Record<string, unknown>>(sql);
    if (statement.reader) return statement.all(...values);
    await onceUnlocked(() => statement.run(...values));
    return [];
  } finally {
    if (beforeStop === undefined) connection.close();
  }
}

/** For as long as a busy machine may take to end a transaction: 5 ms each. */
const mostTries = 12_000;

/** Runs what changes rows once the server has ended a transaction that it is in. */
async function onceUnlocked(run: () => unknown): Promise<void> {
  for (let tries = 1; ; tries += 1)
    try {
      run();
      return;
    } catch (error) {
      if (sqliteCode(error)?.startsWith('SQLITE_BUSY') !== true || tries === mostTries) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
}

/** A row, by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>;

/** So many in a statement, each of which takes a connection to PostgreSQL. */
const rowsAtOnce = 250;

/** Adds rows that all have the same columns, where they are too many to be made by what the service offers. */
export async function insertRows(
  app: Parameters<typeof rowsOf>[0],
  table: string,
  rows: readonly Row[],
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const places = `(${columns.map(() => '?').join()})`;
  for (let from = 0; from < rows.length; from += rowsAtOnce) {
    const some = rows.slice(from, from + rowsAtOnce);
    await rowsOf(
      app,
      `insert into ${table} (${columns.join()}) values ${some.map(() => places).join()}`,
      ...some.flatMap((row) => columns.map((name) => row[name])),
    );
  }
}

/** Says what another process says that has changed configuration. Of a file, servers see by themselves that it changed. */
export async function tellConfiguration(app: Parameters<typeof rowsOf>[0]): Promise<void> {
  if (app.database === undefined || app.database === null) return;
  await rowsOf(app, "update meta set value = (value::bigint + 1)::text where key = 'configuration'");
}
