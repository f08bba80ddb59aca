// The error that handlers throw when they refuse. Each transport translates it: status and body, error frame, or
// exit code.
import type { ErrorCode, LimitCause } from '../../protocol/codes.ts';
import { isUuid, type ConversationStatus } from '../../protocol/entities.ts';
import type { PasskeyRequest, SecondFactorMethod } from '../../protocol/sign-in.ts';
import { IndexDamagedError, StoreUnavailableError, type LimitWindow } from '../../engine/engine.ts';
import { QueueFullError } from '../../net/fair-limit.ts';

export interface ErrorDetail {
  /** The field, as `subject` or `settings.0.path`; empty for the whole input. */
  readonly path: string;
  readonly message: string;
}

export interface ErrorContext {
  readonly details?: readonly ErrorDetail[];
  /** What was not found or not allowed, where the transport must tell them apart. */
  readonly resource?: 'conversation' | 'message';
  /** For 409: the current state. */
  readonly state?: { readonly status: ConversationStatus; readonly assignedTo: string | null };
  /** For a sign-in that needs a second factor. */
  readonly secondFactor?: {
    readonly ticket: string;
    readonly methods: readonly SecondFactorMethod[];
    /** What a browser needs to show one of the member's passkeys. */
    readonly passkey?: PasskeyRequest;
  };
  /** For 429. */
  readonly limit?: {
    readonly cause: LimitCause;
    readonly retryAfterMs: number;
    readonly window: LimitWindow;
    readonly windows: readonly LimitWindow[];
  };
}

export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly context: ErrorContext;

  /**
   * @param code for programs
   * @param message what was wrong and what to do, for a person; nothing secret
   * @param context what a transport tells besides the message
   */
  constructor(code: ErrorCode, message: string, context: ErrorContext = {}) {
    super(message);
    this.code = code;
    this.context = context;
  }
}

/** 400 for one field. */
export function badField(path: string, message: string): ServiceError {
  return new ServiceError(
    'bad_request',
    path === '' ? `The request is not valid: ${message}.` : `The field ${path} ${message}.`,
    {
      details: [{ path, message }],
    },
  );
}

/** 404: the same sentence whether the thing does not exist or belongs to another tenant. */
export function notFound(what: string, resource?: 'conversation' | 'message'): ServiceError {
  return new ServiceError('not_found', `No such ${what}.`, resource === undefined ? {} : { resource });
}

/** 503: what every request is told while the server ends. */
export function restarting(): ServiceError {
  return new ServiceError('unavailable', 'The service is restarting. Try again in a moment.');
}

/** 429 with what a client needs to know how long to wait. */
export function rateLimited(
  cause: LimitCause,
  windows: readonly LimitWindow[],
  window: LimitWindow,
  retryAfterMs: number,
  message = 'Too many requests',
): ServiceError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return new ServiceError('rate_limit_exceeded', `${message}; try again in ${seconds} s.`, {
    limit: { cause, windows, window, retryAfterMs },
  });
}

const indexDamaged =
  'A full-text index of this server is damaged, and this needs it. No message is lost. Its owner stops it and makes the indexes anew: deskbell reindex.';

/** The error itself; for a store that is unavailable, an index that is damaged or a queue that is full, what a caller is told. */
export function toServiceError(error: unknown): unknown {
  // Not as unavailable: it stays so until someone mends it.
  if (error instanceof IndexDamagedError) return new ServiceError('internal_error', indexDamaged);
  if (error instanceof QueueFullError)
    return error.asker === null ? unavailable() : tooManyWaiting(error.asker);
  if (!(error instanceof StoreUnavailableError)) return error;
  return new ServiceError(
    'unavailable',
    error.mayBeKept
      ? 'The service lost its database while it stored this: it may be kept, or a part of it. Look whether it is there before you try again. A message with the same clientMessageId is stored once, and a removal goes on with what is left.'
      : 'The service could not store or read this now; nothing was kept. Try again in a second.',
  );
}

/**
 * For work in several commits: what one of them is refused says nothing of those before it.
 * @throws what `work` throws; of a store that is unavailable, that a part may be kept
 */
export async function inParts<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    throw new StoreUnavailableError(error.message, { cause: error.cause, mayBeKept: true });
  }
}

/**
 * An asker has as many slow calls waiting as it may have.
 * @param asker the id of an organization, or an address
 */
function tooManyWaiting(asker: string): ServiceError {
  const window = { limit: 1, windowMs: 1_000 };
  return rateLimited(
    isUuid(asker) ? 'per_organization' : 'per_address',
    [window],
    window,
    window.windowMs,
    'Too many requests of yours wait already',
  );
}

function unavailable(): ServiceError {
  return new ServiceError('unavailable', 'The service is busy. Try again in a second.');
}

/** Throws what {@link toServiceError} makes of an error. */
export function throwServiceError(error: unknown): never {
  throw toServiceError(error);
}
