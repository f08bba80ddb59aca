// Attacks authorisation cell by cell: every route × every kind of caller, generated from
// the router's own table, so that a route without a row here fails.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { routes } from '../../src/http/operation-routes.ts';
import { operations, type OperationName } from '../../src/protocol/operations.ts';
import { makeApiKey } from '../../src/services/auth/secrets.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { Reply } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import { ask, expectCleanLog, rememberStored, type Caller } from '../helpers/rest-checks.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createApplication,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  memberPassword,
  type TestApplication,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let second: TestApplication;
let other: TestOrganization;
/** Keys that once worked. */
const dead = { revoked: '', expired: '', ofDeletedApplication: '' };
/** Members whose session is over, in every way in which it can be. */
const gone: Record<'disabled' | 'removed' | 'newPassword' | 'signedOut' | 'outlived', string> = {
  disabled: '',
  removed: '',
  newPassword: '',
  signedOut: '',
  outlived: '',
};
let socketToken = '';
let staffSocketToken = '';
const visitorId = randomUUID();

interface Crew {
  readonly assignee: TestMember;
  readonly colleague: TestMember;
  readonly admin: TestMember;
  readonly foreignOperator: TestMember;
  readonly foreignAdmin: TestMember;
}

/** The members of all cells. Making them is what costs time, and only the end of a session changes any. */
let crew: Crew;

async function aCrew(): Promise<Crew> {
  return {
    assignee: await createMember(app, 'acme'),
    colleague: await createMember(app, 'acme'),
    admin: await createMember(app, 'acme', 'admin'),
    foreignOperator: await createMember(app, 'acme-1'),
    foreignAdmin: await createMember(app, 'acme-1', 'admin'),
  };
}

/** What a cell works on: a conversation of acme with the visitor's and the assignee's message. */
interface Scene extends Crew {
  readonly conversationId: string;
  readonly visitorMessage: string;
  readonly staffMessage: string;
}

async function aScene({ pending, closed }: Pick<Row, 'pending' | 'closed'>): Promise<Scene> {
  const visitor = createVisitor(app, acme.application, visitorId);
  const conversationId = await createConversation(visitor, 'CANARY-SUBJECT');
  const visitorMessage = await createMessage(visitor, conversationId, 'CANARY-QUESTION');
  const { assignee } = crew;
  await assignee.call('POST', `/conversations/${conversationId}/accept`);
  const staffMessage = await createMessage(assignee, conversationId, 'CANARY-ANSWER');
  if (pending === true) await assignee.call('POST', `/conversations/${conversationId}/release`);
  if (closed === true) await assignee.call('POST', `/conversations/${conversationId}/resolve`);
  return { ...crew, conversationId, visitorMessage, staffMessage };
}

type Kind =
  | 'stranger'
  | 'wrong origin'
  | 'no visitor'
  | 'owner by page'
  | 'owner by key'
  | 'other visitor'
  | 'other by key'
  | 'assignee'
  | 'colleague'
  | 'admin'
  | 'foreign operator'
  | 'foreign admin';

const bearer = (token: string, application?: TestApplication, id = visitorId): Caller => ({
  headers: {
    authorization: `Bearer ${token}`,
    ...(application === undefined ? {} : { 'x-app-id': application.id, 'x-visitor-id': id }),
  },
});
const page = (application: TestApplication, origin: string, id = visitorId): Caller => ({
  headers: { 'x-app-id': application.id, 'x-visitor-id': id, origin },
});

