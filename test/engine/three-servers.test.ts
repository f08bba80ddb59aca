// Three servers on one PostgreSQL database, and people who are at all of them at once: what one server does holds at the
// others in the very next request, is heard there, and is counted over all of them.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Link } from '../../src/engine/postgres/link.ts';
import { sizeLimits } from '../../src/protocol/codes.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { connectSocket, type TestSocket } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestClient,
  type TestMember,
  type TestOrganization,
} from '../helpers/fixtures.ts';
import { askDatabase } from '../helpers/postgres.ts';
import { Receiver } from '../helpers/receiver.ts';

let servers: TestApp[];
let acme: TestOrganization;
let admin: TestMember;
let operators: TestMember[];

beforeAll(async () => {
  const first = await startApp({
    engine: 'postgres',
    flags: { limitVisitor: '30/m', webhookPrivate: 'allow' },
  });
  servers = [first, await first.beside(), await first.beside()];
  acme = await createOrganization(first, 'acme');
  await first.local('organizations.update', {
    organization: 'acme',
    limits: { requestsPerMinute: 1_000_000 },
  });
  admin = await createMember(first, 'acme', 'admin', 'Ada');
  operators = [];
  for (let index = 0; index < 6; index += 1)
    operators.push(await createMember(first, 'acme', 'operator', `Operator ${index}`));
});

afterAll(async () => {
  for (const server of servers.toReversed()) await server.stop();
});

const server = (index: number): TestApp => servers[index % servers.length] ?? expect.unreachable();

/** The same visitor, at one of the servers. */
const visitorAt = (index: number, id?: string): TestClient =>
  createVisitor(server(index), acme.application, id);

/** A member's request to one of the servers. */
const ask = (index: number, { headers }: TestMember, method: string, path: string, body?: unknown) =>
  fetch(`${server(index).url}/api/v1${path}`, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

const socketAt = async (index: number, member: TestMember): Promise<TestSocket> => {
  const reply = await ask(index, member, 'POST', '/staff/ws-token');
  const { token } = (await reply.json()) as { token: string };
  return connectSocket(server(index).url, token);
};

describe('one conversation at three servers', () => {
  it('is numbered without a gap, and heard in that order everywhere', async () => {
    const visitor = visitorAt(0);
    const conversationId = await createConversation(visitor);
    const watchers = await Promise.all(servers.map((_, index) => visitorAt(index, visitor.id).connect()));
    for (const watcher of watchers) {
      watcher.send('room:join', { conversationId });
      await watcher.receives('room:joined');
    }
    await ask(0, admin, 'POST', `/staff/conversations/${conversationId}/accept`);
    const sent = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const reply = await ask(index, admin, 'POST', `/staff/conversations/${conversationId}/messages`, {
          content: `message ${index}`,
        });
        return ((await reply.json()) as { message: { id: string } }).message.id;
      }),
    );
    const rows = await askDatabase(
      server(0).database ?? expect.unreachable(),
      `select id, seq from messages where conversation_id = '${conversationId}' order by seq`,
    );
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: sent.length }, (_, index) => index + 1));
    for (const watcher of watchers) {
      await eventually(() => {
        // On a busy machine a server may have failed to read the log in time: it reads again after a while by this clock.
        server(0).clock.advance(10);
        expect(watcher.all('message:new')).toHaveLength(sent.length);
      });
      expect(watcher.all('message:new').map(({ payload }) => payload.id)).toEqual(rows.map(({ id }) => id));
      await watcher.close();
    }
  });

  it('has one who accepts it, and the others are told who', async () => {
    for (let round = 0; round < 5; round += 1) {
      const conversationId = await createConversation(visitorAt(round));
      const replies = await Promise.all(
        operators.map((operator, index) =>
          ask(index, operator, 'POST', `/staff/conversations/${conversationId}/accept`),
        ),
      );
      const statuses = replies.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      expect(statuses.filter((status) => status === 409)).toHaveLength(operators.length - 1);
      const winner = operators[statuses.indexOf(200)]?.id;
      for (const reply of replies.filter(({ status }) => status === 409))
        expect(await reply.text()).toContain(winner);
    }
  });
});

