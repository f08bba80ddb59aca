// Owns: the peer that many would build: Socket.IO with SQLite, in a process of its own. Its room, its acknowledgement and
// its delivery, and below them zod and the ceiling's insert, synced before the acknowledgement: in the event's handler, one
// commit for each message, as such a program has it. `group`: with the ceiling's group commit, which it would have to build.
// Must not gain anything that a message does not need, nor lose what Socket.IO gives by default.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Server } from 'socket.io';
import { z } from 'zod';
import { createPeerStore } from './peer-store.ts';
import { serveQuestions } from './protocol.ts';

const [folder = '', pairCount = '50', commits = 'each'] = process.argv.slice(2);
const database = join(folder, `socketio-${commits}.db`);
const store = createPeerStore(database, 'least', commits === 'group' ? 'group' : 'each');

const message = z.object({
  conversationId: z.uuid(),
  content: z.string().min(1).max(5000),
  clientMessageId: z.string().min(1).max(100),
});
const room = z.object({ conversationId: z.uuid(), echo: z.boolean().optional() });

const server = createServer();
const io = new Server(server, { transports: ['websocket'], perMessageDeflate: false });
io.on('connection', (socket) => {
  socket.on('room:join', (payload: unknown) => {
    const { conversationId } = room.parse(payload);
    void socket.join(conversationId);
    socket.emit('room:joined', { conversationId });
  });
  socket.on('message:send', (payload: unknown) => {
    store.add(message.parse(payload), (stored) => {
      const { clientMessageId, id, createdAt } = stored;
      socket.emit('message:ack', { clientMessageId, serverMessageId: id, createdAt });
      socket.to(stored.conversationId).emit('message:new', stored);
    });
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo;
const conversations = Array.from({ length: Number(pairCount) }, () => randomUUID());
const path = '/socket.io/?EIO=4&transport=websocket';

serveQuestions({
  address: () => ({ host: '127.0.0.1', port, database }),
  pairs: async (way) =>
    conversations.map((conversationId) => ({
      conversationId,
      sender: path,
      listener: path,
      mutual: way === 'both',
      headers: {},
      framing: 'socket.io',
    })),
  stop: async () => {
    await io.close();
    store.close();
  },
});