const callers: Readonly<Record<string, readonly [Kind, (scene: Scene) => Caller | Promise<Caller>]>> = {
  anonymous: ['stranger', () => ({ headers: {} })],
  'a visitor id alone': [
    'stranger',
    () => ({ headers: { 'x-visitor-id': visitorId, origin: acme.application.origin } }),
  ],
  'an unknown application': [
    'stranger',
    () => page({ ...acme.application, id: randomUUID() }, acme.application.origin),
  ],
  'an unknown key': ['stranger', () => bearer(makeApiKey('live').text, acme.application)],
  'a key with one character changed': [
    'stranger',
    () =>
      bearer(
        acme.application.key.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')),
        acme.application,
      ),
  ],
  'a key without application': [
    'stranger',
    () => ({ headers: { authorization: `Bearer ${acme.application.key}`, 'x-visitor-id': visitorId } }),
  ],
  "the other application's key": ['stranger', () => bearer(second.key, acme.application)],
  'the key with the other application': ['stranger', () => bearer(acme.application.key, second)],
  "another organization's key": ['stranger', () => bearer(other.application.key, acme.application)],
  "a key with another organization's application": [
    'stranger',
    () => bearer(acme.application.key, other.application),
  ],
  'a revoked key': ['stranger', () => bearer(dead.revoked, acme.application)],
  'an expired key': ['stranger', () => bearer(dead.expired, acme.application)],
  'a key of a deleted application': ['stranger', () => bearer(dead.ofDeletedApplication, acme.application)],
  'a bad key from a good page': [
    'stranger',
    () => ({
      headers: {
        ...page(acme.application, acme.application.origin).headers,
        authorization: `Bearer ${makeApiKey('live').text}`,
      },
    }),
  ],
  'a WebSocket token': ['stranger', () => bearer(socketToken, acme.application)],
  'a staff WebSocket token': ['stranger', () => bearer(staffSocketToken, acme.application)],
  'an unknown session': ['stranger', () => bearer(`dbs_${'a'.repeat(43)}`, acme.application)],
  'a disabled member': ['stranger', () => bearer(gone.disabled, acme.application)],
  'a removed member': ['stranger', () => bearer(gone.removed, acme.application)],
  'a session from before a new password': ['stranger', () => bearer(gone.newPassword, acme.application)],
  'a signed-out session': ['stranger', () => bearer(gone.signedOut, acme.application)],
  'a session that has ended': ['stranger', () => bearer(gone.outlived, acme.application)],
  'a page of another site': ['wrong origin', () => page(acme.application, 'https://evil.example')],
  'a page of the other organization': [
    'wrong origin',
    () => page(acme.application, other.application.origin),
  ],
  'a program without origin': [
    'wrong origin',
    () => ({ headers: { 'x-app-id': acme.application.id, 'x-visitor-id': visitorId } }),
  ],
  'a key from a wrong page': [
    'wrong origin',
    () => ({
      headers: { ...bearer(acme.application.key, acme.application).headers, origin: 'https://evil.example' },
    }),
  ],
  'a page without visitor id': [
    'no visitor',
    () => ({ headers: { 'x-app-id': acme.application.id, origin: acme.application.origin } }),
  ],
  'the visitor on the page': ['owner by page', () => createVisitor(app, acme.application, visitorId)],
  'the visitor in upper case': [
    'owner by page',
    () => createVisitor(app, acme.application, visitorId.toUpperCase()),
  ],
  'the visitor by key': ['owner by key', () => createVisitorByKey(app, acme.application, 'live', visitorId)],
  'another visitor of the page': ['other visitor', () => createVisitor(app, acme.application)],
  'another visitor by key': ['other by key', () => createVisitorByKey(app, acme.application)],
  'the same UUID by test key': [
    'other by key',
    () => createVisitorByKey(app, acme.application, 'test', visitorId),
  ],
  'the same UUID in the other application': ['other visitor', () => createVisitor(app, second, visitorId)],
  'the same UUID in the other application, by key': [
    'other by key',
    () => createVisitorByKey(app, second, 'live', visitorId),
  ],
  'the same UUID in the other organization': [
    'other visitor',
    () => createVisitor(app, other.application, visitorId),
  ],
  'the same UUID in the other organization, by key': [
    'other by key',
    () => createVisitorByKey(app, other.application, 'live', visitorId),
  ],
  'the operator who has it': ['assignee', ({ assignee }) => assignee],
  'another operator': ['colleague', ({ colleague }) => colleague],
  'an admin': ['admin', ({ admin }) => admin],
  "another organization's operator": ['foreign operator', () => crew.foreignOperator],
  "another organization's admin": ['foreign admin', () => crew.foreignAdmin],
};

/** A route's row: what it is sent, and what those who may come near it get; `refusals`: of changes only who is refused, reads for all. */
interface Row {
  readonly body?: (scene: Scene) => object;
  readonly message?: 'visitorMessage' | 'staffMessage';
  /** Before anybody has accepted. */
  readonly pending?: true;
  /** After it was resolved. */
  readonly closed?: true;
  /** For the visitor whose it is; for staff: the assignee, another operator, an admin. */
  readonly answers: number | readonly [assignee: number, colleague: number, admin: number] | 'refusals';
  /** Where a call by key alone differs. */
  readonly byKey?: number;
}

