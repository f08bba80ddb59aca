// Owns: where a member is signed in, and tokens for scripts: what each scope opens and what not, on both transports,
// and how both end.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { operationRow, type OperationName } from '../../src/protocol/operations.ts';
import { tokenScope } from '../../src/protocol/sign-in.ts';
import { requiredScopes } from '../../src/protocol/token-scopes.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import { connectSocket, request, type Reply, type TestSocket } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  signIn,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { expectCleanLog } from '../helpers/rest-checks.ts';

let app: TestApp;
let acme: TestOrganization;
let ann: TestMember;

beforeEach(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  ann = await createMember(app, 'acme', 'admin', 'Ann');
});
afterEach(() => app.stop());

const day = 86_400_000;
const inDays = (days: number): string => new Date(app.clock.now() + days * day).toISOString();
const by = (token: string, method: string, path: string, body?: object): Promise<Reply> =>
  request(app.url, method, `/api/v1${path}`, { authorization: `Bearer ${token}` }, body);

async function token(
  scopes: readonly string[],
  days = 30,
  who = ann,
): Promise<{ id: string; token: string }> {
  const made = await who.call('POST', '/tokens', { name: 'nightly', scopes, expiresAt: inDays(days) });
  expect(made.status, made.text).toBe(201);
  return made.body.token as { id: string; token: string };
}

describe('sessions', () => {
  it('are listed newest first, with the one that asks', async () => {
    app.clock.step(1_000);
    const second = await signIn(app, 'acme', ann.email, ann.id);
    const { body } = await second.call('GET', '/sessions');
    expect(body.sessions).toHaveLength(2);
    expect(body.sessions[0]).toEqual({
      id: expect.any(String),
      createdAt: new Date(app.clock.now()).toISOString(),
      lastSeenAt: new Date(app.clock.now()).toISOString(),
      expiresAt: inDays(30),
      address: '127.0.0.1',
      secondFactor: false,
      current: true,
    });
    expect(body.sessions[1].current).toBe(false);
    app.clock.step(31 * day);
    const later = await signIn(app, 'acme', ann.email, ann.id);
    expect((await later.call('GET', '/sessions')).body.total).toBe(1);
  });

  it('end one by one, with the sockets that they opened, and only by their member', async () => {
    const second = await signIn(app, 'acme', ann.email, ann.id);
    const socket = await second.connect();
    const bob = await createMember(app, 'acme', 'admin', 'Bob');
    const other = (await ann.call('GET', '/sessions')).body.sessions.find(
      ({ current }: { current: boolean }) => !current,
    ) as { id: string };
    expect((await bob.call('DELETE', `/sessions/${other.id}`)).status).toBe(404);
    expect((await ann.call('DELETE', `/sessions/${other.id}`)).status).toBe(200);
    expect((await second.call('GET', '/session')).status).toBe(401);
    expect((await socket.waitForClose()).code).toBe(4403);
    expect((await ann.call('GET', '/session')).status).toBe(200);
  });

  it('are at most a hundred a member: a further one ends those that were used longest ago, and no token', async () => {
    const made = await token(['conversations:read']);
    const socket = await ann.connect();
    const tokens: string[] = [];
    const open = async (): Promise<void> => {
      app.clock.step(1_000);
      tokens.push((await app.local('session.createLocal', { memberId: ann.id })).token);
    };
    const works = async (session: string): Promise<boolean> =>
      (await by(session, 'GET', '/staff/session')).status === 200;
    for (let count = 0; count < 99; count += 1) await open();
    const live = () => rowsOf(app, 'select id from staff_sessions where scopes is null');
    expect(await live()).toHaveLength(100);
    await open();
    // 80 are left: Ann's first and the next twenty are over.
    expect(await Promise.all([ann.token, ...tokens].map(works))).toEqual(
      Array.from({ length: 101 }, (_, at) => at >= 21),
    );
    expect((await socket.waitForClose()).code).toBe(4403);
    expect(await works(made.token)).toBe(true);
    expect((await by(tokens.at(-1) ?? '', 'GET', '/staff/sessions?limit=1')).body.total).toBe(80);
  });

  it("of a member all end at an admin's word, tokens too", async () => {
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    const made = await token(['conversations:read'], 30, bob);
    expect((await by(ann.token, 'DELETE', `/admin/members/${bob.id}/sessions`)).status).toBe(200);
    expect((await bob.call('GET', '/session')).status).toBe(401);
    expect((await by(made.token, 'GET', '/staff/session')).status).toBe(401);
  });
});

