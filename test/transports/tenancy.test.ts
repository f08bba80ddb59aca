// Attacks the wall between tenants: two organizations with near-equal slugs and the same
// visitor UUID, every endpoint, every place where an id may stand.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { routes } from '../../src/http/operation-routes.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { operations, type OperationName } from '../../src/protocol/operations.ts';
import type { Actor, MemberActor } from '../../src/services/core/actor.ts';
import { authenticateMember } from '../../src/services/auth/authenticate.ts';
import { execute } from '../../src/services/execute.ts';
import { ServiceError } from '../../src/services/core/errors.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { TestSocket, Reply } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import { ask, expectCleanLog, stored, type Caller } from '../helpers/rest-checks.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  memberPassword,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { noCredentials } from '../helpers/no-credentials.ts';

interface Side {
  readonly organization: TestOrganization;
  readonly visitor: TestClient;
  readonly byKey: TestClient;
  readonly operator: TestMember;
  readonly admin: TestMember;
  readonly conversationId: string;
  readonly visitorMessage: string;
  readonly staffMessage: string;
  readonly note: string;
  readonly keyId: string;
}

let app: TestApp;
let ours: Side;
let theirs: Side;
/** Hears everything that the other side hears. */
let sockets: TestSocket[];
const visitorId = randomUUID();

async function aSide(slug: string, canary: string): Promise<Side> {
  const organization = await createOrganization(app, slug);
  const visitor = createVisitor(app, organization.application, visitorId);
  const byKey = createVisitorByKey(app, organization.application, 'live', visitorId);
  const operator = await createMember(app, slug, 'operator', `${canary} Operator`);
  const admin = await createMember(app, slug, 'admin', `${canary} Admin`);
  await byKey.call('PUT', '/visitor', {
    name: `${canary} Visitor`,
    email: `${canary.toLowerCase()}@mail.example`,
    attributes: { mark: canary },
  });
  const conversationId = await createConversation(visitor, `${canary} subject`);
  const visitorMessage = await createMessage(visitor, conversationId, `${canary} question`);
  await operator.call('POST', `/conversations/${conversationId}/accept`);
  const staffMessage = await createMessage(operator, conversationId, `${canary} answer`);
  const note = (
    await operator.call('POST', `/conversations/${conversationId}/messages`, {
      content: `${canary} note`,
      internal: true,
    })
  ).body.message.id as string;
  const { keys } = await app.local('keys.list', { applicationId: organization.application.id });
  return {
    organization,
    visitor,
    byKey,
    operator,
    admin,
    conversationId,
    visitorMessage,
    staffMessage,
    note,
    keyId: keys[0]!.id,
  };
}

beforeAll(async () => {
  app = await startApp({ flags: { baseUrl: 'http://chat.example' } });
  ours = await aSide('acme', 'ALPHA');
  theirs = await aSide('acme1', 'BRAVO');
  sockets = [await theirs.visitor.connect(), await theirs.operator.connect(), await theirs.admin.connect()];
  sockets[0]!.send('room:join', { conversationId: theirs.conversationId });
  await sockets[0]!.receives('room:joined');
});

afterAll(async () => {
  for (const socket of sockets) await socket.close();
  await app.stop();
});

/** Every id that belongs to a side, and every word that it wrote; the visitor's UUID belongs to both. */
async function belongings(side: Side, canary: string): Promise<string[]> {
  const id = side.organization.id;
  const rows = await Promise.all(
    ['applications', 'api_keys', 'members', 'staff_sessions', 'visitors', 'conversations', 'messages'].map(
      (table) => rowsOf(app, `select id from ${table} where organization_id = ?`, id),
    ),
  );
  return [id, ...rows.flat().map((row) => row['id'] as string), canary, canary.toLowerCase()];
}

async function expectNothingOf(side: Side, canary: string, replies: readonly Reply[]): Promise<void> {
  const theirThings = await belongings(side, canary);
  for (const { text } of replies)
    for (const thing of theirThings)
      expect(text.includes(thing), `${thing} in ${text.slice(0, 300)}`).toBe(false);
}

