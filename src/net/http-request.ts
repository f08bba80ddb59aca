// One HTTP request to a server that a customer chose: through the SSRF guard, on a connection of its own or a kept one.
import {
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { KeptConnections } from './kept-connections.ts';
import { errorCode } from './network-errors.ts';
import { BlockedAddressError, type SsrfGuard } from './ssrf-guard.ts';

export interface GuardedRequest {
  readonly method?: 'GET' | 'POST';
  readonly headers: OutgoingHttpHeaders;
  readonly body?: Buffer;
  readonly guard: SsrfGuard;
  /** Aborts the request and the reading of its response. */
  readonly signal: AbortSignal;
  /** Where connections are kept for the next request. Left out: it has one of its own, which is looked up anew. */
  readonly connections?: KeptConnections;
}

/**
 * Sends a request. Redirects are not followed. With kept connections it may reach the server twice: where a kept one breaks
 * off before the response, as when the server closes it at that moment, it is sent once more on a new one.
 * @returns the response, whose body the caller reads or destroys
 * @throws BlockedAddressError, or the error of the connection
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
  { method = 'GET', headers, body, guard, signal }: GuardedRequest,
  agent: KeptConnections['http'] | false,
): ClientRequest {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const request = send(url, {
    method,
    headers: body === undefined ? headers : { ...headers, 'content-length': body.length },
    lookup: guard.lookup,
    agent,
    signal,
  });
  request.end(body);
  return request;
}

const brokeOff = (error: unknown): boolean => ['ECONNRESET', 'EPIPE'].includes(errorCode(error));
