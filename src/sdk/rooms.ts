// The conversations that this page listens to: pages, catching up, live events, unread
// counts, typing and read marks. Must not open sockets or send messages.
import type { EventPayloads, EventType } from '../protocol/events.ts';
import {
  emptyVisitorState,
  toSdkMessage,
  type Context,
  type RawConversation,
  type RawMessage,
} from './context.ts';
import { asSdkError } from './error.ts';
import type { EventFrame } from './connection.ts';
import { createMessageList, type MessageList } from './message-list.ts';
import type { SdkConversation, SdkMessage, TypingPerson } from './types.ts';

interface Room {
  readonly id_: string;
  readonly messages_: MessageList<SdkMessage>;
  /** The first page, under way or come. */
  ready_: Promise<void> | undefined;
  typing: readonly TypingPerson[];
  reads: Readonly<Record<string, string>>;
  /** Raised by whatever may change the unread count. */
  revision_: number;
}

export interface RoomsOptions {
  readonly context_: Context;
  /** What waits to be sent in a conversation, as the page sees it. */
  pending_(conversationId: string): readonly SdkMessage[];
  /** A stored message takes its place: one of ours may be known here by another key. */
  matchStored_(message: SdkMessage): SdkMessage;
  /** Listen to a room from here on. */
  join_(id: string, after: string): void;
}

export interface Rooms {
  /** Loads the newest page once, and listens from there. */
  open_(id: string): Promise<void>;
  leave_(id: string): void;
  loadOlder_(id: string, limit: number): Promise<readonly SdkMessage[]>;
  messages_(id: string): MessageList<SdkMessage> | undefined;
  /** Takes a frame. @param after where the catching up began that it belongs to */
  handleFrame_(frame: EventFrame, after: string): void;
  applyEdit_(id: string, raw: RawMessage): void;
  applyDelete_(id: string, messageId: string): void;
  /** Where each room's catching up begins. */
  syncCursors_(): readonly [string, string][];
  /** The connection is gone. */
  disconnect_(): void;
  /** Asks the service how a conversation stands. */
  refresh_(id: string): Promise<SdkConversation>;
  /** A conversation as far as it has been heard of. */
  find_(id: string | null): SdkConversation | undefined;
  /** Takes over a conversation, or what is new about it. */
  update_(conversation: ConversationPatch): SdkConversation;
  remove_(id: string): void;
  clear_(): void;
  /** Computes the part of the state that belongs to the open conversation. */
  publish_(): void;
}

/** A conversation, or what is new about it; `undefined` takes an assignment away. */
type ConversationPatch = Pick<SdkConversation, 'id'> & {
  -readonly [N in keyof SdkConversation]?: SdkConversation[N] | undefined;
};

/** What is done about a frame of a room, by its type. */
type FrameHandlers = {
  readonly [T in EventType]?: (payload: EventPayloads[T], id: string, here: Room, after: string) => unknown;
};

const pageSize = 30;

