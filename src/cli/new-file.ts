// A file that a command makes: only its owner may read it, and none is left when it fails.
import { open, rm, type FileHandle } from 'node:fs/promises';
import { errorCode } from '../net/network-errors.ts';
import { CommandError, messageOf } from './errors.ts';

async function openNew(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'wx', 0o600);
  } catch (error) {
    throw new CommandError(
      errorCode(error) === 'EEXIST'
        ? `${file} exists already. Choose another file, or remove it.`
        : `${file} can't be written: ${messageOf(error)}.`,
      { cause: error },
    );
  }
}

/** Writes all of a text at the end: one call of the system may take less than it was given. */
async function append(handle: FileHandle, file: string, text: string): Promise<void> {
  try {
    await handle.writeFile(text);
  } catch (error) {
    throw new CommandError(
      `${file} can't be written: ${messageOf(error)}. What was written of it is removed; make room, or name a file on another disk.`,
      { cause: error },
    );
  }
}

/** Buffered so much before it goes to the file, in characters. */
const chunk = 262_144;

/**
 * Writes lines into a new file that only its owner may read; none is left when it fails.
 * @throws CommandError when there is one of this name, or it can't be written
 */
export async function writeNew<T>(
  file: string,
  work: (put: (line: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  const handle = await openNew(file);
  try {
    let waiting = '';
    const value = await work(async (line) => {
      waiting += `${line}\n`;
      if (waiting.length < chunk) return;
      await append(handle, file, waiting);
      waiting = '';
    });
    await append(handle, file, waiting);
    await handle.sync();
    await handle.close();
    return value;
  } catch (error) {
    await handle.close();
    await rm(file, { force: true });
    throw error;
  }
}