describe('tokens', () => {
  it('are shown once, listed without their text, and revoked at once', async () => {
    const made = await token(['conversations:read', 'conversations:read', 'people:read']);
    expect(made).toEqual({
      id: expect.any(String),
      name: 'nightly',
      scopes: ['conversations:read', 'people:read'],
      createdAt: expect.any(String),
      lastUsedAt: null,
      expiresAt: inDays(30),
      token: expect.stringMatching(/^dbt_[0-9A-Za-z]{43}$/),
    });
    app.clock.step(1_000);
    expect((await by(made.token, 'GET', '/staff/session')).body.member.id).toBe(ann.id);
    const list = await ann.call('GET', '/tokens');
    expect(list.text).not.toContain('dbt_');
    expect(list.body.tokens).toMatchObject([
      { id: made.id, lastUsedAt: new Date(app.clock.now()).toISOString() },
    ]);
    expect((await ann.call('GET', '/sessions')).body.total).toBe(1);
    const bob = await createMember(app, 'acme', 'admin', 'Bob');
    expect((await bob.call('DELETE', `/tokens/${made.id}`)).status).toBe(404);
    // A session is not ended as a token, nor a token as a session.
    expect((await ann.call('DELETE', `/sessions/${made.id}`)).status).toBe(404);
    expect((await ann.call('DELETE', `/tokens/${made.id}`)).status).toBe(200);
    expect((await by(made.token, 'GET', '/staff/session')).status).toBe(401);
    const dump = JSON.stringify(await rowsOf(app, 'select * from audit'));
    expect(dump).toContain('tokens.create');
    expect(dump).not.toContain(made.token);
    expectCleanLog(app, [made.token]);
  });

  it('end when they were said to, however much they are used', async () => {
    const made = await token(['conversations:read'], 2);
    app.clock.step(day);
    expect((await by(made.token, 'GET', '/staff/session')).status).toBe(200);
    app.clock.step(day - 1);
    expect((await by(made.token, 'GET', '/staff/session')).status).toBe(200);
    app.clock.step(1);
    expect((await by(made.token, 'GET', '/staff/session')).status).toBe(401);
    for (const expiresAt of [inDays(0), inDays(367), 'tomorrow'])
      expect(
        (await ann.call('POST', '/tokens', { name: 'x', scopes: ['people:read'], expiresAt })).status,
      ).toBe(400);
  });

  it('may do what a scope names, and nothing else, for every route of members', async () => {
    const tokens = new Map<string, string>();
    for (const scope of tokenScope.options) tokens.set(scope, (await token([scope])).token);
    for (const [name, needed] of Object.entries(requiredScopes)) {
      const { rest } = operationRow(name as OperationName);
      if (rest === null) continue;
      const path = rest[1].replaceAll(/:[a-zA-Z]+/g, '00000000-0000-4000-8000-000000000000');
      for (const [scope, text] of tokens) {
        if (name === 'session.delete') continue;
        const body = rest[0] === 'GET' || rest[0] === 'DELETE' ? undefined : {};
        const reply = await by(text, rest[0], path, body);
        const cell = `${name} with ${scope}: ${reply.text}`;
        if (needed === 'any' || needed === scope)
          expect(reply.body.message ?? '', cell).not.toMatch(/token/i);
        else expect([reply.status, reply.body.message], cell).toEqual([403, expect.stringMatching(/token/)]);
      }
    }
  });

  it('never reach beyond their member', async () => {
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    const made = await token(tokenScope.options, 30, bob);
    expect((await by(made.token, 'GET', '/admin/applications')).status).toBe(403);
    await app.local('members.update', { memberId: bob.id, role: 'admin' });
    expect((await by(made.token, 'GET', '/admin/applications')).status).toBe(200);
    await app.local('members.update', { memberId: bob.id, role: 'operator' });
    expect((await by(made.token, 'GET', '/admin/applications')).status).toBe(403);
  });

  it('are named in the audit log beside their member', async () => {
    const made = await token(['settings:write']);
    const path = `/admin/applications/${acme.application.id}/domains`;
    expect((await by(made.token, 'POST', path, { domain: 'more.example' })).status).toBe(201);
    const { entries } = (await by(ann.token, 'GET', '/admin/audit')).body;
    expect(entries[0]).toMatchObject({ action: 'domains.add', actor: `member:${ann.id}/token:${made.id}` });
    expect(entries[1]).toMatchObject({ action: 'tokens.create', actor: `member:${ann.id}` });
  });

  it('open a socket with conversations:read only, which sends and types only with conversations:reply', async () => {
    const visitor = createVisitor(app, acme.application);
    const conversationId = await createConversation(visitor);
    await ann.call('POST', `/conversations/${conversationId}/accept`);
    const send = await token(['conversations:reply']);
    expect((await by(send.token, 'POST', '/staff/ws-token')).status).toBe(403);
    const read = await token(['conversations:read']);
    const opened = await by(read.token, 'POST', '/staff/ws-token');
    const socket = await connectSocket(app.url, opened.body.token as string);
    socket.send('room:join', { conversationId });
    await socket.receives('room:joined');
    socket.send('message:send', { conversationId, content: 'hello', clientMessageId: '1' });
    expect(await socket.receives('error')).toMatchObject({ code: 'FORBIDDEN', clientMessageId: '1' });
    const page = await visitor.connect();
    page.send('room:join', { conversationId });
    await page.receives('room:joined');
    socket.send('typing:start', { conversationId });
    await eventually(() => expect(socket.all('error')).toHaveLength(2));
    expect(socket.all('error')[1]?.payload).toMatchObject({ code: 'FORBIDDEN', conversationId });
    expect(socket.all('error')[1]?.payload.message).toContain('conversations:reply');
    const both = await token(['conversations:read', 'conversations:reply']);
    const answering = await by(both.token, 'POST', '/staff/ws-token');
    const other = await connectSocket(app.url, answering.body.token as string);
    other.send('room:join', { conversationId });
    await other.receives('room:joined');
    other.send('typing:start', { conversationId });
    await page.receives('typing:start');
    expect(page.all('typing:start')).toHaveLength(1);
    expect(
      (await by(send.token, 'POST', `/staff/conversations/${conversationId}/messages`, { content: 'hello' }))
        .status,
    ).toBe(201);
    await ann.call('DELETE', `/tokens/${read.id}`);
    expect((await socket.waitForClose()).code).toBe(4403);
  });

  it.each([
    ['a new password', { password: 'another long password' }],
    ['disabling', { disabled: true }],
  ])('end with %s of their member', async (_what, change) => {
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    const made = await token(['conversations:read'], 30, bob);
    await app.local('members.update', { memberId: bob.id, ...change });
    await app.local('members.update', { memberId: bob.id, disabled: false });
    expect((await by(made.token, 'GET', '/staff/session')).status).toBe(401);
  });

  it('made without a second factor do nothing while the organization demands one', async () => {
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    const made = await token(['conversations:read'], 30, bob);
    await app.local('organizations.update', { organization: 'acme', signIn: { secondFactor: 'all' } });
    expect((await by(made.token, 'GET', '/staff/conversations')).status).toBe(401);
    await app.local('organizations.update', { organization: 'acme', signIn: { secondFactor: 'off' } });
    expect((await by(made.token, 'GET', '/staff/conversations')).status).toBe(200);
  });

  it('are at most fifty a member', async () => {
    for (let index = 0; index < 50; index += 1) await token(['people:read']);
    const more = await ann.call('POST', '/tokens', {
      name: 'x',
      scopes: ['people:read'],
      expiresAt: inDays(1),
    });
    expect(more.status).toBe(409);
  });
});

