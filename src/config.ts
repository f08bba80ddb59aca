// Flags + environment → one frozen, checked configuration. The only reader of
// process.env; every setting has a flag, a variable and a default, in that order.
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Durability, LimitWindow } from './engine/engine.ts';
import { readMailboxUrl, readMailServerUrl } from './net/mail-server-url.ts';
import { defaultRateLimits, formatRateLimit, parseRateLimit } from './services/tenants/plans.ts';

/** A setting that can't be; the message names it and where it came from. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export const logLevels = ['silent', 'error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof logLevels)[number];

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

interface Setting<T> {
  /** Without the dashes. */
  readonly flag: string;
  readonly variable: string;
  /** As a person would write it; null: nothing. */
  readonly fallback: string | null;
  readonly about: string;
  /** @throws Error whose message ends the sentence "… is not valid: " */
  readonly parse: (text: string) => T;
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^[0-9]{1,9}$/.test(text) || value < min || value > max)
      throw new Error(`it must be a whole number from ${min} to ${max}`);
    return value;
  };
}

function oneOf<T extends string>(values: readonly T[]): (text: string) => T {
  return (text) => {
    const value = values.find((one) => one === text);
    if (value === undefined) throw new Error(`it must be ${values.join(' or ')}`);
    return value;
  };
}

function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (
    url === null ||
    !['http:', 'https:'].includes(url.protocol) ||
    url.pathname !== '/' ||
    url.search !== '' ||
    url.hash !== '' ||
    url.username !== ''
  )
    throw new Error('it must be like https://chat.example.com, without a path');
  return url.origin;
}

/** A base address that an OpenAI-compatible server is reached under: with /v1 where it has no path of its own. */
function modelUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (
    url === null ||
    !['http:', 'https:'].includes(url.protocol) ||
    url.search !== '' ||
    url.hash !== '' ||
    url.username !== '' ||
    url.password !== ''
  )
    throw new Error('it must be like https://api.example.com/v1 or http://localhost:11434');
  const path = url.pathname.replace(/\/+$/, '').replace(/\/chat\/completions$/, '');
  return `${url.origin}${path === '' ? '/v1' : path}`;
}

function modelName(text: string): string {
  if (!/^[!-~]{1,200}$/.test(text)) throw new Error("it must be a model's name, without blanks");
  return text;
}

function host(text: string): string {
  if (!/^[0-9a-zA-Z.:-]{1,255}$/.test(text)) throw new Error('it must be an address or a host name');
  return text;
}

function mailAddress(text: string): string {
  const address = text.toLowerCase();
  // Behind it comes a plus and a token of 44 characters, and a local part has 64 at most.
  if (!/^[a-z0-9._-]{1,19}@[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(address) || address.length > 200)
    throw new Error('it must be like reply@chat.example.com, with at most 19 characters before the @');
  return address;
}

/** Names of hosts, `*.` before those of which any name below is meant, and origins as https://push.example.com:8443. */
function pushHosts(text: string): readonly string[] {
  const hosts = text
    .toLowerCase()
    .split(',')
    .map((host) => host.trim())
    .filter((host) => host !== '');
  for (const host of hosts) {
    const isName = /^(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(host);
    const url = URL.canParse(host) ? new URL(host) : null;
    const isOrigin = url !== null && ['http:', 'https:'].includes(url.protocol) && url.origin === host;
    if (!isName && !isOrigin)
      throw new Error('it must be like push.example.com, *.push.example.com or https://10.0.0.5:8443');
  }
  return hosts;
}

/** A bucket of an S3-compatible store. */
interface Bucket {
  readonly bucket: string;
  readonly prefix: string;
  readonly endpoint: string | null;
  readonly region: string;
}

/** A bucket, or a folder that all servers share. */
function filesPlace(text: string): Bucket | { readonly folder: string } {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== 'file:') return bucket(url);
  if (url.host !== '' || url.search !== '' || url.hash !== '' || url.pathname === '/')
    throw new Error('a folder must be like file:///srv/deskbell-files');
  return { folder: fileURLToPath(url) };
}

function bucket(url: URL | null): Bucket {
  const endpoint = url?.searchParams.get('endpoint') ?? null;
  const region = url?.searchParams.get('region') ?? 'us-east-1';
  const known = [...(url?.searchParams.keys() ?? [])].every(
    (name) => name === 'endpoint' || name === 'region',
  );
  const prefix = url?.pathname.replaceAll(/^\/+|\/+$/g, '') ?? '';
  if (
    url?.protocol !== 's3:' ||
    !known ||
    !/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.host) ||
    !/^[\w./-]*$/.test(prefix) ||
    prefix.includes('//') ||
    !/^[a-z0-9-]{1,40}$/.test(region)
  )
    throw new Error('it must be like s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-central-1');
  return { bucket: url.host, prefix, endpoint: endpoint === null ? null : baseUrl(endpoint), region };
}

