// Owns what holds for every REST reply, whatever was asked, and what holds for the
// database and the log after a test. Must not know any single case.
import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { openConnection, type Connection } from '../../src/engine/sqlite/connection.ts';
import { databaseFile } from '../../src/engine/open-engine.ts';
import { routes } from '../../src/http/operation-routes.ts';
import { errorCodes, type ErrorCode } from '../../src/protocol/codes.ts';
import { operations } from '../../src/protocol/operations.ts';
import type { z } from 'zod';
import type { TestApp } from './app.ts';
import { request, type HeaderMap, type Reply } from './client.ts';
import { askDatabase, type TestDatabase } from './postgres.ts';
import { send, type RawRequest } from './raw-http.ts';

const patterns = routes.map((route) => ({
  ...route,
  pattern: new RegExp(`^${route.path.replace(/:[a-zA-Z]+/g, '[^/]+')}$`),
}));

/** What must stay inside: stacks, statements, paths, the names of what it is built of. */
const inner =
  /node_modules|\.[jt]s:\d|\n\s+at |sqlite|select .+ from|insert into|\bkysely|\bkoa|\bzod|\bjose\b|better-|formidable|co-body|\/src\/|\/tmp\/|\/home\/|[A-Za-z]Error\b|\[object/i;

const extraKeys: Readonly<Record<string, readonly string[]>> = {
  bad_request: ['details'],
  rate_limit_exceeded: ['cause', 'retryAfter'],
  conflict: ['status', 'assignedTo'],
  second_factor: ['ticket', 'methods'],
  internal_error: ['requestId'],
};

/** Asserts everything that every reply must keep to, and hands it back. */
export function checkReply(reply: Reply, method: string, path: string): Reply {
  const { status, headers, text } = reply;
  const shown = `${method} ${path.slice(0, 200)} → ${status} ${text.slice(0, 300)}`;
  const operation = operationOf(method, path);
  expect(status, shown).toBeGreaterThanOrEqual(200);
  expect(status, shown).not.toBe(500);
  expect(headers.get('x-content-type-options'), shown).toBe('nosniff');
  expect(headers.get('x-request-id'), shown).toMatch(/^[0-9a-f-]{36}$/);
  expect(headers.get('referrer-policy'), shown).toBe('no-referrer');
  expect(headers.get('content-security-policy'), shown).toBe("default-src 'none'; frame-ancestors 'none'");
  for (const name of ['x-powered-by', 'server', 'set-cookie', 'access-control-allow-credentials', 'location'])
    expect(headers.has(name), `${name}: ${shown}`).toBe(false);
  expect(headers.get('access-control-allow-origin'), shown).not.toBe('*');
  const cached = operation?.cacheable === true && (status === 200 || status === 304);
  expect(headers.get('cache-control'), shown).toBe(cached ? 'public, max-age=60' : 'no-store');
  if (status === 204 || status === 304) {
    expect(text, shown).toBe('');
    return reply;
  }
  expect(headers.get('content-type'), shown).toBe('application/json; charset=utf-8');
  if (method === 'HEAD') {
    expect(text, shown).toBe('');
    return reply;
  }
  if (status >= 400) checkError(reply, shown);
  else if (operation?.envelope !== undefined) {
    expect(Object.keys(reply.body as object), shown).toEqual([operation.envelope]);
    checkOutput(operation.output, reply.body[operation.envelope], shown);
  } else if (operation !== undefined) checkOutput(operation.output, reply.body, shown);
  return reply;
}

function operationOf(
  method: string,
  path: string,
): { readonly output: z.ZodType; readonly cacheable?: true; readonly envelope?: string } | undefined {
  const plain = path.replace(/\?.*$/, '');
  const found = patterns.find(
    (route) => route.pattern.test(plain) && route.method === (method === 'HEAD' ? 'GET' : method),
  );
  return found === undefined ? undefined : operations[found.name];
}

/** Parsing drops what the schema does not name and lowers ids: equal afterwards means nothing more and nothing else. */
function checkOutput(schema: z.ZodType, body: unknown, shown: string): void {
  const parsed = schema.safeParse(body);
  expect(parsed.error?.issues ?? [], shown).toEqual([]);
  expect(JSON.parse(JSON.stringify(parsed.data)), shown).toEqual(body);
}

function checkError({ status, headers, text, body }: Reply, shown: string): void {
  expect(typeof body, shown).toBe('object');
  const code = body.error as ErrorCode;
  expect(Object.keys(errorCodes), shown).toContain(code);
  // Node's own limit on headers is the one status without a code of its own.
  expect(status, shown).toBe(status === 431 && code === 'bad_request' ? 431 : errorCodes[code].status);
  expect(typeof body.message, shown).toBe('string');
  expect(body.message.length, shown).toBeGreaterThan(5);
  const allowed = ['error', 'message', ...(extraKeys[code] ?? [])];
  expect(
    Object.keys(body).filter((key) => !allowed.includes(key)),
    shown,
  ).toEqual([]);
  expect(text, shown).not.toMatch(inner);
  if (code === 'bad_request') expect(body.details?.length, shown).toBeGreaterThan(0);
  for (const detail of body.details ?? [])
    expect(detail, shown).toEqual({ path: expect.any(String), message: expect.any(String) });
  if (code === 'rate_limit_exceeded') checkLimited(headers, body, shown);
  expect(headers.get('www-authenticate'), shown).toBe(status === 401 ? 'Bearer' : null);
  if (code === 'unavailable') expect(headers.get('retry-after'), shown).toMatch(/^[1-9]\d*$/);
  if (code === 'method_not_allowed') expect(headers.get('allow'), shown).toMatch(/^[A-Z]+(, [A-Z]+)*$/);
}

function checkLimited(headers: Headers, body: { cause: string; retryAfter: number }, shown: string): void {
  expect(['per_visitor', 'per_application', 'per_organization', 'per_address'], shown).toContain(body.cause);
  expect(Number.isInteger(body.retryAfter) && body.retryAfter >= 1, shown).toBe(true);
  expect(headers.get('retry-after'), shown).toBe(String(body.retryAfter));
  const name = body.cause.replace('per_', '');
  expect(headers.get('ratelimit'), shown).toMatch(
    new RegExp(`^"${name}-[a-z0-9]+";r=0;t=${body.retryAfter}$`),
  );
  expect(headers.get('ratelimit-policy'), shown).toMatch(
    new RegExp(`^"${name}-[a-z0-9]+";q=\\d+;w=\\d+(, "${name}-[a-z0-9]+";q=\\d+;w=\\d+)*$`),
  );
}

/** A caller with headers. */
export interface Caller {
  readonly headers: HeaderMap;
}

/** One request by fetch, checked. The path is below /api/v1. */
export async function ask(
  app: TestApp,
  who: Caller,
  method: string,
  path: string,
  body?: unknown,
  more: HeaderMap = {},
): Promise<Reply> {
  return checkReply(
    await request(app.url, method, `/api/v1${path}`, { ...who.headers, ...more }, body),
    method,
    `/api/v1${path}`,
  );
}

/** One request as bytes, checked. The path is whole. */
export async function askRaw(app: Pick<TestApp, 'url'>, raw: RawRequest): Promise<Reply> {
  return checkReply(await send(app.url, raw), raw.method ?? 'GET', raw.path);
}

/** Columns that say when or from where something was last used, or how far a webhook has come: no change of what the service holds. */
const usage = new Set(['last_used_at', 'last_seen_at', 'address_digest', 'expires_at', 'position']);

type Digests = Readonly<Record<string, string>>;

/** A look into a database that is read again only when something was committed. */
interface Inspector {
  readonly connection: Connection;
  /** Holds a read transaction, and so the database as it was. */
  readonly past: Connection;
  version: unknown;
  digests: Digests;
}

const inspectors = new WeakMap<TestApp, Inspector>();

function inspectorOf(app: TestApp): Inspector {
  const known = inspectors.get(app);
  if (known !== undefined) return known;
  const open = (): Connection =>
    openConnection(databaseFile(app.folder), { durability: 'full', lockTimeoutMs: 1_000, readonly: true });
  const inspector = { connection: open(), past: open(), version: null, digests: {} };
  inspectors.set(app, inspector);
  app.beforeStop(() => {
    inspector.connection.close();
    inspector.past.close();
    inspectors.delete(app);
  });
  return inspector;
}

/** Changes with every commit. */
const commitVersion = ({ connection }: Inspector): unknown =>
  connection.pragma('data_version', { simple: true });

const isDigested = (table: string): boolean =>
  !/^(meta|search|message_plac|webhook_deliveries|effects|schema_migrations|nodes|presence|seats|limits)/.test(
    table,
  );

/** A digest of everything stored but the search index, the order of conversations, the webhooks' deliveries and the outbox, which follow in their own time: equal digests mean that nothing was stored, changed or lost. */
export async function stored(app: TestApp): Promise<Digests> {
  if (app.database !== null) return digestDatabase(app.database);
  const inspector = inspectorOf(app);
  const version = commitVersion(inspector);
  if (version !== inspector.version) {
    inspector.version = version;
    inspector.digests = digestTables(inspector.connection);
  }
  return inspector.digests;
}

/**
 * Remembers what is stored now. Costs nothing while nothing is committed: the tables are read only afterwards, as they
 * were and as they are.
 * @returns asserts that nothing was stored, changed or lost since; to be called before this is called again
 */
export async function rememberStored(app: TestApp): Promise<(what: string) => Promise<void>> {
  const { database } = app;
  if (database !== null) {
    const before = await digestDatabase(database);
    return async (what) => expect(await digestDatabase(database), what).toEqual(before);
  }
  const inspector = inspectorOf(app);
  const { connection, past } = inspector;
  if (past.inTransaction) past.exec('rollback');
  const version = commitVersion(inspector);
  past.exec('begin');
  past.prepare('select count(*) from meta').get();
  return async (what) => {
    if (commitVersion(inspector) !== version)
      expect(digestTables(connection), what).toEqual(digestTables(past));
    past.exec('rollback');
  };
}

/** The same of a database on PostgreSQL. */
async function digestDatabase(database: TestDatabase): Promise<Digests> {
  const columns = await askDatabase(
    database,
    `select table_name, string_agg(quote_ident(column_name), ', ' order by ordinal_position) as columns
      from information_schema.columns where table_schema = 'deskbell'
        and column_name <> all (string_to_array(?, ' ')) group by table_name`,
    [[...usage].join(' ')],
  );
  const tables = columns.filter(({ table_name }) => isDigested(String(table_name)));
  const counts = tables.map(
    ({ table_name, columns: names }) =>
      `select '${String(table_name)}' as name, count(*) || ' rows, ' || md5(string_agg(row(${String(names)})::text, '' order by
        row(${String(names)})::text)) as digest from ${String(table_name)}`,
  );
  const rows = await askDatabase(database, counts.join(' union all '));
  return Object.fromEntries(rows.map(({ name, digest }) => [name, String(digest)]));
}

function digestTables(connection: Connection): Digests {
  const names = connection
    .prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite%' order by name")
    .pluck()
    .all() as string[];
  const digests: Record<string, string> = {};
  for (const name of names.filter(isDigested)) {
    const columns = (connection.pragma(`table_info("${name}")`) as { name: string }[])
      .filter((column) => !usage.has(column.name))
      .map((column) => `quote("${column.name}")`);
    // SQLite puts a row into one text: a table may have thousands.
    const rows = connection
      .prepare(`select ${columns.join(" || ',' || ")} from "${name}"`)
      .pluck()
      .all();
    const hash = createHash('sha256').update(rows.join('\n')).digest('hex');
    digests[name] = `${rows.length} rows, ${hash}`;
  }
  return digests;
}

/** Runs SQL as a person with the file in hands would. New tests use `rowsOf` (database.ts), which another engine can answer. */
export function inDatabase(
  app: Pick<TestApp, 'folder'>,
  sql: string,
  ...values: readonly unknown[]
): Record<string, unknown>[] {
  const connection = openConnection(databaseFile(app.folder), { durability: 'full', lockTimeoutMs: 1_000 });
  try {
    const statement = connection.prepare(sql);
    if (statement.reader) return statement.all(...values) as Record<string, unknown>[];
    statement.run(...values);
    return [];
  } finally {
    connection.close();
  }
}

/** Asserts that something was logged, and none of these in it. */
export function expectCleanLog(app: TestApp, secrets: readonly string[]): void {
  const log = app.logged.join('');
  expect(log.length).toBeGreaterThan(0);
  for (const secret of secrets) expect(log.includes(secret), `logged: ${secret.slice(0, 12)}…`).toBe(false);
}

/** The ids of a list in a reply, in its order. */
export function idsOf(list: unknown): string[] {
  return (list as readonly { readonly id: string }[]).map(({ id }) => id);
}
