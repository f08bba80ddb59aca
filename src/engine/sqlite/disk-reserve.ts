// Room that is kept for the day on which the disk is full: to remove something needs room, too, in the log. Decides
// nothing about who may write then.
import { randomBytes } from 'node:crypto';
import { rmSync, statfsSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** As much as the log grows to before it is moved into the database. */
export const reserveBytes = 16 * 1_048_576;
const chunkBytes = 1_048_576;

const reserveFile = (folder: string): string => join(folder, 'deskbell-reserve');

/** Whether the file system of a folder has less room than a reserve takes; where it can't say, there is none to be had. */
export function isDiskShort(folder: string): boolean {
  try {
    return freeBytes(folder) < reserveBytes;
  } catch {
    return true;
  }
}

/** Whether the reserve is there. */
export function hasReserve(folder: string): boolean {
  return statSync(reserveFile(folder), { throwIfNoEntry: false })?.size === reserveBytes;
}

/** Gives the room to what is written next. @returns whether there was any to give */
export function releaseReserve(folder: string): boolean {
  try {
    const had = hasReserve(folder);
    rmSync(reserveFile(folder), { force: true });
    return had;
  } catch {
    // The system lets none be removed: what needs the room is told of the full disk as without a reserve.
    return false;
  }
}

/**
 * Takes the room, unless it would be the last. Never throws: a folder that can't be reached may be there again later.
 * @returns whether it is kept now
 */
export async function keepReserve(folder: string): Promise<boolean> {
  const draft = `${reserveFile(folder)}.new`;
  try {
    if (hasReserve(folder)) return true;
    if (freeBytes(folder) < 2 * reserveBytes) return false;
    await rm(draft, { force: true });
    const handle = await open(draft, 'wx', 0o600);
    try {
      // A file system that compresses would keep no room for zeros.
      const chunk = randomBytes(chunkBytes);
      for (let written = 0; written < reserveBytes; written += chunkBytes) await handle.writeFile(chunk);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, reserveFile(folder));
    return true;
  } catch {
    // The disk became full over it, or the folder can't be written or is gone: the next attempt comes.
    await rm(draft, { force: true }).catch(() => undefined);
    return false;
  }
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
