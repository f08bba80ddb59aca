// A file that a command makes: only its owner may read it, it gets its name when it is whole, and nothing of it is left when
// the command fails. What a command left that was killed goes with the next one.
import { open, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { giveName, partialEnd, removePartialFiles } from '../engine/partial-files.ts';
import { errorCode } from '../net/network-errors.ts';
import { CommandError, messageOf } from './errors.ts';

function existsAlready(file: string): CommandError {
  return new CommandError(`${file} exists already. Choose another file, or remove it.`);
}

async function openNew(file: string, partial: string): Promise<FileHandle> {
  if ((await stat(file).catch(() => null)) !== null) throw existsAlready(file);
  await removePartialFiles(file, Date.now());
  try {
    return await open(partial, 'wx', 0o600);
  } catch (error) {
    if (errorCode(error) === 'ENOENT')
      throw new CommandError(`There is no folder ${dirname(resolve(file))}. Make it, or choose another.`, {
        cause: error,
      });
    const why = messageOf(error).replaceAll(partial, file);
    throw new CommandError(`${file} can't be written: ${why}.`, { cause: error });
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
  const partial = file + partialEnd();
  const handle = await openNew(file, partial);
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
    if (!(await giveName(partial, file))) throw existsAlready(file);
    return value;
  } finally {
    await handle.close();
    await rm(partial, { force: true });
  }
}
