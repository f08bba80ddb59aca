// The queue: which conversations a tab shows, in the service's order, as far as its pages are loaded. Pure; the pages are
// asked for in queue-controller.ts.
import type { StaffConversationListItem } from '../protocol/entities.ts';
import type { QueueFilter } from '../sdk/staff-types.ts';

export type Tab = 'pending' | 'mine' | 'all' | 'closed';
/** In the order of their keys. */
export const tabs: readonly Tab[] = ['pending', 'mine', 'all', 'closed'];

export interface TabList {
  /** As the service last counted, corrected by events since; null: not known yet. */
  readonly total: number | null;
  /** The last conversation of the pages that are loaded; `end`: there is no more; null: nothing was asked yet. */
  readonly horizon: StaffConversationListItem | 'end' | null;
  readonly loading: boolean;
  readonly problem: string | null;
  /** The conversation that commands concern. */
  readonly cursor: string | null;
}

/** A question to the queue that has a name. */
export interface QueueView {
  readonly id: string;
  readonly name: string;
  readonly shared: boolean;
  readonly query: QueueFilter;
  /** The member who made it; left out: everybody has it. */
  readonly createdBy?: string;
}

/** What the queue shows instead of a tab: what was searched for, or a view. */
export interface Search {
  readonly text: string;
  /** The view that is shown; null: words are searched for. */
  readonly view: QueueView | null;
  /** The words are being typed. */
  readonly typing: boolean;
  /** What was found, in the service's order; null: nothing was asked yet. */
  readonly ids: readonly string[] | null;
  readonly total: number;
  readonly loading: boolean;
  readonly problem: string | null;
  readonly cursor: string | null;
}

export interface QueueLists {
  readonly tab: Tab;
  readonly items: readonly StaffConversationListItem[];
  readonly lists: Readonly<Record<Tab, TabList>>;
  /** Null: no search. */
  readonly search: Search | null;
}

const emptyList: TabList = {
  total: null,
  horizon: null,
  loading: false,
  problem: null,
  cursor: null,
};

/** A search that has just been begun. */
export const emptySearch: Search = {
  text: '',
  view: null,
  typing: true,
  ids: null,
  total: 0,
  loading: false,
  problem: null,
  cursor: null,
};

/** Before anything was asked. */
export const emptyLists: QueueLists = {
  tab: 'pending',
  items: [],
  lists: { pending: emptyList, mine: emptyList, all: emptyList, closed: emptyList },
  search: null,
};

/** What the service is asked for a tab. */
export const tabFilters: Readonly<
  Record<Tab, { readonly status?: 'pending' | 'active' | 'closed'; readonly assignedTo?: 'me' }>
> = {
  pending: { status: 'pending' },
  mine: { status: 'active', assignedTo: 'me' },
  all: {},
  closed: { status: 'closed' },
};

/** Whether a conversation is left out of the tabs for a while. The service says when that ends. */
export function isSnoozed({ snoozedUntil }: Pick<StaffConversationListItem, 'snoozedUntil'>): boolean {
  return snoozedUntil !== null;
}

/** Whether a conversation is one of a tab's. */
export function isInTab(item: StaffConversationListItem, tab: Tab, memberId: string): boolean {
  switch (tab) {
    case 'pending':
      return item.status === 'pending' && !isSnoozed(item);
    case 'mine':
      return item.status === 'active' && item.assignedTo === memberId && !isSnoozed(item);
    case 'closed':
      return item.status === 'closed' && !isSnoozed(item);
    default:
      return !isSnoozed(item);
  }
}

const waits = (item: StaffConversationListItem): string =>
  item.status === 'pending' ? (item.waitingSince ?? '') : '';
const compareText = (one: string, other: string): number => (one === other ? 0 : one < other ? -1 : 1);

/** The service's order: who waits longest first among the pending, then the most recently changed. */
export function compareItems(one: StaffConversationListItem, other: StaffConversationListItem): number {
  const since = waits(one);
  const otherSince = waits(other);
  if ((since === '') !== (otherSince === '')) return since === '' ? 1 : -1;
  return (
    compareText(since, otherSince) ||
    compareText(other.updatedAt, one.updatedAt) ||
    compareText(other.id, one.id)
  );
}

interface Rows {
  readonly items: readonly StaffConversationListItem[];
  readonly horizon: TabList['horizon'];
  readonly memberId: string;
  readonly rows: readonly StaffConversationListItem[];
}

/** Keeps the last answer per tab: a keystroke in the composer must not sort the queue. */
const remembered = new WeakMap<readonly StaffConversationListItem[], Partial<Record<Tab, Rows>>>();

