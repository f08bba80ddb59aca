// What a file is, by its bytes: its media type, and whether it is a program. What was said of it counts only where the
// bytes say nothing.
import type { FileHandle } from 'node:fs/promises';
import { ServiceError } from '../core/errors.ts';

const headBytes = 4_100;
/** Where the descriptor of an ISO 9660 image begins. */
const isoOffset = 0x8001;

/** Types that text may be said to have; every other text is downloaded as plain bytes. */
const textTypes: ReadonlySet<string> = new Set([
  'text/plain',
  'text/csv',
  'application/json',
  'text/markdown',
]);

/** Programs by the type that their bytes have. */
const programTypes: ReadonlySet<string> = new Set([
  'application/x-msdownload',
  'application/x.ms.shortcut',
  'application/x-ms-shortcut',
]);

const unknownType = 'application/octet-stream';

/**
 * Reads what a file is.
 * @param claimed the Content-Type that it was sent with
 * @throws ServiceError file_rejected for a program
 */
export async function readKind(file: FileHandle, size: number, claimed: string): Promise<string> {
  const head = await readAt(file, 0, Math.min(size, headBytes));
  await assertNoProgram(file, head, size);
  const { fileTypeFromBuffer } = await import('file-type');
  const found = await fileTypeFromBuffer(head);
  if (found !== undefined) {
    if (programTypes.has(found.mime)) throw rejected('a program');
    // An animated one is a PNG that every browser shows.
    return found.mime === 'image/apng' ? 'image/png' : found.mime;
  }
  const said = (claimed.split(';')[0] ?? '').trim().toLowerCase();
  return textTypes.has(said) && !head.includes(0) ? said : unknownType;
}

async function assertNoProgram(file: FileHandle, head: Buffer, size: number): Promise<void> {
  if (head.subarray(0, 2).toString('latin1') === 'MZ') throw rejected('a program for Windows');
  if (head.subarray(0, 8).equals(Buffer.from('4c00000001140200', 'hex'))) throw rejected('a shortcut');
  if (await isInstaller(file, head, size)) throw rejected('an installer');
  if (size > isoOffset + 5 && (await readAt(file, isoOffset, 5)).toString('latin1') === 'CD001')
    throw rejected('an image of a disc');
}

const compoundFile = Buffer.from('d0cf11e0a1b11ae1', 'hex');
const installerClass = Buffer.from('84100c0000000000c000000000000046', 'hex');

/** An MSI is a compound file, as old Office documents are; the class of its root entry tells them apart. */
async function isInstaller(file: FileHandle, head: Buffer, size: number): Promise<boolean> {
  if (head.length < 512 || !head.subarray(0, 8).equals(compoundFile)) return false;
  const sectorBytes = 2 ** Math.min(head.readUInt16LE(30), 16);
  const root = (head.readUInt32LE(48) + 1) * sectorBytes;
  if (root + 128 > size) return false;
  return (await readAt(file, root + 80, 16)).equals(installerClass);
}

function rejected(what: string): ServiceError {
  return new ServiceError('file_rejected', `The file is ${what}, and those are not taken.`);
}

/** Reads as many bytes as there are, at most `length`. */
export async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let read = 0;
  while (read < length) {
    const { bytesRead } = await file.read(buffer, read, length - read, position + read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return buffer.subarray(0, read);
}
