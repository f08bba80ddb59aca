// Owns the settings' calls of the REST API. Unlike the client's, its errors say which field was wrong.
import { visitorApiPrefix } from '../../protocol/codes.ts';
import { refusalMessage } from '../../desk/desk-context.ts';
import { checkRights } from '../rights.ts';
import { serverAddress } from '../router.ts';
import { say, t } from '../words.ts';
import { fieldProblem, refusal } from './field-problems.ts';
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
  /** Seconds to wait, where it said. */
  readonly retryAfter: number | undefined;

  constructor(code: string, message: string, details: readonly Detail[], retryAfter?: number) {
    super(message);
    this.code = code;
    this.details = details;
    this.retryAfter = retryAfter;
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
  if (response.status === 401 || response.status === 403) checkRights();
  const seconds = Number(response.headers.get('Retry-After') ?? Number.NaN);
  throw new RestError(error, message, details, Number.isNaN(seconds) ? undefined : seconds);
}

function errorBody(answer: unknown): ErrorBody {
  return typeof answer === 'object' && answer !== null ? answer : {};
}

/** What the server says of a field, in the reader's language; null: it is not known in it. */
function fieldText(message: string): string | null {
  const known = fieldProblem(message);
  if (known === null) return null;
  const { word, n, list } = known;
  return word === 'passwordCommon' ? t(word) : s(word, { n, list });
}

/** What the server says of each field, by its path: in the reader's language where it is known in it. */
export function fieldTexts(error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof RestError)) return {};
  return Object.fromEntries(error.details.map(({ path, message }) => [path, fieldText(message) ?? message]));
}

/** What went wrong, for a person. */
export function problemOf(error: unknown): string {
  if (!(error instanceof RestError)) return error instanceof Error ? error.message : String(error);
  // What was written is still there, which the desk's own sentence does not say.
  if (error.code === 'network') return error.message;
  const fields = error.details.map(({ message }) => fieldText(message));
  // The server's sentence calls a field by its path, which the page has no name for.
  if (fields.length > 0 && !fields.includes(null)) return [...new Set(fields)].join(' ');
  const known = refusal(error.message);
  return known === null ? refusalMessage(error, say) : s(known.word, { n: known.n, list: known.list });
}
