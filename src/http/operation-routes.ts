// One route per operation that REST serves: authenticate, hand the input over,
// write the answer. One loop over the table; no operation is treated by name.
import { createHash } from 'node:crypto';
import Router from '@koa/router';
import type { Context } from 'koa';
import { assistantLimits, fileKinds, sizeLimits, visitorApiPrefix } from '../protocol/codes.ts';
import { maxNameHeader } from '../protocol/operations/files.ts';
import { uuid } from '../protocol/entities.ts';
import {
  operationNames,
  operationRow,
  type AnyOperation,
  type OperationName,
} from '../protocol/operations.ts';
import type { Actor } from '../services/core/actor.ts';
import {
  authenticateHostSite,
  authenticateMember,
  authenticateVisitor,
} from '../services/auth/authenticate.ts';
import { assertMayHaveCookie, removedCookie, sessionCookie } from '../services/auth/session-cookie.ts';
import { execute } from '../services/execute.ts';
import { badField, notFound, ServiceError } from '../services/core/errors.ts';
import type { Service } from '../services/service.ts';
import { readBody, readFileBody } from './body-reader.ts';
import { serveFileInTurn } from './file-turns.ts';
import { handToKoa, sendJson, sendLongJson } from './responses.ts';
import { dropRest, receiveSlowly } from './receive-time.ts';
import { headerValues, readCredentials, clientAddressOf } from './request.ts';

export interface Route {
  readonly name: OperationName;
  readonly method: string;
  readonly path: string;
}

/** Every REST route: what the router serves, and what a test walks. */
export const routes: readonly Route[] = operationNames.flatMap((name) => {
  const { rest } = operationRow(name);
  return rest === null ? [] : [{ name, method: rest[0], path: `${visitorApiPrefix}${rest[1]}` }];
});

/** Answers one operation. @param parameters those of its path */
type ServeOperation = (ctx: Context, parameters: Readonly<Record<string, string>>) => Promise<void>;

/** Routes of one shape, and what each of them does. */
interface ShapedRoutes {
  readonly router: Router;
  readonly serve: ReadonlyMap<unknown, ServeOperation>;
}

/**
 * Serves every route. The router tries one route after the other, so it is given only those of a path's shape; and it is
 * asked which one it is, but does not run it: the chain that it builds for each request costs more than the look-up.
 * @param service what the operations run on
 * @param trustProxy how many reverse proxies are in front, whose X-Forwarded-For is believed
 */
export function serveOperations(
  service: Service,
  trustProxy: number,
): (ctx: Context, next: () => Promise<unknown>) => Promise<unknown> {
  const byShape = new Map(
    [...Map.groupBy(routes, ({ path }) => shapeOf(path))].map(([shape, some]) => [
      shape,
      createRoutes(some, service, trustProxy),
    ]),
  );
  return (ctx, next) => {
    const { path, method } = ctx;
    const shaped = byShape.get(shapeOf(path));
    const layer = shaped?.router.match(path, method).pathAndMethod[0];
    const serve = layer === undefined ? undefined : shaped?.serve.get(layer);
    if (layer === undefined || serve === undefined) return next();
    // By the name under which the router says it, too.
    Object.assign(ctx, { _matchedRoute: layer.path });
    return serve(ctx, layer.params(path, layer.captures(path)));
  };
}

const prefixParts = visitorApiPrefix.split('/').length;

/** How many parts a path has, and those in front that no route has a parameter for. */
function shapeOf(path: string): string {
  const parts = path.split('/');
  const first = parts[prefixParts] ?? '';
  const second = first === 'staff' || first === 'admin' ? (parts[prefixParts + 1] ?? '') : '';
  return `${parts.length}/${first}/${second}`;
}

function createRoutes(some: readonly Route[], service: Service, trustProxy: number): ShapedRoutes {
  const router = new Router({ sensitive: true, strict: true });
  const serve = new Map<unknown, ServeOperation>();
  for (const { name, method, path } of some) {
    const operation = operationRow(name);
    const layer = router.register(path, [method], notRun);
    serve.set(layer, async (ctx, parameters) => {
      const address = clientAddressOf(ctx, trustProxy);
      const actor = await authenticate(service, operation, ctx, address);
      const call = { service, actor, address, contentLimit: sizeLimits.contentRest };
      let wantsCookie = false;
      const run = (): Promise<object> =>
        execute(call, name, undefined, {
          readInput: async () => {
            const input = await readInput(ctx, operation, parameters);
            wantsCookie = operation.sessionCookie === 'set' && input['cookie'] === true;
            if (wantsCookie) assertMayHaveCookie(service, readCredentials(ctx, address));
            return input;
          },
        });
      if (operation.body === 'stream') ctx.res.once('finish', () => dropRest(ctx.req));
      const answer =
        operation.body === 'file' && actor.kind === 'member'
          ? await serveFileInTurn(ctx.req, actor.organizationId, run)
          : await run();
      const output = wantsCookie ? moveTokenToCookie(ctx, service, answer) : answer;
      if (operation.sessionCookie === 'remove' && ctx.req.headers.cookie !== undefined)
        ctx.append('Set-Cookie', removedCookie(service, readCredentials(ctx, address)));
      const status = operation.status ?? 200;
      const body = operation.envelope === undefined ? output : { [operation.envelope]: output };
      if (operation.long === true) sendLongJson(ctx, status, body);
      else sendJson(ctx, status, body);
      if (operation.cacheable === true) allowCaching(ctx);
    });
  }
  return { router, serve };
}

