// Asks for the second factor of a sign-in, and helps to set one up where the organization demands it. Shows a secret
// and recovery codes to the person who asked for them, on the terminal only.
import { asSdkError, sdkError } from '../sdk/error.ts';
import type { StaffSession } from '../sdk/staff-types.ts';
import { visitorApiPrefix } from '../protocol/codes.ts';
import type { SecondFactorMethod, TotpSecret } from '../protocol/sign-in.ts';
import type { Context } from './context.ts';
import { CommandError } from './errors.ts';
import type { Prompt } from './prompt.ts';
import { tokenCommand } from './remote.ts';
import { isAnswerOf, otherAnswer, readJson } from './server-answer.ts';

export type NewSession = StaffSession & {
  readonly token: string;
  readonly recoveryCodes?: readonly string[];
};

/** A right password that needs a second factor. */
export interface SecondFactorNeeded {
  readonly ticket: string;
  readonly methods: readonly SecondFactorMethod[];
  readonly message: string;
}

const timeoutMs = 20_000;

/**
 * One step of a sign-in. Never retried: that would count as a second guess.
 * @returns the session, or what is still needed
 * @throws SdkError for every other refusal, and where the server can't be reached
 */
export function signInStep(
  url: string,
  path: '/staff/session' | '/staff/session/second-factor',
  body: object,
): Promise<NewSession | SecondFactorNeeded> {
  return post(url, path, body);
}

async function post<T>(url: string, path: string, body: object): Promise<T> {
  let status: number;
  let answer: Record<string, unknown>;
  let retryAfter: number | undefined;
  try {
    const response = await fetch(url + visitorApiPrefix + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    status = response.status;
    retryAfter = Number(response.headers.get('Retry-After')) || undefined;
    answer = asRecord(await readJson(response));
  } catch (error) {
    throw asSdkError(error);
  }
  // A page in the service's place may come with any status; the service says something with each.
  const said = Object.keys(answer).length > 0;
  if (status === 201 && said) {
    if (await isAnswerOf('POST', path, answer)) return answer as T;
    throw await otherAnswer(url, status);
  }
  if (answer['error'] === 'second_factor' && Array.isArray(answer['methods'])) return answer as T;
  const { error = 'unknown', message = `HTTP ${status}` } = answer;
  throw sdkError(error as Parameters<typeof sdkError>[0], String(message), status, retryAfter);
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/**
 * Completes a sign-in on a terminal.
 * @param dialogue null: there is no terminal to ask on
 * @throws CommandError, SdkError
 */
export async function askSecondFactor(
  context: Context,
  dialogue: Prompt | null,
  url: string,
  needed: SecondFactorNeeded,
): Promise<NewSession> {
  if (dialogue === null)
    throw new CommandError(
      `This account needs a second factor, and there is no terminal to ask on. For scripts create a token: ${tokenCommand(context)}`,
    );
  const { ticket, methods } = needed;
  if (methods.includes('setup')) {
    const { totp } = await post<{ totp: TotpSecret }>(url, '/staff/session/second-factor/setup', { ticket });
    showSecret(context, totp);
  }
  const byPasskey = methods.includes('passkey') && !methods.includes('totp');
  if (byPasskey) explainPasskey(context, url, methods);
  for (;;) {
    const code = await askCode(dialogue, byPasskey ? 'A recovery code: ' : undefined);
    const answer = await signInStep(url, '/staff/session/second-factor', { ticket, code });
    if ('token' in answer) {
      showRecoveryCodes(context, answer.recoveryCodes);
      return answer;
    }
    context.print.note(answer.message);
  }
}

/** The page on which members manage their sign-in. */
export function securityPageUrl(url: string): string {
  return `${url}/security`;
}

/**
 * Says what to do where only a browser can show the second factor.
 * @throws CommandError where no recovery code is left either
 */
function explainPasskey({ print }: Context, url: string, methods: readonly SecondFactorMethod[]): void {
  const page = securityPageUrl(url);
  if (!methods.includes('recovery'))
    throw new CommandError(
      `Your second factor is a passkey, which a terminal can't show. Open ${page} in a browser, set up an authenticator there, and sign in here with its code.`,
    );
  print.note(
    `Your second factor is a passkey, which a terminal can't show. Type a recovery code, or open ${page} in a browser and set up an authenticator first.`,
  );
}

/** Asks for a code until something is typed. */
export function askCode(
  dialogue: Prompt,
  question = 'Code of your authenticator, or a recovery code: ',
): Promise<string> {
  return dialogue.ask(question, (text) => (text === '' ? 'It must not be empty.' : null));
}

/** Shows what an authenticator needs. */
export function showSecret({ print }: Context, { secret, uri }: TotpSecret): void {
  print.note('Add this account to your authenticator, then type the code that it shows.');
  print.note(`  secret:  ${(secret.match(/.{1,4}/g) ?? []).join(' ')}`);
  print.note(`  address: ${uri}`);
}

/** Shows fresh recovery codes, once. */
export function showRecoveryCodes({ print }: Context, codes: readonly string[] = []): void {
  if (codes.length === 0) return;
  print.note(
    'Recovery codes. Each works once, when the authenticator is not at hand. They are not shown again:',
  );
  for (const code of codes) print.note(`  ${code}`);
}
