// The conversations that this page listens to: pages, catching up, live events, unread
// counts, typing and read marks. Must not open sockets or send messages.
import type { EventPayloads, EventType } from '../protocol/events.ts';
import {
  emptyVisitorState,
  normalizeOutgoing,
  toSdkMessage,
  type Context,
  type ConversationPatch,
  type RawConversation,
  type RawMessage,
} from './context.ts';
import type { EventFrame } from './connection.ts';
import { createMessageList, type MessageList } from './message-list.ts';
import type { OutgoingMessage, SdkApi, SdkConversation, SdkMessage, TypingPerson } from './types.ts';

interface Room {
  readonly id_: string;
  readonly messages_: MessageList<SdkMessage>;
  /** The first page, under way or come. */
  ready_?: Promise<void> | undefined;
  typing: readonly TypingPerson[];
  reads: Readonly<Record<string, string>>;
  /** The unread count is the service's, and follows what is heard. */
  counted_?: boolean;
}

export interface RoomsContext extends Context {
  /** What waits to be sent in a conversation, as the page sees it. */
  pending_(conversationId: string): readonly SdkMessage[];
  /** A stored message takes its place: one of ours may be known here by another key. */
  matchStored_(message: SdkMessage): SdkMessage;
  /** Listen to a room from here on. */
  join_(id: string, after: string): void;
}

export interface Rooms {
  /** Loads the newest page once, and listens from there. @param isNew it has just been opened: there is no page */
  open_(id: string, isNew?: boolean): Promise<void>;
  loadOlder_: (id: string, limit: number) => ReturnType<SdkApi['loadHistory']>;
  messages_(id: string): MessageList<SdkMessage> | undefined;
  /** Takes a frame. @param after where the catching up began that it belongs to */
  handleFrame_(frame: EventFrame, after: string): void;
  edit_(id: string, messageId: string, message: string | OutgoingMessage): Promise<SdkMessage>;
  delete_(id: string, messageId: string): Promise<void>;
  /** Where each room's catching up begins. */
  syncCursors_(): readonly [string, string][];
  /** The connection is gone. */
  disconnect_(): void;
  /** A member of the staff is online, or not any more. */
  setOnline_(presence: { readonly online: boolean }): void;
  /** Asks for a conversation itself, which alone tells who has it. */
  refresh_(id: string): Promise<SdkConversation>;
  /** Marks a conversation as read up to its newest message. */
  markRead_(id: string): Promise<void>;
  /** A conversation as far as it has been heard of. */
  find_(id: string | null): SdkConversation | undefined;
  /** Takes over a conversation, or what is new about it. */
  update_(conversation: ConversationPatch): SdkConversation;
  remove_(id: string): void;
  clear_(): void;
  /** Computes the part of the state that belongs to the open conversation. */
  publish_(): void;
}

/** What is done about a frame of a room, by its type. */
type FrameHandlers = {
  readonly [T in EventType]?: (payload: EventPayloads[T], id: string, here: Room, after: string) => unknown;
};

const pageSize = 30;

/** How many messages are not the visitor's own. */
const countForeign = (messages: readonly SdkMessage[]): number => messages.filter(({ own }) => !own).length;

