// Runs the queries of the repositories on a connection. Builds none.
import type { CompiledQuery, RootOperationNode } from 'kysely';
import type { Recompile, Runner } from '../sqlite/query.ts';
import { compile } from './compiler.ts';
import type { Link, Statement } from './link.ts';

interface KnownStatement extends Statement {
  readonly writes: boolean;
}

/** Statements of prepared queries, by what they were compiled to: each connection prepares them once. */
const statements = new WeakMap<CompiledQuery, KnownStatement>();
let named = 0;

const recompile: Recompile = <R>(node: RootOperationNode): CompiledQuery<R> => {
  const compiled = compile<R>(node);
  named += 1;
  statements.set(compiled, { name: `q${named}`, text: compiled.sql, writes: isWrite(compiled) });
  return compiled;
};

function isWrite({ query, sql }: CompiledQuery): boolean {
  return query.kind === 'RawNode'
    ? /^\s*(?:insert|update|delete)/i.test(sql)
    : query.kind !== 'SelectQueryNode';
}

/** What a runner tells of the statements that it gives. */
export interface Watch {
  /** Before each statement. @param writes whether it may change rows. @throws Error when none may be given any more */
  before(writes: boolean): void;
  /** When the database has refused one: its transaction is lost. */
  refused(error: unknown): void;
}

/** Runs queries on a connection, one behind another, without waiting in between. */
export function createRunner(link: Link, watch: Watch): Runner {
  async function ask<R>(query: CompiledQuery<R>, parameters: readonly unknown[] | undefined) {
    let statement = statements.get(query);
    let values = parameters;
    if (statement === undefined) {
      // Built for this one run, and compiled for SQLite.
      const own = compile<R>(query.query);
      statement = { text: own.sql, writes: isWrite(own) };
      values = own.parameters;
    }
    watch.before(statement.writes);
    try {
      return await link.query<R>(statement, values);
    } catch (error) {
      watch.refused(error);
      throw error;
    }
  }
  return {
    recompile,
    all: async (query, parameters) => (await ask(query, parameters)).rows,
    first: async (query, parameters) => (await ask(query, parameters)).rows[0],
    run: async (query, parameters) => (await ask(query, parameters)).count,
  };
}
