// WebP: chunks of a RIFF file. EXIF, XMP and unknown chunks go, and the header says so.
import { makeOrientation, readOrientation, shownSize } from './orientation.ts';
import { damaged, Pieces, piecesSize, type PicturePlan, type ReadBytes } from './pieces.ts';

const needed: ReadonlySet<string> = new Set(['VP8 ', 'VP8L', 'VP8X', 'ANIM', 'ANMF', 'ALPH', 'ICCP']);
const exifFlag = 0x08;
const xmpFlag = 0x04;
const maxExifBytes = 65_536;
const maxChunks = 200_000;

/** @throws ServiceError file_rejected */
export async function planWebp(read: ReadBytes, size: number): Promise<PicturePlan> {
  const head = await read(0, 30);
  if (
    head.length < 20 ||
    head.toString('latin1', 0, 4) !== 'RIFF' ||
    head.toString('latin1', 8, 12) !== 'WEBP'
  )
    damaged();
  const end = Math.min(size, 8 + head.readUInt32LE(4));
  const chunks = new Pieces();
  let extended: Buffer | null = null;
  let orientation = 1;
  let at = 12;
  for (let count = 0; at + 8 <= end; count += 1) {
    const chunk = await read(at, 8);
    if (chunk.length < 8 || count > maxChunks) damaged();
    const name = chunk.toString('latin1', 0, 4);
    const length = chunk.readUInt32LE(4);
    const next = at + 8 + length + (length % 2);
    // The last one may lack its filling byte.
    if (at + 8 + length > size) damaged();
    if (name === 'VP8X') extended = await read(at, 18);
    else if (needed.has(name)) chunks.keep(at, Math.min(next, size));
    else if (name === 'EXIF')
      orientation = readWebpOrientation(await read(at + 8, Math.min(length, maxExifBytes)));
    at = next;
  }
  const exif = orientation > 1 && extended !== null ? exifChunk(orientation) : null;
  const front = extended === null ? [] : [setFlags(extended, exif !== null)];
  const rest = [...chunks.list(), ...(exif === null ? [] : [exif])];
  const riff = Buffer.from(head.subarray(0, 12));
  riff.writeUInt32LE(4 + piecesSize([...front, ...rest]), 4);
  const { width, height } = readSize(head);
  return { ...shownSize(width, height, exif === null ? 1 : orientation), pieces: [riff, ...front, ...rest] };
}

/** The chunk of the extended header, with flags for what is still there. */
function setFlags(extended: Buffer, exif: boolean): Buffer {
  if (extended.length < 18) damaged();
  const chunk = Buffer.from(extended);
  const flags = (chunk[8] ?? 0) & ~(exifFlag | xmpFlag);
  chunk[8] = exif ? flags | exifFlag : flags;
  return chunk;
}

/** Some writers put JPEG's prefix in front. */
function readWebpOrientation(bytes: Buffer): number {
  return readOrientation(bytes.toString('latin1', 0, 6) === 'Exif\0\0' ? bytes.subarray(6) : bytes);
}

function exifChunk(orientation: number): Buffer {
  const tiff = makeOrientation(orientation);
  const chunk = Buffer.alloc(8 + tiff.length);
  chunk.write('EXIF', 0, 'latin1');
  chunk.writeUInt32LE(tiff.length, 4);
  tiff.copy(chunk, 8);
  return chunk;
}

function readSize(head: Buffer): { width: number | null; height: number | null } {
  switch (head.toString('latin1', 12, 16)) {
    case 'VP8X':
      return head.length < 30
        ? { width: null, height: null }
        : { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
    case 'VP8 ':
      return head.length < 30
        ? { width: null, height: null }
        : { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
    case 'VP8L': {
      if (head.length < 25) return { width: null, height: null };
      const bits = head.readUInt32LE(21);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    default:
      return { width: null, height: null };
  }
}
