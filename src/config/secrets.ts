// What only the environment may say, because a process list shows flags: passwords, keys, and addresses that hold one.
import { readMailboxUrl, readMailServerUrl } from '../net/mail-server-url.ts';

/** A setting that can't be; the message names it and where it came from. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** A value that shows as *** wherever it is printed or logged. */
export class Redacted {
  readonly #value: string;
  constructor(value: string) {
    this.#value = value;
  }
  reveal(): string {
    return this.#value;
  }
  toString(): string {
    return '***';
  }
  toJSON(): string {
    return '***';
  }
}

/** As process.env. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Who may use a bucket. */
export interface FilesKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: Redacted;
  readonly sessionToken: Redacted | null;
}

/** An empty variable counts as unset: that is how compose files and unit files unset one. */
export function emptyToUndefined(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value;
}

/** What a server takes from the environment and from no flag. */
export const secretVariables = [
  'DESKBELL_DATABASE_URL',
  'DESKBELL_SECRET_KEY',
  'DESKBELL_AI_KEY',
  'DESKBELL_METRICS_TOKEN',
  'DESKBELL_SMTP_URL',
  'DESKBELL_IMAP_URL',
] as const;

/** The same of a bucket's key, under the names that every tool for S3 reads. */
export const filesKeyVariables = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'] as const;

/** A secret as it stands; null: none is set. */
export function secret(environment: Environment, variable: string): Redacted | null {
  const value = emptyToUndefined(environment[variable]);
  return value === undefined ? null : new Redacted(value);
}

/** Never a flag: it holds a password, and a process list shows flags. */
export function databaseUrl(environment: Environment): Redacted | null {
  const text = emptyToUndefined(environment['DESKBELL_DATABASE_URL']);
  if (text === undefined) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  // `postgres://user@/name?host=/run/postgresql` names a socket, and its host is empty: no URL to the standard.
  const socket = /^postgres(?:ql)?:\/\/[^/@\s]*@?\/[^/?\s]+\?\S*\bhost=\S+$/.test(text);
  const server =
    url !== null &&
    ['postgres:', 'postgresql:'].includes(url.protocol) &&
    url.hostname !== '' &&
    /^\/[^/]+$/.test(url.pathname) &&
    url.hash === '';
  if (!server && !socket)
    throw new ConfigError(
      'DESKBELL_DATABASE_URL must be like postgres://user:password@db.example.com:5432/deskbell?sslmode=verify-full; it is not shown here, because it may hold a password.',
    );
  // What a server says of its session is how others find it; the URL's words would take the place of it.
  const taken = /[?&](options|application_name)=/i.exec(text)?.[1];
  if (taken !== undefined)
    throw new ConfigError(
      `DESKBELL_DATABASE_URL must not set ${taken}: Deskbell sets it for each connection. Leave it out.`,
    );
  return new Redacted(text);
}

export function filesKey(environment: Environment): FilesKey {
  const [accessKeyId, secret, token] = filesKeyVariables.map((name) => emptyToUndefined(environment[name]));
  if (accessKeyId === undefined || secret === undefined)
    throw new ConfigError(
      'DESKBELL_FILES names a bucket, so AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set to its key.',
    );
  return {
    accessKeyId,
    secretAccessKey: new Redacted(secret),
    sessionToken: token === undefined ? null : new Redacted(token),
  };
}

/** Long enough that it can't be guessed, and nothing that a header can't hold. */
export function metricsToken(environment: Environment): Redacted | null {
  const token = emptyToUndefined(environment['DESKBELL_METRICS_TOKEN']);
  if (token === undefined) return null;
  if (!/^[!-~]{16,200}$/.test(token))
    throw new ConfigError(
      'DESKBELL_METRICS_TOKEN must be 16 to 200 letters, digits or signs, without blanks.',
    );
  return new Redacted(token);
}

/** Never a flag: it holds a password. */
export function smtpUrl(environment: Environment, hasAddress: boolean): Redacted | null {
  const text = emptyToUndefined(environment['DESKBELL_SMTP_URL']);
  if (text === undefined) return null;
  if (readMailServerUrl(text) === null)
    throw new ConfigError(
      'DESKBELL_SMTP_URL must be like smtp://user:password@mail.example.com:587 or smtps://…; it is not shown here, because it may hold a password.',
    );
  if (!hasAddress)
    throw new ConfigError(
      'DESKBELL_SMTP_URL is set without DESKBELL_MAIL_ADDRESS: say which address mails come from.',
    );
  return new Redacted(text);
}

/** Never a flag: it holds a password. */
export function imapUrl(environment: Environment, hasAddress: boolean): Redacted | null {
  const text = emptyToUndefined(environment['DESKBELL_IMAP_URL']);
  if (text === undefined) return null;
  if (readMailboxUrl(text) === null)
    throw new ConfigError(
      'DESKBELL_IMAP_URL must be like imaps://user:password@mail.example.com/INBOX; it is not shown here, because it may hold a password.',
    );
  if (!hasAddress)
    throw new ConfigError(
      'DESKBELL_IMAP_URL is set without DESKBELL_MAIL_ADDRESS: say which address answers come to.',
    );
  return new Redacted(text);
}

/** A secret that a command may take from the environment instead of a prompt (never from a flag). */
export function secretFromEnvironment(
  variable: 'DESKBELL_PASSWORD',
  environment: Environment = process.env,
): Redacted | null {
  const value = emptyToUndefined(environment[variable]);
  return value === undefined ? null : new Redacted(value);
}
