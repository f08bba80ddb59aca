// Runs compiled queries on an SQLite connection. Holds no query.
import type Database from 'better-sqlite3';
import type { CompiledQuery } from 'kysely';
import type { Connection } from './connection.ts';
import { attempt, type DirectRunner, type ImmediateRunner } from './query.ts';

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
