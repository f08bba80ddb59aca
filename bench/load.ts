// Owns: the load generator, in a process of its own: pairs over WebSocket, the same pairs with REST
// sends, or idle sockets. Must cost as little as it can, and must not know which server it meets.
import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';
import type { Load, LoadResult, Pair } from './protocol.ts';

const content = 'The quick brown fox jumps over the lazy dog. '.repeat(5).slice(0, 200);

/** What was sent and what came back. A message counts once it was acknowledged and its peer received it. */
class Tally {
  readonly #sentAt = new Map<string, number>();
  readonly #latencies: number[] = [];
  acknowledged = 0;
  delivered = 0;
  sent = 0;

  /** Notes a message; the id to send it under. */
  send(): string {
    this.sent += 1;
    const id = `m${this.sent}`;
    this.#sentAt.set(id, performance.now());
    return id;
  }

  acknowledge(id: string): void {
    const sentAt = this.#sentAt.get(id);
    if (sentAt === undefined) throw new Error(`acknowledged twice or never sent: ${id}`);
    this.#sentAt.delete(id);
    this.acknowledged += 1;
    this.#latencies.push(performance.now() - sentAt);
  }

  /** Forgets what was counted before the servers and this process were warm. */
  restart(): void {
    this.acknowledged = 0;
    this.delivered = 0;
    this.#latencies.length = 0;
  }

  percentile(share: number): number {
    const sorted = this.#latencies.toSorted((one, other) => one - other);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  }
}

function openSocket({ address }: Load, pair: Pair): Promise<WebSocket> {
  const socket = new WebSocket(`ws://${address.host}:${address.port}${pair.socketPath}`, {
    headers: pair.headers,
    perMessageDeflate: false,
    skipUTF8Validation: true,
  });
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(socket));
    socket.once('error', reject);
    socket.once('close', (code, reason) => reject(new Error(`closed: ${code} ${reason.toString()}`)));
  });
}

async function joined(load: Load, pair: Pair, onMessage: () => void): Promise<WebSocket> {
  const socket = await openSocket(load, pair);
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.on('message', (data: Buffer) => {
    // Looked at without parsing: the generator shall not be what is measured.
    if (data.includes('"message:new"')) onMessage();
    else if (data.includes('"room:joined"')) resolve();
  });
  socket.send(
    JSON.stringify({ type: 'room:join', payload: { conversationId: pair.conversationId, echo: true } }),
  );
  await promise;
  return socket;
}

/** One side that sends; `again` sends the next message. */
interface Sender {
  readonly again: () => void;
  readonly close: () => void;
}

async function socketSender(load: Load, pair: Pair, tally: Tally, running: () => boolean): Promise<Sender> {
  const socket = await openSocket(load, pair);
  const marker = Buffer.from('"clientMessageId":"');
  const again = (): void =>
    socket.send(
      `{"type":"message:send","payload":{"conversationId":"${pair.conversationId}","content":"${content}","clientMessageId":"${tally.send()}"}}`,
    );
  socket.on('message', (data: Buffer) => {
    if (!data.includes('"message:ack"')) {
      if (data.includes('"error"')) throw new Error(data.toString());
      return;
    }
    const start = data.indexOf(marker) + marker.length;
    tally.acknowledge(data.toString('latin1', start, data.indexOf(0x22, start)));
    if (running()) again();
  });
  return { again, close: () => socket.terminate() };
}

/** HTTP/1.1 by hand over one kept connection: Node's own client costs more than the servers do. */
async function restSender(load: Load, pair: Pair, tally: Tally, running: () => boolean): Promise<Sender> {
  const socket: Socket = connect(load.address.port, load.address.host);
  socket.setNoDelay(true);
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  const head = [
    `POST /api/v1/conversations/${pair.conversationId}/messages HTTP/1.1`,
    `Host: ${load.address.host}:${load.address.port}`,
    'Content-Type: application/json',
    ...Object.entries(pair.headers).map(([name, value]) => `${name}: ${value}`),
  ].join('\r\n');
  let sending = '';
  const again = (): void => {
    sending = tally.send();
    const body = `{"content":"${content}","clientMessageId":"${sending}"}`;
    socket.write(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  };
  let received = '';
  socket.on('data', (data) => {
    received += data.toString('latin1');
    const end = received.indexOf('\r\n\r\n');
    if (end < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(received)?.[1]);
    if (received.length < end + 4 + length) return;
    if (!received.startsWith('HTTP/1.1 201')) throw new Error(received);
    received = received.slice(end + 4 + length);
    tally.acknowledge(sending);
    if (running()) again();
  });
  return { again, close: () => socket.destroy() };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function measure(load: Load): Promise<LoadResult> {
  const tally = new Tally();
  let running = true;
  const listeners = await Promise.all(
    load.pairs.map((pair) => joined(load, pair, () => (tally.delivered += 1))),
  );
  const open = load.kind === 'ws' ? socketSender : restSender;
  const senders = await Promise.all(load.pairs.map((pair) => open(load, pair, tally, () => running)));
  const depth = load.kind === 'ws' ? load.window : 1;
  for (const sender of senders) for (let index = 0; index < depth; index += 1) sender.again();
  await pause(Math.min(500, load.seconds * 250));
  // From here on the other side looks at the server's processor time as well.
  process.send?.('warm');
  tally.restart();
  const startedAt = performance.now();
  await pause(load.seconds * 1000);
  const elapsed = (performance.now() - startedAt) / 1000;
  const messages = Math.min(tally.acknowledged, tally.delivered);
  const result = {
    perSecond: messages / elapsed,
    messages,
    ackP50: tally.percentile(0.5),
    ackP99: tally.percentile(0.99),
  };
  running = false;
  // What is still under way comes to its end, so that the next run begins in silence.
  await pause(100);
  for (const sender of senders) sender.close();
  for (const listener of listeners) listener.terminate();
  return result;
}

const held: WebSocket[] = [];

async function hold(load: Load): Promise<LoadResult> {
  for (let index = 0; index < load.sockets; index += 50) {
    const some = Array.from(
      { length: Math.min(50, load.sockets - index) },
      (_, at) => load.pairs[(index + at) % load.pairs.length] as Pair,
    );
    held.push(...(await Promise.all(some.map((pair) => openSocket(load, pair)))));
  }
  return { perSecond: 0, messages: held.length, ackP50: 0, ackP99: 0 };
}

process.on('message', (load: Load) => {
  void (async () => {
    process.send?.(await (load.kind === 'hold' ? hold(load) : measure(load)));
  })();
});
process.once('disconnect', () => {
  for (const socket of held) socket.terminate();
});
