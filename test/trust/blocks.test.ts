// Owns: blocking a visitor or an address, over real sockets: what is refused and what goes on, how it ends, and that
// no address is kept.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { connectSocket, request, type Reply } from '../helpers/client.ts';
import { rowsOf } from '../helpers/database.ts';
import {
  createApplication,
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
import { ask } from '../helpers/rest-checks.ts';
import { runMaintenance } from '../../src/services/data/maintenance.ts';

let app: TestApp;
let acme: TestOrganization;
let ann: TestMember;
let visitor: TestClient;
let conversationId = '';

beforeEach(async () => {
  app = await startApp({ flags: { trustProxy: '1' } });
  acme = await createOrganization(app, 'acme');
  ann = await createMember(app, 'acme', 'operator', 'Ann');
  visitor = from('192.0.2.5');
  conversationId = await createConversation(visitor);
  await createMessage(visitor, conversationId);
});
afterEach(() => app.stop());

const day = 86_400_000;
const inDays = (days: number): string => new Date(app.clock.now() + days * day).toISOString();

/** A visitor whose page calls from an address. */
function from(address: string, id: string = randomUUID(), application = acme.application): TestClient {
  const made = createVisitor(app, application, id);
  const headers = { ...made.headers, 'x-forwarded-for': address };
  const call: TestClient['call'] = (method, path, body, more = {}) =>
    request(app.url, method, `/api/v1${path}`, { ...headers, ...more }, body);
  const connect: TestClient['connect'] = async () => {
    const { body } = await call('POST', '/widget/ws-token');
    return connectSocket(app.url, body.token as string, {
      origin: application.origin,
      'x-forwarded-for': address,
    });
  };
  return { id, headers, call, connect };
}

const block = (body: object = {}, id = visitor.id): Promise<Reply> =>
  ask(app, ann, 'PUT', `/staff/visitors/${id}/block`, body);
const unblock = (id = visitor.id): Promise<Reply> => ask(app, ann, 'DELETE', `/staff/visitors/${id}/block`);
const refusal = async (reply: Promise<Reply>): Promise<string> => {
  const { status, body } = await reply;
  return status < 400 ? 'let in' : `${status} ${body.error}`;
};
const refused = '403 visitor_blocked';

describe('a blocked visitor', () => {
  it('is refused on every call and connection, and the connections that are open close', async () => {
    const token = (await visitor.call('POST', '/widget/ws-token')).body.token as string;
    const socket = await visitor.connect();
    socket.send('room:join', { conversationId });
    await socket.receives('room:joined');
    const blocked = await block();
    expect(blocked.status).toBe(200);
    expect(blocked.body.block).toEqual({
      id: expect.any(String),
      kind: 'visitor',
      visitor: { id: visitor.id, name: null, applicationId: acme.application.id, mode: 'live' },
      until: null,
      createdBy: ann.id,
      createdAt: expect.any(String),
    });
    expect((await socket.waitForClose()).code).toBe(4403);
    for (const [method, path] of [
      ['GET', '/conversations'],
      ['POST', '/conversations'],
      ['GET', `/conversations/${conversationId}/messages`],
      ['POST', '/widget/ws-token'],
      ['GET', '/visitor'],
    ] as const)
      expect(await refusal(visitor.call(method, path, method === 'POST' ? {} : undefined)), path).toBe(
        refused,
      );
    expect(
      await refusal(createVisitorByKey(app, acme.application, 'live', visitor.id).call('GET', '/visitor')),
    ).toBe(refused);
    // A token from before opens nothing.
    const late = await connectSocket(app.url, token, { origin: acme.application.origin });
    expect(await late.receives('error')).toMatchObject({ code: 'FORBIDDEN' });
    expect((await late.waitForClose()).code).toBe(4403);
  });

  it('is one person: others at the address, and the same id elsewhere, go on', async () => {
    const second = await createApplication(app, 'acme', 'second.example');
    const open = await from('192.0.2.5').connect();
    await block({ applicationId: acme.application.id });
    expect(await refusal(visitor.call('GET', '/visitor'))).toBe(refused);
    expect(await refusal(from('192.0.2.5').call('GET', '/visitor'))).toBe('let in');
    expect(await refusal(from('192.0.2.5', visitor.id, second).call('GET', '/visitor'))).toBe('let in');
    expect(
      await refusal(createVisitorByKey(app, acme.application, 'test', visitor.id).call('GET', '/visitor')),
    ).toBe('let in');
    await open.drain();
    expect(open.closed).toBeNull();
  });

  it('is let in again when the block is lifted, and when its time is over', async () => {
    await block();
    expect((await unblock()).status).toBe(200);
    expect(await refusal(visitor.call('GET', '/visitor'))).toBe('let in');
    await block({ until: inDays(2) });
    app.clock.step(2 * day - 1);
    expect(await refusal(visitor.call('GET', '/visitor'))).toBe(refused);
    app.clock.step(1);
    expect(await refusal(visitor.call('GET', '/visitor'))).toBe('let in');
    expect((await ask(app, ann, 'GET', '/staff/blocks')).body.total).toBe(0);
    expect((await block({ until: inDays(0) })).status).toBe(400);
    await runMaintenance(app.service);
    expect(await rowsOf(app, 'select * from visitor_blocks')).toEqual([]);
  });

  it('costs no read once the blocks are known', async () => {
    await block();
    await visitor.call('GET', '/visitor');
    let reads = 0;
    const { store } = app.service.engine;
    const read = store.read.bind(store);
    store.read = (work) => {
      reads += 1;
      return read(work);
    };
    // Background work may read a few times in between; a read for each request would be twenty.
    for (let call = 0; call < 20; call += 1)
      expect(await refusal(visitor.call('GET', '/conversations'))).toBe(refused);
    expect(reads).toBeLessThan(20);
  });

  it('is erased with the block, and travels with the organization', async () => {
    await block({ address: true });
    const data = await ask(
      app,
      await createMember(app, 'acme', 'admin'),
      'GET',
      `/admin/visitors/${visitor.id}`,
    );
    expect(data.text).toContain('visitors.block');
    await app.local('visitors.erase', { visitorId: visitor.id });
    expect(await rowsOf(app, 'select id from visitor_blocks union select id from address_blocks')).toEqual(
      [],
    );
  });
});

describe('a blocked address', () => {
  it('refuses every caller from it, the configuration of the widget too; calls with an API key go on', async () => {
    const socket = await from('192.0.2.5').connect();
    const elsewhere = await from('192.0.2.6').connect();
    const made = await ask(app, ann, 'POST', '/staff/blocks', { address: '192.0.2.5' });
    expect(made.status).toBe(201);
    expect(made.body.block).toMatchObject({ kind: 'address', visitor: null, until: inDays(30) });
    expect((await socket.waitForClose()).code).toBe(4403);
    expect(await refusal(from('192.0.2.5').call('GET', '/visitor'))).toBe(refused);
    expect(await refusal(from('192.0.2.5').call('GET', '/widget/config'))).toBe(refused);
    expect(await refusal(from('192.0.2.6').call('GET', '/widget/config'))).toBe('let in');
    const backend = createVisitorByKey(app, acme.application);
    expect(
      await refusal(backend.call('GET', '/visitor', undefined, { 'x-forwarded-for': '192.0.2.5' })),
    ).toBe('let in');
    await elsewhere.drain();
    expect(elsewhere.closed).toBeNull();
    const other = await createOrganization(app, 'other');
    expect(await refusal(from('192.0.2.5', randomUUID(), other.application).call('GET', '/visitor'))).toBe(
      'let in',
    );
    expect((await ask(app, ann, 'DELETE', `/staff/blocks/${made.body.block.id}`)).status).toBe(200);
    expect(await refusal(from('192.0.2.5').call('GET', '/visitor'))).toBe('let in');
  });

  it('is that of a visitor where asked, for 30 days at most, and lifted with them', async () => {
    await block({ address: true });
    expect(await refusal(from('192.0.2.5').call('GET', '/visitor'))).toBe(refused);
    const { blocks } = (await ask(app, ann, 'GET', '/staff/blocks')).body;
    expect(
      blocks.map(({ kind, until }: { kind: string; until: string }) => [kind, until]).toSorted(),
    ).toEqual([
      ['address', inDays(30)],
      ['visitor', null],
    ]);
    app.clock.step(29 * day);
    // Used in between, so that the member's session lasts.
    await ann.call('GET', '/session');
    app.clock.step(day);
    expect(await refusal(from('192.0.2.5').call('GET', '/visitor'))).toBe('let in');
    expect(await refusal(visitor.call('GET', '/visitor'))).toBe(refused);
    await unblock();
    expect(await refusal(visitor.call('GET', '/visitor'))).toBe('let in');
    // The newest address counts.
    await from('192.0.2.9', visitor.id).call('POST', '/widget/ws-token');
    await block({ address: true });
    expect(await refusal(from('192.0.2.9').call('GET', '/visitor'))).toBe(refused);
    expect(await refusal(from('192.0.2.5').call('GET', '/visitor'))).toBe('let in');
    expect((await unblock()).status).toBe(200);
    expect(await refusal(from('192.0.2.9').call('GET', '/visitor'))).toBe('let in');
  });

  it('of IPv6 counts with its /64', async () => {
    await ask(app, ann, 'POST', '/staff/blocks', { address: '2001:db8:1:2::7' });
    expect(await refusal(from('2001:db8:1:2:ffff::1').call('GET', '/visitor'))).toBe(refused);
    expect(await refusal(from('2001:db8:1:3::7').call('GET', '/visitor'))).toBe('let in');
  });

  it('that many may share without knowing is told of: the caller’s own, and the server’s machine', async () => {
    const create = async (address: string, own: string): Promise<unknown> => {
      const headers = { authorization: `Bearer ${ann.token}`, 'x-forwarded-for': own };
      return (await request(app.url, 'POST', '/api/v1/staff/blocks', headers, { address })).body.block
        .warning;
    };
    const told = expect.stringContaining('--trust-proxy');
    const local = from('127.0.0.1');
    await createConversation(local);
    expect(await create('192.0.2.1', '192.0.2.2')).toBeUndefined();
    expect(await create('192.0.2.1', '192.0.2.1')).toEqual(told);
    expect(await create('2001:db8::1', '2001:db8::2')).toEqual(told);
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1'])
      expect(await create(address, '192.0.2.2'), address).toEqual(told);
    expect((await block({ address: true })).body.block.warning).toBeUndefined();
    expect((await block({}, local.id)).body.block.warning).toBeUndefined();
    expect((await block({ address: true }, local.id)).body.block.warning).toEqual(told);
  });

  it('must be one, and not too long', async () => {
    const create = (body: object): Promise<Reply> => ask(app, ann, 'POST', '/staff/blocks', body);
    for (const address of ['', 'example.com', '1.2.3', '300.1.1.1'])
      expect((await create({ address })).status, address).toBe(400);
    expect((await create({ address: '192.0.2.1', until: inDays(31) })).status).toBe(400);
    const byKey = createVisitorByKey(app, acme.application);
    await createConversation(byKey);
    expect((await block({ address: true }, byKey.id)).status).toBe(409);
    // All of it or nothing.
    expect(await refusal(byKey.call('GET', '/visitor'))).toBe('let in');
  });

  it('is nowhere to be read', async () => {
    await block({ address: true });
    await ask(app, ann, 'POST', '/staff/blocks', { address: '203.0.113.77' });
    for (const table of ['visitors', 'address_blocks', 'visitor_blocks', 'audit']) {
      const text = JSON.stringify(await rowsOf(app, `select * from ${table}`));
      for (const address of ['192.0.2.5', '203.0.113.77']) expect(text, table).not.toContain(address);
    }
    const digests = (await rowsOf(app, 'select digest from address_blocks')).map((row) => row['digest']);
    expect(digests).toHaveLength(2);
  });
});

it('another organization can neither block, list nor lift', async () => {
  await createOrganization(app, 'other');
  const eve = await createMember(app, 'other', 'admin', 'Eve');
  const made = await block();
  const reach = async (method: string, path: string): Promise<number> =>
    (await ask(app, eve, method, path, method === 'PUT' ? {} : undefined)).status;
  expect(await reach('PUT', `/staff/visitors/${visitor.id}/block`)).toBe(404);
  expect(await reach('DELETE', `/staff/visitors/${visitor.id}/block`)).toBe(404);
  expect(await reach('DELETE', `/staff/blocks/${made.body.block.id}`)).toBe(404);
  expect((await ask(app, eve, 'GET', '/staff/blocks')).body.blocks).toEqual([]);
  expect(await refusal(visitor.call('GET', '/visitor'))).toBe(refused);
});