/** Where a scanner listens. */
function scannerPlace(
  text: string,
): { readonly host: string; readonly port: number } | { readonly path: string } {
  if (isAbsolute(text)) return { path: text };
  const [, name = '', port = ''] =
    /^(?:tcp:\/\/)?(\[[0-9a-f:]+\]|[0-9a-zA-Z.-]{1,255}):([0-9]{1,5})$/i.exec(text) ?? [];
  if (name === '' || Number(port) < 1 || Number(port) > 65_535)
    throw new Error('it must be like localhost:3310, or the absolute path of a socket');
  return { host: name.replaceAll(/[[\]]/g, ''), port: Number(port) };
}

/** Where mails are taken: `:25`, `0.0.0.0:25`, `[::1]:2525`. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

function listenAddress(text: string): ListenAddress {
  const [, name = '', port = ''] = /^(\[[0-9a-f:.]+\]|[0-9a-zA-Z.-]*):([0-9]{1,5})$/i.exec(text) ?? [];
  if (port === '' || Number(port) > 65_535) throw new Error('it must be like :25 or 192.0.2.1:25');
  return { host: name === '' ? '::' : name.replace(/^\[|\]$/g, ''), port: Number(port) };
}

function pemFile(text: string): string {
  if (!/\.(?:pem|key|crt|cer)$/i.test(text)) throw new Error('it must be a PEM file, as /etc/ssl/mail.pem');
  return resolve(text);
}

function setting<T>(definition: Setting<T>): Setting<T> {
  return definition;
}

function limitSetting(
  flag: string,
  variable: string,
  windows: readonly LimitWindow[],
  about: string,
): Setting<readonly LimitWindow[] | null> {
  return { flag, variable, fallback: formatRateLimit(windows), about, parse: parseRateLimit };
}

/** Every setting, in the order in which the help lists them. */
export const settings = {
  data: setting({
    flag: 'data',
    variable: 'DESKBELL_DATA',
    fallback: './deskbell-data',
    about: 'the data folder',
    parse: (text) => resolve(text),
  }),
  port: setting({
    flag: 'port',
    variable: 'DESKBELL_PORT',
    fallback: '4600',
    about: 'port to listen on; 0 picks a free one',
    parse: wholeNumber(0, 65_535),
  }),
  host: setting({
    flag: 'host',
    variable: 'DESKBELL_HOST',
    fallback: '127.0.0.1',
    about: 'address to listen on',
    parse: host,
  }),
  baseUrl: setting({
    flag: 'base-url',
    variable: 'DESKBELL_BASE_URL',
    fallback: null,
    about: 'the public address, for snippets and links, as https://chat.example.com',
    parse: baseUrl,
  }),
  durability: setting({
    flag: 'durability',
    variable: 'DESKBELL_DURABILITY',
    fallback: 'full',
    about: 'full: an acknowledged message survives a loss of power; normal: a crash of the process only',
    parse: oneOf<Durability>(['full', 'normal']),
  }),
  trustProxy: setting({
    flag: 'trust-proxy',
    variable: 'DESKBELL_TRUST_PROXY',
    fallback: '0',
    about: 'how many reverse proxies are in front, whose X-Forwarded-For is believed',
    parse: wholeNumber(0, 10),
  }),
  logLevel: setting({
    flag: 'log-level',
    variable: 'DESKBELL_LOG_LEVEL',
    fallback: 'info',
    about: `how much is logged: ${logLevels.join(', ')}`,
    parse: oneOf<LogLevel>(logLevels),
  }),
  limitVisitor: limitSetting(
    'limit-visitor',
    'DESKBELL_LIMIT_VISITOR',
    defaultRateLimits.visitor,
    'requests and messages of one visitor',
  ),
  limitApplication: limitSetting(
    'limit-application',
    'DESKBELL_LIMIT_APPLICATION',
    defaultRateLimits.application,
    'requests of all visitors of one application',
  ),
  limitAddress: limitSetting(
    'limit-address',
    'DESKBELL_LIMIT_ADDRESS',
    defaultRateLimits.address,
    'requests without an API key from one address',
  ),
  limitAddressConfig: limitSetting(
    'limit-address-config',
    'DESKBELL_LIMIT_ADDRESS_CONFIG',
    defaultRateLimits.addressConfig,
    "requests for the widget's configuration from one address",
  ),
  limitAddressNew: limitSetting(
    'limit-address-new',
    'DESKBELL_LIMIT_ADDRESS_NEW',
    defaultRateLimits.addressNew,
    'new visitors and conversations from one address',
  ),
  limitAddressFailed: limitSetting(
    'limit-address-failed',
    'DESKBELL_LIMIT_ADDRESS_FAILED',
    defaultRateLimits.addressFailed,
    'failed authentications from one address',
  ),
  limitAccountFailed: limitSetting(
    'limit-account-failed',
    'DESKBELL_LIMIT_ACCOUNT_FAILED',
    defaultRateLimits.accountFailed,
    'failed sign-ins of one account, from addresses that are new to it',
  ),
  maxConnectionsPerVisitor: setting({
    flag: 'max-connections-per-visitor',
    variable: 'DESKBELL_MAX_CONNECTIONS_PER_VISITOR',
    fallback: '20',
    about: 'WebSocket connections that one visitor may have at once',
    parse: wholeNumber(1, 100_000),
  }),
  maxConnectionsPerAddress: setting({
    flag: 'max-connections-per-address',
    variable: 'DESKBELL_MAX_CONNECTIONS_PER_ADDRESS',
    fallback: '200',
    about: 'WebSocket connections that one address may have at once',
    parse: wholeNumber(1, 1_000_000),
  }),
  maxRoomsPerConnection: setting({
    flag: 'max-rooms-per-connection',
    variable: 'DESKBELL_MAX_ROOMS_PER_CONNECTION',
    fallback: '256',
    about: 'rooms that one connection may join',
    parse: wholeNumber(1, 100_000),
  }),
  maxPendingPerVisitor: setting({
    flag: 'max-pending-per-visitor',
    variable: 'DESKBELL_MAX_PENDING_PER_VISITOR',
    fallback: '100',
    about: 'conversations of one visitor that wait for an operator',
    parse: wholeNumber(1, 100_000),
  }),
  aiUrl: setting({
    flag: 'ai-url',
    variable: 'DESKBELL_AI_URL',
    fallback: null,
    about:
      'address of an OpenAI-compatible server, whose key is in DESKBELL_AI_KEY; without one the assistant quotes its documents',
    parse: modelUrl,
  }),
  aiModel: setting({
    flag: 'ai-model',
    variable: 'DESKBELL_AI_MODEL',
    fallback: null,
    about: 'name of the model that writes answers; needed with --ai-url',
    parse: modelName,
  }),
  aiEmbeddingModel: setting({
    flag: 'ai-embedding-model',
    variable: 'DESKBELL_AI_EMBEDDING_MODEL',
    fallback: null,
    about: 'name of the model that makes embeddings, for a better search',
    parse: modelName,
  }),
  aiTimeout: setting({
    flag: 'ai-timeout',
    variable: 'DESKBELL_AI_TIMEOUT',
    fallback: '30',
    about: 'seconds that an answer of the model may take, all attempts together',
    parse: wholeNumber(1, 600),
  }),
  limitMailSender: limitSetting(
    'limit-mail-sender',
    'DESKBELL_LIMIT_MAIL_SENDER',
    defaultRateLimits.mailSender,
    'mails to one conversation, or of one sender to an inbox',
  ),
  limitMailApplication: limitSetting(
    'limit-mail-application',
    'DESKBELL_LIMIT_MAIL_APPLICATION',
    defaultRateLimits.mailApplication,
    'mails to one application',
  ),
  limitMailNew: limitSetting(
    'limit-mail-new',
    'DESKBELL_LIMIT_MAIL_NEW',
    defaultRateLimits.mailNew,
    'mails to an inbox from senders that it does not know',
  ),
  limitAiVisitor: limitSetting(
    'limit-ai-visitor',
    'DESKBELL_LIMIT_AI_VISITOR',
    defaultRateLimits.aiVisitor,
    'questions of one visitor, or of one member, to the assistant',
  ),
  limitAiOrganization: limitSetting(
    'limit-ai-organization',
    'DESKBELL_LIMIT_AI_ORGANIZATION',
    defaultRateLimits.aiOrganization,
    'questions of one organization to the assistant',
  ),
  selfServicePlans: setting({
    flag: 'self-service-plans',
    variable: 'DESKBELL_SELF_SERVICE_PLANS',
    fallback: 'refuse',
    about: "allow: an organization's admins set its plan and limits; otherwise the command line does",
    parse: oneOf<'refuse' | 'allow'>(['refuse', 'allow']),
  }),
  auditDays: setting({
    flag: 'audit-days',
    variable: 'DESKBELL_AUDIT_DAYS',
    fallback: '365',
    about: 'how many days the audit log is kept, or unlimited',
    parse: (text) => (text === 'unlimited' ? null : wholeNumber(1, 36_500)(text)),
  }),
  files: setting({
    flag: 'files',
    variable: 'DESKBELL_FILES',
    fallback: null,
    about:
      'where files of messages are kept: s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-1; otherwise in the data folder',
    parse: filesPlace,
  }),
  clamd: setting({
    flag: 'clamd',
    variable: 'DESKBELL_CLAMD',
    fallback: null,
    about: 'the virus scanner clamd that files are shown to: localhost:3310, or the path of its socket',
    parse: scannerPlace,
  }),
  filesUrl: setting({
    flag: 'files-url',
    variable: 'DESKBELL_FILES_URL',
    fallback: null,
    about: 'another address of this server, under which files are read and nothing else is',
    parse: baseUrl,
  }),
  webhookPrivate: setting({
    flag: 'webhook-private',
    variable: 'DESKBELL_WEBHOOK_PRIVATE',
    fallback: 'refuse',
    about: 'allow: webhooks may call private and local addresses, over http too',
    parse: oneOf<'refuse' | 'allow'>(['refuse', 'allow']),
  }),
  pushHosts: setting({
    flag: 'push-hosts',
    variable: 'DESKBELL_PUSH_HOSTS',
    fallback: null,
    about:
      'hosts that web pushes may go to besides the known push services, with commas between: names, *.names, or whole origins of your own',
    parse: pushHosts,
  }),
  crawlPrivate: setting({
    flag: 'crawl-private',
    variable: 'DESKBELL_CRAWL_PRIVATE',
    fallback: 'refuse',
    about: 'allow: admins may have sites at private and local addresses read as documents',
    parse: oneOf<'refuse' | 'allow'>(['refuse', 'allow']),
  }),
  mailAddress: setting({
    flag: 'mail-address',
    variable: 'DESKBELL_MAIL_ADDRESS',
    fallback: null,
    about:
      'the address that mails come from, as reply@chat.example.com; answers come to reply+…@chat.example.com. Mails leave through DESKBELL_SMTP_URL',
    parse: mailAddress,
  }),
  mailListen: setting({
    flag: 'mail-listen',
    variable: 'DESKBELL_MAIL_LISTEN',
    fallback: null,
    about: 'where mails are taken by SMTP, as :25; a mail host or an MX record leads there',
    parse: listenAddress,
  }),
  mailTlsKey: setting({
    flag: 'mail-tls-key',
    variable: 'DESKBELL_MAIL_TLS_KEY',
    fallback: null,
    about: 'file of the private key for STARTTLS where mails are taken; with --mail-tls-certificate',
    parse: pemFile,
  }),
  mailTlsCertificate: setting({
    flag: 'mail-tls-certificate',
    variable: 'DESKBELL_MAIL_TLS_CERTIFICATE',
    fallback: null,
    about: 'file of the certificate for STARTTLS where mails are taken',
    parse: pemFile,
  }),
};

