// Rows of conversations that the writing connection has just read or written: sending a message needs no query for
// them. They hold as long as nothing else writes: the write queue forgets them at any other statement that changes rows,
// at a rollback, and when another process has committed.
import type { ConversationWithVisitor } from '../rows.ts';

const maxRows = 1_000;

export class KnownConversations {
  readonly #rows = new Map<string, ConversationWithVisitor>();

  /** The row as the connection would read it now; undefined: read it. Not to be changed. */
  get(id: string): ConversationWithVisitor | undefined {
    return this.#rows.get(id);
  }

  /** Keeps a row; of too many, the one that was kept first goes. */
  put(row: ConversationWithVisitor): void {
    if (this.#rows.size >= maxRows && !this.#rows.has(row.id))
      this.#rows.delete(this.#rows.keys().next().value ?? row.id);
    this.#rows.set(row.id, row);
  }

  /** Something else may have changed rows. */
  forget(): void {
    this.#rows.clear();
  }
}
