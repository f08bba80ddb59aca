// Brings a PostgreSQL database to the newest schema, all in one transaction, and refuses one that is newer than the
// program. The schema's number is how many rows `schema_migrations` has.
import { migrations, type Migration } from '../../../migrations/index.ts';
import { logLock } from '../../../migrations/columns.ts';
import { SchemaError } from '../open-errors.ts';
import { migrationBuilder } from './compiler.ts';
import { schemaName, type Link } from './link.ts';
import { hasNodeTables, makeNodeTables } from './node-tables.ts';

/** The number of the newest schema that this program knows. */
export const newestSchema = migrations.length;

/** What a database says of its schema. */
export interface SchemaState {
  /** 0: there is none. */
  readonly version: number;
  /** Nothing has to be made any more. */
  readonly complete: boolean;
}

/** @throws SchemaError when the database has seen migrations that this program does not know */
export async function readSchema(link: Link, known = migrations.length): Promise<SchemaState> {
  const { rows: found } = await link.query<{ found: number }>({
    // By its full name: a role that may not look into the schema is refused, and not told that nothing is there.
    text: `select (to_regclass('${schemaName}.schema_migrations') is not null)::int as found`,
  });
  if (found[0]?.found !== 1) return { version: 0, complete: false };
  const { rows } = await link.query<{ number: number }>({
    text: 'select coalesce(max(number), 0) as number from schema_migrations',
  });
  const version = rows[0]?.number ?? 0;
  if (version > known)
    throw new SchemaError(
      `The database has schema ${version}, and this version of deskbell knows only ${known}. Install a newer deskbell; nothing was changed.`,
    );
  return { version, complete: version === known && (await hasNodeTables(link)) };
}

/**
 * Applies what is missing. Of several that begin at once, the others wait and find it done.
 * @param link a connection that waits for locks, of a role that may make a schema
 * @param allow called with the database's schema where it is older, while none can be taken for the newest: throws where others
 *   work on it
 * @returns how many migrations were applied
 * @throws SchemaError when the database has seen migrations that this program does not know
 */
export async function migrateOn(
  link: Link,
  known: readonly Migration[] = migrations,
  allow: (version: number) => Promise<void> = async () => undefined,
): Promise<number> {
  const run = (text: string): Promise<unknown> => link.query({ text });
  // A role that may make nothing needs to make nothing here.
  if ((await readSchema(link, known.length)).complete) return 0;
  await run('begin');
  await run(`select pg_advisory_xact_lock(${logLock})`);
  await run(`create schema if not exists ${schemaName}`);
  await run(
    `create table if not exists schema_migrations (
        number bigint primary key, name text collate "C" not null, applied_at timestamptz not null default now())`,
  );
  const { version } = await readSchema(link, known.length);
  const missing = known.slice(version);
  if (missing.length > 0) await allow(version);
  for (const [index, { name, up }] of missing.entries()) {
    await up(migrationBuilder(run));
    await link.query({ text: 'insert into schema_migrations (number, name) values ($1, $2)' }, [
      version + index + 1,
      name,
    ]);
  }
  await makeNodeTables(link);
  await run('commit');
  return missing.length;
}

/**
 * Makes sure that the schema stays the newest while a node lives. Called once the node has said so: who migrates looks for
 * nodes under the lock of the log, and is waited for here, or finds this one.
 * @throws StoreUnavailableError where the database has another schema by now
 */
export async function assertSchemaStays(link: Link): Promise<void> {
  await link.query({ text: `select pg_advisory_xact_lock_shared(${logLock})` });
  await link.assertSchema(newestSchema);
}
