// REST by fetch: one function, typed errors, a time limit, and retries with a
// service that says when to come back. Knows no endpoint.
import type { ErrorCode, LimitCause } from '../protocol/codes.ts';
import { asSdkError, tryOrUndefined, sdkError } from './error.ts';
import type { Environment, HttpRequest, HttpResponse } from './types.ts';

export interface RequestOptions {
  readonly body?: object;
  readonly headers_?: Readonly<Record<string, string>>;
  /** How often to come again when refused with 429 or 503, which says that nothing was done; 2 unless told. */
  readonly retries_?: number;
  /** How to fetch: `keepalive` lets it finish when the page goes away, `no-cache` asks whether a cached answer still holds. */
  readonly fetch_?: Pick<HttpRequest, 'keepalive' | 'cache'>;
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
  prefix: string,
  headers: () => Record<string, string>,
): HttpClient {
  const closing = new AbortController();
  const ending = closing.signal;

  const call = async (
    method: string,
    path: string,
    options: RequestOptions = {},
    retriesLeft = options.retries_ ?? 2,
  ): Promise<unknown> => {
    const { body, headers_, fetch_ } = options;
    const late = new AbortController();
    const { signal } = late;
    const abort = (): void => late.abort();
    const cancel = env.after(timeoutMs, abort);
    ending.addEventListener('abort', abort, { signal });
    let response: HttpResponse;
    let text: string;
    try {
      ending.throwIfAborted();
      response = await env.fetch(prefix + path, {
        method,
        headers: {
          ...headers(),
          ...(body && { 'Content-Type': 'application/json' }),
          ...headers_,
        },
        signal,
        ...(body && { body: JSON.stringify(body) }),
        ...fetch_,
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
    const { error = 'internal_error', message = `HTTP ${status}`, cause, retryAfter } = answer as ErrorBody;
    const wait = retryAfter ?? 1;
    if (retriesLeft && wait <= maxRetryAfterSeconds && (status === 429 || status === 503)) {
      await new Promise<void>((resolve) => env.after(wait * 1000, resolve));
      return call(method, path, options, retriesLeft - 1);
    }
    throw sdkError(error, message, status, retryAfter, cause);
  };

  return {
    request_: call as HttpClient['request_'],
    close_: () => closing.abort(),
  };
}
