// Fills the queue: pages as they are needed, counts, searching, and forgetting what is
// out of sight, so that a day's events and 10,000 conversations cost no more than a page.
import type { StaffConversationListItem } from '../../../protocol/entities.ts';
import type { QueueFilter, StaffState } from '../../../sdk/staff-types.ts';
import { errorMessage, type ConsoleContext } from './console-context.ts';
import {
  compareItems,
  cursorIndex,
  emptySearch,
  updateTotals,
  shownList,
  shownRows,
  tabFilters,
  tabRows,
  tabs,
  withCursor,
  type QueueLists,
  type Search,
  type Tab,
  type TabList,
} from './queue.ts';

const pageSize = 50;
const pageMost = 100;
/** The next page is asked for when the cursor is so many rows from the end. */
const aheadRows = 20;
/** What is kept of a tab that is not in sight. */
const keptRows = 100;
const recountAfterMs = 800;
const recountEveryMs = 5_000;
const searchAfterMs = 200;

export interface QueueController {
  /** Everything anew: at the start and after an interruption. */
  reload(): Promise<void>;
  showTab(tab: Tab): void;
  /** Moves the cursor: by so many rows, or to a row. */
  move(by: number): void;
  moveTo(index: number): void;
  beginSearch(): void;
  setSearch(text: string): void;
  endSearch(): void;
  /** The words stand; the keys are the list's again. */
  confirmSearch(): void;
  /** Takes over what the client knows. */
  sync(known: StaffState['conversations']): void;
  /** Somebody new waits. */
  conversationAdded(): void;
  /** The counts may be wrong: asks, soon and seldom. */
  scheduleRecount(): void;
  /** Keeps the cursor in sight after the window has changed. */
  keepCursorVisible(): void;
}

