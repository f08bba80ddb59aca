// The conversation that is open: joining and leaving its room, history, the unread line, read marks, selection. Must not
// send or change anything but read positions.
import { asSdkError, isRetryable } from '../sdk/error.ts';
import type { StaffMessage, StaffRoom } from '../sdk/staff-types.ts';
import { errorMessage, type DeskContext } from './desk-context.ts';
import type { OpenConversation, ShownMessage } from './desk-state.ts';
import { isWatching, shownMessages } from './shown-messages.ts';

const readAfterMs = 250;
/** Where each request counts, what is read goes out at most so often. */
const readEveryMs = 2_000;
const detailAfterMs = 300;
/** What could not be asked for is asked for again, where the connection is there and brings no occasion. */
const joinAgainAfterMs = 5_000;
const maxEarlier = 10;
const historyPage = 50;
/** Places of deleted messages that are kept. */
const maxDeleted = 50;

/** The open conversation, kept in the store; none is open at first. */
export class ConversationController {
  readonly #context: DeskContext;
  /** Messages that a room lost, until it is known whether they were deleted. */
  readonly #lost = new WeakMap<StaffRoom, readonly StaffMessage[]>();
  #cancelRead = (): void => undefined;
  #cancelDetail = (): void => undefined;
  #readUpTo = '';
  #readAt = 0;
  /** How often was joined: answers to an earlier time are dropped. */
  #joins = 0;

  constructor(context: DeskContext) {
    this.#context = context;
  }

  open(id: string): void {
    const before = this.#open;
    if (before?.id === id) return;
    this.#cancelRead();
    this.#cancelDetail();
    this.#readUpTo = '';
    this.#readAt = 0;
    if (before !== null) this.#context.client.leave(before.id);
    this.#context.store.set({ open: opened(id) });
    void this.#join(id);
  }

  /** Nothing is open any more. */
  close(): void {
    const open = this.#open;
    if (open === null) return;
    this.#cancelRead();
    this.#cancelDetail();
    this.#context.client.leave(open.id);
    this.#context.store.set({ open: null });
  }

  /** Joins again what could not be joined, else looks how it stands: after an interruption. */
  rejoin(): void {
    const open = this.#open;
    if (open === null) return;
    if (open.room === null || open.problem !== null) void this.#join(open.id);
    else this.#loadDetail(open.id).catch(() => undefined);
  }

  /** Takes over the rooms as the client has them. */
  sync(rooms: Readonly<Record<string, StaffRoom>>): void {
    const open = this.#open;
    const room = open === null ? undefined : rooms[open.id];
    if (open === null || room === undefined || room === open.room || !room.loaded) return;
    const lost = open.room === null ? [] : lostMessages(open.room, room);
    if (lost.length > 0) this.#lost.set(room, lost);
    this.#set(open.id, roomChange(open, room, isWatching(this.#context.state)));
    this.markRead();
  }

  /** A message was deleted: its place stays visible as long as the conversation is open. */
  messageDeleted(conversationId: string, messageId: string): void {
    const open = this.#open;
    if (open?.id !== conversationId || open.room === null) return;
    const message = this.#lost.get(open.room)?.find(({ id }) => id === messageId);
    if (message === undefined) return;
    const place: ShownMessage = { ...message, content: '', contentHtml: null, deleted: true };
    this.#set(open.id, { deletedMessages: [...open.deletedMessages, place].slice(-maxDeleted) });
  }

  /** Status or participants have changed. */
  refreshDetail(id: string): void {
    if (this.#open?.id !== id || this.#needsNoDetail(id)) return;
    this.#cancelDetail();
    this.#cancelDetail = this.#context.schedule(detailAfterMs, () => {
      if (this.#open?.id === id) this.#loadDetail(id).catch(() => undefined);
    });
  }

