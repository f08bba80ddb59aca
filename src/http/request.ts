// What a request says of itself, read from the raw headers: Node joins or drops
// repeated ones, and two of a kind must be seen as two.
import type { Context } from 'koa';
import type { Credentials } from '../services/authenticate.ts';
import { callerAddress } from '../services/http-address.ts';

/** Every value of a header, in the order in which they were sent. */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.toLowerCase() === name) values.push(rawHeaders[index + 1] as string);
  return values;
}

/** The headers that say who asks. */
export function readCredentials(ctx: Context, address: string): Credentials {
  const authorization: string[] = [];
  const appId: string[] = [];
  const visitorId: string[] = [];
  const origin: string[] = [];
  const wanted: Readonly<Record<string, string[]>> = {
    authorization,
    'x-app-id': appId,
    'x-visitor-id': visitorId,
    origin,
  };
  const { rawHeaders } = ctx.req;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] as string).toLowerCase();
    if (Object.hasOwn(wanted, name)) wanted[name]?.push(rawHeaders[index + 1] as string);
  }
  const fetchSite = ctx.req.headers['sec-fetch-site'];
  return {
    authorization,
    appId,
    visitorId,
    origin,
    fetchSite: typeof fetchSite === 'string' ? fetchSite : undefined,
    safeMethod: ctx.method === 'GET' || ctx.method === 'HEAD',
    address,
  };
}

/** @param trustProxy how many proxies in front of the service to believe */
export function requestAddress(ctx: Context, trustProxy: number): string {
  return callerAddress(ctx.req.socket.remoteAddress, ctx.req.headers['x-forwarded-for'], trustProxy);
}
