// Making, changing and deleting a saved view of the queue. What is asked while one is written is in menus.ts.
import { runOnce } from './conversation-commands.ts';
import type { DeskContext } from './desk-context.ts';
import { tabFilters, type QueueView } from './queue.ts';
import type { QueueSearch } from './queue-search.ts';
import { sanitizeLine } from './sanitize-line.ts';
import type { SavedViews } from './saved-views.ts';
import { writeView, type WrittenView } from './view-text.ts';

export class ViewEditing {
  readonly #context: DeskContext;
  readonly #views: SavedViews;
  readonly #search: QueueSearch;

  /** @param search shows a view that was saved */
  constructor(context: DeskContext, views: SavedViews, search: QueueSearch) {
    this.#context = context;
    this.#views = views;
    this.#search = search;
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
  async save(id: string | null, written: WrittenView): Promise<void> {
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
        await this.#views.load();
        await this.#search.showView(view);
      },
      this.#context.report,
    );
  }

  /** Deletes a view; where it was shown, the tab is back. */
  async remove(id: string): Promise<void> {
    const { client, say, state } = this.#context;
    const name = sanitizeLine(state.views?.find((view) => view.id === id)?.name ?? '');
    await runOnce(
      this.#context,
      'view',
      id,
      async () => {
        await client.call('DELETE', `/views/${id}`);
        this.#context.flash(say('viewDeleted', { name }), 'good');
        if (this.#context.state.queue.search?.view?.id === id) this.#search.end();
        await this.#views.load();
      },
      this.#context.report,
    );
  }
}

function wordsOf(text: string): QueueView['query'] {
  return text.trim() === '' ? {} : { q: text.trim() };
}
