// Owns the database that a test's server begins with: made by the migrations once in each worker, and copied for each
// server. Must not be used where a test is about how a database comes to be.
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { databaseFile, openConnection } from '../../src/engine/open-engine.ts';
import { migrate } from '../../src/engine/sqlite/migrate.ts';
import { secretKeyFile } from '../../src/secret-key.ts';

let template: Promise<Buffer> | undefined;

async function makeTemplate(): Promise<Buffer> {
  const connection = openConnection(':memory:', { durability: 'normal', lockTimeoutMs: 0 });
  await migrate(connection, async () => undefined);
  const bytes = connection.serialize();
  connection.close();
  return bytes;
}

/** Puts a migrated, empty database and a secret key of its own into an empty folder. */
export async function copyTemplate(folder: string): Promise<void> {
  template ??= makeTemplate();
  const key = randomBytes(32).toString('base64');
  await writeFile(secretKeyFile(folder), `${key}\n`, { mode: 0o600 });
  await writeFile(databaseFile(folder), await template, { mode: 0o600 });
}
