// How long the body of a request may take: half a minute, and as long as a file needs where a file is expected, as long
// as bytes keep coming. Node's own limit is one for all requests, so it is set to the longest.
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../services/core/errors.ts';
import { sendClientError } from './client-error.ts';

const bodyMs = 30_000;
/** Between two stretches of a file. */
const stallMs = 30_000;
/** The longest that any request may take, ms: a file of 25 MiB over a slow telephone. */
export const maxRequestMs = 900_000;
/** For what is left of a file that was refused, so that its sender reads the answer. */
const restMs = 10_000;

const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>();
/** Requests of this turn of the event loop, whose bodies are perhaps still on their way. */
let begun: IncomingMessage[] = [];

/** Begins to count, for a request whose body is still on its way. */
export function limitBodyTime(request: IncomingMessage): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  if (request.complete || (encoding === undefined && length === '0')) return;
  // A short body has come with its head, in bytes that are read by the end of this turn: then nothing is left to wait for.
  if (begun.push(request) === 1) setImmediate(limitWhatIsLeft);
}

function limitWhatIsLeft(): void {
  const requests = begun;
  begun = [];
  for (const request of requests) {
    if (request.complete || request.destroyed) continue;
    // What may take longer can have set a limit of its own by now.
    if (!timers.has(request)) setLimit(request, bodyMs);
  }
}

function setLimit(request: IncomingMessage, ms: number): void {
  clearTimeout(timers.get(request));
  // What has come whole is not waited for, even if no one has read it yet.
  if (request.complete || request.destroyed) return;
  if (!timers.has(request)) {
    const clear = (): void => clearTimeout(timers.get(request));
    request.once('end', clear);
    request.once('close', clear);
  }
  const timer = setTimeout(() => {
    if (!request.complete)
      sendClientError(
        Object.assign(new Error('too slow'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }),
        request.socket,
      );
  }, ms);
  timer.unref();
  timers.set(request, timer);
}

/**
 * Grants a body that is not read for now the longest time: its sender can't be quicker than the server reads.
 * @returns begins to count, from when it is read
 */
export function holdBodyTime(request: IncomingMessage): () => void {
  setLimit(request, maxRequestMs);
  return () => setLimit(request, bodyMs);
}

/**
 * The bytes of a body that may take long; each stretch has time of its own.
 * @throws ServiceError bad_request where the sender left in the middle, as visitors do who go on to another page
 */
export async function* receiveSlowly(request: IncomingMessage): AsyncGenerator<Uint8Array> {
  setLimit(request, stallMs);
  try {
    // The request outlives its body: an answer is still to come.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      setLimit(request, stallMs);
      if (chunk instanceof Uint8Array) yield chunk;
    }
  } catch (error) {
    // What a reader throws comes this way, too, and is what the answer is about.
    throw error === request.errored ? cutShort() : error;
  }
}

/** What is said of a body whose sender left in the middle. No one hears it: the connection is gone. */
export function cutShort(): ServiceError {
  return new ServiceError('bad_request', 'The connection ended before the whole body had arrived.');
}

/** What is left of a refused body is let in for a moment, and thrown away. */
export function dropRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  setLimit(request, restMs);
  request.resume();
}
