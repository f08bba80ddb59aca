// Owns: what the benchmark's processes say to each other, and how one is started and asked.
// Must not measure anything itself, and must leave no process running.
import { fork, type ChildProcess } from 'node:child_process';
import { LoopMeter, type Hold } from './hold.ts';

/**
 * How a message is sent; it is always delivered over WebSocket, to the other side of its pair. `both`: visitor and operator
 * write to each other, so that each socket sends and receives.
 */
export const ways = ['both', 'visitor', 'operator', 'origin', 'key'] as const;
export type Way = (typeof ways)[number];

/** Whether messages are sent over WebSocket this way, not over REST. */
export const overSocket = (way: Way): boolean => way !== 'origin' && way !== 'key';

/** Two sides of one conversation: what one sends, the other receives. */
export interface Pair {
  readonly conversationId: string;
  /** Path and query of the socket that sends, or in the ways over REST of none. */
  readonly sender: string | null;
  /** Path and query of the socket that joins the conversation and receives. */
  readonly listener: string;
  /** Whether the sender has joined as well and receives what the listener sends. */
  readonly mutual: boolean;
  /** Headers of upgrades and REST calls. */
  readonly headers: Readonly<Record<string, string>>;
  /** What frames are wrapped in. */
  readonly framing: 'plain' | 'socket.io';
}

/** The usual windows with limits that are never reached: what they cost and hold is measured, too. */
export const unlimited = '999999999/s,999999999/m,999999999/h';

/** A question to a server process. */
export type Question =
  | 'address'
  | `pairs:${Way}`
  | 'cpu'
  | 'memory'
  | 'measure'
  | 'measured'
  | 'work'
  | 'rest'
  | 'stop';

export interface Address {
  readonly host: string;
  readonly port: number;
  /** The database file: the caller counts the stored rows there. */
  readonly database: string;
}

/** `cpu`: user and system time used so far, µs; `memory`: resident after a garbage collection, bytes; `measured`: how long the loop was held since `measure`; `rest`: how often each was done since `work`. */
export type Answer<Q extends Question> = Q extends 'address'
  ? Address
  : Q extends `pairs:${Way}`
    ? readonly Pair[]
    : Q extends 'measured'
      ? Hold
      : Q extends 'rest'
        ? Readonly<Record<string, number>>
        : Q extends 'measure' | 'work' | 'stop'
          ? null
          : number;

/** What a load generator is to do next. */
export type Order =
  | {
      readonly what: 'open';
      readonly address: Address;
      readonly pairs: readonly Pair[];
      /** Messages under way at once, per pair. */
      readonly window: number;
      /** Whether messages differ as people's do; left out: all are the same. */
      readonly natural?: boolean;
      /** Whether clients' ids come in no order; left out: in order of time. */
      readonly randomIds?: boolean;
    }
  /** Connects anew where a server ends connections that rest, as over REST. */
  | { readonly what: 'reconnect' }
  /** `perSecond`: so many messages, evenly; null: as many as are answered. */
  | { readonly what: 'send'; readonly seconds: number; readonly perSecond: number | null }
  | {
      readonly what: 'hold';
      readonly address: Address;
      readonly pairs: readonly Pair[];
      readonly sockets: number;
    };

/** What came of it, once nothing was under way any more. */
export interface Sent {
  readonly sent: number;
  readonly acknowledged: number;
  readonly delivered: number;
  /** From the first message until the last was acknowledged and delivered. */
  readonly seconds: number;
  /** Time from sending to the acknowledgement, ms. */
  readonly p50: number;
  readonly p99: number;
}

/** A child process with a channel: one question, one answer. */
export class Child {
  readonly #process: ChildProcess;
  readonly #ended: Promise<void>;
  #failure: string | null = null;

  /** @param flags for Node itself, as `--cpu-prof` */
  constructor(script: string | URL, args: readonly string[] = [], flags: readonly string[] = []) {
    this.#process = fork(new URL(script, import.meta.url), [...args], { execArgv: [...flags] });
    this.#ended = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => {
        this.#failure = `${String(script)} ended early (${signal ?? code})`;
        resolve();
      });
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /**
   * Sends one message and waits for the one that answers it.
   * @throws Error when the process ends instead
   */
  request<T>(message: unknown): Promise<T> {
    const answer = this.next<T>();
    this.#process.send(message as object);
    return answer;
  }

  /**
   * The next message of the process.
   * @throws Error when the process ends instead
   */
  async next<T>(): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    this.#process.once('message', (answer) => resolve(answer as T));
    return Promise.race([
      promise,
      this.#ended.then(() => {
        throw new Error(this.#failure ?? 'it ended');
      }),
    ]);
  }

  ask<Q extends Question>(question: Q): Promise<Answer<Q>> {
    return this.request(question);
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.disconnect();
    await this.#ended;
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }
}

/** How one server is asked; what every server answers alike is answered here. */
export interface Answers {
  readonly address: () => Address;
  readonly pairs: (way: Way) => Promise<readonly Pair[]>;
  readonly stop: () => Promise<void>;
  /** Begins what is done beside the sending. */
  readonly work?: () => Promise<void>;
  /** Ends it, and says how often each was done. */
  readonly rest?: () => Promise<Readonly<Record<string, number>>>;
}

/** Answers the questions of the process that started this one; ends with it. */
export function serveQuestions({ address, pairs, stop, work, rest }: Answers): void {
  const meter = new LoopMeter();
  const answer = async (question: Question): Promise<unknown> => {
    switch (question) {
      case 'address':
        return address();
      case 'cpu': {
        const { user, system } = process.cpuUsage();
        return user + system;
      }
      case 'memory':
        globalThis.gc?.();
        return process.memoryUsage.rss();
      case 'measure':
        meter.begin();
        return null;
      case 'measured':
        return meter.end();
      case 'work':
        await work?.();
        return null;
      case 'rest':
        return (await rest?.()) ?? {};
      case 'stop':
        await stop();
        return null;
      default:
        return pairs(ways.find((way) => question === `pairs:${way}`) ?? 'visitor');
    }
  };
  process.on('message', (question: Question) => {
    void answer(question).then((value) => process.send?.(value));
  });
  process.once('disconnect', () => void stop());
}
