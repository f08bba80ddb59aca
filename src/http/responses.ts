// ServiceError → status, headers and body. Whatever is not a ServiceError is an internal
// error: logged with its request id, answered without any inner detail.
import { Readable } from 'node:stream';
import { setImmediate as yieldToLoop } from 'node:timers/promises';
import type { Context } from 'koa';
import { errorCodes } from '../protocol/codes.ts';
import type { Log } from '../log.ts';
import { ServiceError, toServiceError } from '../services/core/errors.ts';
import { rateLimitHeaders, retryAfterSeconds } from '../services/tenants/plans.ts';

/** UTF-16 units of one piece of a long answer. */
const pieceLength = 64 * 1024;

/** Writes the answer to a request that failed. */
export function sendError(ctx: Context, error: unknown, requestId: string, log: Log): void {
  const told = toServiceError(error);
  const failure = told instanceof ServiceError ? told : internal(error, requestId, log);
  const { code, context } = failure;
  ctx.status = errorCodes[code].status;
  if (context.limit !== undefined) {
    const { cause, windows, window, retryAfterMs } = context.limit;
    const policies = [
      { name: cause.replace('per_', ''), windows: windows.length === 0 ? [window] : windows },
    ];
    for (const [name, value] of Object.entries(
      rateLimitHeaders({ failed: 0, window, retryAfterMs }, policies),
    ))
      ctx.set(name, String(value));
  }
  if (code === 'unavailable') ctx.set('Retry-After', '1');
  sendJson(ctx, {
    error: code,
    message: failure.message,
    ...(context.details === undefined ? {} : { details: context.details }),
    ...(context.limit === undefined
      ? {}
      : { cause: context.limit.cause, retryAfter: retryAfterSeconds(context.limit.retryAfterMs) }),
    ...context.state,
    ...context.secondFactor,
    ...(code === 'internal_error' ? { requestId } : {}),
  });
}

/** Writes a JSON answer. */
export function sendJson(ctx: Context, body: object): void {
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = JSON.stringify(body);
}

/** Writes a JSON answer of any size, in pieces between which others are served. */
export function sendLongJson(ctx: Context, body: object): void {
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = Readable.from(jsonInPieces(body));
}

async function* jsonInPieces(body: object): AsyncGenerator<string> {
  let piece = '';
  for (const token of jsonTokens(body)) {
    piece += token;
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = '';
    await yieldToLoop();
  }
  yield piece;
}

/** The text of a value, an element or a member at a time. */
function* jsonTokens(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) {
    yield JSON.stringify(value);
    return;
  }
  const list = Array.isArray(value);
  const members = list ? value.entries() : Object.entries(value).filter(([, one]) => one !== undefined);
  let separator = list ? '[' : '{';
  for (const [name, one] of members) {
    yield list ? separator : `${separator}${JSON.stringify(name)}:`;
    yield* jsonTokens(one);
    separator = ',';
  }
  const empty = separator !== ',';
  yield list ? (empty ? '[]' : ']') : empty ? '{}' : '}';
}

function internal(error: unknown, requestId: string, log: Log): ServiceError {
  log.error(
    {
      requestId,
      err:
        error instanceof Error
          ? { name: error.name, message: error.message, stack: error.stack }
          : String(error),
    },
    'internal error',
  );
  return new ServiceError(
    'internal_error',
    `Something went wrong inside the service. If it happens again, report request ${requestId}.`,
  );
}
