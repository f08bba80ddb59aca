// The conversation that is open: joining and leaving its room, history, the unread line,
// read marks, selection and scroll. Must not send or change anything but read positions.
import type { StaffConversation } from '../../../protocol/entities.ts';
import type { StaffMessage, StaffRoom } from '../../../sdk/staff-types.ts';
import { asSdkError } from '../../../sdk/error.ts';
import { layoutOfState, errorMessage, type ConsoleContext } from './console-context.ts';
import { messageLines, type LineOptions, type ShownMessage } from './message-lines.ts';
import type { OpenConversation, ViewState } from './view-state.ts';
import {
  viewportOf,
  scrollIntoView,
  scrollBy,
  scrollToTop,
  type MessageBlocks,
  type Viewport,
} from './viewport.ts';

const readAfterMs = 250;
const detailAfterMs = 300;
const earlierMost = 10;
const historyPage = 50;
/** Places of deleted messages that are remembered. */
const goneMost = 50;

export interface ConversationController {
  open(id: string): void;
  close(): void;
  /** Takes over the rooms as the client has them. */
  sync(rooms: Readonly<Record<string, StaffRoom>>): void;
  /** A message was deleted: its place stays visible as long as the conversation is open. */
  messageDeleted(conversationId: string, messageId: string): void;
  /** Status or participants have changed. */
  refreshDetail(conversationId: string): void;
  /** Joins again what could not be joined. */
  rejoin(): void;
  scroll(lines: number): void;
  toTop(): void;
  toEnd(): void;
  /** Moves the selection by messages; null takes it away. */
  select(by: number | null): void;
  selected(): ShownMessage | null;
  /** Asks for what the visitor pane shows. */
  loadEarlierConversations(): void;
  /** The operator looks: what is in sight is read. */
  markRead(): void;
}

const shown = new WeakMap<
  StaffRoom,
  { readonly gone: readonly ShownMessage[]; readonly messages: readonly ShownMessage[] }
>();
const goneIn = new WeakMap<object, readonly ShownMessage[]>();
const nothing: readonly ShownMessage[] = [];

/** The messages with the places of those that were deleted while they were in sight. */
export function shownMessages(open: OpenConversation): readonly ShownMessage[] {
  if (open.room === null) return nothing;
  const { deletedMessages } = open;
  if (deletedMessages.length === 0) return open.room.messages;
  const known = shown.get(open.room);
  if (known?.gone === deletedMessages) return known.messages;
  const stored = open.room.messages.filter(({ state }) => state === 'sent');
  const unsent = open.room.messages.filter(({ state }) => state !== 'sent');
  const messages = [...stored, ...deletedMessages].toSorted((one, other) =>
    one.createdAt === other.createdAt ? 0 : one.createdAt < other.createdAt ? -1 : 1,
  );
  const all = [...messages, ...unsent];
  shown.set(open.room, { gone: deletedMessages, messages: all });
  return all;
}

/** The own message up to which the visitor has read, as far as that was heard. */
export function lastSeenMessage(open: OpenConversation, visitorId: string | undefined): string | null {
  const { room } = open;
  const upTo = visitorId === undefined ? undefined : room?.reads[visitorId];
  if (room === null || upTo === undefined) return null;
  const at = room.messages.findIndex(({ id }) => id === upTo);
  return (
    room.messages
      .slice(0, at + 1)
      .findLast(({ senderRole, internal }) => senderRole === 'operator' && internal !== true)?.id ?? null
  );
}

/** The open conversation's messages as blocks of lines for a state's window. */
export function messageBlocks(state: ViewState, columns: number, compact: boolean): MessageBlocks {
  const { open, session, now, composer } = state;
  const messages = open === null ? nothing : shownMessages(open);
  const visitorId =
    open === null
      ? undefined
      : (open.detail?.visitor.id ?? state.queue.items.find(({ id }) => id === open.id)?.visitor.id);
  const options: LineOptions = {
    columns,
    compact,
    now,
    memberId: session?.member.id ?? '',
    unreadFrom: open?.unreadFrom ?? null,
    selected: open?.selected ?? null,
    seen: open === null ? null : lastSeenMessage(open, visitorId),
    editing: composer?.editing ?? null,
  };
  return {
    length: messages.length,
    keyAt: (index) => messages[index]?.key ?? '',
    linesAt: (index) => {
      const message = messages[index];
      return message === undefined ? [] : messageLines(message, messages[index - 1], options);
    },
  };
}