export type SettingName = keyof typeof settings;

/** Settings without a default: null where they are not set. */
type OptionalSetting =
  | 'baseUrl'
  | 'aiUrl'
  | 'aiModel'
  | 'aiEmbeddingModel'
  | 'mailAddress'
  | 'mailListen'
  | 'mailTlsKey'
  | 'mailTlsCertificate'
  | 'pushHosts';

export type Config = {
  readonly [N in SettingName]: (typeof settings)[N] extends Setting<infer T>
    ? N extends OptionalSetting
      ? T | null
      : T
    : never;
} & {
  /** What the model's server asks for; null: nothing. */
  readonly aiKey: Redacted | null;
  /** Where mails are handed over, with the password; null: none are sent. */
  readonly smtpUrl: Redacted | null;
  /** The mailbox that mails are read from, with the password; null: none. */
  readonly imapUrl: Redacted | null;
  /** Who may use the bucket of `files`; null: none is configured. */
  readonly filesKey: {
    readonly accessKeyId: string;
    readonly secretAccessKey: Redacted;
    readonly sessionToken: Redacted | null;
  } | null;
  /** What `/metrics` asks for; null: callers on this machine are answered. */
  readonly metricsToken: Redacted | null;
  /** The PostgreSQL database that takes the place of the data folder, with its password; null: SQLite in the folder. */
  readonly databaseUrl: Redacted | null;
  /** The master key in base64, when it comes from the environment instead of the data folder. */
  readonly secretKey: Redacted | null;
};