function notRun(): never {
  throw new Error('The router finds routes, and runs none.');
}

/** Keeps the session's token in a cookie. @returns the answer without it */
function moveTokenToCookie(ctx: Context, service: Service, answer: object): object {
  const { token, ...rest }: { token?: unknown } = answer;
  if (typeof token === 'string')
    ctx.append('Set-Cookie', sessionCookie(service, readCredentials(ctx, ''), token));
  return rest;
}

async function authenticate(
  service: Service,
  operation: AnyOperation,
  ctx: Context,
  address: string,
): Promise<Actor> {
  switch (operation.who) {
    case 'anyone':
      return { kind: 'anonymous', host: ctx.req.headers.host };
    case 'hostSite':
      return authenticateHostSite(service, readCredentials(ctx, address));
    case 'visitor':
      return authenticateVisitor(service, readCredentials(ctx, address));
    case 'operator':
    case 'admin':
      return authenticateMember(service, readCredentials(ctx, address));
    case 'local':
      throw notFound('path');
  }
}

const fileTypes = Object.keys(fileKinds);

/** Path, query and body as one input. A path names things: what can't be an id names nothing. */
async function readInput(
  ctx: Context,
  operation: AnyOperation,
  parameters: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>> {
  for (const [name, value] of Object.entries(parameters))
    if (name.endsWith('Id') && !uuid.safeParse(value).success) throw notFound(name.slice(0, -2));
  checkEscapes(ctx.path, parameters);
  const [method] = operation.rest ?? [];
  const input =
    operation.body === 'stream'
      ? readStream(ctx)
      : operation.body === 'file'
        ? { ...readQuery(ctx), ...(await readFileBody(ctx, fileTypes, assistantLimits.fileBytes)) }
        : method === 'GET' || method === 'DELETE'
          ? readQuery(ctx)
          : { ...(await readBody(ctx)) };
  if (operation.idempotency !== undefined) mergeIdempotencyKey(ctx, operation.idempotency, input);
  return Object.assign(input, parameters);
}

/** The body as it comes, for an operation that takes it in by itself. */
function readStream(ctx: Context): Record<string, unknown> {
  const { 'content-encoding': encoding, 'content-length': length } = ctx.req.headers;
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new ServiceError(
      'unsupported_media_type',
      'The body must not be compressed: send it without Content-Encoding.',
    );
  const names = headerValues(ctx.req, 'x-file-name');
  if (names.length > 1) throw badField('X-File-Name', 'was sent more than once');
  const [fileName] = names;
  // Here, because it is a header: the schema would name a field that the caller never sent.
  if (fileName !== undefined && fileName.length > maxNameHeader)
    throw badField('X-File-Name', `must have at most ${maxNameHeader} characters`);
  return {
    body: receiveSlowly(ctx.req),
    announcedBytes: length === undefined ? null : Number(length),
    mediaType: ctx.req.headers['content-type'] ?? '',
    fileName,
  };
}

/** The router takes a text whose escapes are malformed as it stands: then it would be a name that was never meant. */
function checkEscapes(path: string, parameters: Readonly<Record<string, string>>): void {
  if (!path.includes('%')) return;
  try {
    decodeURIComponent(path);
  } catch {
    const name = Object.keys(parameters).find((one) => !one.endsWith('Id')) ?? 'path';
    throw badField(name, 'must be percent-encoded UTF-8 in the path; a percent sign is written as %25');
  }
}

/** `limit[]=5` and `limit=1&limit=2` are arrays, which no field takes: refused instead of guessed at. */
function readQuery(ctx: Context): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(ctx.query)) {
    const plain = name.replace(/\[.*$/, '');
    const merged = plain !== name || Object.hasOwn(input, plain) ? [value] : value;
    Object.defineProperty(input, plain, {
      value: merged,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return input;
}

function mergeIdempotencyKey(ctx: Context, field: string, input: Record<string, unknown>): void {
  const values = headerValues(ctx.req, 'idempotency-key');
  const [value] = values;
  // The header is the only way to name this one: a body field of that name is unknown, and ignored.
  if (field === 'idempotencyKey') delete input[field];
  if (value === undefined) return;
  if (values.length > 1) throw badField('Idempotency-Key', 'was sent more than once');
  if (input[field] !== undefined && input[field] !== value)
    throw badField(field, 'and the header Idempotency-Key name two different ids');
  input[field] = value;
}

/** For answers that are the same for everybody who may ask: a minute, then revalidation. */
function allowCaching(ctx: Context): void {
  handToKoa(ctx);
  ctx.set('Cache-Control', 'public, max-age=60');
  ctx.vary('X-App-Id');
  ctx.etag = createHash('sha256').update(String(ctx.body)).digest('base64url').slice(0, 22);
  if (ctx.fresh) {
    ctx.status = 304;
    ctx.body = null;
  }
}
