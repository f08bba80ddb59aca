// Failure → status, headers and body. Whatever is not a Failure is an internal
// error: logged with its request id, answered without any inner detail.
import type { Context } from 'koa';
import { errorCodes } from '../protocol/codes.ts';
import type { Log } from '../log.ts';
import { Failure, tellable } from '../services/failure.ts';
import { rateLimitHeaders, retryAfterSeconds } from '../services/limits.ts';

/** Writes the answer to a request that failed. */
export function answerFailure(ctx: Context, error: unknown, requestId: string, log: Log): void {
  const told = tellable(error);
  const failure = told instanceof Failure ? told : internal(error, requestId, log);
  const { code, extra } = failure;
  ctx.status = errorCodes[code].status;
  if (extra.limit !== undefined) {
    const { cause, windows, window, retryAfterMs } = extra.limit;
    const policies = [{ name: cause.replace('per_', ''), windows: windows.length === 0 ? [window] : windows }];
    for (const [name, value] of Object.entries(rateLimitHeaders({ ok: false, failed: 0, window, retryAfterMs }, policies)))
      ctx.set(name, String(value));
  }
  if (code === 'unavailable') ctx.set('Retry-After', '1');
  answerJson(ctx, {
    error: code,
    message: failure.message,
    ...(extra.details === undefined ? {} : { details: extra.details }),
    ...(extra.limit === undefined ? {} : { cause: extra.limit.cause, retryAfter: retryAfterSeconds(extra.limit.retryAfterMs) }),
    ...extra.state,
    ...(code === 'internal_error' ? { requestId } : {}),
  });
}

/** Writes a JSON answer. */
export function answerJson(ctx: Context, body: object): void {
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = JSON.stringify(body);
}

function internal(error: unknown, requestId: string, log: Log): Failure {
  log.error(
    { requestId, err: error instanceof Error ? { name: error.name, message: error.message, stack: error.stack } : String(error) },
    'internal error',
  );
  return new Failure('internal_error', `Something went wrong inside the service. If it happens again, report request ${requestId}.`);
}
