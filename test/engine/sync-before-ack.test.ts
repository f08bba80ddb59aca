// Power loss without a power switch: no acknowledgement leaves before the COMMIT of its message has
// returned, and every COMMIT is a synced one. Together they are the promise; the kill test adds the process.
import { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startApp, type TestApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import { watchStatements, type Watch } from '../helpers/storage.ts';
import {
  createConversation,
  createOrganization,
  createVisitor,
  type TestClient,
} from '../helpers/fixtures.ts';

let app: TestApp;
let watch: Watch;
let visitor: TestClient;
/** Messages whose transaction has been committed. */
let committed: Set<string>;
/** What left the server before it was committed. */
let early: string[];
let acknowledged: number;
const originalWrite = Socket.prototype.write;
const originalEnd = ServerResponse.prototype.end;

beforeEach(async () => {
  app = await startApp({ flags: { durability: 'full' } });
  visitor = createVisitor(app, (await createOrganization(app, 'acme')).application);
  committed = new Set();
  early = [];
  acknowledged = 0;
  watch = watchStatements();
  let inserted: string[] = [];
  watch.onFinish = (source, values) => {
    // The driver returns from COMMIT after the sync, or not at all.
    if (source.startsWith('insert into "messages"')) inserted.push(String(values[0]));
    else if (source === 'COMMIT') {
      for (const id of inserted) committed.add(id);
      inserted = [];
    }
  };
  Socket.prototype.write = function write(this: Socket, ...args: unknown[]): boolean {
    const [bytes] = args;
    // The first byte of a text frame. What clients send is masked, and matches nothing.
    if (Buffer.isBuffer(bytes) && bytes[0] === 0x81) leaves(bytes.toString('latin1'));
    return Reflect.apply(originalWrite as (...args: unknown[]) => boolean, this, args);
  };
  ServerResponse.prototype.end = function end(this: ServerResponse, ...args: unknown[]): ServerResponse {
    if (this.statusCode === 201) leaves(String(args[0]));
    return Reflect.apply(originalEnd as (...args: unknown[]) => ServerResponse, this, args);
  };
});

afterEach(async () => {
  Socket.prototype.write = originalWrite;
  ServerResponse.prototype.end = originalEnd;
  watch.end();
  await app.stop();
});

/** Looks at what the server sends, which may be several frames: acks, deliveries, the answer to a send. */
function leaves(text: string): void {
  for (const [, acked, sent] of text.matchAll(
    /"serverMessageId":"([^"]+)"|"message(?::new)?"[^{]*\{"id":"([^"]+)"/g,
  )) {
    const id = acked ?? sent ?? '';
    acknowledged += 1;
    if (!committed.has(id)) early.push(text);
  }
}

it('nothing of a message leaves by WebSocket before its commit is on disk: no ack, no delivery', async () => {
  const conversationId = await createConversation(visitor);
  // Several at once, so that their messages share commits: the first of a group must wait for the last.
  const senders = await Promise.all(Array.from({ length: 8 }, () => visitor.connect()));
  const listener = await visitor.connect();
  listener.send('room:join', { conversationId, echo: true });
  await listener.receives('room:joined');
  for (let index = 0; index < 200; index += 1)
    senders[index % 8]!.send('message:send', {
      conversationId,
      content: `m${index}`,
      clientMessageId: `c${index}`,
    });
  await Promise.all(
    senders.map((sender) => eventually(() => expect(sender.all('message:ack')).toHaveLength(25))),
  );
  await eventually(() => expect(listener.all('message:new')).toHaveLength(200));
  expect(early).toEqual([]);
  expect(acknowledged).toBe(400);
  expect(watch.writer().pragma('synchronous', { simple: true })).toBe(2);
  expect(watch.writer().pragma('journal_mode', { simple: true })).toBe('wal');
});

it('a 201 comes only after the commit', async () => {
  const conversationId = await createConversation(visitor);
  const replies = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      visitor.call('POST', `/conversations/${conversationId}/messages`, { content: `m${index}` }),
    ),
  );
  expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 201));
  expect(early).toEqual([]);
  expect(acknowledged).toBe(50);
});

it('a message whose commit fails is acknowledged nowhere, and is stored by its repetition', async () => {
  const conversationId = await createConversation(visitor);
  const sender = await visitor.connect();
  watch.insteadOfCommit = () => {
    throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_FSYNC' });
  };
  sender.send('message:send', { conversationId, content: 'hello', clientMessageId: 'c1' });
  expect((await sender.receives('error')).code).toBe('RATE_LIMITED');
  expect(sender.all('message:ack')).toEqual([]);
  expect((await visitor.call('GET', `/conversations/${conversationId}/messages`)).body.messages).toEqual([]);
  sender.send('message:send', { conversationId, content: 'hello', clientMessageId: 'c1' });
  await sender.receives('message:ack');
  expect((await visitor.call('GET', `/conversations/${conversationId}/messages`)).body.messages).toHaveLength(
    1,
  );
  expect(early).toEqual([]);
});
