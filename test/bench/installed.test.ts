// Owns: that the installed tree is counted whole: files in folders of folders, and each link not twice.
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
  await writeFile(join(folder, 'one/two/c'), 'x'.repeat(3000));
  await symlink(join(folder, 'one/two/c'), join(folder, 'link'));
  expect(await treeBytes(folder)).toBe(3210);
  await rm(folder, { recursive: true });
});
