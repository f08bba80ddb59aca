// One organization's conversations as the queue asks for them, in memory: what each has, as bits, and the times by which
// they are ordered. Answers how many fit a question, and which come first. Knows no database, and no time: who fills it
// keeps it true.
import { conversationStatus, mode, priority } from '../../../protocol/entities.ts';
import type { QueueSort } from '../../../protocol/queue.ts';
import type { ConversationFilter, QueueFacets } from '../../../engine/repositories/conversations.ts';
import { bitCount, Bits, eachSlot } from './bits.ts';

/** A question that the bits answer: the others are looked up by the database. */
export function isIndexed({ text, visitorId, visitorOf }: ConversationFilter): boolean {
  return text === undefined && visitorId === undefined && visitorOf === undefined;
}

interface Entry {
  readonly id: string;
  readonly isPending: boolean;
  readonly rank: number;
  readonly waitingSince: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

type Part = (entry: Entry) => number;
const same: Part = () => 0;

/** As the database orders them: by three numbers each, the smaller one first; of equal ones the greater id comes first. */
const orders: Readonly<Record<QueueSort, readonly [Part, Part, Part]>> = {
  queue: [(one) => (isIdle(one) ? 1 : 0), (one) => pendingSince(one), (one) => -one.updatedAt],
  updated: [(one) => -one.updatedAt, same, same],
  newest: [(one) => -one.createdAt, same, same],
  oldest: [(one) => one.createdAt, same, same],
  waiting: [
    (one) => (one.waitingSince === null ? 1 : 0),
    (one) => one.waitingSince ?? 0,
    (one) => -one.updatedAt,
  ],
  priority: [
    (one) => -one.rank,
    (one) => (isIdle(one) ? Number.MAX_SAFE_INTEGER : pendingSince(one)),
    (one) => -one.updatedAt,
  ],
};

const isIdle = ({ isPending, waitingSince }: Entry): boolean => waitingSince === null || !isPending;
const pendingSince = ({ isPending, waitingSince }: Entry): number => (isPending ? (waitingSince ?? 0) : 0);

export class QueueIndex {
  /** By place. */
  readonly #slots = new Map<number, number>();
  readonly #entries: (Entry | undefined)[] = [];
  readonly #free: number[] = [];
  /** By what its conversations have: a state, a tag, an assignee … */
  readonly #having = new Map<string, Bits>();

  /** How many conversations it holds. */
  get size(): number {
    return this.#slots.size;
  }

  /** Takes a conversation in, or how it is now. */
  put(facets: QueueFacets): void {
    const known = this.#slots.get(facets.place);
    if (known !== undefined) this.#clear(known);
    const slot = known ?? this.#free.pop() ?? this.#entries.length;
    this.#slots.set(facets.place, slot);
    this.#entries[slot] = {
      id: facets.id,
      isPending: facets.status === 'pending',
      // From low to urgent.
      rank: priority.options.indexOf(facets.priority),
      waitingSince: facets.waiting_since,
      createdAt: facets.created_at,
      updatedAt: facets.updated_at,
    };
    for (const name of namesOf(facets)) this.#bits(name).add(slot);
  }

  /** The conversation is not there any more. */
  drop(place: number): void {
    const slot = this.#slots.get(place);
    if (slot === undefined) return;
    this.#clear(slot);
    this.#slots.delete(place);
    this.#entries[slot] = undefined;
    this.#free.push(slot);
  }

