// Reads a mailbox by IMAP (RFC 9051 and 3501): as little of it as it takes to find unread mails, fetch them, mark them and
// wait for others. Answers are bounded; what does not fit the protocol ends the connection.
import { connect, type Socket } from 'node:net';
import { connect as connectSecurely, type TLSSocket } from 'node:tls';
import type { Clock } from '../engine/engine.ts';
import { readMailboxUrl } from './mail-server-url.ts';
import { describeNetworkError } from './network-errors.ts';

/** What went wrong with a mailbox, for people. Holds no password. */
export class MailboxError extends Error {
  override readonly name = 'MailboxError';
}

export interface Mailbox {
  /** The unread mails, oldest first. */
  unread(): Promise<readonly number[]>;
  /** How many bytes a mail has; null: it is not there any more. */
  sizeOf(uid: number): Promise<number | null>;
  /** A mail's bytes, without marking it; null: it is not there any more. */
  fetch(uid: number): Promise<Buffer | null>;
  /** Marks a mail as read, and for people where `flagged`. */
  markRead(uid: number, flagged: boolean): Promise<void>;
  /** Ends when there may be other mails, or after a while. */
  wait(signal: AbortSignal): Promise<void>;
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

const maxLineBytes = 1_048_576;
/** Answers that were not looked at yet. */
const maxAnswers = 10_000;
/** For one answer. */
const answerMs = 60_000;
/** A server may end an IDLE after half an hour, and a router forgets it sooner. */
const idleMs = 9 * 60_000;
/** Where the server tells of nothing by itself. */
const pollMs = 60_000;

/** One answer of the server: its line, and the bytes that were counted out in it. */
interface Answer {
  readonly text: string;
  readonly literals: readonly Buffer[];
}

/**
 * Connects, signs in and opens the mailbox.
 * @throws MailboxError
 */
export async function openMailbox(options: MailboxOptions): Promise<Mailbox> {
  const url = readMailboxUrl(options.url);
  if (url === null) throw new MailboxError('the address of the mailbox is not valid');
  const session = new Session(url, options);
  try {
    await session.open();
    return session;
  } catch (error) {
    session.close();
    throw session.explain(error);
  }
}

class Session implements Mailbox {
  readonly #url: URL;
  readonly #options: MailboxOptions;
  readonly #host: string;
  readonly #abort = (): void => this.#end(new MailboxError('it was ended'));
  #socket: Socket | TLSSocket | null = null;
  #input = Buffer.alloc(0);
  /** The answer that is being read: what came of its line, and of its counted bytes. */
  #line = '';
  #literals: Buffer[] = [];
  #wanted = 0;
  #parts: Buffer[] = [];
  #answers: Answer[] = [];
  #wake = (): void => undefined;
  #failure: Error | null = null;
  #number = 0;
  #capabilities = new Set<string>();
  /** Mails may have come since they were asked for. */
  #news = false;

  constructor(url: URL, options: MailboxOptions) {
    this.#url = url;
    this.#options = options;
    this.#host = url.hostname.replace(/^\[|\]$/g, '');
  }

