// Owns the settings' calls of the REST API. Unlike the client's, its errors say which field was wrong.
import { visitorApiPrefix } from '../../protocol/codes.ts';
import type { StaffSession } from '../../sdk/staff-types.ts';
import { call } from '../api.ts';
import { desk } from '../desk.ts';
import { serverAddress } from '../router.ts';
import { toast } from '../ui/toast.tsx';
import { s } from './words.ts';

export interface Detail {
  /** The field, as `name` or `behavior.greeting`. */
  readonly path: string;
  readonly message: string;
}

/** What the server refused, in its own words. */
export class RestError extends Error {
  readonly code: string;
  readonly details: readonly Detail[];

  constructor(code: string, message: string, details: readonly Detail[]) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

interface ErrorBody {
  readonly error?: string;
  readonly message?: string;
  readonly details?: readonly Detail[];
}

/**
 * @param path below the API's prefix, such as `/admin/members`
 * @returns the parsed answer
 * @throws RestError
 */
export function rest<T>(method: string, path: string, body?: object): Promise<T>;
export function rest(method: string, path: string, body?: object): Promise<unknown> {
  return send(
    method,
    path,
    body === undefined ? null : { type: 'application/json', of: JSON.stringify(body) },
  );
}

/**
 * Sends a file as it is.
 * @param type its media type, such as `application/pdf`
 * @throws RestError
 */
export async function sendFile(path: string, file: File, type: string): Promise<void> {
  await send('POST', path, { type, of: file });
}

interface Body {
  readonly type: string;
  readonly of: string | File;
}

async function send(method: string, path: string, body: Body | null): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(`${serverAddress()}${visitorApiPrefix}${path}`, {
      method,
      ...(body === null ? {} : { headers: { 'Content-Type': body.type }, body: body.of }),
    });
  } catch {
    throw new RestError('network', s('unreachable'), []);
  }
  const answer: unknown = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const { error = 'internal_error', message = s('unreachable'), details = [] } = errorBody(answer);
  if (response.status === 401 || response.status === 403) askWhoIsSignedIn().catch(() => undefined);
  throw new RestError(error, message, details);
}

/**
 * What was refused may be because the session is over, or because its member is an admin no more. The first leads to the
 * sign-in, behind which the page waits as it is; the second is told.
 */
async function askWhoIsSignedIn(): Promise<void> {
  const now = await call<StaffSession>('GET', '/session');
  const { store } = desk().model;
  const before = store.get().session;
  if (before === null || before.member.role === now.member.role) return;
  store.set({ session: now });
  toast(s('rightsChanged'), 'bad');
}

function errorBody(answer: unknown): ErrorBody {
  return typeof answer === 'object' && answer !== null ? answer : {};
}

/** What went wrong, for a person. */
export function problemOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
