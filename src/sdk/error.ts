// What goes wrong, as one kind of error with a typed code. Must not decide what is
// done about it: that is the caller's business.
import type { LimitCause } from '../protocol/codes.ts';
import type { SdkError, SdkErrorCode } from './types.ts';

/** Makes an error; `status`, `retryAfter` (s) and `cause` where the service told them. The SDK's own codes say enough by themselves. */
export function sdkError(
  code: SdkErrorCode,
  message: string = code,
  status?: number,
  retryAfter?: number,
  cause?: LimitCause,
): SdkError {
  return Object.assign(new Error(message), { name: 'SdkError' as const, code, status, retryAfter, cause });
}

/** Any thrown value as one of ours. */
export function asSdkError(thrown: unknown): SdkError {
  return (thrown as Partial<SdkError> | null)?.name === 'SdkError'
    ? (thrown as SdkError)
    : sdkError('network', String(thrown));
}

/**
 * True when the same request may succeed later: the service was not reached, is busy, or broke. The same as
 * the protocol's table of codes says, by status, so that the table stays out of the page.
 */
export function isRetryable(thrown: unknown): boolean {
  const { code, status = 0 } = asSdkError(thrown);
  return code === 'network' || status === 408 || status === 429 || status >= 500;
}

/** What a function answers; undefined where it throws, as blocked storage and broken JSON do. */
export function tryOrUndefined<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
