// Searching the queue and showing views: asks a moment after the last letter, page by page, and drops answers that come
// too late.
import type { QueueFilter } from '../sdk/staff-types.ts';
import { errorMessage, type DeskContext } from './desk-context.ts';
import {
  emptySearch,
  keepCursor,
  shownSearch,
  type QueueLists,
  type QueueView,
  type Search,
} from './queue.ts';

const searchAfterMs = 200;
const maxPageSize = 100;

export class QueueSearch {
  readonly #context: DeskContext;
  readonly #pageSize: number;
  /** Called when the first page of an answer is there, and when the search ends. */
  readonly #onNewRows: () => void;
  /** Answers of an earlier round are dropped. */
  #round = 0;
  #cancel = (): void => undefined;

  constructor(context: DeskContext, pageSize: number, onNewRows: () => void) {
    this.#context = context;
    this.#pageSize = pageSize;
    this.#onNewRows = onNewRows;
  }

  /** The field has the keys; what the queue shows stays until the first letter. */
  begin(): void {
    this.#setQueue({ search: { ...(this.#queue.search ?? emptySearch), typing: true } });
  }

  /** Shows what fits a view. */
  async showView(view: QueueView): Promise<void> {
    this.#cancel();
    this.#setQueue({ search: { ...emptySearch, typing: false, view } });
    await this.#find([], this.#pageSize);
  }

  /** @param text the words as they stand in the field now */
  setText(text: string): void {
    this.#set({ text, view: null });
    this.#cancel();
    this.#round += 1;
    if (text.trim() === '') return this.#set({ ids: null, total: 0, loading: false, problem: null });
    this.#set({ loading: true });
    this.#cancel = this.#context.schedule(searchAfterMs, () => void this.#find([], this.#pageSize));
    return undefined;
  }

  /** The words stand, or the view does; the keys are the list's again. Without either the search is over. */
  confirm(): void {
    if (shownSearch(this.#queue) === null) this.end();
    else this.#set({ typing: false });
  }

  end(): void {
    if (this.#queue.search === null) return;
    this.#cancel();
    this.#round += 1;
    this.#setQueue({ search: null });
    this.#onNewRows();
  }

  /** Asks for the next page of what was found. */
  async loadMore(): Promise<void> {
    const { search } = this.#queue;
    if (search === null || search.loading || search.ids === null || search.ids.length >= search.total) return;
    await this.#find(search.ids, search.ids.length + this.#pageSize);
  }

  /** Asks again for what was found; the cursor stays. */
  async reload(): Promise<void> {
    const { search } = this.#queue;
    if (search === null || search.ids === null) return;
    await this.#find([], Math.max(this.#pageSize, search.ids.length), true);
  }

  get #queue(): QueueLists {
    return this.#context.state.queue;
  }

  #setQueue(patch: Partial<QueueLists>): void {
    this.#context.store.set({ queue: { ...this.#queue, ...patch } });
  }

  #set(patch: Partial<Search>): void {
    const { search } = this.#queue;
    if (search !== null) this.#setQueue({ search: { ...search, ...patch } });
  }

  /**
   * Asks page by page.
   * @param before what is shown already; the pages follow it
   * @param wanted how many there are to be then, as far as there are so many
   * @param isAgain what was asked before is asked anew: the cursor stays where it is when the answer comes
   */
  async #find(before: readonly string[], wanted: number, isAgain = false): Promise<void> {
    const { client, mode } = this.#context;
    const { search } = this.#queue;
    if (search === null) return;
    const question: QueueFilter = search.view === null ? { q: search.text.trim() } : search.view.query;
    this.#round += 1;
    const round = this.#round;
    this.#set({ loading: true, problem: null });
    try {
      const found = new Set(before);
      for (;;) {
        const known = found.size;
        const { conversations, total } = await client.listConversations(
          { ...question, ...pageAfter(known, wanted), mode: question.mode ?? mode },
          { again: false },
        );
        if (round !== this.#round) return;
        for (const { id } of conversations) found.add(id);
        // Rows may have moved between the pages: one that holds nothing new is the last.
        if (found.size >= Math.min(wanted, total) || found.size === known)
          return this.#found([...found], total, before.length > 0 || isAgain);
      }
    } catch (error) {
      if (round === this.#round)
        this.#set({ loading: false, problem: errorMessage(error, this.#context.say) });
    }
  }

  /** @param keepsCursor false: the rows are other ones than before, and the cursor goes to the first */
  #found(ids: readonly string[], total: number, keepsCursor: boolean): void {
    const before = this.#queue;
    const { search } = before;
    if (search === null) return;
    const next = { ...search, ids, total, loading: false };
    if (keepsCursor)
      return this.#setQueue(keepCursor(before, { ...before, search: next }, this.#context.memberId));
    this.#setQueue({ search: { ...next, cursor: null } });
    this.#onNewRows();
    return undefined;
  }
}

/** What a page is asked for by, after so many rows. @param wanted how many rows there are to be in all */
export function pageAfter(rows: number, wanted: number): Pick<QueueFilter, 'limit' | 'offset'> {
  return { limit: Math.min(maxPageSize, wanted - rows), offset: rows };
}
