// Owns: the load generator, in a process of its own: pairs that send over WebSocket or REST, or idle sockets. Each
// round ends only when nothing is under way any more, so that what was sent, answered, delivered and stored can be
// compared. Must cost as little as it can, and must not know which server it meets beyond its framing.
import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { Address, Order, Pair, Sent } from './protocol.ts';
import { naturalTexts, sentence } from './texts.ts';

const drainMs = 20_000;
/** Another generator's ids come later in the order, and are never the same. */
const generation = `${Date.now().toString(36)}-${process.pid}`;

/** What is sent, one after the other, again and again. */
let texts: readonly string[] = [sentence];
let nextText = 0;

function takeText(): string {
  const text = texts[nextText] ?? sentence;
  nextText = (nextText + 1) % texts.length;
  return text;
}

/** What was sent and what came back. */
class Tally {
  readonly #sentAt = new Map<string, number>();
  #latencies: number[] = [];
  #lastId = 0;
  sent = 0;
  acknowledged = 0;
  delivered = 0;

  /** Whether ids come in no order. */
  randomIds = false;

  /** Notes a message; the id to send it under: in order of time, as our own client makes them, unless they are random. */
  send(): string {
    this.sent += 1;
    this.#lastId += 1;
    const id = this.randomIds ? randomUUID() : `${generation}-${String(this.#lastId).padStart(9, '0')}`;
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

  get settled(): boolean {
    return this.acknowledged === this.sent && this.delivered >= this.sent;
  }

  /** Begins a round. */
  restart(): void {
    this.sent = 0;
    this.acknowledged = 0;
    this.delivered = 0;
    this.#latencies = [];
  }

  percentile(share: number): number {
    const sorted = this.#latencies.toSorted((one, other) => one - other);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  }
}

/** Puts a frame into what its server speaks, and answers the heartbeats of that. */
const wrap = {
  plain: (type: string, payload: string) => `{"type":"${type}","payload":${payload}}`,
  'socket.io': (type: string, payload: string) => `42["${type}",${payload}]`,
};

async function openSocket(address: Address, pair: Pair, path: string): Promise<WebSocket> {
  const socket = new WebSocket(`ws://${address.host}:${address.port}${path}`, {
    headers: pair.headers,
    perMessageDeflate: false,
    skipUTF8Validation: true,
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  if (pair.framing === 'plain') socket.once('open', () => resolve());
  else
    socket.on('message', (data: Buffer) => {
      // Engine.IO: 0 opens, 2 asks whether one is there; Socket.IO's 40 joins and is answered by 40.
      if (data[0] === 0x30) socket.send('40');
      else if (data[0] === 0x32) socket.send('3');
      else if (data[0] === 0x34 && data[1] === 0x30) resolve();
    });
  socket.once('error', reject);
  socket.once('close', (code, reason) => reject(new Error(`closed: ${code} ${reason.toString()}`)));
  await promise;
  return socket;
}

/** A socket that has joined its pair's conversation. */
async function joined(address: Address, pair: Pair, path: string, onMessage: () => void): Promise<WebSocket> {
  const socket = await openSocket(address, pair, path);
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.on('message', (data: Buffer) => {
    // Looked at without parsing: the generator shall not be what is measured.
    if (data.includes('"message:new"')) onMessage();
    else if (data.includes('"room:joined"')) resolve();
  });
  const echo = pair.mutual ? '' : ',"echo":true';
  socket.send(wrap[pair.framing]('room:join', `{"conversationId":"${pair.conversationId}"${echo}}`));
  await promise;
  return socket;
}

type Sender = () => void;

function socketSender(socket: WebSocket, pair: Pair, tally: Tally, again: (send: Sender) => void): Sender {
  const marker = Buffer.from('"clientMessageId":"');
  const send = (): void =>
    socket.send(
      wrap[pair.framing](
        'message:send',
        `{"conversationId":"${pair.conversationId}","content":"${takeText()}","clientMessageId":"${tally.send()}"}`,
      ),
    );
  socket.on('message', (data: Buffer) => {
    if (data.includes('"message:ack"')) {
      const start = data.indexOf(marker) + marker.length;
      tally.acknowledge(data.toString('latin1', start, data.indexOf(0x22, start)));
      again(send);
    } else if (data.includes('"error"')) throw new Error(data.toString());
  });
  return send;
}

async function connected(address: Address): Promise<Socket> {
  const socket = connect(address.port, address.host);
  socket.setNoDelay(true);
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  return socket;
}

/** What connects the senders anew whose server ends connections that rest. */
const reconnects: (() => Promise<void>)[] = [];

/** HTTP/1.1 by hand over one kept connection: Node's own client costs more than the servers do. */
async function restSender(
  address: Address,
  pair: Pair,
  tally: Tally,
  again: (send: Sender) => void,
): Promise<Sender> {
  const head = [
    `POST /api/v1/conversations/${pair.conversationId}/messages HTTP/1.1`,
    `Host: ${address.host}:${address.port}`,
    'Content-Type: application/json',
    ...Object.entries(pair.headers).map(([name, value]) => `${name}: ${value}`),
  ].join('\r\n');
  let socket: Socket | undefined;
  // Answers come in the order of the requests, so that several may be under way.
  const sending: string[] = [];
  const send = (): void => {
    const id = tally.send();
    sending.push(id);
    const body = `{"content":"${takeText()}","clientMessageId":"${id}"}`;
    socket?.write(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  };
  const reconnect = async (): Promise<void> => {
    socket?.destroy();
    socket = await connected(address);
    let received = '';
    socket.on('data', (data) => {
      received += data.toString('latin1');
      for (;;) {
        const end = received.indexOf('\r\n\r\n');
        if (end < 0) return;
        const length = Number(/content-length: (\d+)/i.exec(received)?.[1]);
        if (received.length < end + 4 + length) return;
        if (!received.startsWith('HTTP/1.1 201')) throw new Error(received);
        received = received.slice(end + 4 + length);
        tally.acknowledge(sending.shift() ?? 'nothing');
        again(send);
      }
    });
  };
  await reconnect();
  reconnects.push(reconnect);
  return send;
}

const tally = new Tally();
const senders: Sender[] = [];
const held: WebSocket[] = [];
let window = 1;
/** Whether an answer is followed by the next message of its sender. */
let closedLoop = false;

async function open(order: Extract<Order, { what: 'open' }>): Promise<null> {
  const { address } = order;
  if (order.natural === true) texts = naturalTexts();
  window = order.window;
  tally.randomIds = order.randomIds === true;
  const again = (send: Sender): void => {
    if (closedLoop) send();
  };
  const heard = (): void => void (tally.delivered += 1);
  for (const pair of order.pairs) {
    const listener = await joined(address, pair, pair.listener, heard);
    if (pair.sender === null) {
      senders.push(await restSender(address, pair, tally, again));
      continue;
    }
    const sender = pair.mutual
      ? await joined(address, pair, pair.sender, heard)
      : await openSocket(address, pair, pair.sender);
    senders.push(socketSender(sender, pair, tally, again));
    if (pair.mutual) senders.push(socketSender(listener, pair, tally, again));
  }
  return null;
}

/** Sends evenly: as many as are due at every turn, one sender after the other, whether answers came or not. */
async function sendEvenly(seconds: number, perSecond: number): Promise<void> {
  const startedAt = performance.now();
  let next = 0;
  for (;;) {
    const elapsed = performance.now() - startedAt;
    // On a slow machine not even one may be due in the time: a round has at least one.
    if (elapsed >= seconds * 1000 && tally.sent > 0) return;
    const due = Math.floor((elapsed / 1000) * perSecond);
    for (; tally.sent < due; next = (next + 1) % senders.length) senders[next]?.();
    await pause(1);
  }
}

async function send({ seconds, perSecond }: Extract<Order, { what: 'send' }>): Promise<Sent> {
  tally.restart();
  const startedAt = performance.now();
  if (perSecond === null) {
    closedLoop = true;
    for (const sender of senders) for (let index = 0; index < window; index += 1) sender();
    await pause(seconds * 1000);
    closedLoop = false;
  } else await sendEvenly(seconds, perSecond);
  const until = performance.now() + drainMs;
  while (!tally.settled) {
    if (performance.now() > until)
      throw new Error(
        `Of ${tally.sent} messages ${tally.acknowledged} were acknowledged and ${tally.delivered} delivered.`,
      );
    await pause(1);
  }
  return {
    sent: tally.sent,
    acknowledged: tally.acknowledged,
    delivered: tally.delivered,
    seconds: (performance.now() - startedAt) / 1000,
    p50: tally.percentile(0.5),
    p99: tally.percentile(0.99),
  };
}

async function reconnectAll(): Promise<null> {
  for (const reconnect of reconnects) await reconnect();
  return null;
}

async function hold({ address, pairs, sockets }: Extract<Order, { what: 'hold' }>): Promise<null> {
  for (let index = 0; index < sockets; index += 50) {
    const some = Array.from(
      { length: Math.min(50, sockets - index) },
      (_, at) => pairs[(index + at) % pairs.length] as Pair,
    );
    held.push(...(await Promise.all(some.map((pair) => openSocket(address, pair, pair.listener)))));
  }
  return null;
}

process.on('message', (order: Order) => {
  void (async () => {
    if (order.what === 'open') process.send?.(await open(order));
    else if (order.what === 'reconnect') process.send?.(await reconnectAll());
    else if (order.what === 'send') process.send?.(await send(order));
    else process.send?.(await hold(order));
  })();
});
process.once('disconnect', () => process.exit());