/** The conversations of a tab that are loaded without a gap, in order. */
export function tabRows(queue: QueueLists, tab: Tab, memberId: string): readonly StaffConversationListItem[] {
  const { items } = queue;
  const { horizon } = queue.lists[tab];
  const known = remembered.get(items) ?? {};
  const earlier = known[tab];
  if (earlier?.horizon === horizon && earlier.memberId === memberId) return earlier.rows;
  const rows =
    horizon === null
      ? []
      : items
          .filter(
            (item) => isInTab(item, tab, memberId) && (horizon === 'end' || compareItems(item, horizon) <= 0),
          )
          .toSorted(compareItems);
  remembered.set(items, { ...known, [tab]: { items, horizon, memberId, rows } });
  return rows;
}

const foundRows = new WeakMap<
  readonly StaffConversationListItem[],
  { ids: readonly string[]; rows: readonly StaffConversationListItem[] }
>();

/** What the queue shows in the tab's place; null: the tab, also as long as no word is searched for. */
export function shownSearch({ search }: Pick<QueueLists, 'search'>): Search | null {
  return search === null || (search.view === null && search.text.trim() === '') ? null : search;
}

/** What the queue shows: the search's finds, or the tab's conversations. */
export function shownRows(queue: QueueLists, memberId: string): readonly StaffConversationListItem[] {
  const { items, tab } = queue;
  const search = shownSearch(queue);
  if (search === null) return tabRows(queue, tab, memberId);
  if (search.ids === null) return [];
  const earlier = foundRows.get(items);
  if (earlier?.ids === search.ids) return earlier.rows;
  const byId = new Map(items.map((item) => [item.id, item]));
  const rows = search.ids.flatMap((id) => byId.get(id) ?? []);
  foundRows.set(items, { ids: search.ids, rows });
  return rows;
}

/** The conversation under the cursor of what the queue shows. */
export function shownCursor(queue: QueueLists): string | null {
  return (shownSearch(queue) ?? queue.lists[queue.tab]).cursor;
}

/** The place of the cursor among the rows; -1: there are none. A cursor on a row that is no longer there falls to the first. */
export function cursorIndex(rows: readonly StaffConversationListItem[], cursor: string | null): number {
  const at = rows.findIndex(({ id }) => id === cursor);
  return at < 0 ? Math.min(0, rows.length - 1) : at;
}

/** Puts the cursor on a row. */
export function withCursor(
  queue: QueueLists,
  rows: readonly StaffConversationListItem[],
  index: number,
): QueueLists {
  const cursor = rows[index]?.id ?? null;
  const search = shownSearch(queue);
  if (search !== null) return { ...queue, search: { ...search, cursor } };
  return { ...queue, lists: { ...queue.lists, [queue.tab]: { ...queue.lists[queue.tab], cursor } } };
}

/** The queue after its rows have changed: where the cursor's conversation has left them, the one in its place is next. */
export function keepCursor(before: QueueLists, next: QueueLists, memberId: string): QueueLists {
  const index = cursorIndex(shownRows(before, memberId), shownCursor(before));
  const rows = shownRows(next, memberId);
  const still = rows.findIndex(({ id }) => id === shownCursor(next));
  return withCursor(next, rows, still >= 0 ? still : Math.min(Math.max(index, 0), rows.length - 1));
}

/** Corrects the counts by how one conversation changed; `before` undefined: it was not known. */
export function updateTotals(
  lists: QueueLists['lists'],
  before: StaffConversationListItem | undefined,
  after: StaffConversationListItem | undefined,
  memberId: string,
): QueueLists['lists'] {
  if (before === undefined) return lists;
  let next = lists;
  for (const tab of tabs) {
    const was = isInTab(before, tab, memberId) ? 1 : 0;
    const is = after !== undefined && isInTab(after, tab, memberId) ? 1 : 0;
    const { total } = lists[tab];
    if (was !== is && total !== null)
      next = { ...next, [tab]: { ...next[tab], total: Math.max(0, total + is - was) } };
  }
  return next;
}

/** The next conversation with something unread: mine first, then those that wait, from the one after `from` on. */
export function nextUnread(
  items: readonly StaffConversationListItem[],
  memberId: string,
  from: string | null,
): StaffConversationListItem | undefined {
  const mine = items
    .filter((item) => isInTab(item, 'mine', memberId) && item.unreadCount > 0)
    .toSorted(compareItems);
  const pending = items.filter((item) => isInTab(item, 'pending', memberId)).toSorted(compareItems);
  const others = [...mine, ...pending];
  const at = others.findIndex(({ id }) => id === from);
  return [...others.slice(at + 1), ...others.slice(0, Math.max(0, at))].find(({ id }) => id !== from);
}
