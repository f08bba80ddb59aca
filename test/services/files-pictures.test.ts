// Owns: what is kept of a picture. Twenty with a place in their metadata, made here, are clean afterwards, and their
// image data is what it was, byte for byte. Damaged ones are refused and never hold the service up.
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { takeIn, type TakenFile } from '../../src/services/files/spool.ts';
import { pngChunk, pngPicture, pngSignature } from '../helpers/files.ts';

const secret = Buffer.from('SECRET-48.8584N-2.2945E');
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-pictures-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function clean(bytes: Buffer): Promise<{ file: TakenFile; bytes: Buffer }> {
  // In pieces of odd sizes, as a network brings them.
  const pieces = [bytes.subarray(0, 1), bytes.subarray(1, 7), bytes.subarray(7)].filter(
    (one) => one.length > 0,
  );
  const incoming = { bytes: Readable.from(pieces), claimed: '', maxBytes: 30_000_000 };
  return takeIn(folder, incoming, async (file) => ({ file, bytes: await readFile(file.path) }));
}

/** EXIF with an orientation, a place and a preview. */
function exif(order: 'II' | 'MM', orientation: number): Buffer {
  const little = order === 'II';
  const u16 = (value: number): Buffer => {
    const two = Buffer.alloc(2);
    if (little) two.writeUInt16LE(value);
    else two.writeUInt16BE(value);
    return two;
  };
  const u32 = (value: number): Buffer =>
    little ? Buffer.concat([u16(value), u16(0)]) : Buffer.concat([u16(0), u16(value)]);
  const short = (tag: number, value: number): Buffer =>
    Buffer.concat([u16(tag), u16(3), u32(1), u16(value), u16(0)]);
  const long = (tag: number, value: number): Buffer => Buffer.concat([u16(tag), u16(4), u32(1), u32(value)]);
  return Buffer.concat([
    Buffer.from(order),
    u16(42),
    u32(8),
    u16(3),
    short(0x0100, 640),
    short(0x0112, orientation),
    long(0x8825, 50),
    u32(0),
    secret,
  ]);
}

function segment(code: number, data: Buffer | string): Buffer {
  const body = Buffer.from(data);
  const head = Buffer.from([0xff, code, 0, 0]);
  head.writeUInt16BE(body.length + 2, 2);
  return Buffer.concat([head, body]);
}

const soi = Buffer.from([0xff, 0xd8]);
const eoi = Buffer.from([0xff, 0xd9]);
const app1 = (order: 'II' | 'MM', orientation: number): Buffer =>
  segment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), exif(order, orientation)]));
const jfif = segment(0xe0, Buffer.from('4a46494600010100000100010000', 'hex'));
const tables = Buffer.concat([segment(0xdb, randomBytes(65)), segment(0xc4, randomBytes(30))]);
/** @param code SOF0, or SOF2 where it comes in several scans */
const frame = (width: number, height: number, code = 0xc0): Buffer =>
  segment(code, Buffer.from([8, height >> 8, height & 255, width >> 8, width & 255, 1, 1, 0x11, 0]));
/** Image data with stuffed bytes and restart marks. */
const scan = (): Buffer =>
  Buffer.concat([
    segment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])),
    Buffer.from(randomBytes(70_000).map((byte) => (byte === 0xff ? 0xfe : byte))),
    Buffer.from([0xff, 0x00, 0x12, 0xff, 0xd0, 0x34, 0xff, 0x00]),
    Buffer.alloc(40, 0x55),
  ]);
const icc = segment(0xe2, 'ICC_PROFILE\0\x01\x01colours');
const adobe = segment(0xee, 'Adobe\0d\0\0\0\0\0\0');
const xmp = segment(0xe1, Buffer.concat([Buffer.from('http://ns.adobe.com/xap/1.0/\0'), secret]));

function webpChunk(name: string, data: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(name, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}

function webp(...chunks: Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.from('WEBP'), ...chunks]);
  const head = Buffer.from('RIFF\0\0\0\0');
  head.writeUInt32LE(body.length, 4);
  return Buffer.concat([head, body]);
}

const vp8x = (flags: number, width: number, height: number): Buffer => {
  const data = Buffer.alloc(10);
  data[0] = flags;
  data.writeUIntLE(width - 1, 4, 3);
  data.writeUIntLE(height - 1, 7, 3);
  return webpChunk('VP8X', data);
};
const vp8 = (length: number): Buffer => {
  const data = randomBytes(length);
  Buffer.from('9d012a', 'hex').copy(data, 3);
  data.writeUInt16LE(320, 6);
  data.writeUInt16LE(200, 8);
  return webpChunk('VP8 ', data);
};

interface Sample {
  readonly name: string;
  readonly bytes: Buffer;
  readonly type: string;
  /** As it is shown. */
  readonly size: readonly [number, number];
  readonly orientation: number;
}

