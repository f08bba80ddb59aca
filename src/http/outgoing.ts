// The sender of webhooks: one request, one connection, only to where the owner of the
// server lets it go. Where a name leads is looked at by the very lookup that connects,
// so an answer that changes in between gains nothing.
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Clock } from '../engine/engine.ts';
import { connectionProblem } from '../services/connection-problems.ts';
import { AddressRefused, createGuard, type Resolve } from '../services/guarded-lookup.ts';
import type { OutgoingAnswer } from '../services/webhook-attempts.ts';
import type { OutgoingRequest, SendOutgoing } from '../services/webhook-delivery.ts';

export interface SenderOptions {
  readonly clock: Clock;
  /** Whether private and local addresses may be reached. */
  readonly allowPrivate: boolean;
  /** The system's resolver unless a test has its own. */
  readonly resolve?: Resolve | undefined;
}

/** For everything together: name, connection, request, answer. */
const timeoutMs = 10_000;
const mostRead = 1_024;
const refused = 'the address is private or local, and the server does not send there';

/** Makes a sender. It follows no redirect, keeps no connection and nothing of an answer but its status. */
export function createSender({ clock, allowPrivate, resolve }: SenderOptions): SendOutgoing {
  const guard = createGuard(allowPrivate, resolve);
  return (outgoing, signal) => {
    const url = new URL(outgoing.url);
    if (guard.refuses(url)) return Promise.resolve({ status: null, error: refused });
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && allowPrivate))
      return Promise.resolve({ status: null, error: 'the address does not begin with https://' });
    return post(url, outgoing, guard.lookup, clock, signal);
  };
}

function post(
  url: URL,
  { headers, body }: OutgoingRequest,
  lookup: LookupFunction,
  clock: Clock,
  signal: AbortSignal,
): Promise<OutgoingAnswer> {
  return new Promise((resolve) => {
    let answer: OutgoingAnswer = { status: null, error: 'ended without an answer' };
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const bytes = Buffer.from(body);
    const request: ClientRequest = send(url, {
      method: 'POST',
      headers: { ...headers, 'content-length': bytes.length },
      lookup,
      // A connection of its own: one that is kept would not be looked at again.
      agent: false,
      signal,
    });
    const cancelTimeout = clock.after(timeoutMs, () => {
      if (answer.status === null) answer = { status: null, error: `did not answer within ${timeoutMs / 1000} s` };
      request.destroy();
    });
    request.on('response', (response: IncomingMessage) => {
      answer = { status: response.statusCode ?? 0, error: null };
      let read = 0;
      response.on('data', (chunk: Buffer) => {
        read += chunk.length;
        if (read > mostRead) request.destroy();
      });
      // A body that breaks off changes nothing: the status has been said.
      response.on('error', () => undefined);
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (answer.status === null && !answer.error?.startsWith('did not')) answer = { status: null, error: describe(error) };
    });
    request.on('close', () => {
      cancelTimeout();
      resolve(answer);
    });
    request.end(bytes);
  });
}

function describe(error: NodeJS.ErrnoException): string {
  if (error instanceof AddressRefused) return refused;
  return connectionProblem(error) ?? `could not be sent (${error.code ?? error.name})`;
}
