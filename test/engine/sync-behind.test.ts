// A large file comes to the disk while it is written, not all of it at its end.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { appendFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { syncBehind, syncStretchBytes, syncWhileItGrows } from '../../src/engine/sqlite/sync-behind.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-sync-'));
});
afterEach(() => rm(folder, { recursive: true }));

it('brings a stretch to the disk as soon as it is there, and nothing twice', () => {
  const sizes = [0, 0.9, 1, 1.1, 1.9, 2, 5, 5, 5.9].map((stretches) => stretches * syncStretchBytes);
  const synced: number[] = [];
  let at = 0;
  syncWhileItGrows({
    size: () => sizes[at] ?? 0,
    sync: () => synced.push(at),
    pause: () => (at += 1) < sizes.length,
  });
  expect(synced.map((one) => (sizes[one] ?? 0) / syncStretchBytes)).toEqual([1, 2, 5]);
});

it('returns what the function returns, or throws its error', async () => {
  const file = join(folder, 'file');
  await writeFile(file, '');
  const piece = Buffer.alloc(syncStretchBytes, 'x');
  const write = (): string => {
    for (let index = 0; index < 4; index += 1) appendFileSync(file, piece);
    return 'written';
  };
  expect(await syncBehind(file, write)).toBe('written');
  expect((await readFile(file)).equals(Buffer.concat([piece, piece, piece, piece]))).toBe(true);
  const fail = (): never => {
    throw new Error('no room');
  };
  await expect(syncBehind(file, fail)).rejects.toThrow('no room');
});

it('writes nothing where the file is not there', async () => {
  let written = false;
  await expect(syncBehind(join(folder, 'none'), () => (written = true))).rejects.toThrow('ENOENT');
  expect(written).toBe(false);
});