const jpeg = (
  name: string,
  parts: readonly Buffer[],
  orientation = 1,
  size: [number, number] = [640, 480],
): Sample => ({
  name,
  bytes: Buffer.concat([soi, ...parts]),
  type: 'image/jpeg',
  size,
  orientation,
});
const png = (name: string, bytes: Buffer, orientation = 1, size: [number, number] = [9, 5]): Sample => ({
  name,
  bytes,
  type: 'image/png',
  size,
  orientation,
});
const riff = (name: string, bytes: Buffer, orientation: number, size: [number, number]): Sample => ({
  name,
  bytes,
  type: 'image/webp',
  size,
  orientation,
});

const base = [jfif, icc, tables, frame(640, 480), scan(), eoi];
const samples: readonly Sample[] = [
  jpeg('EXIF, little-endian', [app1('II', 1), ...base]),
  jpeg('EXIF on its side', [app1('MM', 6), ...base], 6, [480, 640]),
  jpeg('EXIF upside down, behind the tables', [tables, app1('II', 3), frame(640, 480), scan(), eoi], 3),
  jpeg('XMP and its extension', [
    xmp,
    segment(0xe1, Buffer.concat([Buffer.from('http://ns.adobe.com/xmp/extension/\0'), secret])),
    ...base,
  ]),
  jpeg('IPTC, comment, Adobe', [segment(0xed, secret), segment(0xfe, secret), adobe, ...base]),
  jpeg('a preview and makers’ segments', [
    segment(0xe0, Buffer.concat([Buffer.from('JFXX\0\x10'), secret])),
    ...[0xe3, 0xe4, 0xeb, 0xef].map((code) => segment(code, secret)),
    ...base,
  ]),
  jpeg('a second picture behind it', [
    segment(0xe2, Buffer.concat([Buffer.from('MPF\0'), secret])),
    ...base,
    soi,
    app1('II', 1),
    ...base,
  ]),
  jpeg('a film behind it', [...base, Buffer.from('MotionPhoto_Data'), secret, randomBytes(5_000)]),
  jpeg(
    'several scans with segments between',
    [tables, frame(640, 480, 0xc2), scan(), xmp, tables, scan(), app1('MM', 8), scan(), eoi],
    8,
    [480, 640],
  ),
  jpeg('cut off in its data', [app1('II', 1), tables, frame(640, 480), scan()]),
  png('eXIf', pngPicture(9, 5, [pngChunk('eXIf', exif('MM', 1))])),
  png('eXIf on its side', pngPicture(9, 5, [pngChunk('eXIf', exif('II', 5))]), 5, [5, 9]),
  png(
    'texts of every kind',
    pngPicture(
      9,
      5,
      ['tEXt', 'zTXt', 'iTXt', 'tIME'].map((name) => pngChunk(name, secret)),
    ),
  ),
  png(
    'private chunks, and colours that stay',
    pngPicture(9, 5, [
      pngChunk('gAMA', Buffer.alloc(4, 1)),
      pngChunk('prVt', secret),
      pngChunk('iCCP', Buffer.from('sRGB\0\0x')),
    ]),
  ),
  png('more behind its end', Buffer.concat([pngPicture(9, 5), pngChunk('tEXt', secret), secret])),
  riff(
    'WebP with EXIF and XMP',
    webp(vp8x(0x0c, 320, 200), vp8(501), webpChunk('EXIF', exif('II', 1)), webpChunk('XMP ', secret)),
    1,
    [320, 200],
  ),
  riff(
    'WebP on its side',
    webp(
      vp8x(0x28, 320, 200),
      webpChunk('ICCP', Buffer.from('colours')),
      vp8(502),
      webpChunk('EXIF', Buffer.concat([Buffer.from('Exif\0\0'), exif('MM', 6)])),
    ),
    6,
    [200, 320],
  ),
  riff(
    'WebP with motion',
    webp(
      vp8x(0x16, 64, 32),
      webpChunk('ANIM', Buffer.alloc(6)),
      webpChunk('ANMF', randomBytes(99)),
      webpChunk('ANMF', randomBytes(100)),
      webpChunk('XMP ', secret),
    ),
    1,
    [64, 32],
  ),
  riff(
    'WebP with an unknown chunk',
    webp(vp8x(0, 320, 200), webpChunk('MINE', secret), vp8(300)),
    1,
    [320, 200],
  ),
  riff('WebP with more behind its end', Buffer.concat([webp(vp8(400)), secret]), 1, [320, 200]),
];

/** The segments of a JPEG that hold image, by walking them anew. */
function imageOf(bytes: Buffer): Buffer {
  const kept: Buffer[] = [];
  let at = 2;
  while (at < bytes.length) {
    const code = bytes[at + 1] ?? 0;
    if (code === 0xd9) break;
    const next = at + 2 + bytes.readUInt16BE(at + 2);
    if (code < 0xe0 || code === 0xee || bytes.toString('latin1', at + 4, at + 15) === 'ICC_PROFILE')
      kept.push(bytes.subarray(at, next));
    at = next;
    if (code !== 0xda) continue;
    let end = at;
    while (end < bytes.length && !(bytes[end] === 0xff && ![0, 0xd0].includes(bytes[end + 1] ?? 0))) end += 1;
    kept.push(bytes.subarray(at, end));
    at = end;
  }
  return Buffer.concat(kept);
}

