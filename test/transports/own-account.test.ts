// Attacks what members set for themselves, their unsent answers, Markdown as their format, and where a widget was seen.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { purge } from '../../src/services/data/retention.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  memberPassword,
  signIn,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

const day = 86_400_000;
let app: TestApp;
let acme: TestOrganization;
let ann: TestMember;
let visitor: TestClient;

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
});
afterAll(() => app.stop());
beforeEach(async () => {
  ann = await createMember(app, 'acme', 'operator', 'Ann');
  visitor = createVisitor(app, acme.application);
});

describe('the own account', () => {
  it('is read and changed, field by field', async () => {
    const { body } = await ann.call('GET', '/me');
    expect(body.member).toMatchObject({
      id: ann.id,
      name: 'Ann',
      locale: null,
      timezone: null,
      signature: '',
    });
    const change = { name: 'Ann B.', locale: 'pt-BR', timezone: 'Europe/Lisbon', signature: '*Ann*' };
    expect((await ann.call('PATCH', '/me', change)).body.member).toMatchObject(change);
    expect((await ann.call('PATCH', '/me', { locale: null })).body.member).toMatchObject({
      ...change,
      locale: null,
    });
    // Others see the new name at once.
    const { members } = (await ann.call('GET', '/members')).body as {
      members: { id: string; name: string }[];
    };
    expect(members.find(({ id }) => id === ann.id)?.name).toBe('Ann B.');
    for (const [wrong, path] of [
      [{ name: ' ' }, 'name'],
      [{ timezone: 'Moon/Base' }, 'timezone'],
      [{ locale: 'english' }, 'locale'],
      [{ signature: 'x'.repeat(1_001) }, 'signature'],
      [{ password: 'a new pass phrase' }, 'currentPassword'],
    ] as const) {
      const reply = await ann.call('PATCH', '/me', wrong);
      expect([reply.status, reply.body.details[0].path]).toEqual([400, path]);
    }
  });

  it('takes a new password with the present one, and ends every other session and token', async () => {
    const other = await signIn(app, 'acme', ann.email, ann.id);
    const { body } = await ann.call('POST', '/tokens', {
      name: 'script',
      scopes: ['conversations:read'],
      expiresAt: new Date(app.clock.now() + day).toISOString(),
    });
    const token = { authorization: `Bearer ${body.token.token}` };
    const password = 'a new pass phrase';
    const wrong = await ann.call('PATCH', '/me', { password, currentPassword: 'guess', name: 'Eve' });
    expect([wrong.status, wrong.body.details[0].path]).toEqual([400, 'currentPassword']);
    expect((await ann.call('GET', '/me')).body.member.name).toBe('Ann');
    expect((await ann.call('PATCH', '/me', { password, currentPassword: memberPassword })).status).toBe(200);
    expect((await ann.call('GET', '/me')).status).toBe(200);
    expect((await other.call('GET', '/me')).status).toBe(401);
    expect((await request(app.url, 'GET', '/api/v1/staff/session', token)).status).toBe(401);
    const again = (secret: string) =>
      request(
        app.url,
        'POST',
        '/api/v1/staff/session',
        {},
        { organization: 'acme', email: ann.email, password: secret },
      );
    expect([(await again(memberPassword)).status, (await again(password)).status]).toEqual([401, 201]);
    expect(JSON.stringify(await rowsOf(app, 'select detail from audit'))).not.toContain(password);
  });

  it('counts tries of the present password', async () => {
    const statuses: number[] = [];
    for (let index = 0; index < 11; index += 1)
      statuses.push(
        (await ann.call('PATCH', '/me', { password: 'long enough words', currentPassword: 'x' })).status,
      );
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 400), 429]);
  });

  it('is in no reach of a token', async () => {
    const { body } = await ann.call('POST', '/tokens', {
      name: 'script',
      scopes: ['settings:write'],
      expiresAt: new Date(app.clock.now() + day).toISOString(),
    });
    const token = { authorization: `Bearer ${body.token.token}` };
    expect((await request(app.url, 'PATCH', '/api/v1/staff/me', token, { name: 'Eve' })).status).toBe(403);
  });
});

