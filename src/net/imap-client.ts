// Reads a mailbox by IMAP: finds unread mails, fetches them, marks them and waits for others. imapflow speaks the protocol;
// it is loaded where a mailbox is read. What the server sends is bounded, and so is the time for an answer.
import { Transform } from 'node:stream';
import type { FetchMessageObject, FetchQueryObject, ImapFlow } from 'imapflow';
import type { Clock } from '../engine/engine.ts';
import { ImapAnswers } from './imap-answers.ts';
import { readMailboxUrl } from './mail-server-url.ts';
import { describeNetworkError } from './network-errors.ts';
import { offeredCiphers } from './tls-ciphers.ts';

/** What went wrong with a mailbox, for people. Holds no password. */
export class MailboxError extends Error {
  override readonly name = 'MailboxError';
}

export interface Mailbox {
  /** The unread mails, oldest first, some at a time: a mailbox may have any number of them. */
  unread(): AsyncGenerator<readonly number[]>;
  /** How many bytes a mail has; null: it is not there any more. */
  sizeOf(uid: number): Promise<number | null>;
  /** A mail's bytes, without marking it, in stretches; none: it is not there any more. */
  fetch(uid: number): AsyncGenerator<Uint8Array>;
  /** Marks a mail as read, and for people where `flagged`. */
  markRead(uid: number, flagged: boolean): Promise<void>;
  /** Ends when there may be other mails, or after a while. @param atMostMs null: as long as a connection lets one listen */
  wait(signal: AbortSignal, atMostMs: number | null): Promise<void>;
  close(): void;
}

export interface MailboxOptions {
  /** As `readMailboxUrl` reads it. */
  readonly url: string;
  readonly clock: Pick<Clock, 'after'>;
  /** Ends the connection. */
  readonly signal: AbortSignal;
  /** The largest mail that is fetched. */
  readonly maxMailBytes: number;
}

/** Of how many mails it is asked at once which of them are unread. */
const rangeMails = 500;
/** Of a mail, at once. */
const stretchBytes = 1_048_576;
/** A second wall: what `ImapAnswers` lets through stays far below it. */
const maxLineBytes = 65_536;
/** For one answer. */
const answerMs = 60_000;
/** For a stretch of a mail, over a slow line. */
const mailMs = 600_000;
/** A server may end an IDLE after half an hour, and a router forgets it sooner. */
const idleMs = 9 * 60_000;
/** Where the server tells of nothing by itself. */
const pollMs = 60_000;

/**
 * Connects, signs in and opens the mailbox. A password travels encrypted, or stays on this machine.
 * @throws MailboxError
 */
export async function openMailbox(options: MailboxOptions): Promise<Mailbox> {
  const url = readMailboxUrl(options.url);
  if (url === null) throw new MailboxError('the address of the mailbox is not valid');
  const { ImapFlow: Client } = await import('imapflow');
  const secure = url.protocol === 'imaps:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const isLocal = host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
  const client = new Client({
    host,
    port: Number(url.port === '' ? (secure ? '993' : '143') : url.port),
    secure,
    // Left open, it is encrypted where the server can.
    ...(secure || isLocal ? {} : { doSTARTTLS: true }),
    auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) },
    tls: { ciphers: offeredCiphers },
    disableAutoIdle: true,
    disableCompression: true,
    logger: false,
    maxLineLength: maxLineBytes,
    maxLiteralSize: stretchBytes,
    maxResponseSize: stretchBytes + maxLineBytes,
  });
  const session = new Session(client, options);
  try {
    await session.open(decodeURIComponent(url.pathname.slice(1)) || 'INBOX');
    return session;
  } catch (error) {
    session.close();
    throw error;
  }
}

class Session implements Mailbox {
  readonly #client: ImapFlow;
  readonly #options: MailboxOptions;
  readonly #answers = new ImapAnswers();
  readonly #abort = (): void => this.close();
  /** Mails may have come since they were asked for. */
  #news = false;
  /** How many mails were unread when all were last looked at, and how many have come since that began. */
  #found = Infinity;
  #came = 0;
  /** How many mails of the mailbox, by their place in it, the look that is under way has behind it. */
  #looked = 0;
  #wake = (): void => undefined;

