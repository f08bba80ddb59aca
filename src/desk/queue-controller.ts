// Fills the queue: pages as they are needed, counts, and forgetting what no list shows, so that a day's events and
// 10,000 conversations cost no more than a page.
import { viewCountsKeptMs } from '../protocol/codes.ts';
import type { StaffConversationListItem } from '../protocol/entities.ts';
import type { QueueFilter, StaffClient, StaffState } from '../sdk/staff-types.ts';
import { asSdkError, isRetryable } from '../sdk/error.ts';
import { errorMessage, type DeskContext } from './desk-context.ts';
import { pageAfter, QueueSearch } from './queue-search.ts';
import {
  compareItems,
  cursorIndex,
  keepCursor,
  shownCursor,
  shownRows,
  shownSearch,
  tabFilters,
  tabRows,
  tabs,
  updateTotals,
  withCursor,
  type QueueLists,
  type Tab,
  type TabList,
} from './queue.ts';

const pageSize = 50;
/** What is asked for before the socket is open: more than a window shows at once, and quickly here. */
const firstRows = 20;
/** The next page is asked for when the cursor is so many rows from the end. */
const aheadRows = 20;
/** What is kept of a tab that is not shown. */
const keptRows = 100;
/** So that what set it off is in the answer. */
const recountAfterMs = viewCountsKeptMs;
const recountEveryMs = 5_000;

type Items = readonly StaffConversationListItem[];

/** The queue's pages and counts, kept in the store; nothing is asked before `reload`. */
export class QueueController {
  readonly search: QueueSearch;
  readonly #context: DeskContext;
  readonly #countViews: () => Promise<void>;
  #recountDue = false;
  /** When something last happened that may have changed the counts. */
  #countsMovedAt = 0;
  /** How often an event has changed the counts. */
  #moves = 0;
  #recountedAt = -recountEveryMs;
  #trimAt = 400;
  #trimming = false;
  /** What was scrolled to must not be forgotten under the reader's eyes. */
  #inSight: { readonly tab: Tab | null; readonly rows: number } = { tab: null, rows: 0 };