/** What came from the command line, by setting. */
export type Flags = Partial<Record<SettingName, string | undefined>>;

/**
 * @param flags texts as typed; a missing one falls through to the environment and then to the default
 * @param environment as process.env
 * @throws ConfigError naming the setting and where its value came from
 */
export function readConfig(
  flags: Flags = {},
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Config {
  const values: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(settings) as [SettingName, Setting<unknown>][]) {
    const typed = flags[name];
    const text = typed ?? emptyToUndefined(environment[one.variable]) ?? one.fallback;
    if (text === null) {
      values[name] = null;
      continue;
    }
    try {
      values[name] = one.parse(text);
    } catch (error) {
      const source = typed === undefined ? one.variable : `--${one.flag}`;
      throw new ConfigError(
        `${source} is ${JSON.stringify(text)}, which is not valid: ${error instanceof Error ? error.message : String(error)}.`,
      );
    }
  }
  const secretKey = emptyToUndefined(environment['DESKBELL_SECRET_KEY']);
  values['secretKey'] = secretKey === undefined ? null : new Redacted(secretKey);
  const aiKey = emptyToUndefined(environment['DESKBELL_AI_KEY']);
  values['aiKey'] = aiKey === undefined ? null : new Redacted(aiKey);
  values['metricsToken'] = metricsToken(environment);
  values['smtpUrl'] = smtpUrl(environment, values['mailAddress'] !== null);
  values['imapUrl'] = imapUrl(environment, values['mailAddress'] !== null);
  values['filesKey'] = isBucket(values['files']) ? filesKey(environment) : null;
  values['databaseUrl'] = databaseUrl(environment);
  const config = Object.freeze(values) as Config;
  assertDatabaseComplete(config, flags.data ?? dataFolderFromEnvironment(environment));
  assertModelComplete(config);
  assertMailComplete(config);
  return config;
}

