// Rows that wait to be sent, in queues that take nothing from each other: as many attempts at once as each may have,
// timers for what is due later, a stop that waits for what is under way. What a row is, the caller knows: webhooks'
// deliveries and the effects of the outbox both run on this.
import type { Clock } from '../../engine/engine.ts';

const maxSleepMs = 3_600_000;
/** After an attempt whose outcome could not be recorded. */
const retryDelayMs = 5_000;

/** What waits in one queue. */
export interface DueRows<Row> {
  /** Due now, longest first. */
  readonly due: readonly Row[];
  /** When the next one after now is due; null: none is. */
  readonly next: number | null;
}

export interface DueQueuesOptions<Row> {
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** Attempts at once in one queue. */
  readonly maxConcurrent: number;
  /**
   * Rows of a queue that are read ahead, to be attempted as soon as others have ended; left out: none, each is attempted as it
   * was read a moment ago. To read some at once costs little more than to read one.
   */
  readonly ahead?: number;
  /** Reads a queue. @param most rows that are of use */
  readonly read: (key: string, now: number, most: number) => Promise<DueRows<Row>>;
  /** Makes one attempt, and records how it ended. Ends soon after the signal is aborted. */
  readonly attempt: (key: string, row: Row, signal: AbortSignal) => Promise<void>;
  /** Called when `look` should be called again. */
  readonly wake: () => void;
  readonly onError: (error: unknown) => void;
}

interface Queue<Row> {
  readonly busy: Set<string>;
  /** Attempts that have ended since the queue was last read: what was read may be older than their outcome. */
  readonly ended: Set<string>;
  /** Due rows that were read ahead, longest first. */
  ready: Row[];
  cancelTimer: () => void;
}

/** Queues by key. Nothing happens before `look`. */
export class DueQueues<Row extends { readonly id: string }> {
  readonly #options: DueQueuesOptions<Row>;
  readonly #queues = new Map<string, Queue<Row>>();
  /** Keys of queues that may have a due row. */
  readonly #unchecked = new Set<string>();
  readonly #attempts = new Set<Promise<void>>();
  readonly #stop = new AbortController();

  constructor(options: DueQueuesOptions<Row>) {
    this.#options = options;
  }

  /** Has a queue looked at by the next `look`. */
  check(key: string): void {
    if (!this.#queues.has(key))
      this.#queues.set(key, { busy: new Set(), ended: new Set(), ready: [], cancelTimer: () => undefined });
    this.#unchecked.add(key);
  }

  /** Begins nothing more in a queue. What is under way ends by itself. */
  forget(key: string): void {
    this.#queues.get(key)?.cancelTimer();
    this.#queues.delete(key);
    this.#unchecked.delete(key);
  }

  /** Begins the attempts that are due, as many as may run at once, and plans the next look. */
  async look(): Promise<void> {
    for (const key of this.#unchecked) {
      this.#unchecked.delete(key);
      const queue = this.#queues.get(key);
      if (queue === undefined) continue;
      try {
        await this.#begin(key, queue);
      } catch (error) {
        this.#unchecked.add(key);
        throw error;
      }
    }
  }

  /** Aborts what is under way and waits for its end. */
  async stop(): Promise<void> {
    this.#stop.abort();
    for (const queue of this.#queues.values()) queue.cancelTimer();
    await Promise.all(this.#attempts);
  }

  async #begin(key: string, queue: Queue<Row>): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const free = this.#options.maxConcurrent - queue.busy.size;
    // The end of an attempt looks again.
    if (free <= 0) return;
    if (queue.ready.length < free && !(await this.#read(key, queue))) return;
    for (const row of queue.ready.splice(0, free)) this.#beginAttempt(key, queue, row);
    if (this.#options.ahead === undefined) queue.ready = [];
  }

  /**
   * Reads what is due, and plans the look at what is due later.
   * @returns false where nothing is to be begun any more
   */
  async #read(key: string, queue: Queue<Row>): Promise<boolean> {
    const { clock, maxConcurrent, ahead = 0, read } = this.#options;
    queue.ended.clear();
    const { due, next } = await read(key, clock.now(), maxConcurrent + ahead + queue.busy.size);
    if (this.#stop.signal.aborted || this.#queues.get(key) !== queue) return false;
    queue.ready = due.filter(({ id }) => !queue.busy.has(id) && !queue.ended.has(id));
    queue.cancelTimer();
    if (next !== null) {
      // From now on, not from before the reading, which may have taken a while.
      const wait = next - clock.now();
      if (wait <= 0) this.#checkAgain(key, queue);
      else queue.cancelTimer = clock.after(Math.min(wait, maxSleepMs), () => this.#checkAgain(key, queue));
    } else if (queue.ready.length === 0 && queue.busy.size === 0 && !this.#unchecked.has(key))
      this.#queues.delete(key);
    return true;
  }

  #checkAgain(key: string, queue: Queue<Row>): void {
    if (this.#queues.get(key) === queue) this.#unchecked.add(key);
    this.#options.wake();
  }

  #beginAttempt(key: string, queue: Queue<Row>, row: Row): void {
    const { attempt, clock, onError } = this.#options;
    queue.busy.add(row.id);
    const end = (): void => {
      queue.busy.delete(row.id);
      queue.ended.add(row.id);
      this.#checkAgain(key, queue);
    };
    const made = attempt(key, row, this.#stop.signal).then(end, (error: unknown) => {
      onError(error);
      // An outcome that could not be recorded leads to another attempt, but not at once.
      clock.after(retryDelayMs, end);
    });
    this.#attempts.add(made);
    void made.finally(() => this.#attempts.delete(made));
  }
}