export function createRooms(core: RoomsContext): Rooms {
  const { http_: http, emit_: emit } = core;
  const { state_: state, set_: set } = core.store_;
  const rooms = new Map<string, Room>();
  const present = (raw: RawMessage, id: string): SdkMessage => toSdkMessage(raw, id, core.visitorId_());
  const find: Rooms['find_'] = (id) => state().conversations.find((one) => one.id === id);

  const room = (id: string): Room => {
    const here: Room = rooms.get(id) ?? {
      id_: id,
      messages_: createMessageList(core.matchStored_),
      typing: [],
      reads: {},
    };
    rooms.set(id, here);
    return here;
  };

  const show = (): void => {
    const { conversationId, messages } = state();
    const id = conversationId ?? '';
    const here = rooms.get(id);
    const thread = here?.messages_;
    const { typing, reads } = here ?? emptyVisitorState;
    const next = id ? [...(thread?.list_() ?? []), ...core.pending_(id)] : [];
    set({
      messages:
        next.every((one, index) => one === messages[index]) && !messages[next.length] ? messages : next,
      loaded: !!(thread?.syncCursor_() ?? ''),
      hasMore: !!thread?.hasMore_(),
      typing,
      reads,
    });
  };

  const update = (patch: ConversationPatch): SdkConversation => {
    const old = find(patch.id);
    const next = {
      status: 'pending',
      createdAt: '',
      updatedAt: '',
      unread: 0,
      draft: false,
      ...old,
      ...patch,
    };
    // In the same order of fields as before, so that the same text means the same conversation; what is undefined drops out.
    const text = JSON.stringify({
      ...next,
      assignedToName: next.assignedTo === undefined ? undefined : next.assignedToName,
      participants: undefined,
    });
    if (old && JSON.stringify(old) === text) return old;
    const fresh = JSON.parse(text) as SdkConversation;
    list([...state().conversations.filter((one) => one !== old), fresh]);
    emit('conversation', fresh);
    return fresh;
  };

  /** @param conversations a list of the caller's own, which is sorted in place */
  const list = (conversations: SdkConversation[]): void => {
    conversations.sort((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1));
    const before = state().unread;
    const unread = conversations.reduce((sum, one) => sum + one.unread, 0);
    set({ conversations, unread });
    if (unread !== before) emit('unread', { count: unread });
  };

  /** New messages: counts what is not the visitor's own, and tells the page. */
  const arrived = (here: Room, news: readonly SdkMessage[]): void => {
    const { id_: id } = here;
    const { unread, updatedAt } = update({ id });
    const foreign = countForeign(news);
    const latest = news.at(-1)?.createdAt ?? '';
    update({
      id,
      unread: unread + foreign,
      updatedAt: latest > updatedAt ? latest : updatedAt,
    });
    show();
    // One of ours is known by the key it had before it was stored.
    for (const message of news) if (message.key === message.id) emit('message', message);
  };

  const edited = (id: string, raw: Partial<RawMessage> & Pick<RawMessage, 'id'>): void => {
    const changed = rooms.get(id)?.messages_.applyEdit_(raw.id, raw as Partial<SdkMessage>);
    if (!changed) return;
    show();
    emit('message:updated', changed);
  };

  const deleted = (conversationId: string, messageId: string): void => {
    const gone = rooms.get(conversationId)?.messages_.remove_(messageId);
    if (!gone) return;
    show();
    emit('message:deleted', { conversationId, messageId });
    // It may have been one of the unread.
    if (!gone.own && (find(conversationId)?.unread ?? 0)) recount(conversationId);
  };

  /** Takes over what was asked for, and tells the other tabs that much: they may know the rest better. */
  const tell = (patch: ConversationPatch): SdkConversation => {
    core.broadcast_('conversation', patch);
    return update(patch);
  };

  const refresh = async (id: string): Promise<SdkConversation> => {
    const { conversation } = await http.request_<{ conversation: RawConversation }>(
      'GET',
      `/conversations/${id}`,
    );
    return tell({ assignedTo: undefined, ...conversation });
  };

  /** Asks for the unread count; one tab asks, and tells the others. */
  const count = async (id: string): Promise<unknown> => {
    const before = find(id);
    const { unreadCount } = await http.request_<{ unreadCount: number }>(
      'GET',
      `/conversations/${id}/unread`,
    );
    // Something happened while it was asked: the answer may be older than what was heard.
    return before === find(id) ? tell({ id, unread: unreadCount }) : count(id);
  };

  const recount = (id: string): void => {
    if (core.isLeader_()) count(id).catch(core.report_);
  };

  const setOnline = ({ online }: { readonly online: boolean }): void => {
    if (state().online === online) return;
    set({ online });
    emit('presence', { online });
  };

  const stopTyping = (here: Room, userId: string): void => {
    const who = here.typing.find((one) => one.userId === userId);
    if (!who) return;
    here.typing = here.typing.filter((one) => one !== who);
    emit('typing', { ...who, conversationId: here.id_, active: false });
  };

  const page = async (
    { id_: id, messages_: thread }: Room,
    limit: number,
    more = '',
  ): Promise<readonly SdkMessage[]> => {
    const { messages } = await http.request_<{ messages: RawMessage[] }>(
      'GET',
      `/conversations/${id}/messages?order=desc&limit=${limit}${more}`,
    );
    const news = thread.addPage_(
      messages.map((raw) => present(raw, id)).reverse(),
      messages.length === limit,
    );
    show();
    return news;
  };

  const open: Rooms['open_'] = (id, isNew) => {
    const here = room(id);
    const { messages_: thread } = here;
    here.ready_ ??= (isNew ? Promise.resolve(thread.addPage_([], false)) : page(here, pageSize)).then(
      () => core.join_(id, thread.syncCursor_()),
      (error: unknown) => {
        here.ready_ = undefined;
        throw error;
      },
    );
    return here.ready_;
  };

  const heard: FrameHandlers = {
    'message:new': (payload, id, here) => {
      stopTyping(here, payload.senderId);
      arrived(here, here.messages_.addLive_(present(payload, id)));
    },
    'messages:sync': ({ messages, hasMore, edited: changes = [], deleted: gone = [] }, id, here, after) => {
      arrived(
        here,
        here.messages_.addSync_(
          after,
          messages.map((raw) => present(raw, id)),
          !hasMore,
        ),
      );
      for (const raw of changes) edited(id, raw);
      for (const messageId of gone) deleted(id, messageId);
    },
    'message:edited': (payload, id) => edited(id, { ...payload, id: payload.messageId }),
    'message:deleted': ({ messageId }, id) => deleted(id, messageId),
    'typing:start': ({ conversationId, ...who }, _id, here) => {
      here.typing = [...here.typing.filter(({ userId }) => userId !== who.userId), who];
      emit('typing', { ...who, conversationId, active: true });
    },
    'typing:stop': ({ userId }, _id, here) => stopTyping(here, userId),
    'conversation:read': (payload, id, here) => {
      const { userId, messageId } = payload;
      here.reads = { ...here.reads, [userId]: messageId };
      emit('read', payload);
      if (userId !== core.visitorId_()) return;
      if (here.messages_.list_().at(-1)?.id === messageId) update({ id, unread: 0 });
      else recount(id);
    },
    'conversation:accepted': ({ conversationId: id, ...assignee }) =>
      update({ id, status: 'active', ...assignee }),
    'conversation:released': (_payload, id) => update({ id, status: 'pending', assignedTo: undefined }),
    'conversation:resolved': (_payload, id) => update({ id, status: 'closed' }),
    'room:joined': ({ status }, id, here) => {
      const conversation = update({ id, status });
      if (!core.isLeader_()) return;
      // Of a page without a message from staff nothing can be unread.
      if (here.counted_ || !countForeign(here.messages_.list_())) tell(conversation);
      else recount(id);
      here.counted_ = true;
    },
  };

  return {
    open_: open,
    loadOlder_: async (id, limit) => {
      await open(id);
      const here = room(id);
      const { list_: list, hasMore_: hasMore, syncCursor_: cursor } = here.messages_;
      const messages = hasMore() ? await page(here, limit, `&before=${list()[0]?.id ?? cursor()}`) : [];
      return { messages, hasMore: hasMore() };
    },
    messages_: (id) => rooms.get(id)?.messages_,
    handleFrame_: ({ type, payload }, after) => {
      if (type === 'presence') return setOnline(payload);
      const { conversationId: id = '' } = payload as { readonly conversationId?: string };
      const here = rooms.get(id);
      // The type says which payload it is: that much TypeScript cannot follow through a table.
      const handle = heard[type] as
        | ((all: typeof payload, id: string, room: Room, from: string) => unknown)
        | undefined;
      if (!here || !handle) return;
      handle(payload, id, here, after);
      show();
    },
    edit_: async (id, messageId, message) => {
      const { message: raw } = await http.request_<{ message: RawMessage }>(
        'PATCH',
        `/conversations/${id}/messages/${messageId}`,
        { body: normalizeOutgoing(message) },
      );
      edited(id, raw);
      return rooms.get(id)?.messages_.find_(messageId) ?? present(raw, id);
    },
    delete_: async (id, messageId) => {
      await http.request_('DELETE', `/conversations/${id}/messages/${messageId}`);
      deleted(id, messageId);
    },
    syncCursors_: () =>
      [...rooms.values()]
        .map(({ id_, messages_: thread_ }): [string, string] => [id_, thread_.syncCursor_()])
        .filter(([, after]) => after),
    disconnect_: () => {
      for (const here of rooms.values()) {
        here.messages_.disconnect_();
        here.counted_ = false;
        // The end of typing in between is not told.
        for (const { userId } of here.typing) stopTyping(here, userId);
      }
      show();
    },
    setOnline_: setOnline,
    refresh_: refresh,
    markRead_: async (id) => {
      const here = room(id);
      const messageId = here.messages_.list_().at(-1)?.id;
      if (messageId === undefined) return;
      here.counted_ = true;
      update({ id, unread: 0 });
      await http.request_('POST', `/conversations/${id}/read`, { body: { messageId } });
    },
    find_: find,
    update_: update,
    remove_: (id) => {
      rooms.delete(id);
      list(state().conversations.filter((one) => one.id !== id));
    },
    clear_: () => {
      rooms.clear();
      list([]);
    },
    publish_: show,
  };
}
