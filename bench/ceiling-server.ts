// Owns: the ceiling, in a process of its own: the least code that does the same work with the same
// framing. ws or koa in, zod, one prepared insert, group commit with synchronous FULL, ack, delivery.
// Must not gain anything that a message does not need: it is what Deskbell is held against.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Router from '@koa/router';
import Database from 'better-sqlite3';
import Koa from 'koa';
import { WebSocketServer, type WebSocket } from 'ws';
import { z } from 'zod';
import { ownUsage, serveQuestions, type Pair } from './protocol.ts';

const [folder = '', pairCount = '50'] = process.argv.slice(2);

const db = new Database(join(folder, 'ceiling.db'));
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
db.exec(
  'create table messages (id text primary key, conversation_id text not null, sender_id text not null, client_message_id text, content text not null, created_at integer not null)',
);
const begin = db.prepare('BEGIN IMMEDIATE');
const commit = db.prepare('COMMIT');
const insert = db.prepare('insert into messages values (?, ?, ?, ?, ?, ?)');

const rooms = new Map<string, Set<WebSocket>>();
const send = z.object({
  conversationId: z.uuid(),
  content: z.string().min(1).max(5000),
  clientMessageId: z.string().min(1).max(100),
});
const join_ = z.object({ conversationId: z.uuid(), echo: z.boolean().optional() });
const frame = z.discriminatedUnion('type', [
  z.object({ type: z.literal('message:send'), payload: send }),
  z.object({ type: z.literal('room:join'), payload: join_ }),
]);

interface Stored {
  readonly id: string;
  readonly conversationId: string;
  readonly clientMessageId: string;
  readonly content: string;
  readonly createdAt: string;
}
interface Waiting {
  readonly message: Stored;
  readonly from: WebSocket | null;
  readonly done: () => void;
}
let waiting: Waiting[] = [];

/** Ids in order of time, or the insert would be slower than Deskbell's. */
function newId(now: number): string {
  const time = now.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

function store(input: z.output<typeof send>, from: WebSocket | null, done: (message: Stored) => void): void {
  const now = Date.now();
  const message = { id: newId(now), ...input, createdAt: new Date(now).toISOString() };
  if (waiting.length === 0) setImmediate(flush);
  waiting.push({ message, from, done: () => done(message) });
}

function flush(): void {
  const group = waiting;
  waiting = [];
  begin.run();
  for (const { message } of group)
    insert.run(
      message.id,
      message.conversationId,
      'visitor',
      message.clientMessageId,
      message.content,
      Date.parse(message.createdAt),
    );
  commit.run();
  for (const { message, from, done } of group) {
    done();
    const text = JSON.stringify({ type: 'message:new', payload: message });
    for (const socket of rooms.get(message.conversationId) ?? []) if (socket !== from) socket.send(text);
  }
}

const koa = new Koa();
const router = new Router();
router.post('/api/v1/conversations/:conversationId/messages', async (ctx) => {
  const body = JSON.parse(await readText(ctx.req)) as object;
  const { promise, resolve } = Promise.withResolvers<Stored>();
  store(send.parse({ ...body, conversationId: ctx.params['conversationId'] }), null, resolve);
  ctx.status = 201;
  ctx.body = { message: await promise };
});
koa.use(router.routes());

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const handle = koa.callback();
const server = createServer((request, response) => void handle(request, response));
const sockets = new WebSocketServer({ server, perMessageDeflate: false });
sockets.on('connection', (socket) => {
  socket.on('message', (data: Buffer) => {
    const { type, payload } = frame.parse(JSON.parse(data.toString()));
    if (type === 'room:join') {
      const room = rooms.get(payload.conversationId) ?? new Set();
      rooms.set(payload.conversationId, room.add(socket));
      socket.send(
        JSON.stringify({ type: 'room:joined', payload: { conversationId: payload.conversationId } }),
      );
      return;
    }
    store(payload, socket, ({ clientMessageId, id, createdAt }) => {
      socket.send(
        JSON.stringify({ type: 'message:ack', payload: { clientMessageId, serverMessageId: id, createdAt } }),
      );
    });
  });
  socket.on('close', () => {
    for (const room of rooms.values()) room.delete(socket);
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
const pairs: readonly Pair[] = Array.from({ length: Number(pairCount) }, () => ({
  conversationId: randomUUID(),
  socketPath: '/',
  headers: {},
}));

serveQuestions({
  address: () => ({ host: '127.0.0.1', port }),
  pairs: () => pairs,
  usage: ownUsage,
  stop: () => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
    server.closeAllConnections();
    db.close();
    return null;
  },
});
