// Files that get their name when they are whole: a process that is killed half way leaves none under it. What it leaves
// beside has the machine and the process in its name, so that the next one may remove it. Loads next to
// nothing, because every command may load it.
import { randomBytes } from 'node:crypto';
import { link, readdir, rename, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { systemErrorCode } from './file-errors.ts';

/** Nothing else is written to a file for so long while it is made, ms: its process may be of another container of this name. */
const abandonedAfterMs = 3_600_000;

/** What stands behind a name as long as its file is not whole; another one each time. */
export function partialEnd(): string {
  return `.${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}.partial`;
}

/**
 * Gives a file that is complete its name. A link never replaces the file of a process that was faster, as a rename would.
 * @returns false where there is a file of this name already
 */
export async function giveName(draft: string, file: string): Promise<boolean> {
  try {
    await link(draft, file);
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST') return false;
    // A file system without hard links.
    await rename(draft, file);
  }
  return true;
}

/**
 * Removes what processes left behind that were killed on this machine: of the same file, and after an hour of any other in
 * its folder, because one that is named by its day is not written again.
 * @param now ms since the epoch
 */
export async function removePartialFiles(target: string, now: number): Promise<void> {
  const folder = dirname(target);
  const pattern = new RegExp(`^(.+)\\.${escaped(hostname())}-(\\d+)-[0-9a-f]{8}\\.partial`);
  for (const name of await readdir(folder).catch(() => [])) {
    const [, of, pid] = pattern.exec(name) ?? [];
    if (pid === undefined || isAlive(Number(pid))) continue;
    const path = join(folder, name);
    const isAbandoned = async (): Promise<boolean> => {
      const written = (await stat(path).catch(() => null))?.mtimeMs ?? Infinity;
      return written < now - abandonedAfterMs;
    };
    if (of === basename(target) || (await isAbandoned())) await rm(path, { force: true });
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return systemErrorCode(error) === 'EPERM';
  }
}
