// ServiceError → status, headers and body. Whatever is not a ServiceError is an internal
// error: logged with its request id, answered without any inner detail.
import { Readable } from 'node:stream';
import { setImmediate as yieldToLoop } from 'node:timers/promises';
import type { Context } from 'koa';
import { errorCodes } from '../protocol/codes.ts';
import type { Log } from '../log.ts';
import { ServiceError, toServiceError } from '../services/core/errors.ts';
import { hasParts, isReadList, known } from '../services/core/parts.ts';
import type { SliceBudget } from '../services/core/slices.ts';
import { rateLimitHeaders, retryAfterSeconds } from '../services/tenants/plans.ts';
import { notKept } from './common-headers.ts';

/** UTF-16 units of one piece of a long answer. */
const pieceLength = 64 * 1024;

/** 404 of a path that there is not, or that the caller is not to know of. */
export function noSuchPath(): ServiceError {
  return new ServiceError('not_found', 'No such path. The API lives below /api/v1.');
}

/** Writes the answer to a request that failed. */
export function sendError(ctx: Context, error: unknown, requestId: string, log: Log): void {
  const told = toServiceError(error);
  const failure = told instanceof ServiceError ? told : internal(requestId);
  if (failure.code === 'internal_error') log.error({ requestId, err: loggedError(error) }, 'internal error');
  const { headers, body } = describeFailure(failure, sentenceOf(ctx, failure), requestId);
  for (const [name, value] of Object.entries(headers)) ctx.set(name, value);
  answerOf(ctx).cacheControl = null;
  sendJson(ctx, errorCodes[failure.code].status, body);
}

/** What a refusal says, by whichever way it leaves: its own headers, and the body that every error has. */
export function describeFailure(
  { code, context }: ServiceError,
  message: string,
  requestId: string,
): { readonly headers: Readonly<Record<string, string>>; readonly body: object } {
  const { limit } = context;
  // Every 400 has them: what concerns no field concerns the whole.
  const details = context.details ?? (code === 'bad_request' ? [{ path: '', message }] : undefined);
  return {
    headers: {
      ...(limit === undefined ? {} : limitHeaders(limit)),
      ...(code === 'unavailable' ? { 'Retry-After': '1' } : {}),
      // Which kind of credential would do: a 401 must say so (RFC 9110, 15.5.2). It says nothing of why this one did not.
      ...(errorCodes[code].status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {}),
    },
    body: {
      error: code,
      message,
      ...(details === undefined ? {} : { details }),
      ...(limit === undefined
        ? {}
        : { cause: limit.cause, retryAfter: retryAfterSeconds(limit.retryAfterMs) }),
      ...context.state,
      ...context.secondFactor,
      ...(code === 'internal_error' ? { requestId } : {}),
    },
  };
}

function limitHeaders({
  cause,
  windows,
  window,
  retryAfterMs,
}: NonNullable<ServiceError['context']['limit']>): Record<string, string> {
  const policies = [{ name: cause.replace('per_', ''), windows: windows.length === 0 ? [window] : windows }];
  return { ...rateLimitHeaders({ failed: 0, window, retryAfterMs }, policies) };
}

/** What a field holds came by a header where the caller named it by one: the sentence speaks of that. */
function sentenceOf(ctx: Context, { message, context }: ServiceError): string {
  const { fieldOfKey } = ctx.state;
  const detail = context.details?.[0];
  return fieldOfKey !== undefined && detail?.path === fieldOfKey
    ? `The header Idempotency-Key is not valid: ${detail.message}.`
    : message;
}

/** An answer that has not been handed to koa: as it would leave, with the headers that go with whatever is answered. */
interface Answer {
  json: string | readonly Buffer[] | null;
  /** What the answer depends on beside the URL, as its header says it. */
  vary: string | null;
  /** How long it may be kept; null: not at all. */
  cacheControl: string | null;
  /** Names and values in turn. */
  readonly headers: string[];
}

declare module 'koa' {
  interface DefaultState {
    answer?: Answer | undefined;
    /** The input field that only the header Idempotency-Key has filled. */
    fieldOfKey?: string | undefined;
  }
}

