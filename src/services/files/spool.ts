// Takes the bytes of a file in: to a file of its own on this machine, as they come, and from there without the
// metadata of a picture. However large a file is, a few stretches of it are in memory.
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rm, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../core/errors.ts';
import { readKind } from './kinds.ts';
import { planPicture } from './pictures/picture.ts';
import type { Piece } from './pictures/pieces.ts';
import { noteSpent } from './spent-bytes.ts';
import type { SpooledFile } from './file-store.ts';

const stretchBytes = 65_536;

export interface TakenFile extends SpooledFile {
  readonly type: string;
  readonly width: number | null;
  readonly height: number | null;
}

export interface IncomingBytes {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** The media type that was said. */
  readonly claimed: string;
  readonly maxBytes: number;
}

/**
 * Takes a file in, and hands it to `use` as it is to be kept. Nothing of it is left here afterwards, whatever happens.
 * @param folder where uploads lie until they are complete
 * @throws ServiceError payload_too_large, bad_request (empty), file_rejected; and what `bytes` and `use` throw
 */
export async function takeIn<T>(
  folder: string,
  incoming: IncomingBytes,
  use: (file: TakenFile) => Promise<T>,
): Promise<T> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${randomUUID()}.partial`);
  const kept = `${path}.kept`;
  try {
    const { size, digest } = await spool(path, incoming);
    const raw = await open(path, 'r');
    try {
      const type = await readKind(raw, size, incoming.claimed);
      const { pieces, width, height } = await planPicture(raw, size, type);
      const file =
        pieces === null ? { path, size, digest } : { path: kept, ...(await writePieces(raw, kept, pieces)) };
      return await use({ ...file, type, width, height });
    } finally {
      await raw.close();
    }
  } finally {
    await rm(path, { force: true });
    await rm(kept, { force: true });
  }
}

async function spool(
  path: string,
  { bytes, maxBytes }: IncomingBytes,
): Promise<{ size: number; digest: string }> {
  const hash = createHash('sha256');
  let size = 0;
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of bytes) {
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      hash.update(chunk);
      await writeAll(file, chunk);
      noteSpent(chunk.length);
    }
    if (size === 0) throw new ServiceError('bad_request', 'The file is empty.');
    await file.sync();
  } finally {
    await file.close();
  }
  return { size, digest: hash.digest('hex') };
}

async function writePieces(
  raw: FileHandle,
  path: string,
  pieces: readonly Piece[],
): Promise<{ size: number; digest: string }> {
  const hash = createHash('sha256');
  let size = 0;
  const file = await open(path, 'wx', 0o600);
  const put = async (bytes: Uint8Array): Promise<void> => {
    size += bytes.length;
    hash.update(bytes);
    await writeAll(file, bytes);
  };
  try {
    for (const piece of pieces) {
      if (piece instanceof Uint8Array) {
        await put(piece);
        continue;
      }
      for await (const bytes of stretchesOf(raw, piece.from, piece.to)) await put(bytes);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { size, digest: hash.digest('hex') };
}

/** The bytes of a file that lies here, in stretches: each is good until the next is asked for. */
export async function* readThrough(path: string): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r');
  try {
    yield* stretchesOf(file, 0, Infinity);
  } finally {
    await file.close();
  }
}

/** In one buffer: what megabytes of them would leave to be collected stays in memory for long. */
async function* stretchesOf(file: FileHandle, from: number, to: number): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(stretchBytes);
  for (let at = from; at < to;) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(stretchBytes, to - at), at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Writes all of a stretch. */
export async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += (await file.write(bytes, at, bytes.length - at)).bytesWritten;
}

/** 413 for a file. */
export function tooLarge(maxBytes: number): ServiceError {
  return new ServiceError(
    'payload_too_large',
    `The file is larger than ${maxBytes / 1_048_576} MiB, which is the most that can be sent.`,
  );
}

/** Removes what uploads and mails left that were cut off before a time (ms): nothing works on it any more. @returns how many */
export async function removeAbandonedUploads(folder: string, before: number): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  let removed = 0;
  for (const name of names) {
    if (!/\.partial(?:\.kept)?$/.test(name)) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => null);
    if (found === null || found.mtimeMs >= before) continue;
    // A mail is a folder.
    await rm(path, { recursive: true, force: true });
    removed += 1;
  }
  return removed;
}
