// The HTTP door: koa with its middleware in reading order. Holds no rule.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import Koa, { type Context } from 'koa';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import { Failure } from '../services/failure.ts';
import { countRequest } from '../services/measures.ts';
import type { Service } from '../services/service.ts';
import { commonHeaders } from './common-headers.ts';
import { allowReading, answerPreflight, isVisitorPath } from './cors.ts';
import { demoPage } from './demo-page.ts';
import { answerFailure, answerJson } from './error-body.ts';
import { metricsPath, serveMetrics } from './metrics.ts';
import { documentPaths, serveDocuments } from './openapi-route.ts';
import { createOperationRouter, routes } from './operation-routes.ts';
import { invitationPage, invitationScript, invitationStyle } from './invitation-page.ts';
import { servePages } from './pages.ts';
import { headerValues } from './request.ts';
import { staticFiles } from './static-files.ts';

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
    ctx.set({ ...commonHeaders(requestId) });
    try {
      await next();
    } catch (error) {
      ctx.remove('Cache-Control');
      ctx.set('Cache-Control', 'no-store');
      answerFailure(ctx, error, requestId, log);
    }
    countRequest(service.measures, methods.has(ctx.method) ? ctx.method : 'other', routeOf(ctx), ctx.status);
    const ms = Math.round(service.engine.clock.monotonic() - started);
    log.debug({ requestId, method: ctx.method, path: ctx.path, status: ctx.status, ms }, 'request');
  });

  // 2. Is the process alive, does it serve: asked by machines, even while it goes away.
  koa.use(async (ctx, next) => {
    if (ctx.path === '/healthz' && isRead(ctx)) {
      answerJson(ctx, { status: 'ok' });
      return;
    }
    if (goingAway) throw new Failure('unavailable', 'The service is restarting. Try again in a moment.');
    if (ctx.path !== '/readyz' || !isRead(ctx)) {
      await next();
      return;
    }
    await service.engine.store
      .read(({ tables }) => tables.meta.get('opened_at'))
      .catch(() => {
        throw new Failure('unavailable', 'The database does not answer.');
      });
    answerJson(ctx, { status: 'ready' });
  });

  // 3. Requests that can't be told apart by their headers.
  koa.use(async (ctx, next) => {
    if (headerValues(ctx.req.rawHeaders, 'host').length !== 1) throw new Failure('bad_request', 'A request has exactly one Host header.');
    await next();
  });

  koa.use(staticFiles());
  koa.use(serveDocuments());
  koa.use(serveMetrics(service, config.trustProxy));
  koa.use(
    servePages({
      '/invitation': { type: 'html', body: invitationPage },
      '/invitation.css': { type: 'css', body: invitationStyle },
      '/invitation.js': { type: 'text/javascript', body: invitationScript },
    }),
  );
  if (demo !== undefined) {
    const { html, script } = demoPage(demo.appId);
    koa.use(servePages({ '/demo': { type: 'html', body: html }, '/demo.js': { type: 'text/javascript', body: script } }));
  }

  // 4. Cross-origin: who may ask, and who may read the answer.
  koa.use(async (ctx, next) => {
    if (ctx.method === 'OPTIONS' && allowedMethods(ctx.path).length > 0) {
      await answerPreflight(ctx, service, allowedMethods(ctx.path));
      return;
    }
    if (isVisitorPath(ctx.path)) await allowReading(ctx, service);
    await next();
  });

  // 5. The operations.
  koa.use(createOperationRouter(service, config.trustProxy).routes());

  // 6. What nothing above has answered.
  koa.use((ctx) => {
    const allow = allowedMethods(ctx.path);
    if (allow.length === 0 && methods.has(ctx.method)) throw new Failure('not_found', 'No such path. The API lives below /api/v1.');
    const possible = (allow.length === 0 ? [...methods] : allow).join(', ');
    ctx.set('Allow', possible);
    throw new Failure('method_not_allowed', `${ctx.method} is not possible here. Possible are ${possible}.`);
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

const ownPaths = new Set<string>(['/healthz', '/readyz', '/widget.js', '/sdk.js', metricsPath, ...documentPaths]);

/** The route that answered, by its pattern; one word for all that is none, so that nobody can make up more. */
function routeOf(ctx: Context): string {
  const { _matchedRoute: matched } = ctx as { _matchedRoute?: unknown };
  return typeof matched === 'string' ? matched : ownPaths.has(ctx.path) ? ctx.path : 'other';
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
