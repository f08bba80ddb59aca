// Attacks /openapi.json: every route is in it, every schema compiles under a validator that
// is not ours, and what the service really answers is what the document says.
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { errorCodes, fileKinds } from '../../src/protocol/codes.ts';
import { clientFrames } from '../../src/protocol/frames.ts';
import { operations } from '../../src/protocol/operations.ts';
import { webhookEvents } from '../../src/protocol/webhooks.ts';
import { routes } from '../../src/http/operation-routes.ts';
import { totpCode, totpStep } from '../../src/services/auth/totp.ts';
import { Authenticator, type Asked } from '../helpers/authenticator.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { inProcess } from '../helpers/cli.ts';
import { request, type HeaderMap, type Reply } from '../helpers/client.ts';
import { plainRequest } from '../helpers/plain-request.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  memberPassword,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

interface Schema {
  readonly [keyword: string]: unknown;
}

interface Content {
  readonly [type: string]: { readonly schema: Schema };
}

interface Answer {
  readonly description: string;
  readonly content?: Content;
  readonly headers?: Readonly<Record<string, object>>;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security: readonly object[];
  readonly parameters?: readonly { name: string; in: string; required: boolean; schema: Schema }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, Answer>>;
  readonly 'x-websocket'?: { readonly clientFrames: Readonly<Record<string, { readonly payload?: Schema }>> };
}

interface ApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

let app: TestApp;
let acme: TestOrganization;
let document: ApiDocument;
let ajv: Ajv2020;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  document = (await request(app.url, 'GET', '/openapi.json')).body as ApiDocument;
  ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true, allErrors: true });
  ajv.addFormat('uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  ajv.addFormat('email', /^[^@\s]+@[^@\s]+$/);
  ajv.addFormat('uri', (text) => URL.canParse(text));
  ajv.addKeyword('components');
  ajv.addSchema({ $id: 'deskbell:api', components: document.components });
});

afterAll(async () => {
  await app.stop();
});

/** What was compiled before, by its text: most routes describe the same errors. */
const compiled = new Map<string, ValidateFunction>();

/** A schema of the document, compiled. */
function compile(schema: Schema): ValidateFunction {
  const text = JSON.stringify(schema).replaceAll('"#/components/', '"deskbell:api#/components/');
  const known = compiled.get(text) ?? ajv.compile(JSON.parse(text) as object);
  compiled.set(text, known);
  return known;
}

const openPath = (path: string): string => path.replace(/:(\w+)/g, '{$1}');

const described = (method: string, path: string): Operation =>
  document.paths[openPath(path)]![method.toLowerCase()]!;

