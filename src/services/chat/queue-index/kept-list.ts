// The beginning of one list of the queue, kept from answer to answer: what has changed since is taken in one by one, so that
// a page of half a million conversations costs as much as one of a hundred.
import type { ConversationFilter } from '../../../engine/repositories/conversations.ts';
import type { QueueSort } from '../../../protocol/queue.ts';
import type { Columns } from './columns.ts';
import { compareIn } from './orders.ts';

export class KeptList {
  readonly filter: ConversationFilter;
  readonly #rows: Columns;
  readonly #sort: QueueSort;
  /** The first that fit, in order; all of them where they are as many as `#total`. */
  readonly #slots: number[];
  readonly #most: number;
  #total: number;

  /**
   * @param slots the first `most` that fit, in order
   * @param total how many fit
   */
  constructor(
    rows: Columns,
    filter: ConversationFilter,
    sort: QueueSort,
    { slots, total, most }: { slots: number[]; total: number; most: number },
  ) {
    this.filter = filter;
    this.#rows = rows;
    this.#sort = sort;
    this.#slots = slots;
    this.#total = total;
    this.#most = most;
  }

  /** @returns undefined: it does not reach so far */
  first(most: number): { slots: number[]; total: number } | undefined {
    if (most > this.#slots.length && this.#slots.length < this.#total) return undefined;
    return { slots: this.#slots.slice(0, most), total: this.#total };
  }

  /** Takes out one that fitted. To be called before or after its row changes. */
  take(slot: number): void {
    this.#total -= 1;
    const at = this.#slots.indexOf(slot);
    if (at >= 0) this.#slots.splice(at, 1);
  }

  /** Takes in one that fits, with its row as it is now. */
  put(slot: number): void {
    const slots = this.#slots;
    let [from, to] = [0, slots.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (compareIn(this.#rows, this.#sort, slots[middle] ?? slot, slot) < 0) from = middle + 1;
      else to = middle;
    }
    // Behind the last that is known, there may be others that are not.
    const isWhole = slots.length === this.#total;
    this.#total += 1;
    if (from === slots.length && !isWhole) return;
    slots.splice(from, 0, slot);
    if (slots.length > this.#most) slots.pop();
  }
}