  /** Told by the face, after scrolling: whether the newest message is in sight. */
  setAtEnd(atEnd: boolean): void {
    const open = this.#open;
    if (open === null) return;
    this.#set(open.id, { atEnd, ...(atEnd && { unseen: 0 }) });
    this.loadOlder();
    this.markRead();
  }

  /** The beginning of what is loaded; older messages follow. */
  toBeginning(): void {
    const open = this.#open;
    if (open === null) return;
    this.#set(open.id, { selected: null });
    this.#context.face.scroll('first');
  }

  toEnd(): void {
    const open = this.#open;
    if (open === null) return;
    this.#set(open.id, { selected: null });
    this.setAtEnd(true);
  }

  /** Moves the selection by messages; behind the last one, nothing is selected. */
  select(by: 1 | -1): void {
    const open = this.#open;
    if (open === null) return;
    const messages = shownMessages(open);
    const at = messages.findIndex(({ key }) => key === open.selected);
    const next = at < 0 ? (by < 0 ? messages.length - 1 : -1) : at + by;
    if (next < 0 && by < 0) return this.loadOlder();
    const message = messages[next];
    if (message === undefined) return this.toEnd();
    this.#set(open.id, { selected: message.key });
    this.#context.face.reveal(message.key);
    this.loadOlder();
    this.markRead();
    return undefined;
  }

  /** A message was pointed at: commands on messages concern it. */
  selectKey(key: string): void {
    const open = this.#open;
    if (open !== null) this.#set(open.id, { selected: key });
  }

  clearSelection(): void {
    const open = this.#open;
    if (open !== null) this.#set(open.id, { selected: null });
  }

  /** Loads older messages as long as the beginning of what is loaded is near. */
  loadOlder(): void {
    const open = this.#open;
    if (open === null || open.loadingOlder || open.room?.hasMore !== true) return;
    if (!this.#context.face.isNearBeginning()) return;
    const { id } = open;
    this.#set(id, { loadingOlder: true });
    this.#context.client.loadHistory(id, historyPage).then(
      () => {
        this.#set(id, { loadingOlder: false });
        if (this.#open?.id === id) this.loadOlder();
      },
      (error: unknown) => {
        this.#set(id, { loadingOlder: false });
        this.#context.report(error);
      },
    );
  }

  /** Asks for the same visitor's other conversations, once. */
  loadEarlierConversations(): void {
    const open = this.#open;
    if (open === null || open.earlier !== null || open.loadingEarlier) return;
    const { id } = open;
    this.#set(id, { loadingEarlier: true });
    this.#context.client
      .listConversations({ visitorOf: id, mode: 'all', limit: maxEarlier }, { again: false })
      .then(
        ({ conversations }) =>
          this.#set(id, { earlier: conversations.filter((one) => one.id !== id), loadingEarlier: false }),
        () => this.#set(id, { loadingEarlier: false }),
      );
  }

  /** Marks what the operator looks at as read, a moment later. */
  markRead(): void {
    const open = this.#open;
    if (open === null || open.room === null || !isWatching(this.#context.state)) return;
    const last = open.room.messages.findLast(({ state }) => state === 'sent');
    if (last === undefined || last.id === this.#readUpTo) return;
    const { id } = open;
    this.#cancelRead();
    const again = this.#context.asksLess ? this.#readAt + readEveryMs - this.#context.now() : 0;
    const wait = Math.max(readAfterMs, again);
    this.#cancelRead = this.#context.schedule(wait, () => {
      if (this.#open?.id !== id) return;
      this.#readUpTo = last.id;
      this.#readAt = this.#context.now();
      this.#context.client.markRead(id).catch(() => {
        this.#readUpTo = '';
      });
    });
  }

  get #open(): OpenConversation | null {
    return this.#context.state.open;
  }