describe('a live connection', () => {
  async function connect(credential: string): Promise<TestSocket> {
    const { body } = await by(credential, 'POST', '/staff/ws-token');
    return connectSocket(app.url, body.token as string, {});
  }

  it('closes when its token expires, and no other with it', async () => {
    const short = await connect((await token(['conversations:read'], 1)).token);
    const long = await connect((await token(['conversations:read'], 2)).token);
    app.clock.step(day - 1_000);
    app.clock.advance(10_000);
    expect((await short.waitForClose()).code).toBe(4403);
    await long.drain();
    expect(long.closed).toBeNull();
    await long.close();
  });

  it.each(['a frame', 'an event'])(
    'obeys and hears nothing more once its token is over: %s',
    async (first) => {
      const visitor = createVisitor(app, acme.application);
      const conversationId = await createConversation(visitor);
      const missed = await createConversation(visitor);
      await ann.call('POST', `/conversations/${conversationId}/accept`);
      const listener = await visitor.connect();
      const scopes = ['conversations:read', 'conversations:reply', 'conversations:act'];
      const socket = await connect((await token(scopes, 1)).token);
      for (const one of [listener, socket]) {
        one.send('room:join', { conversationId });
        await one.receives('room:joined');
      }
      listener.frames.length = 0;
      socket.frames.length = 0;
      // No timer has run since: what is told at its time alone is told late.
      app.clock.step(day);
      if (first === 'a frame') {
        socket.send('typing:start', { conversationId });
        socket.send('message:send', {
          conversationId,
          content: 'stored after all?',
          clientMessageId: 'late',
        });
        socket.send('room:join', { conversationId: missed });
      } else await createMessage(visitor, conversationId, 'not for you');
      expect((await socket.waitForClose()).code).toBe(4403);
      expect(socket.frames).toEqual([]);
      await listener.drain();
      expect(listener.takeTypes().filter((type) => type !== 'presence')).toEqual([]);
      await listener.close();
    },
  );

  it('closes when its session ends by its age, but not while use puts that off', async () => {
    const other = await signIn(app, 'acme', ann.email, ann.id);
    const unused = await ann.connect();
    const used = await other.connect();
    app.clock.step(20 * day);
    expect((await other.call('GET', '/session')).status).toBe(200);
    app.clock.step(10 * day);
    app.clock.advance(10_000);
    expect((await unused.waitForClose()).code).toBe(4403);
    await used.drain();
    expect(used.closed).toBeNull();
    await used.close();
  });
});