describe('the document', () => {
  it('is OpenAPI 3.1 with every route in it, and none that is no route', () => {
    expect(document.openapi).toBe('3.1.0');
    const own = [
      '/healthz',
      '/readyz',
      '/metrics',
      '/openapi.json',
      '/docs',
      '/api/v1/ws',
      '/api/v1/files/{fileId}',
    ];
    const listed = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const wanted = [
      ...routes.map(({ method, path }) => `${method} ${openPath(path)}`),
      ...own.map((path) => `GET ${path}`),
    ];
    expect(listed.toSorted()).toEqual(wanted.toSorted());
    const ids = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each(routes)('describes $method $path', ({ name, method, path }) => {
    const one = described(method, path);
    const operation = operations[name];
    expect(one.operationId).toBe(name);
    expect(one.summary).toBe(operation.summary);
    expect(one.summary).not.toBe('');
    const inPath = (one.parameters ?? []).filter((parameter) => parameter.in === 'path');
    expect(inPath.map((parameter) => parameter.name)).toEqual(
      [...path.matchAll(/:(\w+)/g)].map(([, field]) => field),
    );
    expect(inPath.every(({ required }) => required)).toBe(true);
    for (const { schema } of one.parameters ?? []) compile(schema);
    for (const { schema } of Object.values(one.requestBody?.content ?? {})) compile(schema);
    for (const { content = {}, description } of Object.values(one.responses)) {
      expect(description).not.toBe('');
      for (const { schema } of Object.values(content)) compile(schema);
    }
    const success = 'status' in operation ? String(operation.status) : '200';
    expect(Object.keys(one.responses)).toContain(success);
    expect(one.responses['default']?.content?.['application/json']?.schema).toEqual({
      $ref: '#/components/schemas/Error',
    });
    // Every field that the rule takes is to be found somewhere.
    const isFile = 'body' in operation;
    const ofBody = ['file', 'mediaType', 'body', 'announcedBytes', 'fileName'];
    const fields = Object.keys(operation.input.shape)
      .filter((field) => field !== 'organization' || operation.who === 'anyone')
      // The body itself.
      .filter((field) => !isFile || !ofBody.includes(field));
    if (isFile)
      expect(Object.keys(one.requestBody?.content ?? {})).toEqual(
        operation.body === 'file' ? Object.keys(fileKinds) : ['*/*'],
      );
    const shown = [
      ...(one.parameters ?? []).map((parameter) => parameter.name),
      ...Object.keys(one.requestBody?.content['application/json']?.schema['properties'] ?? {}),
    ];
    for (const field of fields)
      expect(shown, `${name}.${field}`).toContain(field === 'idempotencyKey' ? 'Idempotency-Key' : field);
    const signedIn = operation.who === 'operator' || operation.who === 'admin';
    expect(one.security.length === 0).toBe(operation.who === 'anyone');
    expect(one.security.some((way) => 'session' in way)).toBe(signedIn);
  });

  it('names every error, every frame, every event of a webhook, and refers to nothing that is not there', () => {
    expect(document.components.schemas['Error']).toMatchObject({
      properties: { error: { enum: Object.keys(errorCodes) } },
    });
    expect(Object.keys(document.paths['/api/v1/ws']!['get']!['x-websocket']!.clientFrames)).toEqual(
      Object.keys(clientFrames),
    );
    expect(Object.keys(document.webhooks).toSorted()).toEqual([...webhookEvents, 'webhook:test'].toSorted());
    for (const [, name] of JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)) {
      expect(name).toMatch(/^#\/components\/schemas\/\w+$/);
      expect(Object.keys(document.components.schemas)).toContain(name!.split('/').at(-1));
    }
    for (const schema of Object.values(document.components.schemas)) compile(schema);
    for (const { post } of Object.values(document.webhooks))
      compile(post.requestBody!.content['application/json']!.schema);
    for (const frame of Object.values(document.paths['/api/v1/ws']!['get']!['x-websocket']!.clientFrames))
      compile(frame.payload ?? {});
  });

  it('has how many there are, and which page it is, in every list', () => {
    // A history counts nothing; the others are a part of one thing, and whole.
    const without = [
      'GET /api/v1/conversations/{conversationId}/messages',
      'GET /api/v1/staff/conversations/{conversationId}/messages',
      'GET /api/v1/staff/views/counts',
      'GET /api/v1/staff/push',
      'GET /api/v1/admin/visitors/{visitorId}',
      'GET /api/v1/admin/applications/{applicationId}/synonyms',
      'GET /api/v1/admin/knowledge/{documentId}/questions',
      'GET /api/v1/admin/email',
    ];
    const uncounted = Object.entries(document.paths).flatMap(([path, { get }]) => {
      const schema = get?.responses['200']?.content?.['application/json']?.schema;
      const properties = (schema?.['properties'] ?? {}) as Readonly<Record<string, Schema>>;
      const isList = Object.values(properties).some(({ type }) => type === 'array');
      const isCounted = ['total', 'limit', 'offset'].every((field) => field in properties);
      return isList && !isCounted ? [`GET ${path}`] : [];
    });
    expect(uncounted.toSorted()).toEqual(without.toSorted());
  });

  it('is open to any page, kept for a while, compressed, and the same from the command line', async () => {
    const url = `${app.url}/openapi.json`;
    const plain = await plainRequest(url, { origin: 'https://anywhere.example' });
    expect(plain.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': 'public, max-age=300, stale-while-revalidate=86400',
      'content-type': 'application/json; charset=utf-8',
      vary: 'Accept-Encoding',
    });
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(JSON.parse(plain.bytes.toString())).toEqual(document);
    for (const [name, open] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const small = await plainRequest(url, { 'accept-encoding': name });
      expect(small.headers['content-encoding']).toBe(name);
      expect(open(small.bytes).equals(plain.bytes)).toBe(true);
      expect(small.bytes.length).toBeLessThan(plain.bytes.length / 8);
      const again = await plainRequest(url, {
        'accept-encoding': name,
        'if-none-match': small.headers.etag!,
      });
      expect({ status: again.status, size: again.bytes.length }).toEqual({ status: 304, size: 0 });
    }
    expect((await fetch(`${app.url}/openapi.json`, { method: 'POST' })).status).toBe(405);
    const { code, stdout, stderr } = await inProcess(['openapi']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual(document);
  });
});

describe('what the service answers', () => {
  let visitor: TestClient;
  let admin: TestMember;
  let operator: TestMember;
  const seen = new Set<string>();

  beforeAll(async () => {
    visitor = createVisitor(app, acme.application);
    admin = await createMember(app, 'acme', 'admin');
    operator = await createMember(app, 'acme', 'operator');
  });

  /** One request whose answer must be what the document says: status, type, shape, and nothing that it does not name. */
  async function check(
    who: { readonly headers: HeaderMap },
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Reply> {
    const reply = await request(app.url, method, path, who.headers, body);
    const plain = path.replace(/\?.*$/, '');
    const route = routes.find(
      (one) => one.method === method && new RegExp(`^${one.path.replace(/:\w+/g, '[^/]+')}$`).test(plain),
    );
    const shown = `${method} ${path} → ${reply.status} ${reply.text.slice(0, 300)}`;
    expect(route, shown).toBeDefined();
    const { responses } = described(method, route!.path);
    const answer = responses[String(reply.status)];
    expect(answer, `${shown}: this status is not described`).toBeDefined();
    const validate = compile(closed(answer!.content!['application/json']!.schema));
    expect(validate(reply.body) ? [] : validate.errors, shown).toEqual([]);
    if (reply.status < 400) seen.add(route!.name);
    return reply;
  }

  /** The same schema, but every object with named fields holds only those; what it refers to is put in its place. */
  function closed(schema: Schema): Schema {
    if (typeof schema['$ref'] === 'string')
      return closed(document.components.schemas[schema['$ref'].split('/').at(-1)!]!);
    const copy = Object.fromEntries(
      Object.entries(schema).map(([name, value]) => [name, closedValue(value)]),
    );
    return copy['properties'] !== undefined && copy['type'] === 'object'
      ? { ...copy, additionalProperties: false }
      : copy;
  }

  function closedValue(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(closedValue);
    return typeof value === 'object' && value !== null ? closed(value as Schema) : value;
  }

  it('is what the document says, from a conversation’s first word to its end', async () => {
    const made = await check(visitor, 'POST', '/api/v1/conversations', { subject: 'My order' });
    const at = `/api/v1/conversations/${made.body.conversation.id}`;
    const staffAt = `/api/v1/staff/conversations/${made.body.conversation.id}`;
    const sent = await check(visitor, 'POST', `${at}/messages`, { content: 'hello' });
    const messageId = sent.body.message.id as string;
    await check(visitor, 'GET', '/api/v1/conversations?limit=1');
    await check(visitor, 'GET', at);
    await check(visitor, 'PUT', '/api/v1/visitor', {
      name: 'Vera',
      attributes: { seen: true, visits: 3, plan: 'gold' },
    });
    await check(visitor, 'GET', '/api/v1/visitor');
    await check(visitor, 'GET', '/api/v1/widget/config');
    await check(visitor, 'POST', '/api/v1/widget/ws-token');
    await check({ headers: {} }, 'POST', '/api/v1/staff/session', {
      organization: 'acme',
      email: operator.email,
      password: memberPassword,
    });
    await check(operator, 'GET', '/api/v1/staff/session');
    await check(operator, 'POST', '/api/v1/staff/ws-token');
    await check(operator, 'GET', '/api/v1/staff/conversations?status=pending&assignedTo=none&q=hello');
    await check(operator, 'POST', `${staffAt}/accept`);
    await check(operator, 'POST', `${staffAt}/accept`).then((late) => expect(late.status).toBe(409));
    const answered = await check(operator, 'POST', `${staffAt}/messages`, { content: 'hi' });
    await check(operator, 'POST', `${staffAt}/messages`, { content: 'a note', internal: true });
    await check(operator, 'PATCH', `${staffAt}/messages/${answered.body.message.id}`, {
      content: 'hi there',
    });
    await check(operator, 'GET', `${staffAt}/messages`);
    await check(operator, 'GET', staffAt);
    await check(operator, 'POST', `${staffAt}/read`, { messageId });
    await check(visitor, 'GET', `${at}/unread`);
    await check(visitor, 'POST', `${at}/read`, { messageId });
    await check(visitor, 'PATCH', `${at}/messages/${messageId}`, { content: 'hello again' });
    await check(visitor, 'GET', `${at}/messages?order=desc`);
    await check(visitor, 'DELETE', `${at}/messages/${messageId}`);
    await check(operator, 'POST', `${staffAt}/transfer`, { memberId: admin.id });
    await check(admin, 'DELETE', `${staffAt}/messages/${answered.body.message.id}`).then((refused) =>
      expect(refused.status).toBe(403),
    );
    await check(admin, 'POST', `${staffAt}/release`);
    await check(admin, 'POST', `${staffAt}/resolve`);
    await check(visitor, 'POST', `${at}/messages`, { content: 'late' }).then((refused) =>
      expect(refused.status).toBe(422),
    );
    await check(operator, 'DELETE', '/api/v1/staff/session');
  });

  it('is what the document says for those who administrate', async () => {
    const application = `/api/v1/admin/applications/${acme.application.id}`;
    for (const path of [
      '/api/v1/admin/organization',
      '/api/v1/admin/applications',
      application,
      `${application}/domains`,
      `${application}/keys`,
      `${application}/identity-secret`,
      '/api/v1/admin/members',
      '/api/v1/admin/audit',
      '/api/v1/admin/webhooks',
      '/api/v1/staff/canned-replies',
      '/api/v1/staff/members',
      '/api/v1/staff/stats',
      '/api/v1/staff/me',
      '/api/v1/staff/notifications',
      '/api/v1/staff/push',
      '/api/v1/admin/email',
      '/api/v1/admin/email/deliveries',
      '/api/v1/admin/outbox',
    ])
      expect((await check(admin, 'GET', path)).status, path).toBe(200);
    await check(admin, 'PATCH', '/api/v1/admin/email', { server: null });
    await check(admin, 'POST', '/api/v1/admin/email/keys', { applicationId: acme.application.id });
    await check(admin, 'POST', '/api/v1/admin/email/test', { to: 'ops@example.com' });
    await check(admin, 'POST', `/api/v1/admin/outbox/${acme.application.id}/replay`);
    await check(admin, 'POST', '/api/v1/email/stop', { token: 'x' });
    await check(admin, 'PUT', '/api/v1/staff/notifications', {});
    await check(admin, 'POST', '/api/v1/staff/notifications/test');
    const written = await createConversation(createVisitor(app, acme.application));
    await check(admin, 'GET', `/api/v1/staff/conversations/${written}/transcript`);
    await check(admin, 'POST', `/api/v1/staff/conversations/${written}/transcript`);
    const draft = `/api/v1/staff/conversations/${written}/draft`;
    await check(admin, 'PUT', draft, { content: 'mine' });
    await check(admin, 'GET', draft);
    await check(admin, 'DELETE', draft);
    const { webhook } = (
      await check(admin, 'POST', '/api/v1/admin/webhooks', {
        url: 'https://example.com/hook',
        events: ['message:new'],
      })
    ).body;
    const at = `/api/v1/admin/webhooks/${webhook.id}`;
    await check(admin, 'PATCH', at, { events: null });
    await check(admin, 'GET', at);
    await check(admin, 'POST', `${at}/reveal`);
    await check(admin, 'POST', `${at}/rotate`, { overlapSeconds: 60 });
    await check(admin, 'POST', `${at}/end-overlap`);
    await check(admin, 'PATCH', at, { enabled: false });
    await check(admin, 'POST', `${at}/test`).then((refused) => expect(refused.status).toBe(409));
    await check(admin, 'GET', `${at}/deliveries?status=failed`);
    await check(admin, 'DELETE', at);
    const { key } = (await check(admin, 'POST', `${application}/keys`, { mode: 'test' })).body;
    await check(admin, 'POST', `${application}/keys/${key.id}/rotate`, {});
    await check(admin, 'POST', `${application}/keys/${key.id}/reveal`);
    await check(admin, 'DELETE', `${application}/keys/${key.id}`);
    await check(admin, 'POST', `${application}/domains`, { domain: 'more.example' });
    await check(admin, 'PATCH', application, { appearance: { position: 'bottom-left' } });
    const { member } = (
      await check(admin, 'POST', '/api/v1/admin/members', {
        email: 'new@acme.example',
        name: 'New',
        role: 'operator',
        password: memberPassword,
      })
    ).body;
    await check(admin, 'PATCH', `/api/v1/admin/members/${member.id}`, { role: 'admin' });
    await check(admin, 'DELETE', `/api/v1/admin/members/${member.id}`);
    const { cannedReply } = (
      await check(admin, 'POST', '/api/v1/staff/canned-replies', { shortcut: 'hi', content: 'Hello!' })
    ).body;
    await check(admin, 'PATCH', `/api/v1/staff/canned-replies/${cannedReply.id}`, {
      content: 'Hello there!',
    });
    await check(admin, 'DELETE', `/api/v1/staff/canned-replies/${cannedReply.id}`);
  });

  it('is what the document says for signing in with a second factor, sessions and tokens', async () => {
    const code = (secret: string): string => totpCode(secret, totpStep(app.clock.now()));
    const signIn = { organization: 'acme', email: admin.email, password: memberPassword };
    const me = '/api/v1/staff/me';
    const { totp } = (await check(admin, 'POST', `${me}/totp`, { password: memberPassword })).body;
    await check(admin, 'POST', `${me}/totp/confirm`, { code: code(totp.secret) });
    await check(admin, 'GET', `${me}/totp`);
    const made = await check(admin, 'POST', `${me}/recovery-codes`, { password: memberPassword });
    const refused = await check({ headers: {} }, 'POST', '/api/v1/staff/session', signIn);
    expect(refused.body.error).toBe('second_factor');
    await check({ headers: {} }, 'POST', '/api/v1/staff/session/second-factor', {
      ticket: refused.body.ticket,
      code: made.body.recoveryCodes[0],
    });
    await check(admin, 'PATCH', '/api/v1/staff/me', { timezone: 'Europe/Paris' });
    await check(admin, 'POST', '/api/v1/staff/session/link', { ticket: 'dbx_unknown' });
    const { sessions } = (await check(admin, 'GET', '/api/v1/staff/sessions')).body;
    const other = sessions.find(({ current }: { current: boolean }) => !current) as { id: string };
    await check(admin, 'DELETE', `/api/v1/staff/sessions/${other.id}`);
    const expiresAt = new Date(app.clock.now() + 60_000).toISOString();
    const token = { name: 'ci', scopes: ['conversations:read'], expiresAt };
    const { id } = (await check(admin, 'POST', '/api/v1/staff/tokens', token)).body.token;
    await check(admin, 'GET', '/api/v1/staff/tokens');
    await check(admin, 'DELETE', `/api/v1/staff/tokens/${id}`);
    app.clock.step(30_000);
    await check(admin, 'POST', `${me}/totp/disable`, { code: code(totp.secret) });
    const member = await createMember(app, 'acme');
    await check(admin, 'DELETE', `/api/v1/admin/members/${member.id}/second-factor`);
    await check(admin, 'DELETE', `/api/v1/admin/members/${member.id}/sessions`);
  });

  it('is what the document says of passkeys', async () => {
    const me = '/api/v1/staff/me';
    const { port } = new URL(app.url);
    const authenticator = new Authenticator(`http://localhost:${port}`, 'localhost');
    const member = await createMember(app, 'acme');
    const { options } = (await check(member, 'POST', `${me}/passkeys/options`, { password: memberPassword }))
      .body;
    const answer = { name: 'Laptop', response: authenticator.create(options as Asked) };
    const added = await check(member, 'POST', `${me}/passkeys`, answer);
    expect(added.body.recoveryCodes).toHaveLength(10);
    const signIn = { organization: 'acme', email: member.email, password: memberPassword };
    const refused = await check({ headers: {} }, 'POST', '/api/v1/staff/session', signIn);
    expect(refused.body.methods).toEqual(['passkey', 'recovery']);
    await check({ headers: {} }, 'POST', '/api/v1/staff/session/second-factor', {
      ticket: refused.body.ticket,
      assertion: authenticator.show(refused.body.passkey as Asked),
    });
    await check(member, 'GET', `${me}/passkeys`);
    const at = `${me}/passkeys/${added.body.passkey.id}`;
    await check(member, 'PATCH', at, { name: 'Work laptop' });
    await check(member, 'POST', `${at}/remove`, { password: memberPassword });
  });

  it('is what the document says of blocks', async () => {
    await check(visitor, 'GET', '/api/v1/visitor');
    const at = `/api/v1/staff/visitors/${visitor.headers['x-visitor-id']}/block`;
    await check(admin, 'PUT', at, {});
    expect((await check(visitor, 'GET', '/api/v1/visitor')).body.error).toBe('visitor_blocked');
    await check(admin, 'DELETE', at);
    const { block } = (await check(admin, 'POST', '/api/v1/staff/blocks', { address: '192.0.2.1' })).body;
    await check(admin, 'GET', '/api/v1/staff/blocks');
    await check(admin, 'DELETE', `/api/v1/staff/blocks/${block.id}`);
  });

  it('is what the document says of files', async () => {
    for (const [person, path] of [
      [visitor, '/api/v1/files'],
      [admin, '/api/v1/staff/files'],
    ] as const) {
      const { file } = (await check(person, 'POST', path, { any: 'bytes' })).body;
      expect((await check(person, 'GET', `${path}/${file.id}/state`)).body.file).toEqual(file);
    }
  });

  it('is what the document says where no operation of the table answers', async () => {
    const { file } = (await check(visitor, 'POST', '/api/v1/files', { any: 'bytes' })).body;
    const opened = await check(visitor, 'POST', '/api/v1/conversations', {});
    const sent = await check(
      visitor,
      'POST',
      `/api/v1/conversations/${opened.body.conversation.id}/messages`,
      {
        content: 'see this',
        attachments: [file.id],
      },
    );
    const link = new URL(sent.body.message.attachments[0].url);
    expect(link.pathname).toBe(`/api/v1/files/${file.id}`);
    const ofFiles = described('GET', '/api/v1/files/:fileId');
    const inQuery = ofFiles.parameters!.filter((parameter) => parameter.in === 'query');
    expect([...link.searchParams.keys()].toSorted()).toEqual(inQuery.map(({ name }) => name).toSorted());
    const whole = await plainRequest(link.href);
    for (const [headers, status] of [
      [{}, 200],
      [{ range: 'bytes=0-1' }, 206],
      [{ range: 'bytes=999-' }, 416],
      [{ 'if-none-match': whole.headers.etag! }, 304],
    ] as const) {
      expect((await plainRequest(link.href, headers)).status).toBe(status);
      expect(Object.keys(ofFiles.responses)).toContain(String(status));
    }
    expect((await plainRequest(`${app.url}${link.pathname}`)).status).toBe(404);
    expect((await plainRequest(`${app.url}/api/v1/ws`)).status).toBe(426);
    expect(Object.keys(described('GET', '/api/v1/ws').responses)).toContain('426');
    // No member's session reads it: it is the server's owner's.
    expect(described('GET', '/metrics').summary).toContain('DESKBELL_METRICS_TOKEN');
    expect(Object.keys(described('GET', '/metrics').responses)).not.toContain('403');
  });

  it('is what the document says of order in the queue', async () => {
    const member = await createMember(app, 'acme');
    const customer = createVisitor(app, acme.application);
    const opened = await check(customer, 'POST', '/api/v1/conversations', {});
    const { id } = opened.body.conversation;
    const at = `/api/v1/staff/conversations/${id}`;
    await check(customer, 'POST', `/api/v1/conversations/${id}/messages`, { content: 'hello' });
    await check(member, 'PUT', `${at}/tags/vip`);
    await check(member, 'PATCH', at, { priority: 'high', subject: 'Lamp' });
    const until = new Date(app.clock.now() + 60_000).toISOString();
    await check(member, 'POST', `${at}/snooze`, { until });
    await check(member, 'DELETE', `${at}/snooze`);
    await check(member, 'POST', `${at}/unread`, {});
    await check(
      member,
      'GET',
      '/api/v1/staff/conversations?tag=vip&tag=vip&unread=true&snoozed=all&priority=high&sort=priority&waitingLonger=0',
    );
    const bulk = await check(member, 'POST', '/api/v1/staff/conversations/bulk', {
      ids: [id, '00000000-0000-4000-8000-000000000000'],
      act: 'accept',
    });
    expect(bulk.body.results.map(({ ok }: { ok: boolean }) => ok)).toEqual([true, false]);
    await check(member, 'POST', `${at}/resolve`);
    await check(member, 'POST', `${at}/reopen`);
    await check(member, 'DELETE', `${at}/tags/vip`);
    const { tag } = (await check(member, 'POST', '/api/v1/staff/tags', { name: 'later' })).body;
    await check(member, 'PATCH', `/api/v1/staff/tags/${tag.id}`, { name: 'sooner' });
    await check(member, 'GET', '/api/v1/staff/tags');
    await check(member, 'DELETE', `/api/v1/staff/tags/${tag.id}`);
    const query = { tag: ['vip'], unread: true, snoozed: 'all' };
    const { view } = (await check(member, 'POST', '/api/v1/staff/views', { name: 'Mine', query })).body;
    await check(member, 'PATCH', `/api/v1/staff/views/${view.id}`, { shared: true });
    await check(member, 'GET', '/api/v1/staff/views');
    await check(member, 'GET', '/api/v1/staff/views/counts');
    await check(member, 'DELETE', `/api/v1/staff/views/${view.id}`);
  });

  it('is what the document says when it refuses', async () => {
    const anonymous = { headers: {} };
    for (const { method, path } of routes) {
      const target = path.replace(/:\w+/g, '00000000-0000-4000-8000-000000000000');
      const refused = await check(
        anonymous,
        method,
        target,
        method === 'GET' || method === 'DELETE' ? undefined : {},
      );
      expect(refused.status, `${method} ${path}`).toBeGreaterThanOrEqual(400);
      const answer = described(method, path).responses[String(refused.status)];
      const told = ['WWW-Authenticate', 'Retry-After'].filter((name) => refused.headers.has(name));
      expect(Object.keys(answer?.headers ?? {}), `${method} ${path}`).toEqual(expect.arrayContaining(told));
    }
    for (const { method, path } of routes.filter(({ method: one }) => one !== 'GET' && one !== 'DELETE')) {
      const who = path.includes('/staff/') || path.includes('/admin/') ? admin : visitor;
      const target = path.replace(/:\w+/g, '00000000-0000-4000-8000-000000000000');
      const response = await fetch(app.url + target, {
        method,
        headers: { ...who.headers, 'content-type': 'text/plain' },
        body: 'x',
      });
      expect(
        Object.keys(described(method, path).responses),
        `${method} ${path} → ${response.status}`,
      ).toContain(String(response.status));
      await response.text();
    }
  });

  it('was looked at for most of what there is', () => {
    expect(seen.size).toBeGreaterThan(routes.length * 0.7);
  });
});
