// Queries that are built once with Kysely and run many times: building costs more
// than running, and the same text lets the driver keep its prepared statement.
// Owns no query of its own.
import {
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
  type Compilable,
  type CompiledQuery,
} from 'kysely';
import type { Database } from './database.ts';

/** The query builder. It only builds: it holds no connection. */
export type Builder = Kysely<Database>;

export const builder: Builder = new Kysely<Database>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

/** Runs compiled queries at once. Throws what the driver throws. */
export interface DirectRunner {
  first<R>(query: CompiledQuery<R>, parameters: readonly unknown[]): R | undefined;
  /** The number of rows changed. */
  run(query: CompiledQuery, parameters: readonly unknown[]): number;
  /** The number of the row that it inserted; undefined: none. */
  insert(query: CompiledQuery, parameters: readonly unknown[]): number | undefined;
}

/** Runs compiled queries. */
export interface Runner {
  /** For several statements that are one method: a promise for each would cost more than some of them. */
  readonly direct: DirectRunner;
  all<R>(query: CompiledQuery<R>, parameters?: readonly unknown[]): Promise<R[]>;
  first<R>(query: CompiledQuery<R>, parameters?: readonly unknown[]): Promise<R | undefined>;
  /** The number of rows changed. */
  run(query: CompiledQuery, parameters?: readonly unknown[]): Promise<number>;
}

/** Not `async`: a promise for each call is enough, and a throw still becomes a rejection. */
export function attempt<T>(work: () => T): Promise<T> {
  return new Promise((resolve) => resolve(work()));
}

/** Stands for a value that arrives when the query runs. */
class Parameter {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** A built query: its text and how to lay out the values of one run. */
export interface PreparedQuery<P, R> {
  readonly compiled: CompiledQuery<R>;
  /** The values of one run, in the order of the text's placeholders. */
  bind(values: P): unknown[];
}

/**
 * Builds a query once, when it first runs: a command runs a few of them, and building them all would be a sixth of its
 * time. `build` gets the builder and a stand-in for every parameter of `P`.
 * @returns a function that runs it: `prepare<{id: string}>()((db, p) => db.selectFrom(…).where('id', '=', p.id))`
 */
export function prepare<P extends object>() {
  return <R>(build: (db: Builder, parameters: P) => Compilable<R>): PreparedQuery<P, R> => {
    let built: PreparedQuery<P, R> | undefined;
    const query = (): PreparedQuery<P, R> => (built ??= buildQuery(build));
    return {
      get compiled() {
        return query().compiled;
      },
      bind: (values) => query().bind(values),
    };
  };
}

function buildQuery<P extends object, R>(
  build: (db: Builder, parameters: P) => Compilable<R>,
): PreparedQuery<P, R> {
  const compile = (standIn: (parameter: Parameter) => unknown): CompiledQuery<R> =>
    build(
      builder,
      new Proxy({} as P, { get: (_target, name) => standIn(new Parameter(String(name))) }),
    ).compile() as CompiledQuery<R>;
  const direct = compile((parameter) => parameter);
  // better-sqlite3 is built with STAT4, under which SQLite plans a joined query anew for every new value that
  // its WHERE compares with: ten times the cost of running it. It does not look inside a subquery.
  const compiled =
    direct.query.kind === 'SelectQueryNode' ? compile((parameter) => sql`(select ${parameter})`) : direct;
  const layout = compiled.parameters.map((value) =>
    value instanceof Parameter ? { name: value.name as keyof P } : { constant: value },
  );
  return {
    compiled,
    bind: (values) => layout.map((slot) => ('name' in slot ? values[slot.name] : slot.constant)),
  };
}

/** All rows of a prepared query. */
export function all<P, R>(runner: Runner, query: PreparedQuery<P, R>, values: P): Promise<R[]> {
  return runner.all(query.compiled, query.bind(values));
}

/** The first row of a prepared query, or undefined. */
export function first<P, R>(runner: Runner, query: PreparedQuery<P, R>, values: P): Promise<R | undefined> {
  return runner.first(query.compiled, query.bind(values));
}

/** Runs a prepared query that answers no rows; the number of rows it changed. */
export function run<P, R>(runner: Runner, query: PreparedQuery<P, R>, values: P): Promise<number> {
  return runner.run(query.compiled, query.bind(values));
}
