// One HTTP request to a server that a customer chose: through the SSRF guard, on a connection of its own or a kept one.
import {
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { SaidTooMuchError } from './bounded-stream.ts';
import type { KeptConnections } from './kept-connections.ts';
import { errorCode } from './network-errors.ts';
import { BlockedAddressError, type SsrfGuard } from './ssrf-guard.ts';
import { offeredCiphers } from './tls-ciphers.ts';

/** What may come before a response. */
const maxBytesBefore = 65_536;

export interface GuardedRequest {
  readonly method?: 'GET' | 'POST';
  readonly headers: OutgoingHttpHeaders;
  readonly body?: Buffer;
  readonly guard: SsrfGuard;
  /** Aborts the request and the reading of its response. */
  readonly signal: AbortSignal;
  /** What the server may say from its response on, between the pieces of its body included. */
  readonly maxAnswerBytes: number;
  /** Where connections are kept for the next request. Left out: it has one of its own, which is looked up anew. */
  readonly connections?: Pick<KeptConnections, 'http' | 'https'>;
}

/**
 * Sends a request. Redirects are not followed. With kept connections it may reach the server twice: where a kept one breaks
 * off before the response, as when the server closes it at that moment, it is sent once more on a new one.
 * @returns the response, whose body the caller reads or destroys
 * @throws BlockedAddressError, SaidTooMuchError, or the error of the connection
 */
export function sendRequest(url: URL, options: GuardedRequest): Promise<IncomingMessage> {
  const { guard, connections, signal } = options;
  if (guard.blocks(url))
    return Promise.reject(new BlockedAddressError(`${url.hostname} is a private or local address`));
  return new Promise((resolve, reject) => {
    const agent = url.protocol === 'https:' ? connections?.https : connections?.http;
    const first = begin(url, options, agent ?? false);
    let answered = false;
    first.on('response', (response) => {
      answered = true;
      resolve(response);
    });
    first.on('error', (error) => {
      if (answered || !first.reusedSocket || signal.aborted || !brokeOff(error)) {
        reject(error);
        return;
      }
      const second = begin(url, options, false);
      second.on('response', resolve);
      second.on('error', reject);
    });
  });
}

function begin(
  url: URL,
  { method = 'GET', headers, body, guard, signal, maxAnswerBytes }: GuardedRequest,
  agent: KeptConnections['http'] | false,
): ClientRequest {
  const options = {
    method,
    headers: body === undefined ? headers : { ...headers, 'content-length': body.length },
    lookup: guard.lookup,
    agent,
    signal,
  };
  const request =
    url.protocol === 'https:'
      ? httpsRequest(url, { ...options, ciphers: offeredCiphers })
      : httpRequest(url, options);
  request.once('socket', (socket) => boundAnswer(request, socket, maxAnswerBytes));
  // No request asks for it. Without a listener Node ends the connection, and the request hears of nothing.
  request.once('upgrade', (_response, socket) => {
    socket.destroy();
    request.emit(
      'error',
      Object.assign(new Error('the server speaks another protocol'), { code: 'EUPGRADE' }),
    );
  });
  request.end(body);
  return request;
}

/**
 * Ends a request whose server says more than it may. Node bounds headers; provisional responses and empty lines before
 * them, and zeros before the length of a chunk, it reads for as long as they come.
 * @param maxAnswerBytes from the response on, between the pieces of its body included
 * @returns lets it say so many bytes more
 */
export function boundAnswer(
  request: ClientRequest,
  socket: Socket,
  maxAnswerBytes: number,
): (bytes: number) => void {
  let left = maxBytesBefore;
  let answer: IncomingMessage | null = null;
  request.once('response', (response) => {
    answer = response;
    left = maxAnswerBytes;
  });
  const count = (chunk: Buffer): void => {
    left -= chunk.length;
    // Who reads the answer hears of it there, and not of a connection that broke off.
    if (left < 0) (answer ?? request).destroy(new SaidTooMuchError('The server says more than it may.'));
  };
  socket.on('data', count);
  // The connection may be kept for another request.
  request.once('close', () => socket.off('data', count));
  return (bytes) => {
    left += bytes;
  };
}

const brokeOff = (error: unknown): boolean => ['ECONNRESET', 'EPIPE'].includes(errorCode(error));
