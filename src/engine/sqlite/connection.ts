// Opens SQLite connections the one right way and runs compiled queries on them.
// Nothing else may open deskbell.db, least of all node:fs: closing any descriptor
// of the file would drop this process's locks (SQLite "How To Corrupt", 2.2).
import Database from 'better-sqlite3';
import type { CompiledQuery } from 'kysely';
import type { Durability } from '../engine.ts';
import { attempt, type DirectRunner, type ImmediateRunner } from './query.ts';

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

export interface RunnerWatch {
  /** Called with the text of each statement that may change rows, before it runs. */
  onWrite(sql: string): void;
  /** Called when a statement has failed: SQLite may have ended the transaction. */
  onFailure(): void;
  /** Called before a statement that reads messages in their order. */
  onOrderedRead(): void;
}

const nothing = (): void => undefined;
/** What watches nothing. */
export const unwatched: RunnerWatch = { onWrite: nothing, onFailure: nothing, onOrderedRead: nothing };

interface KeptStatement {
  readonly statement: Database.Statement;
  readonly readsInOrder: boolean;
}

/** Runs compiled queries on one connection, each statement prepared once. */
export function createRunner(connection: Connection, watch: RunnerWatch = unwatched): ImmediateRunner {
  const statements = new Map<string, KeptStatement>();
  const most = 500;

  function statement(sql: string): Database.Statement {
    let found = statements.get(sql);
    if (found === undefined) {
      // Only texts built per call (filters, lists of ids) can fill this up; the oldest goes.
      const [oldest] = statements.keys();
      if (oldest !== undefined && statements.size >= most) statements.delete(oldest);
      found = { statement: connection.prepare(sql), readsInOrder: sql.includes('ordered_messages') };
      statements.set(sql, found);
    }
    if (!found.statement.readonly) watch.onWrite(sql);
    if (found.readsInOrder) watch.onOrderedRead();
    return found.statement;
  }

  /** Tells of a failure, and passes it on. */
  function failed(error: unknown): never {
    watch.onFailure();
    throw error;
  }

  const direct: DirectRunner = {
    first: <R>(query: CompiledQuery<R>, parameters: readonly unknown[]) => {
      try {
        return statement(query.sql).get(...parameters) as R | undefined;
      } catch (error) {
        return failed(error);
      }
    },
    run: (query, parameters) => {
      try {
        return statement(query.sql).run(...parameters).changes;
      } catch (error) {
        return failed(error);
      }
    },
    insert: (query, parameters) => {
      try {
        const { changes, lastInsertRowid } = statement(query.sql).run(...parameters);
        return changes === 0 ? undefined : Number(lastInsertRowid);
      } catch (error) {
        return failed(error);
      }
    },
  };
  const all = <R>(query: CompiledQuery<R>, parameters: readonly unknown[]): R[] => {
    try {
      return statement(query.sql).all(...parameters) as R[];
    } catch (error) {
      return failed(error);
    }
  };
  return {
    direct,
    all: (query, parameters = query.parameters) => attempt(() => all(query, parameters)),
    first: (query, parameters = query.parameters) => attempt(() => direct.first(query, parameters)),
    run: (query, parameters = query.parameters) => attempt(() => direct.run(query, parameters)),
  };
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
