// What a command's failure becomes: one line for a person and an exit code.
// Must not load anything heavy: it is there before any command is chosen.
import { isOutOfRoom } from '../engine/file-errors.ts';
import { ServiceError } from '../services/core/errors.ts';

/** 0 done, 1 failed, 2 wrong usage. */
export type ExitCode = 0 | 1 | 2;

/** The command was called in a way that can't work; the message says what to do instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The command could not do its work; the message says what to do. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** What a thrown value says, for a sentence. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What a person typed for an input field of an operation. */
const typedAs: Readonly<Record<string, string>> = {
  organization: '--org',
  visitorId: '--visitor',
  mode: '--mode',
  applicationId: 'the application id',
  keyId: 'the key id',
  memberId: 'the member id',
  slug: '--slug',
  email: '--email',
  name: 'the name',
  password: 'the password',
  domain: 'the domain',
  graceSeconds: '--grace',
  overlapSeconds: '--overlap',
  releaseAfterMinutes: '--release-after',
  escalation: '--escalate',
  webhookId: 'the webhook id',
  deliveryId: 'the delivery id',
  effectId: 'the id',
  to: 'the address',
  url: 'the URL',
  events: '--event',
  status: '--status',
  requestsPerMinute: '--requests-per-minute',
  retentionDays: '--retention-days',
  applications: '--applications',
  seats: '--seats',
  documentId: 'the document id',
  question: 'the question',
  query: 'the question',
  synonyms: '--set',
  'server.url': 'the address on standard input',
  'server.address': '--address',
};

/** The same where the command takes it by an option. */
const typedAsOption: Readonly<Record<string, string>> = {
  applicationId: '--app',
  name: '--name',
  reply: '--reply',
  from: '--from',
  to: '--to',
};

/** What was typed, as far as a sentence about it needs to know. */
export interface Typed {
  /** A command as it should be typed next. */
  command(text: string): string;
  /** Whether the command has an option. @param flag with its dashes */
  hasOption(flag: string): boolean;
}

// Errors of the store by name, not by class: their modules load the database driver.
const refusals = new Set([
  'EngineError',
  'SchemaError',
  'IndexDamagedError',
  'BackupError',
  'PassphraseError',
  'CommandError',
]);

/** @returns the exit code and one sentence that says what was wrong and what to do */
export function explain(error: unknown, typed: Typed): { readonly code: ExitCode; readonly line: string } {
  if (error instanceof ServiceError)
    return { code: error.code === 'bad_request' ? 2 : 1, line: failureLine(error, typed) };
  if (!(error instanceof Error)) return { code: 1, line: `Unexpected: ${String(error)}` };
  const driver = [error, error.cause].filter((one) => one instanceof Error).find(isDriverMissing);
  if (driver !== undefined)
    return {
      code: 1,
      line: `The database driver can't be loaded on this machine (${firstLine(driver.message)}). Install deskbell again here, with this Node: npm install`,
    };
  if (error.name === 'UsageError' || error.name === 'ConfigError') return { code: 2, line: error.message };
  const full = findNoRoom(error);
  if (full !== null)
    return {
      code: 1,
      line: `There is no room left on the disk (${firstLine(full.message)}). Make room, then run the command again.`,
    };
  if (error.name === 'StoreUnavailableError') return { code: 1, line: unavailableLine(error, typed) };
  if (refusals.has(error.name)) return { code: 1, line: asTyped(error.message, typed) };
  // Errors of the system (a port, a file) carry a code and a sentence; anything else is a fault of ours, so say where.
  const where =
    'code' in error || error.cause !== undefined
      ? ''
      : ` (${/\bat .*/.exec(error.stack ?? '')?.[0] ?? 'no stack'})`;
  return { code: 1, line: `${firstLine(error.message)}${where}` };
}

/** What the engine and the checks advise to do with the data folder. */
const advised = /\bdeskbell (restore FILE --force|reindex|notify rotate-key)\b/g;

/**
 * A sentence that names such a command, as it is to be typed here: without the folder, a restore would go into the usual one.
 */
export function asTyped(sentence: string, { command }: Pick<Typed, 'command'>): string {
  return sentence.replace(advised, (_named, words: string) => command(words));
}

/** Of a store that could not be used: why, as the system or the database says it, and what to do. */
function unavailableLine(error: Error, typed: Typed): string {
  const why = error.cause instanceof Error ? ` (${firstLine(error.cause.message).replace(/\.$/, '')})` : '';
  const kept = 'mayBeKept' in error && error.mayBeKept === true ? ' A part of it may be kept.' : '';
  return `${error.message.replace(/\.$/, '')}${why}.${kept} Find out with ${typed.command('doctor')} what is wrong, then run the command again.`;
}

/** The error of a full disk that this is, or that the store was refused by. */
function findNoRoom(error: Error): Error | null {
  const system = error.name === 'StoreUnavailableError' ? error.cause : error;
  return system instanceof Error && isOutOfRoom(system) ? system : null;
}

/** Where the right id is to be found, for what can be named wrongly. */
const lists: readonly (readonly [RegExp, string])[] = [
  [/^No such organization\b/, 'org list'],
  [/^No such application\b/, 'app list --org S'],
  [/^No such API key\b/, 'key list --app ID'],
  [/^No such domain\b/, 'domain list --app ID'],
  [/^No such member\b/, 'member list --org S'],
  [/^No such webhook\b/, 'webhook list --org S'],
  [/^No such delivery\b/, 'webhook deliveries ID'],
  [/^No such effect\b/, 'outbox list --org S'],
  [/^No such document\b/, 'knowledge list --app ID'],
  [/^No such passage\b/, 'knowledge search --app ID WORDS'],
  // Only the queue names visitors.
  [/^No such visitor\b/, 'inbox --status all --json'],
];

function failureLine({ message, context }: ServiceError, typed: Typed): string {
  const list = lists.find(([form]) => form.test(message));
  if (list !== undefined) return `${message} See: ${typed.command(list[1])}`;
  const detail = context.details?.[0];
  if (detail === undefined || detail.path === '') return message;
  const { path } = detail;
  const label = labelOf(path, typed) ?? labelOf(path.split('.')[0] ?? '', typed) ?? path;
  // The API's own way to say that a person has looked at it.
  const said = detail.message.replace('send reviewed: true', 'add --reviewed');
  return /^(must|may|is|has) /.test(said) ? `${label} ${said}.` : `${label} is not right: ${said}.`;
}

/** What a person typed for a field, as a sentence begins with it; undefined where that is not known. */
function labelOf(field: string, { hasOption }: Typed): string | undefined {
  // A path is what a person typed: `toString` is not among the fields.
  const option = Object.hasOwn(typedAsOption, field) ? typedAsOption[field] : undefined;
  if (option !== undefined && hasOption(option)) return option;
  const words = Object.hasOwn(typedAs, field) ? typedAs[field] : undefined;
  // `email.mode` of `app config` is a setting, and no --email.
  if (words?.startsWith('--') === true && !hasOption(words)) return undefined;
  return words === undefined ? undefined : `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function isDriverMissing(error: Error): boolean {
  const code = 'code' in error ? error.code : undefined;
  if (code === 'ERR_DLOPEN_FAILED') return true;
  const missing =
    code === 'ERR_MODULE_NOT_FOUND' ||
    code === 'MODULE_NOT_FOUND' ||
    error.message.startsWith('Could not locate the bindings file');
  return missing && /better[-_]sqlite3/.test(`${error.message}${error.stack ?? ''}`);
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
