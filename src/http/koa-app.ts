// The HTTP transport: koa with its middleware in reading order. Holds no business rule.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import Koa, { type Context } from 'koa';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import { socketPath, visitorApiPrefix } from '../protocol/codes.ts';
import { restarting, ServiceError } from '../services/core/errors.ts';
import { countRequest } from '../services/core/metrics.ts';
import type { Service } from '../services/service.ts';
import { isOpenEnded, limitPieces, oneByOne } from './bursts.ts';
import { hasManyHeaders } from './connections.ts';
import { commonHeaderList } from './common-headers.ts';
import { setCorsHeaders, sendPreflight, isVisitorPath } from './cors.ts';
import { dashboardPaths, serveDashboard } from './pages/dashboard.ts';
import { fileRoute, isFilePath, serveFiles } from './file-downloads.ts';
import { limitBodyTime } from './receive-time.ts';
import { demoPage } from './pages/demo.ts';
import { BrokenAnswerError, loggedError, noSuchPath, sendAnswer, sendError, sendJson } from './responses.ts';
import { metricsPath, serveMetrics } from './metrics.ts';
import { serveDocuments } from './documents.ts';
import { routes, serveOperations } from './operation-routes.ts';
import { serveMailStop } from './pages/mail-stop.ts';
import { securityPage, securityStyle } from './pages/security.ts';
import { servePages } from './pages/serve-pages.ts';
import { siteDocuments } from './pages/site.ts';
import { dropLongChoices, headerValues, methods, pathOfTarget } from './request.ts';
import { staticFiles } from './static-files.ts';
import { widgetPreviewPage, widgetPreviewPolicy, widgetPreviewScript } from './pages/widget-preview.ts';

export interface HttpOptions {
  readonly service: Service;
  readonly config: Config;
  readonly log: Log;
  readonly demo?: { readonly appId: string } | undefined;
}

export interface HttpHandler {
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** From now on every request is refused with 503: the service is going away. */
  stopAccepting(): void;
}

/** What members open in a browser. */
const memberPages = {
  '/security': { type: 'html', body: securityPage },
  '/security.css': { type: 'css', body: securityStyle },
  '/widget-preview': { type: 'html', body: widgetPreviewPage, policy: widgetPreviewPolicy },
  // Asked for by a page without an origin.
  '/widget-preview.js': { type: 'text/javascript', body: widgetPreviewScript, forAnyOrigin: true },
} as const;

/** Koa with two of its own parts that its types leave out. */
class Application extends Koa {
  declare readonly compose: (list: readonly Koa.Middleware[]) => (ctx: Koa.Context) => Promise<unknown>;
  declare readonly handleRequest: (ctx: Koa.Context, run: () => Promise<unknown>) => Promise<void>;
}

/**
 * Runs koa's middleware for each request, and has koa answer where that has not done so itself. Koa would watch each answer
 * to its end before it knows: to listen to it and to its connection, and to leave both again, took a twentieth of a request.
 */
function answerer(koa: Application): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const run = koa.compose(koa.middleware);
  return async (request, response) => {
    const ctx = koa.createContext(request, response);
    response.statusCode = 404;
    try {
      await run(ctx);
    } catch (error) {
      return ctx.onerror(error instanceof Error ? error : new Error(String(error)));
    }
    if (ctx.respond === false) return undefined;
    const { statusCode } = response;
    return koa.handleRequest(ctx, async () => {
      // Koa begins with a 404.
      response.statusCode = statusCode;
    });
  };
}

