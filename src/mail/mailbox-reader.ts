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
  /** How many mails may wait that can't be taken now. */
  readonly maxWaiting?: number;
}

const backoff = { firstMs: 5_000, factor: 2, maxMs: 300_000, jitter: [0.8, 1.2] } as const;
/** A mail that ends the connection, or the reading of it, as often is passed over for a while: it stays unread. */
const maxAttempts = 3;
const passedOverMs = 900_000;
/** So many mails wait at most; those behind them stay where they are until there is room. */
const maxWaitingMails = 100_000;
/** Mails for which there is no room now, and those for which something else is away, are tried again then. */
const busyMs = 60_000;
const unavailableMs = 300_000;
/** How often it is said that mails lead nowhere. */
const astrayEveryMs = 3_600_000;

/** Begins to read. @returns ends it, and waits for the mail that is under way */
export function startMailboxReader(options: MailboxReaderOptions): () => Promise<void> {
  const stop = new AbortController();
  const done = readOn(options, stop.signal);
  return async () => {
    stop.abort();
    await done;
  };
}

async function readOn(options: MailboxReaderOptions, signal: AbortSignal): Promise<void> {
  const { service, url, log, maxWaiting = maxWaitingMails } = options;
  const { clock } = service.engine;
  const attempts = new Map<number, Attempts>();
  const astray: Astray = { count: 0, saidAt: null };
  let failures = 0;
  let problem = '';
  while (!signal.aborted) {
    let mailbox: Mailbox | null = null;
    try {
      mailbox = await openMailbox({ url, clock, signal, maxMailBytes });
      await readMailbox(service, { mailbox, attempts, maxWaiting, astray, log }, signal, () => {
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
  readonly maxWaiting: number;
  readonly astray: Astray;
  readonly log: Log;
}

/** Mails that led nowhere since it was last said. */
interface Astray {
  count: number;
  saidAt: number | null;
}

/** @param onPass called when all unread mails were looked at */
async function readMailbox(
  service: Service,
  reading: Reading,
  signal: AbortSignal,
  onPass: () => void,
): Promise<void> {
  while (!signal.aborted) {
    const waitMs = await takeUnread(service, reading, signal);
    if (signal.aborted) return;
    onPass();
    await reading.mailbox.wait(signal, waitMs);
  }
}

/** Takes the unread mails one after another. @returns after how many ms one of them is due; null: none waits */
async function takeUnread(service: Service, reading: Reading, signal: AbortSignal): Promise<number | null> {
  const { mailbox, attempts, maxWaiting } = reading;
  const { clock } = service.engine;
  const queue: Queue = { waiting: 0 };
  const waiting = new Set<number>();
  let isFull = false;
  for await (const some of mailbox.unread())
    for (const uid of some) {
      if (signal.aborted) return null;
      // None before its turn, also where others made room.
      isFull ||= attempts.size >= maxWaiting;
      if (isFull && !attempts.has(uid)) continue;
      await takeOrWait(service, reading, uid, queue);
      if (attempts.has(uid)) waiting.add(uid);
    }
  for (const uid of attempts.keys()) if (!waiting.has(uid)) attempts.delete(uid);
  let soonest = isFull && attempts.size < maxWaiting ? 0 : Infinity;
  for (const { notBefore } of attempts.values()) soonest = Math.min(soonest, notBefore);
  return soonest === Infinity ? null : Math.max(1_000, soonest - clock.monotonic());
}

/** Takes a mail, unless it waits; afterwards it is done with, or waits. */
async function takeOrWait(service: Service, reading: Reading, uid: number, queue: Queue): Promise<void> {
  const { attempts, log } = reading;
  const { clock } = service.engine;
  const { begun, notBefore } = attempts.get(uid) ?? { begun: 0, notBefore: 0 };
  const now = clock.monotonic();
  if (notBefore > now) return;
  const isLast = (begun + 1) % maxAttempts === 0;
  if (isLast) log.warn({ uid }, 'a mail of the mailbox ends its reading; the others come first now');
  attempts.set(uid, { begun: begun + 1, notBefore: isLast ? now + passedOverMs : 0 });
  const againMs = await takeMail(service, reading, uid, queue);
  if (againMs === null) attempts.delete(uid);
  else attempts.set(uid, { begun: 0, notBefore: clock.monotonic() + againMs });
}

/** Mails of this pass that wait for the limit of their application. */
interface Queue {
  waiting: number;
}

/** @returns null: it is done with; else after how many ms it is tried again: it stays unread until then */
async function takeMail(
  service: Service,
  { mailbox, astray, log }: Reading,
  uid: number,
  queue: Queue,
): Promise<number | null> {
  const size = await mailbox.sizeOf(uid);
  if (size === null) return null;
  let refused = size > maxMailBytes ? `it has more than ${maxMailBytes} bytes` : null;
  if (refused === null) {
    const incoming = { source: 'mailbox', body: mailbox.fetch(uid), readOn: false };
    try {
      const outcome = await withMail(service.files.incomingFolder, incoming, async (stored) =>
        stored.size === 0 ? null : receiveMail(service, stored, { from: null, to: [], application: null }),
      );
      if (outcome === null) return null;
      log.debug(
        { uid, outcome: outcome.state, ...(outcome.state === 'ignored' ? { why: outcome.why } : {}) },
        'a mail came',
      );
      if (outcome.state === 'ignored' && outcome.astray !== undefined)
        sayAstray(service, log, astray, outcome.astray);
    } catch (error) {
      if (error instanceof MailRefusedError) refused = error.message;
      else {
        const againMs = tryAgainMs(error, queue);
        if (againMs === null) throw error;
        if (error instanceof ServiceError && error.code === 'unavailable')
          log.warn(
            { uid, why: error.message, cause: error.cause },
            'a mail of the mailbox waits; it stays unread',
          );
        return againMs;
      }
    }
  }
  if (refused !== null)
    log.warn({ uid, why: refused }, 'a mail of the mailbox can’t be taken; it is flagged');
  await mailbox.markRead(uid, refused !== null);
  return null;
}

/**
 * When a mail that can't be taken now is fetched again; not sooner, because each time costs all of its bytes. Those that
 * wait for the limit of an application come as many at a time as it lets through.
 * @returns ms; null: the error says nothing about the mail
 */
function tryAgainMs(error: unknown, queue: Queue): number | null {
  if (error instanceof QueueFullError) return busyMs;
  if (!(error instanceof ServiceError)) return null;
  if (error.code === 'unavailable') return unavailableMs;
  const { limit } = error.context;
  if (error.code !== 'rate_limit_exceeded' || limit === undefined) return null;
  if (limit.cause !== 'per_application') return limit.retryAfterMs;
  const windows = Math.floor(queue.waiting / Math.max(1, limit.window.limit));
  queue.waiting += 1;
  return limit.retryAfterMs + windows * limit.window.windowMs;
}

/** Tells the owner that mails of people lead nowhere: at once, then once an hour at most. */
function sayAstray(
  { engine: { clock } }: Service,
  log: Log,
  astray: Astray,
  recipients: readonly string[],
): void {
  astray.count += 1;
  const now = clock.monotonic();
  if (astray.saidAt !== null && now < astray.saidAt + astrayEveryMs) return;
  // What stands behind a plus may be a token.
  const to = recipients.slice(0, 5).map((address) => address.replace(/\+[^@]*@/, '+…@'));
  log.warn(
    { mails: astray.count, to },
    'mails of the mailbox are addressed to no conversation and to no inbox; they are marked as read. Is DESKBELL_MAIL_ADDRESS the address of this mailbox, and email.address that of the inbox?',
  );
  astray.count = 0;
  astray.saidAt = now;
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
