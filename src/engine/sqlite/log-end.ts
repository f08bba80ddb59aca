// Where the log of events and the messages end: the numbers that the writing connection gives next, and the messages that it
// has given the last ones to. It knows them for as long as nothing else writes; the write queue lets it forget them with the
// rows of conversations (known-conversations.ts).
import { sql } from 'kysely';
import { twoFaced } from '../../../migrations/columns.ts';
import { builder, type DirectRunner } from './query.ts';

const newestSeq = sql<{ seq: number }>`select max(
  coalesce((select max(seq) from events), 0),
  coalesce((select seq + messages - 1 from message_events order by seq desc limit 1), 0)) as seq`;
/** The number of the newest event of either table, 0 for an empty log. */
export const lastSeq = newestSeq.compile(builder);

/** The number of the newest event, for a comparison in a query. */
export const lastSeqOfLog = twoFaced({
  sqlite: sql<number>`(${newestSeq})`,
  postgres: sql<number>`(select max(seq) from events)`,
});

/** More messages than this wait for their places only where none can be given, as on a full disk. */
const mostUnplaced = 2_000;

/** The newest message's number, or the highest that an event stands for: its message may be gone. */
const lastMessage = sql<{ number: number }>`select max(
  coalesce((select max(number) from messages), 0),
  coalesce((select number + messages - 1 from message_events order by seq desc limit 1), 0)) as number`.compile(
  builder,
);

/** A message that was stored, and where it belongs. */
export interface StoredMessage {
  readonly id: string;
  readonly number: number;
  /** Its conversation's number in `conversation_numbers`. */
  readonly conversation: number;
  /** Its number in its conversation. */
  readonly seq: number;
}

/** Messages without places. */
export interface Unplaced {
  /** The number of the oldest; null: every one has its place. */
  readonly oldest: number | null;
  /** How many they are at most: numbers of removed ones may count. */
  readonly atMost: number;
}

/** The numbers that come next, and the messages that the open transaction has stored under theirs. */
export class LogEnd {
  readonly #direct: DirectRunner;
  /** The newest numbers; null: they are to be read. */
  #seq: number | null = null;
  #message: number | null = null;
  /** The highest number that was given here: one that was given in vain is not given again. */
  #given = 0;
  #stored: StoredMessage[] = [];
  /** Stored since something else may have written, and not taken to be placed. */
  #unplaced: StoredMessage[] = [];
  /** These are all that have no place. */
  #knowsUnplaced = false;

  /** @param direct runs queries on the connection that writes */
  constructor(direct: DirectRunner) {
    this.#direct = direct;
  }

  /** Something else may have written. */
  forget(): void {
    this.#seq = null;
    this.#message = null;
    this.#forgetUnplaced();
  }

  #forgetUnplaced(): void {
    this.#unplaced = [];
    this.#knowsUnplaced = false;
  }

  /** The number of the next message, and of no other. */
  takeMessage(): number {
    this.#message ??= this.#direct.first(lastMessage, [])?.number ?? 0;
    this.#given = Math.max(this.#message, this.#given) + 1;
    this.#message = this.#given;
    return this.#given;
  }

  /** The number of the first of so many events. */
  takeEvents(count: number): number {
    this.#seq ??= this.#direct.first(lastSeq, [])?.seq ?? 0;
    const first = this.#seq + 1;
    this.#seq += count;
    return first;
  }

  /** A message was stored under the number that was taken last. */
  noteMessage(message: StoredMessage): void {
    this.#stored.push(message);
    if (this.#unplaced.length >= mostUnplaced) this.#forgetUnplaced();
    this.#unplaced.push(message);
  }

  /** All that the transaction has stored was undone. */
  undo(): void {
    this.forget();
    this.#stored = [];
  }

  /** The messages that were stored since the last call, in their order; those of an operation that was undone among them. */
  takeStored(): readonly StoredMessage[] {
    const stored = this.#stored;
    this.#stored = [];
    return stored;
  }

  /** Messages that have no place in their conversation yet; null: it does not know all of them, so they are to be read. */
  get unplaced(): Unplaced | null {
    if (!this.#knowsUnplaced) return null;
    return { oldest: this.#unplaced[0]?.number ?? null, atMost: this.#unplaced.length };
  }

  /** @param oldest the number of the oldest without a place, as the database has it now; null: every one has its place */
  noteOldestUnplaced(oldest: number | null): void {
    this.#knowsUnplaced = oldest === (this.#unplaced[0]?.number ?? null);
  }

  /**
   * Messages that have no place in their conversation yet, each handed out once.
   * @param first the number of the oldest one that the database has
   * @param most how many
   * @returns none where this does not know the oldest: so many are then to be read, and the known ones among them are let go
   */
  takeUnplaced(first: number, most: number): StoredMessage[] {
    if (this.#unplaced[0]?.number === first) return this.#unplaced.splice(0, most);
    this.#knowsUnplaced = false;
    this.#unplaced = this.#unplaced.filter(({ number }) => number >= first + most);
    return [];
  }
}