/** What an admin's route needs, so that only the id is wrong. */
const bodies: Readonly<Partial<Record<OperationName, object>>> = {
  'applications.update': { name: 'x' },
  'domains.add': { domain: 'evil.example' },
  'members.update': { role: 'admin' },
  'webhooks.update': { url: 'https://hooks.example/x' },
  'knowledge.setSynonyms': { synonyms: [] },
  'knowledge.crawl': { url: 'https://acme.example/' },
  'knowledge.keepReply': { question: 'x', reply: 'y' },
  'knowledge.keepQuestion': { question: 'x', passageId: randomUUID() },
  'knowledge.settleGaps': { settles: [] },
};

/** What of acme's the paths of owners name. */
const things: Record<string, string> = { domain: 'acme.example', deliveryId: randomUUID(), tag: 'vip' };

const rows: Readonly<Partial<Record<OperationName, Row>>> = {
  'conversations.create': { body: () => ({ subject: 'mine' }), answers: 201 },
  'conversations.list': { answers: 200 },
  'conversations.get': { answers: 200 },
  'conversations.read': { body: ({ staffMessage }) => ({ messageId: staffMessage }), answers: 200 },
  'conversations.unread': { answers: 200 },
  'conversations.transcript': { answers: 409 },
  'staff.conversations.transcript': { answers: [200, 200, 200] },
  'staff.conversations.sendTranscript': { answers: [409, 409, 409] },
  'email.receive': { answers: 404 },
  'email.stop': { body: () => ({ token: 'x' }), answers: 404 },
  'messages.send': { body: () => ({ content: 'mine' }), answers: 201 },
  'messages.list': { answers: 200 },
  'messages.edit': { message: 'visitorMessage', body: () => ({ content: 'mine' }), answers: 200 },
  'messages.delete': { message: 'visitorMessage', answers: 200 },
  'files.upload': { body: () => ({ any: 'bytes' }), answers: 201 },
  'files.state': { answers: 404 },
  'visitor.get': { answers: 200 },
  'visitor.update': { body: () => ({ attributes: { seen: true } }), answers: 200 },
  'widget.token': { answers: 200, byKey: 403 },
  'widget.config': { answers: 200 },
  'session.create': {
    body: ({ assignee }) => ({ organization: 'acme', email: assignee.email, password: memberPassword }),
    answers: 201,
  },
  'session.get': { answers: [200, 200, 200] },
  'session.delete': { answers: [200, 200, 200] },
  'session.secondFactor': { body: () => ({ ticket: 'x', code: '123456' }), answers: 401 },
  'session.fromLink': { body: () => ({ ticket: 'x' }), answers: 401 },
  'password.forgot': { body: () => ({ organization: 'acme', email: 'a@b.example' }), answers: 409 },
  'password.reset': { body: () => ({ token: 'x', password: 'seven llamas of carla' }), answers: 401 },
  'session.setUpSecondFactor': { body: () => ({ ticket: 'x' }), answers: 401 },
  'me.get': { answers: [200, 200, 200] },
  'me.update': { answers: 'refusals' },
  'totp.get': { answers: [200, 200, 200] },
  'totp.begin': { answers: 'refusals' },
  'totp.confirm': { answers: 'refusals' },
  'totp.disable': { answers: 'refusals' },
  'passkeys.list': { answers: [200, 200, 200] },
  'passkeys.begin': { answers: 'refusals' },
  'passkeys.add': { answers: 'refusals' },
  'passkeys.rename': { body: () => ({ name: 'Phone' }), answers: 'refusals' },
  'passkeys.remove': { body: () => ({ password: memberPassword }), answers: 'refusals' },
  'recoveryCodes.create': { answers: 'refusals' },
  'sessions.list': { answers: [200, 200, 200] },
  'sessions.end': { answers: 'refusals' },
  'tokens.create': { answers: 'refusals' },
  'tokens.list': { answers: [200, 200, 200] },
  'tokens.revoke': { answers: 'refusals' },
  'push.get': { answers: [200, 200, 200] },
  'push.add': { answers: 'refusals' },
  'push.remove': { answers: 'refusals' },
  'notifications.get': { answers: [200, 200, 200] },
  'notifications.update': { body: () => ({ preview: 'name' }), answers: [200, 200, 200] },
  'notifications.test': { answers: [200, 200, 200] },
  'staff.token': { answers: [200, 200, 200] },
  'staff.conversations.list': { answers: [200, 200, 200] },
  'staff.conversations.get': { answers: [200, 200, 200] },
  'staff.messages.list': { answers: [200, 200, 200] },
  'staff.messages.send': { body: () => ({ content: 'ours' }), answers: [201, 403, 403] },
  'staff.messages.edit': {
    message: 'staffMessage',
    body: () => ({ content: 'ours' }),
    answers: [200, 403, 403],
  },
  'staff.messages.delete': { message: 'staffMessage', answers: [200, 403, 403] },
  'staff.files.upload': { body: () => ({ any: 'bytes' }), answers: [201, 201, 201] },
  'staff.files.state': { answers: [404, 404, 404] },
  'staff.drafts.get': { answers: [200, 200, 200] },
  'staff.drafts.put': { body: () => ({ content: 'mine' }), answers: [200, 200, 200] },
  'staff.drafts.delete': { answers: [200, 200, 200] },
  'staff.conversations.accept': { pending: true, answers: [200, 200, 200] },
  'staff.conversations.release': { answers: [200, 403, 200] },
  'staff.conversations.resolve': { answers: [200, 403, 200] },
  'staff.conversations.transfer': {
    body: ({ colleague }) => ({ memberId: colleague.id }),
    answers: [200, 403, 200],
  },
  'staff.conversations.update': { body: () => ({ priority: 'high' }), answers: [200, 200, 200] },
  'staff.conversations.tag': { answers: [200, 200, 200] },
  'staff.conversations.untag': { answers: [200, 200, 200] },
  'staff.conversations.snooze': {
    body: () => ({ until: new Date(app.clock.now() + 3_600_000).toISOString() }),
    answers: [200, 403, 200],
  },
  'staff.conversations.unsnooze': { answers: [200, 200, 200] },
  'staff.conversations.reopen': { closed: true, answers: [200, 200, 200] },
  'staff.conversations.unread': {
    body: ({ visitorMessage }) => ({ messageId: visitorMessage }),
    answers: [200, 200, 200],
  },
  'staff.conversations.bulk': {
    // What belongs to others is refused id by id: test/services/queue-order.test.ts.
    body: () => ({ ids: [randomUUID()], act: 'accept' }),
    answers: [200, 200, 200],
  },
  'tags.list': { answers: [200, 200, 200] },
  'tags.create': { answers: 'refusals' },
  'tags.update': { body: () => ({ name: 'x' }), answers: 'refusals' },
  'tags.delete': { answers: 'refusals' },
  'views.list': { answers: [200, 200, 200] },
  'views.counts': { answers: [200, 200, 200] },
  'views.create': { answers: 'refusals' },
  'views.update': { body: () => ({ name: 'x' }), answers: 'refusals' },
  'views.delete': { answers: 'refusals' },
  'visitors.block': { body: () => ({}), answers: 'refusals' },
  'visitors.unblock': { answers: 'refusals' },
  'blocks.list': { answers: [200, 200, 200] },
  'blocks.create': { answers: 'refusals' },
  'blocks.remove': { answers: 'refusals' },
  'cannedReplies.list': { answers: 'refusals' },
  'cannedReplies.create': { answers: 'refusals' },
  'cannedReplies.update': { body: () => ({ content: 'x' }), answers: 'refusals' },
  'cannedReplies.delete': { answers: 'refusals' },
  'staff.members.list': { answers: [200, 200, 200] },
  'ai.answer': { body: () => ({ question: 'Which colours are there?' }), answers: 200 },
  'staff.ai.reply': { answers: [200, 200, 200] },
  'staff.ai.rewrite': { body: () => ({ text: 'CANARY', style: 'improve' }), answers: [409, 409, 409] },
  'staff.stats': { answers: 'refusals' },
  'invitations.accept': { body: () => ({ token: 'x', password: 'long enough' }), answers: 401 },
  ...Object.fromEntries(
    routes
      .filter(({ name }) => operations[name].who === 'admin')
      .map(({ name }) => [name, { body: () => bodies[name] ?? {}, answers: 'refusals' } as const]),
  ),
  'staff.conversations.read': {
    body: ({ visitorMessage }) => ({ messageId: visitorMessage }),
    answers: [200, 200, 200],
  },
};

