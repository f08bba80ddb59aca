// Owns: many upgrades in one moment. They are begun a few in each turn of the loop, and nothing is lost for it: all get in,
// limits hold, who leaves while waiting takes no place, none waits for another's look-up, a server that stops leaves none
// waiting.
import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { connect, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { Hub } from '../../src/ws/hub.ts';
import { maxBegunInTurn } from '../../src/ws/socket-server.ts';
import { UpgradeQueue } from '../../src/ws/upgrade-queue.ts';
import { startApp, type TestApp, type TestAppOptions } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import { createOrganization, createVisitor, type TestClient } from '../helpers/fixtures.ts';

const crowd = 10 * maxBegunInTurn;

const apps: TestApp[] = [];
const callers: Caller[] = [];

afterEach(async () => {
  for (const { socket } of callers.splice(0)) socket.destroy();
  for (const app of apps.splice(0)) await app.stop();
  vi.restoreAllMocks();
});

/** A plain connection that asks for an upgrade, and what it has been answered. */
class Caller {
  readonly socket: Socket;
  heard = '';

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('data', (chunk: Buffer) => {
      this.heard += chunk.toString('latin1');
      if (this.isToldToGo) this.socket.end();
    });
    this.socket.on('error', () => undefined);
    callers.push(this);
  }

  /** Asks for a page, and forgets the answer. */
  async get(path: string): Promise<void> {
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    while (!/\r\n\r\n./s.test(this.heard)) await once(this.socket, 'data');
    this.heard = '';
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(this.heard)?.[1] ?? 0);
  }

  /** Whether it got a frame that closes with 1001. */
  get isToldToGo(): boolean {
    return this.heard.includes('\x03\xe9');
  }

  /** Whether it was let in, and not only told why it was not. */
  get isIn(): boolean {
    return this.status === 101 && !this.heard.includes('"error"');
  }
}

interface Place {
  readonly app: TestApp;
  readonly visitor: TestClient;
  /** Has so many ask for an upgrade in one turn of the loop, each from the address that it is given, and for this path. */
  ask(count: number, address: (index: number) => string, path?: (index: number) => string): Promise<Caller[]>;
}

async function open(flags: TestAppOptions['flags'] = {}): Promise<Place> {
  const app = await startApp({
    alone: true,
    flags: { trustProxy: '1', maxConnectionsPerVisitor: '10000', ...flags },
  });
  apps.push(app);
  const { application } = await createOrganization(app, 'acme');
  const visitor = createVisitor(app, application);
  const { body } = await visitor.call('POST', '/widget/ws-token');
  const lines = [
    'Host: localhost',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    `Origin: ${application.origin}`,
  ];
  const port = Number(new URL(app.url).port);
  const ask: Place['ask'] = async (count, address, path = () => '/api/v1/ws') => {
    const asking = Array.from({ length: count }, () => new Caller(port));
    // Node accepts one connection in a turn: only one that has been answered before is known to be read.
    await Promise.all(asking.map((caller) => caller.get('/healthz')));
    for (const [index, { socket }] of asking.entries()) {
      const first = `GET ${path(index)}?token=${body.token} HTTP/1.1`;
      socket.write([first, ...lines, `X-Forwarded-For: ${address(index)}`, '', ''].join('\r\n'));
    }
    return asking;
  };
  return { app, visitor, ask };
}

const ownAddress = (index: number): string => `10.1.${index >> 8}.${index & 255}`;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('lets all in, and begins a few in each turn of the loop', async () => {
  const { app, ask } = await open();
  const taken = vi.spyOn(app.service.engine.seats, 'take');
  // An upgrade begins with a place for its address.
  const countBegun = (): number =>
    taken.mock.calls.flat(2).filter(({ key }) => key.startsWith('address:')).length;
  const asking = await ask(crowd, ownAddress);
  const begun: number[] = [];
  for (let before = 0; before < crowd; before = countBegun()) {
    await turn();
    begun.push(countBegun() - before);
  }
  expect(Math.max(...begun)).toBeLessThanOrEqual(maxBegunInTurn);
  await eventually(() => expect(asking.filter(({ isIn }) => isIn)).toHaveLength(crowd));
});

it('does not let an address with one wait for all of an address with many', async () => {
  const { ask } = await open();
  const asking = await ask(crowd + 1, (index) => (index < crowd ? '10.1.0.1' : '10.1.0.2'));
  const answered: number[] = [];
  for (const [index, { socket }] of asking.entries()) socket.once('data', () => answered.push(index));
  await eventually(() => expect(answered).toHaveLength(crowd + 1));
  expect(answered.indexOf(crowd)).toBeLessThan(crowd / 2);
});

it('holds an address and a visitor to their connections, however many come at once', async () => {
  const address = await open({ maxConnectionsPerAddress: '20' });
  const visitor = await open({ maxConnectionsPerVisitor: '20' });
  for (const [{ ask, app }, from] of [
    [address, () => '10.1.0.1'],
    [visitor, ownAddress],
  ] as const) {
    const asking = await ask(crowd, from);
    await eventually(() => {
      expect(asking.every(({ status }) => status === 101)).toBe(true);
      expect(asking.filter(({ heard }) => heard.includes('"RATE_LIMITED"'))).toHaveLength(crowd - 20);
    });
    expect(app.service.metrics.connections.visitor).toBe(20);
  }
});