/** Whether the operator has the newest message of the open conversation before their eyes. */
export function isWatching(state: ViewState): boolean {
  const { watched, open, dialog } = state;
  return (
    watched &&
    dialog === null &&
    open !== null &&
    open.anchor === null &&
    layoutOfState(state).showConversation
  );
}

/** The open conversation, kept in the store; none is open at first. */
export function createConversationController(core: ConsoleContext): ConversationController {
  const { client, store } = core;
  let cancelRead = (): void => undefined;
  let cancelDetail = (): void => undefined;
  let readUpTo = '';

  const current = (): OpenConversation | null => store.get().open;
  const set = (id: string, patch: Partial<OpenConversation>): void => {
    const open = current();
    if (open?.id === id) store.set({ open: { ...open, ...patch } });
  };
  const blocks = (): MessageBlocks => {
    const { conversationColumns, compact } = core.layout();
    return messageBlocks(store.get(), conversationColumns, compact);
  };
  const view = (): Viewport => viewportOf(blocks(), current()?.anchor ?? null, core.layout().messageRows);

  function markRead(): void {
    const open = current();
    if (open === null || open.room === null || !isWatching(store.get())) return;
    const last = open.room.messages.findLast(({ state }) => state === 'sent');
    if (last === undefined || last.id === readUpTo) return;
    const { id } = open;
    cancelRead();
    cancelRead = core.schedule(readAfterMs, () => {
      if (current()?.id !== id) return;
      readUpTo = last.id;
      client.markRead(id).catch(() => {
        readUpTo = '';
      });
    });
  }

  async function loadDetail(id: string): Promise<void> {
    const detail: StaffConversation = await client.getConversation(id);
    set(id, { detail });
  }

  async function join(id: string): Promise<void> {
    const unread = core.item(id)?.unreadCount ?? 0;
    try {
      const [room] = await Promise.all([client.join(id), loadDetail(id)]);
      if (current()?.id !== id) return client.leave(id);
      const visitors = room.messages.filter(({ senderRole }) => senderRole === 'visitor');
      set(id, {
        room,
        problem: null,
        unreadFrom: unread === 0 ? null : (visitors.at(-Math.min(unread, visitors.length))?.id ?? null),
      });
      markRead();
      fill();
      if (core.layout().panes === 3) loadEarlierConversations();
    } catch (error) {
      set(id, {
        problem:
          asSdkError(error).code === 'not_found'
            ? 'This conversation is not there any more.'
            : errorMessage(error),
      });
    }
    return undefined;
  }

  /** Loads older messages when the first one comes near. */
  function fill(): void {
    const open = current();
    if (open === null || open.room === null || open.loadingOlder || !open.room.hasMore) return;
    const { atTop, lines } = view();
    const messages = shownMessages(open);
    const first = lines[0]?.key;
    if (!atTop && messages.findIndex(({ key }) => key === first) > 5) return;
    const { id } = open;
    set(id, { loadingOlder: true });
    client.loadHistory(id, historyPage).then(
      () => {
        set(id, { loadingOlder: false });
        if (current()?.id === id && view().atTop) fill();
      },
      (error: unknown) => {
        set(id, { loadingOlder: false });
        core.report(error);
      },
    );
  }

  function loadEarlierConversations(): void {
    const open = current();
    if (open === null || open.earlier !== null) return;
    const { id } = open;
    set(id, { earlier: [] });
    client.listConversations({ visitorOf: id, mode: 'all', limit: earlierMost }, { again: false }).then(
      ({ conversations }) => set(id, { earlier: conversations.filter((one) => one.id !== id) }),
      () => set(id, { earlier: null }),
    );
  }

  function leave(): void {
    const open = current();
    cancelRead();
    cancelDetail();
    readUpTo = '';
    if (open !== null) client.leave(open.id);
  }

  return {
    open: (id) => {
      if (current()?.id === id) return;
      leave();
      store.set({
        open: {
          id,
          room: null,
          detail: null,
          problem: null,
          unreadFrom: null,
          anchor: null,
          selected: null,
          loadingOlder: false,
          earlier: null,
          unseen: 0,
          deletedMessages: nothing,
        },
      });
      void join(id);
    },
    close: () => {
      leave();
      store.set({ open: null });
    },
    sync: (rooms) => {
      const open = current();
      if (open === null) return;
      const room = rooms[open.id];
      if (room === undefined || room === open.room || !room.loaded) return;
      const before = open.room;
      const known = before?.messages.at(-1)?.key;
      const at = room.messages.findLastIndex(({ key }) => key === known);
      const news = before === null || at < 0 ? [] : room.messages.slice(at + 1);
      const fromOthers = news.filter(({ own, state }) => !own && state === 'sent');
      const anchored = open.anchor !== null;
      const firstUnread = fromOthers.find(({ senderRole }) => senderRole === 'visitor');
      const lost = before === null ? [] : lostMessages(before, room);
      if (lost.length > 0) goneIn.set(room, lost);
      set(open.id, {
        room,
        unseen: anchored ? open.unseen + fromOthers.length : 0,
        // The line stays where it is until the conversation is opened anew or answered.
        unreadFrom: news.some(({ own, state, internal }) => (own || state !== 'sent') && internal !== true)
          ? null
          : (open.unreadFrom ??
            (firstUnread !== undefined && !isWatching(store.get()) ? firstUnread.id : null)),
        ...(open.selected !== null &&
          !room.messages.some(({ key }) => key === open.selected) && { selected: null }),
      });
      markRead();
    },
    messageDeleted: (conversationId, messageId) => {
      const open = current();
      if (open?.id !== conversationId || open.room === null) return;
      const message = goneIn.get(open.room)?.find(({ id }) => id === messageId);
      if (message !== undefined)
        set(open.id, {
          deletedMessages: [
            ...open.deletedMessages,
            { ...message, content: '', contentHtml: null, gone: true as const },
          ].slice(-goneMost),
        });
    },
    refreshDetail: (id) => {
      if (current()?.id !== id) return;
      cancelDetail();
      cancelDetail = core.schedule(detailAfterMs, () => {
        if (current()?.id === id) loadDetail(id).catch(() => undefined);
      });
    },
    rejoin: () => {
      const open = current();
      if (open !== null && (open.room === null || open.problem !== null)) void join(open.id);
      else if (open !== null) loadDetail(open.id).catch(() => undefined);
    },
    scroll: (lines) => {
      const open = current();
      if (open === null) return;
      const anchor = scrollBy(blocks(), open.anchor, lines, core.layout().messageRows);
      set(open.id, { anchor, ...(anchor === null && { unseen: 0 }) });
      fill();
      markRead();
    },
    toTop: () => {
      const open = current();
      if (open === null) return;
      set(open.id, { anchor: scrollToTop(blocks(), core.layout().messageRows), selected: null });
      fill();
    },
    toEnd: () => {
      const open = current();
      if (open === null) return;
      set(open.id, { anchor: null, selected: null, unseen: 0 });
      markRead();
    },
    select: (by) => {
      const open = current();
      if (open === null) return;
      if (by === null) return set(open.id, { selected: null });
      const messages = shownMessages(open);
      const at = messages.findIndex(({ key }) => key === open.selected);
      const next = at < 0 ? (by < 0 ? messages.length - 1 : -1) : at + by;
      if (next < 0 && by < 0) return fill();
      const message = messages[next];
      // Beyond the last: nothing is selected, and the end is in sight.
      if (message === undefined) set(open.id, { selected: null, anchor: null, unseen: 0 });
      else {
        set(open.id, { selected: message.key });
        const anchor = scrollIntoView(blocks(), open.anchor, message.key, core.layout().messageRows);
        set(open.id, { anchor, ...(anchor === null && { unseen: 0 }) });
      }
      fill();
      markRead();
      return undefined;
    },
    selected: () => {
      const open = current();
      if (open === null || open.selected === null) return null;
      return shownMessages(open).find(({ key }) => key === open.selected) ?? null;
    },
    loadEarlierConversations,
    markRead: markRead,
  };
}

/** What was stored and in sight before, and no longer is. */
function lostMessages(before: StaffRoom, after: StaffRoom): readonly StaffMessage[] {
  if (after.messages.length >= before.messages.length) return [];
  const still = new Set(after.messages.map(({ id }) => id));
  return before.messages.filter(({ id, state }) => state === 'sent' && !still.has(id));
}
