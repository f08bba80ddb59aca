// Sends mails: one connection for one mail, only to addresses that the server's owner allows. nodemailer writes MIME and
// speaks SMTP; it is loaded by the first mail.
import { connect, type Socket } from 'node:net';
import type { Transporter } from 'nodemailer';
import type { SentMessageInfo, Options as SmtpOptions } from 'nodemailer/lib/smtp-transport';
import type { Clock } from '../engine/engine.ts';
import { BoundedStream, SaidTooMuchError } from './bounded-stream.ts';
import { readMailServerUrl } from './mail-server-url.ts';
import { describeNetworkError, errorCode } from './network-errors.ts';
import { BlockedAddressError, createSsrfGuard, type ResolveHost } from './ssrf-guard.ts';
import { offeredCiphers } from './tls-ciphers.ts';

/** A person's or a team's address. */
export interface MailAddress {
  readonly name?: string | undefined;
  readonly address: string;
}

/** A file that goes with a mail. */
export interface MailAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly content: Buffer;
}

export interface OutgoingMail {
  readonly from: MailAddress;
  /** One address: a receiver learns of no other. */
  readonly to: string;
  readonly replyTo?: MailAddress | undefined;
  /** Where reports of failures go; left out: to `from`. */
  readonly returnPath?: string | undefined;
  readonly subject: string;
  readonly text: string;
  readonly html?: string | undefined;
  /** Without angle brackets, and the same for every attempt. */
  readonly messageId: string;
  readonly inReplyTo?: string | undefined;
  readonly references?: readonly string[] | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly attachments?: readonly MailAttachment[] | undefined;
}

/** How a mail was taken. */
export type MailResult =
  | { readonly ok: true; readonly response: string }
  | {
      readonly ok: false;
      /** The receiver will not take it, now or later. */
      readonly permanent: boolean;
      /** It is the address that takes no mail, whatever the mail says. */
      readonly refusesAddress: boolean;
      /** Why, for people. */
      readonly error: string;
    };

/** Where mails are handed over. */
export interface MailServer {
  /** `smtp://user:password@host:587` or `smtps://…`. */
  readonly url: string;
  /** Whether it may be at a private or local address. */
  readonly allowPrivate: boolean;
}

/** Sends one mail. Never throws; ends soon after `signal` is aborted. */
export type SendMail = (server: MailServer, mail: OutgoingMail, signal: AbortSignal) => Promise<MailResult>;

export interface SmtpClientOptions {
  readonly clock: Pick<Clock, 'after'>;
  /** As the guard has it unless a test has its own. */
  readonly resolve?: ResolveHost | undefined;
}

/** For the whole of one mail: a server may keep a connection waiting on purpose. */
const timeoutMs = 60_000;
const connectTimeoutMs = 15_000;
const maxAnswerLength = 300;
/**
 * What a mail server may say for one mail, its certificates and what it offers included. nodemailer keeps what it is sent
 * until it has read it, a line at a time: from a server that goes on it would take all memory, and the event loop.
 */
const maxSaidBytes = 131_072;

/** Creates a client that keeps no connection. */
export function createSmtpClient({ clock, resolve }: SmtpClientOptions): SendMail {
  return async ({ url: address, allowPrivate }, mail, signal) => {
    const url = readMailServerUrl(address);
    if (url === null) return failure('the address of the mail server is not valid');
    const timeout = new AbortController();
    const cancelTimeout = clock.after(timeoutMs, () => timeout.abort());
    const ended = AbortSignal.any([signal, timeout.signal]);
    let socket: Socket | null = null;
    const close = (): void => void socket?.destroy();
    ended.addEventListener('abort', close, { once: true });
    try {
      socket = await openSocket(url, createSsrfGuard(allowPrivate, resolve), ended);
      return await handOver(url, socket, mail);
    } catch (error) {
      if (timeout.signal.aborted) return failure(`did not answer within ${timeoutMs / 1000} s`);
      return describe(error);
    } finally {
      ended.removeEventListener('abort', close);
      close();
      cancelTimeout();
    }
  };
}

/**
 * Greets the server and signs in, without a mail.
 * @returns why it would take none, for people; null: it would
 */
export async function probeMailServer(address: string, signal: AbortSignal): Promise<string | null> {
  const url = readMailServerUrl(address);
  if (url === null) return 'the address of the mail server is not valid';
  let socket: Socket | null = null;
  const close = (): void => void socket?.destroy();
  signal.addEventListener('abort', close, { once: true });
  try {
    socket = await openSocket(url, createSsrfGuard(true), signal);
    await withTransport(url, socket, (transport) => transport.verify());
    return null;
  } catch (error) {
    if (signal.aborted) return 'it did not answer in time';
    const result = describe(error);
    return result.ok ? null : result.error;
  } finally {
    signal.removeEventListener('abort', close);
    close();
  }
}

const failure = (error: string, permanent = false, refusesAddress = false): MailResult => ({
  ok: false,
  permanent,
  refusesAddress,
  error,
});

