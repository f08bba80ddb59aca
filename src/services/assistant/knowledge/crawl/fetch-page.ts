// Fetches one page for the crawl: through the SSRF guard, each redirect checked like the first address, bounded in size and
// time. Extracts no links and stores nothing.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { assistantLimits, fileKinds, type FileKind } from '../../../../protocol/codes.ts';
import type { Clock } from '../../../../engine/engine.ts';
import { SaidTooMuchError } from '../../../../net/bounded-stream.ts';
import { sendRequest } from '../../../../net/http-request.ts';
import { describeNetworkError, errorCode } from '../../../../net/network-errors.ts';
import { BlockedAddressError, type SsrfGuard } from '../../../../net/ssrf-guard.ts';

export interface FetchOptions {
  readonly clock: Pick<Clock, 'after'>;
  readonly guard: SsrfGuard;
  readonly userAgent: string;
  /** Aborts the request under way. */
  readonly signal: AbortSignal;
}

export type FetchResult =
  | {
      readonly ok: true;
      /** After redirects. */
      readonly url: URL;
      readonly mediaType: string;
      readonly charset: string | null;
      readonly bytes: Buffer;
      /** The header X-Robots-Tag. */
      readonly robotsTag: string;
    }
  | { readonly ok: false; readonly problem: string; readonly status: number | null };

/** For one page with all its redirects, ms. */
const timeoutMs = 15_000;
/** Bytes of one page that is text, before and after decompression. */
const maxPageBytes = 6_000_000;
/** Of the largest file, with what lies around and between the pieces of its bytes. */
const maxAnswerBytes = 2 * assistantLimits.fileBytes;
const fileKindsByType: Readonly<Record<string, FileKind>> = fileKinds;
const maxRedirects = 5;

/** A page that can't be fetched. The message ends the sentence "could not be read: …". */
class FetchError extends Error {
  readonly status: number | null;
  constructor(message: string, status: number | null = null) {
    super(message);
    this.status = status;
  }
}

/**
 * @param accept media types, as in the header; a response of another type is not read
 * @param objection why a redirect to an address must not be followed; null: it may
 */
export async function fetchPage(
  start: URL,
  accept: string,
  fetching: FetchOptions,
  objection: (url: URL) => string | null = () => null,
): Promise<FetchResult> {
  const late = new AbortController();
  const cancel = fetching.clock.after(timeoutMs, () => late.abort());
  const signal = AbortSignal.any([fetching.signal, late.signal]);
  try {
    let url = start;
    let response = await get(url, accept, fetching, signal);
    for (let hop = 0; isRedirect(response); hop += 1) {
      response.destroy();
      if (hop === maxRedirects) throw new FetchError(`it redirects more than ${maxRedirects} times`);
      url = resolveRedirect(url, response.headers.location ?? '');
      const problem = objection(url);
      if (problem !== null) throw new FetchError(problem);
      response = await get(url, accept, fetching, signal);
    }
    return await readPage(url, response, accept, signal);
  } catch (error) {
    if (late.signal.aborted)
      return { ok: false, problem: `it took longer than ${timeoutMs / 1_000} s`, status: null };
    if (error instanceof FetchError) return { ok: false, problem: error.message, status: error.status };
    return { ok: false, problem: describeError(error), status: null };
  } finally {
    cancel();
  }
}

const isRedirect = ({ statusCode = 0, headers }: IncomingMessage): boolean =>
  statusCode >= 300 && statusCode < 400 && headers.location !== undefined;

async function readPage(
  url: URL,
  response: IncomingMessage,
  accept: string,
  signal: AbortSignal,
): Promise<FetchResult> {
  const { statusCode: status = 0, headers } = response;
  const type = headers['content-type'] ?? '';
  const mediaType = (type.split(';', 1)[0] ?? '').trim().toLowerCase();
  const problem =
    status !== 200
      ? `the server answered ${status}`
      : mediaType !== '' && !accept.split(',').includes(mediaType)
        ? `it is ${mediaType}, which is no page`
        : null;
  if (problem !== null) {
    response.destroy();
    throw new FetchError(problem, status);
  }
  const charset = /charset\s*=\s*"?([\w.:-]{1,40})/i.exec(type)?.[1] ?? null;
  const robotsTag = String(headers['x-robots-tag'] ?? '').slice(0, 1_000);
  const kind: FileKind | undefined = fileKindsByType[mediaType];
  const most = kind === 'pdf' || kind === 'docx' ? assistantLimits.fileBytes : maxPageBytes;
  return { ok: true, url, mediaType, charset, bytes: await readBody(response, signal, most), robotsTag };
}

/** Stays on the host; from http to https, both at their usual ports, is no other host. */
function resolveRedirect(from: URL, location: string): URL {
  const to = URL.parse(location, from.href);
  if (to === null) throw new FetchError('it redirects to what is no address');
  // The port that is usual is not in `host`.
  const upgraded =
    from.port === '' && from.protocol === 'http:' && to.protocol === 'https:' && from.host === to.host;
  if (to.host !== from.host && !upgraded)
    throw new FetchError(`it leads to another host: ${to.protocol}//${to.host}`);
  if (to.protocol !== from.protocol && !upgraded)
    throw new FetchError(`it leads away from ${from.protocol}//`);
  to.username = '';
  to.password = '';
  return to;
}

function get(
  url: URL,
  accept: string,
  { guard, userAgent }: FetchOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const headers = { accept, 'accept-encoding': 'gzip, deflate, br', 'user-agent': userAgent };
  return sendRequest(url, { headers, guard, signal, maxAnswerBytes });
}

async function readBody(response: IncomingMessage, signal: AbortSignal, maxBytes: number): Promise<Buffer> {
  const tooLarge = `it is larger than ${maxBytes / 1_000_000} MB`;
  const declared = Number(response.headers['content-length'] ?? 0);
  if (declared > maxBytes) {
    response.destroy();
    throw new FetchError(tooLarge);
  }
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  const decoder = decoders.get(encoding);
  if (decoder === undefined) {
    response.destroy();
    throw new FetchError(`it is encoded as ${encoding.slice(0, 40)}, which can't be read`);
  }
  const unpacked: Readable = decoder === null ? response : response.pipe(decoder());
  response.on('error', (error) => unpacked.destroy(error));
  signal.addEventListener('abort', () => unpacked.destroy(new Error('ended')), { once: true });
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      length += chunk.length;
      // Counted after decompression: a small answer may hold a large one.
      if (length > maxBytes) throw new FetchError(tooLarge);
      chunks.push(chunk);
    }
  } finally {
    response.destroy();
    unpacked.destroy();
  }
  return Buffer.concat(chunks);
}

/** A map, not an object: a server may name what every object has, as `constructor`. */
const decoders: ReadonlyMap<string, (() => ReturnType<typeof createGunzip>) | null> = new Map([
  ['identity', null],
  ['', null],
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);

function describeError(error: unknown): string {
  if (error instanceof BlockedAddressError) return 'it leads to a private or local address';
  if (error instanceof SaidTooMuchError) return 'the server answers without end';
  return describeNetworkError(error) ?? errorCode(error).slice(0, 200);
}
