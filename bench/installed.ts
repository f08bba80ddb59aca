// Owns: what the packed program takes: the packed file, the tree that its installation makes, and the first `npx` of it.
// It packs and installs as a user would, with npm and the registry that npm knows, in folders of its own.
// Must not run the scripts of packages: a user's npm runs none of ours.
import { execFile } from 'node:child_process';
import { lstat, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { assertBuilt, median } from './program.ts';

const run = promisify(execFile);

export interface Installed {
  readonly packedMegabytes: number;
  /** Of all files of node_modules, as far as they are told by their lengths. */
  readonly treeMegabytes: number;
  /** The same as a disk keeps it, and `du` counts it. */
  readonly diskMegabytes: number;
  /** From the call of `npx` with an empty cache to the end of `deskbell --version`, ms. */
  readonly npxMs: number;
  /** A Node that has nothing to do, from start to end, ms. */
  readonly nodeMs: number;
}

/** What usual file systems give a file or a folder at least, and in steps of. */
const blockBytes = 4_096;

/** The bytes of the files in a folder; `onDisk`: in whole blocks, with one for each folder. A link is not counted. */
export async function treeBytes(folder: string): Promise<{ bytes: number; onDisk: number }> {
  const size = { bytes: 0, onDisk: blockBytes };
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) size.onDisk += blockBytes;
    if (!entry.isFile()) continue;
    const { size: bytes } = await lstat(join(entry.parentPath, entry.name));
    size.bytes += bytes;
    size.onDisk += Math.ceil(bytes / blockBytes) * blockBytes;
  }
  return size;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/**
 * @param parent where the folders are made
 * @param runs of what is timed; the median counts
 * @throws Error when npm can't pack or install it
 */
export async function installedSize(parent: string, runs: number): Promise<Installed> {
  await assertBuilt();
  const folder = await mkdtemp(join(parent, 'deskbell-bench-'));
  try {
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], {
      cwd: join(import.meta.dirname, '..'),
    });
    const [name = ''] = await readdir(folder);
    const file = join(folder, name);
    const packed = (await lstat(file)).size;
    const tree = join(folder, 'tree');
    await mkdir(tree);
    await run('npm', ['install', file, '--omit=dev', '--no-audit', '--no-fund', '--ignore-scripts'], {
      cwd: tree,
    });
    const { bytes, onDisk } = await treeBytes(join(tree, 'node_modules'));
    const npx: number[] = [];
    const node: number[] = [];
    for (let index = 0; index < runs; index += 1) {
      const cache = join(folder, `cache-${index}`);
      const args = ['--yes', '--cache', cache, '--package', file, '--', 'deskbell', '--version'];
      npx.push(await timed(() => run('npx', args, { cwd: folder })));
      node.push(await timed(() => run(process.execPath, ['--eval', ''])));
    }
    return {
      packedMegabytes: packed / 1e6,
      treeMegabytes: bytes / 1024 ** 2,
      diskMegabytes: onDisk / 1024 ** 2,
      npxMs: median(npx),
      nodeMs: median(node),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
