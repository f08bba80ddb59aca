// The database's file: made whole under its name or not at all, and refused where it can't be what was stored.
// Knows no schema and no row.
import { randomBytes } from 'node:crypto';
import { open, readdir, realpath, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { giveName } from '../partial-files.ts';
import { openConnection, type Connection } from './connection.ts';

/** A database that is being made has its name with this behind it. */
const draftMark = '.new-';

/**
 * Makes a database. It gets its name when it is complete, so that an empty file never lies there after a first start
 * that was cut off.
 * @param file its name; where another process is faster, that one's stays
 * @param fill puts everything in
 */
export async function createDatabaseFile(
  file: string,
  fill: (connection: Connection) => Promise<void>,
): Promise<void> {
  const draft = `${file}${draftMark}${randomBytes(6).toString('hex')}`;
  try {
    await (await open(draft, 'wx', 0o600)).close();
    const connection = openConnection(draft, { durability: 'full', lockTimeoutMs: 0 });
    try {
      await fill(connection);
    } finally {
      connection.close();
    }
    await giveName(draft, file);
  } finally {
    for (const end of ['', '-journal']) await rm(draft + end, { force: true });
  }
  const folder = await open(dirname(file), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The folder in which the file itself lies, past symbolic links; its own where there is none yet. */
export async function realFolder(file: string): Promise<string> {
  return dirname(await realpath(file).catch(() => file));
}

/**
 * How many names the file has. Under each SQLite keeps a log of its own, and changes made through two of them are lost.
 */
export async function countNames(file: string): Promise<number> {
  if ((await stat(file)).nlink === 1) return 1;
  // Another name may be left of its making.
  const folder = dirname(file);
  for (const name of await readdir(folder))
    if (name.startsWith(basename(file) + draftMark)) await rm(join(folder, name), { force: true });
  return (await stat(file)).nlink;
}
