// Takes mails by SMTP: for addresses that lead here, and for no others. A mail is acknowledged once what it led to is
// stored; until then its sender keeps it. smtp-server speaks the protocol; it is loaded where mails are listened for.
import { readFile } from 'node:fs/promises';
import type { AddressInfo, Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { SMTPServer, SMTPServerSession } from 'smtp-server';
import type { ListenAddress } from '../config.ts';
import type { Log } from '../log.ts';
import { QueueFullError } from '../net/fair-limit.ts';
import { addressKey } from '../net/ip-ranges.ts';
import { errorCode } from '../net/network-errors.ts';
import { ServiceError } from '../services/core/errors.ts';
import { MailTooLargeError, withMail } from '../services/mail/inbound/collect-mail.ts';
import { maxMailBytes } from '../services/mail/inbound/parsed-mail.ts';
import { MailRefusedError } from '../services/mail/inbound/read-mail.ts';
import { findMailTarget, receiveMail, scopeOf } from '../services/mail/inbound/receive-mail.ts';
import type { Service } from '../services/service.ts';
import { MailConnections, mailSource } from './mail-connections.ts';

export interface MailListenerOptions {
  readonly listen: ListenAddress;
  readonly service: Service;
  readonly log: Log;
  /** Files for STARTTLS; null: it is not offered. */
  readonly tls: { readonly key: string; readonly certificate: string } | null;
  /** The name that it greets with. */
  readonly name: string;
}

export interface MailListener {
  readonly port: number;
  /** Takes no more mails, and ends what is under way. */
  stop(): Promise<void>;
}

const maxClients = 200;
const maxRecipients = 20;
/** Wrong recipients of one connection: who guesses addresses gets no further. */
const maxUnknown = 10;
/** Recipients that an address names, wherever they lead: a relay before this server brings all its mails from one. */
const recipientWindows = [{ limit: 1_000, windowMs: 60_000 }];
const socketTimeoutMs = 60_000;
/** Longer than any with its parameters (RFC 5321, RFC 3461). To take a line apart costs more the longer it is. */
const maxCommandLength = 2_048;
/** How long a connection may last, however busy it is: who sends a byte a minute must not keep a place. */
const maxConnectionMs = 900_000;

/** @throws Error with a sentence for the person who started the server */
export async function startMailListener(options: MailListenerOptions): Promise<MailListener> {
  const { SMTPServer: LibraryServer } = await import('smtp-server');
  const { listen, tls, name } = options;
  const { engine } = options.service;
  const connections = new MailConnections(engine);
  const session = new Sessions(options, connections);
  const Server = class extends LibraryServer {
    /** Before the library has anything to do with it: a refused one holds a place of all for a tenth of a second there. */
    override connect(...[socket, its]: Parameters<SMTPServer['connect']>): void {
      if (connections.admit(its?.id ?? '', socket)) super.connect(socket, its);
    }
  };
  const server: SMTPServer = new Server({
    name,
    banner: 'Deskbell',
    size: maxMailBytes,
    authOptional: true,
    disabledCommands: tls === null ? ['AUTH', 'STARTTLS'] : ['AUTH'],
    ...(tls === null ? {} : await readTls(tls)),
    disableReverseLookup: true,
    maxClients,
    maxCommandLength,
    socketTimeout: socketTimeoutMs,
    closeTimeout: 2_000,
    logger: false,
    onSecure: (socket, { id, remoteAddress }, done) => {
      connections.listen(id, socket, remoteAddress);
      done();
    },
    onClose: ({ id }) => connections.leave(id),
    onRcptTo: (address, one, done) => session.recipient(address.address, one, done),
    onData: (stream, one, done) => session.data(stream, one, done),
  });
  server.server.on('connection', (socket: Socket) => {
    socket.once(
      'close',
      engine.clock.after(maxConnectionMs, () => socket.destroy()),
    );
  });
  server.on('error', (error) =>
    options.log.debug({ err: error.message }, 'a connection that brings mail failed'),
  );
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(listenErrorMessage(error, listen), { cause: error })),
    );
    server.listen(listen.port, listen.host, resolve);
  });
  const address: AddressInfo | string | null = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : listen.port;
  options.log.info({ port }, 'taking mails');
  return { port, stop: () => new Promise((resolve) => server.close(() => resolve())) };
}

/** @throws Error that names both settings: of the library's own no one learns which files are meant */
async function readTls({
  key,
  certificate,
}: NonNullable<MailListenerOptions['tls']>): Promise<{ readonly key: Buffer; readonly cert: Buffer }> {
  try {
    const pair = { key: await readFile(key), cert: await readFile(certificate) };
    createSecureContext(pair);
    return pair;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(
      `STARTTLS can't be offered with --mail-tls-key ${key} and --mail-tls-certificate ${certificate} (${why}). Both must be PEM files that this user may read, and belong together.`,
      { cause: error },
    );
  }
}

type Done = (error?: Error | null, message?: string) => void;

/** Hands the outcome, which is never a rejection, to a library that takes callbacks. */
async function settle(outcome: Promise<Error | null>, done: Done): Promise<void> {
  done(await outcome);
}