const imageChunks = /^(IHDR|PLTE|IDAT|gAMA|iCCP|VP8.|ICCP|ANIM|ANMF)$/;

/** The data of a PNG's or a WebP's chunks that hold image. */
function chunksOf(bytes: Buffer, type: string): Buffer {
  const kept: Buffer[] = [];
  for (let at = type === 'image/png' ? pngSignature.length : 12; at + 8 <= bytes.length;) {
    const isPng = type === 'image/png';
    const length = isPng ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at + 4);
    const name = bytes.toString('latin1', at + (isPng ? 4 : 0), at + (isPng ? 8 : 4));
    if (name === 'IEND') break;
    if (imageChunks.test(name) && name !== 'VP8X')
      kept.push(Buffer.from(name), bytes.subarray(at + 8, at + 8 + length));
    at += isPng ? 12 + length : 8 + length + (length % 2);
  }
  return Buffer.concat(kept);
}

test('there are twenty of them', () => expect(samples).toHaveLength(20));

test.each(samples.map((one) => [one.name, one] as const))(
  '%s: clean, and the same picture',
  async (_, sample) => {
    const { file, bytes } = await clean(sample.bytes);
    expect(sample.bytes.includes('SECRET') || sample.name.includes('EXIF')).toBe(true);
    expect(bytes.includes('SECRET')).toBe(false);
    expect([file.type, file.width, file.height, file.size]).toEqual([
      sample.type,
      ...sample.size,
      bytes.length,
    ]);
    const image =
      sample.type === 'image/jpeg' ? imageOf : (some: Buffer): Buffer => chunksOf(some, sample.type);
    expect(image(sample.bytes).length).toBeGreaterThan(10);
    expect(image(bytes).equals(image(sample.bytes))).toBe(true);
    // The orientation, and nothing else that EXIF can say.
    const found = bytes.indexOf('MM\0*');
    expect(found < 0 ? 1 : bytes.readUInt16BE(found + 18)).toBe(sample.orientation);
    if (sample.type === 'image/webp') expect(bytes.readUInt32LE(4)).toBe(bytes.length - 8);
    // What is clean stays as it is.
    expect((await clean(bytes)).bytes.equals(bytes)).toBe(true);
    expect(await readdir(folder)).toEqual([]);
  },
);

test('a clean picture is not written anew', async () => {
  const picture = pngPicture(10, 10);
  expect((await clean(picture)).bytes.equals(picture)).toBe(true);
});

test('sizes of GIF and AVIF', async () => {
  const gif = Buffer.concat([
    Buffer.from('GIF89a'),
    Buffer.from([0x20, 3, 0x58, 2, 0, 0, 0]),
    Buffer.from(';'),
  ]);
  expect((await clean(gif)).file).toMatchObject({ type: 'image/gif', width: 800, height: 600 });
  const ispe = Buffer.alloc(20);
  ispe.writeUInt32BE(20, 0);
  ispe.write('ispe', 4);
  ispe.writeUInt32BE(1_920, 12);
  ispe.writeUInt32BE(1_080, 16);
  const avif = Buffer.concat([
    Buffer.from('0000001c6674797061766966000000006d6966316176696600000000', 'hex'),
    ispe,
  ]);
  expect((await clean(avif)).file).toMatchObject({ type: 'image/avif', width: 1_920, height: 1_080 });
});

test('damaged pictures are refused', async () => {
  for (const bytes of [
    Buffer.concat([soi, Buffer.from([0xff, 0xe1, 0xff, 0xff]), secret]),
    Buffer.concat([soi, app1('II', 1), Buffer.from('no marker'), scan(), eoi]),
    Buffer.concat([soi, app1('II', 1), eoi]),
    pngPicture(9, 5).subarray(0, 60),
    Buffer.concat([pngSignature, pngChunk('IHDR', Buffer.alloc(13)), Buffer.from('7fffffff49444154', 'hex')]),
    webp(vp8x(0x0c, 320, 200), vp8(500)).subarray(0, 300),
  ])
    await expect(clean(bytes)).rejects.toMatchObject({ code: 'file_rejected' });
});

test('mutilated pictures are cleaned or refused, and nothing is left of them', async () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  for (let round = 0; round < 300; round += 1) {
    const { bytes } = samples[round % samples.length]!;
    const broken = Buffer.from(bytes.subarray(0, 12 + random(bytes.length - 12)));
    for (let hits = 0; hits < 4; hits += 1)
      broken[12 + random(Math.min(400, broken.length - 12) || 1)] = random(256);
    const problem = await clean(broken).then(
      () => null,
      (error: unknown) => error,
    );
    if (problem !== null) expect(problem).toMatchObject({ code: 'file_rejected' });
  }
  expect(await readdir(folder)).toEqual([]);
});