describe('what is withdrawn at one server', () => {
  it('is refused by the others in the very next request, and their sockets are closed', async () => {
    for (let round = 0; round < 6; round += 1) {
      const key = await server(round).local('keys.create', { applicationId: acme.application.id });
      const others = [1, 2].map((step) =>
        createVisitorByKey(server(round + step), { ...acme.application, key: key.key }),
      );
      for (const other of others) expect((await other.call('GET', '/conversations')).status).toBe(200);
      await server(round).local('keys.revoke', { keyId: key.id });
      const after = await Promise.all(others.map((other) => other.call('GET', '/conversations')));
      expect(after.map(({ status }) => status)).toEqual([401, 401]);
    }
    const member = await createMember(server(0), 'acme', 'operator', 'Gone Soon');
    const sockets = await Promise.all([1, 2].map((index) => socketAt(index, member)));
    await server(0).local('members.update', { memberId: member.id, disabled: true });
    const after = await Promise.all([1, 2].map((index) => ask(index, member, 'GET', '/staff/conversations')));
    expect(after.map(({ status }) => status)).toEqual([401, 401]);
    for (const socket of sockets) expect((await socket.waitForClose()).code).toBe(4403);
  });
});

describe('what is counted', () => {
  it('is counted over all servers: the requests of a visitor', async () => {
    const id = crypto.randomUUID();
    const replies = await Promise.all(
      Array.from({ length: 90 }, (_, index) => visitorAt(index, id).call('GET', '/conversations')),
    );
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(30);
    const refused = replies.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(60);
    const wait = Math.max(...refused.map(({ headers }) => Number(headers.get('retry-after'))));
    expect(wait).toBe(60);
    server(0).clock.advance(wait * 1_000);
    expect((await visitorAt(1, id).call('GET', '/conversations')).status).toBe(200);
  });

  it('the seats of an organization, and its last admin', async () => {
    const small = await createOrganization(server(0), 'small');
    await server(0).local('organizations.update', { organization: small.slug, limits: { seats: 3 } });
    const added = await Promise.allSettled(
      Array.from({ length: 12 }, (_, index) =>
        server(index).local('members.add', {
          organization: small.slug,
          email: `m${index}@small.example`,
          name: `Member ${index}`,
          role: 'admin',
          password: 'correct horse battery staple',
        }),
      ),
    );
    const made = added.flatMap((one) => (one.status === 'fulfilled' ? [one.value.id] : []));
    expect(made).toHaveLength(3);
    const removed = await Promise.allSettled(
      made.map((memberId, index) => server(index).local('members.remove', { memberId })),
    );
    expect(removed.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  });

  it('the sockets of a visitor', async () => {
    const visitor = visitorAt(0);
    await visitor.call('GET', '/conversations');
    const { body } = await visitor.call('POST', '/widget/ws-token');
    const open = (index: number): Promise<TestSocket> =>
      connectSocket(server(index).url, body.token, { origin: acme.application.origin });
    const sockets = await Promise.all(Array.from({ length: 24 }, (_, index) => open(index)));
    const isOpen = ({ socket }: TestSocket): boolean => socket.readyState === socket.OPEN;
    const held = sockets.filter(isOpen);
    expect(held).toHaveLength(20);
    expect(isOpen(await open(1))).toBe(false);
    await held[0]?.close();
    await eventually(async () => {
      const again = await open(2);
      expect(isOpen(again)).toBe(true);
      held.push(again);
    });
    await Promise.all(held.map((socket) => socket.close()));
  });
});

describe('who is there', () => {
  it('is known everywhere: online with the first connection, offline with the last; typing crosses', async () => {
    const visitor = visitorAt(1);
    const conversationId = await createConversation(visitor);
    const socket = await visitor.connect();
    socket.send('room:join', { conversationId });
    await socket.receives('room:joined');
    const [one, other] = [await socketAt(0, admin), await socketAt(2, admin)];
    await socket.receives('presence', ({ online }) => online);
    one.send('room:join', { conversationId });
    await one.receives('room:joined');
    one.send('typing:start', { conversationId });
    await socket.receives('typing:start');
    socket.frames.length = 0;
    await one.close();
    await other.drain();
    expect(socket.all('presence')).toEqual([]);
    await other.close();
    await socket.receives('presence', ({ online }) => online === false);
    await socket.close();
  });
});

describe('typing', () => {
  it('lapses where the server of who types says no more', async () => {
    const visitor = visitorAt(1);
    const conversationId = await createConversation(visitor);
    const socket = await visitor.connect();
    socket.send('room:join', { conversationId });
    await socket.receives('room:joined');
    // As a server tells of it that is killed then.
    server(0).service.engine.signals.send({
      type: 'typing',
      organizationId: acme.id,
      conversationId,
      userId: admin.id,
      userName: 'Ada',
      senderRole: 'operator',
      active: true,
    });
    await socket.receives('typing:start');
    server(0).clock.advance(sizeLimits.typingLapseMs);
    await socket.drain();
    expect(socket.all('typing:stop')).toEqual([]);
    server(0).clock.advance(5_000);
    await socket.receives('typing:stop', ({ userId }) => userId === admin.id);
    await socket.close();
  });
});

describe('a server whose clock is wrong', () => {
  it('says so in its log, and what to do', async () => {
    const query = Reflect.get(Link.prototype, 'query');
    const spy = vi.spyOn(Link.prototype, 'query').mockImplementation(async function ahead(
      this: Link,
      ...given
    ) {
      const answer = await Reflect.apply(query, this, given);
      if (given[0].name === 'read_clock')
        for (const row of answer.rows as { now: number }[]) row.now += 180_000;
      return answer;
    });
    const late = await server(0).beside();
    try {
      expect(late.logged.join('')).toMatch(/"seconds":180,.*Set the clocks of all machines right/);
      expect(server(0).logged.join('')).not.toContain('the clocks of');
    } finally {
      spy.mockRestore();
      await late.stop();
    }
  });
});

describe('a webhook', () => {
  it('hears each event of all servers once, and of a conversation in order', async () => {
    const receiver = await new Receiver().start();
    try {
      const { status } = await ask(0, admin, 'POST', '/admin/webhooks', {
        url: receiver.url,
        events: ['message:new'],
      });
      expect(status).toBe(201);
      const visitor = visitorAt(0);
      const conversationId = await createConversation(visitor);
      const sent: string[] = [];
      for (let index = 0; index < 25; index += 1)
        sent.push(await createMessage(visitorAt(index, visitor.id), conversationId, `event ${index}`));
      const taken = await receiver.has(sent.length);
      expect(taken.map(({ event }) => event.data['id'])).toEqual(sent);
      expect(new Set(taken.map(({ id }) => id)).size).toBe(sent.length);
      expect(receiver.all).toHaveLength(sent.length);
    } finally {
      await receiver.stop();
    }
  });
});

describe('a session', () => {
  it('that is used at one server has not run out at another that knew it before', async () => {
    const member = await createMember(server(0), 'acme', 'operator', 'Slow');
    const day = 86_400_000;
    const status = async (index: number): Promise<number> =>
      (await ask(index, member, 'GET', '/staff/session')).status;
    expect(await Promise.all([status(0), status(1), status(2)])).toEqual([200, 200, 200]);
    for (const index of [0, 0, 1]) {
      server(0).clock.step(20 * day);
      expect(await status(index)).toBe(200);
    }
    expect(await status(2)).toBe(200);
    server(0).clock.step(31 * day);
    expect(await Promise.all([status(0), status(1), status(2)])).toEqual([401, 401, 401]);
    server(0).clock.step(-91 * day);
  });
});

describe('a database that has lost commits', () => {
  it('has the servers close their sockets, and count their queues anew', async () => {
    const conversationId = await createConversation(visitorAt(0));
    const sockets = await Promise.all(servers.map((_, index) => socketAt(index, admin)));
    const count = async (index: number): Promise<number> => {
      const reply = await ask(index, admin, 'GET', '/staff/conversations?status=pending');
      return ((await reply.json()) as { total: number }).total;
    };
    const before = await count(0);
    const database = server(0).database ?? expect.unreachable();
    // As a standby that had not received the newest commit.
    await askDatabase(database, `delete from participants where conversation_id = '${conversationId}'`);
    await askDatabase(database, `delete from conversations where id = '${conversationId}'`);
    await askDatabase(
      database,
      'delete from queue_changes where number = (select max(number) from queue_changes)',
    );
    await askDatabase(database, 'delete from events where seq = (select max(seq) from events)');
    await askDatabase(
      database,
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name like 'deskbell%' and datname = current_database()`,
    );
    for (const index of [0, 1, 2]) await eventually(async () => expect(await count(index)).toBe(before - 1));
    for (const socket of sockets) expect((await socket.waitForClose()).code).toBe(1001);
  });
});
