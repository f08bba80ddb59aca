// The orders of the queue, as the database has them, and the first ones of many in such an order.
import type { QueueSort } from '../../../protocol/queue.ts';
import type { Columns } from './columns.ts';

type Part = (rows: Columns, slot: number) => number;
const same: Part = () => 0;

const isIdle = (rows: Columns, slot: number): boolean =>
  !rows.isPending(slot) || Number.isNaN(rows.waitingSince(slot));
const pendingSince = (rows: Columns, slot: number): number =>
  isIdle(rows, slot) ? 0 : rows.waitingSince(slot);
const lastUpdated: Part = (rows, slot) => -rows.updatedAt(slot);

/** Three numbers each, the smaller one first; of equal ones the greater id comes first. */
const orders: Readonly<Record<QueueSort, readonly [Part, Part, Part]>> = {
  queue: [(rows, slot) => (isIdle(rows, slot) ? 1 : 0), pendingSince, lastUpdated],
  updated: [lastUpdated, same, same],
  newest: [(rows, slot) => -rows.createdAt(slot), same, same],
  oldest: [(rows, slot) => rows.createdAt(slot), same, same],
  waiting: [
    (rows, slot) => (Number.isNaN(rows.waitingSince(slot)) ? 1 : 0),
    (rows, slot) => rows.waitingSince(slot) || 0,
    lastUpdated,
  ],
  priority: [
    (rows, slot) => -rows.rank(slot),
    (rows, slot) => (isIdle(rows, slot) ? Number.MAX_SAFE_INTEGER : pendingSince(rows, slot)),
    lastUpdated,
  ],
};

/** @returns positive: the first slot comes later; 0 only for the same one */
export function compareIn(rows: Columns, sort: QueueSort, one: number, other: number): number {
  for (const part of orders[sort]) {
    const difference = part(rows, one) - part(rows, other);
    if (difference !== 0) return difference;
  }
  return -rows.compareIds(one, other);
}

/**
 * The first ones of many, kept in a heap whose root is the last of them. Nearly all of many are behind the root: they are
 * held against its numbers, one by one, and nothing is made for them.
 */
export class Smallest {
  readonly #rows: Columns;
  readonly #sort: QueueSort;
  readonly #heap: number[] = [];
  readonly #most: number;
  /** The numbers of the root. */
  #first = 0;
  #second = 0;
  #third = 0;

  constructor(rows: Columns, sort: QueueSort, most: number) {
    this.#rows = rows;
    this.#sort = sort;
    this.#most = most;
  }

  offer(slot: number): void {
    const heap = this.#heap;
    if (heap.length < this.#most) {
      heap.push(slot);
      this.#up(heap.length - 1);
    } else {
      if (!this.#isBeforeRoot(slot)) return;
      heap[0] = slot;
      this.#down();
    }
    const [root] = heap;
    if (root === undefined) return;
    const [first, second, third] = orders[this.#sort];
    this.#first = first(this.#rows, root);
    this.#second = second(this.#rows, root);
    this.#third = third(this.#rows, root);
  }

  inOrder(): number[] {
    return this.#heap.toSorted((one, other) => this.#compare(one, other));
  }

  #isBeforeRoot(slot: number): boolean {
    const [root] = this.#heap;
    if (root === undefined) return false;
    const [first, second, third] = orders[this.#sort];
    const one = first(this.#rows, slot);
    if (one !== this.#first) return one < this.#first;
    const two = second(this.#rows, slot);
    if (two !== this.#second) return two < this.#second;
    const three = third(this.#rows, slot);
    if (three !== this.#third) return three < this.#third;
    return this.#rows.compareIds(slot, root) > 0;
  }

  #compare(one: number, other: number): number {
    return compareIn(this.#rows, this.#sort, one, other);
  }

  /** Whether the one at a place stands behind the other one: that one is nearer to the root. */
  #isLater(one: number, other: number): boolean {
    const [first, second] = [this.#heap[one], this.#heap[other]];
    return first !== undefined && second !== undefined && this.#compare(first, second) > 0;
  }

  #swap(one: number, other: number): void {
    const [first, second] = [this.#heap[one], this.#heap[other]];
    if (first === undefined || second === undefined) return;
    this.#heap[one] = second;
    this.#heap[other] = first;
  }

  #up(from: number): void {
    for (let at = from; at > 0;) {
      const above = (at - 1) >> 1;
      if (!this.#isLater(at, above)) return;
      this.#swap(at, above);
      at = above;
    }
  }

  #down(): void {
    for (let at = 0; ;) {
      let last = at;
      for (const below of [2 * at + 1, 2 * at + 2]) if (this.#isLater(below, last)) last = below;
      if (last === at) return;
      this.#swap(at, last);
      at = last;
    }
  }
}
