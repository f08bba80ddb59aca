// The queue pane as lines: tabs or the search, and the rows in sight. Pure; each row is
// remembered, so that a tick draws only those whose time has moved on.
import { inEnglish } from '../../../desk/english.ts';
import type { StaffConversationListItem } from '../../../protocol/entities.ts';
import { visitorName } from '../../../desk/conversation-commands.ts';
import type { PaneLayout } from './pane-layout.ts';
import {
  cursorIndex,
  isSnoozed,
  shownCursor,
  shownRows,
  shownSearch,
  tabs,
  type Tab,
} from '../../../desk/queue.ts';
import { isWatching } from '../../../desk/shown-messages.ts';
import { sanitizeLine } from '../text/sanitize-line.ts';
import type { ViewState } from './view-state.ts';
import { dayOf, shortTimestamp, shortDuration, untilLabel } from '../../../desk/time.ts';
import type { Line, Span } from '../text/types.ts';
import { cut, widthOf } from '../text/wrap.ts';
import { blankLine, justify, fitLine, titleRule, fitHeight } from './line-layout.ts';

const tabNames: Readonly<Record<Tab, string>> = {
  pending: 'Pending',
  mine: 'Mine',
  all: 'All',
  closed: 'Closed',
};
const longWaitMs = 5 * 60_000;
const tooLongMs = 15 * 60_000;

/** 1234 as 1.2k: a count takes at most four columns. */
export function shortCount(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 10_000) return `${(Math.floor(count / 100) / 10).toFixed(1)}k`;
  return count < 1_000_000 ? `${Math.floor(count / 1_000)}k` : '1M+';
}

function tabLine(state: ViewState, columns: number): Line {
  const { queue } = state;
  const draw = (counted: readonly Tab[]): Line =>
    tabs.flatMap((tab, index): Span[] => {
      const { total } = queue.lists[tab];
      const count = counted.includes(tab) && total !== null ? ` ${shortCount(total)}` : '';
      const isOpen = tab === queue.tab && queue.search === null;
      const wants = tab === 'pending' && (total ?? 0) > 0;
      return [
        ...(index === 0 ? [] : [{ text: ' ' }]),
        isOpen
          ? { text: `[${tabNames[tab]}${count}]`, bold: true }
          : { text: `${tabNames[tab]}${count}`, dim: !wants, ...(wants && { color: 'yellow' as const }) },
      ];
    });
  const choices = [
    tabs,
    tabs.filter((tab) => tab === queue.tab || tab === 'pending' || tab === 'mine'),
    tabs.filter((tab) => tab === queue.tab),
  ];
  return choices.map(draw).find((line) => widthOf(line) <= columns - 3) ?? draw([]);
}

function mark(item: StaffConversationListItem, memberId: string): Span {
  if (item.status === 'pending') return { text: '○', color: 'yellow', bold: true };
  if (item.status === 'closed') return { text: '✓', dim: true };
  return item.assignedTo === memberId ? { text: '●', color: 'green' } : { text: '◌', color: 'blue' };
}

function when(item: StaffConversationListItem, now: number): Span {
  // What sleeps is not late: its time stands behind the name.
  if (isSnoozed(item)) return { text: shortTimestamp(item.updatedAt, now), dim: true };
  const since = item.waitingSince === null || item.status === 'closed' ? null : Date.parse(item.waitingSince);
  if (since === null) return { text: shortTimestamp(item.updatedAt, now), dim: true };
  const waits = now - since;
  const text = shortDuration(waits);
  if (waits >= tooLongMs) return { text, color: 'red', bold: true };
  return waits >= longWaitMs ? { text, color: 'yellow', bold: true } : { text, color: 'yellow' };
}

const priorityMarks = {
  urgent: [{ text: ' ‼', color: 'red', bold: true }],
  high: [{ text: ' !', color: 'yellow', bold: true }],
  normal: [],
  low: [{ text: ' ↓', dim: true }],
} as const satisfies Readonly<Record<StaffConversationListItem['priority'], Line>>;

/** Priority, tags, until when it is snoozed, and that it was begun by mail; for behind a name. */
export function orderMarks(
  { priority, tags, snoozedUntil, channel }: StaffConversationListItem,
  now: number,
): Line {
  return [
    ...(channel === 'email' ? [{ text: ' e-mail', dim: true }] : []),
    ...priorityMarks[priority],
    ...(snoozedUntil === null
      ? []
      : [{ text: ` z ${untilLabel(Date.parse(snoozedUntil), now)}`, color: 'magenta' as const }]),
    ...tags.map((tag): Span => ({ text: ` #${sanitizeLine(tag)}`, color: 'cyan' })),
  ];
}

