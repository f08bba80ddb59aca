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
  type RootOperationNode,
} from 'kysely';
import type { Database } from './database.ts';

/** The query builder. It only builds: it holds no connection. */
export type Builder = Kysely<Database>;

export const builder: Builder = createBuilder(() => new SqliteQueryCompiler());

function createBuilder(createQueryCompiler: () => SqliteQueryCompiler): Builder {
  return new Kysely<Database>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler,
    },
  });
}

/** Runs compiled queries at once. Throws what the driver throws. */
export interface DirectRunner {
  first<R>(query: CompiledQuery<R>, parameters: readonly unknown[]): R | undefined;
  /** The number of rows changed. */
  run(query: CompiledQuery, parameters: readonly unknown[]): number;
  /** The number of the row that it inserted; undefined: none. */
  insert(query: CompiledQuery, parameters: readonly unknown[]): number | undefined;
}

/** Compiles what was built, for another database than SQLite. */
export type Recompile = <R>(node: RootOperationNode) => CompiledQuery<R>;

/** Runs compiled queries. */
export interface Runner {
  /** What prepared queries are compiled by; left out: by SQLite's compiler. */
  readonly recompile?: Recompile;
  all<R>(query: CompiledQuery<R>, parameters?: readonly unknown[]): Promise<R[]>;
  first<R>(query: CompiledQuery<R>, parameters?: readonly unknown[]): Promise<R | undefined>;
  /** The number of rows changed. */
  run(query: CompiledQuery, parameters?: readonly unknown[]): Promise<number>;
}

/** Runs compiled queries on a database that answers at once. */
export interface ImmediateRunner extends Runner {
  /** For several statements that are one method: a promise for each would cost more than some of them. */
  readonly direct: DirectRunner;
}

/** A statement that takes so many rows. */
interface BatchStatement {
  readonly count: number;
  readonly compiled: CompiledQuery;
}

/**
 * Runs statements for many rows: the first as often as it is filled, then the next for what is left.
 * @param statements the one for most rows first, the last for one row
 * @param valuesOf what one row hands over, in the order of the statements
 */
export function runInBatches<T>(
  direct: DirectRunner,
  statements: readonly BatchStatement[],
  rows: readonly T[],
  valuesOf: (row: T) => unknown[],
): void {
  let done = 0;
  for (const { count, compiled } of statements)
    for (; rows.length - done >= count; done += count)
      direct.run(compiled, rows.slice(done, done + count).flatMap(valuesOf));
}

