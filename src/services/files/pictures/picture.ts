// What is kept of a picture: its size, and which of its bytes. Metadata (EXIF with its place and its camera, XMP, IPTC,
// comments) goes by walking over segments; image data is copied byte for byte, and no picture is ever decoded.
import type { FileHandle } from 'node:fs/promises';
import { readAt } from '../kinds.ts';
import { planJpeg } from './jpeg.ts';
import { planPng } from './png.ts';
import type { PicturePlan, ReadBytes } from './pieces.ts';
import { planWebp } from './webp.ts';

const unknown: PicturePlan = { width: null, height: null, pieces: null };

/**
 * Plans what is kept of a file.
 * @param type the media type that its bytes have
 * @throws ServiceError file_rejected for a picture of which it can't be told where its metadata ends
 */
export async function planPicture(file: FileHandle, size: number, type: string): Promise<PicturePlan> {
  const read: ReadBytes = (position, length) =>
    position >= size
      ? Promise.resolve(Buffer.alloc(0))
      : readAt(file, position, Math.min(length, size - position));
  switch (type) {
    case 'image/jpeg':
      return kept(await planJpeg(read, size), size);
    case 'image/png':
      return kept(await planPng(read, size), size);
    case 'image/webp':
      return kept(await planWebp(read, size), size);
    case 'image/gif':
      return readGifSize(await read(0, 10));
    case 'image/avif':
      return readAvifSize(await read(0, 65_536));
    default:
      return unknown;
  }
}

/** A plan that leaves nothing out is none. */
function kept(plan: PicturePlan, size: number): PicturePlan {
  const [first] = plan.pieces ?? [];
  const whole =
    plan.pieces?.length === 1 &&
    first !== undefined &&
    !(first instanceof Uint8Array) &&
    first.from === 0 &&
    first.to === size;
  return whole ? { ...plan, pieces: null } : plan;
}

function readGifSize(head: Buffer): PicturePlan {
  return head.length < 10
    ? unknown
    : { ...unknown, width: head.readUInt16LE(6), height: head.readUInt16LE(8) };
}

/** The largest of its extents: a small one is a preview. */
function readAvifSize(head: Buffer): PicturePlan {
  let plan = unknown;
  for (let at = head.indexOf('ispe'); at >= 0 && at + 16 <= head.length; at = head.indexOf('ispe', at + 4)) {
    const width = head.readUInt32BE(at + 8);
    const height = head.readUInt32BE(at + 12);
    if (width * height > (plan.width ?? 0) * (plan.height ?? 0)) plan = { ...unknown, width, height };
  }
  return plan;
}