describe('slugs', () => {
  it('that differ by a hyphen or a digit are other organizations; ill-formed ones are none', async () => {
    for (const slug of ['acme-', '-acme', 'acme_', 'ac me', 'acme.', 'äcme', 'a'.repeat(64)])
      await expect(app.local('organizations.create', { name: 'x', slug })).rejects.toMatchObject({
        code: 'bad_request',
      });
    for (const slug of ['acme', 'ACME', ' acme '])
      await expect(app.local('organizations.create', { name: 'x', slug })).rejects.toMatchObject({
        code: 'conflict',
      });
    expect((await app.local('organizations.create', { name: 'x', slug: 'acme-1' })).slug).toBe('acme-1');
  });

  it('a member of one signs in to no other', async () => {
    const { audit: _trail, ...before } = await stored(app);
    for (const organization of [
      'acme1',
      'acme-1',
      'acm',
      'acme%',
      'acme_',
      'acme-',
      ours.organization.id,
      "acme' --",
    ]) {
      const reply = await ask(app, { headers: {} }, 'POST', '/staff/session', {
        organization,
        email: ours.admin.email,
        password: memberPassword,
      });
      expect([organization, reply.status, reply.body]).toEqual([
        organization,
        401,
        { error: 'unauthorized', message: expect.any(String) },
      ]);
    }
    const { audit: _longer, ...after } = await stored(app);
    expect(after).toEqual(before);
    // Organizations that exist have it in their own logs, without saying whose address it was.
    expect(await rowsOf(app, "select distinct subject from audit where action = 'session.refused'")).toEqual([
      { subject: 'member:unknown' },
    ]);
  });
});

/** Every place where an id of ours may stand in a request of theirs. */
const attempts = (): readonly (readonly [
  who: Caller,
  method: string,
  path: string,
  status: number,
  body?: object,
])[] => {
  const { conversationId, visitorMessage, staffMessage, note, organization, operator } = ours;
  const visitors: Caller[] = [theirs.visitor, theirs.byKey];
  const staff: Caller[] = [theirs.operator, theirs.admin];
  const own = theirs.conversationId;
  return [
    ...visitors.flatMap((who): [Caller, string, string, number, object?][] => [
      ...[visitorMessage, staffMessage, note].flatMap(
        (message): [Caller, string, string, number, object?][] => [
          [who, 'POST', `/conversations/${own}/read`, 404, { messageId: message }],
          [who, 'GET', `/conversations/${own}/messages?after=${message}`, 400],
          [who, 'GET', `/conversations/${own}/messages?before=${message}`, 400],
          [who, 'PATCH', `/conversations/${own}/messages/${message}`, 404, { content: 'mine now' }],
          [who, 'DELETE', `/conversations/${own}/messages/${message}`, 404],
          [
            who,
            'PATCH',
            `/conversations/${conversationId}/messages/${message}`,
            404,
            { content: 'mine now' },
          ],
          [who, 'DELETE', `/conversations/${conversationId}/messages/${message}`, 404],
          [who, 'POST', `/conversations/${conversationId}/read`, 404, { messageId: message }],
        ],
      ),
      [who, 'GET', `/conversations/${conversationId}`, 404],
      [who, 'GET', `/conversations/${conversationId}/messages`, 404],
      [who, 'GET', `/conversations/${conversationId}/unread`, 404],
      [who, 'POST', `/conversations/${conversationId}/messages`, 404, { content: 'x' }],
      [who, 'POST', `/conversations/${own}/messages`, 400, { conversationId, content: ' ' }],
      [who, 'GET', '/conversations?limit=100', 200],
      [who, 'GET', '/visitor', 200],
    ]),
    ...staff.flatMap((who): [Caller, string, string, number, object?][] => [
      [who, 'GET', `/staff/conversations/${conversationId}`, 404],
      [who, 'GET', `/staff/conversations/${conversationId}/messages`, 404],
      [who, 'POST', `/staff/conversations/${conversationId}/messages`, 404, { content: 'x' }],
      [who, 'POST', `/staff/conversations/${conversationId}/messages`, 404, { content: 'x', internal: true }],
      ...['accept', 'release', 'resolve'].map((act): [Caller, string, string, number] => [
        who,
        'POST',
        `/staff/conversations/${conversationId}/${act}`,
        404,
      ]),
      [who, 'POST', `/staff/conversations/${conversationId}/transfer`, 404, { memberId: theirs.operator.id }],
      [who, 'POST', `/staff/conversations/${own}/transfer`, 404, { memberId: operator.id }],
      [who, 'POST', `/staff/conversations/${own}/read`, 404, { messageId: note }],
      [who, 'PATCH', `/staff/conversations/${own}/messages/${staffMessage}`, 404, { content: 'x' }],
      [who, 'DELETE', `/staff/conversations/${conversationId}/messages/${staffMessage}`, 404],
      [who, 'GET', `/staff/conversations/${own}/messages?after=${note}`, 400],
      [who, 'GET', `/staff/conversations?assignedTo=${operator.id}`, 200],
      [who, 'GET', `/staff/conversations?applicationId=${organization.application.id}`, 200],
      [who, 'GET', '/staff/conversations?q=ALPHA', 200],
      [who, 'GET', '/staff/conversations?mode=test', 200],
      [who, 'GET', '/staff/conversations?limit=100', 200],
      [who, 'GET', '/staff/session', 200],
    ]),
  ];
};

