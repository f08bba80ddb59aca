// The master key: from the environment, or from a file in the data folder that only
// its owner may read. Never made anew where a database exists that needs the old one.
import { randomBytes } from 'node:crypto';
import { chmod, open, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Redacted } from './config.ts';
import {
  databaseExists,
  EngineError,
  errorMessage,
  ownerAdvice,
  systemErrorCode,
} from './engine/open-engine.ts';

const keyBytes = 32;

export const secretKeyFile = (folder: string): string => join(folder, 'secret.key');

/**
 * @param folder a prepared data folder
 * @param given the key in base64 from the environment, or null
 * @returns 32 bytes
 * @throws EngineError when the key is missing, malformed, readable by others, or two keys disagree
 */
export async function loadMasterKey(folder: string, given: Redacted | null): Promise<Uint8Array> {
  const file = secretKeyFile(folder);
  const kept = await readKept(file);
  if (given !== null) {
    const key = Buffer.from(givenMasterKey(given));
    if (kept !== null && !key.equals(kept))
      throw new EngineError(
        `DESKBELL_SECRET_KEY and ${file} hold different keys. Remove the one that is not this database's.`,
      );
    return key;
  }
  if (kept !== null) return kept;
  if (await databaseExists(folder))
    throw new EngineError(
      `The database in ${folder} needs its secret key, and ${file} is missing. Put it back, or set DESKBELL_SECRET_KEY; nothing was changed.`,
    );
  return makeKey(file);
}

/** The key that `DESKBELL_SECRET_KEY` holds. @throws EngineError when it is malformed */
export function givenMasterKey(given: Redacted): Uint8Array {
  return decode(given.reveal(), 'DESKBELL_SECRET_KEY');
}

async function readKept(file: string): Promise<Buffer | null> {
  let text: string;
  try {
    const { mode } = await stat(file);
    if ((mode & 0o077) !== 0)
      throw new EngineError(
        `${file} can be read by others on this machine. Take their rights away: chmod 600 ${file}`,
      );
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return null;
    if (error instanceof EngineError) throw error;
    const advice = systemErrorCode(error) === 'EACCES' ? ` ${ownerAdvice(dirname(file))}` : '';
    throw new EngineError(`${file} can't be read: ${errorMessage(error)}.${advice}`, { cause: error });
  }
  return decode(text, file);
}

function decode(text: string, source: string): Buffer {
  const trimmed = text.trim();
  const key = Buffer.from(trimmed, 'base64');
  if (!/^[A-Za-z0-9+/]{43}=?$/.test(trimmed) || key.length !== keyBytes)
    throw new EngineError(
      `${source} must hold a key of ${keyBytes} bytes in base64. Put the right key there; nothing was changed.`,
    );
  return key;
}

async function makeKey(file: string): Promise<Buffer> {
  const key = randomBytes(keyBytes);
  // `wx`: of two first runs at once, one makes the key and the other reads it.
  try {
    const handle = await open(file, 'wx', 0o600);
    try {
      await handle.writeFile(`${key.toString('base64')}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await chmod(file, 0o600);
    return key;
  } catch (error) {
    const kept = systemErrorCode(error) === 'EEXIST' ? await readKept(file) : null;
    if (kept !== null) return kept;
    throw new EngineError(`The secret key ${file} can't be written: ${errorMessage(error)}.`, {
      cause: error,
    });
  }
}
