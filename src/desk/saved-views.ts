// The saved views of the queue: loading and counting them, and in which order they stand. Making, changing and deleting them
// is in view-editing.ts.
import type { DeskContext } from './desk-context.ts';
import type { QueueView } from './queue.ts';

const orderName = 'views';

export class SavedViews {
  readonly #context: DeskContext;
  /** Of two answers under way, the one that was asked for later holds. */
  #counting = 0;

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
    this.#counting += 1;
    const round = this.#counting;
    const { counts } = await client.call<{ counts: { id: string; count: number }[] }>('GET', '/views/counts');
    if (round === this.#counting)
      store.set({ viewCounts: new Map(counts.map(({ id, count }) => [id, count])) });
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