/** The status of a cell; null: not asked here. */
function expected(name: OperationName, method: string, path: string, kind: Kind, row: Row): number | null {
  const { who } = operations[name];
  const named = path.includes(':conversationId');
  const { answers } = row;
  if (who === 'anyone') return answers as number;
  if (answers === 'refusals') {
    const ids = path.includes(':');
    const operators = who === 'admin' ? 403 : 'let in';
    const foreign = ids ? 404 : 'let in';
    const members: Partial<Record<Kind, number | 'let in'>> = {
      assignee: operators,
      colleague: operators,
      admin: 'let in',
      'foreign operator': who === 'admin' ? 403 : foreign,
      'foreign admin': foreign,
    };
    const cell = members[kind] ?? 401;
    return cell !== 'let in' ? cell : method === 'GET' ? 200 : null;
  }
  if (typeof answers !== 'number') {
    const [assignee, colleague, admin] = answers;
    const staff: Partial<Record<Kind, number>> = {
      assignee,
      colleague,
      admin,
      'foreign operator': named ? 404 : assignee,
      'foreign admin': named ? 404 : assignee,
    };
    return staff[kind] ?? 401;
  }
  const visitors: Partial<Record<Kind, number>> = {
    'wrong origin': 403,
    'no visitor': who === 'hostSite' ? 200 : 400,
    'owner by page': answers,
    'owner by key': row.byKey ?? answers,
    'other visitor': named ? 404 : answers,
    'other by key': named ? 404 : (row.byKey ?? answers),
  };
  return visitors[kind] ?? 401;
}

