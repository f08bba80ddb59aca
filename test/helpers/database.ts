// Owns the look of tests into the database itself, past every handler. The one place that knows where a test's rows lie.
import { databaseFile, openConnection } from '../../src/engine/open-engine.ts';
import type { TestApp } from './app.ts';
import { askDatabase } from './postgres.ts';

/**
 * Runs one statement in a test's database, beside its server.
 * @returns its rows; none of a statement that only changes
 */
export async function rowsOf(
  app: Pick<TestApp, 'folder'> & Partial<Pick<TestApp, 'database'>>,
  sql: string,
  ...values: readonly unknown[]
): Promise<Record<string, unknown>[]> {
  if (app.database !== undefined && app.database !== null) return askDatabase(app.database, sql, values);
  const connection = openConnection(databaseFile(app.folder), { durability: 'full', lockTimeoutMs: 1_000 });
  try {
    const statement = connection.prepare<unknown[], Record<string, unknown>>(sql);
    if (statement.reader) return statement.all(...values);
    statement.run(...values);
    return [];
  } finally {
    connection.close();
  }
}

/** Says what another process says that has changed configuration. Of a file, servers see by themselves that it changed. */
export async function tellConfiguration(app: Parameters<typeof rowsOf>[0]): Promise<void> {
  if (app.database === undefined || app.database === null) return;
  await rowsOf(app, "update meta set value = (value::bigint + 1)::text where key = 'configuration'");
}
