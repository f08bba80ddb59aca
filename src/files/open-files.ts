// Which store of files and which scanner the configuration means. What it does not mean is not loaded.
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Files } from '../services/files/file-store.ts';
import { createFolderStore } from './folder-store.ts';

/** Touches nothing yet: the folder is made by the first file. */
export async function openFiles(config: Config): Promise<Files> {
  const { data, databaseUrl, files, filesUrl, filesKey, clamd } = config;
  const shared = files !== null && 'folder' in files;
  const folder = shared ? files.folder : join(data, 'files');
  const bucket = files === null || shared || filesKey === null ? null : { files, filesKey };
  const isTemporary = databaseUrl !== null && !shared;
  // Without a data folder, uploads on their way to a bucket lie where no other user can have made a folder.
  const incomingFolder = isTemporary
    ? join(tmpdir(), `deskbell-${randomBytes(12).toString('hex')}`)
    : join(folder, 'incoming');
  return {
    store: bucket === null ? createFolderStore(folder) : await openBucket(bucket),
    scanner: clamd === null ? null : (await import('./clamd.ts')).createClamdScanner(clamd),
    incomingFolder,
    publicUrl: filesUrl,
    close: async () => {
      if (isTemporary) await rm(incomingFolder, { recursive: true, force: true });
    },
  };
}

async function openBucket({
  files,
  filesKey,
}: {
  files: Exclude<NonNullable<Config['files']>, { folder: string }>;
  filesKey: NonNullable<Config['filesKey']>;
}): Promise<Files['store']> {
  const { createS3Store } = await import('./s3-store.ts');
  const { accessKeyId, secretAccessKey, sessionToken } = filesKey;
  return createS3Store(files, {
    accessKeyId,
    secretAccessKey: secretAccessKey.reveal(),
    sessionToken: sessionToken?.reveal() ?? null,
  });
}
