// The body of a request. A guard holds the contract of JSON (media type, encoding, size, UTF-8, depth) on the raw bytes.
// What could name a prototype is then parsed by koa-body, the rest at once. A file is handed on as its bytes.
import { isUtf8 } from 'node:buffer';
import { EventEmitter } from 'node:events';
import type { Context, Middleware } from 'koa';
import { keepResults } from '../net/keep-results.ts';
import { sizeLimits } from '../protocol/codes.ts';
import { isJsonObject, nestsDeeperThan } from '../services/content/json.ts';
import { badField, ServiceError } from '../services/core/errors.ts';
import { cutShort } from './receive-time.ts';

let koaBody: Promise<Middleware> | undefined;

/** Loaded by the first body that it is to parse: with what it brings along, it is a sixth of the server's code. */
function loadKoaBody(): Promise<Middleware> {
  return (koaBody ??= import('koa-body').then(({ default: create }) =>
    create({
      json: true,
      jsonStrict: true,
      jsonLimit: sizeLimits.bodyBytes,
      multipart: false,
      urlencoded: false,
      text: false,
      patchNode: false,
      patchKoa: true,
      onError: (error, ctx) => {
        Object.assign(ctx.request, { body: parseWithoutPrototypes(error) });
      },
    }),
  ));
}

/**
 * Parses what koa-body refused. It refuses every body with a key `__proto__`, which is an unknown field like any
 * other: it is left out here, at every depth.
 * @param error koa-body's, with the text of the body
 * @throws ServiceError bad_request: the body is not JSON
 */
function parseWithoutPrototypes(error: Error & { readonly body?: unknown }): unknown {
  try {
    return JSON.parse(String(error.body), (key, value: unknown) => (key === '__proto__' ? undefined : value));
  } catch {
    throw notJson();
  }
}

/**
 * Reads the body of a request.
 * @returns an object of its own; an empty body is an empty object
 * @throws ServiceError bad_request, payload_too_large, unsupported_media_type
 */
export async function readBody(ctx: Context): Promise<Record<string, unknown>> {
  const { headers } = ctx.req;
  const announced = headers['content-length'];
  if (headers['transfer-encoding'] === undefined && (announced === undefined || Number(announced) === 0))
    return {};
  const contentType = headers['content-type'];
  if (contentType !== undefined) checkMediaType(contentType);
  const bytes = await readBytes(ctx, sizeLimits.bodyBytes);
  if (bytes.length === 0) return {};
  // A body of unknown length may have been none.
  if (contentType === undefined) checkMediaType(contentType);
  const text = checkText(bytes);
  const body = mayNamePrototype(text) ? await parseByKoaBody(ctx, bytes) : parseText(text);
  if (!isJsonObject(body)) throw badField('', 'the body must be a JSON object');
  return body;
}

/** A file as it was sent. */
export interface FileBody {
  readonly mediaType: string;
  readonly file: Uint8Array;
}

/**
 * Reads a body that is a file.
 * @param types media types that it may have
 * @param maxBytes a larger one is refused
 * @throws ServiceError bad_request, payload_too_large, unsupported_media_type
 */
export async function readFileBody(
  ctx: Context,
  types: readonly string[],
  maxBytes: number,
): Promise<FileBody> {
  const { mediaType, isUtf8 } = parseMediaType(ctx.req.headers['content-type'] ?? '');
  if (!types.includes(mediaType) || !isUtf8)
    throw new ServiceError(
      'unsupported_media_type',
      `The body must be a file; text must be in UTF-8. Send its Content-Type, one of ${types.join(', ')}.`,
    );
  const file = await readBytes(ctx, maxBytes);
  if (file.length === 0) throw badField('file', 'must not be empty');
  return { mediaType, file };
}

/** False for nearly every body: then no key can be `__proto__`, written plainly or by an escape. */
function mayNamePrototype(text: string): boolean {
  return text.includes('__proto__') || text.includes('\\u');
}