  #set(id: string, patch: Partial<OpenConversation>): void {
    const open = this.#open;
    if (open?.id === id) this.#context.store.set({ open: { ...open, ...patch } });
  }

  /** Whether the queue tells enough of it: all but who took part, and when it was resolved. */
  #needsNoDetail(id: string): boolean {
    const item = this.#context.item(id);
    const isAsked = this.#open?.id === id && this.#open.detail !== null;
    return (
      this.#context.asksLess && !isAsked && item !== undefined && (item.unread || item.status !== 'closed')
    );
  }

  async #loadDetail(id: string): Promise<void> {
    this.#set(id, { detail: await this.#context.client.getConversation(id) });
  }

  async #join(id: string): Promise<void> {
    const { client } = this.#context;
    const unread = this.#context.item(id)?.unreadCount ?? 0;
    this.#joins += 1;
    const join = this.#joins;
    try {
      const [room] = await Promise.all([
        client.join(id),
        this.#needsNoDetail(id) ? undefined : this.#loadDetail(id),
      ]);
      if (this.#open?.id !== id) return client.leave(id);
      if (join !== this.#joins) return undefined;
      this.#set(id, { room, problem: null, unreadFrom: firstUnread(room, unread) });
      this.markRead();
      this.loadOlder();
      if (this.#context.state.panes === 3 && !this.#context.asksLess) this.loadEarlierConversations();
    } catch (error) {
      if (join !== this.#joins) return undefined;
      const isMissing = asSdkError(error).code === 'not_found';
      this.#set(id, {
        problem: isMissing ? this.#context.say('conversationGone') : errorMessage(error, this.#context.say),
      });
      if (isRetryable(error))
        this.#context.schedule(joinAgainAfterMs, () => {
          // Without a connection, the next one brings it.
          if (join === this.#joins && this.#context.state.connection === 'online') this.rejoin();
        });
    }
    return undefined;
  }
}

/** A conversation that was just opened, before anything of it is loaded. */
function opened(id: string): OpenConversation {
  return {
    id,
    room: null,
    detail: null,
    problem: null,
    unreadFrom: null,
    atEnd: true,
    selected: null,
    loadingOlder: false,
    earlier: null,
    loadingEarlier: false,
    unseen: 0,
    deletedMessages: [],
  };
}

/** The visitor's message before which the unread line stands; null: everything is read. */
function firstUnread({ messages }: StaffRoom, unread: number): string | null {
  const ofVisitor = messages.filter(({ senderRole }) => senderRole === 'visitor');
  return unread === 0 ? null : (ofVisitor.at(-Math.min(unread, ofVisitor.length))?.id ?? null);
}

/** What changes when the room does. The unread line stays until the conversation is opened anew or answered. */
function roomChange(open: OpenConversation, room: StaffRoom, watching: boolean): Partial<OpenConversation> {
  const known = open.room?.messages.at(-1)?.key;
  const at = room.messages.findLastIndex(({ key }) => key === known);
  const news = open.room === null || at < 0 ? [] : room.messages.slice(at + 1);
  const fromOthers = news.filter(({ own, state }) => !own && state === 'sent');
  const answered = news.some(({ own, state, internal }) => (own || state !== 'sent') && internal !== true);
  const firstNew = fromOthers.find(({ senderRole }) => senderRole === 'visitor')?.id ?? null;
  const isSelectedLost = open.selected !== null && !room.messages.some(({ key }) => key === open.selected);
  return {
    room,
    unseen: open.atEnd ? 0 : open.unseen + fromOthers.length,
    unreadFrom: answered ? null : (open.unreadFrom ?? (watching ? null : firstNew)),
    ...(isSelectedLost && { selected: null }),
  };
}

/** What was stored and in sight before, and no longer is. */
function lostMessages(before: StaffRoom, after: StaffRoom): readonly StaffMessage[] {
  if (after.messages.length >= before.messages.length) return [];
  const still = new Set(after.messages.map(({ id }) => id));
  return before.messages.filter(({ id, state }) => state === 'sent' && !still.has(id));
}