  /** What no conversation has any more, such as a tag that was removed, takes no memory. */
  #clear(slot: number): void {
    for (const [name, bits] of this.#having) {
      bits.delete(slot);
      if (bits.isEmpty) this.#having.delete(name);
    }
  }

  /** How many different things its conversations have: states, tags, assignees, readers … */
  get kinds(): number {
    return this.#having.size;
  }

  #bits(name: string): Bits {
    let bits = this.#having.get(name);
    if (bits === undefined) this.#having.set(name, (bits = new Bits()));
    return bits;
  }

  /** How many fit. */
  count(filter: ConversationFilter): number {
    let total = 0;
    this.#each(filter, (word, n) => {
      if (filter.waitingSince === undefined) total += bitCount(word);
      else eachSlot(word, n, (slot) => (total += this.#waits(slot, filter.waitingSince) ? 1 : 0));
    });
    return total;
  }

  /**
   * The ids of the first `most` that fit, in order, and how many fit.
   * @param most is held in memory, and ordered
   */
  first(filter: ConversationFilter, sort: QueueSort, most: number): { ids: string[]; total: number } {
    const kept = new Smallest(most, orders[sort]);
    let total = 0;
    this.#each(filter, (word, n) =>
      eachSlot(word, n, (slot) => {
        const entry = this.#entries[slot];
        if (entry === undefined || !this.#waits(slot, filter.waitingSince)) return;
        total += 1;
        kept.offer(entry);
      }),
    );
    return { ids: kept.inOrder().map(({ id }) => id), total };
  }

  #waits(slot: number, since: number | undefined): boolean {
    if (since === undefined) return true;
    const waiting = this.#entries[slot]?.waitingSince ?? null;
    return waiting !== null && waiting <= since;
  }

  /** Calls back with every word in which some fit, but for how long they have waited. */
  #each(filter: ConversationFilter, use: (word: number, n: number) => void): void {
    const { wanted, unwanted, oneOf } = this.#question(filter);
    const { unread } = filter;
    const visitor = this.#having.get('visitor');
    const read = unread === undefined ? undefined : this.#having.get(`read ${unread.readerId}`);
    const words = Math.ceil(this.#entries.length / 32);
    for (let n = 0; n < words; n += 1) {
      let word = -1;
      for (const group of oneOf) {
        let some = 0;
        for (const bits of group) some |= bits?.word(n) ?? 0;
        word &= some;
      }
      for (const bits of wanted) word &= bits?.word(n) ?? 0;
      for (const bits of unwanted) word &= ~(bits?.word(n) ?? 0);
      if (unread !== undefined) {
        const isUnread = (visitor?.word(n) ?? 0) & ~(read?.word(n) ?? 0);
        word &= unread.is ? isUnread : ~isUnread;
      }
      if (word !== 0) use(word, n);
    }
  }

  /** What a conversation must have, must not have, and of which groups it must have one. */
  #question(filter: ConversationFilter) {
    const { assignedTo, applicationId, tagIds = [], untagged, snoozed, priorities, channel } = filter;
    const states = mode.options.flatMap((one) =>
      (filter.mode ?? one) === one ? conversationStatus.options.map((status) => [one, status] as const) : [],
    );
    const having = (name: string): Bits | undefined => this.#having.get(name);
    const oneOf = [
      states
        .filter(([, status]) => (filter.status ?? status) === status)
        .map(([one, status]) => having(`state ${one} ${status}`)),
      ...(priorities === undefined ? [] : [priorities.map((name) => having(`priority ${name}`))]),
    ];
    const wanted = [
      ...(assignedTo === undefined ? [] : [having(`assigned ${assignedTo ?? 'none'}`)]),
      ...(applicationId === undefined ? [] : [having(`application ${applicationId}`)]),
      ...tagIds.map((id) => having(`tag ${id}`)),
      ...(untagged === false ? [having('tagged')] : []),
      ...(snoozed === true ? [having('snoozed')] : []),
      ...(channel === 'email' ? [having('email')] : []),
    ];
    const unwanted = [
      ...(untagged === true ? [having('tagged')] : []),
      ...(snoozed === false ? [having('snoozed')] : []),
      ...(channel === 'chat' ? [having('email')] : []),
    ];
    return { wanted, unwanted, oneOf };
  }
}

/** Everything that a conversation has. Ids have no spaces. */
function namesOf(facets: QueueFacets): string[] {
  const { tag_ids: tags, readers } = facets;
  return [
    `state ${facets.mode} ${facets.status}`,
    `priority ${facets.priority}`,
    `application ${facets.application_id}`,
    `assigned ${facets.assigned_to ?? 'none'}`,
    ...(facets.snoozed === 1 ? ['snoozed'] : []),
    ...(facets.channel === 'email' ? ['email'] : []),
    ...(facets.visitor_wrote === 1 ? ['visitor'] : []),
    ...(tags === null ? [] : ['tagged', ...tags.split(' ').map((id) => `tag ${id}`)]),
    ...(readers === null ? [] : readers.split(' ').map((id) => `read ${id}`)),
  ];
}

/**
 * The first ones of many, kept in a heap whose root is the last of them. Nearly all of many are behind the root: they are
 * held against its numbers, one by one, and nothing is made for them.
 */
class Smallest {
  readonly #heap: Entry[] = [];
  readonly #most: number;
  readonly #order: readonly [Part, Part, Part];
  /** The numbers of the root. */
  #first = 0;
  #second = 0;
  #third = 0;

  constructor(most: number, order: readonly [Part, Part, Part]) {
    this.#most = most;
    this.#order = order;
  }

  offer(entry: Entry): void {
    const heap = this.#heap;
    if (heap.length < this.#most) {
      heap.push(entry);
      this.#up(heap.length - 1);
    } else {
      if (!this.#isBeforeRoot(entry)) return;
      heap[0] = entry;
      this.#down();
    }
    const [root] = heap;
    if (root === undefined) return;
    const [first, second, third] = this.#order;
    this.#first = first(root);
    this.#second = second(root);
    this.#third = third(root);
  }

  inOrder(): Entry[] {
    return this.#heap.toSorted((one, other) => this.#compare(one, other));
  }

  #isBeforeRoot(entry: Entry): boolean {
    const [root] = this.#heap;
    if (root === undefined) return false;
    const [first, second, third] = this.#order;
    const one = first(entry);
    if (one !== this.#first) return one < this.#first;
    const two = second(entry);
    if (two !== this.#second) return two < this.#second;
    const three = third(entry);
    if (three !== this.#third) return three < this.#third;
    return entry.id > root.id;
  }

  /** Positive: the first one comes later. */
  #compare(one: Entry, other: Entry): number {
    for (const part of this.#order) {
      const difference = part(one) - part(other);
      if (difference !== 0) return difference;
    }
    return one.id < other.id ? 1 : -1;
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
