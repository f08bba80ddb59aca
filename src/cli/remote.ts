// A command's way to a server over its REST API, with a saved session: finds the sign-in,
// calls, and turns what went wrong into a sentence that says what to do. Prints nothing.
import { Option, type Command } from 'commander';
import { mkdir } from 'node:fs/promises';
import { userFolders } from '../config/user-environment.ts';
import { isLoopbackHost } from '../net/ip-ranges.ts';
import { visitorApiPrefix } from '../protocol/codes.ts';
import { isRetryable } from '../sdk/error.ts';
import { createHttpClient } from '../sdk/http.ts';
import type { SdkError, SdkErrorCode } from '../sdk/types.ts';
import { shellWord, type Context } from './context.ts';
import { openCredentials, type Credentials, type SignIn } from './credentials.ts';
import { CommandError, UsageError } from './errors.ts';
import { isAnswerOf, otherAnswer, otherVersion } from './server-answer.ts';
import { serverEnvironment } from './server-environment.ts';

/** Where the server is, and which organization; what is left out is the saved session that was used last. */
export interface ServerOptions {
  readonly url?: string;
  readonly org?: string;
}

/** Adds --url and --org. */
export function addServerOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--url <URL>', 'the server, if you are signed in to several (default: the one used last)'),
    )
    .addOption(new Option('--org <S>', 'the organization, if you are signed in to several'));
}

/**
 * A server's address as a person types it: `chat.example.com` means https, a name of this machine http.
 * @returns its origin
 * @throws UsageError
 */
export function serverUrl(text: string): string {
  const typed = text.trim();
  const bare = !/^[a-z][a-z0-9+.-]*:\/\//i.test(typed);
  const host = bare && URL.canParse(`http://${typed}`) ? new URL(`http://${typed}`).hostname : '';
  const whole = bare ? `${isLoopbackHost(host) ? 'http' : 'https'}://${typed}` : typed;
  const url = URL.canParse(whole) ? new URL(whole) : null;
  if (
    url === null ||
    !['http:', 'https:'].includes(url.protocol) ||
    url.pathname !== '/' ||
    url.search !== '' ||
    url.hash !== ''
  )
    throw new UsageError(
      `${JSON.stringify(text)} is not the address of a server. Write it like https://chat.example.com, without a path.`,
    );
  if (url.username !== '' || url.password !== '')
    throw new UsageError('Leave name and password out of the address; they are asked for.');
  return url.origin;
}

/** Whether what is sent there is not encrypted. */
export function isPlaintext(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isLoopbackHost(hostname);
}

/** The saved sessions of the person who runs this. */
export function credentialsOf(context: Context): Credentials {
  return openCredentials({ folder: userFolders().config, warn: context.print.note });
}

/** The folder for what the console keeps; made for its owner only. */
export async function stateFolder(): Promise<string> {
  const { state } = userFolders();
  await mkdir(state, { recursive: true, mode: 0o700 });
  return state;
}

/** The options as the saved sessions know them. @throws UsageError */
export function signInFilter({ url, org }: ServerOptions): {
  url: string | undefined;
  organization: string | undefined;
} {
  return { url: url === undefined ? undefined : serverUrl(url), organization: org?.trim().toLowerCase() };
}

/** `login` with the words that lead to the same server. */
function loginCommand(
  context: Context,
  { url, organization }: { url?: string | undefined; organization?: string | undefined },
): string {
  const words = [
    ...(url === undefined ? [] : [`--url ${shellWord(url)}`]),
    ...(organization === undefined ? [] : [`--org ${shellWord(organization)}`]),
  ];
  return context.remoteCommand(['login', ...words].join(' '));
}

/** The command that makes a token for a script. */
export function tokenCommand(context: Context): string {
  return context.remoteCommand('token create --name N --scope conversations:read');
}

/** The sign-in that a command's options mean. @throws CommandError when there is none */
export async function savedSignIn(context: Context, options: ServerOptions): Promise<SignIn> {
  const meant = signInFilter(options);
  const found = await credentialsOf(context).find(meant);
  if (found !== null) return found;
  const where = [meant.organization, meant.url].filter((one) => one !== undefined).join(' at ');
  throw new CommandError(
    `You are not signed in${where === '' ? '' : ` to ${where}`}. Sign in: ${loginCommand(context, meant)}`,
  );
}