/** The queue's pages and counts, kept in the store; nothing is asked before `reload`. */
export function createQueueController(core: ConsoleContext): QueueController {
  const { client, store } = core;
  let recountDue = false;
  let recountedAt = -recountEveryMs;
  let trimAt = 400;
  let forgetting = false;
  let searchRound = 0;
  let cancelSearch = (): void => undefined;

  const queue = (): QueueLists => store.get().queue;
  const rows = (): readonly StaffConversationListItem[] => shownRows(queue(), core.memberId());
  const setList = (tab: Tab, patch: Partial<TabList>): void => {
    const before = queue();
    store.set({
      queue: { ...before, lists: { ...before.lists, [tab]: { ...before.lists[tab], ...patch } } },
    });
  };
  const setSearchState = (patch: Partial<Search>): void => {
    const before = queue();
    if (before.search !== null) store.set({ queue: { ...before, search: { ...before.search, ...patch } } });
  };
  const ask = (filter: QueueFilter) =>
    client.listConversations({ ...filter, mode: core.mode }, { again: false });

  async function loadPage(tab: Tab): Promise<void> {
    const list = queue().lists[tab];
    if (list.loading || list.horizon === 'end') return;
    setList(tab, { loading: true, problem: null });
    try {
      let offset = tabRows(queue(), tab, core.memberId()).length;
      for (;;) {
        const { conversations, total } = await ask({ ...tabFilters[tab], limit: pageSize, offset });
        const last = conversations.at(-1);
        const isEnd =
          last === undefined || conversations.length < pageSize || offset + conversations.length >= total;
        const { horizon } = queue().lists[tab];
        const grows = isEnd || horizon === null || horizon === 'end' || compareItems(last, horizon) > 0;
        setList(tab, { total, horizon: isEnd ? 'end' : grows ? last : horizon });
        // Rows have moved meanwhile, and the page held nothing new.
        if (grows) break;
        offset += pageSize;
      }
      setList(tab, { loading: false });
    } catch (error) {
      setList(tab, { loading: false, problem: errorMessage(error) });
    }
  }

  async function loadMoreFound(): Promise<void> {
    const { search } = queue();
    if (search === null || search.loading || search.ids === null || search.ids.length >= search.total) return;
    await find(search.text, search.ids);
  }

  async function find(text: string, before: readonly string[]): Promise<void> {
    searchRound += 1;
    const round = searchRound;
    setSearchState({ loading: true, problem: null });
    try {
      const { conversations, total } = await ask({ q: text.trim(), limit: pageSize, offset: before.length });
      if (round !== searchRound) return;
      const known = new Set(before);
      setSearchState({
        ids: [...before, ...conversations.map(({ id }) => id).filter((id) => !known.has(id))],
        total,
        loading: false,
      });
      if (before.length === 0) place(0);
    } catch (error) {
      if (round === searchRound) setSearchState({ loading: false, problem: errorMessage(error) });
    }
  }

  function place(index: number): void {
    const all = rows();
    store.set({
      queue: withCursor(
        queue(),
        all,
        Math.max(0, Math.min(index, all.length - 1)),
        core.layout().queueHeight,
      ),
    });
  }

  function moveTo(index: number): void {
    place(index);
    if (index < rows().length - aheadRows) return;
    void (queue().search === null ? loadPage(queue().tab) : loadMoreFound());
  }

  async function countAll(): Promise<void> {
    for (const tab of tabs) {
      const { total } = await ask({ ...tabFilters[tab], limit: 1 });
      setList(tab, { total });
    }
  }

  function scheduleRecount(): void {
    if (recountDue) return;
    recountDue = true;
    core.schedule(Math.max(recountAfterMs, recountedAt + recountEveryMs - core.now()), () => {
      recountDue = false;
      recountedAt = core.now();
      if (store.get().connection === 'online') countAll().catch(() => undefined);
    });
  }

  function forget(keep: ReadonlySet<string>): void {
    forgetting = true;
    client.keepConversations(keep);
    forgetting = false;
  }

  /** Forgets what no list shows. What is heard of again comes back by itself. */
  function trim(): void {
    const { queue: now, open } = store.get();
    if (now.items.length < trimAt) return;
    const keep = new Set<string>(open === null ? [] : [open.id]);
    for (const one of open?.earlier ?? []) keep.add(one.id);
    for (const id of now.search?.ids ?? []) keep.add(id);
    let { lists } = now;
    for (const tab of tabs) {
      const own = tabRows(now, tab, core.memberId());
      const { cursor } = now.lists[tab];
      const most = tab === now.tab ? Math.max(keptRows, cursorIndex(own, cursor) + 4 * keptRows) : keptRows;
      for (const { id } of own.slice(0, most)) keep.add(id);
      const last = own[most - 1];
      if (own.length > most && last !== undefined)
        lists = { ...lists, [tab]: { ...lists[tab], horizon: last } };
    }
    trimAt = keep.size + 300;
    store.set({ queue: { ...now, lists } });
    forget(keep);
  }

  function sync(items: readonly StaffConversationListItem[]): void {
    const before = queue();
    if (before.items === items) return;
    const old = new Map(before.items.map((item) => [item.id, item]));
    let { lists } = before;
    let unknown = false;
    for (const item of items) {
      const was = old.get(item.id);
      if (was === item) continue;
      unknown ||= was === undefined;
      lists = updateTotals(lists, was, item, core.memberId());
    }
    const index = cursorIndex(shownRows(before, core.memberId()), shownList(before).cursor);
    const next = { ...before, items, lists };
    const after = shownRows(next, core.memberId());
    const { cursor } = shownList(next);
    const still = after.findIndex(({ id }) => id === cursor);
    // What the cursor was on has left: the one that took its place is next.
    const at = still >= 0 ? still : Math.min(Math.max(index, 0), after.length - 1);
    store.set({ queue: withCursor(next, after, at, core.layout().queueHeight) });
    // Something new, or gone for good: erased, or past its time.
    if (unknown || (items.length < before.items.length && !forgetting)) scheduleRecount();
    trim();
  }

  return {
    reload: async () => {
      const wanted = [...new Set<Tab>(['pending', 'mine', queue().tab])];
      const limit = Math.min(
        pageMost,
        Math.max(pageSize, tabRows(queue(), queue().tab, core.memberId()).length),
      );
      const answers = await Promise.all(
        wanted.map(async (tab) => ({
          tab,
          ...(await ask({ ...tabFilters[tab], limit: tab === queue().tab ? limit : pageSize })),
        })),
      );
      const keep = new Set(answers.flatMap(({ conversations }) => conversations.map(({ id }) => id)));
      const { open } = store.get();
      if (open !== null) keep.add(open.id);
      for (const tab of tabs) setList(tab, { horizon: null, loading: false, problem: null });
      for (const { tab, conversations, total } of answers)
        setList(tab, {
          total,
          horizon: conversations.length >= total ? 'end' : (conversations.at(-1) ?? 'end'),
        });
      forget(keep);
      sync(client.getState().conversations);
      const { search } = queue();
      if (search !== null && search.ids !== null) await find(search.text, []);
      scheduleRecount();
    },
    showTab: (tab) => {
      const before = queue();
      store.set({ queue: { ...before, tab, search: null } });
      if (before.lists[tab].horizon === null)
        void loadPage(tab).then(() => place(cursorIndex(rows(), shownList(queue()).cursor)));
      else place(cursorIndex(rows(), shownList(queue()).cursor));
    },
    move: (by) => moveTo(Math.max(0, cursorIndex(rows(), shownList(queue()).cursor) + by)),
    moveTo,
    beginSearch: () => {
      const before = queue();
      store.set({
        queue: {
          ...before,
          search: before.search === null ? emptySearch : { ...before.search, typing: true },
        },
      });
    },
    setSearch: (text) => {
      setSearchState({ text });
      cancelSearch();
      searchRound += 1;
      if (text.trim() === '') return setSearchState({ ids: null, total: 0, loading: false, problem: null });
      setSearchState({ loading: true });
      cancelSearch = core.schedule(searchAfterMs, () => void find(text, []));
      return undefined;
    },
    endSearch: () => {
      cancelSearch();
      searchRound += 1;
      store.set({ queue: { ...queue(), search: null } });
      place(cursorIndex(rows(), shownList(queue()).cursor));
    },
    confirmSearch: () => setSearchState({ typing: false }),
    sync,
    conversationAdded: () => {
      for (const tab of ['pending', 'all'] as const) {
        const { total } = queue().lists[tab];
        if (total !== null) setList(tab, { total: total + 1 });
      }
      scheduleRecount();
    },
    scheduleRecount,
    keepCursorVisible: () => place(cursorIndex(rows(), shownList(queue()).cursor)),
  };
}
