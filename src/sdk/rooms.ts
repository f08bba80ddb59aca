// The conversations that this page listens to: pages, catching up, live events, unread
// counts, typing and read marks. Must not open sockets or send messages.
import type { ServerFrame } from '../protocol/events.ts';
import { presentMessage, type Core, type RawConversation, type RawMessage } from './core.ts';
import { asSdkError } from './error.ts';
import { createThread, type Thread } from './thread.ts';
import type { SdkConversation, SdkMessage, TypingPerson } from './types.ts';

interface Room {
  readonly id: string;
  readonly thread: Thread<SdkMessage>;
  /** The first page, under way or come. */
  ready: Promise<void> | undefined;
  typing: readonly TypingPerson[];
  reads: Readonly<Record<string, string>>;
  /** Raised by whatever may change the unread count. */
  stamp: number;
}

export interface RoomsOptions {
  readonly core: Core;
  /** What waits to be sent in a conversation, as the page sees it. */
  unsent(conversationId: string): readonly SdkMessage[];
  /** A stored message takes its place: one of ours may be known here by another key. */
  recognise(message: SdkMessage): SdkMessage;
  /** Listen to a room from here on. */
  listen(id: string, after: string): void;
}

export interface Rooms {
  /** Loads the newest page once, and listens from there. */
  enter(id: string): Promise<void>;
  leave(id: string): void;
  older(id: string, limit: number): Promise<readonly SdkMessage[]>;
  thread(id: string): Thread<SdkMessage> | undefined;
  /** Takes a frame. @param after where the catching up began that it belongs to */
  hear(frame: ServerFrame, after: string): void;
  edited(id: string, raw: RawMessage): SdkMessage | undefined;
  deleted(id: string, messageId: string): void;
  /** Where each room's catching up begins. */
  baselines(): readonly [string, string][];
  /** The connection is gone. */
  unsettle(): void;
  /** Asks the service how a conversation stands. */
  refresh(id: string): Promise<SdkConversation>;
  /** Takes over a conversation, or what is new about it. */
  update(conversation: ConversationPatch): SdkConversation;
  forget(id: string): void;
  /** Computes the part of the state that belongs to the open conversation. */
  show(): void;
}

/** A conversation, or what is new about it; `undefined` takes an assignment away. */
type ConversationPatch = Pick<SdkConversation, 'id'> & {
  -readonly [N in keyof SdkConversation]?: SdkConversation[N] | undefined;
} & { participants?: unknown };

const nobodyAssigned = { assignedTo: undefined, assignedToName: undefined };
const pageSize = 30;
const nobody: readonly TypingPerson[] = [];
const nothing: readonly SdkMessage[] = [];
const unreadBy: Room['reads'] = {};