  /** @param countViews counts the saved views anew */
  constructor(context: DeskContext, countViews: () => Promise<void>) {
    this.#context = context;
    this.#countViews = countViews;
    this.search = new QueueSearch(context, pageSize, () => this.#placeCursor(this.#cursorIndex));
  }

  /**
   * The first rows of the tab that is shown, so that there is something to read before the socket is open. What happens
   * until then is in the `reload` that follows.
   */
  async loadFirst(): Promise<void> {
    const { tab } = this.#queue;
    const { conversations, total } = await this.#list({ ...tabFilters[tab], limit: firstRows });
    // The answer may come after those of `reload`, which know better.
    if (this.#queue.lists[tab].horizon !== null) return;
    this.#setList(tab, {
      total,
      horizon: conversations.length >= total ? 'end' : (conversations.at(-1) ?? 'end'),
    });
    this.sync(this.#context.client.getState().conversations);
  }

  /** Everything anew: at the start and after an interruption. */
  async reload(): Promise<void> {
    const { tab: shown } = this.#queue;
    const wanted = [...new Set<Tab>(['pending', 'mine', shown])];
    const shownCount = tabRows(this.#queue, shown, this.#context.memberId).length;
    const answers = await Promise.all(
      wanted.map(async (tab) => ({
        tab,
        ...(await this.#listFirst(tab, Math.max(pageSize, tab === shown ? shownCount : 0))),
      })),
    );
    const keep = new Set(answers.flatMap(({ conversations }) => conversations.map(({ id }) => id)));
    const { open } = this.#context.state;
    if (open !== null) keep.add(open.id);
    for (const tab of tabs) this.#setList(tab, { horizon: null, loading: false, problem: null });
    for (const { tab, conversations, total } of answers)
      this.#setList(tab, {
        total,
        horizon: conversations.length >= total ? 'end' : (conversations.at(-1) ?? 'end'),
      });
    this.#keepOnly(keep);
    this.sync(this.#context.client.getState().conversations);
    await this.search.reload();
    this.#scheduleRecount();
  }

  showTab(tab: Tab): void {
    const before = this.#queue;
    this.#context.store.set({ queue: { ...before, tab, search: null } });
    if (before.lists[tab].horizon === null)
      void this.#loadPage(tab).then(() => this.#placeCursor(this.#cursorIndex));
    else this.#placeCursor(this.#cursorIndex);
  }

  /** Moves the cursor by so many rows. */
  move(by: number): void {
    this.moveTo(Math.max(0, this.#cursorIndex + by));
  }

  /** Moves the cursor to a row, or to the last one. */
  moveTo(index: number): void {
    this.#placeCursor(index);
    this.showUpTo(index);
  }

  /** Told by a face that scrolls without moving the cursor: so many rows were in sight. Asks for more near their end. */
  showUpTo(index: number): void {
    this.#inSight = { tab: this.#queue.tab, rows: index };
    if (index < this.#rows.length - aheadRows) return;
    void (shownSearch(this.#queue) === null ? this.#loadPage(this.#queue.tab) : this.search.loadMore());
  }

  /** Takes over what the client knows. */
  sync(items: StaffState['conversations']): void {
    const before = this.#queue;
    if (before.items === items) return;
    const { memberId, store } = this.#context;
    const old = new Map(before.items.map((item) => [item.id, item]));
    let { lists } = before;
    let unknown = false;
    for (const item of items) {
      const was = old.get(item.id);
      if (was === item) continue;
      unknown ||= was === undefined;
      lists = updateTotals(lists, was, item, memberId);
    }
    if (lists !== before.lists) this.#moves += 1;
    store.set({ queue: keepCursor(before, { ...before, items, lists }, memberId) });
    // Something new, or removed at the service: erased, or past its retention.
    if (unknown || (items.length < before.items.length && !this.#trimming)) this.#scheduleRecount();
    this.#trim();
  }

  /** Something happened that may have put a conversation into the shown view or out of one: asks again, soon and seldom. */
  viewsMayHaveChanged(): void {
    const { views } = this.#context.state;
    if (this.#showsView || (views !== null && views.length > 0)) this.#scheduleRecount();
  }

  /** A new conversation waits. */
  conversationAdded(): void {
    this.#moves += 1;
    for (const tab of ['pending', 'all'] as const) {
      const { total } = this.#queue.lists[tab];
      if (total !== null) this.#setList(tab, { total: total + 1 });
    }
    this.#scheduleRecount();
  }

  get #queue(): QueueLists {
    return this.#context.state.queue;
  }

  get #showsView(): boolean {
    const { search } = this.#queue;
    return search !== null && search.view !== null;
  }

  get #rows(): Items {
    return shownRows(this.#queue, this.#context.memberId);
  }

  get #cursorIndex(): number {
    return cursorIndex(this.#rows, shownCursor(this.#queue));
  }

  #setList(tab: Tab, patch: Partial<TabList>): void {
    const before = this.#queue;
    const lists = { ...before.lists, [tab]: { ...before.lists[tab], ...patch } };
    this.#context.store.set({ queue: { ...before, lists } });
  }

  async #list(filter: QueueFilter): ReturnType<StaffClient['listConversations']> {
    const { client, mode } = this.#context;
    const moves = this.#moves;
    const answer = await client.listConversations({ ...filter, mode }, { again: false });
    // An event has overtaken the answer, whose count may be that of before it.
    if (this.#moves !== moves) this.#scheduleRecount();
    return answer;
  }

  /** The first rows of a tab, as many as are wanted, page by page. */
  async #listFirst(tab: Tab, wanted: number): ReturnType<StaffClient['listConversations']> {
    const rows: StaffConversationListItem[] = [];
    for (;;) {
      const { conversations, total } = await this.#list({
        ...tabFilters[tab],
        ...pageAfter(rows.length, wanted),
      });
      rows.push(...conversations);
      if (conversations.length === 0 || rows.length >= Math.min(wanted, total))
        return { conversations: rows, total };
    }
  }

  #placeCursor(index: number): void {
    const rows = this.#rows;
    const at = Math.max(0, Math.min(index, rows.length - 1));
    this.#context.store.set({ queue: withCursor(this.#queue, rows, at) });
  }

  async #loadPage(tab: Tab): Promise<void> {
    const list = this.#queue.lists[tab];
    if (list.loading || list.horizon === 'end') return;
    this.#setList(tab, { loading: true, problem: null });
    try {
      let offset = tabRows(this.#queue, tab, this.#context.memberId).length;
      for (;;) {
        const { conversations, total } = await this.#list({ ...tabFilters[tab], limit: pageSize, offset });
        const last = conversations.at(-1);
        const isEnd =
          last === undefined || conversations.length < pageSize || offset + conversations.length >= total;
        const { horizon } = this.#queue.lists[tab];
        const grows = isEnd || horizon === null || horizon === 'end' || compareItems(last, horizon) > 0;
        this.#setList(tab, { total, horizon: isEnd ? 'end' : grows ? last : horizon });
        // Otherwise rows have moved since the page before, and this one held nothing new.
        if (grows) break;
        offset += pageSize;
      }
      this.#setList(tab, { loading: false });
    } catch (error) {
      this.#setList(tab, { loading: false, problem: errorMessage(error, this.#context.say) });
    }
  }

  async #countAll(): Promise<void> {
    if (this.#showsView) await this.search.reload();
    await this.#countViews();
    for (const tab of tabs) {
      const { total } = await this.#list({ ...tabFilters[tab], limit: 1 });
      this.#setList(tab, { total });
    }
  }

  /** The counts may be wrong: asks for them, soon and seldom. */
  #scheduleRecount(): void {
    this.#countsMovedAt = this.#context.now();
    this.#recountSoon();
  }

  #recountSoon(): void {
    if (this.#recountDue) return;
    this.#recountDue = true;
    const now = this.#context.now();
    this.#context.schedule(Math.max(recountAfterMs, this.#recountedAt + recountEveryMs - now), () => {
      this.#recountDue = false;
      this.#recountedAt = this.#context.now();
      if (this.#context.state.connection !== 'online') return;
      // The answer may be older than what has happened just now.
      if (this.#recountedAt - this.#countsMovedAt < viewCountsKeptMs) this.#recountSoon();
      this.#countAll().catch((error: unknown) => {
        // Nothing else would bring the counts until something happens again.
        if (isRetryable(asSdkError(error))) this.#recountSoon();
      });
    });
  }