describe('whatever of ours they name', () => {
  it('opens nothing, changes nothing, and is heard by no one', async () => {
    for (const socket of sockets) socket.takeTypes();
    const before = await stored(app);
    const replies: Reply[] = [];
    for (const [who, method, path, status, body] of attempts()) {
      const reply = await ask(app, who, method, path, body);
      expect([method, path, reply.status]).toEqual([method, path, status]);
      if (/assignedTo|applicationId|q=ALPHA|mode=test/.test(path))
        expect([path, reply.body.total]).toEqual([path, 0]);
      replies.push(reply);
    }
    await expectNothingOf(ours, 'ALPHA', replies);
    expect(await stored(app)).toEqual(before);
    for (const socket of sockets) {
      await socket.drain();
      expect(socket.takeTypes()).toEqual([]);
    }
  });

  it('is answered exactly as what does not exist', async () => {
    const names = [
      ours.conversationId,
      ours.visitorMessage,
      ours.staffMessage,
      ours.note,
      ours.operator.id,
      ours.organization.application.id,
    ];
    const invented = new Map(names.map((id) => [id, randomUUID()]));
    const swap = (text: string): string =>
      names.reduce((result, id) => result.replaceAll(id, invented.get(id)!), text);
    for (const [who, method, path, , body] of attempts()) {
      const [real, none] = [
        await ask(app, who, method, path, body),
        await ask(
          app,
          who,
          method,
          swap(path),
          body === undefined ? undefined : JSON.parse(swap(JSON.stringify(body))),
        ),
      ];
      expect([method, path, none.status, none.text]).toEqual([method, path, real.status, real.text]);
    }
  });

  it('is out of reach over the socket too', async () => {
    const before = await stored(app);
    for (const socket of sockets) {
      for (const [type, payload] of [
        ['room:join', {}],
        ['room:join', { lastMessageId: ours.visitorMessage }],
        ['message:send', { content: 'x', clientMessageId: 'c' }],
        ['message:edit', { messageId: ours.visitorMessage, content: 'x' }],
        ['message:delete', { messageId: ours.visitorMessage }],
        ['conversation:read', { messageId: ours.visitorMessage }],
        ['typing:start', {}],
      ] as const)
        socket.send(type, { conversationId: ours.conversationId, ...payload });
      await socket.drain();
      expect(socket.takeTypes()).toEqual(Array.from({ length: 7 }, () => 'error'));
    }
    expect(await stored(app)).toEqual(before);
  });
});

it('the same UUID is two people: names, lists, idempotency keys', async () => {
  const [one, two] = [
    await ask(app, ours.visitor, 'GET', '/visitor'),
    await ask(app, theirs.visitor, 'GET', '/visitor'),
  ];
  expect([one.body.visitor.name, two.body.visitor.name, one.body.visitor.id, two.body.visitor.id]).toEqual([
    'ALPHA Visitor',
    'BRAVO Visitor',
    visitorId,
    visitorId,
  ]);
  const again = { 'idempotency-key': 'the same key' };
  const opened = [
    await ask(app, ours.visitor, 'POST', '/conversations', {}, again),
    await ask(app, theirs.visitor, 'POST', '/conversations', {}, again),
    await ask(app, ours.byKey, 'POST', '/conversations', {}, again),
  ];
  expect(opened.map(({ status }) => status)).toEqual([201, 201, 201]);
  expect(opened[0]!.body.conversation.id).not.toBe(opened[1]!.body.conversation.id);
  expect(opened[2]!.body.conversation.id).toBe(opened[0]!.body.conversation.id);
  const lists = await Promise.all(
    [ours.visitor, theirs.visitor].map((who) => ask(app, who, 'GET', '/conversations')),
  );
  await expectNothingOf(theirs, 'BRAVO', [lists[0]!]);
  await expectNothingOf(ours, 'ALPHA', [lists[1]!]);
});

