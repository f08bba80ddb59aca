// Owns the people of the tests: organizations, applications, visitors, members, made
// through the same operations as everywhere. Helpers read like the domain.
import { randomUUID } from 'node:crypto';
import type { Mode, Plan, Role } from '../../src/protocol/entities.ts';
import { type TestSocket, connectSocket, request, type HeaderMap, type Reply } from './client.ts';
import type { TestApp } from './app.ts';

/** What is needed of a server to make people there; it may run in another process. */
export type FixtureApp = Pick<TestApp, 'url' | 'local'>;

export interface TestApplication {
  readonly id: string;
  readonly domain: string;
  readonly origin: string;
  readonly key: string;
  readonly testKey: string;
}

export interface TestOrganization {
  readonly id: string;
  readonly slug: string;
  readonly application: TestApplication;
}

const password = 'correct horse battery staple';

/** An organization with one application, its domain, a live and a test key. */
export async function createOrganization(
  app: FixtureApp,
  slug: string,
  plan: Plan = 'enterprise',
): Promise<TestOrganization> {
  const made = await app.local('organizations.create', { name: slug, slug });
  if (plan !== 'free') await app.local('organizations.update', { organization: slug, plan });
  return { id: made.id, slug, application: await createApplication(app, slug) };
}

/** One more application of an organization. */
export async function createApplication(
  app: FixtureApp,
  slug: string,
  domain = `${slug}.example`,
): Promise<TestApplication> {
  const { id } = await app.local('applications.create', {
    organization: slug,
    name: `${slug} site`,
    domains: [domain],
  });
  const live = await app.local('keys.create', { applicationId: id });
  const test = await app.local('keys.create', { applicationId: id, mode: 'test' });
  return { id, domain, origin: `https://${domain}`, key: live.key, testKey: test.key };
}

/** A person at one of the transports. */
export interface TestClient {
  readonly id: string;
  readonly headers: HeaderMap;
  call(method: string, path: string, body?: unknown, headers?: HeaderMap): Promise<Reply>;
  /** An open WebSocket that was accepted. */
  connect(query?: string): Promise<TestSocket>;
}

/** A visitor who comes by a web page. */
export function createVisitor(
  app: FixtureApp,
  application: TestApplication,
  id: string = randomUUID(),
): TestClient {
  const headers = { 'x-app-id': application.id, 'x-visitor-id': id, origin: application.origin };
  const call: TestClient['call'] = (method, path, body, more = {}) =>
    request(app.url, method, `/api/v1${path}`, { ...headers, ...more }, body);
  return {
    id,
    headers,
    call,
    connect: async (query = '') => {
      const { body } = await call('POST', '/widget/ws-token');
      return connectSocket(app.url, body.token as string, { origin: application.origin }, query);
    },
  };
}

/** A visitor whom the customer's backend speaks for. */
export function createVisitorByKey(
  app: FixtureApp,
  application: TestApplication,
  mode: Mode = 'live',
  id: string = randomUUID(),
): TestClient {
  const headers = {
    authorization: `Bearer ${mode === 'live' ? application.key : application.testKey}`,
    'x-app-id': application.id,
    'x-visitor-id': id,
  };
  const call: TestClient['call'] = (method, path, body, more = {}) =>
    request(app.url, method, `/api/v1${path}`, { ...headers, ...more }, body);
  return {
    id,
    headers,
    call,
    connect: async (query = '') => {
      const { body } = await call('POST', '/widget/ws-token', undefined, { origin: application.origin });
      return connectSocket(app.url, body.token as string, { origin: application.origin }, query);
    },
  };
}

export interface TestMember extends TestClient {
  readonly email: string;
  readonly token: string;
}

/** A member who has signed in. Paths are below /api/v1/staff. */
export async function createMember(
  app: FixtureApp,
  slug: string,
  role: Role = 'operator',
  name = 'Olivia Operator',
): Promise<TestMember> {
  const email = `${randomUUID()}@${slug}.example`;
  const { id } = await app.local('members.add', { organization: slug, email, name, role, password });
  return signIn(app, slug, email, id);
}

/** Signs a member in once more. */
export async function signIn(app: FixtureApp, slug: string, email: string, id: string): Promise<TestMember> {
  const session = await request(
    app.url,
    'POST',
    '/api/v1/staff/session',
    {},
    { organization: slug, email, password },
  );
  const token = session.body.token as string;
  const headers = { authorization: `Bearer ${token}` };
  const call: TestClient['call'] = (method, path, body, more = {}) =>
    request(app.url, method, `/api/v1/staff${path}`, { ...headers, ...more }, body);
  return {
    id,
    email,
    token,
    headers,
    call,
    connect: async (query = '') => {
      const { body } = await call('POST', '/ws-token');
      return connectSocket(app.url, body.token as string, {}, query);
    },
  };
}

export { password as memberPassword };

/** A conversation that a visitor has opened; its id. */
export async function createConversation(visitor: TestClient, subject?: string): Promise<string> {
  const reply = await visitor.call('POST', '/conversations', subject === undefined ? {} : { subject });
  if (reply.status !== 201 && reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
  return reply.body.conversation.id as string;
}

/** A message that a visitor or, under /staff, a member has sent; its id. */
export async function createMessage(
  sender: TestClient,
  conversationId: string,
  content = 'hello',
): Promise<string> {
  const reply = await sender.call('POST', `/conversations/${conversationId}/messages`, { content });
  if (reply.status !== 201 && reply.status !== 200) throw new Error(`${reply.status} ${reply.text}`);
  return reply.body.message.id as string;
}