function isBucket(files: unknown): boolean {
  return typeof files === 'object' && files !== null && 'bucket' in files;
}

/** Never a flag: it holds a password, and a process list shows flags. */
function databaseUrl(environment: Readonly<Record<string, string | undefined>>): Redacted | null {
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

/** What the data folder does for one server, several need from elsewhere. */
function assertDatabaseComplete(
  { databaseUrl: url, files, secretKey }: Config,
  folder: string | undefined,
): void {
  if (url === null) {
    if (files !== null && 'folder' in files)
      throw new ConfigError(
        'DESKBELL_FILES names a folder, and there is a data folder already, which holds the files: leave it out, or name a bucket.',
      );
    return;
  }
  if (folder !== undefined)
    throw new ConfigError(
      'DESKBELL_DATABASE_URL is set, and with it there is no data folder: leave out --data and DESKBELL_DATA, or unset DESKBELL_DATABASE_URL.',
    );
  if (secretKey === null)
    throw new ConfigError(
      'DESKBELL_DATABASE_URL is set without DESKBELL_SECRET_KEY, which every server and command needs then: make one with openssl rand -base64 32, and keep it apart from the database.',
    );
  if (files === null)
    throw new ConfigError(
      'DESKBELL_DATABASE_URL is set without DESKBELL_FILES: name the bucket that all servers keep files of messages in, or a folder that all of them share, as file:///srv/deskbell-files.',
    );
}

/** Under the names that every tool for S3 reads. */
function filesKey(
  environment: Readonly<Record<string, string | undefined>>,
): NonNullable<Config['filesKey']> {
  const accessKeyId = emptyToUndefined(environment['AWS_ACCESS_KEY_ID']);
  const secret = emptyToUndefined(environment['AWS_SECRET_ACCESS_KEY']);
  const token = emptyToUndefined(environment['AWS_SESSION_TOKEN']);
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
function metricsToken(environment: Readonly<Record<string, string | undefined>>): Redacted | null {
  const token = emptyToUndefined(environment['DESKBELL_METRICS_TOKEN']);
  if (token === undefined) return null;
  if (!/^[!-~]{16,200}$/.test(token))
    throw new ConfigError(
      'DESKBELL_METRICS_TOKEN must be 16 to 200 letters, digits or signs, without blanks.',
    );
  return new Redacted(token);
}

/** Never a flag: it holds a password. */
function smtpUrl(
  environment: Readonly<Record<string, string | undefined>>,
  hasAddress: boolean,
): Redacted | null {
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
function imapUrl(
  environment: Readonly<Record<string, string | undefined>>,
  hasAddress: boolean,
): Redacted | null {
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

function assertMailComplete({ mailAddress, mailListen, mailTlsKey, mailTlsCertificate }: Config): void {
  if (mailListen !== null && mailAddress === null)
    throw new ConfigError(
      'DESKBELL_MAIL_LISTEN is set without DESKBELL_MAIL_ADDRESS: say which address answers come to.',
    );
  if ((mailTlsKey === null) !== (mailTlsCertificate === null))
    throw new ConfigError(
      'DESKBELL_MAIL_TLS_KEY and DESKBELL_MAIL_TLS_CERTIFICATE belong together: set both, or neither.',
    );
}

function assertModelComplete({ aiUrl, aiModel, aiEmbeddingModel }: Config): void {
  if (aiUrl !== null && aiModel === null)
    throw new ConfigError('DESKBELL_AI_URL is set without DESKBELL_AI_MODEL: name the model too.');
  if (aiUrl === null && aiModel !== null)
    throw new ConfigError(
      'DESKBELL_AI_MODEL is set without DESKBELL_AI_URL: say where the model is, or unset it.',
    );
  if (aiUrl === null && aiEmbeddingModel !== null)
    throw new ConfigError(
      'DESKBELL_AI_EMBEDDING_MODEL is set without DESKBELL_AI_URL: say where the model is, or unset it.',
    );
}

/** An empty variable counts as unset: that is how compose files and unit files unset one. */
function emptyToUndefined(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value;
}

/** The data folder as the environment names it, or undefined where it names none. */
export function dataFolderFromEnvironment(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  return emptyToUndefined(environment[settings.data.variable]);
}

/** A secret that a command may take from the environment instead of a prompt (never from a flag). */
export function secretFromEnvironment(
  variable: 'DESKBELL_PASSWORD',
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Redacted | null {
  const value = emptyToUndefined(environment[variable]);
  return value === undefined ? null : new Redacted(value);
}

/** Where a person's own files lie, on whatever machine they sit: sign-ins in one, drafts in the other. */
export interface UserFolders {
  readonly config: string;
  readonly state: string;
}

/**
 * DESKBELL_CONFIG holds both when it is set; else the platform's habit: %APPDATA% on Windows, and elsewhere the XDG base
 * directories, of which a relative one must be ignored.
 */
export function userFolders(
  environment: Readonly<Record<string, string | undefined>> = process.env,
  platform: NodeJS.Platform = process.platform,
): UserFolders {
  const own = emptyToUndefined(environment['DESKBELL_CONFIG']);
  if (own !== undefined) return { config: resolve(own), state: resolve(own) };
  if (platform === 'win32') {
    const folder = join(
      emptyToUndefined(environment['APPDATA']) ?? join(homedir(), 'AppData', 'Roaming'),
      'deskbell',
    );
    return { config: folder, state: folder };
  }
  const home = emptyToUndefined(environment['HOME']) ?? homedir();
  const base = (variable: string, fallback: string): string => {
    const value = emptyToUndefined(environment[variable]);
    return join(value !== undefined && isAbsolute(value) ? value : join(home, fallback), 'deskbell');
  };
  return { config: base('XDG_CONFIG_HOME', '.config'), state: base('XDG_STATE_HOME', '.local/state') };
}

/** What the console may know of the terminal it runs in; nothing else of the environment reaches it. */
const terminalVariables = [
  'ALACRITTY_SOCKET',
  'ALACRITTY_WINDOW_ID',
  'COLORTERM',
  'ConEmuANSI',
  'ConEmuPID',
  'DESKBELL_NOTIFY',
  'EDITOR',
  'ITERM_SESSION_ID',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'LC_TERMINAL',
  'NO_COLOR',
  'STY',
  'TERM',
  'TERM_PROGRAM',
  'TERM_PROGRAM_VERSION',
  'TMUX',
  'VISUAL',
  'VSCODE_PID',
  'WT_SESSION',
] as const;

/** The variables that describe the terminal and the editor, as far as they are set. */
export function terminalEnvironment(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(terminalVariables.map((name) => [name, environment[name]]));
}

/**
 * Turns colours off for what reads only FORCE_COLOR, as Ink does, where NO_COLOR asks for it or the terminal can't show
 * them. Must come before such a library is loaded.
 * @returns whether they are off
 */
export function disableColors(environment: Record<string, string | undefined> = process.env): boolean {
  const off = emptyToUndefined(environment['NO_COLOR']) !== undefined || environment['TERM'] === 'dumb';
  if (off) environment['FORCE_COLOR'] = '0';
  return off;
}
