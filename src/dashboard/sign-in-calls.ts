// Owns the calls of who is not signed in: the steps of a sign-in, a new password, an invitation. What was refused is said
// here in the reader's language, by the step that was refused.
import { refusalMessage, type Refusal } from '../desk/desk-context.ts';
import { visitorApiPrefix } from '../protocol/codes.ts';
import type { PasskeyRequest } from '../protocol/sign-in.ts';
import { serverAddress } from './router.ts';
import { say, t } from './words.ts';

/** How a sign-in goes on that needs a second factor. */
export interface Pending {
  readonly ticket: string;
  readonly methods: readonly string[];
  readonly passkey?: PasskeyRequest;
}

export interface Refused extends Refusal {
  /** The fields that were wrong. */
  readonly fields: readonly string[];
  readonly pending: Pending | null;
}

/** What was done, or why not. */
type Answer = { readonly body: string; readonly refused: null } | { readonly refused: Refused };

type RefusedBody = {
  readonly error?: string;
  readonly message?: string;
  readonly details?: readonly { readonly path: string }[];
} & Partial<Pending>;

/** Shorter passwords are refused. */
export const shortestPassword = 8;

export const parse: <T>(text: string) => T = JSON.parse;

/** Something in between may have answered, which knows no JSON. */
function parsed(text: string): RefusedBody {
  try {
    return parse<RefusedBody>(text);
  } catch {
    return {};
  }
}

/** Asks the server. @param path below `/staff` */
export async function post(path: string, body: object): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(`${serverAddress()}${visitorApiPrefix}/staff/${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
  } catch {
    return { refused: { code: 'network', message: '', fields: [], pending: null } };
  }
  const text = await response.text().catch(() => '');
  if (response.ok) return { body: text, refused: null };
  const { error = 'network', message = '', details = [], ticket, methods, passkey } = parsed(text);
  const seconds = response.headers.get('Retry-After');
  return {
    refused: {
      code: error,
      message,
      ...(seconds !== null && { retryAfter: Number(seconds) }),
      fields: details.map((detail) => detail.path),
      pending:
        ticket === undefined || methods === undefined
          ? null
          : { ticket, methods, ...(passkey !== undefined && { passkey }) },
    },
  };
}

/** What is not right, by the step that says so. */
const notRight = {
  session: 'signInWrong',
  'session/second-factor': 'signInOver',
  'session/link': 'linkSpent',
  invitation: 'invitationSpent',
  'password/reset': 'resetSpent',
} as const;

const isNamed = (path: string): path is keyof typeof notRight => path in notRight;

/** Why a step was refused, for who took it. @param chosen the password, where a new one was chosen */
export function refusedSentence(path: string, refused: Refused, chosen?: string): string {
  const { code, fields, message } = refused;
  if (code === 'unauthorized' && isNamed(path)) return t(notRight[path]);
  if (chosen !== undefined && code === 'bad_request' && fields.includes('password'))
    return chosen.length < shortestPassword
      ? t('passwordLength', { n: shortestPassword })
      : t('passwordCommon');
  // In English the server's own sentences say more.
  if (code === 'second_factor') return t('factorWrong') || message;
  if (code === 'conflict' && path === 'password/forgot') return t('noMailServer') || message;
  return refusalMessage(refused, say);
}
