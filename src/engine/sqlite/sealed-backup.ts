// The form of a backup with a passphrase: the bytes of a plain backup in chunks, each encrypted and authenticated for
// itself, so that neither making nor reading one holds more than a chunk. Knows nothing of what is inside.
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  scrypt,
  timingSafeEqual,
} from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';

/** A file that is no whole backup; the message says in what way. */
export class BackupError extends Error {
  override readonly name: string = 'BackupError';
}

/** The passphrase is missing, or not the one of the backup. */
export class PassphraseError extends BackupError {
  override readonly name = 'PassphraseError';
}

/** Bytes that are read by their place: a plain file, or what is inside a sealed one. */
export interface ByteSource {
  /** How many there are. */
  readonly size: number;
  /** At most `length` bytes from `position` on; fewer at the end. @throws BackupError for damaged bytes */
  read(position: number, length: number): Promise<Buffer>;
}

// The header: mark, cost, salt, size of what is inside, digest of these (tells damage), their MAC (tells the
// passphrase). The mark's number stands for everything that is fixed here.
const mark = Buffer.from('DESKBELL-SEALED-BACKUP-1\n');
const costAt = mark.length;
const saltAt = costAt + 1;
const saltBytes = 32;
const sizeAt = saltAt + saltBytes;
const digestAt = sizeAt + 8;
const macAt = digestAt + 32;
const headerBytes = macAt + 32;
const chunkBytes = 1_048_576;
const tagBytes = 16;
const cipher = 'aes-256-gcm';
/** 2^17 is 128 MiB and a third of a second for each guess. */
const usualCost = 17;
/** What a file may ask for: 2^20 is 1 GiB. */
const maxCost = 20;

/** A salt is used for one file, so a chunk's number is a nonce that its key never sees twice. */
interface Keys {
  readonly content: Buffer;
  readonly mac: Buffer;
}

async function deriveKeys(passphrase: string, salt: Uint8Array, cost: number): Promise<Keys> {
  const N = 2 ** cost;
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  // NFC: keyboards differ in how they type one and the same letter.
  scrypt(passphrase.normalize('NFC'), salt, 32, { N, r: 8, p: 1, maxmem: 2 * 1_024 * N }, (error, key) =>
    error === null ? resolve(key) : reject(error),
  );
  const root = await promise;
  const derived = (purpose: string): Buffer => Buffer.from(hkdfSync('sha256', root, salt, purpose, 32));
  return { content: derived('deskbell backup content'), mac: derived('deskbell backup header') };
}

function nonceOf(chunk: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32BE(chunk, 8);
  return nonce;
}

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
const hmac = (key: Uint8Array, bytes: Uint8Array): Buffer => createHmac('sha256', key).update(bytes).digest();

/**
 * Writes a source into a new file that only the passphrase opens, and syncs it.
 * @param target a file that does not exist
 * @param cost of a guess at the passphrase: the exponent of scrypt's N
 * @throws Error of the file system; what was written is left to the caller then
 */
export async function sealSource(
  source: ByteSource,
  target: string,
  passphrase: string,
  cost: number = usualCost,
): Promise<void> {
  const salt = randomBytes(saltBytes);
  const keys = await deriveKeys(passphrase, salt, cost);
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE(BigInt(source.size));
  const said = Buffer.concat([mark, Buffer.of(cost), salt, size]);
  const signed = Buffer.concat([said, sha256(said)]);
  const header = Buffer.concat([signed, hmac(keys.mac, signed)]);
  const handle = await open(target, 'wx', 0o600);
  try {
    await writeAll(handle, header);
    for (let chunk = 0; chunk * chunkBytes < source.size; chunk += 1) {
      const seal = createCipheriv(cipher, keys.content, nonceOf(chunk));
      seal.setAAD(header);
      const inside = await source.read(chunk * chunkBytes, chunkBytes);
      await writeAll(handle, Buffer.concat([seal.update(inside), seal.final(), seal.getAuthTag()]));
      // All of it at the end would make a server's commits wait.
      await handle.datasync();
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** One write may take less than it was given. */
async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let done = 0; done < bytes.length;) done += (await handle.write(bytes, done)).bytesWritten;
}

/** Whether a file is a backup with a passphrase, by its first bytes. */
export async function isSealed(handle: FileHandle): Promise<boolean> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(mark.length), 0, mark.length, 0);
  return bytesRead === mark.length && buffer.equals(mark);
}

/**
 * Opens what is inside a sealed file. Its chunks are authenticated when they are read.
 * @param file its name, for messages
 * @throws PassphraseError; BackupError when a part is missing or the header is damaged
 */
export async function openSealed(handle: FileHandle, file: string, passphrase: string): Promise<ByteSource> {
  const header = await readFully(handle, 0, headerBytes);
  if (header.length < headerBytes) throw new BackupError(`${file} is cut off: a part of it is missing.`);
  const signed = header.subarray(0, macAt);
  if (!sha256(header.subarray(0, digestAt)).equals(header.subarray(digestAt, macAt)))
    throw new BackupError(`${file} is damaged: its first bytes are not what was written.`);
  const size = Number(header.readBigUInt64BE(sizeAt));
  const expected = headerBytes + size + Math.ceil(size / chunkBytes) * tagBytes;
  const { size: actual } = await handle.stat();
  if (actual < expected)
    throw new BackupError(`${file} is cut off: it has ${actual} bytes of ${expected}. Nothing was changed.`);
  if (actual > expected)
    throw new BackupError(`${file} is damaged: there is more in it than was written. Nothing was changed.`);
  const cost = header.readUInt8(costAt);
  if (cost < 1 || cost > maxCost)
    throw new BackupError(
      `${file} is not a backup that this version of deskbell reads. Nothing was changed.`,
    );
  const keys = await deriveKeys(passphrase, header.subarray(saltAt, sizeAt), cost);
  if (!timingSafeEqual(hmac(keys.mac, signed), header.subarray(macAt)))
    throw new PassphraseError(`This is not the passphrase of ${file}. Nothing was changed.`);

  async function readChunk(chunk: number): Promise<Buffer> {
    const length = Math.min(chunkBytes, size - chunk * chunkBytes);
    const sealed = await readFully(handle, headerBytes + chunk * (chunkBytes + tagBytes), length + tagBytes);
    try {
      const opened = createDecipheriv(cipher, keys.content, nonceOf(chunk));
      opened.setAAD(header);
      opened.setAuthTag(sealed.subarray(length));
      return Buffer.concat([opened.update(sealed.subarray(0, length)), opened.final()]);
    } catch (error) {
      throw new BackupError(`${file} is damaged: its contents are not what was backed up.`, { cause: error });
    }
  }

  return {
    size,
    read: async (position, length) => {
      const end = Math.min(position + length, size);
      const pieces = [];
      for (let at = position; at < end;) {
        const chunk = Math.floor(at / chunkBytes);
        const from = chunk * chunkBytes;
        const piece = (await readChunk(chunk)).subarray(at - from, end - from);
        pieces.push(piece);
        at += piece.length;
      }
      return Buffer.concat(pieces);
    },
  };
}

/** Bytes of a file; fewer than asked for only at its end, which one read need not reach. */
export async function readFully(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(buffer, done, length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer.subarray(0, done);
}