describe('a draft', () => {
  const path = (id: string): string => `/conversations/${id}/draft`;

  it('is one for each member and conversation, as it was written, seen by no one else', async () => {
    const id = await createConversation(visitor);
    const bob = await createMember(app, 'acme', 'admin', 'Bob');
    expect((await ann.call('GET', path(id))).body).toEqual({ draft: null });
    await ann.call('PUT', path(id), { content: '  first\n' });
    const { body } = await ann.call('PUT', path(id), { content: '  second **try**\n' });
    expect(body).toEqual({ draft: { content: '  second **try**\n', updatedAt: expect.any(String) } });
    expect((await ann.call('GET', path(id))).body).toEqual(body);
    expect((await bob.call('GET', path(id))).body).toEqual({ draft: null });
    await bob.call('DELETE', path(id));
    expect((await ann.call('GET', path(id))).body).toEqual(body);
    await ann.call('DELETE', path(id));
    expect((await ann.call('GET', path(id))).body).toEqual({ draft: null });
  });

  it('has at most 5,000 characters', async () => {
    const id = await createConversation(visitor);
    expect((await ann.call('PUT', path(id), { content: 'x'.repeat(5_000) })).status).toBe(200);
    expect((await ann.call('PUT', path(id), { content: 'x'.repeat(5_001) })).status).toBe(400);
    expect((await ann.call('PUT', path(id), { content: '' })).status).toBe(400);
  });

  it('is in no export, and falls with its member, its visitor and its age', async () => {
    const count = async (): Promise<number> => (await rowsOf(app, 'select 1 from drafts')).length;
    await rowsOf(app, 'delete from drafts');
    const id = await createConversation(visitor);
    const bob = await createMember(app, 'acme', 'operator', 'Bob');
    await ann.call('PUT', path(id), { content: 'SECRET-DRAFT' });
    await bob.call('PUT', path(id), { content: 'SECRET-DRAFT' });
    const exported = await app.local('visitors.export', { visitorId: visitor.id });
    expect(JSON.stringify(exported)).not.toContain('SECRET-DRAFT');
    await app.local('members.remove', { memberId: bob.id });
    expect(await count()).toBe(1);
    await app.local('visitors.erase', { visitorId: visitor.id });
    expect(await count()).toBe(0);
    // The conversation goes on; what was never sent is as old as it is.
    await app.local('organizations.update', { organization: 'acme', limits: { retentionDays: 30 } });
    app.clock.step(8 * day);
    const other = createVisitor(app, acme.application);
    const kept = await createConversation(other);
    await ann.call('PUT', path(kept), { content: 'old' });
    app.clock.step(29 * day);
    await other.call('POST', `/conversations/${kept}/messages`, { content: 'still here' });
    await purge(app.service, { force: true });
    expect(await count()).toBe(1);
    app.clock.step(2 * day);
    await purge(app.service, { force: true });
    expect(await count()).toBe(0);
    expect((await other.call('GET', `/conversations/${kept}`)).status).toBe(200);
  });
});

describe('Markdown', () => {
  it('of a member is stored and answered as lexical; of a visitor it is refused', async () => {
    const id = await createConversation(visitor);
    await ann.call('POST', `/conversations/${id}/accept`);
    const markdown = {
      content: 'Hello **you**, see [this](https://acme.example)',
      contentFormat: 'markdown',
    };
    const sent = await ann.call('POST', `/conversations/${id}/messages`, markdown);
    expect(sent.status).toBe(201);
    expect(sent.body.message).toMatchObject({ contentFormat: 'lexical' });
    const edit = { content: '*Bye*', contentFormat: 'markdown' };
    const messageId = sent.body.message.id as string;
    const edited = await ann.call('PATCH', `/conversations/${id}/messages/${messageId}`, edit);
    expect(edited.body.message.contentHtml).toBe('<p><em>Bye</em></p>');
    for (const [method, at] of [
      ['POST', `/conversations/${id}/messages`],
      ['PATCH', `/conversations/${id}/messages/${messageId}`],
    ] as const)
      expect((await visitor.call(method, at, markdown)).status).toBe(400);
  });

  it('is a format of canned replies', async () => {
    const made = await ann.call('POST', '/canned-replies', {
      shortcut: 'bye',
      content: '**Bye**',
      contentFormat: 'markdown',
    });
    expect(made.body.cannedReply).toMatchObject({ contentFormat: 'lexical' });
    const at = `/canned-replies/${made.body.cannedReply.id}`;
    // A new shortcut leaves the text.
    const renamed = await ann.call('PATCH', at, { shortcut: 'ciao' });
    expect(renamed.body.cannedReply.content).toBe(made.body.cannedReply.content);
    const changed = await ann.call('PATCH', at, { content: '*Ciao*', contentFormat: 'markdown' });
    expect(changed.body.cannedReply.contentHtml).toBe('<p><em>Ciao</em></p>');
  });

  it('is as long as a plain text may be', async () => {
    const id = await createConversation(visitor);
    const note = (content: string) =>
      ann.call('POST', `/conversations/${id}/messages`, {
        content,
        contentFormat: 'markdown',
        internal: true,
      });
    expect((await note('x'.repeat(5_000))).status).toBe(201);
    const long = await note('x'.repeat(5_001));
    expect([long.status, long.body.details[0].path]).toEqual([400, 'content']);
    expect((await note('   ')).status).toBe(400);
  });
});

describe('where the widget was seen last', () => {
  const config = (origin = acme.application.origin) =>
    request(app.url, 'GET', '/api/v1/widget/config', { 'x-app-id': acme.application.id, origin });
  const lastSeen = async (): Promise<unknown> =>
    (await app.local('domains.list', { applicationId: acme.application.id })).lastSeen;

  it('is kept to the minute, for registered origins alone', async () => {
    const { id } = await app.local('applications.create', { organization: 'acme', name: 'fresh' });
    expect((await app.local('domains.list', { applicationId: id })).lastSeen).toBeNull();
    app.clock.step(60_000);
    await config();
    const first = { origin: 'https://acme.example', at: new Date(app.clock.now()).toISOString() };
    expect(await lastSeen()).toEqual(first);
    app.clock.step(59_000);
    await config();
    expect(await lastSeen()).toEqual(first);
    app.clock.step(1_000);
    expect((await config('https://evil.example')).status).toBe(403);
    expect(await lastSeen()).toEqual(first);
    await config();
    expect(await lastSeen()).toEqual({ ...first, at: new Date(app.clock.now()).toISOString() });
  });
});
