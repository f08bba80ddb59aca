// Makes ordered notices out of hints: what this node commits, and what it hears of others. A hint may be late, doubled,
// lost or out of order; the log is the truth, and a gap is read from it. Every engine's subscribers hear the log through
// one of these.
import type { Clock, CommitNotice, CommittedEvent } from './engine.ts';

export interface LogFollowerOptions {
  readonly clock: Pick<Clock, 'after'>;
  /** Events up to this number are told already. */
  readonly position: number;
  /** Reads a page of the log: the events after a number, oldest first; none at its end. */
  readonly readAfter: (seq: number) => Promise<readonly CommittedEvent[]>;
}

/** After a read that failed, the next one comes so much later, ms. */
const retryMs = 200;

export class LogFollower {
  readonly #options: LogFollowerOptions;
  readonly #listeners = new Set<(notice: CommitNotice) => void>();
  /** Events that were hinted at ahead of their turn: they have a payload, the log has none. */
  readonly #early = new Map<number, CommittedEvent>();
  #position: number;
  /** How often it has started over: what was read before is of another log. */
  #starts = 0;
  #foreign = 0;
  #reading = false;
  #readAgain = false;
  #closed = false;
  #cancelRetry = (): void => undefined;

  constructor(options: LogFollowerOptions) {
    this.#options = options;
    this.#position = options.position;
  }

  /** The number of the newest event that was told. */
  get position(): number {
    return this.#position;
  }

  /** How many events of others were told. */
  get foreignCount(): number {
    return this.#foreign;
  }

  /** Called with every notice. The answer unsubscribes. */
  subscribe(listener: (notice: CommitNotice) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes a hint: committed events, and whose configuration changed. What is next in line is told at once. */
  hint(events: readonly CommittedEvent[], configuration: CommitNotice['configuration']): void {
    // The usual case: nothing is on its way, and all of it follows.
    if (!this.#reading && this.#early.size === 0 && this.#isNext(events)) {
      if (events.length > 0 || configuration !== null) this.#tell(events, configuration);
      return;
    }
    for (const event of events) if (event.seq > this.#position) this.#early.set(event.seq, event);
    const next = this.#reading ? [] : this.#takeNext();
    if (next.length > 0 || configuration !== null) this.#tell(next, configuration);
    if (this.#early.size > 0) this.look();
  }

  /** Reads on from the position: others may have committed. */
  look(): void {
    this.#readAgain = true;
    if (this.#reading || this.#closed) return;
    this.#reading = true;
    this.#cancelRetry();
    void this.#readOn().then(
      () => {
        this.#reading = false;
        // A hint that came in between may follow what was read.
        if (this.#early.size > 0) this.hint([], null);
        // Who looked while the end was being read may know of what that did not see.
        if (this.#readAgain) this.look();
      },
      () => {
        this.#reading = false;
        // Storage that can't be read now is asked again later.
        this.#cancelRetry = this.#options.clock.after(retryMs, () => this.look());
      },
    );
  }

  /**
   * Goes on behind a number, whatever was told: the store has lost commits.
   * @param position of the newest event that it holds
   */
  startOver(position: number): void {
    this.#starts += 1;
    this.#early.clear();
    this.#position = position;
    for (const listener of this.#listeners) listener({ events: [], configuration: 'all', lost: true });
    this.look();
  }

  close(): void {
    this.#closed = true;
    this.#cancelRetry();
    this.#listeners.clear();
  }

  /** Tells that the store has not been reached for long. */
  tellCutOff(): void {
    for (const listener of this.#listeners) listener({ events: [], configuration: null, cutOff: true });
  }

  async #readOn(): Promise<void> {
    while (this.#readAgain && !this.#closed) {
      this.#readAgain = false;
      const starts = this.#starts;
      const events = await this.#options.readAfter(this.#position);
      if (starts !== this.#starts) {
        this.#readAgain = true;
        continue;
      }
      if (events.length === 0) break;
      this.#readAgain = true;
      this.#tell(
        events.map((event) => this.#early.get(event.seq) ?? event),
        null,
      );
    }
    for (const seq of this.#early.keys()) if (seq <= this.#position) this.#early.delete(seq);
  }

  /** Whether the events follow the position, in order and without a gap. */
  #isNext(events: readonly CommittedEvent[]): boolean {
    let seq = this.#position;
    for (const event of events) {
      seq += 1;
      if (event.seq !== seq) return false;
    }
    return true;
  }

  /** The events that follow the position without a gap. */
  #takeNext(): CommittedEvent[] {
    const next: CommittedEvent[] = [];
    for (let seq = this.#position + 1; ; seq += 1) {
      const event = this.#early.get(seq);
      if (event === undefined) return next;
      this.#early.delete(seq);
      next.push(event);
    }
  }

  #tell(events: readonly CommittedEvent[], configuration: CommitNotice['configuration']): void {
    this.#position = events.at(-1)?.seq ?? this.#position;
    for (const { own } of events) if (!own) this.#foreign += 1;
    for (const listener of this.#listeners) listener({ events, configuration });
  }
}