  async open(): Promise<void> {
    const { signal } = this.#options;
    signal.addEventListener('abort', this.#abort, { once: true });
    if (signal.aborted) this.#abort();
    const secure = this.#url.protocol === 'imaps:';
    const port = Number(this.#url.port === '' ? (secure ? '993' : '143') : this.#url.port);
    const target = { host: this.#host, port };
    this.#listen(secure ? connectSecurely({ ...target, ...this.#name() }) : connect(target));
    const greeting = await this.#next();
    if (!/^\* (?:OK|PREAUTH)\b/i.test(greeting.text))
      throw new MailboxError('it is no IMAP server, or is busy');
    await this.#readCapabilities();
    if (!secure) await this.#upgrade();
    if (!/^\* PREAUTH\b/i.test(greeting.text)) await this.#signIn();
    await this.#readCapabilities();
    const mailbox = decodeURIComponent(this.#url.pathname.slice(1)) || 'INBOX';
    await this.#command(`SELECT ${quote(mailbox)}`, 'there is no such mailbox');
  }

  async unread(): Promise<readonly number[]> {
    this.#news = false;
    const answers = await this.#command('UID SEARCH UNSEEN', 'it can’t be searched');
    return answers
      .flatMap(({ text }) => /^\* SEARCH((?: \d+)*)\s*$/i.exec(text)?.[1]?.trim().split(' ') ?? [])
      .filter((one) => one !== '')
      .map(Number)
      .toSorted((one, other) => one - other);
  }

  async sizeOf(uid: number): Promise<number | null> {
    const answers = await this.#command(`UID FETCH ${uid} (UID RFC822.SIZE)`, 'a mail can’t be read');
    for (const { text } of answers) {
      const size = /^\* \d+ FETCH .*\bRFC822\.SIZE (\d+)/i.exec(text)?.[1];
      if (size !== undefined && isOf(text, uid)) return Number(size);
    }
    return null;
  }

  async fetch(uid: number): Promise<Buffer | null> {
    const answers = await this.#command(`UID FETCH ${uid} (UID BODY.PEEK[])`, 'a mail can’t be read');
    for (const { text, literals } of answers)
      if (/^\* \d+ FETCH .*\bBODY\[\] \0/i.test(text) && isOf(text, uid)) return literals[0] ?? null;
    return null;
  }

  async markRead(uid: number, flagged: boolean): Promise<void> {
    const flags = flagged ? String.raw`\Seen \Flagged` : String.raw`\Seen`;
    await this.#command(`UID STORE ${uid} +FLAGS.SILENT (${flags})`, 'a mail can’t be marked');
  }

  async wait(signal: AbortSignal): Promise<void> {
    if (this.#news) return;
    const ended = Promise.withResolvers<void>();
    const stop = (): void => ended.resolve();
    const canIdle = this.#capabilities.has('IDLE');
    const cancel = this.#options.clock.after(canIdle ? idleMs : pollMs, stop);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      if (!canIdle) {
        await ended.promise;
        return;
      }
      const tag = this.#send('IDLE');
      let isOver = false;
      const over = ended.promise.then(() => {
        isOver = true;
        this.#wake();
      });
      while (!isOver && !this.#news) await this.#heard();
      stop();
      await over;
      this.#write('DONE\r\n');
      await this.#tagged(tag, 'it can’t be listened to');
    } finally {
      cancel();
      signal.removeEventListener('abort', stop);
    }
  }

  close(): void {
    this.#options.signal.removeEventListener('abort', this.#abort);
    this.#end(new MailboxError('the connection was closed'));
  }

  /** What went wrong, without anything that the server said of the password. */
  explain(error: unknown): MailboxError {
    if (error instanceof MailboxError) return error;
    return new MailboxError(describeNetworkError(error) ?? 'the connection broke off', { cause: error });
  }

  #name(): { servername?: string } {
    return /^[\d.]+$|:/.test(this.#host) ? {} : { servername: this.#host };
  }

  #listen(socket: Socket | TLSSocket): void {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      try {
        this.#read(chunk);
      } catch (error) {
        this.#end(error instanceof Error ? error : new MailboxError(String(error)));
      }
    });
    socket.on('error', (error: Error) => this.#end(error));
    socket.on('close', () => this.#end(new MailboxError('the mail server ended the connection')));
  }

  #end(error: Error): void {
    this.#failure ??= error;
    this.#socket?.destroy();
    this.#wake();
  }

  /** Takes bytes in: lines, and in them counted bytes behind `{n}`. */
  #read(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#wanted > 0) {
        const part = rest.subarray(0, this.#wanted);
        this.#parts.push(part);
        this.#wanted -= part.length;
        rest = rest.subarray(part.length);
        if (this.#wanted === 0) this.#literals.push(Buffer.concat(this.#parts.splice(0)));
        continue;
      }
      const end = rest.indexOf(0x0a);
      const piece = end < 0 ? rest : rest.subarray(0, end);
      if (this.#input.length + this.#line.length + piece.length > maxLineBytes)
        throw new MailboxError('the mail server answers with endless lines');
      this.#input = this.#input.length === 0 ? Buffer.from(piece) : Buffer.concat([this.#input, piece]);
      if (end < 0) return;
      rest = rest.subarray(end + 1);
      this.#endLine(this.#input.toString('latin1').replace(/\r$/, ''));
      this.#input = Buffer.alloc(0);
    }
  }

  #endLine(piece: string): void {
    const counted = /^(.*)\{(\d{1,12})\}$/.exec(piece);
    if (counted !== null) {
      const size = Number(counted[2]);
      if (size > this.#options.maxMailBytes)
        throw new MailboxError('the mail server sends more than was asked for');
      // U+0000 stands for the bytes: no line has one.
      this.#line += `${(counted[1] ?? '').replaceAll('\0', '')}\0`;
      this.#wanted = size;
      if (size === 0) this.#literals.push(Buffer.alloc(0));
      return;
    }
    const answer = { text: this.#line + piece.replaceAll('\0', ''), literals: this.#literals };
    this.#line = '';
    this.#literals = [];
    if (/^\* \d+ EXISTS\b/i.test(answer.text)) this.#news = true;
    if (this.#answers.length >= maxAnswers) throw new MailboxError('the mail server answers without end');
    this.#answers.push(answer);
    this.#wake();
  }

  /** Waits for anything that the server says. */
  async #heard(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    if (this.#failure !== null) throw this.explain(this.#failure);
    await promise;
    if (this.#failure !== null) throw this.explain(this.#failure);
  }

  async #next(): Promise<Answer> {
    const cancel = this.#options.clock.after(answerMs, () =>
      this.#end(new MailboxError('the mail server did not answer in time')),
    );
    try {
      for (;;) {
        const answer = this.#answers.shift();
        if (answer !== undefined) return answer;
        await this.#heard();
      }
    } finally {
      cancel();
    }
  }

  #write(text: string): void {
    if (this.#failure !== null) throw this.explain(this.#failure);
    this.#socket?.write(text);
  }

  #send(command: string): string {
    const tag = `D${(this.#number += 1)}`;
    this.#write(`${tag} ${command}\r\n`);
    return tag;
  }

