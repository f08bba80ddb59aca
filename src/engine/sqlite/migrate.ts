// Brings a database to the newest schema, all in one transaction, and refuses one
// that is newer than the program. The schema's number is SQLite's `user_version`.
import { Kysely, SqliteDialect } from 'kysely';
import { migrations, type Migration } from '../../../migrations/index.ts';
import { newestSchema } from '../../../migrations/newest-schema.ts';
import { SchemaError } from '../open-errors.ts';
import type { Connection } from './connection.ts';

/** The number of migrations that a database has seen; 0 for a new file. */
export function schemaVersion(connection: Connection): number {
  return Number(connection.pragma('user_version', { simple: true }));
}

/**
 * @throws SchemaError when the database has seen migrations that this program does not know
 */
export function assertNotNewer(connection: Connection, known: readonly Migration[] = migrations): void {
  const version = schemaVersion(connection);
  if (version > known.length)
    throw new SchemaError(
      `The database has schema ${version}, and this version of deskbell knows only ${known.length}. Install a newer deskbell; nothing was changed.`,
    );
}

/**
 * Applies what is missing, in order, inside one transaction: all of it or nothing.
 * @param backUp called before the first change of a database that holds data already
 * @returns how many migrations were applied
 */
export async function migrate(
  connection: Connection,
  backUp: (version: number) => Promise<void>,
  known: readonly Migration[] = migrations,
): Promise<number> {
  assertNotNewer(connection, known);
  const version = schemaVersion(connection);
  const missing = known.slice(version);
  if (missing.length === 0) return 0;
  if (version > 0) await backUp(version);
  // Kysely on the one open connection, without its own transactions: ours is IMMEDIATE and spans them all.
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: connection }) });
  // A table that is made anew is dropped first, which would remove what refers to its rows (SQLite, "Making Other Kinds Of
  // Table Schema Changes"). Inside a transaction the setting can't be changed.
  const enforced = connection.pragma('foreign_keys', { simple: true });
  connection.pragma('foreign_keys = OFF');
  try {
    connection.exec('BEGIN IMMEDIATE');
    // Another process may have been faster between the first look and the lock.
    if (schemaVersion(connection) !== version) {
      connection.exec('ROLLBACK');
      return await migrate(connection, backUp, known);
    }
    const orphans = countOrphans(connection);
    // A new database is made at once: step by step would be a tenth of a first start.
    if (known === migrations && isEmpty(connection)) connection.exec(newestSchema);
    else for (const migration of missing) await migration.up(db);
    if (countOrphans(connection) > orphans) throw new Error('A change of the schema has left rows behind.');
    connection.pragma(`user_version = ${known.length}`);
    connection.exec('COMMIT');
    return missing.length;
  } catch (error) {
    if (connection.inTransaction) connection.exec('ROLLBACK');
    throw error;
  } finally {
    connection.pragma(`foreign_keys = ${Number(enforced)}`);
  }
}

function isEmpty(connection: Connection): boolean {
  return connection.prepare('select 1 from sqlite_schema').get() === undefined;
}

/** Rows that refer to none. */
function countOrphans(connection: Connection): number {
  return connection.prepare('pragma foreign_key_check').all().length;
}