function openSocket(
  url: URL,
  guard: ReturnType<typeof createSsrfGuard>,
  signal: AbortSignal,
): Promise<Socket> {
  if (guard.blocks(url)) throw new BlockedAddressError('private');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port === '' ? (url.protocol === 'smtps:' ? '465' : '587') : url.port);
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, lookup: guard.lookup });
    const abort = (): void => void socket.destroy(new Error('aborted'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    socket.setTimeout(connectTimeoutMs, () =>
      socket.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })),
    );
    socket.once('error', reject);
    socket.once('connect', () => {
      signal.removeEventListener('abort', abort);
      socket.setTimeout(0);
      // What is written comes in the pieces that it is to leave in.
      socket.setNoDelay(true);
      socket.off('error', reject);
      // From here on nodemailer listens; errors after its end change nothing.
      socket.on('error', () => undefined);
      resolve(socket);
    });
  });
}

/** @throws SaidTooMuchError, or what `work` throws */
async function withTransport<T>(
  url: URL,
  socket: Socket,
  work: (transport: Transporter<SentMessageInfo>) => Promise<T>,
): Promise<T> {
  const connection = new BoundedStream(socket, maxSaidBytes);
  const { createTransport } = await import('nodemailer');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const user = decodeURIComponent(url.username);
  const options: SmtpOptions = {
    host,
    secure: url.protocol === 'smtps:',
    // A password must not travel in the clear.
    requireTLS: user !== '' && url.protocol === 'smtp:' && !isLoopback(socket),
    ...(user === '' ? {} : { auth: { user, pass: decodeURIComponent(url.password) } }),
    greetingTimeout: connectTimeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    tls: { ciphers: offeredCiphers },
  };
  // Its type asks for a socket, its code for a stream that has a timeout.
  const transport = createTransport(Object.assign(options, { connection }));
  try {
    return await work(transport);
  } catch (error) {
    throw connection.refusal ?? error;
  } finally {
    transport.close();
    connection.destroy();
  }
}

async function handOver(url: URL, socket: Socket, mail: OutgoingMail): Promise<MailResult> {
  const { response } = await withTransport(url, socket, (transport) =>
    transport.sendMail({
      from: { name: mail.from.name ?? '', address: mail.from.address },
      to: { name: '', address: mail.to },
      envelope: { from: mail.returnPath ?? mail.from.address, to: [mail.to] },
      ...(mail.replyTo === undefined
        ? {}
        : { replyTo: { name: mail.replyTo.name ?? '', address: mail.replyTo.address } }),
      subject: mail.subject,
      text: mail.text,
      html: mail.html,
      messageId: `<${mail.messageId}>`,
      ...(mail.inReplyTo === undefined ? {} : { inReplyTo: `<${mail.inReplyTo}>` }),
      ...(mail.references === undefined ? {} : { references: mail.references.map((id) => `<${id}>`) }),
      headers: { ...mail.headers },
      attachments: (mail.attachments ?? []).map((one) => ({ ...one })),
    }),
  );
  return { ok: true, response: shorten(response) };
}

/** Whether the other end is on this machine, where no one else reads along. */
function isLoopback(socket: Socket): boolean {
  const address = socket.remoteAddress ?? '';
  return address === '::1' || address.startsWith('127.') || address.startsWith('::ffff:127.');
}

/** One line of printable text: it is shown to admins and stored. */
function shorten(text: string): string {
  return text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, maxAnswerLength);
}

function describe(error: unknown): MailResult {
  if (error instanceof BlockedAddressError)
    return failure('the mail server is at a private or local address, and the server does not send there');
  if (error instanceof SaidTooMuchError) return failure('the mail server answers without end');
  const code = errorCode(error);
  const status = read(error, 'responseCode');
  const response = read(error, 'response');
  if (code === 'EAUTH') return failure('the mail server refused the user name or the password');
  if (typeof status === 'number' && status >= 400) {
    const answer = `the mail server answered ${shorten(typeof response === 'string' ? response : String(status))}`;
    // What it says of the sender's rights or of itself may change; what it says of this mail or address does not.
    const permanent = status >= 500 && (code === 'EENVELOPE' || code === 'EMESSAGE');
    return failure(
      answer,
      permanent,
      permanent && read(error, 'command') === 'RCPT TO' && isAboutAddress(answer),
    );
  }
  if (code === 'ETLS') return failure('the mail server offers no encrypted connection that holds');
  if (code === 'EENVELOPE') return failure('the address is not one that a mail can go to', true, true);
  // What the system or TLS says, which nodemailer puts behind a word of its own.
  const original = read(error, 'originalCode');
  const cause = typeof original === 'string' ? { code: original } : error;
  return failure(
    describeNetworkError(cause) ??
      ownWords[code] ??
      `the mail could not be handed over (${typeof original === 'string' ? original : code})`,
  );
}

/** What nodemailer has a word for. */
const ownWords: Readonly<Record<string, string>> = {
  ECONNECTION: 'the mail server ended the connection',
  EPROTOCOL: 'what answers there is no mail server',
  ESOCKET:
    'no encrypted connection came about, or it was cut off: is smtp:// or smtps:// right for this port?',
};

/** By the enhanced status codes of RFC 3463, where there is one: no such mailbox, or one that is closed. */
function isAboutAddress(answer: string): boolean {
  const enhanced = /\b5\.[0-9]{1,3}\.[0-9]{1,3}\b/.exec(answer)?.[0];
  return enhanced === undefined ? /\b55[013]\b/.test(answer) : /^5\.(?:1\.[1236]|1\.10|2\.1)$/.test(enhanced);
}

function read(error: unknown, name: 'responseCode' | 'response' | 'command' | 'originalCode'): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
}
