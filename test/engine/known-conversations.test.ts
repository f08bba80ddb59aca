// The writing connection keeps the rows of conversations it knows, and how often configuration has changed. Each way in
// which that could be out of date is taken here, and the next message must find everything as it is.
import Database from 'better-sqlite3';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Tx } from '../../src/engine/engine.ts';
import { databaseFile } from '../../src/engine/open-engine.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import {
  createConversation,
  createMember,
  createMessage,
  createOrganization,
  createVisitor,
  type TestClient,
  type TestMember,
} from '../helpers/fixtures.ts';

let app: TestApp;
let visitor: TestClient;
let organization: string;
let operator: TestMember;
let colleague: TestMember;
let conversationId: string;

beforeAll(async () => {
  app = await startApp();
  const { id, application } = await createOrganization(app, 'acme');
  organization = id;
  visitor = createVisitor(app, application);
  operator = await createMember(app, 'acme');
  colleague = await createMember(app, 'acme');
});

afterAll(async () => {
  await app.stop();
});

// From here on the row is known.
beforeEach(async () => {
  conversationId = await createConversation(visitor);
  await createMessage(visitor, conversationId, 'first');
});

const send = (client: TestClient, content = 'next') =>
  client.call('POST', `/conversations/${conversationId}/messages`, { content });

it('another process has closed it', async () => {
  const other = new Database(databaseFile(app.folder));
  other.prepare("update conversations set status = 'closed' where id = ?").run(conversationId);
  other.close();
  expect(await send(visitor)).toMatchObject({ status: 422, body: { error: 'conversation_not_active' } });
});

/** Assigns the conversation, reads its row, and fails. */
async function acceptInVain({ repositories }: Tx): Promise<never> {
  await repositories.conversations.accept(conversationId, operator.id, app.clock.now());
  await repositories.conversations.byId(conversationId);
  throw new Error('half way');
}

it('an operation of the same commit failed after it had written', async () => {
  const { store } = app.service.engine;
  const [failed, next] = await Promise.allSettled([
    store.write({ organization }, acceptInVain),
    store.write({ organization }, ({ repositories }) => repositories.conversations.byId(conversationId)),
  ]);
  expect(failed.status).toBe('rejected');
  expect(next).toMatchObject({ value: { status: 'pending', assigned_to: null } });
});

it('an operation alone in its commit failed after it had written', async () => {
  const failing = app.service.engine.store.alone({ organization }, acceptInVain);
  await expect(failing).rejects.toThrow('half way');
  expect((await send(operator)).status).toBe(403);
});

it('the visitor has another name', async () => {
  await visitor.call('PUT', '/visitor', { name: 'Ada' });
  expect((await send(visitor)).body.message.senderName).toBe('Ada');
  await visitor.call('PUT', '/visitor', { name: 'Grace' });
  expect((await send(visitor)).body.message.senderName).toBe('Grace');
});

it('a member accepted, transferred, released and resolved', async () => {
  const act = (client: TestClient, what: string, body?: object) =>
    client.call('POST', `/conversations/${conversationId}/${what}`, body);
  expect((await send(operator)).status).toBe(403);
  await act(operator, 'accept');
  expect((await send(operator)).status).toBe(201);
  await act(operator, 'transfer', { memberId: colleague.id });
  expect([(await send(operator)).status, (await send(colleague)).status]).toEqual([403, 201]);
  await act(colleague, 'release');
  expect((await send(colleague)).status).toBe(403);
  await act(operator, 'accept');
  expect((await act(operator, 'resolve')).status).toBe(200);
  expect((await send(visitor)).status).toBe(422);
});

it('the visitor was erased', async () => {
  await app.local('visitors.erase', { visitorId: visitor.id });
  expect((await send(visitor)).status).toBe(404);
});

it('another process has written the next message', async () => {
  const other = new Database(databaseFile(app.folder));
  other.prepare('update conversations set last_seq = last_seq + 1 where id = ?').run(conversationId);
  const columns = other.prepare("select name from pragma_table_info('messages')").pluck().all();
  const values: Record<string, string> = {
    number: 'null',
    id: "'foreign'",
    seq: 'seq + 1',
    changed_seq: 'seq + 1',
  };
  other.exec(
    `insert into messages select ${columns.map((name) => values[String(name)] ?? String(name)).join()} from messages where conversation_id = '${conversationId}'`,
  );
  other.close();
  expect((await send(visitor)).status).toBe(201);
  expect(await sequence()).toEqual([1, 2, 3]);
});

it('a message of the same commit was taken back', async () => {
  const { store } = app.service.engine;
  const failing = store.write({ organization }, async ({ repositories }) => {
    const [row] = await repositories.messages.page({
      conversationId,
      notes: true,
      order: 'asc',
      limit: 1,
      offset: 0,
    });
    await repositories.messages.append({ ...row!, id: 'never', client_message_id: null }, 'visitor');
    throw new Error('half way');
  });
  const [failed, next] = await Promise.allSettled([failing, send(visitor)]);
  expect([failed.status, next.status]).toEqual(['rejected', 'fulfilled']);
  expect((await send(visitor)).status).toBe(201);
  expect(await sequence()).toEqual([1, 2, 3]);
});

it('the same message comes again: it takes no number and changes nothing', async () => {
  const again = () =>
    visitor.call('POST', `/conversations/${conversationId}/messages`, {
      content: 'next',
      clientMessageId: 'the same',
    });
  const { body: first } = await again();
  const before = (await visitor.call('GET', `/conversations/${conversationId}`)).body;
  app.clock.advance(1_000);
  expect((await again()).body).toEqual(first);
  expect((await visitor.call('GET', `/conversations/${conversationId}`)).body).toEqual(before);
  expect((await send(visitor)).status).toBe(201);
  expect(await sequence()).toEqual([1, 2, 3]);
});

/** The places of the conversation's messages. */
const sequence = () =>
  app.service.engine.store.read(async ({ repositories }) =>
    (
      await repositories.messages.page({ conversationId, notes: true, order: 'asc', limit: 10, offset: 0 })
    ).map(({ seq }) => seq),
  );

it('another process has changed configuration, and then this one', async () => {
  const { store } = app.service.engine;
  const epoch = () => store.write('server', async (tx) => tx.configurationEpoch());
  expect(await epoch()).toBe(await store.freshConfiguration());
  const other = new Database(databaseFile(app.folder));
  other
    .prepare("update meta set value = cast(cast(value as integer) + 1 as text) where key = 'configuration'")
    .run();
  other.close();
  expect(await epoch()).toBeNull();
  await store.write({ organization }, async (tx) => tx.configurationChanged(organization));
  expect(await epoch()).toBe(await store.freshConfiguration());
});
