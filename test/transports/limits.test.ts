// Attacks the rate limits over both transports with a clock that moves by hand: no burst at a
// window's edge, no punishment for trying, no way to be counted as someone else.
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { Flags } from '../../src/config.ts';
import { makeApiKey } from '../../src/services/auth/secrets.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { Reply } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import { eventually } from '../helpers/eventually.ts';
import { ask, askRaw, expectCleanLog, checkReply, stored, type Caller } from '../helpers/rest-checks.ts';
import { request } from '../helpers/client.ts';
import {
  createConversation,
  createMember,
  createApplication,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  memberPassword,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;

async function start(flags: Flags): Promise<void> {
  app = await startApp({ flags });
  acme = await createOrganization(app, 'acme');
}

afterEach(async () => {
  expectCleanLog(app, [acme.application.key, memberPassword]);
  await app.stop();
});

const list = (who: Caller): Promise<Reply> => ask(app, who, 'GET', '/conversations');
async function times(count: number, call: () => Promise<Reply>): Promise<number[]> {
  const statuses: number[] = [];
  for (let at = 0; at < count; at += 1) statuses.push((await call()).status);
  return statuses;
}
const all = (count: number, status: number): number[] => Array.from({ length: count }, () => status);

describe('one visitor', () => {
  it('has ten a second, and is told how to wait', async () => {
    await start({ limitVisitor: '10/s,120/m,2000/h' });
    const visitor = createVisitorByKey(app, acme.application);
    const other = createVisitorByKey(app, acme.application);
    expect(await times(10, () => list(visitor))).toEqual(all(10, 200));
    const refused = await list(visitor);
    expect(refused.status).toBe(429);
    expect(refused.body).toEqual({
      error: 'rate_limit_exceeded',
      message: expect.stringContaining('1 s'),
      cause: 'per_visitor',
      retryAfter: 1,
    });
    expect(refused.headers.get('ratelimit-policy')).toBe(
      '"visitor-second";q=10;w=1, "visitor-minute";q=120;w=60, "visitor-hour";q=2000;w=3600',
    );
    expect((await list(other)).status).toBe(200);
    // By page, in other letters, on another path: still the same visitor.
    for (const who of [
      createVisitor(app, acme.application, visitor.id),
      createVisitorByKey(app, acme.application, 'live', visitor.id.toUpperCase()),
    ])
      expect((await ask(app, who, 'GET', '/visitor')).status).toBe(429);
    const before = await stored(app);
    expect((await ask(app, visitor, 'POST', '/conversations', { subject: 'no' })).status).toBe(429);
    expect(await stored(app)).toEqual(before);
    // Another application, another mode: another person.
    expect((await list(createVisitorByKey(app, acme.application, 'test', visitor.id))).status).toBe(200);
  });

  it('never has more than ten in any second, whatever the edge', async () => {
    await start({ limitVisitor: '10/s' });
    const visitor = createVisitorByKey(app, acme.application);
    expect((await list(visitor)).status).toBe(200);
    app.clock.advance(900);
    expect(await times(9, () => list(visitor))).toEqual(all(9, 200));
    app.clock.advance(99);
    expect((await list(visitor)).status).toBe(429);
    app.clock.advance(11);
    expect(await times(10, () => list(visitor))).toEqual([200, ...all(9, 429)]);
    // The refused tries cost nothing: at 1900 the nine of 900 are over.
    app.clock.advance(890);
    expect(await times(10, () => list(visitor))).toEqual([...all(9, 200), 429]);
  });

  it('is held to the minute and the hour as well', async () => {
    await start({ limitVisitor: '10/s,20/m,30/h' });
    const visitor = createVisitorByKey(app, acme.application);
    const burst = async (count: number): Promise<number> =>
      (await times(count, () => list(visitor))).filter((status) => status === 200).length;
    expect(await burst(10)).toBe(10);
    app.clock.advance(1_000);
    expect(await burst(12)).toBe(10);
    app.clock.advance(1_000);
    const minute = await list(visitor);
    expect([minute.status, minute.body.retryAfter]).toEqual([429, 58]);
    app.clock.advance(58_000);
    expect(await burst(12)).toBe(10);
    app.clock.advance(60_000);
    const hour = await list(visitor);
    expect([hour.status, hour.body.retryAfter]).toEqual([429, 3600 - 120]);
    app.clock.advance(3_480_000);
    expect((await list(visitor)).status).toBe(200);
  });

  it('is counted together over REST and the socket', async () => {
    await start({ limitVisitor: '10/s' });
    const visitor = createVisitor(app, acme.application);
    const conversationId = await createConversation(visitor);
    const socket = await visitor.connect();
    app.clock.advance(1_001);
    expect(await times(5, () => list(visitor))).toEqual(all(5, 200));
    for (let at = 0; at < 5; at += 1)
      socket.send('message:send', { conversationId, content: `m${at}`, clientMessageId: `c${at}` });
    await socket.receives('message:ack', ({ clientMessageId }) => clientMessageId === 'c4');
    expect((await list(visitor)).status).toBe(429);
    socket.send('message:send', { conversationId, content: 'one too many', clientMessageId: 'c5' });
    expect(await socket.receives('error')).toMatchObject({
      code: 'RATE_LIMITED',
      conversationId,
      clientMessageId: 'c5',
    });
    expect(await rowsOf(app, 'select count(*) as n from messages')).toEqual([{ n: 5 }]);
    await socket.close();
  });

  it('who hammers waits no longer than who waits', async () => {
    await start({ limitVisitor: '10/s' });
    const visitor = createVisitorByKey(app, acme.application);
    await times(10, () => list(visitor));
    for (let at = 0; at < 9; at += 1) {
      app.clock.advance(100);
      expect(await times(5, () => list(visitor))).toEqual(all(5, 429));
    }
    app.clock.advance(100);
    expect(await times(11, () => list(visitor))).toEqual([...all(10, 200), 429]);
  });

  it('is neither freed nor locked out by a step of the wall clock', async () => {
    await start({ limitVisitor: '10/s,15/m' });
    const visitor = createVisitorByKey(app, acme.application);
    await times(10, () => list(visitor));
    app.clock.step(3_600_000);
    expect((await list(visitor)).status).toBe(429);
    app.clock.step(-7_200_000);
    expect((await list(visitor)).status).toBe(429);
    app.clock.advance(1_000);
    expect(await times(6, () => list(visitor))).toEqual([...all(5, 200), 429]);
    app.clock.advance(60_000);
    expect((await list(visitor)).status).toBe(200);
  });

  it('has only so many conversations waiting', async () => {
    await start({ maxPendingPerVisitor: '3' });
    const visitor = createVisitorByKey(app, acme.application);
    const open = (): Promise<Reply> => ask(app, visitor, 'POST', '/conversations', {});
    expect(await times(3, open)).toEqual(all(3, 201));
    const refused = await open();
    expect([refused.status, refused.body.cause]).toEqual([429, 'per_visitor']);
    const replies = await Promise.all(Array.from({ length: 10 }, open));
    expect(replies.map(({ status }) => status)).toEqual(all(10, 429));
    const admin = await createMember(app, 'acme', 'admin');
    const [{ id } = { id: '' }] = (await rowsOf(app, 'select id from conversations limit 1')) as {
      id: string;
    }[];
    await admin.call('POST', `/conversations/${id}/resolve`);
    expect(await times(2, open)).toEqual([201, 429]);
  });

  it('is without limit when the setting is off', async () => {
    await start({});
    const visitor = createVisitor(app, acme.application);
    expect(await times(60, () => list(visitor))).toEqual(all(60, 200));
  });
});

describe('an application and an organization', () => {
  it('the application’s limit is of all its visitors, and of no other’s', async () => {
    await start({ limitApplication: '6/s' });
    const second = await createApplication(app, 'acme', 'second.example');
    // Visitors without a conversation have four fifths of it, rounded down.
    expect(await times(4, () => list(createVisitorByKey(app, acme.application)))).toEqual(all(4, 200));
    const refused = await list(createVisitor(app, acme.application));
    expect([refused.status, refused.body.cause]).toEqual([429, 'per_application']);
    // The configuration is counted by address alone.
    const page = { headers: { 'x-app-id': acme.application.id, origin: acme.application.origin } };
    expect((await ask(app, page, 'GET', '/widget/config')).status).toBe(200);
    expect((await list(createVisitorByKey(app, second))).status).toBe(200);
    expect((await ask(app, await createMember(app, 'acme'), 'GET', '/staff/conversations')).status).toBe(200);
  });

  it('the organization’s limit is of everybody in it', async () => {
    await start({});
    const other = await createOrganization(app, 'other');
    const second = await createApplication(app, 'acme', 'second.example');
    const member = await createMember(app, 'acme');
    // Visitors have four fifths of it, staff all of it.
    await app.local('organizations.update', { organization: 'acme', limits: { requestsPerMinute: 30 } });
    const [one, two, three] = [
      createVisitorByKey(app, acme.application),
      createVisitorByKey(app, second),
      createVisitor(app, acme.application),
    ];
    for (const who of [one, two, three]) expect(await times(8, () => list(who))).toEqual(all(8, 200));
    for (const who of [one, two, three])
      expect((await list(who)).headers.get('ratelimit-policy')).toBe('"organization-minute";q=24;w=60');
    expect(await times(6, () => ask(app, member, 'GET', '/staff/conversations'))).toEqual(all(6, 200));
    for (const refused of [await ask(app, member, 'GET', '/staff/session')])
      expect([
        refused.status,
        refused.body.cause,
        refused.body.retryAfter,
        refused.headers.get('ratelimit-policy'),
      ]).toEqual([429, 'per_organization', 60, '"organization-minute";q=30;w=60']);
    expect((await list(createVisitorByKey(app, other.application))).status).toBe(200);
    await app.local('organizations.update', { organization: 'acme', limits: { requestsPerMinute: null } });
    expect((await list(one)).status).toBe(200);
  });

  it('the organization’s limit is another for its members at once when it is changed', async () => {
    await start({});
    const member = await createMember(app, 'acme');
    const queue = (): Promise<Reply> => ask(app, member, 'GET', '/staff/conversations');
    const limit = (requestsPerMinute: number | null): Promise<unknown> =>
      app.local('organizations.update', { organization: 'acme', limits: { requestsPerMinute } });
    await limit(30);
    expect(await times(31, queue)).toEqual([...all(30, 200), 429]);
    // What was counted still counts.
    await limit(50);
    expect(await times(21, queue)).toEqual([...all(20, 200), 429]);
    await limit(10);
    expect((await queue()).status).toBe(429);
    await limit(null);
    expect((await queue()).status).toBe(200);
  });

  it('the free plan has 600 a minute, of which visitors use 480', async () => {
    await start({});
    const free = await createOrganization(app, 'free', 'free');
    const visitor = createVisitorByKey(app, free.application);
    const replies = await Promise.all(Array.from({ length: 620 }, () => list(visitor)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(480);
    expect(new Set(replies.filter(({ status }) => status !== 200).map(({ body }) => body.cause))).toEqual(
      new Set(['per_organization']),
    );
  });
});

describe('one address', () => {
  it('makes only so many visitors by the origin way, and any number by key', async () => {
    await start({ limitAddressNew: '5/s,60/m' });
    const fresh = (): Promise<Reply> =>
      ask(app, createVisitor(app, acme.application), 'POST', '/conversations', {});
    expect(await times(5, fresh)).toEqual(all(5, 201));
    const before = await stored(app);
    for (const [method, path, body] of [
      ['POST', '/conversations', {}],
      ['GET', '/visitor', undefined],
      ['PUT', '/visitor', { name: 'x' }],
      ['POST', '/widget/ws-token', undefined],
    ] as const) {
      const refused = await ask(app, createVisitor(app, acme.application), method, path, body);
      expect([path, refused.status, refused.body.cause]).toEqual([path, 429, 'per_address']);
    }
    expect(await stored(app)).toEqual(before);
    expect(
      await times(20, () =>
        ask(app, createVisitorByKey(app, acme.application), 'POST', '/conversations', {}),
      ),
    ).toEqual(all(20, 201));
    app.clock.advance(1_000);
    expect(await times(6, fresh)).toEqual([...all(5, 201), 429]);
  });

  it('counts new conversations of an old visitor too', async () => {
    await start({ limitAddressNew: '5/s' });
    const visitor = createVisitor(app, acme.application);
    expect(await times(6, () => ask(app, visitor, 'POST', '/conversations', {}))).toEqual([
      ...all(5, 201),
      429,
    ]);
    expect((await list(visitor)).status).toBe(200);
  });

  it('is refused only so often, as by a page that is not registered, and by nothing else than its own requests', async () => {
    await start({ limitAddress: '5/s', limitAddressConfig: '3/s' });
    const { id, origin } = acme.application;
    const visitor = createVisitor(app, acme.application);
    const foreign = { headers: { ...visitor.headers, origin: 'https://elsewhere.example' } };
    const noVisitor = { headers: { 'x-app-id': id, origin } };
    expect(await times(3, () => list(foreign))).toEqual(all(3, 403));
    expect(await times(2, () => list(noVisitor))).toEqual(all(2, 400));
    const refused = await list(foreign);
    expect([refused.status, refused.body.cause]).toEqual([429, 'per_address']);
    expect((await list(visitor)).status).toBe(429);
    // The configuration is counted apart, and a backend's requests are no address's.
    const config = (): Promise<Reply> => ask(app, foreign, 'GET', '/widget/config');
    expect(await times(4, config)).toEqual([...all(3, 403), 429]);
    expect((await list(createVisitorByKey(app, acme.application))).status).toBe(200);
    app.clock.advance(1_000);
    expect((await list(visitor)).status).toBe(200);
  });

  it('of a backend whose requests are refused is its application', async () => {
    await start({ limitApplication: '5/s', limitAddress: '2/s' });
    const { headers } = createVisitorByKey(app, acme.application);
    const foreign = { headers: { ...headers, origin: 'https://elsewhere.example' } };
    expect(await times(5, () => list(foreign))).toEqual(all(5, 403));
    const refused = await list(foreign);
    expect([refused.status, refused.body.cause]).toEqual([429, 'per_application']);
  });

  it('fails only so often, whatever it says of itself; who has a key is not in the way', async () => {
    await start({ limitAddressFailed: '10/s,60/m' });
    let at = 0;
    const wrong = (): Promise<Reply> => {
      at += 1;
      return ask(
        app,
        {
          headers: {
            authorization: `Bearer ${makeApiKey('live').text}`,
            'x-app-id': acme.application.id,
            'x-visitor-id': randomUUID(),
            'x-forwarded-for': `10.0.0.${at}`,
            'x-real-ip': `10.0.1.${at}`,
            forwarded: `for=10.0.2.${at}`,
            'cf-connecting-ip': `10.0.3.${at}`,
            'true-client-ip': `10.0.4.${at}`,
            'x-client-ip': `10.0.5.${at}`,
          },
        },
        'GET',
        '/conversations',
      );
    };
    expect(await times(10, wrong)).toEqual(all(10, 401));
    const refused = await wrong();
    expect([refused.status, refused.body.cause]).toEqual([429, 'per_address']);
    expect((await ask(app, { headers: {} }, 'GET', '/staff/session')).status).toBe(429);
    expect(
      (
        await ask(app, { headers: {} }, 'POST', '/staff/session', {
          organization: 'acme',
          email: 'a@b.example',
          password: 'wrong',
        })
      ).status,
    ).toBe(429);
    expect((await list(createVisitorByKey(app, acme.application))).status).toBe(200);
    app.clock.advance(1_000);
    expect((await wrong()).status).toBe(401);
  });

  it('is the one that the trusted proxy appended', async () => {
    await start({ limitAddressFailed: '3/s', trustProxy: '1' });
    const wrong = (forwarded: string): Promise<Reply> =>
      ask(app, { headers: { 'x-forwarded-for': forwarded } }, 'GET', '/staff/session');
    for (const lie of ['1.1.1.1', '2.2.2.2', '3.3.3.3'])
      expect((await wrong(`${lie}, 9.9.9.9`)).status).toBe(401);
    expect((await wrong('4.4.4.4, 9.9.9.9')).status).toBe(429);
    expect((await wrong('9.9.9.9, 8.8.8.8')).status).toBe(401);
  });

  it('preflights and the probes count for no one', async () => {
    await start({
      limitVisitor: '3/s',
      limitApplication: '4/s',
      limitAddressNew: '1/s',
      limitAddressFailed: '1/s',
    });
    const visitor = createVisitor(app, acme.application);
    for (let at = 0; at < 30; at += 1) {
      expect(
        (
          await askRaw(app, {
            method: 'OPTIONS',
            path: '/api/v1/conversations',
            headers: [['Origin', acme.application.origin]],
          })
        ).status,
      ).toBe(204);
      expect((await askRaw(app, { path: '/healthz' })).status).toBe(200);
    }
    expect(await times(4, () => list(visitor))).toEqual([...all(3, 200), 429]);
  });
});

describe('signing in', () => {
  const signIn = (email: string, password: string, address: string): Promise<Reply> =>
    request(
      app.url,
      'POST',
      '/api/v1/staff/session',
      { 'x-forwarded-for': address },
      { organization: 'acme', email, password },
    ).then((reply) => checkReply(reply, 'POST', '/api/v1/staff/session'));
  /** Runs the pauses that the service makes, until the reply is there. */
  const patiently = async (pending: Promise<Reply>): Promise<Reply> => {
    let reply: Reply | null = null;
    void pending.then((come) => {
      reply = come;
    });
    return eventually(() => {
      app.clock.advance(1_000);
      if (reply === null) throw new Error('no reply yet');
      return reply;
    });
  };

  it('twenty accounts from one address are held back; the same from elsewhere are not', async () => {
    await start({ limitAddressFailed: '10/s,60/m', trustProxy: '1' });
    const member = await createMember(app, 'acme');
    const statuses: number[] = [];
    for (let at = 0; at < 20; at += 1)
      statuses.push((await signIn(`unknown${at}@acme.example`, 'wrong password', '10.0.0.1')).status);
    expect(statuses).toEqual([...all(10, 401), ...all(10, 429)]);
    expect((await signIn(member.email, memberPassword, '10.0.0.1')).status).toBe(429);
    expect((await signIn(member.email, memberPassword, '10.0.0.2')).status).toBe(201);
  });

  it('one account from twenty addresses is slowed down, and its owner still gets in', async () => {
    await start({ limitAddressFailed: '10/s,60/m', trustProxy: '1' });
    const member = await createMember(app, 'acme');
    for (let at = 0; at < 5; at += 1)
      expect((await signIn(member.email, 'wrong password', `10.0.0.${at}`)).status).toBe(401);
    let answered = false;
    const sixth = signIn(member.email, 'wrong password', '10.0.0.6').finally(() => {
      answered = true;
    });
    // Anyone who comes with another account in between is answered first.
    const colleague = await createMember(app, 'acme');
    expect((await signIn(colleague.email, memberPassword, '10.0.0.7')).status).toBe(201);
    expect(answered).toBe(false);
    expect((await patiently(sixth)).status).toBe(401);
    expect((await patiently(signIn(member.email, memberPassword, '10.0.0.8'))).status).toBe(201);
  });
});