export function createHttpHandler({ service, config, log, demo }: HttpOptions): HttpHandler {
  const koa = new Application({ proxy: false });
  koa.on('error', (error: Error) => {
    if (error instanceof BrokenAnswerError) log.error({ err: loggedError(error.cause) }, error.message);
    else log.debug({ message: error.message }, 'a response could not be sent');
  });
  const documents = siteDocuments(demo !== undefined);
  const knownPaths = new Set([...ownPaths, ...documents.keys()]);
  const overTls = config.baseUrl?.startsWith('https:') === true;
  let goingAway = false;

  // 1. Every answer: a request id, the security headers, an error body when something failed.
  koa.use(async (ctx, next) => {
    const requestId = randomUUID();
    const started = service.engine.clock.monotonic();
    const common = commonHeaderList(requestId);
    if (overTls) common.push('Strict-Transport-Security', 'max-age=31536000');
    try {
      await next();
    } catch (error) {
      // An error is never kept, whatever its answer was to be.
      ctx.remove('Cache-Control');
      sendError(ctx, error, requestId, log);
    }
    // Its connection is closed then: who would ask once more on it had to ask again elsewhere. And what still comes of a body
    // in chunks, however many, is read no further.
    if (goingAway || isOpenEnded(ctx.req) || hasManyHeaders(ctx.req)) ctx.res.shouldKeepAlive = false;
    sendAnswer(ctx, common);
    countRequest(
      service.metrics,
      methods.has(ctx.method) ? ctx.method : 'other',
      routeOf(ctx, knownPaths),
      ctx.status,
    );
    if (!log.isLevelEnabled('debug')) return;
    const ms = Math.round(service.engine.clock.monotonic() - started);
    log.debug(
      { requestId, method: ctx.method, path: withoutSecrets(ctx.path), status: ctx.status, ms },
      'request',
    );
  });

  // 2. Is the process alive, does it serve: asked by machines, even while it goes away.
  koa.use((ctx, next) => {
    if (ctx.path === '/healthz' && isRead(ctx)) {
      sendJson(ctx, 200, { status: 'ok' });
      return undefined;
    }
    if (goingAway) throw restarting();
    return ctx.path === '/readyz' && isRead(ctx) ? sendReadiness(ctx, service) : next();
  });

  // 3. Requests that can't be told apart by their headers.
  koa.use((ctx, next) => {
    if (headerValues(ctx.req, 'host').length !== 1)
      throw new ServiceError('bad_request', 'A request has exactly one Host header.');
    return next();
  });

  koa.use(serveFiles(service, config.trustProxy));
  // Documents and pages have no paths below the API's: its requests pass them by in one step.
  const pages = createPages({ service, config, demo }, documents);
  koa.use((ctx, next) => {
    if (ctx.path.startsWith(`${visitorApiPrefix}/`)) return next();
    dropLongChoices(ctx.req);
    return runInOrder(pages, ctx, next);
  });

  // 4. Cross-origin: who may ask, and who may read the answer.
  koa.use((ctx, next) => {
    if (ctx.method === 'OPTIONS' && allowedMethods(ctx.path).length > 0)
      return sendPreflight(ctx, service, allowedMethods(ctx.path));
    const set = isVisitorPath(ctx.path) ? setCorsHeaders(ctx, service) : undefined;
    return set === undefined ? next() : goOnAfter(set, next);
  });

  // 5. The operations.
  koa.use(serveOperations(service, config.trustProxy));

  // 6. What nothing above has answered.
  koa.use((ctx) => {
    if (ctx.path === socketPath && isRead(ctx)) {
      ctx.set({ Upgrade: 'websocket', Connection: 'Upgrade' });
      throw new ServiceError('upgrade_required', 'This path is a WebSocket: connect to it as one.');
    }
    const allow = readOnlyPaths.has(ctx.path) ? ['GET', 'HEAD'] : allowedMethods(ctx.path);
    if (allow.length === 0 && methods.has(ctx.method)) throw noSuchPath();
    const possible = (allow.length === 0 ? [...methods] : allow).join(', ');
    ctx.set('Allow', possible);
    throw new ServiceError(
      'method_not_allowed',
      `${ctx.method} is not possible here. Possible are ${possible}.`,
    );
  });

  const answer = answerer(koa);
  const begin = oneByOne((request, response) => {
    limitBodyTime(request);
    void answer(request, response);
  }, service.engine.clock);
  return {
    handle: (request, response) => {
      limitPieces(request);
      request.url = pathOfTarget(request.url ?? '/');
      begin(request, response);
    },
    stopAccepting: () => {
      goingAway = true;
    },
  };
}

async function goOnAfter(ready: Promise<void>, next: Koa.Next): Promise<void> {
  await ready;
  await next();
}

/** Answers whether the database can be read. */
async function sendReadiness(ctx: Context, { engine: { store } }: Service): Promise<void> {
  await store
    .read(({ repositories }) => repositories.meta.get('opened_at'))
    .catch(() => {
      throw new ServiceError('unavailable', 'The database does not answer.');
    });
  sendJson(ctx, 200, { status: 'ready' });
}

/** What is served beside the API. */
function createPages(
  { service, config, demo }: Omit<HttpOptions, 'log'>,
  documents: ReturnType<typeof siteDocuments>,
): Koa.Middleware[] {
  const pages = [
    staticFiles(),
    serveDashboard(service, config.trustProxy),
    serveDocuments(documents),
    serveMetrics(service, config),
    serveMailStop(service),
    servePages(memberPages),
  ];
  if (demo === undefined) return pages;
  const { html, script } = demoPage(demo.appId);
  const demoPages = servePages({
    '/demo': { type: 'html', body: html, inlineStyles: true },
    '/demo.js': { type: 'text/javascript', body: script },
  });
  return [...pages, demoPages];
}

/** Runs middleware one after the other, as koa does. */
function runInOrder(list: readonly Koa.Middleware[], ctx: Koa.ParameterizedContext, next: Koa.Next): unknown {
  const [first, ...others] = list;
  return first === undefined ? next() : first(ctx, async () => runInOrder(others, ctx, next));
}

/** A visitor's id, a key of incoming mail and the token of a mail's link let in who has them: the log has their beginning only. */
function withoutSecrets(path: string): string {
  return path.replace(/(\/(?:visitors|inbound\/email|mail\/stop)\/[^/]{8})[^/]*/, '$1…');
}

function isRead(ctx: Context): boolean {
  return ctx.method === 'GET' || ctx.method === 'HEAD';
}

const healthPaths = ['/healthz', '/readyz'];
/** Paths that are no operations, and are answered above for those who read them. */
const readOnlyPaths: ReadonlySet<string> = new Set([...healthPaths, socketPath]);

const ownPaths = [
  ...healthPaths,
  '/widget.js',
  '/sdk.js',
  '/sw.js',
  '/manifest.webmanifest',
  ...dashboardPaths,
  metricsPath,
];

/** The route that answered, by its pattern; one word for every other path, so that clients can't add labels. */
function routeOf(ctx: Context, known: ReadonlySet<string>): string {
  const { route } = ctx.state;
  if (route !== undefined) return route;
  if (isFilePath(ctx.path)) return fileRoute;
  return known.has(ctx.path) ? ctx.path : 'other';
}

const routePatterns = routes.map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^${path.replace(/:[a-zA-Z]+/g, '[^/]+')}$`),
}));

/** The methods that a path knows, HEAD and OPTIONS included; none for an unknown path. */
function allowedMethods(path: string): string[] {
  const known = new Set(
    routePatterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method),
  );
  if (known.size === 0) return [];
  if (known.has('GET')) known.add('HEAD');
  return [...known, 'OPTIONS'];
}
