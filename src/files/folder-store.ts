// Files in a folder beside the database: two levels of folders, so that none has too many. A file appears under its
// name complete or not at all.
import { createReadStream } from 'node:fs';
import { access, constants, mkdir, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isObjectName, objectPath } from '../engine/object-path.ts';
import type { ByteRange, FileStore, ListedObject, SpooledFile } from '../services/files/file-store.ts';

const isLevel = (name: string): boolean => /^[0-9a-f]{2}$/.test(name);

/** @param folder made with the first file */
export function createFolderStore(folder: string): FileStore {
  const pathOf = (object: string): string => objectPath(folder, object);
  return {
    kind: 'folder',
    place: folder,
    put: (object, file) => moveInto(pathOf(object), folder, file),
    open: (object, range) => openFile(pathOf(object), range),
    remove: async (object) => {
      const path = pathOf(object);
      try {
        await unlink(path);
      } catch (error) {
        if (isMissing(error)) return;
        throw error;
      }
      await syncFolder(dirname(path));
    },
    list: () => listFolder(folder),
    check: async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    },
  };
}

async function moveInto(path: string, root: string, { path: from }: SpooledFile): Promise<void> {
  const inner = dirname(path);
  const made = await mkdir(inner, { recursive: true, mode: 0o700 });
  // Synced when it was written.
  await rename(from, path);
  await syncFolder(inner);
  if (made === undefined) return;
  await syncFolder(dirname(inner));
  await syncFolder(root);
}

async function openFile(
  path: string,
  range: ByteRange | undefined,
): Promise<AsyncIterable<Uint8Array> | null> {
  let file;
  try {
    file = await open(path, 'r');
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  return createReadStream(path, { fd: file, highWaterMark: 65_536, ...range });
}

async function* listFolder(folder: string): AsyncGenerator<ListedObject> {
  for (const first of await names(folder, isLevel))
    for (const second of await names(join(folder, first), isLevel))
      for (const object of await names(join(folder, first, second), isObjectName)) {
        const found = await stat(join(folder, first, second, object)).catch(() => null);
        if (found !== null) yield { object, modifiedAt: found.mtimeMs };
      }
}

async function names(folder: string, fits: (name: string) => boolean): Promise<string[]> {
  try {
    return (await readdir(folder)).filter(fits).toSorted();
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
