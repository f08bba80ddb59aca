// Brings a PostgreSQL database to the newest schema, all in one transaction, and refuses one that is newer than the
// program. The schema's number is how many rows `schema_migrations` has.
import { migrations, type Migration } from '../../../migrations/index.ts';
import { logLock } from '../../../migrations/columns.ts';
import { SchemaError } from '../open-errors.ts';
import { migrationBuilder } from './compiler.ts';
import { Link, schemaName } from './link.ts';

/**
 * Applies what is missing. Of several that begin at once, the others wait and find it done.
 * @param url of a database whose role may make a schema
 * @returns how many migrations were applied
 * @throws SchemaError when the database has seen migrations that this program does not know
 * @throws StoreUnavailableError when the database can't be reached
 */
export async function migratePostgres(
  url: string,
  known: readonly Migration[] = migrations,
): Promise<number> {
  const link = await Link.open({ url, name: 'deskbell migrate', durable: true, patient: true });
  const run = (text: string): Promise<unknown> => link.query({ text });
  try {
    await run('begin');
    await run(`select pg_advisory_xact_lock(${logLock})`);
    await run(`create schema if not exists ${schemaName}`);
    await run(
      `create table if not exists schema_migrations (
        number bigint primary key, name text collate "C" not null, applied_at timestamptz not null default now())`,
    );
    const { rows } = await link.query<{ number: number }>({
      text: 'select coalesce(max(number), 0) as number from schema_migrations',
    });
    const version = rows[0]?.number ?? 0;
    if (version > known.length)
      throw new SchemaError(
        `The database has schema ${version}, and this version of deskbell knows only ${known.length}. Install a newer deskbell; nothing was changed.`,
      );
    const missing = known.slice(version);
    for (const [index, { name, up }] of missing.entries()) {
      await up(migrationBuilder(run));
      await link.query({ text: 'insert into schema_migrations (number, name) values ($1, $2)' }, [
        version + index + 1,
        name,
      ]);
    }
    await run('commit');
    return missing.length;
  } finally {
    await link.close();
  }
}
