// Brings a database of a test to the newest schema, without an engine on it.
import { migrations, type Migration } from '../../migrations/index.ts';
import { Link } from '../../src/engine/postgres/link.ts';
import { migrateOn } from '../../src/engine/postgres/migrate.ts';

/**
 * Applies what is missing, on a connection of its own.
 * @returns how many migrations were applied
 * @throws SchemaError, StoreUnavailableError
 */
export async function migratePostgres(
  url: string,
  known: readonly Migration[] = migrations,
): Promise<number> {
  const link = await Link.open({ url, name: 'deskbell migrate', durable: true, patient: true });
  try {
    return await migrateOn(link, known);
  } finally {
    await link.close();
  }
}
