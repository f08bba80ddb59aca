// The session as a cookie, for the dashboard's own pages. It counts only in requests that this server's own pages make,
// never beside Authorization, and never for visitors.
import { isLoopbackHost } from '../../net/ip-ranges.ts';
import type { Service } from '../service.ts';
import type { Credentials } from './authenticate.ts';
import { organizationSlugFromHost } from './organization-host.ts';
import { ServiceError } from '../core/errors.ts';

/** With this prefix browsers take it only over HTTPS, for exactly this host, so that no other host can set it. */
const secureName = '__Host-deskbell';
/** Over HTTP on the same machine no cookie can have the prefix. */
const loopbackName = 'deskbell';
/** A session lives no longer, whatever its use. */
const maxAgeSeconds = 90 * 86_400;

type Page = Pick<Credentials, 'origin' | 'fetchSite' | 'host'>;

/**
 * Whether a request comes from a page of this very server. Every sign of another page is believed; one of the own page
 * must be there.
 */
export function isSameOrigin(service: Service, { origin, fetchSite, host }: Page): boolean {
  if (fetchSite !== undefined && fetchSite !== 'same-origin') return false;
  if (origin.length === 0) return fetchSite === 'same-origin';
  return origin.length === 1 && isOwnOrigin(service, origin[0] ?? '', host);
}

function isOwnOrigin(service: Service, origin: string, host: string | undefined): boolean {
  const page = URL.parse(origin);
  if (page === null || page.origin !== origin || host === undefined) return false;
  // No cookie is given to plain HTTP, so none comes from there: what does was changed on its way.
  if (page.protocol !== 'https:' && !isLoopbackHost(page.hostname)) return false;
  if (page.host === host.toLowerCase()) return true;
  // A proxy in front may name another host than the one that was asked.
  const base = service.settings.baseUrl();
  return base !== null && new URL(base).origin === origin && organizationSlugFromHost(service, host) === null;
}

/**
 * The token in the cookie of a request, where it counts; null otherwise.
 * @param credentials of the request
 */
export function tokenFromCookie(service: Service, credentials: Credentials): string | null {
  if (credentials.cookie === undefined || credentials.authorization.length > 0) return null;
  if (!isSameOrigin(service, credentials)) return null;
  const name = usesHttps(service, credentials) ? secureName : loopbackName;
  const values = credentials.cookie
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  // Of two, neither can be trusted.
  return values.length === 1 ? (values[0] ?? null) : null;
}

/** Whether a `Cookie` header holds something by a session cookie's name, whatever it is worth. */
export function mayHaveSessionCookie(cookie: string | undefined): boolean {
  return new RegExp(`(?:^|[;\\s])(?:${secureName}|${loopbackName})=`).test(cookie ?? '');
}

/**
 * Says whether a caller may be given a cookie: only a page of this server itself, over HTTPS or on the same machine.
 * Another site could otherwise sign its readers in as a member of its choice.
 * @throws ServiceError forbidden
 */
export function assertMayHaveCookie(service: Service, credentials: Credentials): void {
  if (isSameOrigin(service, credentials)) return;
  throw new ServiceError(
    'forbidden',
    'A cookie is given only to pages of this server, over HTTPS or on the same machine. Leave out cookie to get a token.',
  );
}

/** The Set-Cookie header that keeps a session in the browser. */
export function sessionCookie(service: Service, page: Page, token: string): string {
  return cookieText(usesHttps(service, page), token, maxAgeSeconds);
}

/** The Set-Cookie header that removes the session's cookie. */
export function removedCookie(service: Service, page: Page): string {
  return cookieText(usesHttps(service, page), '', 0);
}

function cookieText(https: boolean, value: string, maxAge: number): string {
  const attributes = `Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict`;
  return https ? `${secureName}=${value}; Secure; ${attributes}` : `${loopbackName}=${value}; ${attributes}`;
}

/** False only for pages at http:// on the same machine. The page's own origin says it; without one, the address does. */
function usesHttps(service: Service, { origin, host }: Page): boolean {
  const [page] = origin;
  if (page !== undefined) return !page.startsWith('http:');
  const base = service.settings.baseUrl();
  return base?.startsWith('https:') === true || !isLoopbackHeader(host);
}

/** Whether a Host header names the machine itself. */
export function isLoopbackHeader(host: string | undefined): boolean {
  return isLoopbackHost(URL.parse(`http://${host ?? ''}`)?.hostname ?? '');
}
