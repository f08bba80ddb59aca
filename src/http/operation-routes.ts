// One route per operation that REST serves: authenticate, hand the input over,
// write the answer. One loop over the table; no operation is treated by name.
import { hash } from 'node:crypto';
import Router, { type Layer } from '@koa/router';
import type { Context } from 'koa';
import { assistantLimits, fileKinds, sizeLimits, visitorApiPrefix } from '../protocol/codes.ts';
import { maxNameHeader } from '../protocol/operations/files.ts';
import { isUuid } from '../protocol/entities.ts';
import {
  operationNames,
  operationRow,
  type AnyOperation,
  type OperationName,
} from '../protocol/operations.ts';
import type { Soon } from '../engine/engine.ts';
import type { Actor } from '../services/core/actor.ts';
import {
  authenticateHostSite,
  authenticateMember,
  authenticateVisitor,
} from '../services/auth/authenticate.ts';
import { assertMayHaveCookie, removedCookie, sessionCookie } from '../services/auth/session-cookie.ts';
import { endReplacedSession } from '../services/auth/sessions.ts';
import { takeExportSeat } from '../services/data/export-seats.ts';
import { execute, executeInParts } from '../services/execute.ts';
import { isLong } from '../services/handlers.ts';
import { badField, notFound, ServiceError } from '../services/core/errors.ts';
import { computeSlice } from '../services/core/slices.ts';
import type { Service } from '../services/service.ts';
import { readBody, readFileBody } from './body-reader.ts';
import { serveFileInTurn } from './file-turns.ts';
import {
  addHeaders,
  addVary,
  handToKoa,
  jsonOf,
  sendJson,
  sendListJson,
  sendLongJson,
  setCacheControl,
  untilClosed,
} from './responses.ts';
import { dropRest, receiveSlowly } from './receive-time.ts';
import { headerValues, queryValues, readCredentials, clientAddressOf, untilGone } from './request.ts';

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

/** A route with the router's pattern of its path. */
interface ServedRoute {
  readonly path: string;
  readonly layer: Layer;
  readonly serve: ServeOperation;
}

declare module 'koa' {
  interface DefaultState {
    /** The path of the route that answers, with its parameters' names. */
    route?: string;
  }
}

/**
 * Serves every route. The router tries one route after the other and builds a chain for each request, which costs more
 * than the look-up: so it makes the routes' patterns, and only those of a path's method and shape are tried.
 * @param service what the operations run on
 * @param trustProxy how many reverse proxies are in front, whose X-Forwarded-For is believed
 */
export function serveOperations(
  service: Service,
  trustProxy: number,
): (ctx: Context, next: () => Promise<unknown>) => Promise<unknown> {
  const router = new Router({ sensitive: true, strict: true });
  const byShape = new Map<string, ServedRoute[]>();
  for (const route of routes) {
    router.register(route.path, [route.method], notRun);
    const layer = router.stack.at(-1);
    if (layer === undefined) throw new Error('The router has not taken a route.');
    const served = { path: route.path, layer, serve: createServe(route, service, trustProxy) };
    // GET is HEAD as well.
    for (const method of layer.methods) {
      const shape = `${method} ${shapeOf(route.path)}`;
      byShape.set(shape, [...(byShape.get(shape) ?? []), served]);
    }
  }
  return (ctx, next) => {
    const { path, method } = ctx;
    for (const { path: route, layer, serve } of byShape.get(`${method} ${shapeOf(path)}`) ?? []) {
      const found = layer.regexp.exec(path);
      if (found === null) continue;
      ctx.state.route = route;
      return serve(ctx, parametersOf(layer, path, found.slice(1)));
    }
    return next();
  };
}

/** The router decodes each parameter, which took a hundredth of a request. Nearly no path has anything to be decoded. */
function parametersOf(layer: Layer, path: string, values: readonly string[]): Record<string, string> {
  if (path.includes('%')) return layer.params(path, [...values]);
  const parameters: Record<string, string> = {};
  for (const [at, { name }] of layer.paramNames.entries()) parameters[name] = values[at] ?? '';
  return parameters;
}

/** How many parts a path has, and those in front that no route has a parameter for. */
function shapeOf(path: string): string {
  let parts = 1;
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) parts += 1;
  const first = partAt(path, visitorApiPrefix.length + 1);
  const hasSecond = first === 'staff' || first === 'admin';
  const second = hasSecond ? partAt(path, visitorApiPrefix.length + 2 + first.length) : '';
  return `${parts}/${first}/${second}`;
}

/** What stands between a place in a path and the next slash. */
function partAt(path: string, start: number): string {
  const end = path.indexOf('/', start);
  return end < 0 ? path.slice(start) : path.slice(start, end);
}

