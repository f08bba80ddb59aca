// The bytes of files on their way to another server: lines of base64 behind the row of each. What comes in is held
// against the row's size and digest before it is in the store.
import { createHash, randomUUID, type Hash } from 'node:crypto';
import { mkdir, open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { objectName } from '../files/links.ts';
import type { AnyRow } from '../../engine/repositories/export-import.ts';
import type { FileRow } from '../../engine/rows.ts';
import type { ServiceError } from '../core/errors.ts';
import type { Service } from '../service.ts';

/** Bytes of one line, before they are base64: a number that is divided by three. */
const lineBytes = 393_216;

/** Hands on the bytes of a file in pieces; at least one, which may be empty. Nothing where they are lost. */
export async function exportBytes(
  { files }: Service,
  row: AnyRow,
  put: (bytes: Buffer) => Promise<void>,
): Promise<void> {
  const bytes = await files.store.open(String(row['object']));
  if (bytes === null) return;
  let held: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    held.push(chunk);
    length += chunk.length;
    if (length < lineBytes) continue;
    await put(Buffer.concat(held));
    held = [];
    length = 0;
  }
  await put(Buffer.concat(held));
}

type Refuse = (problem: string) => ServiceError;
type ExpectedFile = Pick<FileRow, 'id' | 'size' | 'digest'>;

/** Takes in the bytes of one file after the other. */
export interface IncomingBytes {
  /** The row of a file has come: its bytes follow. */
  begin(row: ExpectedFile): void;
  /** Some of them. @throws ServiceError where there are none to come, or too many */
  add(base64: unknown, refuse: Refuse): Promise<void>;
  /** Something else follows. @throws ServiceError where bytes are missing */
  end(refuse: Refuse): Promise<void>;
  /** Nothing follows any more. */
  drop(): Promise<void>;
}

interface Spool {
  readonly path: string;
  readonly handle: FileHandle;
  readonly hash: Hash;
  size: number;
}

export function createIncomingBytes({ files, secrets }: Service): IncomingBytes {
  let expected: ExpectedFile | null = null;
  let spool: Spool | null = null;

  const openSpool = async (): Promise<Spool> => {
    await mkdir(files.incomingFolder, { recursive: true, mode: 0o700 });
    const path = join(files.incomingFolder, `${randomUUID()}.partial`);
    return { path, handle: await open(path, 'wx', 0o600), hash: createHash('sha256'), size: 0 };
  };
  const drop = async (): Promise<void> => {
    const dropped = spool;
    spool = null;
    expected = null;
    if (dropped === null) return;
    await dropped.handle.close();
    await rm(dropped.path, { force: true });
  };
  return {
    begin: (row) => {
      expected = row;
    },
    add: async (base64, refuse) => {
      if (expected === null) throw refuse('has bytes of no file');
      if (typeof base64 !== 'string') throw refuse('has no bytes');
      const bytes = Buffer.from(base64, 'base64');
      spool ??= await openSpool();
      spool.size += bytes.length;
      if (spool.size > expected.size) throw refuse('has more bytes than the file');
      spool.hash.update(bytes);
      await spool.handle.writeFile(bytes);
      if (spool.size < expected.size) return;
      if (spool.hash.digest('hex') !== expected.digest) throw refuse('has other bytes than the file');
      await spool.handle.sync();
      await files.store.put(objectName(secrets, expected.id), { path: spool.path, ...expected });
      await drop();
    },
    end: async (refuse) => {
      if (expected === null) return;
      throw refuse('comes before all bytes of the file were there');
    },
    drop,
  };
}
