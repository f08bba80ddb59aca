// Owns the queue's pane: the views with their counts, the search, and the list, of which only what is in sight is drawn.
import { useComputed, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { memo } from '../ui/memo.ts';
import { partOf, usePart } from '../ui/on-use.ts';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { StaffConversationListItem } from '../../protocol/entities.ts';
import { visitorName } from '../../desk/conversation-commands.ts';
import { cursorIndex, shownCursor, shownRows, shownSearch, tabs, type Tab } from '../../desk/queue.ts';
import { sanitizeLine } from '../../desk/sanitize-line.ts';
import { desk, deskState } from '../desk.ts';
import { Avatar } from '../ui/avatar.tsx';
import { IconButton } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { say, t, withWords } from '../words.ts';
import { handles } from './face.ts';
import { OrderMarks } from './order-marks.tsx';
import { SavedViews } from './saved-views.tsx';
import { duration, fullTime, shortTime } from './times.ts';

const tabWords = { pending: 'tabPending', mine: 'tabMine', all: 'tabAll', closed: 'tabClosed' } as const;
const emptyWords = {
  pending: 'emptyPending',
  mine: 'emptyMine',
  all: 'emptyAll',
  closed: 'emptyClosed',
} as const;

/** The height of a row, in CSS pixels; the style sheet has the same. */
const rowHeight = 76;
/** Rows that are drawn beyond what is in sight. */
const extraRows = 6;

export function QueuePane(): JSX.Element {
  return (
    <section class="pane queue-pane" data-pane="queue" aria-label={t('queue')}>
      <h1 class="visually-hidden">{t('inbox')}</h1>
      <Views />
      <SavedViews />
      <div class="search-row">
        <SearchField />
        <IconButton
          icon="filter"
          label={t('otherView')}
          hint={desk().keymap.label('views', 'queue')}
          onClick={() => desk().model.run('views')}
        />
      </div>
      <MarkedBar />
      <List />
    </section>
  );
}

const markedBar = partOf(() => withWords(import('./marked-bar.tsx')));

function MarkedBar(): JSX.Element | null {
  const isMarked = useComputed(() => deskState.value.marked.size > 0).value;
  const part = usePart(markedBar, isMarked);
  return part === null ? null : <part.MarkedBar />;
}

function Views(): JSX.Element {
  const shown = useComputed(() => deskState.value.queue.tab).value;
  const isSearching = useComputed(() => shownSearch(deskState.value.queue) !== null).value;
  const lists = useComputed(() => deskState.value.queue.lists).value;
  return (
    <nav class="views" aria-label={t('views')}>
      {tabs.map((tab) => (
        <ViewButton key={tab} tab={tab} total={lists[tab].total} current={!isSearching && tab === shown} />
      ))}
    </nav>
  );
}

function ViewButton({
  tab,
  total,
  current,
}: {
  readonly tab: Tab;
  readonly total: number | null;
  readonly current: boolean;
}): JSX.Element {
  return (
    <button
      type="button"
      class="view"
      aria-current={current ? 'true' : undefined}
      onClick={() => desk().model.queue.showTab(tab)}
    >
      <span>{t(tabWords[tab])}</span>
      {total === null ? null : <b class="total">{total > 999 ? '999+' : total}</b>}
    </button>
  );
}

function SearchField(): JSX.Element {
  const search = useComputed(() => deskState.value.queue.search).value;
  const typing = search?.typing === true;
  const ref = useRef<HTMLInputElement>(null);
  // With the drawing, not after it: the letters that follow the key are not to be lost. Those that came before stand first.
  useLayoutEffect(() => {
    const field = ref.current;
    if (!typing || field === null || document.activeElement === field) return;
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  }, [typing]);
  const { queue } = desk().model;
  return (
    <div class="search" role="search">
      <Icon name="search" />
      <input
        ref={ref}
        type="search"
        data-field="search"
        aria-label={t('search')}
        placeholder={t('searchHint')}
        value={search?.text ?? ''}
        autocomplete="off"
        maxLength={200}
        onFocus={() => {
          if (deskState.value.queue.search?.typing !== true) queue.search.begin();
        }}

        onInput={(event) => queue.search.setText(event.currentTarget.value)}
      />
      {search === null ? null : (
        <IconButton icon="close" label={t('endSearch')} onClick={() => queue.search.end()} />
      )}
      {search === null || search.ids === null ? null : (
        <p class="visually-hidden" role="status">
          {t('searchFound', { n: search.total })}
        </p>
      )}
    </div>
  );
}

function List(): JSX.Element {
  const rows = useComputed(() =>
    shownRows(deskState.value.queue, deskState.value.session?.member.id ?? ''),
  ).value;
  const cursor = useComputed(() => shownCursor(deskState.value.queue)).value;
  const openId = useComputed(() => deskState.value.open?.id ?? null).value;
  const drafted = useComputed(() => deskState.value.drafted).value;
  const marked = useComputed(() => deskState.value.marked).value;
  const minute = useComputed(() => Math.floor(deskState.value.now / 60_000)).value;
  const memberId = useComputed(() => deskState.value.session?.member.id ?? '').value;
  const top = useSignal(0);
  const height = useSignal(800);
  const ref = useRef<HTMLDivElement>(null);
  const { model } = desk();

  useEffect(() => {
    const list = ref.current;
    if (list === null) return undefined;
    const measure = new ResizeObserver(() => {
      height.value = list.clientHeight;
    });
    measure.observe(list);
    handles.list = { pageSize: () => Math.max(1, Math.floor(list.clientHeight / rowHeight) - 1) };
    return () => {
      measure.disconnect();
      handles.list = null;
    };
  }, []);

  const at = cursorIndex(rows, cursor);
  // The cursor stays in sight when it is moved by keys, and wherever its conversation goes.
  useLayoutEffect(() => {
    const list = ref.current;
    if (list === null || at < 0) return;
    const from = at * rowHeight;
    if (from < list.scrollTop) list.scrollTop = from;
    else if (from + rowHeight > list.scrollTop + list.clientHeight)
      list.scrollTop = from + rowHeight - list.clientHeight;
  }, [cursor]);

  const first = Math.max(0, Math.floor(top.value / rowHeight) - extraRows);
  const last = Math.min(rows.length, Math.ceil((top.value + height.value) / rowHeight) + extraRows);
  return (
    <>
      {rows.length === 0 ? <Empty /> : null}
      <div
        class="queue-list"
        ref={ref}
        role="listbox"
        tabIndex={0}
        aria-label={t('queue')}
        aria-activedescendant={at < 0 ? undefined : `row-${rows[at]?.id ?? ''}`}
        onScroll={(event) => {
          top.value = event.currentTarget.scrollTop;
          model.queue.showUpTo(
            Math.ceil((event.currentTarget.scrollTop + event.currentTarget.clientHeight) / rowHeight),
          );
        }}
      >
        <div class="rows" role="presentation" style={{ height: `${rows.length * rowHeight}px` }}>
          <div role="presentation" style={{ transform: `translateY(${first * rowHeight}px)` }}>
            {rows.slice(first, last).map((item, index) => (
              <Row
                key={item.id}
                item={item}
                place={first + index + 1}
                count={rows.length}
                cursor={first + index === at}
                open={item.id === openId}
                draft={drafted.has(item.id)}
                marked={marked.has(item.id)}
                now={minute * 60_000}
                memberId={memberId}
              />
            ))}
          </div>
        </div>
      </div>
    </>
  );
}

/** What stands in the place of rows, before their list: a list has nothing but its options. */
function Empty(): JSX.Element {
  const queue = useComputed(() => deskState.value.queue).value;
  const { tab, lists } = queue;
  const search = shownSearch(queue);
  const problem = search === null ? lists[tab].problem : search.problem;
  const known = search === null ? lists[tab].horizon !== null : search.ids !== null;
  const isSearching = search !== null;
  const word = isSearching ? 'emptySearch' : known ? emptyWords[tab] : 'loading';
  return (
    <p class={problem === null ? 'empty' : 'empty bad'} role="status">
      {problem ?? (isSearching && !known ? '' : t(word))}
    </p>
  );
}

interface RowProps {
  readonly item: StaffConversationListItem;
  readonly place: number;
  readonly count: number;
  readonly cursor: boolean;
  readonly open: boolean;
  readonly draft: boolean;
  readonly marked: boolean;
  /** The minute, ms since the epoch. */
  readonly now: number;
  readonly memberId: string;
}

const Row = memo(function drawRow({
  item,
  place,
  count,
  cursor,
  open,
  draft,
  marked,
  now,
  memberId,
}: RowProps) {
  const name = visitorName(item, say);
  const { lastMessage, unreadCount, status } = item;
  const waits = status === 'pending' && item.waitingSince !== null ? item.waitingSince : null;
  const shownAt = lastMessage?.createdAt ?? item.updatedAt;
  return (
    <div
      id={`row-${item.id}`}
      class={`row ${open ? 'open' : ''} ${cursor ? 'cursor' : ''} ${unreadCount > 0 ? 'unread' : ''} ${marked ? 'marked' : ''}`}
      role="option"
      aria-selected={open}
      aria-setsize={count}
      aria-posinset={place}
      data-id={item.id}
      onClick={() => desk().model.open(item.id)}
    >
      <span
        class="row-mark"
        title={t('cmd_mark')}
        onClick={(event) => {
          event.stopPropagation();
          desk().model.marks.toggle(item.id);
        }}
      >
        {marked ? (
          <span class="avatar marked">
            <Icon name="check" />
            <span class="visually-hidden">{t('marked')}</span>
          </span>
        ) : (
          <Avatar name={name} id={item.visitor.id} />
        )}
      </span>
      <div class="row-text">
        <div class="row-line">
          <strong dir="auto">{name}</strong>
          <time dateTime={shownAt} title={fullTime(shownAt)}>
            {shortTime(shownAt, now + 60_000)}
          </time>
        </div>
        <div class="row-line">
          <span class="snippet" dir="auto">
            {lastMessage === null ? (
              sanitizeLine(item.subject ?? '')
            ) : (
              <Snippet item={item} memberId={memberId} />
            )}
          </span>
          {unreadCount > 0 ? (
            <b
              class="count"
              aria-label={unreadCount > 99 ? t('unreadMany') : t('unread', { n: unreadCount })}
            >
              {unreadCount > 99 ? '99+' : unreadCount}
            </b>
          ) : null}
        </div>
        <div class="row-line marks">
          {waits === null ? null : (
            <span class="mark waits">
              <Icon name="clock" />
              {t('waitsFor', { time: duration(now + 60_000 - Date.parse(waits)) })}
            </span>
          )}
          {status === 'active' ? (
            <span class="mark" dir="auto">
              {item.assignedTo === memberId ? t('assignedToMe') : sanitizeLine(item.assignedToName ?? '')}
            </span>
          ) : null}
          {status === 'closed' ? <span class="mark">{t('statusClosed')}</span> : null}
          <OrderMarks item={item} most={2} />
          {draft ? <span class="mark draft">{t('draftHere')}</span> : null}
          <span class="mark place" dir="auto">
            {sanitizeLine(item.application.name)}
          </span>
        </div>
      </div>
    </div>
  );
});

function Snippet({
  item: { lastMessage },
  memberId,
}: {
  readonly item: StaffConversationListItem;
  readonly memberId: string;
}): JSX.Element | null {
  if (lastMessage === null) return null;
  const { senderId, senderRole, internal, preview } = lastMessage;
  const by =
    internal === true
      ? t('noteBy')
      : senderRole === 'assistant'
        ? t('assistant')
        : senderId === memberId
          ? t('you')
          : '';
  return (
    <>
      {by === '' ? null : <span class={internal === true ? 'by note' : 'by'}>{by}: </span>}
      {sanitizeLine(preview)}
    </>
  );
}
