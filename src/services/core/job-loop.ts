// Runs a background job again and again: at an interval, when woken, and some time after a failure. Runs never overlap.
import type { Clock } from '../../engine/engine.ts';

export interface JobLoopOptions {
  readonly clock: Pick<Clock, 'after'>;
  /** One run. The signal is aborted when the loop is stopped. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** ms from the end of a run to the next one. Left out: it runs only when woken. */
  readonly intervalMs?: number;
  /** ms after a failed run. Left out: `intervalMs`. */
  readonly retryMs?: number;
  /** Called with the error of a failed run. A run that fails because the loop is being stopped is no error. */
  readonly onError: (error: unknown) => void;
}

/** A job that runs in this process. It does nothing before it is woken or its first interval is over. */
export class JobLoop {
  readonly #options: JobLoopOptions;
  readonly #stop = new AbortController();
  #woken = false;
  #current: Promise<void> | null = null;
  #cancelTimer = (): void => undefined;

  constructor(options: JobLoopOptions) {
    this.#options = options;
    this.#plan(options.intervalMs);
  }

  /** Whether a run is under way. */
  get isRunning(): boolean {
    return this.#current !== null;
  }

  /** Runs now, or once more after the run that is under way. */
  wake(): void {
    this.#woken = true;
    if (this.#current === null) this.#start();
  }

  /** Aborts the run that is under way and waits for its end. Nothing runs afterwards. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#cancelTimer();
    await this.#current;
  }

  #start(): void {
    if (this.#stop.signal.aborted) return;
    this.#cancelTimer();
    this.#current = this.#runWhileWoken().then((nextMs) => {
      this.#current = null;
      if (this.#woken) this.#start();
      else this.#plan(nextMs);
    });
  }

  /** @returns when to run next; undefined: when woken */
  async #runWhileWoken(): Promise<number | undefined> {
    const { run, intervalMs, retryMs = intervalMs, onError } = this.#options;
    const { signal } = this.#stop;
    try {
      do {
        this.#woken = false;
        await run(signal);
      } while (this.#woken && !signal.aborted);
      return intervalMs;
    } catch (error) {
      // A wake during the failed run does not bring the retry forward.
      this.#woken = false;
      if (!signal.aborted) onError(error);
      return retryMs;
    }
  }

  #plan(ms: number | undefined): void {
    if (ms === undefined || this.#stop.signal.aborted) return;
    this.#cancelTimer = this.#options.clock.after(ms, () => this.#start());
  }
}
