// Attacks the form of an encrypted backup: bytes turned over, chunks exchanged, cut off, lengthened, foreign chunks,
// wrong passphrases.
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isSealed, openSealed, sealSource, type ByteSource } from '../../src/engine/sqlite/sealed-backup.ts';

const passphrase = 'nine words that no one Else knows: äöü';
const chunk = 1_048_576 + 16;
const header = 25 + 1 + 32 + 8 + 32 + 32;
/** What is attacked is the form, which is the same at every cost. */
const cost = 10;
const inside = randomBytes(2 * 1_048_576 + 500_000);
let folder: string;
let sealed: Buffer;

const sourceOf = (bytes: Buffer): ByteSource => ({
  size: bytes.length,
  read: async (position, length) => bytes.subarray(position, position + length),
});

let count = 0;
async function sealInto(bytes: Buffer): Promise<Buffer> {
  const file = join(folder, `sealed-${(count += 1)}`);
  await sealSource(sourceOf(bytes), file, passphrase, cost);
  return readFile(file);
}

/** Everything inside, read as a restore does. */
async function openBytes(bytes: Buffer, typed = passphrase): Promise<Buffer> {
  const file = join(folder, `opened-${(count += 1)}`);
  await writeFile(file, bytes);
  const handle = await open(file, 'r');
  try {
    const source = await openSealed(handle, 'the file', typed);
    const pieces = [];
    for (let at = 0; at < source.size; at += 700_000) pieces.push(await source.read(at, 700_000));
    return Buffer.concat(pieces);
  } finally {
    await handle.close();
  }
}

function turnedAt(position: number): Buffer {
  const bytes = Buffer.from(sealed);
  bytes.writeUInt8(bytes.readUInt8(position) ^ 1, position);
  return bytes;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-sealed-'));
  sealed = await sealInto(inside);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('gives back every byte, however the letters of the passphrase were composed', async () => {
  expect((await openBytes(sealed, passphrase.normalize('NFD'))).equals(inside)).toBe(true);
  expect(sealed.length).toBe(header + inside.length + 3 * 16);
});

it('opens what was written before: the form is the same for ever', async () => {
  const kept =
    'REVTS0JFTEwtU0VBTEVELUJBQ0tVUC0xCgTZUExpieheXvfRHJsAibt0xhaAp2b/KPwPmlUEe6vRJwAAAAAAAAAP6asV1ilASZ6VKG23mbhu+K/y0XPF0jzyaR0gGi3iOT1K1rmtzRQk1qmCsGNqEPa1VXx/6e1lfixZIaCRlm+XUKatlgiHN+20Xh/i1OiliEuj1Ed1dR6UCArN6YBsLEM=';
  expect((await openBytes(Buffer.from(kept, 'base64'), 'correct horse')).toString()).toBe('what was inside');
});

it('shows nothing of what is inside, and no two files of the same content are alike', async () => {
  const same = Buffer.alloc(64, 'marker');
  const [one, other] = [await sealInto(same), await sealInto(same)];
  expect(one.includes('marker')).toBe(false);
  expect(one.subarray(header).equals(other.subarray(header))).toBe(false);
});

it('holds nothing, or exactly one chunk', async () => {
  for (const bytes of [Buffer.alloc(0), randomBytes(1_048_576)])
    expect((await openBytes(await sealInto(bytes))).equals(bytes)).toBe(true);
});

it('tells a wrong passphrase from a damaged file', async () => {
  await expect(openBytes(sealed, `${passphrase} `)).rejects.toMatchObject({
    name: 'PassphraseError',
    message: expect.stringMatching(/not the passphrase/),
  });
  // The cost, the salt, the size, the digest; the mark is what tells a backup from any other file.
  for (const position of [25, 30, 60, 70])
    await expect(openBytes(turnedAt(position)), String(position)).rejects.toThrow(/is damaged/);
});

it.each([
  ['the first chunk', header + 5],
  ['the second chunk', header + chunk + 5],
  ["the second chunk's tag", header + 2 * chunk - 1],
  ['the last byte', header + inside.length + 3 * 16 - 1],
])('finds one bit turned over in %s', async (_where, position) => {
  await expect(openBytes(turnedAt(position))).rejects.toThrow(/is damaged/);
});

it('finds chunks that were exchanged, and a chunk of another file with the same passphrase', async () => {
  const [first, second] = [
    sealed.subarray(header, header + chunk),
    sealed.subarray(header + chunk, header + 2 * chunk),
  ];
  const rest = sealed.subarray(header + 2 * chunk);
  await expect(openBytes(Buffer.concat([sealed.subarray(0, header), second, first, rest]))).rejects.toThrow(
    /is damaged/,
  );
  const other = await sealInto(inside);
  await expect(
    openBytes(Buffer.concat([sealed.subarray(0, header + chunk), other.subarray(header + chunk)])),
  ).rejects.toThrow(/is damaged/);
});

it.each([
  ['within its header', 80],
  ['behind its header', header],
  ['within a chunk', header + chunk + 100],
  ['between two chunks', header + 2 * chunk],
  ['by its last byte', header + inside.length + 3 * 16 - 1],
])('says that a file is cut off %s', async (_where, length) => {
  await expect(openBytes(sealed.subarray(0, length))).rejects.toThrow(/is cut off/);
});

it('finds what was added behind the end', async () => {
  await expect(openBytes(Buffer.concat([sealed, Buffer.of(0)]))).rejects.toThrow(/more in it/);
});

it('refuses to spend what a forged header asks for', async () => {
  const forged = Buffer.from(sealed);
  forged.writeUInt8(31, 25);
  createHash('sha256').update(forged.subarray(0, 66)).digest().copy(forged, 66);
  await expect(openBytes(forged)).rejects.toThrow(/not a backup that this version/);
});

it('is known by its first bytes', async () => {
  const file = join(folder, 'looked-at');
  for (const [bytes, expected] of [
    [sealed, true],
    [turnedAt(3), false],
    [Buffer.alloc(0), false],
    [Buffer.from('SQLite format 3\0'), false],
  ] as const) {
    await writeFile(file, bytes);
    const handle = await open(file, 'r');
    expect(await isSealed(handle)).toBe(expected);
    await handle.close();
  }
});
