// A backup: one file that begins with a whole SQLite database and ends with a
// trailer that holds its digest and the secret key. Owns the file's form, its making
// and its examination; where it goes and what it replaces is src/data-folder.ts.
import { createHash } from 'node:crypto';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { errorMessage, systemErrorCode } from '../file-errors.ts';
import { schemaVersion, assertNotNewer } from './migrate.ts';
import { openConnection, type Connection } from './connection.ts';

/** A file that is no whole backup; the message says in what way. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

export interface BackupManifest {
  /** ms since the epoch. */
  readonly madeAt: number;
  readonly schema: number;
  /** The master key, 32 bytes in base64. */
  readonly key: string;
  /** Bytes of the database. */
  readonly bytes: number;
  /** SHA-256 of the database, hex. */
  readonly sha256: string;
}

/** The last bytes of a backup: this mark, then the trailer's length in six digits. */
const mark = 'DESKBELL-BACKUP-1:';
const footerBytes = mark.length + 6;
const maxTrailerBytes = 10_000;
const chunkBytes = 1_048_576;

/**
 * Writes a consistent copy of a live database with its key into one new file, and checks it.
 * @param database the database's file
 * @param target a file that does not exist
 * @param key 32 bytes
 * @param madeAt ms since the epoch
 * @returns also the database's own note of which key it was made with
 * @throws Error when the database can't be read, or the copy does not stand the check
 */
export async function writeBackup(
  database: string,
  target: string,
  key: Uint8Array,
  madeAt: number,
): Promise<{ facts: BackupManifest; keyCheck: string | null }> {
  // `wx`: no existing file is ever written over, and the rights are there before the first byte.
  await (await open(target, 'wx', 0o600)).close();
  const source = openConnection(database, { durability: 'full', lockTimeoutMs: 5_000 });
  let schema;
  try {
    assertNotNewer(source);
    schema = schemaVersion(source);
    // One read transaction: a busy server neither waits for it nor makes it begin anew, as it would with the backup API.
    source.prepare('VACUUM INTO ?').run(target);
  } finally {
    source.close();
  }
  const keyCheck = checkDatabase(target);
  const handle = await open(target, 'r+');
  try {
    const { size: bytes } = await handle.stat();
    const facts: BackupManifest = {
      madeAt,
      schema,
      key: Buffer.from(key).toString('base64'),
      bytes,
      sha256: await digest(handle, bytes),
    };
    const trailer = Buffer.from(JSON.stringify(facts));
    const footer = Buffer.from(mark + String(trailer.length).padStart(6, '0'));
    await handle.write(Buffer.concat([trailer, footer]), 0, trailer.length + footer.length, bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  // What counts is what lies on the disk now.
  return { facts: await readBackup(target), keyCheck };
}

/**
 * Reads a backup's trailer and holds the file against it.
 * @throws BackupError when the file is no backup, is cut off, or was changed
 */
export async function readBackup(file: string): Promise<BackupManifest> {
  const handle = await openToRead(file);
  try {
    const { size } = await handle.stat();
    const facts = await readTrailer(handle, size);
    if (facts === null)
      throw new BackupError(`${file} is not a Deskbell backup, or a part of it is missing.`);
    if ((await digest(handle, facts.bytes)) !== facts.sha256)
      throw new BackupError(`${file} is damaged: its contents are not what was backed up.`);
    return facts;
  } finally {
    await handle.close();
  }
}

async function openToRead(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'r');
  } catch (error) {
    const why = systemErrorCode(error) === 'ENOENT' ? 'there is no such file' : errorMessage(error);
    throw new BackupError(`${file} can't be read: ${why}.`, { cause: error });
  }
}

