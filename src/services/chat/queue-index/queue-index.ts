// One organization's conversations as the queue asks for them, in memory: what each has, as bits, and the times by which
// they are ordered. Answers how many fit a question, and which come first. Knows no database, and no time: who fills it
// keeps it true.
import { conversationStatus, mode } from '../../../protocol/entities.ts';
import type { QueueSort } from '../../../protocol/queue.ts';
import type { ConversationFilter, QueueFacets } from '../../../engine/repositories/conversations.ts';
import { bitCount, Bits, eachSlot } from './bits.ts';
import { Columns } from './columns.ts';
import { KeptList } from './kept-list.ts';
import { Smallest } from './orders.ts';

/** A question that the bits answer: the others are looked up by the database. */
export function isIndexed({ text, visitorId, visitorOf }: ConversationFilter): boolean {
  return text === undefined && visitorId === undefined && visitorOf === undefined;
}

/** A list is kept where walking all conversations takes longer than taking in what changes. */
const keptLists = { fromSize: 2_000, most: 16, reserve: 2 };

export class QueueIndex {
  /** By place. */
  readonly #slots = new Map<number, number>();
  readonly #rows = new Columns();
  /** How many slots were ever given out. */
  #given = 0;
  readonly #free: number[] = [];
  /** By what its conversations have: a state, a tag, an assignee … */
  readonly #having = new Map<string, Bits>();
  /** Lists that were asked for, by question; the one that was asked for last stands last. */
  readonly #lists = new Map<string, KeptList>();

  /** How many conversations it holds. */
  get size(): number {
    return this.#slots.size;
  }

  /** Takes a conversation in, or how it is now. */
  put(facets: QueueFacets): void {
    const known = this.#slots.get(facets.place);
    if (known !== undefined) {
      for (const list of this.#lists.values()) if (this.#fits(list.filter, known)) list.take(known);
      this.#clear(known);
    }
    const slot = known ?? this.#free.pop() ?? this.#given++;
    this.#slots.set(facets.place, slot);
    this.#rows.set(slot, {
      id: facets.id,
      isPending: facets.status === 'pending',
      priority: facets.priority,
      waitingSince: facets.waiting_since,
      createdAt: facets.created_at,
      updatedAt: facets.updated_at,
    });
    for (const name of namesOf(facets)) this.#bits(name).add(slot);
    for (const list of this.#lists.values()) if (this.#fits(list.filter, slot)) list.put(slot);
  }

  /** The conversation is not there any more. */
  drop(place: number): void {
    const slot = this.#slots.get(place);
    if (slot === undefined) return;
    for (const list of this.#lists.values()) if (this.#fits(list.filter, slot)) list.take(slot);
    this.#clear(slot);
    this.#slots.delete(place);
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
    const { waitingSince } = filter;
    let total = 0;
    this.#each(filter, true, (word, n) => {
      if (waitingSince === undefined) total += bitCount(word);
      else eachSlot(word, n, (slot) => (total += this.#waits(slot, waitingSince) ? 1 : 0));
    });
    return total;
  }

  /**
   * The ids of the first `most` that fit, in order, and how many fit.
   * @param most is held in memory, and ordered
   */
  first(filter: ConversationFilter, sort: QueueSort, most: number): { ids: string[]; total: number } {
    const { slots, total } =
      this.size < keptLists.fromSize || filter.waitingSince !== undefined
        ? this.#walk(filter, sort, most)
        : this.#listed(filter, sort, most);
    return { ids: slots.map((slot) => this.#rows.id(slot)), total };
  }

  /** By the list that is kept, which is made where there is none that reaches so far. How long one has waited changes by itself. */
  #listed(filter: ConversationFilter, sort: QueueSort, most: number): { slots: number[]; total: number } {
    const question = JSON.stringify([sort, filter]);
    const list = this.#lists.get(question);
    const known = list?.first(most);
    this.#lists.delete(question);
    if (list !== undefined && known !== undefined) {
      this.#lists.set(question, list);
      return known;
    }
    const [oldest] = this.#lists.keys();
    if (oldest !== undefined && this.#lists.size >= keptLists.most) this.#lists.delete(oldest);
    // Some more: each that leaves the list would otherwise have it made anew.
    const reach = most * keptLists.reserve;
    const { slots, total } = this.#walk(filter, sort, reach);
    this.#lists.set(question, new KeptList(this.#rows, filter, sort, { slots, total, most: reach }));
    return { slots: slots.slice(0, most), total };
  }

  #walk(filter: ConversationFilter, sort: QueueSort, most: number): { slots: number[]; total: number } {
    const { waitingSince } = filter;
    const first = new Smallest(this.#rows, sort, most);
    let total = 0;
    // Most orders begin with what is new: walked from there, nearly all are held against the last of the first ones only.
    this.#each(filter, sort === 'oldest', (word, n) =>
      eachSlot(word, n, (slot) => {
        if (waitingSince !== undefined && !this.#waits(slot, waitingSince)) return;
        total += 1;
        first.offer(slot);
      }),
    );
    return { slots: first.inOrder(), total };
  }

  #waits(slot: number, since: number): boolean {
    return this.#rows.waitingSince(slot) <= since;
  }

  /**
   * Calls back with every word in which some fit, but for how long they have waited.
   * @param forward from the slot that was given out first, which the oldest conversation has, to the last
   */
  #each(filter: ConversationFilter, forward: boolean, use: (word: number, n: number) => void): void {
    const wordAt = this.#words(filter);
    const words = Math.ceil(this.#given / 32);
    for (let at = 0; at < words; at += 1) {
      const n = forward ? at : words - 1 - at;
      const word = wordAt(n);
      if (word !== 0) use(word, n);
    }
  }

  #fits(filter: ConversationFilter, slot: number): boolean {
    return ((this.#words(filter)(slot >>> 5) >>> (slot & 31)) & 1) === 1;
  }

  /** Which of the slots 32 × n to 32 × n + 31 fit, but for how long they have waited. */
  #words(filter: ConversationFilter): (n: number) => number {
    const { wanted, unwanted, oneOf } = this.#question(filter);
    const { unread } = filter;
    const visitor = this.#having.get('visitor');
    const read = unread === undefined ? undefined : this.#having.get(`read ${unread.readerId}`);
    return (n) => {
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
      return word;
    };
  }

  /** What a conversation must have, must not have, and of which groups it must have one. */
  #question(filter: ConversationFilter) {
    const { assignedTo, applicationId, goingApplicationIds = [], tagIds = [] } = filter;
    const { untagged, snoozed, priorities, channel } = filter;
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
      ...(filter.waitingSince === undefined ? [] : [having('waiting')]),
      ...(channel === 'email' ? [having('email')] : []),
    ];
    const unwanted = [
      ...(untagged === true ? [having('tagged')] : []),
      ...(snoozed === false ? [having('snoozed')] : []),
      ...(channel === 'chat' ? [having('email')] : []),
      ...goingApplicationIds.map((id) => having(`application ${id}`)),
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
    ...(facets.waiting_since === null ? [] : ['waiting']),
    ...(facets.channel === 'email' ? ['email'] : []),
    ...(facets.visitor_wrote === 1 ? ['visitor'] : []),
    ...(tags === null ? [] : ['tagged', ...tags.split(' ').map((id) => `tag ${id}`)]),
    ...(readers === null ? [] : readers.split(' ').map((id) => `read ${id}`)),
  ];
}
