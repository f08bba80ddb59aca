// Files that a command sends with a message: opened before anything is sent, uploaded one after the other.
import { createHash } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { errorCodes, fileLimits, visitorApiPrefix, type ErrorCode } from '../protocol/codes.ts';
import { formatBytes } from '../text/text.ts';
import { asSdkError, isRetryable, sdkError, tryOrUndefined } from '../sdk/error.ts';
import { CommandError } from './errors.ts';
import { readText } from './server-answer.ts';
import { isSdkError, type Remote } from './remote.ts';

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

/** Pauses before another attempt, ms. */
const pauses = [300, 1_500];

/**
 * Uploads files. Where the command runs again with the same key, they are not stored twice.
 * @returns their ids
 * @throws SdkError
 */
export async function uploadAttachments(
  remote: Remote,
  files: readonly OpenAttachment[],
  key: string,
): Promise<string[]> {
  const ids: string[] = [];
  for (const [index, file] of files.entries()) {
    const ofFile = createHash('sha256')
      .update(`${key}:${index}:${file.name}:${file.file.size}`)
      .digest('hex');
    for (let attempt = 0; ; attempt += 1) {
      try {
        ids.push(await upload(remote, file, ofFile));
        break;
      } catch (error) {
        const pause = pauses[attempt];
        if (!isSdkError(error) || !isRetryable(error) || pause === undefined) throw error;
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }
  return ids;
}

async function upload({ signIn }: Remote, { name, file }: OpenAttachment, key: string): Promise<string> {
  let text: string;
  let status: number;
  try {
    const response = await fetch(`${signIn.url}${visitorApiPrefix}/staff/files`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${signIn.token}`,
        'Content-Type': 'application/octet-stream',
        'X-File-Name': encodeURIComponent(name.toWellFormed()),
        'Idempotency-Key': key,
      },
      body: file,
    });
    status = response.status;
    text = await readText(response);
  } catch (error) {
    throw asSdkError(error);
  }
  return readId(text, status);
}

/** The id of the file that was stored. @throws SdkError what the server refused */
function readId(text: string, status: number): string {
  const answer: unknown = tryOrUndefined((): unknown => JSON.parse(text));
  const fields: Readonly<Record<string, unknown>> = isFields(answer) ? answer : {};
  const { file, error, message, retryAfter } = fields;
  if (isFields(file) && typeof file['id'] === 'string') return file['id'];
  throw sdkError(
    isCode(error) ? error : 'internal_error',
    typeof message === 'string' ? message : `HTTP ${status}`,
    status,
    typeof retryAfter === 'number' ? retryAfter : undefined,
  );
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function isCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(errorCodes, value);
}
