// The one thing of a picture's metadata that is kept: which way up it is shown (EXIF tag 0x0112).

/**
 * Reads the orientation out of EXIF data.
 * @param tiff from the byte order mark on
 * @returns 1 to 8; 1 where it says nothing that can be read
 */
export function readOrientation(tiff: Buffer): number {
  if (tiff.length < 14) return 1;
  const order = tiff.toString('latin1', 0, 2);
  if (order !== 'II' && order !== 'MM') return 1;
  const little = order === 'II';
  const u16 = (at: number): number => (little ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const start = little ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4);
  if (start + 2 > tiff.length) return 1;
  const entries = u16(start);
  for (let at = start + 2, left = entries; left > 0 && at + 12 <= tiff.length; at += 12, left -= 1) {
    if (u16(at) !== 0x0112) continue;
    const value = u16(at + 8);
    return value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

/** EXIF data that says the orientation and nothing else. */
export function makeOrientation(orientation: number): Buffer {
  const tiff = Buffer.alloc(26);
  tiff.write('MM', 0, 'latin1');
  tiff.writeUInt16BE(42, 2);
  tiff.writeUInt32BE(8, 4);
  tiff.writeUInt16BE(1, 8);
  tiff.writeUInt16BE(0x0112, 10);
  tiff.writeUInt16BE(3, 12);
  tiff.writeUInt32BE(1, 14);
  tiff.writeUInt16BE(orientation, 18);
  return tiff;
}

/** The size as it is shown: orientations from 5 on lie on their side. */
export function shownSize(
  width: number | null,
  height: number | null,
  orientation: number,
): { readonly width: number | null; readonly height: number | null } {
  return orientation >= 5 ? { width: height, height: width } : { width, height };
}
