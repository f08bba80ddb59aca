// Owns: what many connections cost: a thousand members who hear of every message, a room of two hundred, a thousand
// visitors who come back at once and catch up. Every frame that was due is counted. The ceiling is the least code with as
// many sockets in one room.
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { median } from './program.ts';
import { Child, type Address, type Pair } from './protocol.ts';
import { sentence } from './texts.ts';

const sizes = { staff: 1_000, room: 200, back: 1_000, missed: 20, messages: 150, rounds: 5 };
const dueWithinMs = 30_000;

export interface ManyLine {
  readonly what: string;
  readonly deskbell: string;
  readonly ceiling: string;
  readonly ratio: string;
}

/** Waits until as many have come as are due. @throws Error when they do not come */
class Count {
  readonly #done = Promise.withResolvers<void>();
  readonly #due: number;
  readonly #what: string;
  came = 0;

  constructor(what: string, due: number) {
    this.#what = what;
    this.#due = due;
  }

  add(): void {
    this.came += 1;
    if (this.came === this.#due) this.#done.resolve();
  }

  async all(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`${this.#what}: ${this.came} of ${this.#due} came`)),
        dueWithinMs,
      );
    });
    try {
      await Promise.race([this.#done.promise, late]);
    } finally {
      clearTimeout(timer);
    }
    if (this.came !== this.#due)
      throw new Error(`${this.#what}: ${this.came} came, and ${this.#due} were due`);
  }
}

type Hear = (frame: Buffer) => void;

async function open({ host, port }: Address, path: string, pair: Pair, hear: Hear): Promise<WebSocket> {
  const socket = new WebSocket(`ws://${host}:${port}${path}`, {
    headers: pair.headers,
    perMessageDeflate: false,
    skipUTF8Validation: true,
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on('message', hear);
  socket.once('open', () => resolve());
  socket.once('error', reject);
  await promise;
  return socket;
}

/** Opens many, some at a time. */
async function openMany(count: number, one: (index: number) => Promise<WebSocket>): Promise<WebSocket[]> {
  const sockets: WebSocket[] = [];
  for (let at = 0; at < count; at += 50)
    sockets.push(
      ...(await Promise.all(Array.from({ length: Math.min(50, count - at) }, (_, index) => one(at + index)))),
    );
  return sockets;
}

const frame = (type: string, payload: object): string => JSON.stringify({ type, payload });

/** Sends messages, each once the one before was acknowledged. */
async function sendAll(
  sender: WebSocket,
  conversationId: string,
  count: number,
  name: string,
): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const hear = (data: Buffer): void => {
      if (data.includes('"message:ack"')) resolve();
    };
    sender.on('message', hear);
    sender.send(
      frame('message:send', { conversationId, content: sentence, clientMessageId: `${name}-${index}` }),
    );
    await promise;
    sender.off('message', hear);
  }
}

interface Audience {
  readonly server: Child;
  readonly address: Address;
  readonly conversationId: string;
  readonly sender: WebSocket;
  readonly listeners: readonly WebSocket[];
  /** Told of every frame that a listener gets. */
  hear: Hear;
}

/** @param staff whether the listeners are members, who join no room */
async function gather(server: Child, listeners: number, staff: boolean): Promise<Audience> {
  const address = await server.ask('address');
  const [pair] = await server.ask(staff ? 'pairs:operator' : 'pairs:visitor');
  if (pair === undefined) throw new Error('there is no conversation');
  const audience: { hear: Hear } = { hear: () => undefined };
  const path = staff ? (pair.sender ?? '/').replace('&mode=test', '') : pair.listener;
  const sockets = await openMany(listeners, () => open(address, path, pair, (data) => audience.hear(data)));
  const sender = await open(address, pair.listener, pair, () => undefined);
  if (!staff || pair.listener === '/') {
    const joined = new Count('joined', listeners);
    audience.hear = (data) => {
      if (data.includes('"room:joined"')) joined.add();
    };
    for (const socket of sockets)
      socket.send(frame('room:join', { conversationId: pair.conversationId, echo: true }));
    await joined.all();
  }
  return Object.assign(audience, {
    server,
    address,
    conversationId: pair.conversationId,
    sender,
    listeners: sockets,
  });
}

/** One round: processor time of the server for each frame that a listener got, µs. */
async function fanOut(audience: Audience, type: string, name: string): Promise<number> {
  const due = audience.listeners.length * sizes.messages;
  const heard = new Count(type, due);
  audience.hear = (data) => {
    if (data.includes(type)) heard.add();
  };
  const before = await audience.server.ask('cpu');
  await sendAll(audience.sender, audience.conversationId, sizes.messages, name);
  await heard.all();
  return ((await audience.server.ask('cpu')) - before) / due;
}

async function fanOuts(deskbell: Child, least: Child, listeners: number, staff: boolean): Promise<ManyLine> {
  const own = await gather(deskbell, listeners, staff);
  const theirs = await gather(least, listeners, false);
  const cost = { own: [] as number[], theirs: [] as number[] };
  // The first round warms both up, and isn't counted.
  for (let round = 0; round <= sizes.rounds; round += 1) {
    const one = await fanOut(
      own,
      staff ? '"conversation:activity"' : '"message:new"',
      `${listeners}-${round}-${Date.now()}`,
    );
    const other = await fanOut(theirs, '"message:new"', `${listeners}-${round}-${Date.now()}`);
    if (round === 0) continue;
    cost.own.push(one);
    cost.theirs.push(other);
  }
  for (const { sender, listeners: sockets } of [own, theirs])
    for (const socket of [sender, ...sockets]) socket.terminate();
  return {
    what: `${listeners} ${staff ? 'members listen' : 'in a room'}, processor time of a delivery, µs`,
    deskbell: median(cost.own).toFixed(2),
    ceiling: median(cost.theirs).toFixed(2),
    ratio: (median(cost.own) / median(cost.theirs)).toFixed(2),
  };
}

/** Visitors who were away come back at once: each asks for what it missed. */
async function comeBack(server: Child): Promise<ManyLine[]> {
  const address = await server.ask('address');
  const pairs = await server.ask('pairs:visitor');
  const last = new Map<string, string>();
  for (let at = 0; at < pairs.length; at += 50)
    await Promise.all(
      pairs.slice(at, at + 50).map(async (pair) => {
        const sender = await open(address, pair.listener, pair, (data) => {
          const id = /"serverMessageId":"([^"]+)"/.exec(data.toString())?.[1];
          if (id !== undefined && !last.has(pair.conversationId)) last.set(pair.conversationId, id);
        });
        // The first one was seen before the connection was lost.
        await sendAll(sender, pair.conversationId, sizes.missed + 1, `back-${Date.now()}`);
        sender.terminate();
      }),
    );
  const synced = new Count('caught up', sizes.back);
  const missed = new Count('missed messages', sizes.back * sizes.missed);
  await server.ask('measure');
  const began = performance.now();
  const sockets = await Promise.all(
    Array.from({ length: sizes.back }, async (_, index) => {
      const pair = pairs[index % pairs.length] as Pair;
      const headers = { ...pair.headers, 'x-forwarded-for': `10.9.${index >> 8}.${index & 255}` };
      const joinRoom = (): void =>
        socket.send(
          frame('room:join', {
            conversationId: pair.conversationId,
            lastMessageId: last.get(pair.conversationId),
          }),
        );
      const socket = await open(address, pair.listener, { ...pair, headers }, (data) => {
        const { type, payload } = JSON.parse(data.toString()) as {
          type: string;
          payload: { messages?: unknown[] };
        };
        if (type === 'messages:sync') for (let n = payload.messages?.length ?? 0; n > 0; n -= 1) missed.add();
        if (type === 'room:joined') synced.add();
        if (type !== 'error') return;
        if (!data.includes('"RATE_LIMITED"')) throw new Error(data.toString());
        // As the SDK does: later, and not all at the same moment.
        setTimeout(joinRoom, 1_000 + Math.random() * 1_000);
      });
      joinRoom();
      return socket;
    }),
  );
  await Promise.all([synced.all(), missed.all()]);
  const seconds = (performance.now() - began) / 1_000;
  const { delayP99, cpuLongest } = await server.ask('measured');
  for (const socket of sockets) socket.terminate();
  return [
    {
      what: `${sizes.back} come back at once, until the last has its ${sizes.missed} messages, s`,
      deskbell: seconds.toFixed(2),
      ceiling: '',
      ratio: '',
    },
    {
      what: 'longest turn of the loop and p99 of its delay while they do, ms',
      deskbell: `${cpuLongest.toFixed(1)}, ${delayP99.toFixed(1)}`,
      ceiling: '',
      ratio: '',
    },
  ];
}

/**
 * @param parent where the databases are made
 * @throws Error when a frame that was due did not come, or came twice
 */
export async function manyConnections(parent: string, started: Child[]): Promise<ManyLine[]> {
  const folder = await mkdtemp(join(parent, 'deskbell-bench-'));
  try {
    const deskbell = new Child('./deskbell-server.ts', [join(folder, 'deskbell'), '50']);
    const least = new Child('./peer-server.ts', [folder, '50', 'least']);
    started.push(deskbell, least);
    const lines = [
      await fanOuts(deskbell, least, sizes.staff, true),
      await fanOuts(deskbell, least, sizes.room, false),
    ];
    await deskbell.stop();
    await least.stop();
    // Each of them another visitor: what one visitor catches up is limited.
    const visited = new Child('./deskbell-server.ts', [
      join(folder, 'visited'),
      String(sizes.back),
      'proxied',
    ]);
    started.push(visited);
    lines.push(...(await comeBack(visited)));
    await visited.stop();
    return lines;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
