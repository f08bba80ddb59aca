// Owns the page's calls: REST below /api/v1/staff, with the session that lives as long as the page. The token is in
// memory only: it ends with the page, and nothing of it is stored.
import type { ErrorCode } from '../../src/protocol/codes.ts';
import { visitorApiPrefix } from '../../src/protocol/codes.ts';
import type { PasskeyRequest, SecondFactorMethod } from '../../src/protocol/sign-in.ts';
import { say, type Words } from './words.ts';

/** How a sign-in goes on from a right password. */
export interface Pending {
  readonly ticket: string;
  readonly methods: readonly SecondFactorMethod[];
  readonly passkey?: PasskeyRequest;
}

interface ErrorBody extends Partial<Pending> {
  readonly error?: ErrorCode;
  readonly message?: string;
}

/** What the server refused, in its own words. */
export class ApiError extends Error {
  readonly code: ErrorCode | 'network';
  /** With `second_factor`: how to go on. */
  readonly pending: Pending | null;

  constructor(code: ErrorCode | 'network', message: string, pending: Pending | null = null) {
    super(message);
    this.code = code;
    this.pending = pending;
  }
}

const parse: <T>(text: string) => T = JSON.parse;
const timeoutMs = 20_000;
let token: string | null = null;

/** Signs in or out: every further call carries this token. */
export function setToken(to: string | null): void {
  token = to;
}

/** Whether there is a session. */
export function isSignedIn(): boolean {
  return token !== null;
}

/** @throws ApiError */
export async function call<T>(method: string, path: string, body?: object): Promise<T> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(`.${visitorApiPrefix}/staff${path}`, {
      method,
      headers: {
        ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    text = await response.text();
  } catch {
    throw new ApiError('network', say('unreachable'));
  }
  if (response.ok) return parse<T>(text);
  throw refusal(path, response.status, text);
}

/** Where a second factor is shown: what is asked for there once more was wrong. */
export const secondFactorPath = '/session/second-factor';

/** What the server refuses in English: said in the member's language. */
const refusals: Readonly<Partial<Record<ErrorCode, keyof Words>>> = {
  unauthorized: 'refused',
  bad_request: 'refusedNow',
  rate_limit_exceeded: 'limited',
  second_factor: 'factorAsked',
};

function refusal(path: string, status: number, text: string): ApiError {
  try {
    const { error = 'internal_error', message = '', ticket, methods, passkey } = parse<ErrorBody>(text);
    const pending =
      ticket === undefined || methods === undefined
        ? null
        : { ticket, methods, ...(passkey === undefined ? {} : { passkey }) };
    const own = error === 'second_factor' && path === secondFactorPath ? 'factorWrong' : refusals[error];
    return new ApiError(error, (own === undefined ? '' : say(own)) || message, pending);
  } catch {
    // Something in between has answered.
    return new ApiError('network', say('noAnswer', { status: String(status) }));
  }
}

/** Ends the session as the page goes away, which waits for no answer. */
export function leave(): void {
  if (token === null) return;
  void fetch(`.${visitorApiPrefix}/staff/session`, {
    method: 'DELETE',
    headers: { Authorization: `Bearer ${token}` },
    keepalive: true,
  });
  token = null;
}