/** Whether a runner's database answers at once. */
export function isImmediate(runner: Runner): runner is ImmediateRunner {
  return 'direct' in runner;
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

/**
 * The same for queries that are built once: what is no parameter stands in the text. better-sqlite3 is built with STAT4, and
 * SQLite plans a query anew whenever a value that it has looked at is handed over, though it be the same one: several times
 * the cost of running it.
 */
class PreparedCompiler extends SqliteQueryCompiler {
  protected override appendValue(value: unknown): void {
    if (value === null || typeof value === 'string' || typeof value === 'number')
      this.appendImmediateValue(value);
    else super.appendValue(value);
  }
}

const preparedBuilder: Builder = createBuilder(() => new PreparedCompiler());

/** A query with a text, and how to lay out the values of one run. */
export interface BoundQuery<P, R> {
  readonly compiled: CompiledQuery<R>;
  /** The values of one run, in the order of the text's placeholders. */
  bind(values: P): unknown[];
}

/** A query that is built when it first runs. */
export interface PreparedQuery<P, R> extends BoundQuery<P, R> {
  /** The same for another database, compiled once. */
  compiledBy(recompile: Recompile): BoundQuery<P, R>;
}

/** All that were declared, so that a test can show every one to every database. */
export const preparedQueries: Pick<PreparedQuery<never, unknown>, 'compiled' | 'compiledBy'>[] = [];

/**
 * Builds a query once, when it first runs: a command runs a few of them, and building them all would be a sixth of its
 * time. `build` gets the builder and a stand-in for every parameter of `P`.
 * @returns a function that runs it: `prepare<{id: string}>()((db, p) => db.selectFrom(…).where('id', '=', p.id))`
 */
export function prepare<P extends object>() {
  return declare<P>((prepared) => preparedQueries.push(prepared));
}

/** The same for what only SQLite is asked: its full-text index, its numbers of messages, what is found by its own keys. */
export function prepareForSqlite<P extends object>() {
  return declare<P>(() => undefined);
}

function declare<P extends object>(
  note: (prepared: Pick<PreparedQuery<never, unknown>, 'compiled' | 'compiledBy'>) => unknown,
) {
  return <R>(build: (db: Builder, parameters: P) => Compilable<R>): PreparedQuery<P, R> => {
    let built: BoundQuery<P, R> | undefined;
    /** By what it was compiled last: another compiler knows nothing of what this one has made. */
    let rebuilt: (BoundQuery<P, R> & { readonly by: Recompile }) | undefined;
    const query = (): BoundQuery<P, R> => (built ??= buildQuery(build));
    const prepared: PreparedQuery<P, R> = {
      get compiled() {
        return query().compiled;
      },
      bind: (values) => query().bind(values),
      compiledBy: (recompile) => {
        if (rebuilt?.by !== recompile) {
          const compiled = recompile(compileWith(build, (parameter) => parameter).query);
          rebuilt = { ...layOut(compiled), by: recompile };
        }
        return rebuilt;
      },
    };
    note(prepared);
    return prepared;
  };
}

/** @param standIn makes what stands for a parameter */
function compileWith<P extends object, R>(
  build: (db: Builder, parameters: P) => Compilable<R>,
  standIn: (parameter: Parameter) => unknown,
): CompiledQuery<R> {
  return build(
    preparedBuilder,
    new Proxy({} as P, { get: (_target, name) => standIn(new Parameter(String(name))) }),
  ).compile() as CompiledQuery<R>;
}

function buildQuery<P extends object, R>(
  build: (db: Builder, parameters: P) => Compilable<R>,
): BoundQuery<P, R> {
  const direct = compileWith(build, (parameter) => parameter);
  // better-sqlite3 is built with STAT4, under which SQLite plans a joined query anew for every new value that
  // its WHERE compares with: ten times the cost of running it. It does not look inside a subquery.
  const compiled =
    direct.query.kind === 'SelectQueryNode'
      ? compileWith(build, (parameter) => sql`(select ${parameter})`)
      : direct;
  return layOut(compiled);
}

function layOut<P extends object, R>(compiled: CompiledQuery<R>): BoundQuery<P, R> {
  const names = compiled.parameters.map((value) =>
    value instanceof Parameter ? (value.name as keyof P) : undefined,
  );
  return {
    compiled,
    bind: (values) => {
      // A loop over two lists: several of these run for every message.
      const bound: unknown[] = [];
      for (let at = 0; at < names.length; at += 1) {
        const name = names[at];
        bound.push(name === undefined ? compiled.parameters[at] : values[name]);
      }
      return bound;
    },
  };
}

/** The query as a runner's database has it. */
function forRunner<P, R>({ recompile }: Runner, query: PreparedQuery<P, R>): BoundQuery<P, R> {
  return recompile === undefined ? query : query.compiledBy(recompile);
}

/** All rows of a prepared query. */
export function all<P, R>(runner: Runner, query: PreparedQuery<P, R>, values: P): Promise<R[]> {
  const { compiled, bind } = forRunner(runner, query);
  return runner.all(compiled, bind(values));
}

/** The first row of a prepared query, or undefined. */
export function first<P, R>(runner: Runner, query: PreparedQuery<P, R>, values: P): Promise<R | undefined> {
  const { compiled, bind } = forRunner(runner, query);
  return runner.first(compiled, bind(values));
}

/** Runs a prepared query that answers no rows; the number of rows it changed. */
export function run<P, R>(runner: Runner, query: PreparedQuery<P, R>, values: P): Promise<number> {
  const { compiled, bind } = forRunner(runner, query);
  return runner.run(compiled, bind(values));
}