const errors: Readonly<Record<number, readonly string[]>> = {
  400: ['bad_request'],
  401: ['unauthorized'],
  403: ['forbidden', 'origin_not_allowed'],
  404: ['not_found'],
  409: ['ai_model_required', 'conflict'],
};

beforeAll(async () => {
  app = await startApp();
  acme = await createOrganization(app, 'acme');
  other = await createOrganization(app, 'acme-1');
  second = await createApplication(app, 'acme', 'second.example');
  const outlived = await createMember(app, 'acme');
  gone.outlived = outlived.token;
  // Steps, not moves: no timer needs to run for these.
  app.clock.step(30 * 86_400_000);
  const make = async (): Promise<{ id: string; key: string }> =>
    app.local('keys.create', { applicationId: acme.application.id });
  const [revoked, expired] = [await make(), await make()];
  dead.revoked = revoked.key;
  await app.local('keys.revoke', { keyId: revoked.id });
  dead.expired = expired.key;
  await app.local('keys.rotate', { keyId: expired.id, graceSeconds: 60 });
  app.clock.step(60_000);
  const shortLived = await createApplication(app, 'acme', 'gone.example');
  dead.ofDeletedApplication = shortLived.key;
  await app.local('applications.delete', { applicationId: shortLived.id });
  const members = {
    disabled: await createMember(app, 'acme'),
    removed: await createMember(app, 'acme'),
    newPassword: await createMember(app, 'acme'),
    signedOut: await createMember(app, 'acme'),
  };
  for (const [way, { token }] of Object.entries(members)) gone[way as keyof typeof members] = token;
  await app.local('members.update', { memberId: members.disabled.id, disabled: true });
  await app.local('members.remove', { memberId: members.removed.id });
  await app.local('members.update', {
    memberId: members.newPassword.id,
    password: 'another long password',
  });
  await members.signedOut.call('DELETE', '/session');
  const spare = await createApplication(app, 'acme', 'spare.example');
  things['applicationId'] = spare.id;
  things['keyId'] = (await app.local('keys.list', { applicationId: spare.id })).keys[0]!.id;
  const [session] = await rowsOf(app, 'select id from staff_sessions');
  things['sessionId'] = String(session?.['id']);
  things['tokenId'] = String(session?.['id']);
  things['memberId'] = (await createMember(app, 'acme')).id;
  const stranger = createVisitorByKey(app, acme.application);
  await createConversation(stranger);
  things['visitorId'] = stranger.id;
  things['webhookId'] = (
    await app.local('webhooks.create', { organization: 'acme', url: 'https://hooks.example/x' })
  ).id;
  things['documentId'] = (
    await app.local('knowledge.add', { applicationId: spare.id, source: 'a.md', content: 'CANARY-KNOWLEDGE' })
  ).id;
  things['crawlId'] = randomUUID();
  await rowsOf(
    app,
    `insert into crawls (id, organization_id, application_id, url, max_pages, depth, below, prune, status, pages, added, updated,
       unchanged, skipped, failed, removed, problems, created_at)
     select '${things['crawlId']}', organization_id, id, 'https://acme.example/CANARY', 1, 1, 0, 0, 'done', 1, 1, 0, 0, 0, 0, 0, '[]', 0
       from applications where id = '${spare.id}'`,
  );
  // Switched off: nothing leaves the machine.
  await rowsOf(app, 'update webhooks set enabled = 0');
  things['cannedReplyId'] = (
    await ask(app, await createMember(app, 'acme', 'admin'), 'POST', '/staff/canned-replies', {
      shortcut: 'hi',
      content: 'hello',
    })
  ).body.cannedReply.id as string;
  const keeper = await createMember(app, 'acme', 'admin');
  things['tagId'] = (await keeper.call('POST', '/tags', { name: 'CANARY-TAG' })).body.tag.id as string;
  things['viewId'] = (await keeper.call('POST', '/views', { name: 'CANARY-VIEW', query: {}, shared: true }))
    .body.view.id as string;
  socketToken = (await createVisitor(app, acme.application, visitorId).call('POST', '/widget/ws-token')).body
    .token;
  staffSocketToken = (await (await createMember(app, 'acme', 'admin')).call('POST', '/ws-token')).body.token;
  crew = await aCrew();
});

