// The files of messages inside a backup: behind the database, one after the other, each with its name and its length.
import { mkdir, open, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isObjectName, objectPath } from '../object-path.ts';
import { systemErrorCode } from '../file-errors.ts';
import { openConnection, type Connection } from './connection.ts';
import { BackupError, readFully, type ByteSource } from './sealed-backup.ts';
import { syncStretchBytes } from './sync-behind.ts';

const nameBytes = 64;
const headBytes = nameBytes + 8;
const chunkBytes = 1_048_576;

/** How much of a backup is files. */
export interface BackedUpFiles {
  readonly count: number;
  readonly bytes: number;
}

/**
 * Writes the files that a copy of the database names behind it. One that was removed since the copy was made is left out.
 * @param copy the copy's file
 * @param to the same, open
 * @param at where to begin
 */
export async function writeFiles(
  copy: string,
  folder: string,
  to: FileHandle,
  at: number,
): Promise<BackedUpFiles> {
  const connection = openConnection(copy, { durability: 'full', lockTimeoutMs: 0, readonly: true });
  try {
    let count = 0;
    let bytes = 0;
    let unsynced = 0;
    // All of it at the end would make a server's commits wait.
    const syncBehind = async (written: number): Promise<void> => {
      unsynced += written;
      if (unsynced < syncStretchBytes) return;
      unsynced = 0;
      await to.datasync();
    };
    for (let after = ''; ;) {
      const objects = nextObjects(connection, after);
      for (const object of objects) {
        const written = await writeFile(objectPath(folder, object), object, to, at + bytes, syncBehind);
        bytes += written;
        if (written > 0) count += 1;
      }
      const last = objects.at(-1);
      if (last === undefined) return { count, bytes };
      after = last;
    }
  } finally {
    connection.close();
  }
}

/** None where the schema is older than files. */
function nextObjects(connection: Connection, after: string): string[] {
  const tables = connection.prepare("select 1 from sqlite_master where name = 'files'").all();
  if (tables.length === 0) return [];
  return connection
    .prepare<[string], string>('select object from files where object > ? order by object limit 500')
    .pluck()
    .all(after);
}

/** @param onWritten is called with the bytes of each piece that was written */
async function writeFile(
  path: string,
  object: string,
  to: FileHandle,
  at: number,
  onWritten: (bytes: number) => Promise<void>,
): Promise<number> {
  let from;
  try {
    from = await open(path, 'r');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return 0;
    throw error;
  }
  try {
    const { size } = await from.stat();
    const head = Buffer.alloc(headBytes);
    head.write(object, 'latin1');
    head.writeBigUInt64BE(BigInt(size), nameBytes);
    await writeAt(to, head, at);
    for (let position = 0; position < size; position += chunkBytes) {
      const piece = await readFully(from, position, Math.min(chunkBytes, size - position));
      await writeAt(to, piece, at + headBytes + position);
      await onWritten(piece.length);
    }
    return headBytes + size;
  } finally {
    await from.close();
  }
}

/** Writes all of the bytes: one call of the system may take less than it was given. */
export async function writeAt(to: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += (await to.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
}

/**
 * Takes the files out of a backup into a new folder.
 * @param from where they begin
 * @throws BackupError when they are not what the backup says
 */
export async function extractFiles(
  source: ByteSource,
  from: number,
  files: BackedUpFiles,
  folder: string,
): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const end = from + files.bytes;
  let count = 0;
  for (let at = from; at < end; count += 1) {
    const head = await source.read(at, headBytes);
    const object = head.toString('latin1', 0, nameBytes);
    const size = head.length === headBytes ? Number(head.readBigUInt64BE(nameBytes)) : -1;
    if (!isObjectName(object) || size < 0 || at + headBytes + size > end)
      throw new BackupError('The files in this backup are damaged. Nothing was changed.');
    await extractFile(source, at + headBytes, size, objectPath(folder, object));
    at += headBytes + size;
  }
  if (count !== files.count) throw new BackupError('Files are missing in this backup. Nothing was changed.');
}

async function extractFile(source: ByteSource, from: number, size: number, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const to = await open(path, 'wx', 0o600);
  try {
    for (let position = 0; position < size; position += chunkBytes)
      await writeAt(to, await source.read(from + position, Math.min(chunkBytes, size - position)), position);
    await to.sync();
  } finally {
    await to.close();
  }
}
