// REST by fetch: one function, typed errors, a time limit, and patience with a
// service that says when to come back. Knows no endpoint.
import type { ErrorCode, LimitCause } from '../protocol/codes.ts';
import { asSdkError, tryOrUndefined, sdkError } from './error.ts';
import type { Environment, HttpResponse } from './types.ts';

export interface RequestOptions {
  readonly body?: object;
  readonly idempotencyKey_?: string;
  /** How often to come again when refused with 429 or 503, which says that nothing was done; 2 unless told. */
  readonly retries_?: number;
  /** Let it finish when the page goes away. */
  readonly keepalive_?: boolean;
  /** Ask whether a cached answer still holds. */
  readonly revalidate_?: boolean;
}

export interface HttpClient {
  /**
   * @param path below the API's prefix
   * @returns the parsed body
   * @throws SdkError
   */
  request_<T>(method: string, path: string, options?: RequestOptions): Promise<T>;
  /** Ends everything under way: it rejects with `destroyed`. */
  close_(): void;
}

const timeoutMs = 20_000;
const maxRetryAfterSeconds = 60;

interface ErrorBody {
  readonly error?: ErrorCode;
  readonly message?: string;
  readonly retryAfter?: number;
  readonly cause?: LimitCause;
}

/**
 * @param prefix the API's address, such as `https://chat.example.com/api/v1`
 * @param headers who is calling, asked for each call
 */
export function createHttpClient(
  env: Environment,
  prefix: () => string,
  headers: () => Record<string, string>,
): HttpClient {
  const closing = new AbortController();
  const ending = closing.signal;

  const call = async (
    method: string,
    path: string,
    options: RequestOptions = {},
    patience = options.retries_ ?? 2,
  ): Promise<unknown> => {
    const { body, idempotencyKey_ = '', keepalive_ = false, revalidate_ } = options;
    const late = new AbortController();
    const { signal } = late;
    const abort = (): void => late.abort();
    const cancel = env.after(timeoutMs, abort);
    ending.addEventListener('abort', abort, { signal });
    let response: HttpResponse;
    let text: string;
    try {
      ending.throwIfAborted();
      response = await env.fetch(prefix() + path, {
        method,
        headers: {
          ...headers(),
          ...(body && { 'Content-Type': 'application/json' }),
          ...(idempotencyKey_ && { 'Idempotency-Key': idempotencyKey_ }),
        },
        signal,
        ...(body && { body: JSON.stringify(body) }),
        keepalive: keepalive_,
        ...(revalidate_ && { cache: 'no-cache' }),
      });
      text = await response.text();
    } catch (error) {
      throw ending.aborted ? sdkError('destroyed') : asSdkError(error);
    } finally {
      cancel();
      // Nothing is under way any more: this only ends the listening.
      abort();
    }
    const { ok, status } = response;
    const answer = tryOrUndefined(() => JSON.parse(text) as object) ?? {};
    if (ok) return answer;
    // Not a number: whoever answered in the service's place named a date, or nothing.
    const {
      error,
      message,
      cause,
      retryAfter = Number(response.headers.get('Retry-After')) || undefined,
    } = answer as ErrorBody;
    const wait = retryAfter ?? 1;
    if (patience && wait <= maxRetryAfterSeconds && (status === 429 || status === 503)) {
      await new Promise<void>((resolve) => {
        env.after(wait * 1000, resolve);
      });
      return call(method, path, options, patience - 1);
    }
    throw sdkError(
      error ?? (status < 500 ? 'unknown' : 'internal_error'),
      message ?? `HTTP ${status}`,
      status,
      retryAfter,
      cause,
    );
  };

  return {
    request_: call as HttpClient['request_'],
    close_: () => closing.abort(),
  };
}
