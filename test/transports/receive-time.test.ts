// Owns: that the body of a request has only so long to arrive, and that one which came with its head costs no timer.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { limitBodyTime } from '../../src/http/receive-time.ts';

const bodyMs = 30_000;
let server: Server;
let requests: IncomingMessage[];
let sockets: Socket[];

beforeEach(async () => {
  requests = [];
  sockets = [];
  server = createServer((request) => requests.push(request));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(async () => {
  vi.useRealTimers();
  for (const socket of sockets) socket.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function post(body: string, length = body.length): Socket {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${body}`);
  return socket;
}

async function until(check: () => boolean): Promise<void> {
  while (!check()) await nextTurn();
}

it('each body that is still on its way has half a minute, however many begin at once', async () => {
  const senders = [post('half', 8), post('half', 8)];
  await until(() => requests.length === 2);
  for (const request of requests) limitBodyTime(request);
  await until(() => vi.getTimerCount() === 2);
  vi.advanceTimersByTime(bodyMs - 1);
  expect(requests.map(({ destroyed }) => destroyed)).toEqual([false, false]);
  vi.advanceTimersByTime(1);
  for (const sender of senders) expect(await text(sender)).toMatch(/^HTTP\/1\.1 408 /);
});

it('a body that comes in time ends its limit', async () => {
  const sender = post('half', 8);
  await until(() => requests.length === 1);
  const [request] = requests;
  limitBodyTime(request!);
  await until(() => vi.getTimerCount() === 1);
  request!.resume();
  sender.write('rest');
  await until(() => vi.getTimerCount() === 0);
  expect(request!.complete).toBe(true);
});

it('a body that came with its head is given no timer, nor is a connection that has ended', async () => {
  const limited = vi.fn<(request: IncomingMessage) => void>();
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage) => {
    limitBodyTime(request);
    limited(request);
    if (limited.mock.calls.length === 1)
      request.on('data', () => expect(vi.getTimerCount()).toBe(0)).resume();
    else request.destroy();
  });
  post('whole');
  await until(() => limited.mock.calls.length === 1 && limited.mock.calls[0]![0].complete);
  post('half', 8);
  await until(() => limited.mock.calls.length === 2);
  await nextTurn();
  await nextTurn();
  expect(vi.getTimerCount()).toBe(0);
});