function previewOf(item: StaffConversationListItem, memberId: string, drafted: boolean): Line {
  if (drafted) return [{ text: '[draft] ', color: 'magenta' }, ...preview(item, memberId)];
  return preview(item, memberId);
}

function preview(item: StaffConversationListItem, memberId: string): Line {
  const last = item.lastMessage;
  if (last === null)
    return [
      {
        text: sanitizeLine(item.subject ?? '') || 'no message yet',
        dim: true,
        italic: item.subject === undefined,
      },
    ];
  const who =
    last.internal === true
      ? 'note: '
      : last.senderRole === 'visitor'
        ? ''
        : last.senderId === memberId
          ? 'you: '
          : last.senderRole === 'assistant'
            ? 'assistant: '
            : `${sanitizeLine(last.senderName)}: `;
  return [
    ...(who === ''
      ? []
      : [{ text: who, dim: true, ...(last.internal === true && { color: 'yellow' as const }) }]),
    { text: sanitizeLine(last.preview), dim: item.unreadCount === 0 },
  ];
}

interface RowOptions {
  readonly columns: number;
  readonly memberId: string;
  readonly cursor: boolean;
  readonly focused: boolean;
  readonly open: boolean;
  /** It is in sight: what is new in it is read in a moment. */
  readonly read: boolean;
  readonly drafted: boolean;
  readonly marked: boolean;
  readonly two: boolean;
  readonly now: number;
}

const drawn = new WeakMap<
  StaffConversationListItem,
  { readonly stamp: string; readonly lines: readonly Line[] }
>();

function rowLines(item: StaffConversationListItem, options: RowOptions): readonly Line[] {
  const time = when(item, options.now);
  const { columns, cursor, focused, open, read, drafted, marked, two, memberId } = options;
  const stamp = `${columns} ${time.text} ${time.color ?? ''} ${dayOf(options.now)} ${[cursor, focused, open, read, drafted, marked, two].map(Number).join('')} ${memberId}`;
  const known = drawn.get(item);
  if (known?.stamp === stamp) return known.lines;
  const lines = drawRow(item, options, time);
  drawn.set(item, { stamp, lines });
  return lines;
}

function drawRow(item: StaffConversationListItem, options: RowOptions, time: Span): readonly Line[] {
  const { columns, cursor, focused, open, drafted, marked, two, memberId, now } = options;
  const bar: Span = cursor
    ? { text: '▌', bold: true, ...(focused ? { color: 'cyan' } : { dim: true }) }
    : { text: ' ' };
  const unread = item.unreadCount > 0 && !options.read;
  const status: Span = marked ? { text: '✚', color: 'cyan', bold: true } : mark(item, memberId);
  const name: Span = {
    text: sanitizeLine(visitorName(item, inEnglish)),
    bold: unread || cursor,
    underline: open,
  };
  const count: Line = unread
    ? [{ text: `${shortCount(item.unreadCount)} new`, color: 'cyan', bold: true }]
    : [];
  const test: Line = item.mode === 'test' ? [{ text: ' test', color: 'magenta' }] : [];
  if (two) {
    const holder: Line =
      item.status === 'active' && item.assignedTo !== memberId
        ? [{ text: sanitizeLine(item.assignedToName ?? ''), color: 'blue' }]
        : [];
    return [
      justify(
        [bar, status, { text: ' ' }, name, ...test, ...orderMarks(item, now)],
        [time, { text: ' ' }],
        columns,
      ),
      justify(
        [bar, { text: '  ' }, ...previewOf(item, memberId, drafted)],
        [...(unread ? count : cut(holder, 12)), { text: ' ' }],
        columns,
      ),
    ];
  }
  const room = Math.max(8, Math.min(22, Math.floor((columns - 8) * 0.42)));
  const short = cut([name, ...test, ...orderMarks(item, now)], room);
  const left: Line = [
    bar,
    status,
    { text: ' ' },
    ...short,
    { text: ' '.repeat(Math.max(1, room + 1 - widthOf(short))) },
    ...previewOf(item, memberId, drafted),
  ];
  return [
    justify(
      left,
      [
        ...(unread
          ? [{ text: `${shortCount(item.unreadCount)}•`, color: 'cyan' as const, bold: true }, { text: ' ' }]
          : []),
        { ...time, text: time.text.padStart(4) },
        { text: ' ' },
      ],
      columns,
    ),
  ];
}