function answerOf({ state }: Context): Answer {
  return (state.answer ??= { json: null, vary: null, cacheControl: null, headers: [] });
}

const jsonType = 'application/json; charset=utf-8';

/** Writes a JSON answer, which leaves with `sendAnswer`. */
export function sendJson(ctx: Context, status: number, body: object): void {
  ctx.status = status;
  answerOf(ctx).json = JSON.stringify(body);
}

/**
 * Writes a JSON answer whose lists may hold much: a page of a hundred rows can have some megabytes, and what is short is
 * written at once.
 * @param inSlice does some work beside that of others
 */
export async function sendListJson(
  ctx: Context,
  status: number,
  body: object,
  inSlice: (work: (full: SliceBudget) => boolean) => Promise<boolean>,
): Promise<void> {
  ctx.status = status;
  const pieces = jsonPieces(body);
  const first = pieces.next();
  if (first.done === true) {
    answerOf(ctx).json = first.value;
    return;
  }
  const taken = [Buffer.from(first.value)];
  const takeSome = (full: SliceBudget): boolean => {
    for (;;) {
      const { done = false, value } = pieces.next();
      taken.push(Buffer.from(value));
      if (done || full(1)) return done;
    }
  };
  while (!(await inSlice(takeSome)));
  answerOf(ctx).json = taken;
}

/** The text of an object in pieces, its lists an element at a time. */
function* jsonPieces(body: object): Generator<string, string> {
  let piece = '';
  let separator = '{';
  for (const [name, member] of Object.entries(body)) {
    if (member === undefined) continue;
    piece += `${separator}${JSON.stringify(name)}:`;
    separator = ',';
    if (!Array.isArray(member)) {
      piece += JSON.stringify(member);
      continue;
    }
    piece += '[';
    for (const [at, one] of member.entries()) {
      piece += at === 0 ? JSON.stringify(one) : `,${JSON.stringify(one)}`;
      if (piece.length < pieceLength) continue;
      yield piece;
      piece = '';
    }
    piece += ']';
  }
  return `${piece}${separator === '{' ? '{}' : '}'}`;
}

/** A JSON answer that has not been handed to koa. */
export function jsonOf(ctx: Context): string | Buffer | null {
  const { json } = answerOf(ctx);
  return json === null || typeof json === 'string' ? json : Buffer.concat(json);
}

/** Says of whatever is answered that it depends on a header of the request. */
export function addVary(ctx: Context, name: string): void {
  const answer = answerOf(ctx);
  answer.vary = answer.vary === null ? name : `${answer.vary}, ${name}`;
}

/** Lets an answer be kept. An error in its place is not. */
export function setCacheControl(ctx: Context, value: string): void {
  answerOf(ctx).cacheControl = value;
}

/** Adds headers to whatever is answered. @param headers names and values in turn, none of them set otherwise */
export function addHeaders(ctx: Context, ...headers: readonly string[]): void {
  answerOf(ctx).headers.push(...headers);
}

/** Hands what has been answered so far to koa, for those who look at it there, or go on with it. */
export function handToKoa(ctx: Context): void {
  const { answer } = ctx.state;
  if (answer === undefined) return;
  for (let at = 0; at < answer.headers.length; at += 2) {
    const [name = '', value = ''] = answer.headers.slice(at, at + 2);
    ctx.set(name, value);
  }
  if (answer.vary !== null) ctx.vary(answer.vary);
  if (answer.cacheControl !== null) ctx.set('Cache-Control', answer.cacheControl);
  const json = jsonOf(ctx);
  if (json !== null) {
    ctx.type = jsonType;
    ctx.body = json;
  }
  ctx.state.answer = undefined;
}

/**
 * Lets an answer go out. JSON that nothing has been set beside leaves by one call with all its headers: koa and Node
 * would look up and check each of them by itself, which costs as much as storing the message.
 * @param common headers of every answer but Cache-Control, names and values in turn; what was set already stays
 */
