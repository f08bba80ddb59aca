// The master key: from the environment, or from a file in the data folder that only
// its owner may read. Never made anew where a database exists that needs the old one.
import { randomBytes } from 'node:crypto';
import { chmod, open, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Redacted } from './config.ts';
import {
  databaseExists,
  EngineError,
  errorMessage,
  giveName,
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
  // It has its name once it is complete: an empty one, of a full disk or a first run that was killed, would refuse all later ones.
  const draft = `${file}.${randomBytes(6).toString('hex')}.new`;
  try {
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(`${key.toString('base64')}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await chmod(draft, 0o600);
    // Of two first runs at once, one makes the key and the other reads it.
    if (await giveName(draft, file)) return key;
  } catch (error) {
    throw new EngineError(
      `The secret key ${file} can't be written: ${errorMessage(error)}. Give the folder room and this user the right to write there, or choose another with --data.`,
      { cause: error },
    );
  } finally {
    await rm(draft, { force: true });
  }
  const kept = await readKept(file);
  if (kept !== null) return kept;
  throw new EngineError(`${file} leads to no file. Remove it, or put the key where it leads.`);
}
