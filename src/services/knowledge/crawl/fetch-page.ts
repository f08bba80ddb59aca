// Fetches one page for the crawl: only where its owner lets it go, each redirect looked
// at like the first address, bounded in size and time. Reads no link and stores nothing.
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Clock } from '../../../engine/engine.ts';
import { connectionProblem } from '../../connection-problems.ts';
import { AddressRefused, type Guard } from '../../guarded-lookup.ts';

export interface Fetching {
  readonly clock: Clock;
  readonly guard: Guard;
  readonly userAgent: string;
  /** Ends everything under way. */
  readonly signal: AbortSignal;
}

export type Fetched =
  | {
      readonly ok: true;
      /** Where it was found in the end. */
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
/** Bytes of one page, before and after decompression. */
const mostBytes = 6_000_000;
const mostRedirects = 5;

/** A page that can't be had; the message says why, after "could not be read: ". */
class Unfetched extends Error {
  readonly status: number | null;
  constructor(message: string, status: number | null = null) {
    super(message);
    this.status = status;
  }
}

/**
 * @param accept media types, as the header has them; an answer of another type is not read
 * @param objection why an address that it is redirected to must not be asked; null: it may
 */
export async function fetchPage(
  start: URL,
  accept: string,
  fetching: Fetching,
  objection: (url: URL) => string | null = () => null,
): Promise<Fetched> {
  const late = new AbortController();
  const cancel = fetching.clock.after(timeoutMs, () => late.abort());
  const signal = AbortSignal.any([fetching.signal, late.signal]);
  try {
    let url = start;
    let response = await get(url, accept, fetching, signal);
    for (let hop = 0; isRedirect(response); hop += 1) {
      response.destroy();
      if (hop === mostRedirects) throw new Unfetched(`it redirects more than ${mostRedirects} times`);
      url = redirected(url, response.headers.location ?? '');
      const problem = objection(url);
      if (problem !== null) throw new Unfetched(problem);
      response = await get(url, accept, fetching, signal);
    }
    return await accepted(url, response, accept, signal);
  } catch (error) {
    if (late.signal.aborted) return { ok: false, problem: `it took longer than ${timeoutMs / 1_000} s`, status: null };
    if (error instanceof Unfetched) return { ok: false, problem: error.message, status: error.status };
    return { ok: false, problem: describe(error as NodeJS.ErrnoException), status: null };
  } finally {
    cancel();
  }
}

const isRedirect = ({ statusCode = 0, headers }: IncomingMessage): boolean =>
  statusCode >= 300 && statusCode < 400 && headers.location !== undefined;

async function accepted(url: URL, response: IncomingMessage, accept: string, signal: AbortSignal): Promise<Fetched> {
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
    throw new Unfetched(problem, status);
  }
  const charset = /charset\s*=\s*"?([\w.:-]{1,40})/i.exec(type)?.[1] ?? null;
  const robotsTag = String(headers['x-robots-tag'] ?? '').slice(0, 1_000);
  return { ok: true, url, mediaType, charset, bytes: await body(response, signal), robotsTag };
}

/** Stays on the host; from http to https, both at their usual ports, is no other host. */
function redirected(from: URL, location: string): URL {
  const to = URL.parse(location, from.href);
  if (to === null) throw new Unfetched('it redirects to what is no address');
  // The port that is usual is not in `host`.
  const upgraded = from.port === '' && from.protocol === 'http:' && to.protocol === 'https:' && from.host === to.host;
  if (to.host !== from.host && !upgraded) throw new Unfetched(`it leads to another host: ${to.protocol}//${to.host}`);
  if (to.protocol !== from.protocol && !upgraded) throw new Unfetched(`it leads away from ${from.protocol}//`);
  to.username = '';
  to.password = '';
  return to;
}

function get(url: URL, accept: string, { guard, userAgent }: Fetching, signal: AbortSignal): Promise<IncomingMessage> {
  if (guard.refuses(url)) return Promise.reject(new AddressRefused('refused'));
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(url, {
      headers: { accept, 'accept-encoding': 'gzip, deflate, br', 'user-agent': userAgent },
      lookup: guard.lookup,
      // A connection of its own: one that is kept would not be looked at again.
      agent: false,
      signal,
    });
    request.on('response', resolve);
    request.on('error', reject);
    request.end();
  });
}

async function body(response: IncomingMessage, signal: AbortSignal): Promise<Buffer> {
  const declared = Number(response.headers['content-length'] ?? 0);
  if (declared > mostBytes) {
    response.destroy();
    throw new Unfetched(tooBig);
  }
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  const decoder = decoders[encoding];
  if (decoder === undefined) {
    response.destroy();
    throw new Unfetched(`it is encoded as ${encoding.slice(0, 40)}, which can't be read`);
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
      if (length > mostBytes) throw new Unfetched(tooBig);
      chunks.push(chunk);
    }
  } finally {
    response.destroy();
    unpacked.destroy();
  }
  return Buffer.concat(chunks);
}

const tooBig = `it is larger than ${mostBytes / 1_000_000} MB`;

const decoders: Readonly<Record<string, (() => ReturnType<typeof createGunzip>) | null>> = {
  identity: null,
  '': null,
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

function describe(error: NodeJS.ErrnoException): string {
  if (error instanceof AddressRefused) return 'it leads to a private or local address';
  return connectionProblem(error) ?? `${error.code ?? error.message}`.slice(0, 200);
}
