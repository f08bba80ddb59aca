// Owns: how long a message takes from one of several servers to another at a steady rate: alone, while another
// program holds a transaction open, and while the whole database is copied. Must not start servers.
import pg from 'pg';
import type { WebSocket } from 'ws';
import { LoadClient, LoadListener, type LoadFrame, type Talk } from '../test/helpers/cluster-load.ts';

/** Milliseconds, at the median and at 99 %. */
export interface SteadyTimes {
  readonly acked: readonly [median: number, most: number];
  readonly heard: readonly [median: number, most: number];
}

export interface SteadyOptions {
  readonly talks: readonly Talk[];
  /** Addresses of the servers. */
  readonly servers: readonly string[];
  /** The database's address. */
  readonly database: string;
  readonly perSecond: number;
  readonly seconds: number;
}

interface Times {
  readonly sentAt: Map<string, number>;
  readonly acked: number[];
  readonly heard: number[];
}

/** Sends without waiting for an answer. */
class SteadySender extends LoadClient {
  readonly #times: Times;
  #next = 0;

  constructor(talk: Talk, server: string, times: Times) {
    super({ ...talk, pick: () => server });
    this.#times = times;
  }

  send(): void {
    const { conversationId } = this.options;
    const clientMessageId = `${conversationId}-${(this.#next += 1)}`;
    this.#times.sentAt.set(clientMessageId, performance.now());
    this.socket?.send(
      JSON.stringify({
        type: 'message:send',
        payload: { conversationId, content: clientMessageId, clientMessageId },
      }),
    );
  }

  protected override opened(): void {
    // Sends when it is told to.
  }

  protected override heard({ type, payload }: LoadFrame): void {
    if (type === 'message:ack') note(this.#times, 'acked', payload.clientMessageId);
  }
}

/** In the room, at another server. */
class SteadyListener extends LoadListener {
  readonly #times: Times;

  constructor(talk: Talk, server: string, times: Times) {
    super({ ...talk, pick: () => server });
    this.#times = times;
  }

  protected override heard(frame: LoadFrame): void {
    super.heard(frame);
    if (frame.type === 'message:new') note(this.#times, 'heard', frame.payload.content);
  }
}

function note({ sentAt, ...times }: Times, what: 'acked' | 'heard', id: string | undefined): void {
  const began = sentAt.get(id ?? '');
  if (began !== undefined) times[what].push(performance.now() - began);
}

function summary({ acked, heard }: Times): SteadyTimes {
  const two = (list: number[]): readonly [number, number] => {
    const sorted = list.toSorted((one, other) => one - other);
    const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
    return [at(0.5), at(0.99)];
  };
  return { acked: two(acked), heard: two(heard) };
}

/** What a dump asks of the database: copies of all tables as of one moment, again and again until it is told to end. */
async function readEverything(database: string, isOver: () => boolean): Promise<number> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  let dumps = 0;
  while (!isOver()) {
    await client.query('begin isolation level repeatable read read only');
    const { rows } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
    );
    for (const { name } of rows) await client.query(`copy ${name} to '/dev/null'`);
    await client.query('commit');
    dumps += 1;
  }
  await client.end();
  return dumps;
}

export interface SteadyCost {
  readonly alone: SteadyTimes;
  /** While another program's transaction stays open. */
  readonly besideStranger: SteadyTimes;
  /** While the whole database is copied again and again. */
  readonly besideDumps: SteadyTimes;
  /** How often it was. */
  readonly dumps: number;
}

/**
 * Sends at a steady rate: alone, beside a transaction that stays open, and beside dumps.
 * @throws Error when a message was not acknowledged or not heard
 */
export async function steadyCost({
  talks,
  servers,
  database,
  perSecond,
  seconds,
}: SteadyOptions): Promise<SteadyCost> {
  const times = { sentAt: new Map<string, number>(), acked: [] as number[], heard: [] as number[] };
  const server = (index: number): string => servers[index % servers.length] ?? '';
  const senders = talks.map((talk, index) => new SteadySender(talk, server(index), times));
  const listeners = talks.map((talk, index) => new SteadyListener(talk, server(index + 1), times));
  const clients = [...senders, ...listeners];
  const stranger = new pg.Client({ connectionString: database });
  try {
    for (const client of clients) client.start();
    const isReady = (socket: WebSocket | null): boolean => socket?.readyState === 1;
    while (!senders.every(({ socket }) => isReady(socket)) || !listeners.every(({ joined }) => joined))
      await new Promise((resolve) => setTimeout(resolve, 20));
    const run = async (): Promise<SteadyTimes> => {
      times.sentAt.clear();
      times.acked.length = 0;
      times.heard.length = 0;
      const began = performance.now();
      for (let sent = 0; sent < perSecond * seconds; sent += 1) {
        const due = began + (sent * 1_000) / perSecond - performance.now();
        if (due > 0) await new Promise((resolve) => setTimeout(resolve, due));
        senders[sent % senders.length]?.send();
      }
      const until = performance.now() + 30_000;
      while (Math.min(times.acked.length, times.heard.length) < perSecond * seconds) {
        if (performance.now() > until)
          throw new Error(
            `of ${perSecond * seconds} messages ${times.acked.length} were acknowledged and ${times.heard.length} heard`,
          );
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return summary(times);
    };
    await run();
    const alone = await run();
    await stranger.connect();
    await stranger.query('begin');
    await stranger.query('create table stranger_of_the_bench (id integer)');
    const besideStranger = await run();
    await stranger.query('rollback');
    let isOver = false;
    const dumps = readEverything(database, () => isOver);
    const besideDumps = await run();
    isOver = true;
    return { alone, besideStranger, besideDumps, dumps: await dumps };
  } finally {
    await Promise.all(clients.map((client) => client.stop()));
    await stranger.end().catch(() => undefined);
  }
}
