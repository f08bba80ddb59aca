// A mail host that takes mails over a real socket and can refuse, stall or break off. What it took is kept in order.
import type { AddressInfo } from 'node:net';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { mailCertificate, mailKey } from './mail-certificate.ts';
import { eventually } from './eventually.ts';

/** A mail as it arrived. */
export interface TakenMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: Buffer;
  readonly mail: Email;
}

/** What the host does with the next mail; null: it takes it. */
export type MailRefusal = { readonly at: 'rcpt' | 'data'; readonly code: number; readonly text: string };

export class MailHost {
  readonly taken: TakenMail[] = [];
  /** Whether each mail came over an encrypted connection. */
  readonly secured: boolean[] = [];
  /** Asked for every mail. */
  refuse: () => MailRefusal | null = () => null;
  /** Awaited before a mail is acknowledged. */
  hold: () => Promise<void> = () => Promise.resolve();
  /** Handed every mail before it is acknowledged; what it throws refuses the mail for now. */
  forward: (mail: TakenMail) => Promise<void> = () => Promise.resolve();
  #refusal: MailRefusal | null = null;
  readonly #server: SMTPServer;

  /** @param tls `starttls`: offered; `smtps`: from the first byte. With the certificate of mail-certificate.ts. */
  constructor(
    credentials?: { readonly user: string; readonly password: string },
    tls?: 'starttls' | 'smtps',
  ) {
    this.#server = new SMTPServer({
      ...(tls === undefined ? {} : { key: mailKey, cert: mailCertificate, secure: tls === 'smtps' }),
      disabledCommands: [
        ...(credentials === undefined ? ['AUTH' as const] : []),
        ...(tls === undefined ? ['STARTTLS' as const] : []),
      ],
      allowInsecureAuth: true,
      authOptional: credentials === undefined,
      closeTimeout: 200,
      onAuth: (auth, _session, done) =>
        auth.username === credentials?.user && auth.password === credentials?.password
          ? done(null, { user: auth.username })
          : done(new Error('no')),
      onRcptTo: (_address, _session, done) => {
        this.#refusal = this.refuse();
        done(this.#refusal?.at === 'rcpt' ? refusalError(this.#refusal) : null);
      },
      onData: (stream, session, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const raw = Buffer.concat(chunks);
          this.secured.push(session.secure);
          const { mailFrom, rcptTo } = session.envelope;
          const refusal = this.#refusal;
          void (async () => {
            if (refusal !== null) return done(refusalError(refusal));
            const mail: TakenMail = {
              from: mailFrom === false ? '' : mailFrom.address,
              to: rcptTo.map(({ address }) => address),
              raw,
              mail: await PostalMime.parse(raw),
            };
            try {
              await this.forward(mail);
            } catch {
              return done(refusalError({ at: 'data', code: 451, text: 'try again' }));
            }
            this.taken.push(mail);
            await this.hold();
            done();
          })();
        });
      },
    });
    this.#server.on('error', () => undefined);
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port;
  }

  /** Its address for DESKBELL_SMTP_URL. */
  url(user?: string, password?: string): string {
    return user === undefined
      ? `smtp://127.0.0.1:${this.port}`
      : `smtp://${encodeURIComponent(user)}:${encodeURIComponent(password ?? '')}@127.0.0.1:${this.port}`;
  }

  /** Waits until it has taken so many. */
  has(count: number): Promise<readonly TakenMail[]> {
    return eventually(() => {
      if (this.taken.length < count) throw new Error(`${this.taken.length} of ${count} mails`);
      return Promise.resolve(this.taken);
    });
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

function refusalError({ code, text }: MailRefusal): Error {
  return Object.assign(new Error(text), { responseCode: code });
}
