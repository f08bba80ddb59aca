// The way in by IMAP: unread mails of a mailbox are taken in one after another, and marked as read once what they led to is
// stored. A mail that is met again after a crash is known by its Message-ID.
import type { Log } from '../log.ts';
import { backoffDelay } from '../net/backoff.ts';
import { QueueFullError } from '../net/fair-limit.ts';
import { MailboxError, openMailbox, type Mailbox } from '../net/imap-client.ts';
import { ServiceError } from '../services/core/errors.ts';
import { withMail } from '../services/mail/inbound/collect-mail.ts';
import { maxMailBytes } from '../services/mail/inbound/parsed-mail.ts';
import { MailRefusedError } from '../services/mail/inbound/read-mail.ts';
import { receiveMail } from '../services/mail/inbound/receive-mail.ts';
import type { Service } from '../services/service.ts';

export interface MailboxReaderOptions {
  readonly service: Service;
  /** With the password. */
  readonly url: string;
  readonly log: Log;
}

const backoff = { firstMs: 5_000, factor: 2, maxMs: 300_000, jitter: [0.8, 1.2] } as const;
/** A mail that ends the connection, or the reading of it, as often is passed over for a while: it stays unread. */
const maxAttempts = 3;
const passedOverMs = 900_000;
/** Mails that can't be taken now are tried again then. */
const againMs = 60_000;

/** Begins to read. @returns ends it, and waits for the mail that is under way */
export function startMailboxReader(options: MailboxReaderOptions): () => Promise<void> {
  const stop = new AbortController();
  const done = readOn(options, stop.signal);
  return async () => {
    stop.abort();
    await done;
  };
}

async function readOn({ service, url, log }: MailboxReaderOptions, signal: AbortSignal): Promise<void> {
  const { clock } = service.engine;
  const attempts = new Map<number, Attempts>();
  let failures = 0;
  let problem = '';
  while (!signal.aborted) {
    let mailbox: Mailbox | null = null;
    try {
      mailbox = await openMailbox({ url, clock, signal, maxMailBytes });
      await readMailbox(service, { mailbox, attempts, log }, signal, () => {
        if (problem !== '') log.info('the mailbox is read again');
        failures = 0;
        problem = '';
      });
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      const why = error instanceof MailboxError ? error.message : String(error);
      // Once, however often it is tried.
      if (why !== problem) log.warn({ why }, 'the mailbox can’t be read; it is tried again');
      problem = why;
    } finally {
      mailbox?.close();
    }
    await sleep(service, backoffDelay(backoff, Math.max(1, failures)), signal);
  }
}

/** How often a mail was begun and not ended, and when it is begun again, in ms of the clock that only goes on. */
interface Attempts {
  readonly begun: number;
  readonly notBefore: number;
}

interface Reading {
  readonly mailbox: Mailbox;
  readonly attempts: Map<number, Attempts>;
  readonly log: Log;
}

/** @param onPass called when all unread mails were looked at */
async function readMailbox(
  service: Service,
  reading: Reading,
  signal: AbortSignal,
  onPass: () => void,
): Promise<void> {
  const { mailbox, attempts, log } = reading;
  while (!signal.aborted) {
    let waits = false;
    for (const uid of await mailbox.unread()) {
      if (signal.aborted) return;
      const { begun, notBefore } = attempts.get(uid) ?? { begun: 0, notBefore: 0 };
      const now = service.engine.clock.monotonic();
      if (notBefore > now) {
        waits = true;
        continue;
      }
      const isLast = (begun + 1) % maxAttempts === 0;
      if (isLast) log.warn({ uid }, 'a mail of the mailbox ends its reading; the others come first now');
      attempts.set(uid, { begun: begun + 1, notBefore: isLast ? now + passedOverMs : 0 });
      if (await takeMail(service, mailbox, uid, log)) attempts.delete(uid);
      else {
        waits = true;
        attempts.set(uid, { begun: 0, notBefore: service.engine.clock.monotonic() + againMs });
      }
    }
    onPass();
    await mailbox.wait(signal, waits ? againMs : null);
  }
}

/** @returns false: it stays unread, and is tried again */
async function takeMail(service: Service, mailbox: Mailbox, uid: number, log: Log): Promise<boolean> {
  const size = await mailbox.sizeOf(uid);
  if (size === null) return true;
  let refused = size > maxMailBytes ? `it has more than ${maxMailBytes} bytes` : null;
  if (refused === null) {
    const raw = await mailbox.fetch(uid);
    if (raw === null) return true;
    try {
      const outcome = await withMail('mailbox', once(raw), false, (bytes) =>
        receiveMail(service, bytes, { from: null, to: [], application: null }),
      );
      log.debug(
        { uid, outcome: outcome.state, ...(outcome.state === 'ignored' ? { why: outcome.why } : {}) },
        'a mail came',
      );
    } catch (error) {
      if (error instanceof MailRefusedError) refused = error.message;
      else if (
        error instanceof QueueFullError ||
        (error instanceof ServiceError && error.code === 'rate_limit_exceeded')
      )
        return false;
      else throw error;
    }
  }
  if (refused !== null)
    log.warn({ uid, why: refused }, 'a mail of the mailbox can’t be taken; it is flagged');
  await mailbox.markRead(uid, refused !== null);
  return true;
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
  await Promise.resolve();
}

function sleep({ engine: { clock } }: Service, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal.addEventListener('abort', end, { once: true });
    return undefined;
  });
}
