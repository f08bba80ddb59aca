// One HTTP request to a server that a customer chose: through the SSRF guard, on a connection of its own.
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BlockedAddressError, type SsrfGuard } from './ssrf-guard.ts';

export interface GuardedRequest {
  readonly method?: 'GET' | 'POST';
  readonly headers: OutgoingHttpHeaders;
  readonly body?: Buffer;
  readonly guard: SsrfGuard;
  /** Aborts the request and the reading of its response. */
  readonly signal: AbortSignal;
}

/**
 * Sends a request. Redirects are not followed.
 * @returns the response, whose body the caller reads or destroys
 * @throws BlockedAddressError, or the error of the connection
 */
export function sendRequest(
  url: URL,
  { method = 'GET', headers, body, guard, signal }: GuardedRequest,
): Promise<IncomingMessage> {
  if (guard.blocks(url))
    return Promise.reject(new BlockedAddressError(`${url.hostname} is a private or local address`));
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(url, {
      method,
      headers: body === undefined ? headers : { ...headers, 'content-length': body.length },
      lookup: guard.lookup,
      // A connection that is kept alive would not be looked up again.
      agent: false,
      signal,
    });
    request.on('response', resolve);
    request.on('error', reject);
    request.end(body);
  });
}
