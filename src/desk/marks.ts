// The conversations of the queue that are marked, to be changed all at once; what is done to them is in queue-order.ts.
import type { DeskContext } from './desk-context.ts';
import { shownRows } from './queue.ts';

const maxMarked = 100;

export class Marks {
  readonly #context: DeskContext;

  constructor(context: DeskContext) {
    this.#context = context;
  }

  /** Marks a conversation, or takes its mark off. At most 100 are marked. */
  toggle(id: string): void {
    const marked = new Set(this.#context.state.marked);
    if (!marked.delete(id) && marked.size < maxMarked) marked.add(id);
    this.#context.store.set({ marked });
  }

  /** Marks what the queue shows, up to 100; where all of that is marked, takes the marks off. */
  toggleAll(): void {
    const { queue, marked } = this.#context.state;
    const shown = shownRows(queue, this.#context.memberId).slice(0, maxMarked);
    const all = shown.every(({ id }) => marked.has(id));
    this.#context.store.set({ marked: new Set(all ? [] : shown.map(({ id }) => id)) });
  }

  clear(): void {
    if (this.#context.state.marked.size > 0) this.#context.store.set({ marked: new Set() });
  }
}
