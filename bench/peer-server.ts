// Owns: the ceilings, in a process of their own: the least code that does the same work with the same framing.
// ws or koa in, zod, the store's group commit, ack, delivery.
// Must not gain anything that a message does not need: it is what Deskbell is held against.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Router from '@koa/router';
import Koa from 'koa';
import { WebSocketServer, type WebSocket } from 'ws';
import { z } from 'zod';
import { createPeerStore, type StoredMessage } from './peer-store.ts';
import { overSocket, serveQuestions } from './protocol.ts';

const [folder = '', pairCount = '50', rows = 'least'] = process.argv.slice(2);
const database = join(folder, `${rows}.db`);
const store = createPeerStore(database, rows === 'fair' ? 'fair' : 'least');

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

function deliver(message: StoredMessage, from: WebSocket | null): void {
  const text = JSON.stringify({ type: 'message:new', payload: message });
  for (const socket of rooms.get(message.conversationId) ?? []) if (socket !== from) socket.send(text);
}

const koa = new Koa();
const router = new Router();
router.post('/api/v1/conversations/:conversationId/messages', async (ctx) => {
  const body = JSON.parse(await readText(ctx.req)) as object;
  const { promise, resolve } = Promise.withResolvers<StoredMessage>();
  store.add(send.parse({ ...body, conversationId: ctx.params['conversationId'] }), resolve);
  const message = await promise;
  ctx.status = 201;
  ctx.body = { message };
  deliver(message, null);
});
koa.use(router.routes());

function readText(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => resolve(Buffer.concat(chunks).toString()));
    request.once('error', reject);
  });
}

const handle = koa.callback();
const server = createServer((request, response) => void handle(request, response));
const sockets = new WebSocketServer({ server, perMessageDeflate: false });
sockets.on('connection', (socket) => {
  const joined: string[] = [];
  socket.on('message', (data: Buffer) => {
    const { type, payload } = frame.parse(JSON.parse(data.toString()));
    if (type === 'room:join') {
      const room = rooms.get(payload.conversationId) ?? new Set();
      rooms.set(payload.conversationId, room.add(socket));
      joined.push(payload.conversationId);
      socket.send(
        JSON.stringify({ type: 'room:joined', payload: { conversationId: payload.conversationId } }),
      );
      return;
    }
    store.add(payload, (message) => {
      const { clientMessageId, id, createdAt } = message;
      socket.send(
        JSON.stringify({ type: 'message:ack', payload: { clientMessageId, serverMessageId: id, createdAt } }),
      );
      deliver(message, socket);
    });
  });
  socket.on('close', () => {
    for (const conversationId of joined) rooms.get(conversationId)?.delete(socket);
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
const conversations = Array.from({ length: Number(pairCount) }, () => randomUUID());

serveQuestions({
  address: () => ({ host: '127.0.0.1', port, database }),
  pairs: async (way) =>
    conversations.map((conversationId) => ({
      conversationId,
      sender: overSocket(way) ? '/' : null,
      listener: '/',
      mutual: way === 'both',
      headers: {},
      framing: 'plain',
    })),
  stop: async () => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
    server.closeAllConnections();
    store.close();
  },
});
