// One visitor asks again and again for a long history, on every connection that a visitor may have.
import { randomUUID } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { startApp, type TestApp } from '../helpers/app.ts';
import type { TestSocket } from '../helpers/client.ts';
import { eventually } from '../helpers/eventually.ts';
import { measureLoop } from '../helpers/loop-delay.ts';
import { createConversation, createMessage, createOrganization, createVisitor } from '../helpers/fixtures.ts';

const messages = 2_000;
const connections = 20;

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ realTime: true });
});
afterAll(async () => {
  vi.restoreAllMocks();
  await app.stop();
});

/** Asks for /healthz from another thread, as fast as it is answered; the answer times in ms when it is stopped. */
function probe(): { stop(): Promise<number[]> } {
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     let over = false; parentPort.on('message', () => { over = true; });
     (async () => {
       const times = [];
       while (!over) {
         const began = performance.now();
         await (await fetch(workerData)).text();
         times.push(performance.now() - began);
         await new Promise((resolve) => setTimeout(resolve, 10));
       }
       parentPort.postMessage(times); parentPort.close();
     })();`,
    { eval: true, workerData: `${app.url}/healthz` },
  );
  return {
    stop: () =>
      new Promise((resolve) => {
        worker.once('message', resolve);
        worker.postMessage('stop');
      }),
  };
}

it('a sync flood leaves others answered, sends little and ends with 4429', async () => {
  const { id: organizationId, application } = await createOrganization(app, 'acme');
  const visitor = createVisitor(app, application);
  const conversationId = await createConversation(visitor);
  const template = await createMessage(visitor, conversationId, 'x'.repeat(300));
  await app.service.engine.store.write({ organization: organizationId }, async ({ repositories }) => {
    const {
      visitor_name: _visitor,
      member_name: _member,
      ...row
    } = (await repositories.messages.byId(template))!;
    for (let seq = row.seq + 1; seq < messages; seq += 1)
      await repositories.messages.append(
        { ...row, id: app.service.engine.clock.newId(), client_message_id: null },
        'visitor',
      );
  });
  const sockets: TestSocket[] = [];
  for (let index = 0; index < connections; index += 1) sockets.push(await visitor.connect());
  let bytes = 0;
  for (const { socket } of sockets)
    socket.on('message', (data: Buffer) => {
      bytes += data.length;
    });
  // What the server says to a client that may be cut off before it has read as far.
  const said = vi.spyOn(WebSocket.prototype, 'close');
  const health = probe();
  const { p99 } = await measureLoop(async () => {
    // Five a second on each, for as long as the connection is let.
    const flood = setInterval(() => {
      for (const one of sockets)
        if (one.closed === null) one.send('room:join', { conversationId, lastMessageId: randomUUID() });
    }, 200);
    await eventually(() => {
      // 1006: cut off by the server before the client had read as far as the close frame.
      for (const one of sockets) expect([4429, 1006]).toContain(one.closed?.code);
    });
    clearInterval(flood);
  });
  const times = (await health.stop()).toSorted((one, other) => one - other);
  const slowest = times[Math.floor(times.length * 0.99)] ?? 0;
  process.stdout.write(
    `sync flood: ${(bytes / 1e6).toFixed(0)} MB sent, the loop is held ${p99.toFixed(1)} ms (p99), /healthz p99 ${slowest.toFixed(0)} ms\n`,
  );
  expect(said.mock.calls.map(([code]) => code)).toContain(4429);
  expect(p99).toBeLessThan(100);
  expect(bytes).toBeLessThan(200_000_000);
});
