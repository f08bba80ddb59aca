// Owns: many upgrades in one moment. They are let in a few in each turn of the loop, and nothing is lost for it: all get in,
// limits hold, who leaves while waiting takes no place, a server that stops leaves none waiting.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { maxAdmittedInTurn } from '../../src/ws/socket-server.ts';
import { startApp, type TestApp, type TestAppOptions } from '../helpers/app.ts';
import { eventually } from '../helpers/eventually.ts';
import { createOrganization, createVisitor, type TestClient } from '../helpers/fixtures.ts';

const crowd = 10 * maxAdmittedInTurn;

const apps: TestApp[] = [];
const callers: Caller[] = [];

afterEach(async () => {
  for (const { socket } of callers.splice(0)) socket.destroy();
  for (const app of apps.splice(0)) await app.stop();
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
  /** Has so many ask for an upgrade in one turn of the loop, each from the address that it is given. */
  ask(count: number, address: (index: number) => string): Promise<Caller[]>;
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
    `GET /api/v1/ws?token=${body.token} HTTP/1.1`,
    'Host: localhost',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    `Origin: ${application.origin}`,
  ];
  const port = Number(new URL(app.url).port);
  const ask = async (count: number, address: (index: number) => string): Promise<Caller[]> => {
    const asking = Array.from({ length: count }, () => new Caller(port));
    // Node accepts one connection in a turn: only one that has been answered before is known to be read.
    await Promise.all(asking.map((caller) => caller.get('/healthz')));
    for (const [index, { socket }] of asking.entries())
      socket.write([...lines, `X-Forwarded-For: ${address(index)}`, '', ''].join('\r\n'));
    return asking;
  };
  return { app, visitor, ask };
}

const ownAddress = (index: number): string => `10.1.${index >> 8}.${index & 255}`;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('lets all in, a few in each turn of the loop', async () => {
  const { app, ask } = await open();
  const asking = await ask(crowd, ownAddress);
  const { connections } = app.service.metrics;
  const admitted: number[] = [];
  for (let before = 0; before < crowd; before = connections.visitor) {
    await turn();
    admitted.push(connections.visitor - before);
  }
  expect(Math.max(...admitted)).toBeLessThanOrEqual(maxAdmittedInTurn);
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
  const staying = await ask(20, () => '10.1.0.1');
  await eventually(() => expect(staying.filter(({ status }) => status === 101)).toHaveLength(20));
  await turn();
  expect(staying.filter(({ isIn }) => isIn)).toHaveLength(20);
});

it('leaves none waiting when it stops', async () => {
  const { app, ask } = await open();
  const asking = await ask(crowd, ownAddress);
  const { connections } = app.service.metrics;
  while (connections.visitor === 0) await turn();
  await app.stop();
  await eventually(() => expect(asking.every(({ socket }) => socket.closed)).toBe(true));
  expect(asking.filter(({ status, isToldToGo }) => status === 503 || isToldToGo)).toHaveLength(crowd);
  expect(asking.some(({ status }) => status === 503)).toBe(true);
  expect(connections.visitor).toBe(0);
});
