// Flags + environment → one frozen, checked configuration; every setting has a flag, a variable and a default, in that
// order. With its folder the only reader of process.env.
import type { Durability, LimitWindow } from './engine/engine.ts';
import {
  ConfigError,
  databaseUrl,
  emptyToUndefined,
  filesKey,
  filesKeyVariables,
  imapUrl,
  metricsToken,
  secret,
  secretVariables,
  smtpUrl,
  type Environment,
  type FilesKey,
  type Redacted,
} from './config/secrets.ts';
import {
  baseUrl,
  filesPlace,
  folderName,
  host,
  listenAddress,
  mailAddress,
  modelName,
  modelUrl,
  oneOf,
  pemFile,
  pushHosts,
  scannerPlace,
  wholeNumber,
  wholeNumberOrUnlimited,
} from './config/setting-values.ts';
import { defaultRateLimits, formatRateLimit, parseRateLimit } from './services/tenants/plans.ts';

export { ConfigError, Redacted } from './config/secrets.ts';
export type { ListenAddress } from './config/setting-values.ts';

const logLevels = ['silent', 'error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof logLevels)[number];

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
    parse: folderName,
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
    parse: wholeNumberOrUnlimited(1, 36_500),
  }),
  files: setting({
    flag: 'files',
    variable: 'DESKBELL_FILES',
    fallback: null,
    about:
      'where files of messages are kept: s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-1, or file:///srv/deskbell-files for a folder that all servers share; otherwise in the data folder',
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
  readonly filesKey: FilesKey | null;
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
export function readConfig(flags: Flags = {}, environment: Environment = process.env): Config {
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
  values['secretKey'] = secret(environment, 'DESKBELL_SECRET_KEY');
  values['aiKey'] = secret(environment, 'DESKBELL_AI_KEY');
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

/** The variables of the environment that are settings of a server; those of a bucket's key where files are in one. */
export function variablesInForce(environment: Environment = process.env): readonly string[] {
  const names = [...Object.values(settings).map(({ variable }) => variable), ...secretVariables];
  const isSet = (name: string): boolean => emptyToUndefined(environment[name]) !== undefined;
  return [...names, ...(isSet(settings.files.variable) ? filesKeyVariables : [])].filter(isSet);
}

/** The data folder as the environment names it, or undefined where it names none. */
export function dataFolderFromEnvironment(environment: Environment = process.env): string | undefined {
  return emptyToUndefined(environment[settings.data.variable]);
}
