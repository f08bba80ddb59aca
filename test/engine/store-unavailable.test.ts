// Storage in trouble as the transports show it: 503 with Retry-After and never an acknowledgement, while
// everything that only reads goes on and the event loop does not stand still.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { databaseFile } from '../../src/engine/open-engine.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { request, type Reply } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import { openInOtherProcess, type OtherProcess } from '../helpers/process.ts';
import { watchStatements, type Watch } from '../helpers/storage.ts';
import {
  createConversation,
  createMember,
  createOrganization,
  createVisitor,
  createVisitorByKey,
  type TestClient,
  type TestOrganization,
} from '../helpers/fixtures.ts';

let app: TestApp;
let acme: TestOrganization;
let visitor: TestClient;
let conversationId: string;
let otherProcess: OtherProcess;
let watch: Watch;

beforeEach(async () => {
  watch = watchStatements();
  app = await startApp({ realTime: true, flags: { durability: 'full' } });
  acme = await createOrganization(app, 'acme');
  visitor = createVisitor(app, acme.application);
  conversationId = await createConversation(visitor);
  otherProcess = await openInOtherProcess(databaseFile(app.folder));
});

afterEach(async () => {
  await otherProcess.close();
  await app.stop();
  watch.end();
});

const send = (content: string): Promise<Reply> =>
  visitor.call('POST', `/conversations/${conversationId}/messages`, { content });

function expectUnavailable(reply: Reply): void {
  expect([reply.status, reply.body.error, reply.headers.get('retry-after')]).toEqual([
    503,
    'unavailable',
    '1',
  ]);
}

async function contents(): Promise<string[]> {
  const reply = await visitor.call('GET', `/conversations/${conversationId}/messages?limit=100`);
  expect(reply.status).toBe(200);
  return (reply.body.messages as { content: string }[]).map(({ content }) => content);
}

describe('another process holds the write lock', () => {
  it('refuses writes with 503, answers everything else at the same time, and works again afterwards', async () => {
    const socket = await visitor.connect();
    await otherProcess.exec('begin immediate');
    const order: string[] = [];
    const writing = send('refused').then((reply) => {
      order.push('write');
      return reply;
    });
    const health = await request(app.url, 'GET', '/healthz').then((reply) => {
      order.push('health');
      return reply;
    });
    expect(health.status).toBe(200);
    expect(await contents()).toEqual([]);
    await socket.drain();
    expectUnavailable(await writing);
    // Had the write held the process while it waited, it would have been answered first.
    expect(order).toEqual(['health', 'write']);
    socket.send('message:send', { conversationId, content: 'refused too', clientMessageId: 'c1' });
    expect((await socket.receives('error')).clientMessageId).toBe('c1');
    await otherProcess.exec('rollback');
    expect((await send('stored')).status).toBe(201);
    socket.send('message:send', { conversationId, content: 'stored too', clientMessageId: 'c1' });
    await socket.receives('message:ack');
    expect(await contents()).toEqual(['stored', 'stored too']);
  });

  it('lets a short lock pass unnoticed', async () => {
    await otherProcess.exec('begin immediate');
    const writing = send('patient');
    await otherProcess.exec('rollback');
    expect((await writing).status).toBe(201);
  });

  it('does not keep from reading because the use of a key or of a session can not be noted', async () => {
    const member = await createMember(app, 'acme');
    const backend = createVisitorByKey(app, acme.application);
    const { store } = app.service.engine;
    const epoch = await store.freshConfiguration();
    await otherProcess.exec(
      'begin immediate; update api_keys set last_used_at = null; update staff_sessions set last_seen_at = 0; commit',
    );
    await eventually(async () => expect(await store.freshConfiguration()).toBeGreaterThan(epoch));
    await otherProcess.exec('begin immediate');
    for (const reply of [
      await backend.call('GET', '/conversations'),
      await member.call('GET', '/conversations'),
      await member.call('GET', '/session'),
    ])
      expect(reply.status, reply.text).toBe(200);
    await otherProcess.exec('rollback');
    expect((await backend.call('GET', '/conversations')).status).toBe(200);
    expect((await member.call('GET', '/conversations')).status).toBe(200);
    expect(app.logged.join('')).not.toContain('internal error');
  });

  it('is seen live: what the other process commits reaches the sockets within a second, once', async () => {
    const socket = await visitor.connect();
    socket.send('room:join', { conversationId });
    await socket.receives('room:joined');
    const message = "'0193a000-0000-7000-8000-000000000001'";
    await otherProcess.exec(`
      begin immediate;
      insert into messages (id, conversation_id, organization_id, seq, changed_seq, sender_id, sender_role, sender_label, content, content_format, internal, created_at)
        select ${message}, id, organization_id, last_seq + 1, last_seq + 1, 'assistant', 'assistant', 'Bot', 'from elsewhere', 'plain', 0, updated_at from conversations;
      update conversations set last_seq = last_seq + 1;
      insert into events (organization_id, conversation_id, mode, type, audience, actor_id, message_id, created_at)
        select organization_id, id, mode, 'message:new', 'room', 'assistant', ${message}, updated_at from conversations;
      commit`);
    const heard = await socket.receives('message:new');
    expect(heard).toMatchObject({ content: 'from elsewhere', senderName: 'Bot', conversationId });
    // Our own next event follows it in order, and nothing is heard twice.
    const operator = await createMember(app, 'acme');
    await operator.call('POST', `/conversations/${conversationId}/accept`);
    await socket.receives('conversation:accepted');
    await socket.drain();
    expect(socket.all('message:new')).toHaveLength(1);
  });
});

describe('the disk is full', () => {
  it('refuses with 503, never acknowledges, reads on, and resumes without a restart', async () => {
    const acked: string[] = [];
    const member = await createMember(app, 'acme');
    await send('first').then(() => acked.push('first'));
    const writer = watch.writer();
    writer.pragma(`max_page_count = ${(writer.pragma('page_count', { simple: true }) as number) + 8}`);
    let refused = 0;
    for (let index = 0; refused < 5; index += 1) {
      const content = `${index} ${'x'.repeat(4_000)}`;
      const reply = await send(content);
      if (reply.status === 201) acked.push(content);
      else {
        expectUnavailable(reply);
        refused += 1;
      }
    }
    expect(await contents()).toEqual(acked);
    expect((await member.call('GET', `/conversations/${conversationId}`)).status).toBe(200);
    expect((await request(app.url, 'GET', '/readyz')).status).toBe(200);
    writer.pragma('max_page_count = 1000000');
    expect((await send('last')).status).toBe(201);
    expect(await contents()).toEqual([...acked, 'last']);
  });
});
