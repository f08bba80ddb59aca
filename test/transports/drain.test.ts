// A server that stops waits for the requests under way, and for nothing else.
import { Agent, createServer, get, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { drain } from '../../src/http/drain.ts';
import { startApp } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';

/** Longer than a test lasts. */
const never = 3_600_000;

it('ends a kept connection with the answer that was under way', async () => {
  const held: ServerResponse[] = [];
  // By itself this one keeps a connection for good.
  const server = createServer({ keepAliveTimeout: 0 }, (_request, response) => void held.push(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true });
  const answered = new Promise<string>((resolve, reject) => {
    get({ host: '127.0.0.1', port, agent }, (response) => {
      response.setEncoding('utf8').on('data', resolve);
    }).once('error', reject);
  });
  await eventually(() => expect(held).toHaveLength(1));
  let isOver = false;
  const over = drain(server, never).then(() => (isOver = true));
  // Many looks for connections without a request go by.
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(isOver).toBe(false);
  held[0]?.end('whole');
  expect(await answered).toBe('whole');
  await over;
  agent.destroy();
});

it('cuts off what takes too long', async () => {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const failed = new Promise((resolve) => {
    get({ host: '127.0.0.1', port }).once('error', resolve);
  });
  await eventually(async () => {
    const count = await new Promise<number>((resolve) => server.getConnections((_, n) => resolve(n)));
    expect(count).toBe(1);
  });
  await drain(server, 50);
  expect(await failed).toBeInstanceOf(Error);
});

it('is over at once for a server that never listened', async () => {
  const server = createServer();
  await drain(server, never);
  expect(server.listening).toBe(false);
});

it('says with an answer that is under way that the connection is closed', async () => {
  const app = await startApp({ alone: true });
  const agent = new Agent({ keepAlive: true });
  onTestFinished(async () => {
    agent.destroy();
    vi.restoreAllMocks();
    await app.stop();
  });
  const ask = (path: string): Promise<unknown[]> =>
    new Promise((resolve, reject) => {
      get(`${app.url}${path}`, { agent }, (response) => {
        const { statusCode, headers } = response.resume();
        response.once('end', () => resolve([statusCode, headers.connection]));
      }).once('error', reject);
    });
  expect(await ask('/readyz')).toEqual([200, 'keep-alive']);
  const { store } = app.service.engine;
  const read = store.read.bind(store);
  const held = Promise.withResolvers<void>();
  let asked = 0;
  vi.spyOn(store, 'read').mockImplementation(async (work) => {
    asked += 1;
    await held.promise;
    return read(work);
  });
  const answer = ask('/readyz');
  await eventually(() => expect(asked).toBeGreaterThan(0));
  const stopped = app.stop();
  await eventually(() => expect(app.logged.join('')).toContain('"stopping"'));
  held.resolve();
  expect(await answer).toEqual([200, 'close']);
  await stopped;
});