function createServe({ name }: Route, service: Service, trustProxy: number): ServeOperation {
  const operation = operationRow(name);
  return async (ctx, parameters) => {
    const address = clientAddressOf(ctx, trustProxy);
    const asked = authenticate(service, operation, ctx, address);
    const actor = asked instanceof Promise ? await asked : asked;
    const gone = (): AbortSignal => untilGone(ctx.req.socket);
    const call = { service, actor, address, gone, contentLimit: sizeLimits.contentRest };
    let wantsCookie = false;
    const read = (): Promise<Record<string, unknown>> => readInput(ctx, operation, parameters);
    const readWithCookie = async (): Promise<Record<string, unknown>> => {
      const input = await read();
      wantsCookie = input['cookie'] === true;
      if (wantsCookie) assertMayHaveCookie(service, readCredentials(ctx, address));
      return input;
    };
    const readOwnInput = operation.sessionCookie === 'set' ? readWithCookie : read;
    const run = (): Promise<object> =>
      isLong(name)
        ? runLong(
            ctx,
            () => takeExportSeat(service, actor),
            readOwnInput,
            (readInput): Promise<object> => executeInParts(call, name, readInput),
          )
        : execute(call, name, undefined, { readInput: readOwnInput });
    if (operation.body === 'stream') ctx.res.once('finish', () => dropRest(ctx.req));
    const answer =
      operation.body === 'file' && actor.kind === 'member'
        ? await serveFileInTurn(ctx.req, actor.organizationId, run)
        : await run();
    const output = wantsCookie ? moveTokenToCookie(ctx, service, answer) : answer;
    if (wantsCookie) await endReplacedSession(service, readCredentials(ctx, address));
    if (operation.sessionCookie === 'remove' && ctx.req.headers.cookie !== undefined)
      ctx.append('Set-Cookie', removedCookie(service, readCredentials(ctx, address)));
    const status = operation.status ?? 200;
    const body = operation.envelope === undefined ? output : { [operation.envelope]: output };
    if (isLong(name)) sendLongJson(ctx, status, body);
    else if (Object.values(body).some(isLongList))
      await sendListJson(ctx, status, body, (work) =>
        computeSlice(service, 'organizationId' in actor ? actor.organizationId : '', work),
      );
    else sendJson(ctx, status, body);
    if (operation.cacheable === true) allowCaching(ctx);
  };
}

/** So many elements are not much, however long each of them is. */
const shortList = 10;

function isLongList(member: unknown): boolean {
  return Array.isArray(member) && member.length > shortList;
}

/**
 * Runs an operation whose answer may have any size, in a place that it has until the answer has gone.
 * @param takeSeat called once the caller may call the operation and is within the limits
 */
async function runLong<T>(
  ctx: Context,
  takeSeat: () => Promise<() => void>,
  read: () => Promise<Record<string, unknown>>,
  run: (read: () => Promise<Record<string, unknown>>) => Promise<T>,
): Promise<T> {
  let giveBack: (() => void) | undefined;
  try {
    return await run(async () => {
      giveBack = await takeSeat();
      return read();
    });
  } finally {
    if (giveBack !== undefined) untilClosed(ctx, giveBack);
  }
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

function authenticate(service: Service, operation: AnyOperation, ctx: Context, address: string): Soon<Actor> {
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
    if (name.endsWith('Id') && !isUuid(value)) throw notFound(name.slice(0, -2));
  checkEscapes(ctx.path, parameters);
  const fields = readFields(ctx, operation);
  const input = fields instanceof Promise ? await fields : fields;
  if (operation.idempotency !== undefined) mergeIdempotencyKey(ctx, operation.idempotency, input);
  return Object.assign(input, parameters);
}

/** @returns an object of its own, to which more can be added */
function readFields(ctx: Context, operation: AnyOperation): Soon<Record<string, unknown>> {
  if (operation.body === 'stream') return readStream(ctx);
  if (operation.body === 'file')
    return readFileBody(ctx, fileTypes, assistantLimits.fileBytes).then((body) => ({
      ...readQuery(ctx),
      ...body,
    }));
  const [method] = operation.rest ?? [];
  return method === 'GET' || method === 'DELETE' ? readQuery(ctx) : readBody(ctx);
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
  for (const [name, values] of queryValues(ctx)) {
    const [plain = ''] = name.split('[', 1);
    const value = values.length === 1 ? values[0] : values;
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
  if (input[field] === undefined) ctx.state.fieldOfKey = field;
  input[field] = value;
}

/** For answers that are the same for everybody who may ask: a minute, then revalidation. */
function allowCaching(ctx: Context): void {
  const tag = hash('sha256', jsonOf(ctx) ?? '', 'base64url').slice(0, 22);
  addHeaders(ctx, 'ETag', `"${tag}"`);
  addVary(ctx, 'X-App-Id');
  setCacheControl(ctx, 'public, max-age=60');
  const { 'if-none-match': none, 'if-modified-since': since } = ctx.req.headers;
  // Koa compares what it has been given.
  if (none === undefined && since === undefined) return;
  handToKoa(ctx);
  if (ctx.fresh) {
    ctx.status = 304;
    ctx.body = null;
  }
}