afterAll(async () => {
  await app.stop();
});

describe('the matrix', () => {
  it('has a row for every route, and none for what is no route', () => {
    expect(Object.keys(rows).toSorted()).toEqual(routes.map(({ name }) => name).toSorted());
  });

  it.each(routes)('$method $path', async ({ name, method, path }) => {
    const row = rows[name] as Row;
    let scene: Scene | null = null;
    let assertNothingSince: Awaited<ReturnType<typeof rememberStored>> | null = null;
    let refusedSince: string[] = [];
    const assertNothingStored = async (): Promise<void> => {
      await assertNothingSince?.(`${method} ${path} by one of: ${refusedSince.join('; ')}`);
      assertNothingSince = null;
      refusedSince = [];
    };
    for (const [called, [kind, caller]] of Object.entries(callers)) {
      const wanted = expected(name, method, path, kind, row);
      if (wanted === null) continue;
      // A cell that may change something gets a scene of its own, and so does the cell after it.
      if (scene === null || wanted < 400) {
        await assertNothingStored();
        if (name === 'session.delete') crew = await aCrew();
        scene = await aScene(row);
      }
      const here = scene;
      const who = await caller(here);
      if (wanted >= 400) {
        assertNothingSince ??= await rememberStored(app);
        refusedSince.push(called);
      } else scene = null;
      const target = path
        .slice('/api/v1'.length)
        .replace(':conversationId', here.conversationId)
        .replace(':messageId', row.message === undefined ? '' : here[row.message])
        .replace(/:([a-zA-Z]+)/g, (_, thing: string) => things[thing] ?? randomUUID());
      const reply: Reply = await ask(
        app,
        who,
        method,
        target,
        method === 'GET' || method === 'DELETE' ? undefined : row.body?.(here),
      );
      const cell = `${method} ${path} by ${called}: ${reply.text.slice(0, 200)}`;
      expect(reply.status, cell).toBe(wanted);
      if (wanted >= 400) expect(errors[wanted], cell).toContain(reply.body.error);
      if (
        operations[name].who !== 'anyone' &&
        !['owner by page', 'owner by key', 'assignee', 'colleague', 'admin'].includes(kind)
      )
        for (const ours of [
          'CANARY',
          here.conversationId,
          here.visitorMessage,
          here.staffMessage,
          here.assignee.id,
          here.assignee.email,
          acme.id,
        ])
          expect(reply.text, cell).not.toContain(ours);
    }
    await assertNothingStored();
    if (name === 'session.delete') crew = await aCrew();
  });

  it('tells no one why a credential is wrong', async () => {
    const scene = await aScene({});
    const texts = new Set<string>();
    for (const [kind, caller] of Object.values(callers).filter(([kind]) => kind === 'stranger')) {
      expect(kind).toBe('stranger');
      texts.add((await ask(app, await caller(scene), 'GET', '/conversations')).text);
    }
    expect([...texts]).toHaveLength(1);
  });

  it('leaves no secret in the log', () => {
    expectCleanLog(app, [
      acme.application.key,
      acme.application.testKey,
      second.key,
      other.application.key,
      ...Object.values(dead),
      ...Object.values(gone),
      socketToken,
      staffSocketToken,
      memberPassword,
      visitorId,
      visitorId.toUpperCase(),
      'CANARY',
      'dbk_live_',
      'dbs_',
    ]);
  });
});
