// Signing in, for `login` and for the console: asks on a terminal for what is missing,
// and keeps what comes of it. The password is sent and forgotten.
import { secretFromEnvironment } from '../config/secrets.ts';
import type { StaffSession } from '../sdk/staff-types.ts';
import { openPrompt, readSecret, type Prompt } from './prompt.ts';
import type { Context } from './context.ts';
import { askSecondFactor, signInStep } from './second-factor-dialogue.ts';
import type { SignIn } from './credentials.ts';
import { CommandError, UsageError, messageOf } from './errors.ts';
import {
  createCaller,
  credentialsOf,
  isPlaintext,
  isSdkError,
  toCommandError,
  serverUrl,
  tokenCommand,
  unreachableMessage,
} from './remote.ts';
import { serverHere } from './running-server.ts';

/**
 * Keeps a staff token from standard input as the sign-in to a server.
 * @throws UsageError, CommandError
 */
export async function signInWithToken(context: Context, typedUrl: string | undefined): Promise<SignIn> {
  const url = await whichServer(context, null, typedUrl);
  await credentialsOf(context).prepare();
  const token = await readSecret(context.io.input, { noun: 'token', option: '--token-stdin' });
  try {
    const session = await createCaller(url, token)<StaffSession>('GET', '/staff/session');
    return await saveSession(context, url, { ...session, token });
  } catch (error) {
    if (isSdkError(error, 'unauthorized'))
      throw new CommandError(
        `The token is unknown, revoked or expired. Create one: ${tokenCommand(context)}`,
        { cause: error },
      );
    throw isSdkError(error) ? toCommandError(context, error, { url, organization: 'the token' }) : error;
  }
}

/** What is known already; the rest is asked for. */
export interface SignInDefaults {
  readonly url?: string | undefined;
  readonly organization?: string | undefined;
  readonly email?: string | undefined;
  /** The password comes on standard input. */
  readonly passwordStdin?: boolean | undefined;
}

const usualUrl = 'http://127.0.0.1:4600';
const attempts = 3;

/**
 * Signs in and keeps the session in place of an earlier one, which ends.
 * @throws UsageError when something is missing and there is no terminal to ask for it; CommandError
 */
export async function signIn(context: Context, known: SignInDefaults): Promise<SignIn> {
  if (known.url !== undefined) serverUrl(known.url);
  const { input, errors } = context.io;
  const given =
    known.passwordStdin === true
      ? await readSecret(input)
      : (secretFromEnvironment('DESKBELL_PASSWORD')?.reveal() ?? null);
  const person = input.isTTY === true && known.passwordStdin !== true;
  if (!person) assertNothingMissing(known, given);
  // A session that can't be kept would stay at the server, of no use.
  await credentialsOf(context).prepare();
  const dialogue = person ? openPrompt(input, errors) : null;
  try {
    return await askAndSignIn(context, dialogue, known, given);
  } finally {
    dialogue?.close();
  }
}

function assertNothingMissing({ organization, email }: SignInDefaults, password: string | null): void {
  const missing = [
    ...(organization === undefined ? ['--org S'] : []),
    ...(email === undefined ? ['--email E'] : []),
    ...(password === null ? ['the password, by --password-stdin or DESKBELL_PASSWORD'] : []),
  ];
  if (missing.length > 0) throw new UsageError(`There is no terminal to ask on. Give ${missing.join(', ')}.`);
}

async function askAndSignIn(
  context: Context,
  dialogue: Prompt | null,
  known: SignInDefaults,
  given: string | null,
): Promise<SignIn> {
  const url = await whichServer(context, dialogue, known.url);
  if (isPlaintext(url))
    context.print.note(
      `${url} is plain http: the password and every message can be read on the way. Use https if you can.`,
    );
  if (dialogue !== null && !(await isThere(url))) throw new CommandError(unreachableMessage(url));
  const organization = known.organization ?? (await ask(dialogue, 'Organization (its short name): '));
  const email = known.email ?? (await ask(dialogue, 'E-mail address: '));
  for (let attempt = 1; ; attempt += 1) {
    const password = given ?? (await dialogue?.secret('Password (not shown): ')) ?? '';
    try {
      const answer = await signInStep(url, '/staff/session', { organization, email, password });
      const session = 'token' in answer ? answer : await askSecondFactor(context, dialogue, url, answer);
      return await saveSession(context, url, session);
    } catch (error) {
      if (!isSdkError(error)) throw error;
      if (!isSdkError(error, 'unauthorized')) throw toCommandError(context, error, { url, organization });
      if (given !== null || dialogue === null || attempt === attempts)
        throw new CommandError(error.message, { cause: error });
      context.print.note(`${error.message} Once again, please.`);
    }
  }
}

async function whichServer(
  context: Context,
  dialogue: Prompt | null,
  typed: string | undefined,
): Promise<string> {
  if (typed !== undefined) return serverUrl(typed);
  const usual = (await serverHere(context.config()))?.url ?? usualUrl;
  if (dialogue === null) return usual;
  const answer = await dialogue.ask(`Server (Enter: ${usual}): `, (text) =>
    text === '' ? null : problemOf(text),
  );
  return answer === '' ? usual : serverUrl(answer);
}

function problemOf(text: string): string | null {
  try {
    serverUrl(text);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

async function ask(dialogue: Prompt | null, question: string): Promise<string> {
  return (await dialogue?.ask(question, (text) => (text === '' ? 'It must not be empty.' : null))) ?? '';
}

/** Whether anything answers: a wrong address is better said before a password is typed. */
async function isThere(url: string): Promise<boolean> {
  try {
    await fetch(new URL('/healthz', url), { signal: AbortSignal.timeout(10_000), redirect: 'manual' });
    return true;
  } catch {
    return false;
  }
}

/** Keeps a fresh session as the current one; the one that it replaces ends. */
export async function saveSession(
  context: Context,
  url: string,
  session: StaffSession & { readonly token: string },
): Promise<SignIn> {
  const { token, expiresAt, member, organization } = session;
  const fresh: SignIn = {
    url,
    organization: organization.slug,
    organizationName: organization.name,
    token,
    expiresAt,
    member: { id: member.id, name: member.name, email: member.email },
  };
  const credentials = credentialsOf(context);
  const before = await credentials.find({ url, organization: fresh.organization });
  try {
    await credentials.save(fresh);
  } catch (error) {
    // A session that can't be saved must not stay open.
    await endSession(fresh);
    throw error;
  }
  if (before !== null) await endSession(before);
  return fresh;
}

/** Ends a session on its server. @returns whether the server has answered */
export async function endSession({ url, token }: SignIn): Promise<boolean> {
  try {
    await createCaller(url, token, 0)('DELETE', '/staff/session');
    return true;
  } catch (error) {
    // It was over already.
    return isSdkError(error) && error.status === 401;
  }
}