/** The guard has read the bytes already: a second reader of them would cost more than all the rest of a request. */
function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notJson();
  }
}

async function parseByKoaBody(ctx: Context, bytes: Buffer): Promise<unknown> {
  const parse = await loadKoaBody();
  await parse(replay(ctx, bytes), () => Promise.resolve());
  return 'body' in ctx.request ? ctx.request.body : undefined;
}

function notJson(): ServiceError {
  return new ServiceError('bad_request', 'The body is not a valid JSON object.', {
    details: [{ path: '', message: 'must be a valid JSON object' }],
  });
}

function tooLarge(ctx: Context, maxBytes: number): ServiceError {
  // What is still on its way will not be read, so the connection can't serve another request.
  ctx.set('Connection', 'close');
  return new ServiceError('payload_too_large', `The body is larger than ${maxBytes} bytes.`);
}

/** Exactly application/json, in UTF-8: the sender may read anything else differently. */
function checkMediaType(header: string | undefined): void {
  const { mediaType, isUtf8 } = parseMediaType(header ?? '');
  if (mediaType !== 'application/json' || !isUtf8)
    throw new ServiceError(
      'unsupported_media_type',
      'The body must be JSON in UTF-8: send Content-Type: application/json.',
    );
}

interface MediaType {
  readonly mediaType: string;
  /** Whether it says nothing else than UTF-8 beside the type. */
  readonly isUtf8: boolean;
}

const parseMediaType = keepResults((header: string): MediaType => {
  const [mediaType = '', ...parameters] = header.split(';').map((part) => part.trim().toLowerCase());
  const isUtf8 = parameters.every((parameter) => parameter === '' || /^charset="?utf-8"?$/.test(parameter));
  return { mediaType, isUtf8 };
});

/** Listeners instead of an async iterator: this is on every send's road, and the iterator costs more than the parsing. */
function readBytes(ctx: Context, maxBytes: number): Promise<Buffer> {
  const { 'content-encoding': encoding, 'content-length': announced } = ctx.req.headers;
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new ServiceError(
      'unsupported_media_type',
      'The body must not be compressed: send it without Content-Encoding.',
    );
  if (announced !== undefined && Number(announced) > maxBytes) throw tooLarge(ctx, maxBytes);
  return new Promise((resolve, reject) => {
    const { req } = ctx;
    const chunks: Buffer[] = [];
    let length = 0;
    let ended = false;
    const leave = (): void => {
      if (!ended) reject(cutShort());
    };
    req.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      req.removeAllListeners('data');
      req.pause();
      reject(tooLarge(ctx, maxBytes));
    });
    // It waited for its turn, and the caller is gone.
    if (req.destroyed) leave();
    // Left in place, which costs less than to take them off.
    req.on('error', leave);
    req.on('close', leave);
    req.on('end', () => {
      ended = true;
      const [first] = chunks;
      resolve(first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks));
    });
  });
}

/** @returns the text of the body */
function checkText(bytes: Buffer): string {
  if (!isUtf8(bytes))
    throw new ServiceError('bad_request', 'The body is not valid UTF-8.', {
      details: [{ path: '', message: 'must be valid UTF-8' }],
    });
  const text = bytes.toString('utf8');
  if (text.charCodeAt(0) === 0xfeff) throw notJson();
  if (nestsDeeperThan(text, sizeLimits.jsonDepth))
    throw badField('', `the body is nested deeper than ${sizeLimits.jsonDepth} levels`);
  return text;
}

/**
 * The request once more, from memory: koa-body reads a stream, and the guard has read the real one. It listens
 * for `data` and `end` as soon as it is called, which is all of a stream that it needs.
 */
function replay(ctx: Context, bytes: Buffer): Context {
  const request = Object.assign(new EventEmitter(), { headers: { 'content-length': String(bytes.length) } });
  process.nextTick(() => {
    request.emit('data', bytes);
    request.emit('end');
  });
  return Object.create(ctx, { req: { value: request } }) as Context;
}
