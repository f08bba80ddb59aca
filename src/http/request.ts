// Headers and address of a request. Headers are read with all their values: of repeated ones Node's `headers` joins
// or drops some, and two of a kind must be seen as two.
import { setMaxListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Context } from 'koa';
import type { Credentials } from '../services/auth/authenticate.ts';
import { clientAddress } from '../net/client-address.ts';
import { ServiceError } from '../services/core/errors.ts';

const none: readonly string[] = [];

/**
 * Every value of a header, in the order in which they were sent. Node's own list of them is made of all headers at once,
 * which costs more than to look for the few that are asked for.
 * @param name in lower case
 */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): readonly string[] {
  let values: string[] | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const sent = rawHeaders[at] ?? '';
    if (sent.length === name.length && sent.toLowerCase() === name)
      (values ??= []).push(rawHeaders[at + 1] ?? '');
  }
  return values ?? none;
}

/**
 * Path and query of a request's target. A proxy's form names the scheme and the host before them, which nothing here
 * asks for. Koa would hand that form to a parser that throws at what is no URL.
 * @param target as it stands in the request's first line
 * @returns a text that begins with a slash
 */
export function pathOfTarget(target: string): string {
  if (target.startsWith('/') && !target.includes('#')) return target;
  const [wanted = ''] = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').split('#', 1);
  return wanted.startsWith('/') ? wanted : `/${wanted}`;
}

/** What any path may be asked with. */
export const methods: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]);

/** No browser says so much of what it would rather have. */
const maxChoice = 1_000;

/**
 * Takes off what a client would rather have, where it says so in thousands of words: each is weighed against each thing
 * that there is, which for a page and its languages took six milliseconds a request.
 */
export function dropLongChoices({ headers }: IncomingMessage): void {
  for (const name of ['accept', 'accept-encoding', 'accept-language'] as const)
    if ((headers[name]?.length ?? 0) > maxChoice) delete headers[name];
}

const noValues: ReadonlyMap<string, readonly string[]> = new Map();

/**
 * Every value of the query by its name, in the order in which they were sent. Koa looks all of them through once more
 * for each one: a query of 14 kB that repeats a name would hold the loop for half a second.
 */
export function queryValues({ querystring }: Context): ReadonlyMap<string, readonly string[]> {
  if (querystring === '') return noValues;
  const found = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(querystring)) {
    const values = found.get(name);
    if (values === undefined) found.set(name, [value]);
    else values.push(value);
  }
  return found;
}

/** The headers that authenticate a request. */
export function readCredentials(ctx: Context, address: string): Credentials {
  const fetchSite = ctx.req.headers['sec-fetch-site'];
  return {
    authorization: headerValues(ctx.req, 'authorization'),
    appId: headerValues(ctx.req, 'x-app-id'),
    visitorId: headerValues(ctx.req, 'x-visitor-id'),
    origin: headerValues(ctx.req, 'origin'),
    fetchSite: typeof fetchSite === 'string' ? fetchSite : undefined,
    host: ctx.req.headers.host,
    cookie: ctx.req.headers.cookie,
    safeMethod: ctx.method === 'GET' || ctx.method === 'HEAD',
    address,
  };
}

/** @param trustProxy how many reverse proxies are in front, whose X-Forwarded-For is believed */
export function clientAddressOf(ctx: Context, trustProxy: number): string {
  return clientAddress(ctx.req.socket.remoteAddress, ctx.req.headers['x-forwarded-for'], trustProxy);
}

const hangUps = new WeakMap<Socket, AbortSignal>();

/** Aborted once a connection is closed. One for all of its requests, which come one after the other. */
export function untilGone(socket: Socket): AbortSignal {
  const known = hangUps.get(socket);
  if (known !== undefined) return known;
  const ending = new AbortController();
  const end = (): void =>
    ending.abort(new ServiceError('bad_request', 'The connection ended before the answer was there.'));
  setMaxListeners(0, ending.signal);
  if (socket.destroyed) end();
  else socket.once('close', end);
  hangUps.set(socket, ending.signal);
  return ending.signal;
}
