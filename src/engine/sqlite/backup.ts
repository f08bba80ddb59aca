// A backup: one file that begins with a whole SQLite database and ends with a
// trailer that holds its digest and the secret key; with a passphrase all of it is sealed
// (sealed-backup.ts). Owns the file's form, its making and its examination; where it goes
// and what it replaces is src/data-folder.ts.
import { createHash } from 'node:crypto';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { errorMessage, systemErrorCode } from '../file-errors.ts';
import { extractFiles, writeAt, writeFiles, type BackedUpFiles } from './backup-files.ts';
import { schemaVersion, assertNotNewer } from './migrate.ts';
import { openConnection, type Connection } from './connection.ts';
import { integrityProblem, isIndexProblem } from './examine.ts';
import {
  BackupError,
  isSealed,
  openSealed,
  PassphraseError,
  readFully,
  sealSource,
  type ByteSource,
} from './sealed-backup.ts';

export interface BackupManifest {
  /** ms since the epoch. */
  readonly madeAt: number;
  readonly schema: number;
  /** The master key, 32 bytes in base64. */
  readonly key: string;
  /** Bytes of the database. */
  readonly bytes: number;
  /** Files of messages behind the database; absent: none are in it. */
  readonly files?: BackedUpFiles;
  /** SHA-256 of database and files, hex. */
  readonly sha256: string;
}

/** The last bytes of a backup: this mark, then the trailer's length in six digits. */
const mark = 'DESKBELL-BACKUP-1:';
const footerBytes = mark.length + 6;
const maxTrailerBytes = 10_000;
const chunkBytes = 1_048_576;

/** What SQLite may put beside a database, by the end of its name. */
export const logSuffixes = ['-wal', '-shm', '-journal'];

export interface BackupFiles {
  /** Where the backup goes: a file that does not exist. */
  readonly target: string;
  /** With a passphrase: where the copy lies until it is sealed, on a disk that may hold it in the clear. */
  readonly unsealed: string;
  /** The folder of files that go with it; null: they are elsewhere. */
  readonly folder: string | null;
}

/** What was written, and the database's own note of which key it was made with. */
export interface WrittenBackup {
  readonly facts: BackupManifest;
  readonly keyCheck: string | null;
}

/** What {@link writeBackup} does, however it is done. */
export type WriteBackup = (
  database: string,
  files: BackupFiles,
  key: Uint8Array,
  madeAt: number,
  passphrase: string | null,
) => Promise<WrittenBackup>;

/**
 * Writes a consistent copy of a live database with its key into one new file, and checks it.
 * @param database the database's file
 * @param files what is written; the caller removes what is left of it
 * @param key 32 bytes
 * @param madeAt ms since the epoch
 * @param passphrase that opens it, or null
 * @param onCopied is called when the read transaction is over, until whose end the log of the database can't be cleared
 * @throws Error when the database can't be read, or the copy does not stand the check
 */
export async function writeBackup(
  database: string,
  { target, unsealed, folder }: BackupFiles,
  key: Uint8Array,
  madeAt: number,
  passphrase: string | null,
  onCopied: () => void = () => undefined,
): Promise<WrittenBackup> {
  const plain = passphrase === null ? target : unsealed;
  const keyCheck = await writePlain(database, plain, folder, key, madeAt, onCopied);
  if (passphrase !== null) {
    const handle = await open(plain, 'r');
    try {
      await sealSource(sourceOf(handle, (await handle.stat()).size), target, passphrase);
    } finally {
      await handle.close();
    }
  }
  // What counts is what lies on the disk now.
  return { facts: await readBackup(target, passphrase), keyCheck };
}

/** Removes what a backup has left of its files. */
export async function removeBackupFiles({ target, unsealed }: BackupFiles): Promise<void> {
  for (const path of [target, unsealed])
    for (const suffix of ['', ...logSuffixes]) await rm(path + suffix, { force: true });
}

