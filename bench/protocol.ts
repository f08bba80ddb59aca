// Owns: what the benchmark's processes say to each other, and how one is started and asked.
// Must not measure anything itself, and must leave no process running.
import { fork, type ChildProcess } from 'node:child_process';

/** Two connections of one conversation: what one sends, the other receives. */
export interface Pair {
  readonly conversationId: string;
  /** Path and query of both sockets. */
  readonly socketPath: string;
  /** Headers of the upgrade and of REST calls. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A question to a server process. */
export type Question = 'address' | 'pairs' | 'usage' | 'stop';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What a server process has used so far. */
export interface Usage {
  /** User and system time, µs. */
  readonly cpuMicros: number;
  /** Resident memory after a garbage collection, bytes. */
  readonly rss: number;
}

export interface Answers {
  address: Address;
  pairs: readonly Pair[];
  usage: Usage;
  stop: null;
}

/** What the load generator is to do. */
export interface Load {
  readonly kind: 'ws' | 'rest' | 'hold';
  readonly address: Address;
  readonly pairs: readonly Pair[];
  readonly seconds: number;
  /** Messages under way at once, per pair. */
  readonly window: number;
  /** Sockets to hold, for `hold`. */
  readonly sockets: number;
}

export interface LoadResult {
  /** Messages that were acknowledged and delivered, per second. */
  readonly perSecond: number;
  readonly messages: number;
  /** Time from sending to the acknowledgement, ms. */
  readonly ackP50: number;
  readonly ackP99: number;
}

/** A child process with a channel: one question, one answer. */
export class Child {
  readonly #process: ChildProcess;
  readonly #ended: Promise<void>;
  #failure: string | null = null;

  /** @param flags for Node itself, as `--cpu-prof` */
  constructor(script: string, args: readonly string[] = [], flags: readonly string[] = []) {
    this.#process = fork(new URL(script, import.meta.url), [...args], { execArgv: [...flags] });
    this.#ended = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => {
        this.#failure = `${script} ended early (${signal ?? code})`;
        resolve();
      });
    });
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

  ask<Q extends Question>(question: Q): Promise<Answers[Q]> {
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

/** Answers the questions of the process that started this one; ends with it. */
export function serveQuestions(answer: {
  readonly [Q in Question]: () => Promise<Answers[Q]> | Answers[Q];
}): void {
  process.on('message', (question: Question) => {
    void (async () => {
      process.send?.(await answer[question]());
    })();
  });
  process.once('disconnect', () => {
    void (async () => {
      await answer.stop();
    })();
  });
}

/** This process's usage; collects garbage first where Node was started with --expose-gc. */
export function ownUsage(): Usage {
  const { user, system } = process.cpuUsage();
  globalThis.gc?.();
  return { cpuMicros: user + system, rss: process.memoryUsage.rss() };
}