export function createRooms({ core, unsent, recognise, listen }: RoomsOptions): Rooms {
  const { http, store, emit } = core;
  const rooms = new Map<string, Room>();
  const present = (raw: RawMessage, id: string): SdkMessage => presentMessage(raw, id, core.visitorId());

  function room(id: string): Room {
    let found = rooms.get(id);
    if (!found) {
      found = { id, thread: createThread(recognise), ready: undefined, typing: nobody, reads: unreadBy, stamp: 0 };
      rooms.set(id, found);
    }
    return found;
  }

  function show(): void {
    const { conversationId, messages } = store.state;
    const here = conversationId === null ? undefined : rooms.get(conversationId);
    const next = conversationId === null ? nothing : [...(here?.thread.list ?? nothing), ...unsent(conversationId)];
    store.set({
      messages: next.length === messages.length && next.every((one, index) => one === messages[index]) ? messages : next,
      loaded: (here?.thread.baseline ?? null) !== null,
      hasMore: here?.thread.hasMore ?? false,
      typing: here?.typing ?? nobody,
      reads: here?.reads ?? unreadBy,
    });
  }

  function update({ ...patch }: ConversationPatch): SdkConversation {
    const { conversations } = store.state;
    const old = conversations.find(({ id }) => id === patch.id);
    delete patch.participants;
    // In the same order of fields as before, so that the same text means the same conversation.
    const next = { status: 'pending', createdAt: '', updatedAt: '', unread: 0, draft: false, ...old, ...patch };
    for (const name of ['assignedTo', 'assignedToName'] as const) if (next[name] === undefined) delete next[name];
    const fresh = next as SdkConversation;
    if (old && JSON.stringify(old) === JSON.stringify(fresh)) return old;
    list([...conversations.filter((one) => one !== old), fresh]);
    emit('conversation', fresh);
    return fresh;
  }

  function list(all: readonly SdkConversation[]): void {
    const conversations = all.toSorted((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1));
    const before = store.state.unread;
    const unread = conversations.reduce((sum, one) => sum + one.unread, 0);
    store.set({ conversations, unread });
    if (unread !== before) emit('unread', { count: unread });
  }

  /** New messages: tells the page, and counts what is not the visitor's own. */
  function arrived(here: Room, news: readonly SdkMessage[]): void {
    show();
    for (const message of news) {
      // One of ours is known by the key it had before it was stored.
      if (message.key === message.id) emit('message', message);
      const { unread = 0, updatedAt = '' } = store.state.conversations.find(({ id }) => id === here.id) ?? {};
      if (!message.own) here.stamp += 1;
      update({
        id: here.id,
        unread: message.own ? unread : unread + 1,
        updatedAt: message.createdAt > updatedAt ? message.createdAt : updatedAt,
      });
    }
  }

  function edited(id: string, raw: Partial<RawMessage> & Pick<RawMessage, 'id'>): SdkMessage | undefined {
    const changed = rooms.get(id)?.thread.change(raw.id, raw as Partial<SdkMessage>);
    if (!changed) return undefined;
    show();
    emit('message:updated', changed);
    return changed;
  }

  function deleted(id: string, messageId: string): void {
    const here = rooms.get(id);
    const gone = here?.thread.find(messageId);
    if (!here?.thread.remove(messageId)) return;
    show();
    emit('message:deleted', { conversationId: id, messageId });
    // It may have been one of the unread.
    if (gone?.own === false) {
      here.stamp += 1;
      again(id);
    }
  }

  async function refresh(id: string): Promise<SdkConversation> {
    const here = rooms.get(id);
    for (;;) {
      const stamp = here?.stamp;
      const path = `/conversations/${id}`;
      const [{ conversation }, { unreadCount }] = await Promise.all([
        http.call<{ conversation: RawConversation }>('GET', path),
        http.call<{ unreadCount: number }>('GET', `${path}/unread`),
      ]);
      // Something happened while it was asked: the answer may be older than what was heard.
      if (stamp !== here?.stamp) continue;
      const { assignedTo } = conversation;
      const fresh = update({ ...conversation, assignedTo, unread: unreadCount, ...(assignedTo === undefined && nobodyAssigned) });
      core.post('conversation', fresh);
      return fresh;
    }
  }

  /** Refreshes in the background; one tab asks, and tells the others. */
  function again(id: string): void {
    if (core.leads()) refresh(id).catch((error: unknown) => emit('error', asSdkError(error)));
  }

  function stopTyping(here: Room, userId: string): void {
    const who = here.typing.find((one) => one.userId === userId);
    if (!who) return;
    here.typing = here.typing.filter((one) => one !== who);
    emit('typing', { ...who, conversationId: here.id, active: false });
  }

  async function page({ id, thread }: Room, limit: number, more: string): Promise<readonly SdkMessage[]> {
    const path = `/conversations/${id}/messages?order=desc&limit=${limit}${more}`;
    const { messages } = await http.call<{ messages: RawMessage[] }>('GET', path);
    const news = thread.addPage(messages.map((raw) => present(raw, id)).toReversed(), messages.length === limit);
    show();
    return news;
  }

  async function load(here: Room): Promise<void> {
    const { id } = here;
    await page(here, pageSize, '');
    if (here.thread.baseline !== null) listen(id, here.thread.baseline);
  }

  function hear(frame: ServerFrame, after: string): void {
    if (frame.type === 'presence') {
      store.set({ online: frame.payload.online });
      emit('presence', frame.payload);
      return;
    }
    if (frame.type === 'pong' || frame.type === 'conversation:new' || frame.type === 'message:ack') return;
    const id = frame.payload.conversationId ?? '';
    const here = rooms.get(id);
    if (!here) return;
    switch (frame.type) {
      case 'message:new': {
        stopTyping(here, frame.payload.senderId);
        const message = present(frame.payload, id);
        if (here.thread.addLive(message)) arrived(here, [here.thread.find(message.id) ?? message]);
        break;
      }
      case 'messages:sync': {
        const { messages, hasMore, edited: changes = [], deleted: gone = [] } = frame.payload;
        arrived(here, here.thread.addRun(after, messages.map((raw) => present(raw, id)), !hasMore));
        for (const raw of changes) edited(id, raw);
        for (const messageId of gone) deleted(id, messageId);
        break;
      }
      case 'message:edited': {
        edited(id, { ...frame.payload, id: frame.payload.messageId });
        break;
      }
      case 'message:deleted':
        deleted(id, frame.payload.messageId);
        break;
      case 'typing:start': {
        const { conversationId: _here, ...who } = frame.payload;
        here.typing = [...here.typing.filter(({ userId }) => userId !== who.userId), who];
        emit('typing', { ...who, conversationId: id, active: true });
        break;
      }
      case 'typing:stop':
        stopTyping(here, frame.payload.userId);
        break;
      case 'conversation:read': {
        const { userId, messageId } = frame.payload;
        here.reads = { ...here.reads, [userId]: messageId };
        emit('read', frame.payload);
        if (userId === core.visitorId()) {
          here.stamp += 1;
          again(id);
        }
        break;
      }
      case 'conversation:accepted':
        update({ id, status: 'active', assignedTo: frame.payload.assignedTo, assignedToName: frame.payload.assignedToName });
        break;
      case 'conversation:released':
        update({ id, status: 'pending', ...nobodyAssigned });
        break;
      case 'conversation:resolved':
        update({ id, status: 'closed' });
        break;
      case 'room:joined':
        update({ id, status: frame.payload.status });
        again(id);
        break;
      default:
        break;
    }
    show();
  }

  return {
    enter: (id) => {
      const here = room(id);
      here.ready ??= load(here).catch((error: unknown) => {
        here.ready = undefined;
        throw error;
      });
      return here.ready;
    },
    leave: (id) => void rooms.delete(id),
    older: (id, limit) => {
      const here = room(id);
      return page(here, limit, `&before=${here.thread.list[0]?.id ?? here.thread.baseline}`);
    },
    thread: (id) => rooms.get(id)?.thread,
    hear,
    edited,
    deleted,
    baselines: () => [...rooms.values()].flatMap(({ id, thread }): [string, string][] => (thread.baseline === null ? [] : [[id, thread.baseline]])),
    unsettle: () => {
      for (const here of rooms.values()) {
        here.thread.unsettle();
        // Who stopped meanwhile will not be heard of.
        for (const { userId } of here.typing) stopTyping(here, userId);
      }
      show();
    },
    refresh,
    update,
    forget: (id) => {
      rooms.delete(id);
      list(store.state.conversations.filter((one) => one.id !== id));
    },
    show,
  };
}
