// The one way in which a rule says no. Doors translate a failure into their own
// language (status and body, error frame, exit code); rules only throw it.
import type { ErrorCode, LimitCause } from '../protocol/codes.ts';
import { StoreUnavailable, type LimitWindow } from '../engine/engine.ts';

export interface FailureDetail {
  /** The field, as `subject` or `settings.0.path`; empty for the whole input. */
  readonly path: string;
  readonly message: string;
}

export interface FailureExtra {
  readonly details?: readonly FailureDetail[];
  /** What was not found or not allowed, where the door must tell them apart. */
  readonly about?: 'conversation' | 'message';
  /** For 409: the state as it now is. */
  readonly state?: { readonly status: string; readonly assignedTo: string | null };
  /** For 429. */
  readonly limit?: {
    readonly cause: LimitCause;
    readonly retryAfterMs: number;
    readonly window: LimitWindow;
    readonly windows: readonly LimitWindow[];
  };
}

export class Failure extends Error {
  override readonly name = 'Failure';
  readonly code: ErrorCode;
  readonly extra: FailureExtra;

  /**
   * @param code what a program goes by
   * @param message what was wrong and what to do, for a person; nothing secret
   */
  constructor(code: ErrorCode, message: string, extra: FailureExtra = {}) {
    super(message);
    this.code = code;
    this.extra = extra;
  }
}

/** 400 for one field. */
export function badField(path: string, message: string): Failure {
  return new Failure('bad_request', path === '' ? `The request is not valid: ${message}.` : `The field ${path} ${message}.`, {
    details: [{ path, message }],
  });
}

/** 404: the same sentence whether the thing does not exist or is somebody else's. */
export function notFound(what: string, about?: 'conversation' | 'message'): Failure {
  return new Failure('not_found', `No such ${what}.`, about === undefined ? {} : { about });
}

/** 429 with everything that a client needs to wait well. */
export function rateLimited(
  cause: LimitCause,
  windows: readonly LimitWindow[],
  window: LimitWindow,
  retryAfterMs: number,
  message = 'Too many requests',
): Failure {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return new Failure('rate_limit_exceeded', `${message}; try again in ${seconds} s.`, {
    limit: { cause, windows, window, retryAfterMs },
  });
}

/** The error itself, or, for a store that could not be reached, the 503 that a caller can be told. */
export function tellable(error: unknown): unknown {
  if (!(error instanceof StoreUnavailable)) return error;
  return new Failure('unavailable', 'The service could not store or read this now; nothing was kept. Try again in a second.');
}

/** Throws what {@link tellable} makes of an error. */
export function rethrowTellable(error: unknown): never {
  throw tellable(error);
}
