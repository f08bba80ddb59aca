// Which store of files and which scanner the configuration means. What it does not mean is not loaded.
import { join } from 'node:path';
import type { Config } from '../config.ts';
import type { Files } from '../services/files/file-store.ts';
import { createFolderStore } from './folder-store.ts';

/** Touches nothing yet: the folder is made by the first file. */
export async function openFiles({ data, files, filesUrl, filesKey, clamd }: Config): Promise<Files> {
  const folder = join(data, 'files');
  const bucket = files === null || filesKey === null ? null : { files, filesKey };
  return {
    store: bucket === null ? createFolderStore(folder) : await openBucket(bucket),
    scanner: clamd === null ? null : (await import('./clamd.ts')).createClamdScanner(clamd),
    incomingFolder: join(folder, 'incoming'),
    publicUrl: filesUrl,
  };
}

async function openBucket({
  files,
  filesKey,
}: {
  files: NonNullable<Config['files']>;
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
