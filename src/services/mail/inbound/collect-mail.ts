// Writes mails that are on their way to files of this machine: so many bytes of one source, so many of all. What waits to
// be read counts too. A sender that is refused for lack of room keeps its mail and comes again.
import { randomUUID } from 'node:crypto';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { QueueFullError } from '../../../net/fair-limit.ts';
import { noteSpent } from '../../files/spent-bytes.ts';
import { writeAll } from '../../files/spool.ts';
import { maxMailBytes, type StoredBytes } from './parsed-mail.ts';

/** Two of the largest mails; many of the usual size. */
const maxHeldOfSource = 2 * maxMailBytes;
const maxHeld = 4 * maxHeldOfSource;
/** Beside them, for those who have little on the way: a few who bring large mails slowly leave room for usual ones. */
const maxHeldOfSmall = maxHeldOfSource;
const smallBytes = 1_048_576;

/** A mail that is larger than any that is taken. */
export class MailTooLargeError extends Error {
  override readonly name = 'MailTooLargeError';
}

/** A mail as it comes. */
export interface IncomingMail {
  /** Who brings it: an address, or a key. */
  readonly source: string;
  readonly body: AsyncIterable<Uint8Array>;
  /** What follows on a refusal is read, unkept: an SMTP answer comes behind the last byte. */
  readonly readOn: boolean;
}

/** Bytes held, by source. Of the process. */
const heldOf = new Map<string, number>();
let held = 0;

function hold(source: string, bytes: number): void {
  const own = (heldOf.get(source) ?? 0) + bytes;
  if (own > maxHeldOfSource) throw new QueueFullError(source);
  const most = own > smallBytes ? maxHeld : maxHeld + maxHeldOfSmall;
  if (held + bytes > most) throw new QueueFullError(null);
  heldOf.set(source, own);
  held += bytes;
}

function giveBack(source: string, bytes: number): void {
  held -= bytes;
  const own = (heldOf.get(source) ?? 0) - bytes;
  if (own > 0) heldOf.set(source, own);
  else heldOf.delete(source);
}

/**
 * Collects a mail and has it used; its file, and what was written beside it, is gone when the use has ended. What a crash
 * leaves goes with uploads that were cut off.
 * @param folder where what comes lies until it is stored
 * @returns what the use returns
 * @throws MailTooLargeError; QueueFullError: there is no room now
 */
export async function withMail<T>(
  folder: string,
  { source, body, readOn }: IncomingMail,
  use: (stored: StoredBytes) => Promise<T>,
): Promise<T> {
  const own = join(folder, `${randomUUID()}.partial`);
  const path = join(own, 'mail');
  let size = 0;
  try {
    await mkdir(own, { recursive: true, mode: 0o700 });
    const file = await open(path, 'wx', 0o600);
    try {
      let refusal: Error | null = null;
      for await (const chunk of body) {
        if (refusal !== null) continue;
        try {
          if (size + chunk.length > maxMailBytes) throw new MailTooLargeError();
          hold(source, chunk.length);
          size += chunk.length;
          await writeAll(file, chunk);
          noteSpent(chunk.length);
        } catch (error) {
          if (!(error instanceof Error) || !readOn) throw error;
          refusal = error;
          giveBack(source, size);
          size = 0;
          await file.truncate();
        }
      }
      if (refusal !== null) throw refusal;
    } finally {
      await file.close();
    }
    return await use({ path, size });
  } finally {
    giveBack(source, size);
    await rm(own, { recursive: true, force: true });
  }
}
