// The copies of the database that lie beside it: made before a change of its schema
// and before a restore, for a backup that was cut off before it was sealed, or by a restore
// that was cut off. They hold what has been removed since, so they must not stay.
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseCopy } from '../engine.ts';

/** What a restore puts behind the name of a file or folder until it takes its place. */
export const restoringEnd = '.restoring';

const copyName =
  /^(?:deskbell-(?:before-schema-\d+\.db|before-restore-[0-9TZ-]+|unsealed\..+\.partial)|(?:deskbell\.db|files)\.restoring)(?:-wal|-shm|-journal)?$/;

/** The file that is made before a database gets a schema. */
export function schemaCopyName(schema: number): string {
  return `deskbell-before-schema-${schema}.db`;
}

/** The folder that keeps what a restore replaced. */
export function restoreCopyName(now: number): string {
  return `deskbell-before-restore-${new Date(now).toISOString().replaceAll(/[:.]/g, '-')}`;
}

/** What a backup that gets a passphrase is called in the data folder until it is sealed. */
export const unsealedCopyName = 'deskbell-unsealed';

/** Copies in a data folder, oldest first. */
export async function listCopies(folder: string): Promise<DatabaseCopy[]> {
  const found: DatabaseCopy[] = [];
  for (const name of await readdir(folder)) {
    if (!copyName.test(name)) continue;
    const info = await stat(join(folder, name)).catch(() => null);
    if (info !== null) found.push({ name, madeAt: info.mtimeMs });
  }
  return found.toSorted((one, other) => one.madeAt - other.madeAt);
}

/** Removes those made before a time (ms since the epoch); how many. */
export async function removeCopies(folder: string, madeBefore: number): Promise<number> {
  const old = (await listCopies(folder)).filter(({ madeAt }) => madeAt < madeBefore);
  for (const { name } of old) await rm(join(folder, name), { recursive: true, force: true });
  return old.length;
}