function emptyLine(state: ViewState): string {
  const { queue } = state;
  const search = shownSearch(queue);
  if (search !== null) {
    if (search.problem !== null) return search.problem;
    if (search.view !== null) return search.ids === null ? 'Loading…' : 'No conversation fits this view.';
    return search.loading || search.ids === null ? 'Searching…' : 'Nothing found.';
  }
  const { horizon, loading, problem } = queue.lists[queue.tab];
  if (problem !== null) return problem;
  if (loading || horizon === null) return state.connection === 'online' ? 'Loading…' : 'Connecting…';
  return {
    pending: 'No visitor is waiting.',
    mine: 'You have no conversation.',
    all: 'No conversation yet.',
    closed: 'Nothing is closed yet.',
  }[queue.tab];
}

/** Where the caret of the search field stands; null: no search is open. */
export function searchCaret(
  state: ViewState,
  layout: PaneLayout,
): { readonly x: number; readonly y: number } | null {
  const { search } = state.queue;
  if (search?.typing !== true || state.focus !== 'queue' || !layout.showQueue) return null;
  return {
    x: Math.min(layout.queueColumns - 1, 3 + widthOf([{ text: sanitizeTypedLine(search.text) }])),
    y: 1,
  };
}

/** Like sanitizeLine, but blanks at the end stay: the caret stands behind them. */
function sanitizeTypedLine(text: string): string {
  return sanitizeLine(`${text}|`).slice(0, -1);
}

/** Conversations that fit into the queue; the search's field takes the place of one. */
export function queueHeight({ queue }: ViewState, layout: PaneLayout): number {
  return queue.search === null ? layout.queueHeight : Math.max(1, layout.queueHeight - 1);
}

/** The first row in sight so that the one at `index` is, moved as little as possible. */
export function scrollTo(top: number, index: number, height: number, length: number): number {
  const lowest = Math.max(0, length - height);
  const seen = index < top ? index : index >= top + height ? index - height + 1 : top;
  return Math.max(0, Math.min(seen, lowest));
}

/**
 * @param top the first row in sight
 * @returns `bodyRows` lines, each `queueColumns` wide
 */
export function queueLines(state: ViewState, layout: PaneLayout, top: number): readonly Line[] {
  const { queueColumns: columns, bodyRows, rowsPerConversation } = layout;
  const memberId = state.session?.member.id ?? '';
  const focused = state.focus === 'queue' && state.dialog === null;
  const { search } = state.queue;
  const rows = shownRows(state.queue, memberId);
  const at = cursorIndex(rows, shownCursor(state.queue));
  const lines: Line[] = [];
  if (search === null) lines.push(titleRule(tabLine(state, columns), [], columns, focused));
  else {
    const found: Line = search.ids === null ? [] : [{ text: `${shortCount(search.total)} found`, dim: true }];
    const what = search.view === null ? 'Search' : sanitizeLine(search.view.name);
    lines.push(titleRule([{ text: what, bold: true }], found, columns, focused));
    lines.push(
      fitLine(
        search.view === null || search.typing
          ? [
              { text: ' / ', color: 'cyan', bold: true },
              search.text === ''
                ? { text: 'Words of a message, a subject, a name.', dim: true }
                : { text: sanitizeTypedLine(search.text) },
            ]
          : [{ text: ' Esc: back to the tabs', dim: true }],
        columns,
      ),
    );
  }
  if (rows.length === 0) {
    lines.push(blankLine, cut([{ text: `  ${emptyLine(state)}`, dim: true }], columns));
    return fitHeight(lines, bodyRows, 'top');
  }
  rows.slice(top, top + queueHeight(state, layout)).forEach((item, index) => {
    lines.push(
      ...rowLines(item, {
        columns,
        memberId,
        cursor: top + index === at,
        focused,
        open: item.id === state.open?.id,
        read: item.id === state.open?.id && isWatching(state),
        drafted: state.drafted.has(item.id),
        marked: state.marked.has(item.id),
        two: rowsPerConversation === 2,
        now: state.now,
      }),
    );
  });
  const list = state.queue.lists[state.queue.tab];
  if (lines.length < bodyRows && (shownSearch(state.queue)?.loading ?? list.loading))
    lines.push([{ text: '  loading…', dim: true }]);
  return fitHeight(lines, bodyRows, 'top');
}