  /** Forgets what no list shows. What changes at the service comes back by itself. */
  #trim(): void {
    const { queue, open } = this.#context.state;
    if (queue.items.length < this.#trimAt) return;
    const keep = new Set<string>(open === null ? [] : [open.id]);
    for (const one of open?.earlier ?? []) keep.add(one.id);
    for (const id of queue.search?.ids ?? []) keep.add(id);
    let { lists } = queue;
    for (const tab of tabs) {
      const rows = tabRows(queue, tab, this.#context.memberId);
      const { cursor } = queue.lists[tab];
      const limit =
        tab === queue.tab
          ? Math.max(cursorIndex(rows, cursor), this.#inSight.tab === tab ? this.#inSight.rows : 0) +
            4 * keptRows
          : keptRows;
      for (const { id } of rows.slice(0, limit)) keep.add(id);
      const last = rows[limit - 1];
      if (rows.length > limit && last !== undefined)
        lists = { ...lists, [tab]: { ...lists[tab], horizon: last } };
    }
    this.#trimAt = keep.size + 300;
    this.#context.store.set({ queue: { ...queue, lists } });
    this.#keepOnly(keep);
  }

  #keepOnly(ids: ReadonlySet<string>): void {
    this.#trimming = true;
    this.#context.client.keepConversations(ids);
    this.#trimming = false;
  }
}
