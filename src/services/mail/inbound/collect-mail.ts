// Holds the bytes of mails that are on their way: so many of one source, so many of all. What waits to be read counts
// too. A sender that is refused for lack of room keeps its mail and comes again.
import { QueueFullError } from '../../../net/fair-limit.ts';
import { maxMailBytes } from './parsed-mail.ts';

/** Two of the largest mails; many of the usual size. */
const maxHeldOfSource = 2 * maxMailBytes;
const maxHeld = 4 * maxHeldOfSource;

/** A mail that is larger than any that is taken. */
export class MailTooLargeError extends Error {
  override readonly name = 'MailTooLargeError';
}

/** Bytes held, by source. Of the process, whose memory it is. */
const heldOf = new Map<string, number>();
let held = 0;

function hold(source: string, bytes: number): void {
  const own = (heldOf.get(source) ?? 0) + bytes;
  if (own > maxHeldOfSource) throw new QueueFullError(true);
  if (held + bytes > maxHeld) throw new QueueFullError(false);
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
 * Collects a mail and has it used; its room is given back when the use has ended.
 * @param source who brings it: an address, or a key
 * @param readOn reads what follows on a refusal, unkept: an SMTP answer comes behind the last byte
 * @returns what the use returns
 * @throws MailTooLargeError; QueueFullError: there is no room now
 */
export async function withMail<T>(
  source: string,
  body: AsyncIterable<Uint8Array>,
  readOn: boolean,
  use: (raw: Uint8Array) => Promise<T>,
): Promise<T> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let refusal: Error | null = null;
  const drop = (): void => {
    giveBack(source, size);
    size = 0;
    chunks.length = 0;
  };
  try {
    for await (const chunk of body) {
      if (refusal !== null) continue;
      try {
        if (size + chunk.length > maxMailBytes) throw new MailTooLargeError();
        hold(source, chunk.length);
        size += chunk.length;
        chunks.push(chunk);
      } catch (error) {
        if (!(error instanceof Error) || !readOn) throw error;
        refusal = error;
        drop();
      }
    }
    if (refusal !== null) throw refusal;
    const raw = Buffer.concat(chunks);
    chunks.length = 0;
    return await use(raw);
  } finally {
    drop();
  }
}
