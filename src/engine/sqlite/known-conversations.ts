// Rows of conversations that the writing connection has just read or written: sending a message needs no query for
// them. They hold as long as nothing else writes: the write queue forgets them at any other statement that changes rows,
// at a rollback, and when another process has committed.
import type { ConversationWithVisitor } from '../rows.ts';

const maxRows = 1_000;

/** A row that is known. */
export interface KnownConversation {
  /** SQLite's own key: an update finds the row at once. */
  readonly rowid: number;
  /** Its number in `conversation_numbers`. */
  readonly number: number;
  /** As the connection would read it now. Not to be changed, but replaced. */
  row: ConversationWithVisitor;
}

export class KnownConversations {
  readonly #rows = new Map<string, KnownConversation>();

  /** undefined: read it. */
  get(id: string): KnownConversation | undefined {
    return this.#rows.get(id);
  }

  /** Keeps a row; of too many, the one that was kept first goes. */
  put(known: KnownConversation): void {
    const { id } = known.row;
    if (this.#rows.size >= maxRows && !this.#rows.has(id))
      this.#rows.delete(this.#rows.keys().next().value ?? id);
    this.#rows.set(id, known);
  }

  /** Something else may have changed rows. */
  forget(): void {
    this.#rows.clear();
  }
}
