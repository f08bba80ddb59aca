// Which store of files and which scanner the configuration means.
import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Files } from '../services/files/file-store.ts';
import { createFolderStore } from './folder-store.ts';

/** Touches nothing yet: the folder is made by the first file. */
export function openFiles({ data, filesUrl }: Config): Files {
  const folder = join(data, 'files');
  return {
    store: createFolderStore(folder),
    scanner: null,
    incomingFolder: join(folder, 'incoming'),
    publicUrl: filesUrl,
  };
}