it('keeps no place for who leaves while waiting', async () => {
  const { app, ask } = await open({ maxConnectionsPerAddress: '20' });
  for (let round = 0; round < 3; round += 1) {
    const leaving = await ask(crowd, () => '10.1.0.1');
    await turn();
    for (const { socket } of leaving) socket.resetAndDestroy();
  }
  await eventually(() => expect(app.service.metrics.connections.visitor).toBe(0));
  // Where servers share a database, the last of those places may still be on its way back.
  await eventually(async () => {
    const staying = await ask(20, () => '10.1.0.1');
    await eventually(() => expect(staying.filter(({ status }) => status === 101)).toHaveLength(20));
    await turn();
    const isFull = staying.every(({ isIn }) => isIn);
    if (!isFull) for (const { socket } of staying) socket.resetAndDestroy();
    expect(isFull).toBe(true);
  });
});

it('takes no place for who closes one half while waiting, and keeps no half open', async () => {
  const { app, ask } = await open();
  const taken = vi.spyOn(app.service.engine.seats, 'take');
  const leaving = await ask(crowd, () => '10.1.0.1');
  for (const { socket } of leaving) socket.end();
  await eventually(() => expect(leaving.every(({ socket }) => socket.closed)).toBe(true));
  // Some are begun before Node has read that they left.
  expect(taken.mock.calls.length).toBeLessThan(crowd);
  const [staying] = await ask(1, () => '10.1.0.1');
  await eventually(() => expect(staying?.isIn).toBe(true));
  expect(app.service.metrics.connections.visitor).toBe(1);
});

it('passes over who has left without a turn of their address', () => {
  const queue = new UpgradeQueue();
  const add = (address: string, name: string): Socket => {
    const stream = new Socket();
    const arrival = { request: new IncomingMessage(stream), stream, head: Buffer.alloc(0) };
    queue.add(address, { arrival: { ...arrival, url: new URL(`http://localhost/${name}`) }, address });
    return stream;
  };
  const left = Array.from({ length: crowd }, () => add('first', 'left'));
  for (const [address, name] of [
    ['first', '1a'],
    ['first', '1b'],
    ['second', '2a'],
    ['second', '2b'],
    ['third', '3a'],
  ] as const)
    add(address, name);
  left.push(add('third', 'left'), add('fourth', 'left'));
  for (const stream of left) stream.destroy();
  const served = Array.from({ length: 6 }, () => queue.next()?.arrival.url.pathname.slice(1));
  expect(served).toEqual(['1a', '2a', '3a', '1b', '2b', undefined]);
  expect(queue.isEmpty).toBe(true);
});

it('refuses at once what asks for another path, while others wait', async () => {
  const { app, ask } = await open();
  const path = (index: number): string => (index < crowd ? '/api/v1/ws' : '/api/v1/other');
  const asking = await ask(crowd + 1, () => '10.1.0.1', path);
  const refused = asking.at(-1);
  const { connections } = app.service.metrics;
  while (refused?.heard === '') await turn();
  expect(refused?.status).toBe(404);
  expect(connections.visitor).toBeLessThan(crowd / 2);
  await eventually(() => expect(connections.visitor).toBe(crowd));
});

it('lets others in while look-ups do not end, and does not forget those when it stops', async () => {
  const { app, ask } = await open();
  const { seats } = app.service.engine;
  const take = seats.take.bind(seats);
  const slow = Promise.withResolvers<void>();
  vi.spyOn(seats, 'take').mockImplementation(async (wanted) => {
    if (wanted.some(({ key }) => key === 'address:10.1.0.1')) await slow.promise;
    return take(wanted);
  });
  const held = await ask(crowd, () => '10.1.0.1');
  const others = await ask(crowd, () => '10.1.0.2');
  await eventually(() => expect(others.every(({ isIn }) => isIn)).toBe(true));
  expect(held.filter(({ heard }) => heard !== '')).toHaveLength(0);
  const stopHub = vi.spyOn(Hub.prototype, 'stop');
  const stopped = app.stop();
  await eventually(() => expect(others.every(({ socket }) => socket.closed)).toBe(true));
  // It looks every 10 ms whether all are gone.
  await sleep(50);
  expect(stopHub).not.toHaveBeenCalled();
  slow.resolve();
  await stopped;
  expect(stopHub).toHaveBeenCalledOnce();
  await eventually(() => expect(held.filter(({ status }) => status === 503)).toHaveLength(crowd));
});

it('leaves none waiting when it stops', async () => {
  const { app, ask } = await open();
  const taken = vi.spyOn(app.service.engine.seats, 'take');
  const asking = await ask(crowd, ownAddress);
  const { connections } = app.service.metrics;
  // The first few are begun by then. Until one of them is in, all may be.
  while (taken.mock.calls.length === 0) await turn();
  await app.stop();
  await eventually(() => expect(asking.every(({ socket }) => socket.closed)).toBe(true));
  expect(asking.filter(({ status, isToldToGo }) => status === 503 || isToldToGo)).toHaveLength(crowd);
  expect(asking.some(({ status }) => status === 503)).toBe(true);
  expect(connections.visitor).toBe(0);
});