export interface Remote {
  readonly signIn: SignIn;
  /** One request below /api/v1 with the sign-in's token. Comes again where the server says when. @throws SdkError */
  call<T>(method: string, path: string, body?: object): Promise<T>;
}

/** Calls with a token; null: without one. `retries`: how often to try again after 429 and 503. */
export function createCaller(url: string, token: string | null, retries = 2): Remote['call'] {
  const http = createHttpClient(serverEnvironment(), url + visitorApiPrefix, () =>
    token === null ? {} : { Authorization: `Bearer ${token}` },
  );
  return async <T>(method: string, path: string, body?: object): Promise<T> => {
    const answer = await http.request_<T>(method, path, {
      retries_: retries,
      ...(body !== undefined && { body }),
    });
    if (!(await isAnswerOf(method, path, answer))) throw await otherAnswer(url, 200);
    return answer;
  };
}

/**
 * Does a command's work on the server that its options mean.
 * @throws CommandError, UsageError with a sentence for each error that the server answers
 */
export async function withRemote<T>(
  context: Context,
  options: ServerOptions,
  work: (remote: Remote) => Promise<T>,
): Promise<T> {
  const signIn = await savedSignIn(context, options);
  context.server.url = signIn.url;
  try {
    return await work({ signIn, call: createCaller(signIn.url, signIn.token) });
  } catch (error) {
    throw isSdkError(error) ? toCommandError(context, error, signIn) : error;
  }
}

/** @param code only an error of this code */
export function isSdkError(error: unknown, code?: SdkErrorCode): error is SdkError {
  return (
    error instanceof Error &&
    error.name === 'SdkError' &&
    (code === undefined || ('code' in error && error.code === code))
  );
}

/** Where the right id is to be found, for what can be named wrongly. */
const lists: readonly (readonly [RegExp, string])[] = [
  [/^No such token\b/, 'token list'],
  [/^No such session\b/, 'session list'],
  [/^No such block\b/, 'block list'],
];

/** An error of the server, or none of its answers, as a sentence for the person who typed the command. */
export function toCommandError(
  context: Context,
  error: SdkError,
  { url, organization }: Pick<SignIn, 'url' | 'organization'>,
): Error {
  const { code, status, message, retryAfter } = error;
  if (code === 'network' && status === undefined)
    return new CommandError(unreachableMessage(url), { cause: error });
  // What the client itself says where the answer has no sentence: a Deskbell says one with each refusal.
  if (message === `HTTP ${status}` && (code === 'network' || !isRetryable(error)))
    return new CommandError(noDeskbellMessage(url, message), { cause: error });
  if (status === 401)
    return new CommandError(
      `The session of ${organization} at ${url} has ended. Sign in again: ${loginCommand(context, { url, organization })}`,
      {
        cause: error,
      },
    );
  // What this command asks for came with a later version than the server's.
  if (status === 404 && message.startsWith('No such path.'))
    return new CommandError(otherVersion(url), { cause: error });
  if (code === 'bad_request') return new UsageError(message, { cause: error });
  const list = lists.find(([form]) => form.test(message));
  if (list !== undefined)
    return new CommandError(`${message} See: ${context.remoteCommand(list[1])}`, { cause: error });
  if (status === 429)
    return new CommandError(
      `Too many requests. Try again${retryAfter === undefined ? ' in a moment' : ` in ${retryAfter} s`}: ${message}`,
      { cause: error },
    );
  if (isRetryable(error))
    return new CommandError(`${url} could not answer (${message}). Try again in a moment.`, { cause: error });
  return new CommandError(message, { cause: error });
}

/** @param what it has answered */
const noDeskbellMessage = (url: string, what: string): string =>
  `What answers at ${url} (${what}) is no Deskbell. Is the address right, or does a proxy answer in its place?`;

/** The sentence for a server that does not answer. */
export function unreachableMessage(url: string): string {
  return `${url} can't be reached. Is the address right, and does the server run?`;
}