  #command(command: string, refused: string): Promise<Answer[]> {
    return this.#tagged(this.#send(command), refused);
  }

  /** @returns what was said until the command was done */
  async #tagged(tag: string, refused: string): Promise<Answer[]> {
    const answers: Answer[] = [];
    for (;;) {
      const answer = await this.#next();
      if (!answer.text.startsWith(`${tag} `)) {
        answers.push(answer);
        continue;
      }
      if (!/^\S+ OK\b/i.test(answer.text)) throw new MailboxError(`${refused} (${said(answer.text)})`);
      return answers;
    }
  }

  async #readCapabilities(): Promise<void> {
    const answers = await this.#command('CAPABILITY', 'it says nothing of itself');
    const words = answers.flatMap(({ text }) => /^\* CAPABILITY (.*)$/i.exec(text)?.[1]?.split(' ') ?? []);
    this.#capabilities = new Set(words.map((word) => word.toUpperCase()));
  }

  /** A password travels encrypted, or stays on this machine. */
  async #upgrade(): Promise<void> {
    const socket = this.#socket;
    if (socket === null) return;
    if (!this.#capabilities.has('STARTTLS')) {
      const address = socket.remoteAddress ?? '';
      if (address === '::1' || /^(?:::ffff:)?127\./.test(address)) return;
      throw new MailboxError('the mail server offers no encrypted connection');
    }
    await this.#command('STARTTLS', 'the mail server offers no encrypted connection');
    socket.removeAllListeners('data').removeAllListeners('close').removeAllListeners('error');
    // What came before the encryption was said by anybody.
    this.#answers.length = 0;
    this.#input = Buffer.alloc(0);
    this.#listen(connectSecurely({ socket, host: this.#host, ...this.#name() }));
    await this.#readCapabilities();
  }

  async #signIn(): Promise<void> {
    const refused = 'the mail server refused the user name or the password';
    const user = decodeURIComponent(this.#url.username);
    const password = decodeURIComponent(this.#url.password);
    try {
      if (!this.#capabilities.has('AUTH=PLAIN')) {
        await this.#command(`LOGIN ${quote(user)} ${quote(password)}`, refused);
        return;
      }
      const tag = this.#send('AUTHENTICATE PLAIN');
      for (let answer = await this.#next(); !answer.text.startsWith('+'); answer = await this.#next())
        if (answer.text.startsWith(`${tag} `)) throw new MailboxError(refused);
      this.#write(`${Buffer.from(`\0${user}\0${password}`).toString('base64')}\r\n`);
      await this.#tagged(tag, refused);
    } catch (error) {
      // Servers repeat what they were told.
      throw error instanceof MailboxError && error.message.startsWith(refused)
        ? new MailboxError(refused)
        : error;
    }
  }
}

/** @throws MailboxError for what a line can't hold */
function quote(text: string): string {
  if (!/^[\x20-\x7e]*$/.test(text))
    throw new MailboxError('user name, password and mailbox must be plain ASCII here');
  return `"${text.replace(/["\\]/g, (character) => `\\${character}`)}"`;
}

function isOf(text: string, uid: number): boolean {
  return new RegExp(String.raw`\bUID ${uid}\b`, 'i').test(text);
}

/** The server's own words, as far as they can be shown. */
function said(text: string): string {
  return text
    .replace(/^\S+ /, '')
    .replace(/[^\x20-\x7e]+/g, ' ')
    .slice(0, 200);
}