describe('what owners may do', () => {
  const failing = async (actor: Actor, name: OperationName, input: object): Promise<string> =>
    execute(
      { service: app.service, actor, address: '127.0.0.1', contentLimit: sizeLimits.contentRest },
      name,
      input,
    ).then(
      () => 'done',
      (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
    );
  const memberActor = (member: TestMember): Promise<MemberActor> =>
    authenticateMember(app.service, { ...noCredentials, authorization: [`Bearer ${member.token}`] });
  const inputs = (): readonly (readonly [OperationName, object])[] => {
    const { organization, keyId, operator } = ours;
    const byOrganization = { organization: organization.slug };
    const applicationId = organization.application.id;
    const memberId = operator.id;
    return [
      ['organizations.get', byOrganization],
      ['organizations.update', { ...byOrganization, plan: 'free' }],
      ['organizations.update', { ...byOrganization, limits: { seats: 1 } }],
      ['organizations.usage', byOrganization],
      ['organizations.stats', byOrganization],
      ['applications.create', { ...byOrganization, name: 'x' }],
      ['applications.list', byOrganization],
      ['applications.get', { applicationId }],
      ['applications.update', { applicationId, locale: 'de' }],
      ['applications.delete', { applicationId }],
      ['domains.add', { applicationId, domain: 'evil.example' }],
      ['domains.remove', { applicationId, domain: organization.application.domain }],
      ['domains.list', { applicationId }],
      ['keys.create', { applicationId }],
      ['keys.list', { applicationId }],
      ['keys.reveal', { keyId }],
      ['keys.rotate', { keyId }],
      ['keys.revoke', { keyId }],
      [
        'members.add',
        {
          ...byOrganization,
          email: 'spy@evil.example',
          name: 'Spy',
          role: 'admin',
          password: 'long enough',
        },
      ],
      ['members.list', byOrganization],
      ['members.update', { memberId, role: 'admin' }],
      ['members.update', { memberId, password: 'long enough' }],
      ['members.update', { memberId, disabled: true }],
      ['members.update', { memberId, disabled: false }],
      ['members.remove', { memberId }],
    ];
  };
  const named = (who: string): OperationName[] =>
    (Object.keys(operations) as OperationName[]).filter((name) => operations[name].who === who);

  it('has a row for every operation of an admin that no route leads to', () => {
    expect(inputs().map(([name]) => name)).toEqual(
      expect.arrayContaining(named('admin').filter((name) => operations[name].rest === null)),
    );
  });

  it('no admin does in another organization, nor an operator or visitor in their own', async () => {
    const before = await stored(app);
    const visitor: Actor = {
      kind: 'visitor',
      organizationId: ours.organization.id,
      applicationId: ours.organization.application.id,
      visitorId,
      mode: 'live',
      via: 'key',
      origin: null,
    };
    for (const [name, input] of inputs()) {
      expect([name, await failing(await memberActor(theirs.admin), name, input)]).toEqual([
        name,
        'not_found',
      ]);
      expect([name, await failing(await memberActor(ours.operator), name, input)]).toEqual([
        name,
        'forbidden',
      ]);
      for (const actor of [visitor, { kind: 'anonymous' } as const])
        expect([name, await failing(actor, name, input)]).toEqual([name, 'forbidden']);
    }
    for (const name of named('local'))
      expect([
        name,
        await failing(await memberActor(ours.admin), name, { organization: 'acme', name: 'x' }),
      ]).toEqual([name, 'forbidden']);
    expect(await stored(app)).toEqual(before);
  });

  it('no operation of one kind of caller is open to another', async () => {
    const before = await stored(app);
    const actors: Readonly<Record<string, Actor>> = {
      operator: await memberActor(ours.operator),
      anyone: { kind: 'anonymous' },
      local: { kind: 'local' },
    };
    for (const { name } of routes)
      for (const [kind, actor] of Object.entries(actors))
        if (operations[name].who !== kind && !(operations[name].who === 'admin' && kind === 'local'))
          expect([name, kind, await failing(actor, name, {})]).toEqual([name, kind, 'forbidden']);
    expect(await stored(app)).toEqual(before);
  });
});

it('deleting one organization leaves every row of the other', async () => {
  const everyRow = async (id: string): Promise<string> =>
    JSON.stringify(
      await Promise.all(
        ['applications', 'api_keys', 'members', 'visitors', 'conversations', 'messages', 'audit'].map(
          (table) => rowsOf(app, `select * from ${table} where organization_id = ? order by id`, id),
        ),
      ),
    );
  const before = await everyRow(theirs.organization.id);
  await app.local('organizations.delete', { organization: 'acme' });
  expect(await everyRow(theirs.organization.id)).toBe(before);
  expect((JSON.parse(await everyRow(ours.organization.id)) as unknown[][]).flat()).toEqual([]);
  for (const [who, path] of [
    [ours.visitor, '/conversations'],
    [ours.byKey, '/conversations'],
    [ours.operator, '/staff/session'],
    [ours.admin, '/staff/conversations'],
  ] as const)
    expect([path, (await ask(app, who, 'GET', path)).status]).toEqual([path, 401]);
  expect((await ask(app, theirs.visitor, 'GET', `/conversations/${theirs.conversationId}`)).status).toBe(200);
  expectCleanLog(app, [
    ours.organization.application.key,
    theirs.organization.application.key,
    ours.operator.token,
    theirs.admin.token,
    visitorId,
    memberPassword,
    'ALPHA',
    'BRAVO',
  ]);
});
