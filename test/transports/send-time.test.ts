// Owns: that an answer waits so long for a reader that takes nothing, and for good for one that is slow.
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { endStalledAnswers, stallMs } from '../../src/http/send-time.ts';
import { startApp, type TestApp } from '../helpers/app.ts';
import { createTestClock, type TestClock } from '../helpers/clock.ts';
import { eventually } from '../helpers/eventually.ts';
import { maxAtOnce } from '../../src/http/bursts.ts';
import { requestBytes } from '../helpers/raw-http.ts';

/** More than a system keeps of a connection that no one reads. */
const longBytes = 64 * 1024 * 1024;

const undo: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

async function startedApp(): Promise<TestApp> {
  const app = await startApp({ alone: true });
  undo.push(() => app.stop());
  return app;
}

interface Watched {
  readonly url: string;
  readonly clock: TestClock;
  /** How many connections were ended. */
  ended(): number;
}

async function watchedServer(answer: RequestListener): Promise<Watched> {
  const server: Server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const clock = createTestClock();
  let ended = 0;
  const stop = endStalledAnswers(server, clock, () => void (ended += 1));
  undo.push(() => new Promise<void>((resolve) => server.close(() => resolve())), stop);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clock,
    ended: () => ended,
  };
}

/** Sends bytes, and reads nothing until it is told to. */
function connectTo(url: string, bytes: Buffer): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.write(bytes);
  undo.push(() => void socket.destroy());
  return socket;
}

/** Reads until the connection ends. @returns how many bytes came */
function readToEnd(socket: Socket): Promise<number> {
  return new Promise((resolve) => {
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => void (bytes += chunk.length));
    socket.once('close', () => resolve(bytes));
    socket.resume();
  });
}

/** Bytes of a long answer that the system has not taken. */
function queuedOf({ socket }: IncomingMessage): number {
  return (Reflect.get(socket, '_handle') as { writeQueueSize: number }).writeQueueSize;
}

it('a reader that takes nothing of its answers for a minute is cut off, and counted', async () => {
  const app = await startedApp();
  const { metrics } = app.service;
  const one = requestBytes(app.url, { path: '/openapi.json', headers: [['Connection', 'keep-alive']] });
  const times = maxAtOnce;
  const size = Buffer.byteLength(await (await fetch(`${app.url}/openapi.json`)).text());
  expect(size * times).toBeGreaterThan(longBytes / 4);
  const reader = connectTo(app.url, Buffer.concat(Array.from({ length: times }, () => one)));
  await new Promise((resolve) => reader.once('readable', resolve));
  let minutes = 0;
  await eventually(() => {
    app.clock.advance(stallMs / 4);
    minutes += 1 / 4;
    expect(metrics.stalledAnswers).toBe(1);
  });
  expect(minutes).toBeGreaterThan(1);
  expect(await readToEnd(reader)).toBeLessThan(size * times);
  const text = await (await fetch(`${app.url}/metrics`)).text();
  expect(text).toContain('\ndeskbell_http_stalled_answers_total 1\n');
});

it('a connection is ended at the fourth look at which nothing has moved', async () => {
  const requests: IncomingMessage[] = [];
  const { url, clock, ended } = await watchedServer((request, response) => {
    requests.push(request);
    response.end(Buffer.alloc(longBytes));
  });
  const reader = connectTo(url, requestBytes(url, { path: '/' }));
  await eventually(() => expect(requests).toHaveLength(1));
  expect(queuedOf(requests[0]!)).toBeGreaterThan(0);
  clock.advance(stallMs / 4);
  clock.advance(stallMs - 1);
  expect(ended()).toBe(0);
  clock.advance(1);
  expect(ended()).toBe(1);
  expect(await readToEnd(reader)).toBeLessThan(longBytes);
});

it('a slow reader of one long piece gets all of it', async () => {
  const requests: IncomingMessage[] = [];
  const { url, clock, ended } = await watchedServer((request, response) => {
    requests.push(request);
    response.end(Buffer.alloc(longBytes));
  });
  const reader = connectTo(url, requestBytes(url, { path: '/' }));
  await eventually(() => expect(requests).toHaveLength(1));
  let bytes = 0;
  reader.on('data', (chunk: Buffer) => void (bytes += chunk.length));
  reader.pause();
  const [request] = requests;
  for (let minutes = 0; minutes < 5; minutes += 1) {
    const before = queuedOf(request!);
    expect(before).toBeGreaterThan(0);
    reader.resume();
    while (queuedOf(request!) === before) await nextTurn();
    reader.pause();
    clock.advance(stallMs);
  }
  expect(ended()).toBe(0);
  await readToEnd(reader);
  expect(bytes).toBeGreaterThan(longBytes);
});

it('an answer that takes long to make is no answer that is not taken', async () => {
  const finish: (() => void)[] = [];
  const { url, clock, ended } = await watchedServer((_request, response) => {
    response.write('begun ');
    finish.push(() => response.end('done'));
  });
  const answer = fetch(url).then((response) => response.text());
  await eventually(() => expect(finish).toHaveLength(1));
  for (let minutes = 0; minutes < 5; minutes += 1) {
    await nextTurn();
    clock.advance(stallMs);
  }
  finish[0]!();
  expect(await answer).toBe('begun done');
  expect(ended()).toBe(0);
});
