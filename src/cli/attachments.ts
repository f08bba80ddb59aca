// Files that a command sends with a message: opened before anything is sent, uploaded one after the other.
import { createHash } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileLimits, visitorApiPrefix } from '../protocol/codes.ts';
import { formatBytes } from '../text/text.ts';
import { CommandError } from './errors.ts';
import type { Remote } from './remote.ts';

export interface OpenAttachment {
  readonly name: string;
  readonly file: Blob;
}

/** @throws CommandError for a file that is not there, empty, or too large */
export async function openAttachments(paths: readonly string[]): Promise<OpenAttachment[]> {
  const files: OpenAttachment[] = [];
  for (const path of paths) {
    const found = await stat(path).catch(() => null);
    if (found?.isFile() !== true) throw new CommandError(`There is no file ${path}.`);
    if (found.size === 0) throw new CommandError(`${path} is empty, and can't be sent.`);
    if (found.size > fileLimits.staffBytes)
      throw new CommandError(
        `${path} has ${formatBytes(found.size)}, and a file may have ${formatBytes(fileLimits.staffBytes)}. Send a link instead.`,
      );
    files.push({ name: basename(path), file: await openAsBlob(path) });
  }
  return files;
}

/**
 * Uploads files. Where the command runs again with the same key, they are not stored twice.
 * @returns their ids
 * @throws SdkError
 */
export async function uploadAttachments(
  { signIn }: Remote,
  files: readonly OpenAttachment[],
  key: string,
): Promise<string[]> {
  if (files.length === 0) return [];
  const { uploadFile } = await import('../sdk/files.ts');
  const target = {
    address: `${signIn.url}${visitorApiPrefix}/staff/files`,
    headers: { Authorization: `Bearer ${signIn.token}` },
  };
  const ids: string[] = [];
  for (const [index, { name, file }] of files.entries()) {
    const ofFile = createHash('sha256').update(`${key}:${index}:${name}:${file.size}`).digest('hex');
    const { id } = await uploadFile(target, new File([file], name), { key: ofFile });
    ids.push(id);
  }
  return ids;
}