export function createRooms({
  context_: core,
  pending_: unsent,
  matchStored_: recognise,
  join_: listen,
}: RoomsOptions): Rooms {
  const { http_: http, emit_: emit } = core;
  const { state_: state, set_: set } = core.store_;
  const rooms = new Map<string, Room>();
  const present = (raw: RawMessage, id: string): SdkMessage => toSdkMessage(raw, id, core.visitorId_());
  const find: Rooms['find_'] = (id) => state().conversations.find((one) => one.id === id);

  const room = (id: string): Room => {
    const { typing, reads } = emptyVisitorState;
    const here = rooms.get(id) ?? {
      id_: id,
      messages_: createMessageList(recognise),
      ready_: undefined,
      typing,
      reads,
      revision_: 0,
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
    const next = id ? [...(thread?.list_() ?? []), ...unsent(id)] : [];
    set({
      messages:
        next.length === messages.length && next.every((one, index) => one === messages[index])
          ? messages
          : next,
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

  /** New messages: tells the page, and counts what is not the visitor's own. */
  const arrived = (here: Room, news: readonly SdkMessage[]): void => {
    show();
    for (const message of news) {
      const { id, key, own, createdAt } = message;
      // One of ours is known by the key it had before it was stored.
      if (key === id) emit('message', message);
      const { unread, updatedAt } = update({ id: here.id_ });
      if (!own) here.revision_ += 1;
      update({
        id: here.id_,
        unread: own ? unread : unread + 1,
        updatedAt: createdAt > updatedAt ? createdAt : updatedAt,
      });
    }
  };

  const edited = (id: string, raw: Partial<RawMessage> & Pick<RawMessage, 'id'>): void => {
    const changed = rooms.get(id)?.messages_.applyEdit_(raw.id, raw as Partial<SdkMessage>);
    if (!changed) return;
    show();
    emit('message:updated', changed);
  };

  const deleted = (conversationId: string, messageId: string): void => {
    const here = rooms.get(conversationId);
    const gone = here?.messages_.remove_(messageId);
    if (!gone) return;
    show();
    emit('message:deleted', { conversationId, messageId });
    // It may have been one of the unread.
    if (!gone.own) recount(here);
  };

  const refresh = async (id: string): Promise<SdkConversation> => {
    const here = rooms.get(id);
    const stamp = here?.revision_;
    const path = `/conversations/${id}`;
    const [{ conversation }, { unreadCount }] = await Promise.all([
      http.request_<{ conversation: RawConversation }>('GET', path),
      http.request_<{ unreadCount: number }>('GET', `${path}/unread`),
    ]);
    // Something happened while it was asked: the answer may be older than what was heard.
    if (stamp !== here?.revision_) return refresh(id);
    const fresh = update({ assignedTo: undefined, ...conversation, unread: unreadCount });
    core.broadcast_('conversation', fresh);
    return fresh;
  };

  /** Refreshes in the background; one tab asks, and tells the others. */
  const again = (id: string): void => {
    if (core.isLeader_()) refresh(id).catch((error: unknown) => emit('error', asSdkError(error)));
  };

  /** The unread count is another than what is being asked for right now. */
  const recount = (here: Room | undefined): void => {
    if (!here) return;
    here.revision_ += 1;
    again(here.id_);
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

  const heard: FrameHandlers = {
    'message:new': (payload, id, here) => {
      stopTyping(here, payload.senderId);
      const message = present(payload, id);
      if (here.messages_.addLive_(message)) arrived(here, [here.messages_.find_(message.id) ?? message]);
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
    'conversation:read': (payload, _id, here) => {
      const { userId, messageId } = payload;
      here.reads = { ...here.reads, [userId]: messageId };
      emit('read', payload);
      if (userId === core.visitorId_()) recount(here);
    },
    'conversation:accepted': ({ assignedTo, assignedToName }, id) =>
      update({ id, status: 'active', assignedTo, assignedToName }),
    'conversation:released': (_payload, id) => update({ id, status: 'pending', assignedTo: undefined }),
    'conversation:resolved': (_payload, id) => update({ id, status: 'closed' }),
    'room:joined': ({ status }, id) => {
      update({ id, status });
      again(id);
    },
  };

  return {
    open_: (id) => {
      const here = room(id);
      here.ready_ ??= page(here, pageSize).then(
        () => listen(id, here.messages_.syncCursor_()),
        (error: unknown) => {
          here.ready_ = undefined;
          throw error;
        },
      );
      return here.ready_;
    },
    leave_: (id) => void rooms.delete(id),
    loadOlder_: (id, limit) => {
      const here = room(id);
      return page(here, limit, `&before=${here.messages_.list_()[0]?.id ?? here.messages_.syncCursor_()}`);
    },
    messages_: (id) => rooms.get(id)?.messages_,
    handleFrame_: ({ type, payload }, after) => {
      if (type === 'presence') {
        set({ online: payload.online });
        emit('presence', payload);
        return;
      }
      const { conversationId: id = '' } = payload as { readonly conversationId?: string };
      const here = rooms.get(id);
      // The type says which payload it is: that much TypeScript cannot follow through a table.
      const handle = heard[type] as
        ((all: typeof payload, id: string, room: Room, from: string) => unknown) | undefined;
      if (!here || !handle) return;
      handle(payload, id, here, after);
      show();
    },
    applyEdit_: edited,
    applyDelete_: deleted,
    syncCursors_: () =>
      [...rooms.values()]
        .map(({ id_, messages_: thread_ }): [string, string] => [id_, thread_.syncCursor_()])
        .filter(([, after]) => after),
    disconnect_: () => {
      for (const here of rooms.values()) {
        here.messages_.disconnect_();
        // Who stopped meanwhile will not be heard of.
        for (const { userId } of here.typing) stopTyping(here, userId);
      }
      show();
    },
    refresh_: refresh,
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
