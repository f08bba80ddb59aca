// Owns: how long the event loop of a server under measurement is held, in time and in processor time. Runs in that server.
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** How long the server's event loop was held, ms: its delay, and processor time between two of its turns. */
export interface Hold {
  readonly seconds: number;
  readonly delayP99: number;
  readonly delayLongest: number;
  readonly cpuP99: number;
  readonly cpuLongest: number;
}

/** Runs work and measures, from its beginning to its end, how long the loop was held. */
export async function held(work: () => Promise<unknown>): Promise<Hold> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const turns: number[] = [];
  let last = process.threadCpuUsage();
  const timer = setInterval(() => {
    const now = process.threadCpuUsage();
    turns.push((now.user - last.user + now.system - last.system) / 1_000);
    last = now;
  }, 1);
  const began = performance.now();
  delay.enable();
  await work();
  delay.disable();
  clearInterval(timer);
  turns.sort((one, other) => one - other);
  return {
    seconds: (performance.now() - began) / 1_000,
    delayP99: delay.percentile(99) / 1e6,
    delayLongest: delay.max / 1e6,
    cpuP99: turns[Math.floor(turns.length * 0.99)] ?? 0,
    cpuLongest: turns.at(-1) ?? 0,
  };
}

/** Measures between two questions of another process. */
export class LoopMeter {
  #end = Promise.withResolvers<void>();
  #measuring: Promise<Hold> | null = null;

  begin(): void {
    this.#end = Promise.withResolvers<void>();
    this.#measuring = held(() => this.#end.promise);
  }

  /** @throws Error when nothing was begun */
  end(): Promise<Hold> {
    if (this.#measuring === null) throw new Error('nothing is being measured');
    this.#end.resolve();
    return this.#measuring;
  }
}
