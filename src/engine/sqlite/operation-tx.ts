// What an operation of the write queue reaches. Its events are told, and their rows written, once its group has run.
import type { Clock, CommittedEvent, NewEvent, Tx } from '../engine.ts';
import type { SqliteRepositories } from './repositories/repositories.ts';

/** What one operation sees of the transaction, until its end. */
export class OperationTx implements Tx {
  readonly #repositories: SqliteRepositories;
  readonly #clock: Clock;
  readonly #events: CommittedEvent[];
  readonly #epoch: number | null;
  #configuration: Set<string> | null = null;
  #over = false;

  constructor(
    repositories: SqliteRepositories,
    clock: Clock,
    events: CommittedEvent[],
    epoch: number | null,
  ) {
    this.#repositories = repositories;
    this.#clock = clock;
    this.#events = events;
    this.#epoch = epoch;
  }

  get repositories(): SqliteRepositories {
    this.#assertOpen();
    return this.#repositories;
  }

  /** Organizations whose configuration it changed; null: none. */
  get changed(): ReadonlySet<string> | null {
    return this.#configuration;
  }

  end(): void {
    this.#over = true;
  }

  // Its row is written with those of the other operations, before the commit.
  emit(event: NewEvent): void {
    this.#assertOpen();
    // Field by field: all events are then of one shape, and those who read them by the thousand are fast.
    this.#events.push({
      seq: 0,
      organization_id: event.organization_id,
      conversation_id: event.conversation_id,
      mode: event.mode,
      type: event.type,
      audience: event.audience,
      actor_id: event.actor_id,
      message_id: event.message_id,
      member_id: event.member_id,
      created_at: this.#clock.now(),
      own: true,
      payload: event.payload,
      activity: event.activity,
      originConnectionId: event.originConnectionId,
    });
  }

  configurationEpoch(): number | null {
    this.#assertOpen();
    return this.#configuration === null ? this.#epoch : null;
  }

  configurationChanged(organizationId: string): void {
    this.#assertOpen();
    (this.#configuration ??= new Set()).add(organizationId);
  }

  #assertOpen(): void {
    if (this.#over) throw new Error('A transaction was used after its end.');
  }
}
