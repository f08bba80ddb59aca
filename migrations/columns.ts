// What the two databases say differently in a migration. A migration names its columns `text`, `integer` and `blob`; on
// PostgreSQL they become text that is compared byte by byte, bigint and bytea, a single integer key is numbered by the
// database, and the notes on how SQLite stores a table are left out (engine/postgres/compiler.ts).
import { sql, type OperationNode, type RawBuilder } from 'kysely';

/** PostgreSQL's advisory lock under which the numbers of the log are given: the last lock that a transaction takes. */
export const logLock = '9223372036854775807';

/** A piece of SQL with another text for PostgreSQL. SQLite's compiler sees only its own. */
export interface TwoFacedNode extends OperationNode {
  readonly postgres: OperationNode;
}

/** Whether a piece of SQL has another text for PostgreSQL. */
export function isTwoFaced(node: OperationNode): node is TwoFacedNode {
  return 'postgres' in node;
}

/**
 * A piece of SQL that the databases say in different words and mean the same by. Where it holds values, both hold the
 * same ones in the same order.
 */
export function twoFaced<T>(faces: {
  readonly sqlite: RawBuilder<T>;
  readonly postgres: RawBuilder<T>;
}): RawBuilder<T> {
  const node: TwoFacedNode = {
    ...faces.sqlite.toOperationNode(),
    postgres: faces.postgres.toOperationNode(),
  };
  return sql<T>`${{ toOperationNode: () => node }}`;
}

/** A statement of a migration that only SQLite runs: its full-text index and what keeps it. */
export function onSqlite(statement: RawBuilder<unknown>): RawBuilder<unknown> {
  return twoFaced({ sqlite: statement, postgres: nothing });
}

/** A statement of a migration that only PostgreSQL runs. */
export function onPostgres(statement: RawBuilder<unknown>): RawBuilder<unknown> {
  return twoFaced({ sqlite: nothing, postgres: statement });
}

const nothing = sql`select 1`;
