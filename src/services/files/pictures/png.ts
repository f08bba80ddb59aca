// PNG: chunks up to its end. Kept are those that a decoder needs; texts, times and EXIF go.
import { crc32 } from 'node:zlib';
import { makeOrientation, readOrientation, shownSize } from './orientation.ts';
import { damaged, Pieces, type PicturePlan, type ReadBytes } from './pieces.ts';

const signature = Buffer.from('89504e470d0a1a0a', 'hex');
const needed: ReadonlySet<string> = new Set(
  'IHDR PLTE IDAT IEND tRNS gAMA cHRM sRGB iCCP cICP mDCV cLLI sBIT bKGD pHYs sPLT hIST acTL fcTL fdAT'.split(
    ' ',
  ),
);
const maxExifBytes = 65_536;
const maxChunks = 200_000;

/** @throws ServiceError file_rejected */
export async function planPng(read: ReadBytes, size: number): Promise<PicturePlan> {
  const pieces = new Pieces();
  const head = await read(0, 24);
  if (
    head.length < 24 ||
    !head.subarray(0, 8).equals(signature) ||
    head.toString('latin1', 12, 16) !== 'IHDR'
  )
    damaged();
  pieces.keep(0, 8);
  let orientation = 1;
  let at = 8;
  for (let count = 0; ; count += 1) {
    const chunk = await read(at, 8);
    if (chunk.length < 8 || count > maxChunks) damaged();
    const length = chunk.readUInt32BE(0);
    const name = chunk.toString('latin1', 4, 8);
    const next = at + 12 + length;
    if (next > size) damaged();
    if (needed.has(name)) pieces.keep(at, next);
    else if (name === 'eXIf') {
      orientation = readOrientation(await read(at + 8, Math.min(length, maxExifBytes)));
      if (orientation > 1) pieces.put(exifChunk(orientation));
    }
    at = next;
    if (name === 'IEND') break;
  }
  return { ...shownSize(head.readUInt32BE(16), head.readUInt32BE(20), orientation), pieces: pieces.list() };
}

function exifChunk(orientation: number): Buffer {
  const body = Buffer.concat([Buffer.from('eXIf', 'latin1'), makeOrientation(orientation)]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(body.length - 4, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}