async function writePlain(
  database: string,
  target: string,
  folder: string | null,
  key: Uint8Array,
  madeAt: number,
  onCopied: () => void,
): Promise<string | null> {
  // `wx`: no existing file is ever written over, and the rights are there before the first byte.
  await (await open(target, 'wx', 0o600)).close();
  const source = openConnection(database, { durability: 'full', lockTimeoutMs: 5_000 });
  let schema;
  try {
    assertNotNewer(source);
    schema = schemaVersion(source);
    // One read transaction: a busy server neither waits for it nor makes it begin anew, as it would with the backup API.
    const vacuum = source.prepare('VACUUM INTO ?');
    const { syncBehind } = await import('./sync-behind.ts');
    await syncBehind(target, () => {
      const copied = vacuum.run(target);
      onCopied();
      return copied;
    });
  } finally {
    source.close();
  }
  const keyCheck = checkDatabase(target);
  const handle = await open(target, 'r+');
  try {
    const { size: bytes } = await handle.stat();
    const files = folder === null ? undefined : await writeFiles(target, folder, handle, bytes);
    const end = bytes + (files?.bytes ?? 0);
    const facts: BackupManifest = {
      madeAt,
      schema,
      key: Buffer.from(key).toString('base64'),
      bytes,
      ...(files === undefined ? {} : { files }),
      sha256: await digest(sourceOf(handle, end), end),
    };
    const trailer = Buffer.from(JSON.stringify(facts));
    const footer = Buffer.from(mark + String(trailer.length).padStart(6, '0'));
    await writeAt(handle, Buffer.concat([trailer, footer]), end);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return keyCheck;
}

function sourceOf(handle: FileHandle, size: number): ByteSource {
  return { size, read: (position, length) => readFully(handle, position, length) };
}

/** A backup that was held against its trailer, and is open. */
export interface OpenBackup {
  readonly facts: BackupManifest;
  /**
   * Takes the database out into a new file, and checks it.
   * @returns the database's own note of which key it was made with
   * @throws BackupError, SchemaError (a newer schema than this program knows)
   */
  extract(target: string): Promise<string | null>;
  /** Takes the files out into a new folder. @throws BackupError */
  extractFiles(folder: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a backup, reads its trailer and holds the file against it.
 * @param passphrase that it was made with, or null
 * @throws PassphraseError when it is missing or wrong, or given for a backup that has none: such a file is not what the
 * passphrase vouches for; BackupError when the file is no backup, is cut off, or was changed
 */
export async function openBackup(file: string, passphrase: string | null): Promise<OpenBackup> {
  const handle = await openToRead(file);
  try {
    const source = await openSource(handle, file, passphrase);
    const facts = await readTrailer(source);
    if (facts === null)
      throw new BackupError(`${file} is not a Deskbell backup, or a part of it is missing.`);
    if ((await digest(source, facts.bytes + (facts.files?.bytes ?? 0))) !== facts.sha256)
      throw new BackupError(`${file} is damaged: its contents are not what was backed up.`);
    return {
      facts,
      extract: (target) => extractDatabase(source, facts, target),
      extractFiles: (folder) =>
        extractFiles(source, facts.bytes, facts.files ?? { count: 0, bytes: 0 }, folder),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function openSource(handle: FileHandle, file: string, passphrase: string | null): Promise<ByteSource> {
  if (!(await isSealed(handle))) {
    if (passphrase === null) return sourceOf(handle, (await handle.stat()).size);
    throw new PassphraseError(
      `${file} has no passphrase: it is not encrypted, or no backup. Leave the passphrase out if that is right; nothing was changed.`,
    );
  }
  if (passphrase !== null) return openSealed(handle, file, passphrase);
  throw new PassphraseError(
    `${file} is encrypted. Give its passphrase: --passphrase-file FILE or --passphrase-stdin. Nothing was changed.`,
  );
}

/**
 * The trailer of a backup that was held against it.
 * @throws as `openBackup`
 */
export async function readBackup(file: string, passphrase: string | null = null): Promise<BackupManifest> {
  const backup = await openBackup(file, passphrase);
  await backup.close();
  return backup.facts;
}

/** Whether a file is a backup with a passphrase. @throws BackupError when it can't be read */
export async function isSealedBackup(file: string): Promise<boolean> {
  const handle = await openToRead(file);
  try {
    return await isSealed(handle);
  } catch (error) {
    throw readError(file, error);
  } finally {
    await handle.close();
  }
}

async function openToRead(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'r');
  } catch (error) {
    throw readError(file, error);
  }
}

function readError(file: string, error: unknown): BackupError {
  const code = systemErrorCode(error);
  if (code === 'ENOENT') return new BackupError(`There is no file ${file}.`, { cause: error });
  if (code === 'EISDIR') return new BackupError(`${file} is a folder. Name a file in it.`, { cause: error });
  return new BackupError(`${file} can't be read: ${errorMessage(error)}.`, { cause: error });
}

async function readTrailer({ size, read }: ByteSource): Promise<BackupManifest | null> {
  if (size < footerBytes) return null;
  const footer = await read(size - footerBytes, footerBytes);
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
    facts = JSON.parse((await read(start, length)).toString());
  } catch {
    return null;
  }
  return isManifest(facts) && facts.bytes + (facts.files?.bytes ?? 0) === start ? facts : null;
}

/** Whether a value is what a trailer holds. */
export function isManifest(value: unknown): value is BackupManifest {
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
    Buffer.from(value.key, 'base64').length === 32 &&
    (!('files' in value) || isFiles(value.files))
  );
}

function isFiles(value: unknown): value is BackedUpFiles {
  return (
    typeof value === 'object' &&
    value !== null &&
    'count' in value &&
    Number.isSafeInteger(value.count) &&
    'bytes' in value &&
    Number.isSafeInteger(value.bytes) &&
    Number(value.bytes) >= 0
  );
}

async function digest(source: ByteSource, bytes: number): Promise<string> {
  const hash = createHash('sha256');
  for (let position = 0; position < bytes; position += chunkBytes)
    hash.update(await source.read(position, Math.min(chunkBytes, bytes - position)));
  return hash.digest('hex');
}

async function extractDatabase(
  from: ByteSource,
  facts: BackupManifest,
  target: string,
): Promise<string | null> {
  await rm(target, { force: true });
  const to = await open(target, 'wx', 0o600);
  try {
    for (let position = 0; position < facts.bytes; position += chunkBytes) {
      const chunk = await from.read(position, Math.min(chunkBytes, facts.bytes - position));
      await writeAt(to, chunk, position);
    }
    await to.sync();
  } finally {
    await to.close();
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
    if (problem !== null)
      throw new BackupError(
        isIndexProblem(problem)
          ? `An index of the search is damaged, and nothing else: ${problem}. Stop the server, make the indexes anew with deskbell reindex, then back up.`
          : `The copy of the database is damaged: ${problem}.`,
      );
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