async function readTrailer(handle: FileHandle, size: number): Promise<BackupManifest | null> {
  if (size < footerBytes) return null;
  const footer = await readAt(handle, size - footerBytes, footerBytes);
  const length = Number(footer.subarray(mark.length));
  if (
    footer.toString('latin1', 0, mark.length) !== mark ||
    !Number.isInteger(length) ||
    length < 2 ||
    length > maxTrailerBytes
  )
    return null;
  const start = size - footerBytes - length;
  if (start < 0) return null;
  let facts: unknown;
  try {
    facts = JSON.parse((await readAt(handle, start, length)).toString());
  } catch {
    return null;
  }
  return isManifest(facts) && facts.bytes === start ? facts : null;
}

function isManifest(value: unknown): value is BackupManifest {
  return (
    typeof value === 'object' &&
    value !== null &&
    'madeAt' in value &&
    Number.isSafeInteger(value.madeAt) &&
    'schema' in value &&
    Number.isSafeInteger(value.schema) &&
    'bytes' in value &&
    Number.isSafeInteger(value.bytes) &&
    'sha256' in value &&
    typeof value.sha256 === 'string' &&
    'key' in value &&
    typeof value.key === 'string' &&
    Buffer.from(value.key, 'base64').length === 32
  );
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await handle.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}

async function digest(handle: FileHandle, bytes: number): Promise<string> {
  const hash = createHash('sha256');
  for (let position = 0; position < bytes; position += chunkBytes)
    hash.update(await readAt(handle, position, Math.min(chunkBytes, bytes - position)));
  return hash.digest('hex');
}

/**
 * Takes the database out of a backup that has been read, into a new file, and checks it.
 * @returns the database's own note of which key it was made with
 * @throws BackupError, SchemaError (a newer schema than this program knows)
 */
export async function extractDatabase(
  file: string,
  facts: BackupManifest,
  target: string,
): Promise<string | null> {
  await rm(target, { force: true });
  const from = await open(file, 'r');
  const to = await open(target, 'wx', 0o600);
  try {
    for (let position = 0; position < facts.bytes; position += chunkBytes) {
      const chunk = await readAt(from, position, Math.min(chunkBytes, facts.bytes - position));
      await to.write(chunk, 0, chunk.length, position);
    }
    await to.sync();
  } finally {
    await to.close();
    await from.close();
  }
  return checkDatabase(target);
}

/** Opens a database that no other process has open and asks SQLite whether it is whole. */
function checkDatabase(file: string): string | null {
  let connection: Connection | undefined;
  try {
    connection = openConnection(file, { durability: 'full', lockTimeoutMs: 0, readonly: true });
    assertNotNewer(connection);
    const problem = integrityProblem(connection, 'integrity_check');
    if (problem !== null) throw new BackupError(`The copy of the database is damaged: ${problem}.`);
    return keyCheckOf(connection);
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_'))
      throw new BackupError(`The copy of the database can't be opened: ${error.message}.`, { cause: error });
    throw error;
  } finally {
    connection?.close();
  }
}

/** What a database keeps to recognise its key; null for one without. */
export function keyCheckOf(connection: Connection): string | null {
  const tables = connection.prepare("select 1 from sqlite_master where name = 'meta'").all();
  if (tables.length === 0) throw new BackupError('The database in it is not one of Deskbell.');
  const row = connection
    .prepare<[], { value: string }>("select value from meta where key = 'key_check'")
    .get();
  return row?.value ?? null;
}

/** @returns the first page or index that SQLite finds wrong, or null */
export function structureProblem(
  connection: Connection,
  how: 'quick_check' | 'integrity_check',
): string | null {
  const found = connection.prepare<[], string>(`pragma ${how}`).pluck().get() ?? 'no answer';
  return found === 'ok' ? null : found;
}

/** @returns the first thing that SQLite finds wrong, or null */
export function integrityProblem(
  connection: Connection,
  how: 'quick_check' | 'integrity_check',
): string | null {
  const found = structureProblem(connection, how);
  if (found !== null) return found;
  const orphan = connection.prepare<[], { table: string }>('pragma foreign_key_check').get();
  return orphan === undefined ? null : `a row of ${orphan.table} belongs to nothing`;
}