  constructor(client: ImapFlow, options: MailboxOptions) {
    this.#client = client;
    this.#options = options;
    // Everything that it reads goes through it, be it encrypted or not; the library names no other place before it reads.
    const reader: unknown = Reflect.get(client, 'streamer');
    if (!(reader instanceof Transform)) throw new Error('imapflow reads answers in another way');
    this.#answers.guard(reader, () => !client.secureConnection && client.authenticated === false);
    client.on('exists', ({ count, prevCount }) => {
      this.#came += Math.max(0, count - prevCount);
      this.#news = true;
      this.#wake();
    });
    // Those behind it move up.
    client.on('expunge', ({ seq = Infinity }) => {
      if (seq <= this.#looked) this.#looked -= 1;
    });
    // What is under way hears of it too; without a listener it would end the process.
    client.on('error', () => this.#wake());
    client.on('close', () => this.#wake());
  }

  async open(mailbox: string): Promise<void> {
    const { signal } = this.#options;
    signal.addEventListener('abort', this.#abort, { once: true });
    if (signal.aborted) this.#abort();
    await this.#ask(() => this.#client.connect(), 'it is no IMAP server, or is busy');
    await this.#ask(() => this.#client.mailboxOpen(mailbox), 'there is no such mailbox');
  }

  async *unread(): AsyncGenerator<readonly number[]> {
    this.#news = false;
    const fitOneAnswer = this.#found + this.#came <= rangeMails || this.#exists() === 0;
    this.#found = Infinity;
    this.#came = 0;
    let found = 0;
    if (fitOneAnswer) {
      const all = await this.#search();
      found = all.length;
      yield all;
    } else {
      this.#looked = 0;
      for (let exists = this.#exists(); this.#looked < exists; exists = this.#exists()) {
        const from = this.#looked + 1;
        // Said before it is asked: what goes while it is answered moves it.
        this.#looked = Math.min(exists, this.#looked + rangeMails);
        const some = await this.#search(`${from}:${this.#looked}`);
        found += some.length;
        yield some;
      }
    }
    this.#found = found;
  }

  async sizeOf(uid: number): Promise<number | null> {
    return (await this.#one(uid, { uid: true, size: true }))?.size ?? null;
  }

  async *fetch(uid: number): AsyncGenerator<Uint8Array> {
    // Up to the last stretch, not up to the size that was told: some servers only guess it.
    for (let start = 0; start <= this.#options.maxMailBytes; start += stretchBytes) {
      const { source } =
        (await this.#one(uid, { uid: true, source: { start, maxLength: stretchBytes } })) ?? {};
      if (source !== undefined) yield source;
      if (source === undefined || source.length < stretchBytes) return;
    }
  }

  async markRead(uid: number, flagged: boolean): Promise<void> {
    const flags = flagged ? [String.raw`\Seen`, String.raw`\Flagged`] : [String.raw`\Seen`];
    const problem = 'a mail can’t be marked';
    const done = await this.#ask(
      () => this.#client.messageFlagsAdd(String(uid), flags, { uid: true }),
      problem,
    );
    if (!done) throw this.#failure(problem);
  }

  async wait(signal: AbortSignal, atMostMs: number | null): Promise<void> {
    if (this.#news || signal.aborted || !this.#client.usable) return;
    this.#answers.expect();
    const ended = Promise.withResolvers<void>();
    this.#wake = () => ended.resolve();
    const canIdle = this.#client.capabilities.has('IDLE');
    const cancel = this.#options.clock.after(
      Math.min(canIdle ? idleMs : pollMs, atMostMs ?? Infinity),
      this.#wake,
    );
    signal.addEventListener('abort', this.#wake, { once: true });
    try {
      // The next question ends it. Where the server refuses it or ends it, mails are asked for as without it.
      if (canIdle) void this.#idle();
      await ended.promise;
    } finally {
      cancel();
      signal.removeEventListener('abort', this.#wake);
      this.#wake = () => undefined;
    }
  }

  close(): void {
    this.#options.signal.removeEventListener('abort', this.#abort);
    this.#client.close();
    this.#wake();
  }

  /** How many mails there are. */
  #exists(): number {
    const { mailbox } = this.#client;
    // Not none: who reads would take it for an empty mailbox.
    if (mailbox === false) throw this.#failure('the mail server ended the connection');
    return mailbox.exists;
  }

  /** The unread mails. @param places of those that are looked at; left out: all */
  async #search(places?: string): Promise<readonly number[]> {
    const problem = 'it can’t be searched';
    const query = { ...(places === undefined ? {} : { seq: places }), seen: false };
    const found = await this.#ask(() => this.#client.search(query, { uid: true }), problem);
    if (found === undefined || found === false) throw this.#failure(problem);
    return found.toSorted((one, other) => one - other);
  }

  /** What was asked of a mail. What a server tells of mails in between is no answer to it. */
  #one(uid: number, query: FetchQueryObject): Promise<FetchMessageObject | undefined> {
    return this.#ask(
      async () => {
        let found: FetchMessageObject | undefined;
        for await (const told of this.#client.fetch(String(uid), query, { uid: true }))
          if (told.uid === uid && (told.size !== undefined || told.source !== undefined)) found = told;
        return found;
      },
      'a mail can’t be read',
      { ms: mailMs, mailBytes: stretchBytes },
    );
  }

  async #idle(): Promise<void> {
    const wake = this.#wake;
    try {
      await this.#client.idle();
      if (this.#wake === wake) this.#options.clock.after(pollMs, wake);
    } catch {
      this.#wake();
    }
  }

  /** Asks the server something. @throws MailboxError */
  async #ask<T>(work: () => Promise<T>, problem: string, { ms = answerMs, mailBytes = 0 } = {}): Promise<T> {
    let isLate = false;
    this.#answers.expect(mailBytes);
    const cancel = this.#options.clock.after(ms, () => {
      isLate = true;
      this.#client.close();
    });
    try {
      return await work();
    } catch (error) {
      throw this.#failure(isLate ? 'the mail server did not answer in time' : explain(error, problem), error);
    } finally {
      cancel();
    }
  }

  /** Where we gave the connection up, the library tells of its end alone. */
  #failure(why: string, cause?: unknown): MailboxError {
    return new MailboxError(this.#answers.refusal?.message ?? why, { cause });
  }
}

/** What went wrong. Of a refused sign-in nothing that the server said: servers repeat what they were told. */
function explain(error: unknown, problem: string): string {
  const broken = describeNetworkError(error);
  if (broken !== undefined) return broken;
  if (typeof error === 'object' && error !== null) {
    if ('authenticationFailed' in error) return 'the mail server refused the user name or the password';
    if ('tlsFailed' in error) return 'the mail server offers no encrypted connection';
    if ('responseText' in error && typeof error.responseText === 'string')
      return `${problem} (${error.responseText.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 200)})`;
    if ('code' in error && (error.code === 'NoConnection' || error.code === 'EConnectionClosed'))
      return 'the mail server ended the connection';
  }
  return problem;
}
