// Searching the queue and showing views: asks a moment after the last letter, page by page, and drops answers that come
// too late.
import type { QueueFilter } from '../sdk/staff-types.ts';
import { errorMessage, type DeskContext } from './desk-context.ts';
import { emptySearch, type QueueLists, type QueueView, type Search } from './queue.ts';

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

  begin(): void {
    const { search } = this.#queue;
    this.#setQueue({
      search: search === null || search.view !== null ? emptySearch : { ...search, typing: true },
    });
  }

  /** Shows what fits a view. */
  async showView(view: QueueView): Promise<void> {
    this.#cancel();
    this.#setQueue({ search: { ...emptySearch, typing: false, view } });
    await this.#find([]);
  }

  /** @param text the words as they stand in the field now */
  setText(text: string): void {
    this.#set({ text, view: null });
    this.#cancel();
    this.#round += 1;
    if (text.trim() === '') return this.#set({ ids: null, total: 0, loading: false, problem: null });
    this.#set({ loading: true });
    this.#cancel = this.#context.schedule(searchAfterMs, () => void this.#find([]));
    return undefined;
  }

  /** The words stand; the keys are the list's again. */
  confirm(): void {
    this.#set({ typing: false });
  }

  end(): void {
    this.#cancel();
    this.#round += 1;
    this.#setQueue({ search: null });
    this.#onNewRows();
  }

  /** Asks for the next page of what was found. */
  async loadMore(): Promise<void> {
    const { search } = this.#queue;
    if (search === null || search.loading || search.ids === null || search.ids.length >= search.total) return;
    await this.#find(search.ids);
  }

  /** Asks again for what was found; the cursor stays. */
  async reload(): Promise<void> {
    const { search } = this.#queue;
    if (search !== null && search.ids !== null) await this.#find([], search.cursor);
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

  /** @param before what is shown already; @param cursor where the cursor stands after a first page */
  async #find(before: readonly string[], cursor: string | null = null): Promise<void> {
    const { client, mode } = this.#context;
    const { search } = this.#queue;
    if (search === null) return;
    const shown = before.length === 0 && search.view !== null ? (search.ids?.length ?? 0) : 0;
    const limit = Math.min(maxPageSize, Math.max(this.#pageSize, shown));
    const question: QueueFilter = search.view === null ? { q: search.text.trim() } : search.view.query;
    this.#round += 1;
    const round = this.#round;
    this.#set({ loading: true, problem: null });
    try {
      const { conversations, total } = await client.listConversations(
        { ...question, limit, offset: before.length, mode: question.mode ?? mode },
        { again: false },
      );
      if (round !== this.#round) return;
      const known = new Set(before);
      const ids = [...before, ...conversations.map(({ id }) => id).filter((id) => !known.has(id))];
      this.#set({ ids, total, loading: false, ...(before.length === 0 && { cursor }) });
      if (before.length === 0) this.#onNewRows();
    } catch (error) {
      if (round === this.#round)
        this.#set({ loading: false, problem: errorMessage(error, this.#context.say) });
    }
  }
}
