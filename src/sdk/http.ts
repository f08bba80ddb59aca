// REST by fetch: one function, typed errors, a time limit, and patience with a
// service that says when to come back. Knows no endpoint.
import type { ErrorCode, LimitCause } from '../protocol/codes.ts';
import { asSdkError, attempt, sdkError } from './error.ts';
import type { Environment, HttpRequest, HttpResponse } from './types.ts';

export interface CallOptions {
  readonly body?: object;
  readonly idempotencyKey?: string;
  /** How often to come again when refused with 429 or 503, which says that nothing was done; 2 unless told. */
  readonly patience?: number;
  /** Let it finish when the page goes away. */
  readonly keepalive?: boolean;
  /** Ask whether a cached answer still holds. */
  readonly revalidate?: boolean;
}

export interface Http {
  /**
   * @param path below the API's prefix
   * @returns the parsed body
   * @throws SdkError
   */
  call<T>(method: string, path: string, options?: CallOptions): Promise<T>;
  /** Ends everything under way: it rejects with `destroyed`. */
  close(): void;
}

const timeLimitMs = 20_000;
const longestWait = 60;

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
export function createHttp(env: Environment, prefix: string, headers: () => Record<string, string>): Http {
  const closing = new AbortController();

  async function once(method: string, path: string, options: CallOptions): Promise<unknown> {
    if (closing.signal.aborted) throw sdkError('destroyed');
    const late = new AbortController();
    const abort = (): void => late.abort();
    closing.signal.addEventListener('abort', abort);
    const cancel = env.after(timeLimitMs, abort);
    const request: HttpRequest = {
      method,
      headers: {
        ...headers(),
        ...(options.body && { 'Content-Type': 'application/json' }),
        ...(options.idempotencyKey === undefined ? {} : { 'Idempotency-Key': options.idempotencyKey }),
      },
      signal: late.signal,
      ...(options.body && { body: JSON.stringify(options.body) }),
      ...(options.keepalive && { keepalive: true }),
      ...(options.revalidate && { cache: 'no-cache' }),
    };
    let response: HttpResponse;
    let text: string;
    try {
      response = await env.fetch(prefix + path, request);
      text = await response.text();
    } catch (error) {
      throw closing.signal.aborted ? sdkError('destroyed') : asSdkError(error);
    } finally {
      cancel();
      closing.signal.removeEventListener('abort', abort);
    }
    const body: unknown = attempt(() => JSON.parse(text) as unknown) ?? {};
    if (response.ok) return body;
    const { error, message, retryAfter, cause } = body as ErrorBody;
    const { status } = response;
    const named = retryAfter ?? Number.parseInt(response.headers.get('Retry-After') ?? '', 10);
    throw sdkError(error ?? (status < 500 ? 'unknown' : 'internal_error'), message ?? `The service answered ${status}.`, {
      status,
      retryAfter: Number.isFinite(named) ? named : undefined,
      cause,
    });
  }

  return {
    call: async <T>(method: string, path: string, options: CallOptions = {}) => {
      for (let left = options.patience ?? 2; ; left -= 1) {
        try {
          return (await once(method, path, options)) as T;
        } catch (thrown) {
          const error = asSdkError(thrown);
          const wait = error.retryAfter ?? 1;
          if (left <= 0 || wait > longestWait || (error.status !== 429 && error.status !== 503)) throw error;
          await new Promise<void>((resolve) => {
            env.after(wait * 1000, resolve);
          });
        }
      }
    },
    close: () => closing.abort(),
  };
}
