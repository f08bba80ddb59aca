// Cross-origin access to the visitor endpoints: answered for registered origins
// only, echoing the exact one; never credentials, never a wildcard.
import type { Context } from 'koa';
import { visitorApiPrefix } from '../protocol/codes.ts';
import { isKnownOrigin } from '../services/auth/authenticate.ts';
import { matchOrigin } from '../services/auth/origin-match.ts';
import type { CachedApplication } from '../services/core/config-cache.ts';
import { ServiceError } from '../services/core/errors.ts';
import type { Service } from '../services/service.ts';
import { headerValues } from './request.ts';
import { addHeaders, addVary } from './responses.ts';

/** True for the paths that web pages may call: everything below the prefix but the operators' and owners'. */
export function isVisitorPath(path: string): boolean {
  return path.startsWith(`${visitorApiPrefix}/`) && !/^\/api\/v1\/(staff|admin)(\/|$)/.test(path);
}

/** Answers a preflight. It names no application, so an origin registered with any is let through. */
export async function sendPreflight(ctx: Context, service: Service, allow: readonly string[]): Promise<void> {
  ctx.status = 204;
  ctx.set('Allow', allow.join(', '));
  if (!isVisitorPath(ctx.path)) return;
  ctx.vary('Origin');
  const origins = headerValues(ctx.req, 'origin');
  const [origin] = origins;
  if (origin === undefined || origins.length > 1 || !(await isKnownOrigin(service, origin))) return;
  ctx.set('Access-Control-Allow-Origin', origin);
  ctx.set('Access-Control-Allow-Methods', allow.join(', '));
  // Not Authorization: an API key must never be in a browser.
  ctx.set(
    'Access-Control-Allow-Headers',
    'Content-Type, X-App-Id, X-Visitor-Id, Idempotency-Key, X-File-Name',
  );
  ctx.set('Access-Control-Max-Age', '600');
}

/** Lets the page read the answer, error answers included, when its origin is registered for the application. */
export function setCorsHeaders(ctx: Context, service: Service): Promise<void> | undefined {
  addVary(ctx, 'Origin');
  const origins = headerValues(ctx.req, 'origin');
  const appIds = headerValues(ctx.req, 'x-app-id');
  const [origin] = origins;
  const [appId] = appIds;
  if (origin === undefined || appId === undefined || origins.length > 1 || appIds.length > 1)
    return undefined;
  const found = service.configCache.application(appId.trim().toLowerCase());
  if (found instanceof Promise) return found.then((application) => addCorsHeaders(ctx, application, origin));
  addCorsHeaders(ctx, found, origin);
  return undefined;
}

function addCorsHeaders(ctx: Context, application: CachedApplication | null, origin: string): void {
  if (application === null || !isRegistered(application, origin)) return;
  addHeaders(
    ctx,
    'Access-Control-Allow-Origin',
    origin,
    'Access-Control-Expose-Headers',
    'Date, Retry-After, RateLimit, RateLimit-Policy, X-Request-Id, ETag',
  );
}

function isRegistered(application: CachedApplication, origin: string): boolean {
  try {
    matchOrigin(application, origin);
    return true;
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}
