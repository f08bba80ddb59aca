// One operation in a transaction that it shares with others: what it sees of it, and what it leaves. Holds no rule.
import type { Clock, CommittedEvent, NewEvent, Tx } from '../engine.ts';
import type { Repositories } from '../repositories.ts';
import type { Link } from './link.ts';
import { createRepositories } from './repositories.ts';
import { createRunner } from './runner.ts';

/** What the operations of a transaction share. */
export interface Transaction {
  readonly link: Link;
  readonly clock: Clock;
  /** The number of configuration when the locks were held. */
  readonly configurationCount: Promise<number>;
  /** Organizations whose configuration was changed by those of its operations that are over. */
  readonly changed: ReadonlySet<string>;
  /** The database has refused a statement: nothing of the transaction will be kept. */
  refused(error: unknown): void;
}

export class OperationTx implements Tx {
  readonly #repositories: Repositories;
  readonly events: CommittedEvent[] = [];
  /** Organizations whose configuration it changed. */
  readonly changed = new Set<string>();
  readonly #transaction: Transaction;
  /** Whether it may have changed rows. */
  wrote = false;
  #over = false;

  constructor(transaction: Transaction) {
    this.#transaction = transaction;
    const runner = createRunner(transaction.link, {
      before: (writes) => {
        this.#assertOpen();
        if (writes) this.wrote = true;
      },
      refused: (error) => transaction.refused(error),
    });
    this.#repositories = createRepositories(runner);
  }

  get repositories(): Repositories {
    this.#assertOpen();
    return this.#repositories;
  }

  /** Nothing more is taken. */
  end(): void {
    this.#over = true;
  }

  // Its number is given with the commit, and with it the row.
  async emit(event: NewEvent): Promise<void> {
    this.#assertOpen();
    this.events.push({ ...event, created_at: this.#transaction.clock.now(), seq: 0, own: true });
  }

  async configurationEpoch(): Promise<number | null> {
    this.#assertOpen();
    const count = await this.#transaction.configurationCount;
    // One before it in the same transaction may have withdrawn a right that was looked up earlier.
    return this.changed.size + this.#transaction.changed.size === 0 ? count : null;
  }

  configurationChanged(organizationId: string): void {
    this.#assertOpen();
    this.changed.add(organizationId);
  }

  #assertOpen(): void {
    if (this.#over) throw new Error('A transaction was used after its end.');
  }
}
