// A right that is withdrawn while a request's body is still on its way is not used any more.
import { connect, type Socket } from 'node:net';
import { SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Store } from '../../src/engine/engine.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { authenticateMember } from '../../src/services/auth/authenticate.ts';
import { execute } from '../../src/services/execute.ts';
import type { Service } from '../../src/services/service.ts';
import { Connection } from '../../src/ws/connection.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { createDocument, refunds } from '../helpers/assistant.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createApplication,
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestApplication,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { noCredentials } from '../helpers/no-credentials.ts';

let app: TestApp;
let acme: TestOrganization;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
});
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(() => app.stop());

/** A request whose headers and first byte have arrived, and whose caller has been authenticated. */
async function openRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: object,
): Promise<{ finish(): Promise<{ status: number; error: unknown }> }> {
  const { hostname, port, host } = new URL(app.url);
  const bytes = Buffer.from(JSON.stringify(body));
  // Asked with every request, before anything that is kept is looked at.
  const authenticated = vi.spyOn(app.service.engine.store, 'freshConfiguration');
  const socket: Socket = connect(Number(port), hostname);
  const lines = [
    `${method} /api/v1${path} HTTP/1.1`,
    `host: ${host}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${bytes.length}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  socket.write(bytes.subarray(0, 1));
  await eventually(() => {
    expect(authenticated).toHaveBeenCalled();
  });
  return {
    finish: async () => {
      let text = '';
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      socket.write(bytes.subarray(1));
      await new Promise((resolve) => socket.once('close', resolve));
      const answer = JSON.parse(text.slice(text.indexOf('\r\n\r\n'))) as { error?: unknown };
      return { status: Number(text.split(' ')[1]), error: answer.error };
    },
  };
}

const newMember = () => ({
  email: `${crypto.randomUUID()}@acme.example`,
  name: 'Mallory',
  role: 'admin',
  password: 'long enough words',
});

describe('an admin whose body is on its way', () => {
  it.each([
    ['removed', 401, (id: string) => app.local('members.remove', { memberId: id })],
    ['disabled', 401, (id: string) => app.local('members.update', { memberId: id, disabled: true })],
    ['an operator now', 403, (id: string) => app.local('members.update', { memberId: id, role: 'operator' })],
  ])('is refused when %s: %i', async (_what, status, withdraw) => {
    await createMember(app, 'acme', 'admin');
    const admin = await createMember(app, 'acme', 'admin');
    const before = (await app.local('members.list', { organization: 'acme' })).total;
    const request = await openRequest('POST', '/admin/members', admin.headers, newMember());
    const removed = (await withdraw(admin.id)) as { success?: true };
    expect((await request.finish()).status).toBe(status);
    const { total } = await app.local('members.list', { organization: 'acme' });
    expect(total).toBe(removed.success === true ? before - 1 : before);
  });

  it('may finish when only something else was changed', async () => {
    const admin = await createMember(app, 'acme', 'admin');
    const request = await openRequest('POST', '/admin/members', admin.headers, newMember());
    await app.local('organizations.update', { organization: 'acme', name: 'Acme & Sons' });
    expect((await request.finish()).status).toBe(201);
  });
});

it('an application loses nothing when the admin is removed before the body is whole', async () => {
  const application = await createApplication(app, 'acme', 'late.example');
  const conversationId = await createConversation(createVisitor(app, application));
  await createMember(app, 'acme', 'admin');
  const admin = await createMember(app, 'acme', 'admin');
  vi.restoreAllMocks();
  const request = await openRequest('DELETE', `/admin/applications/${application.id}`, admin.headers, {});
  await app.local('members.remove', { memberId: admin.id });
  expect((await request.finish()).status).toBe(401);
  const other = await createMember(app, 'acme', 'admin');
  expect((await other.call('GET', `/conversations/${conversationId}`)).status).toBe(200);
  await app.local('applications.delete', { applicationId: application.id });
});

it('a member whose token is over before the body is whole is refused', async () => {
  const operator = await createMember(app, 'acme');
  const expiresAt = new Date(app.clock.now() + 60_000).toISOString();
  const made = await operator.call('POST', '/tokens', {
    name: 'short',
    scopes: ['settings:write'],
    expiresAt,
  });
  const headers = { authorization: `Bearer ${made.body.token.token as string}` };
  vi.restoreAllMocks();
  const content = { shortcut: 'over', content: 'stored after all?' };
  const request = await openRequest('POST', '/staff/canned-replies', headers, content);
  app.clock.step(60_000);
  expect(await request.finish()).toEqual({ status: 401, error: 'unauthorized' });
});

it('a member without a second factor is refused once it is demanded', async () => {
  const operator = await createMember(app, 'acme');
  const content = { shortcut: 'late', content: 'stored after all?' };
  const request = await openRequest('POST', '/staff/canned-replies', operator.headers, content);
  await app.local('organizations.update', { organization: 'acme', signIn: { secondFactor: 'all' } });
  expect((await request.finish()).status).toBe(401);
  await app.local('organizations.update', { organization: 'acme', signIn: { secondFactor: 'off' } });
});

describe('what is answered without a write', () => {
  /** An application with a document, and a conversation that waits for an answer. */
  async function aShop() {
    const application = await createApplication(app, 'acme', 'shop.example');
    await app.local('applications.update', { applicationId: application.id, ai: { mode: 'assist' } });
    await createDocument(app, application.id, 'refunds.md', refunds);
    const visitor = createVisitorByKey(app, application);
    const conversationId = await createConversation(visitor);
    await createMessage(visitor, conversationId, 'Can I return a product?');
    vi.restoreAllMocks();
    return { application, visitor, conversationId };
  }
  type Shop = Awaited<ReturnType<typeof aShop>>;

  it.each<readonly [string, (shop: Shop) => readonly [string, object]]>([
    [
      'passages',
      ({ application: { id } }) => ['/admin/knowledge/search', { applicationId: id, query: 'return' }],
    ],
    [
      'an answer on trial',
      ({ application: { id } }) => ['/admin/knowledge/ask', { applicationId: id, question: 'return?' }],
    ],
    ['a draft', ({ conversationId }) => [`/staff/conversations/${conversationId}/ai/reply`, {}]],
    ['other words', () => ['/staff/ai/rewrite', { text: 'no refund', style: 'friendly' }]],
    ['the look of an application', ({ application: { id } }) => [`/admin/applications/${id}/preview`, {}]],
    ['a test of notifications', () => ['/staff/notifications/test', {}]],
    ['a token for the WebSocket', () => ['/staff/ws-token', {}]],
  ])('%s: not for a member who was removed before the body was whole', async (_what, asked) => {
    const shop = await aShop();
    const admin = await createMember(app, 'acme', 'admin');
    vi.restoreAllMocks();
    const request = await openRequest('POST', asked(shop)[0], admin.headers, asked(shop)[1]);
    await createMember(app, 'acme', 'admin');
    await app.local('members.remove', { memberId: admin.id });
    expect(await request.finish()).toEqual({ status: 401, error: 'unauthorized' });
    await app.local('applications.delete', { applicationId: shop.application.id });
  });

  it('not for a visitor whose key was revoked, and nothing is kept of the question', async () => {
    const { application } = await aShop();
    const { id, key } = await app.local('keys.create', { applicationId: application.id });
    const stranger = createVisitorByKey(app, { ...application, key });
    const request = await openRequest('POST', '/ai/answer', stranger.headers, { question: 'refunds?' });
    await app.local('keys.revoke', { keyId: id });
    expect(await request.finish()).toEqual({ status: 401, error: 'unauthorized' });
    expect(await rowsOf(app, 'select id from visitors where visitor_id = ?', stranger.id)).toEqual([]);
    expect((await app.local('ai.log', { organization: 'acme' })).total).toBe(0);
    await app.local('applications.delete', { applicationId: application.id });
  });
});

describe('what takes long to read', () => {
  /** The service, but for reads that a test holds: those of others go on. */
  function holding(hold: () => Promise<void>): Service {
    const { service } = app;
    const read: Store['read'] = async (work) => {
      const found = await service.engine.store.read(work);
      await hold();
      return found;
    };
    const held = <T extends object>(whole: T, name: string, part: unknown): T =>
      new Proxy(whole, {
        get: (_target, key) => {
          const value: unknown = key === name ? part : Reflect.get(whole, key, whole);
          return typeof value === 'function' && key !== name ? value.bind(whole) : value;
        },
      });
    const store = held(service.engine.store, 'read', read);
    return { ...service, engine: held(service.engine, 'store', store) };
  }

  it.each([
    ['a search', 'staff.conversations.list', { q: 'secret' }],
    ['the history', 'staff.messages.list', {}],
    ['figures', 'staff.stats', {}],
  ] as const)('%s is not handed to a member who was removed in between', async (_what, name, input) => {
    const conversationId = await createConversation(createVisitor(app, acme.application), 'secret');
    const { id, token } = await createMember(app, 'acme');
    const actor = await authenticateMember(app.service, {
      ...noCredentials,
      authorization: [`Bearer ${token}`],
    });
    const begun = Promise.withResolvers<undefined>();
    const goOn = Promise.withResolvers<undefined>();
    const service = holding(async () => {
      begun.resolve(undefined);
      await goOn.promise;
    });
    const call = { service, actor, address: '127.0.0.1', contentLimit: sizeLimits.contentRest };
    const answer = execute(call, name, { conversationId, ...input });
    await begun.promise;
    await app.local('members.remove', { memberId: id });
    app.clock.advance(1_000);
    goOn.resolve(undefined);
    await expect(answer).rejects.toMatchObject({ code: 'unauthorized' });
  });
});

describe('a visitor whose body is on its way', () => {
  async function sending(visitor: TestClient) {
    const conversationId = await createConversation(visitor);
    vi.restoreAllMocks();
    return openRequest('POST', `/conversations/${conversationId}/messages`, visitor.headers, {
      content: 'stored after all?',
    });
  }

  it.each([
    ['the visitor', {}],
    ['the address', { address: true }],
  ])('is refused when %s was blocked', async (what, body) => {
    const blocks = vi.spyOn(app.service.configCache, 'blocks');
    const visitor = createVisitor(app, acme.application);
    const request = await sending(visitor);
    await eventually(() => expect(blocks).toHaveBeenCalled());
    const operator = await createMember(app, 'acme');
    const other = createVisitor(app, acme.application);
    await createConversation(other);
    const blocked = what === 'the visitor' ? visitor : other;
    await operator.call('PUT', `/visitors/${blocked.id}/block`, body);
    expect(await request.finish()).toEqual({ status: 403, error: 'visitor_blocked' });
    await operator.call('DELETE', `/visitors/${blocked.id}/block`);
  });

  it('is refused when the key was revoked', async () => {
    const { id, key } = await app.local('keys.create', { applicationId: acme.application.id });
    const visitor = createVisitorByKey(app, { ...acme.application, key });
    const request = await sending(visitor);
    await app.local('keys.revoke', { keyId: id });
    expect(await request.finish()).toEqual({ status: 401, error: 'unauthorized' });
  });

  it('is refused when the key was rotated and its grace is over', async () => {
    const { id, key } = await app.local('keys.create', { applicationId: acme.application.id });
    await app.local('keys.rotate', { keyId: id, graceSeconds: 60 });
    const request = await sending(createVisitorByKey(app, { ...acme.application, key }));
    app.clock.step(60_000);
    expect(await request.finish()).toEqual({ status: 401, error: 'unauthorized' });
  });

  it('is refused when the domain was removed or the application deleted', async () => {
    const application = await createApplication(app, 'acme', 'late.example');
    const byOrigin = await sending(createVisitor(app, application));
    await app.local('domains.remove', { applicationId: application.id, domain: 'late.example' });
    expect(await byOrigin.finish()).toEqual({ status: 403, error: 'origin_not_allowed' });
    const byKey = await sending(createVisitorByKey(app, application));
    await app.local('applications.delete', { applicationId: application.id });
    expect(await byKey.finish()).toEqual({ status: 401, error: 'unauthorized' });
  });
});

describe('a visitor whose application begins to demand a proven identity', () => {
  it('is refused when the body is still on its way, and may prove it by such a body', async () => {
    const application = await createApplication(app, 'acme', 'proof.example');
    const visitor = createVisitor(app, application);
    const conversationId = await createConversation(visitor);
    const operator = await createMember(app, 'acme');
    const late = async (method: string, path: string, body: object) => {
      vi.restoreAllMocks();
      return openRequest(method, path, visitor.headers, body);
    };
    const message = await late('POST', `/conversations/${conversationId}/messages`, { content: 'stored?' });
    const claim = await late('PUT', '/visitor', { name: 'Mallory' });
    const identityToken = await new SignJWT({ sub: visitor.id, name: 'Ann' })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime(Math.floor(app.clock.now() / 1_000) + 300)
      .sign(
        new TextEncoder().encode(
          (await app.local('applications.identitySecret', { applicationId: application.id })).identitySecret,
        ),
      );
    const proof = await late('PUT', '/visitor', { identityToken });
    await app.local('applications.update', {
      applicationId: application.id,
      behavior: { identity: 'required' },
    });
    expect(await message.finish()).toEqual({ status: 403, error: 'identity_required' });
    expect(await claim.finish()).toEqual({ status: 403, error: 'identity_required' });
    expect(await proof.finish()).toMatchObject({ status: 200 });
    const { body } = await operator.call('GET', `/conversations/${conversationId}/messages`);
    expect(body.messages).toEqual([]);
    expect((await visitor.call('GET', '/visitor')).body.visitor).toMatchObject({
      name: 'Ann',
      verified: true,
    });
    await app.local('applications.delete', { applicationId: application.id });
  });

  it('is asked nothing more at each call while it demands none', async () => {
    const visitor = createVisitor(app, acme.application);
    const conversationId = await createConversation(visitor);
    const socket = await visitor.connect();
    // Its rights are asked once more as it opens.
    await socket.drain();
    const application = vi.spyOn(app.service.configCache, 'application');
    socket.send('message:send', { conversationId, content: 'hello' });
    await socket.drain();
    expect(application).not.toHaveBeenCalled();
    await socket.close();
  });
});

describe('a member who is disabled while accepting', () => {
  it('is left without a conversation', async () => {
    const visitor = createVisitor(app, acme.application);
    const member = await createMember(app, 'acme');
    const conversationId = await createConversation(visitor);
    vi.restoreAllMocks();
    const path = `/staff/conversations/${conversationId}/accept`;
    const request = await openRequest('POST', path, member.headers, {});
    await app.local('members.update', { memberId: member.id, disabled: true });
    expect((await request.finish()).status).toBe(401);
    const { body } = await visitor.call('GET', `/conversations/${conversationId}`);
    expect(body.conversation).toMatchObject({ status: 'pending' });
  });
});

describe('a visitor whose frame is handled before the connection has been checked again', () => {
  it.each([
    [
      'blocked',
      (visitor: TestClient, member: TestClient) => member.call('PUT', `/visitors/${visitor.id}/block`, {}),
    ],
    [
      'on a page whose domain was removed',
      (_visitor: TestClient, _member: TestClient, { id, domain }: TestApplication) =>
        app.local('domains.remove', { applicationId: id, domain }),
    ],
    [
      'not proven, and the application demands it now',
      (_visitor: TestClient, _member: TestClient, { id }: TestApplication) =>
        app.local('applications.update', { applicationId: id, behavior: { identity: 'required' } }),
    ],
  ])('is refused when %s, and told why', async (_what, withdraw) => {
    const application = await createApplication(app, 'acme', 'frames.example');
    const visitor = createVisitor(app, application);
    const member = await createMember(app, 'acme');
    const conversationId = await createConversation(visitor);
    // Before it opens: a check that is under way would see what is withdrawn, and end the connection.
    vi.spyOn(Connection.prototype, 'revalidate').mockResolvedValue();
    const socket = await visitor.connect();
    await withdraw(visitor, member, application);
    socket.send('message:send', { conversationId, content: 'stored after all?', clientMessageId: 'late' });
    await socket.drain();
    expect(socket.frames.filter(({ type }) => type === 'error')).toEqual([
      {
        type: 'error',
        payload: { code: 'FORBIDDEN', message: expect.any(String), conversationId, clientMessageId: 'late' },
      },
    ]);
    expect(app.logged.join('')).not.toContain('could not be handled');
    await socket.close();
    await app.local('applications.delete', { applicationId: application.id });
  });
});
