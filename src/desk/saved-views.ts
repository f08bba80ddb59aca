// The saved views of the queue: loading and counting them, making, changing, deleting, and in which order they stand. What is
// asked while one is written is in menus.ts.
import { runOnce } from './conversation-commands.ts';
import type { DeskContext } from './desk-context.ts';
import { tabFilters, type QueueView } from './queue.ts';
import type { QueueSearch } from './queue-search.ts';
import { sanitizeLine } from './sanitize-line.ts';
import { writeView, type WrittenView } from './view-text.ts';

const orderName = 'views';

export class SavedViews {
  readonly #context: DeskContext;

  constructor(context: DeskContext) {
    this.#context = context;
  }

  /** Asks for the saved views, and for their counts where there are any. */
  async load(): Promise<void> {
    const { client, store } = this.#context;
    const { views } = await client.call<{ views: QueueView[] }>('GET', '/views?limit=100');
    store.set({ views: this.#ordered(views) });
    if (views.length > 0) await this.count();
  }

  /** Counts the conversations of every view anew, where views were asked for. */
  async count(): Promise<void> {
    const { client, store, state } = this.#context;
    if (state.views === null || state.views.length === 0) return;
    const { counts } = await client.call<{ counts: { id: string; count: number }[] }>('GET', '/views/counts');
    store.set({ viewCounts: new Map(counts.map(({ id, count }) => [id, count])) });
  }

  /** The line with which a view begins: what the queue shows now, or the view as it is. @param id null: a new one */
  lineOf(id: string | null): string {
    const { queue, views } = this.#context.state;
    const known = views?.find((view) => view.id === id);
    if (known !== undefined) return writeView(known);
    const { search, tab } = queue;
    const query = search === null ? tabFilters[tab] : (search.view?.query ?? wordsOf(search.text));
    return `${writeView({ name: '', shared: false, query }).trimEnd().replace(/=$/, '')}`;
  }

  /** Saves what was written, and shows it. @param id of the view that changes; null: a new one */
  async save(id: string | null, written: WrittenView, search: QueueSearch): Promise<void> {
    const { client, say } = this.#context;
    const path = id === null ? '/views' : `/views/${id}`;
    await runOnce(
      this.#context,
      'view',
      id ?? '',
      async () => {
        const { view } = await client.call<{ view: QueueView }>(id === null ? 'POST' : 'PATCH', path, {
          name: written.name,
          shared: written.shared,
          query: written.query,
        });
        this.#context.flash(say('viewSaved', { name: sanitizeLine(view.name) }), 'good');
        await this.load();
        await search.showView(view);
      },
      this.#context.report,
    );
  }

  /** Deletes a view; where it was shown, the tab is back. */
  async remove(id: string, search: QueueSearch): Promise<void> {
    const { client, say, state } = this.#context;
    const name = sanitizeLine(state.views?.find((view) => view.id === id)?.name ?? '');
    await runOnce(
      this.#context,
      'view',
      id,
      async () => {
        await client.call('DELETE', `/views/${id}`);
        this.#context.flash(say('viewDeleted', { name }), 'good');
        if (this.#context.state.queue.search?.view?.id === id) search.end();
        await this.load();
      },
      this.#context.report,
    );
  }

  /** Puts a view before the others, for this member where this face keeps it. */
  putFirst(id: string): void {
    const { views } = this.#context.state;
    if (views === null) return;
    const ids = [id, ...views.map((view) => view.id).filter((one) => one !== id)];
    this.#context.runtime.preferences?.set(`${orderName}.${this.#context.memberId}`, ids.join(' '));
    this.#context.store.set({ views: byPlace(views, ids) });
  }

  #ordered(views: readonly QueueView[]): readonly QueueView[] {
    const kept = this.#context.runtime.preferences?.get(`${orderName}.${this.#context.memberId}`) ?? '';
    const shown = (this.#context.state.views ?? []).map(({ id }) => id);
    return byPlace(views, kept === '' ? shown : kept.split(' '));
  }
}

/** Those that are named in their order, then the others as they were. */
function byPlace(views: readonly QueueView[], ids: readonly string[]): readonly QueueView[] {
  const place = ({ id }: QueueView): number => {
    const at = ids.indexOf(id);
    return at < 0 ? ids.length : at;
  };
  return views.toSorted((one, other) => place(one) - place(other));
}

function wordsOf(text: string): QueueView['query'] {
  return text.trim() === '' ? {} : { q: text.trim() };
}
