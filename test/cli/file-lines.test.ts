// Owns: where a line of a file ends, whatever is in it and wherever the pieces end in which the file is read.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readFileLines } from '../../src/cli/file-lines.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deskbell-lines-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function linesOf(text: string): Promise<string[]> {
  const file = join(folder, randomUUID());
  await writeFile(file, text);
  return readAll(file);
}

async function readAll(file: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of readFileLines(file)) lines.push(line);
  return lines;
}

it('only a line feed ends a line, with or without a carriage return before it', async () => {
  expect(await linesOf('a\u2028b\u2029c\u0085d\re\vf\n\r\ng\r\nh')).toEqual([
    'a\u2028b\u2029c\u0085d\re\vf',
    '',
    'g',
    'h',
  ]);
  expect(await linesOf('')).toEqual([]);
});

it.each([65_535, 65_536, 65_537, 200_001])('lines of %i characters come whole', async (length) => {
  const lines = ['ü'.repeat(length), '', 'x'.repeat(length), '☂'.repeat(length)];
  for (const end of ['\n', '\r\n'])
    expect(await linesOf(lines.map((line) => line + end).join('')), end).toEqual(lines);
});

it('a file that can not be read is an error', async () => {
  await expect(readAll(join(folder, 'none'))).rejects.toThrow('ENOENT');
});
