// Owns: that the body of a request has only so long to arrive, and that one which came with its head costs no timer.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { serveFileInTurn } from '../../src/http/file-turns.ts';
import { limitBodyTime, receiveSlowly } from '../../src/http/receive-time.ts';

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

it('a file whose sender leaves is refused as one that did not come, and not as a fault', async () => {
  const sender = post('half', 8);
  await until(() => requests.length === 1);
  const body = receiveSlowly(requests[0]!);
  await body.next();
  const rest = body.next().catch((error: unknown) => error);
  sender.destroy();
  expect(await rest).toMatchObject({ name: 'ServiceError', code: 'bad_request' });
});

it('what the reader of a file finds wrong stays what is wrong', async () => {
  post('half', 8);
  await until(() => requests.length === 1);
  const body = receiveSlowly(requests[0]!);
  await body.next();
  await expect(body.throw(new Error('too large'))).rejects.toThrow('too large');
});

it('a file that waits for its turn has half a minute from when it is read', async () => {
  const senders = [post('half', 8), post('half', 8)];
  await until(() => requests.length === 2);
  const first = Promise.withResolvers<void>();
  const second = vi.fn<() => Promise<string>>(() => text(requests[1]!));
  for (const request of requests) limitBodyTime(request);
  const served = serveFileInTurn(requests[0]!, 'acme', () => first.promise);
  const waits = serveFileInTurn(requests[1]!, 'acme', second).catch(() => 'cut off');
  await until(() => vi.getTimerCount() === 2);
  vi.advanceTimersByTime(3 * bodyMs);
  // The one whose turn it was is too slow by now; the other one has not been asked for anything yet.
  expect(await text(senders[0]!)).toMatch(/^HTTP\/1\.1 408 /);
  expect(second).not.toHaveBeenCalled();
  expect(requests[1]!.destroyed).toBe(false);

  first.resolve();
  await served;
  await until(() => second.mock.calls.length === 1);
  vi.advanceTimersByTime(bodyMs - 1);
  expect(requests[1]!.destroyed).toBe(false);
  vi.advanceTimersByTime(1);
  expect(await text(senders[1]!)).toMatch(/^HTTP\/1\.1 408 /);
  expect(await waits).toBe('cut off');
});

it('a file that came whole with its head keeps no timer, however it waits', async () => {
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage) => {
    requests.push(request);
    limitBodyTime(request);
    void serveFileInTurn(request, 'other', () => text(request));
  });
  post('whole');
  await until(() => requests[0]?.readableEnded === true);
  expect(vi.getTimerCount()).toBe(0);
});
