// The HTTP door: koa with its middleware in reading order. Holds no rule.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import Koa, { type Context } from 'koa';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import { Failure } from '../services/failure.ts';
import type { Service } from '../services/service.ts';
import { allowReading, answerPreflight, isVisitorPath } from './cors.ts';
import { demoPage } from './demo-page.ts';
import { answerFailure, answerJson } from './error-body.ts';
import { createOperationRouter, routes } from './operation-routes.ts';
import { headerValues } from './request.ts';

export interface HttpOptions {
  readonly service: Service;
  readonly config: Config;
  readonly log: Log;
  readonly demo?: { readonly appId: string } | undefined;
}

export interface HttpHandler {
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** From now on every request is refused with 503: the service is going away. */
  refuseNew(): void;
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export function createHttpHandler({ service, config, log, demo }: HttpOptions): HttpHandler {
  const koa = new Koa({ proxy: false });
  koa.on('error', (error: Error) => log.debug({ message: error.message }, 'a response could not be sent'));
  let goingAway = false;

  // 1. Every answer: a request id, the security headers, an error body when something failed.
  koa.use(async (ctx, next) => {
    const requestId = randomUUID();
    const started = service.engine.clock.monotonic();
    setCommonHeaders(ctx, requestId);
    try {
      await next();
    } catch (error) {
      ctx.remove('Cache-Control');
      ctx.set('Cache-Control', 'no-store');
      answerFailure(ctx, error, requestId, log);
    }
    const ms = Math.round(service.engine.clock.monotonic() - started);
    log.debug({ requestId, method: ctx.method, path: ctx.path, status: ctx.status, ms }, 'request');
  });

  // 2. Is the process alive, does it serve: asked by machines, even while it goes away.
  koa.use(async (ctx, next) => {
    if (ctx.path === '/healthz' && isRead(ctx)) return answerJson(ctx, { status: 'ok' });
    if (goingAway) throw new Failure('unavailable', 'The service is restarting. Try again in a moment.');
    if (ctx.path !== '/readyz' || !isRead(ctx)) return next();
    await service.engine.store
      .read(({ tables }) => tables.meta.get('opened_at'))
      .catch(() => {
        throw new Failure('unavailable', 'The database does not answer.');
      });
    return answerJson(ctx, { status: 'ready' });
  });

  // 3. Requests that can't be told apart by their headers.
  koa.use(async (ctx, next) => {
    if (headerValues(ctx.req.rawHeaders, 'host').length > 1) throw new Failure('bad_request', 'The Host header was sent more than once.');
    await next();
  });

  if (demo !== undefined) koa.use(serveDemo(demo.appId));

  // 4. Cross-origin: who may ask, and who may read the answer.
  koa.use(async (ctx, next) => {
    if (ctx.method === 'OPTIONS' && allowedMethods(ctx.path).length > 0) return answerPreflight(ctx, service, allowedMethods(ctx.path));
    if (isVisitorPath(ctx.path)) await allowReading(ctx, service);
    return next();
  });

  // 5. The operations.
  koa.use(createOperationRouter(service, config.trustProxy).routes());

  // 6. What nothing above has answered.
  koa.use((ctx) => {
    const allow = allowedMethods(ctx.path);
    if (allow.length === 0 && methods.has(ctx.method)) throw new Failure('not_found', 'No such path. The API lives below /api/v1.');
    ctx.set('Allow', allow.length === 0 ? [...methods].join(', ') : allow.join(', '));
    throw new Failure('method_not_allowed', `${ctx.method} is not possible here.`);
  });

  const callback = koa.callback();
  return {
    handle: (request, response) => {
      void callback(request, response);
    },
    refuseNew: () => {
      goingAway = true;
    },
  };
}

function isRead(ctx: Context): boolean {
  return ctx.method === 'GET' || ctx.method === 'HEAD';
}

function setCommonHeaders(ctx: Context, requestId: string): void {
  ctx.set({
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  });
}

const routePatterns = routes.map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^${path.replace(/:[a-zA-Z]+/g, '[^/]+')}$`),
}));

/** The methods that a path knows, HEAD and OPTIONS included; none for an unknown path. */
function allowedMethods(path: string): string[] {
  const known = new Set(routePatterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method));
  if (known.size === 0) return [];
  if (known.has('GET')) known.add('HEAD');
  return [...known, 'OPTIONS'];
}

/** The demo's page and script, with a policy under which nothing but our own origin runs. */
function serveDemo(appId: string): Koa.Middleware {
  const { html, script } = demoPage(appId);
  return async (ctx, next) => {
    if (!isRead(ctx) || (ctx.path !== '/demo' && ctx.path !== '/demo.js')) return next();
    ctx.set(
      'Content-Security-Policy',
      "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    );
    ctx.type = ctx.path === '/demo' ? 'html' : 'text/javascript';
    ctx.body = ctx.path === '/demo' ? html : script;
    return undefined;
  };
}