export function sendAnswer(ctx: Context, common: readonly string[]): void {
  const { res } = ctx;
  const { answer } = ctx.state;
  const json = answer?.json ?? null;
  if (
    answer !== undefined &&
    json !== null &&
    ctx.body === undefined &&
    ctx.method !== 'HEAD' &&
    !res.writableEnded &&
    res.getHeaderNames().length === 0
  ) {
    const { headers, vary, cacheControl } = answer;
    const pieces = typeof json === 'string' ? [json] : json;
    const length = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
    ctx.respond = false;
    const all = [...headers, 'Cache-Control', cacheControl ?? notKept, ...common];
    all.push('Content-Type', jsonType, 'Content-Length', String(length));
    if (vary !== null) all.push('Vary', vary);
    res.writeHead(ctx.status, all);
    if (typeof json === 'string') endWithText(res, json, length);
    else {
      for (const piece of json) res.write(piece);
      res.end();
    }
    return;
  }
  handToKoa(ctx);
  if (!res.hasHeader('Cache-Control')) ctx.set('Cache-Control', notKept);
  for (let at = 0; at < common.length; at += 2) {
    const [name = '', value = ''] = common.slice(at, at + 2);
    if (!res.hasHeader(name)) ctx.set(name, value);
  }
}

/**
 * Ends an answer with its text. ASCII is the same in Latin-1, which Node only copies, and in UTF-8, for which it looks at each
 * character: that took a thirtieth of a request.
 * @param bytes of the text in UTF-8
 */
function endWithText(res: Context['res'], text: string, bytes: number): void {
  res.end(text, bytes === text.length ? 'latin1' : 'utf8');
}

/** Calls `end` when nothing more is sent; now, where the reader has gone already. */
export function untilClosed({ res }: Context, end: () => void): void {
  if (res.closed) end();
  else res.once('close', end);
}

/** What went wrong inside the service while an answer was being read; its connection is broken off. */
export class BrokenAnswerError extends Error {
  override readonly name = 'BrokenAnswerError';
}

/**
 * Writes a JSON answer of any size, whose lists are read as they are written, in pieces between which others are served.
 * Where reading fails, the connection is broken off: what was written is no whole JSON, and the length is not known before.
 */
export function sendLongJson(ctx: Context, status: number, body: object): void {
  ctx.status = status;
  ctx.type = jsonType;
  ctx.body = Readable.from(untilBroken(ctx, jsonInPieces(body)));
}

/** @throws what the caller may know, as that they hung up or that their right was withdrawn */
async function* untilBroken({ app, res }: Context, pieces: AsyncGenerator<string>): AsyncGenerator<string> {
  try {
    yield* pieces;
  } catch (error) {
    if (res.destroyed || toServiceError(error) instanceof ServiceError) throw error;
    // Said once: of an error that is thrown, koa hears from both streams.
    app.emit('error', new BrokenAnswerError('reading an answer failed', { cause: error }));
    res.destroy();
  }
}

async function* jsonInPieces(body: object): AsyncGenerator<string> {
  let piece = '';
  for await (const text of jsonTexts(body)) {
    piece += text;
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = '';
    await yieldToLoop();
  }
  yield piece;
}

/** The text of a value, a member or an element at a time. Members that are undefined are left out. */
async function* jsonTexts(value: unknown): AsyncGenerator<string> {
  if (isReadList(value)) {
    let separator = '[';
    for await (const one of value) {
      yield separator;
      yield* jsonTexts(one);
      separator = ',';
    }
    yield separator === '[' ? '[]' : ']';
  } else if (hasParts(value)) {
    let separator = '{';
    for (const [name, member] of Object.entries(value)) {
      const one = known(member);
      if (one === undefined) continue;
      yield `${separator}${JSON.stringify(name)}:`;
      yield* jsonTexts(one);
      separator = ',';
    }
    yield separator === '{' ? '{}' : '}';
  } else yield JSON.stringify(value);
}

function internal(requestId: string): ServiceError {
  return new ServiceError(
    'internal_error',
    `Something went wrong inside the service. If it happens again, report request ${requestId}.`,
  );
}

/** What the log says of an error that no caller was meant to see. */
export function loggedError(error: unknown): object | string {
  return error instanceof Error
    ? { name: error.name, message: error.message, stack: error.stack }
    : String(error);
}