/** An answer with its code, as the protocol has it. */
function answer(code: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode: code });
}

const tooLarge = (): Error => answer(552, `5.3.4 A mail has at most ${maxMailBytes} bytes`);

class Sessions {
  readonly #service: Service;
  readonly #log: Log;
  readonly #connections: MailConnections;
  readonly #unknown = new WeakMap<SMTPServerSession, number>();
  /** To which application the mail that is being handed over leads. */
  readonly #applications = new WeakMap<SMTPServerSession, string>();

  constructor({ service, log }: MailListenerOptions, connections: MailConnections) {
    this.#service = service;
    this.#log = log;
    this.#connections = connections;
  }

  recipient(address: string, session: SMTPServerSession, done: Done): void {
    if (session.envelope.rcptTo.length >= maxRecipients) {
      done(answer(452, '4.5.3 Too many recipients'));
      return;
    }
    const unknown = this.#unknown.get(session) ?? 0;
    if (unknown >= maxUnknown) {
      done(answer(421, '4.7.0 Too many unknown recipients'));
      return;
    }
    const key = `mr:${addressKey(session.remoteAddress)}`;
    if (!this.#service.engine.localLimiter.take([{ key, windows: recipientWindows }]).ok) {
      done(answer(421, '4.7.0 Too many recipients of your address. Try again later'));
      return;
    }
    void settle(this.#lookUp(address, session, unknown), done);
  }

  /** @returns the refusal; null: it leads somewhere */
  async #lookUp(address: string, session: SMTPServerSession, unknown: number): Promise<Error | null> {
    try {
      const target = await findMailTarget(this.#service, address);
      if (target !== null) return this.#acceptRecipient(scopeOf(target).applicationId, session);
      this.#unknown.set(session, unknown + 1);
      return answer(550, '5.1.1 No such address here');
    } catch {
      return answer(451, '4.3.0 Try again');
    }
  }

  /** A mail leads to one application. Senders bring it once more for the recipients that are refused for now. */
  #acceptRecipient(applicationId: string, session: SMTPServerSession): Error | null {
    const isFirst = session.envelope.rcptTo.length === 0;
    if (isFirst) this.#applications.set(session, applicationId);
    return isFirst || this.#applications.get(session) === applicationId
      ? null
      : answer(452, '4.5.3 One recipient at a time');
  }

  data(stream: AsyncIterable<Buffer>, session: SMTPServerSession, done: Done): void {
    const brought = this.#connections.bring(session.id);
    void settle(this.#takeOrRefuse(stream, session).finally(brought), done);
  }

  async #takeOrRefuse(stream: AsyncIterable<Buffer>, session: SMTPServerSession): Promise<Error | null> {
    try {
      return await this.#take(stream, session);
    } catch (error) {
      if (error instanceof MailTooLargeError) return tooLarge();
      if (error instanceof QueueFullError) return answer(452, '4.3.1 Too many mails at once. Try again');
      if (error instanceof ServiceError && error.code === 'rate_limit_exceeded')
        return answer(451, '4.7.1 Too many mails. Try again later');
      if (error instanceof ServiceError && error.code === 'unavailable') {
        this.#log.warn({ why: error.message, cause: error.cause }, 'a mail waits at its sender');
        return answer(451, '4.3.0 Try again later');
      }
      if (error instanceof MailRefusedError)
        return answer(554, `5.6.0 The mail can't be read: ${error.message}`);
      if (['ECONNECTION', 'ERR_STREAM_PREMATURE_CLOSE'].includes(errorCode(error)))
        return answer(421, '4.4.2 The connection broke off');
      this.#log.error({ err: String(error) }, 'a mail could not be taken; its sender keeps it');
      return answer(451, '4.3.0 Try again');
    }
  }

  /** @returns the refusal; null: it was taken */
  async #take(
    stream: AsyncIterable<Buffer>,
    { envelope, remoteAddress }: SMTPServerSession,
  ): Promise<Error | null> {
    const incoming = { source: mailSource(remoteAddress), body: stream, readOn: true };
    const outcome = await withMail(this.#service.files.incomingFolder, incoming, (stored) =>
      receiveMail(this.#service, stored, {
        from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
        to: envelope.rcptTo.map(({ address }) => address),
        application: null,
      }),
    );
    this.#log.debug(
      { outcome: outcome.state, ...(outcome.state === 'ignored' ? { why: outcome.why } : {}) },
      'a mail came',
    );
    return null;
  }
}

/** Why mails can't be taken at an address, and what to do. */
export function listenErrorMessage(
  { code, message }: NodeJS.ErrnoException,
  { host, port }: ListenAddress,
): string {
  const place = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  if (code === 'EACCES')
    return `Mails can't be taken at ${place}: the port needs rights that this user does not have. Give the service the right CAP_NET_BIND_SERVICE, or choose a port above 1023 with --mail-listen.`;
  return `Mails can't be taken at ${place} (${code ?? message}): choose another address with --mail-listen.`;
}
