// JPEG: segments up to the end of the image. Kept are those that a decoder needs and the colour profile.
import { makeOrientation, readOrientation, shownSize } from './orientation.ts';
import { damaged, Pieces, type PicturePlan, type ReadBytes } from './pieces.ts';

const startOfImage = 0xd8;
const endOfImage = 0xd9;
const startOfScan = 0xda;
const stretchBytes = 65_536;
/** More segments than a picture has: a walk over them all would only take time. */
const maxSegments = 20_000;

/** @throws ServiceError file_rejected */
export async function planJpeg(read: ReadBytes, size: number): Promise<PicturePlan> {
  const pieces = new Pieces();
  const head = await read(0, 2);
  if (head[0] !== 0xff || head[1] !== startOfImage) damaged();
  pieces.keep(0, 2);
  let orientation = 1;
  let width: number | null = null;
  let height: number | null = null;
  let at = 2;
  for (let count = 0; ; count += 1) {
    if (count > maxSegments) damaged();
    const [mark, code = 0] = await read(at, 2);
    if (mark !== 0xff) damaged();
    // Filling bytes.
    if (code === 0xff) {
      at += 1;
      continue;
    }
    if (code === endOfImage) {
      pieces.keep(at, at + 2);
      break;
    }
    const segment = await read(at + 2, 64);
    if (segment.length < 2) damaged();
    const length = segment.readUInt16BE(0);
    const next = at + 2 + length;
    if (length < 2 || next > size || code < 0xc0 || (code >= 0xd0 && code <= 0xd8)) damaged();
    if (isFrame(code) && segment.length >= 7 && width === null) {
      height = segment.readUInt16BE(3);
      width = segment.readUInt16BE(5);
    }
    if (isExif(code, segment)) {
      orientation = readOrientation(await read(at + 10, length - 8));
      if (orientation > 1) pieces.put(exifSegment(orientation));
    } else if (isNeeded(code, segment)) pieces.keep(at, next);
    at = next;
    if (code !== startOfScan) continue;
    const end = await endOfScan(read, at, size);
    pieces.keep(at, end);
    at = end;
    // Cut off in the middle of its data: what is there is shown.
    if (at >= size) break;
  }
  if (width === null) damaged();
  return { ...shownSize(width, height, orientation), pieces: pieces.list() };
}

function isFrame(code: number): boolean {
  return code >= 0xc0 && code <= 0xcf && code !== 0xc4 && code !== 0xc8 && code !== 0xcc;
}

function isExif(code: number, segment: Buffer): boolean {
  return code === 0xe1 && segment.toString('latin1', 2, 8) === 'Exif\0\0';
}

/** Everything but application data and comments; of those the plain header, the colour profile, Adobe's transform. */
function isNeeded(code: number, segment: Buffer): boolean {
  if (code < 0xe0 || code > 0xef) return code < 0xf0;
  const says = (text: string): boolean => segment.toString('latin1', 2, 2 + text.length) === text;
  return (
    (code === 0xe0 && says('JFIF\0')) ||
    (code === 0xe2 && says('ICC_PROFILE\0')) ||
    (code === 0xee && says('Adobe'))
  );
}

function exifSegment(orientation: number): Buffer {
  const tiff = makeOrientation(orientation);
  const head = Buffer.from([0xff, 0xe1, 0, 8 + tiff.length, 0x45, 0x78, 0x69, 0x66, 0, 0]);
  return Buffer.concat([head, tiff]);
}

/** Where the data of a scan ends: before the next marker that is no restart. */
async function endOfScan(read: ReadBytes, from: number, size: number): Promise<number> {
  let at = from;
  while (at < size) {
    const stretch = await read(at, stretchBytes);
    let look = 0;
    for (;;) {
      const mark = stretch.indexOf(0xff, look);
      if (mark < 0 || mark === stretch.length - 1) break;
      const code = stretch[mark + 1] ?? 0;
      if (code !== 0 && code !== 0xff && (code < 0xd0 || code > 0xd7)) return at + mark;
      look = code === 0xff ? mark + 1 : mark + 2;
    }
    const last = at + stretch.length >= size;
    if (last) return size;
    // A marker may lie across two stretches.
    at += stretch[stretch.length - 1] === 0xff ? stretch.length - 1 : stretch.length;
  }
  return size;
}
