// Owns making a photo small enough for a telephone's connection, in the browser: the service never decodes a picture.
// Must not touch what moves, what is small already, or what is no picture.

/** The longer side, in pixels. */
const maxPictureSide = 2_048;
/** What a photo may weigh once it is shrunk. */
const maxPictureBytes = 400_000;

/** Kinds that are worth it. What moves among them is found by its bytes. */
const kinds: readonly string[] = [
  'image/jpeg',
  'image/png',
  'image/webp',
  'image/avif',
  'image/bmp',
  'image/heic',
];
const qualities = [0.82, 0.7, 0.55, 0.4] as const;

/** Whether a file may become smaller before it leaves: how heavy it is then is not known yet. */
export function mayShrink({ type }: Pick<File, 'type'>): boolean {
  return kinds.includes(type);
}

/**
 * A picture that is too wide or too heavy, drawn anew as WebP (JPEG where a browser can't write that) with its right
 * side up and without what a camera adds. Anything else, and whatever goes wrong: the file itself.
 */
export async function shrinkPicture(file: File): Promise<File> {
  if (!mayShrink(file) || (await isMoving(file))) return file;
  // The orientation that a camera noted is followed: that is what browsers do unless told otherwise.
  const bitmap = await createImageBitmap(file).catch(() => null);
  if (bitmap === null) return file;
  try {
    const longer = Math.max(bitmap.width, bitmap.height);
    if (longer <= maxPictureSide && file.size <= maxPictureBytes) return file;
    let best: Blob | null = null;
    for (let side = Math.min(longer, maxPictureSide); side >= 512; side = Math.round(side * 0.75)) {
      const canvas = draw(bitmap, side / longer);
      if (canvas === null) return file;
      for (const quality of qualities) {
        best = (await write(canvas, quality)) ?? best;
        if (best !== null && best.size <= maxPictureBytes) return named(best, file);
      }
    }
    return best !== null && best.size < file.size ? named(best, file) : file;
  } finally {
    bitmap.close();
  }
}

/** A small drawing of a picture, to be recognised by; null: it is none. Needs no address that a host site would have to allow. */
export async function drawThumbnail(file: Blob, side: number): Promise<HTMLCanvasElement | null> {
  if (!file.type.startsWith('image/')) return null;
  const bitmap = await createImageBitmap(file).catch(() => null);
  if (bitmap === null) return null;
  const canvas = draw(bitmap, Math.min(1, side / Math.max(bitmap.width, bitmap.height)));
  bitmap.close();
  return canvas;
}

/** The bitmap at a share of its size; null where the browser gives back other pixels than were drawn, against tracking. */
function draw(bitmap: ImageBitmap, share: number): HTMLCanvasElement | null {
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(bitmap.width * share));
  canvas.height = Math.max(1, Math.round(bitmap.height * share));
  const pen = canvas.getContext('2d');
  if (pen === null) return null;
  pen.fillStyle = '#12d34a';
  pen.fillRect(0, 0, 1, 1);
  const [red, green, blue] = pen.getImageData(0, 0, 1, 1).data;
  if (red !== 18 || green !== 211 || blue !== 74) return null;
  pen.clearRect(0, 0, 1, 1);
  pen.imageSmoothingQuality = 'high';
  pen.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas;
}

async function write(canvas: HTMLCanvasElement, quality: number): Promise<Blob | null> {
  const webp = await blobOf(canvas, 'image/webp', quality);
  if (webp === null || webp.type === 'image/webp') return webp;
  // It knows nothing of transparency: what was clear becomes white, not black.
  const pen = canvas.getContext('2d');
  if (pen !== null) {
    pen.globalCompositeOperation = 'destination-over';
    pen.fillStyle = '#fff';
    pen.fillRect(0, 0, canvas.width, canvas.height);
  }
  return blobOf(canvas, 'image/jpeg', quality);
}

function blobOf(canvas: HTMLCanvasElement, type: string, quality: number): Promise<Blob | null> {
  return new Promise((resolve) => canvas.toBlob(resolve, type, quality));
}

function named(blob: Blob, { name }: File): File {
  const ending = blob.type === 'image/webp' ? 'webp' : 'jpg';
  return new File([blob], `${name.replace(/\.[^.]*$/, '') || name}.${ending}`, { type: blob.type });
}

/** Whether a PNG or WebP has more than one frame: its head says so. */
async function isMoving(file: File): Promise<boolean> {
  if (file.type !== 'image/png' && file.type !== 'image/webp') return false;
  const head = new Uint8Array(await file.slice(0, 4_096).arrayBuffer());
  const text = Array.from(head, (byte) => String.fromCharCode(byte)).join('');
  const at = text.indexOf(file.type === 'image/png' ? 'acTL' : 'ANIM');
  return at >= 0 && (file.type === 'image/webp' || at < text.concat('IDAT').indexOf('IDAT'));
}
