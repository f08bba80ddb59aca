// Opens SQLite connections the one right way, and says what their errors are. A thread that only opens one loads nothing else.
// Nothing else may open deskbell.db, least of all node:fs: closing any descriptor
// of the file would drop this process's locks (SQLite "How To Corrupt", 2.2).
import Database from 'better-sqlite3';
import type { CompiledQuery } from 'kysely';
import type { Durability } from '../engine.ts';

export type Connection = Database.Database;

export interface OpenOptions {
  readonly durability: Durability;
  /** Longest wait for another process's lock, ms. The server's loop stands still for so long. */
  readonly lockTimeoutMs: number;
  readonly readonly?: boolean;
}

/** SQLite's oldest release without known faults in what we lean on (WAL reset, FTS5 secure delete). */
const minSqliteVersion = [3, 54, 0];

/**
 * Opens the database file with every pragma that the promises rest on, and changes nothing in it.
 * @throws Error when the bundled SQLite is too old or the file is no database
 */
export function openConnection(file: string, options: OpenOptions): Connection {
  const connection = new Database(file, {
    timeout: options.lockTimeoutMs,
    readonly: options.readonly === true,
  });
  try {
    const version = sqliteVersion(connection);
    if (isOlder(version))
      throw new Error(`SQLite ${version} is too old; Deskbell needs ${minSqliteVersion.join('.')} or newer.`);
    // Said outright: better-sqlite3's build falls back to NORMAL at the first write where it was not.
    connection.pragma(`synchronous = ${options.durability === 'full' ? 'FULL' : 'NORMAL'}`);
    connection.pragma('foreign_keys = ON');
    connection.pragma('secure_delete = ON');
    connection.pragma('temp_store = MEMORY');
    connection.pragma('cache_size = -16000');
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** The release of SQLite that the driver brings, as `3.54.0`. */
export function sqliteVersion(connection: Connection): string {
  return connection.prepare<[], string>('select sqlite_version()').pluck().get() ?? '';
}

/** The first row of a query that is run once. */
export function firstRow<R>(connection: Connection, query: CompiledQuery<R>): R | undefined {
  return connection.prepare<unknown[], R>(query.sql).get(...query.parameters);
}

/** Puts the file itself into WAL mode, where it is not. Only after the file was accepted: this writes its header. */
export function enterWal(connection: Connection): void {
  connection.pragma('journal_mode = WAL');
}

/** @throws Error when a setting that the promises rest on is not in force */
export function assertSettings(connection: Connection, durability: Durability): void {
  const wanted: Record<string, unknown> = {
    journal_mode: 'wal',
    synchronous: durability === 'full' ? 2 : 1,
    foreign_keys: 1,
    secure_delete: 1,
  };
  for (const [pragma, value] of Object.entries(wanted)) {
    const found: unknown = connection.pragma(pragma, { simple: true });
    if (found !== value)
      throw new Error(
        `SQLite's ${pragma} is ${String(found)} and must be ${String(value)}; is the data folder on a network file system?`,
      );
  }
}

function isOlder(version: string): boolean {
  const parts = version.split('.').map(Number);
  for (const [index, least] of minSqliteVersion.entries()) {
    const part = parts[index] ?? 0;
    if (part !== least) return part < least;
  }
  return false;
}

/** The code of an SQLite error (`SQLITE_BUSY`, `SQLITE_FULL`, …), or undefined for any other error. */
export function sqliteCode(error: unknown): string | undefined {
  return error instanceof Database.SqliteError ? error.code : undefined;
}

/** Whether it is an error of the storage below SQLite, after which the same call may succeed later. */
export function isStorageError(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && /^SQLITE_(FULL|IOERR|READONLY|BUSY|CANTOPEN|NOMEM)/.test(code);
}
