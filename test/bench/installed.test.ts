// Owns: that the installed tree is counted whole: files in folders of folders, by bytes and blocks, and each link not twice.
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { treeBytes } from '../../bench/installed.ts';

test('all files of a tree are counted, a link is not', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'deskbell-bench-test-'));
  await mkdir(join(folder, 'one/two'), { recursive: true });
  await writeFile(join(folder, 'a'), 'x'.repeat(10));
  await writeFile(join(folder, 'one/b'), 'x'.repeat(200));
  await writeFile(join(folder, 'one/two/c'), 'x'.repeat(6_000));
  await symlink(join(folder, 'one/two/c'), join(folder, 'link'));
  // Three files and three folders; the last file has more than one block.
  expect(await treeBytes(folder)).toEqual({ bytes: 6_210, onDisk: 7 * 4_096 });
  await rm(folder, { recursive: true });
});
