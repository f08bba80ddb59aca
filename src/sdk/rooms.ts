// The conversations that this page listens to: pages, catching up, live events, unread
// counts, typing and read marks. Must not open sockets or send messages.
import type { EventPayloads, EventType } from '../protocol/events.ts';
import { nobody, presentMessage, type Core, type RawConversation, type RawMessage } from './core.ts';
import { asSdkError } from './error.ts';
import type { EventFrame } from './link.ts';
import { createThread, type Thread } from './thread.ts';
import type { SdkConversation, SdkMessage, TypingPerson } from './types.ts';

interface Room {
  readonly id_: string;
  readonly thread_: Thread<SdkMessage>;
  /** The first page, under way or come. */
  ready_: Promise<void> | undefined;
  typing: readonly TypingPerson[];
  reads: Readonly<Record<string, string>>;
  /** Raised by whatever may change the unread count. */
  stamp_: number;
}

export interface RoomsOptions {
  readonly core_: Core;
  /** What waits to be sent in a conversation, as the page sees it. */
  unsent_(conversationId: string): readonly SdkMessage[];
  /** A stored message takes its place: one of ours may be known here by another key. */
  recognise_(message: SdkMessage): SdkMessage;
  /** Listen to a room from here on. */
  listen_(id: string, after: string): void;
}

export interface Rooms {
  /** Loads the newest page once, and listens from there. */
  enter_(id: string): Promise<void>;
  leave_(id: string): void;
  older_(id: string, limit: number): Promise<readonly SdkMessage[]>;
  thread_(id: string): Thread<SdkMessage> | undefined;
  /** Takes a frame. @param after where the catching up began that it belongs to */
  hear_(frame: EventFrame, after: string): void;
  edited_(id: string, raw: RawMessage): void;
  deleted_(id: string, messageId: string): void;
  /** Where each room's catching up begins. */
  baselines_(): readonly [string, string][];
  /** The connection is gone. */
  unsettle_(): void;
  /** Asks the service how a conversation stands. */
  refresh_(id: string): Promise<SdkConversation>;
  /** A conversation as far as it has been heard of. */
  find_(id: string | null): SdkConversation | undefined;
  /** Takes over a conversation, or what is new about it. */
  update_(conversation: ConversationPatch): SdkConversation;
  forget_(id: string): void;
  clear_(): void;
  /** Computes the part of the state that belongs to the open conversation. */
  show_(): void;
}

/** A conversation, or what is new about it; `undefined` takes an assignment away. */
type ConversationPatch = Pick<SdkConversation, 'id'> & { -readonly [N in keyof SdkConversation]?: SdkConversation[N] | undefined };

/** What is done about a frame of a room, by its type. */
type Heard = { readonly [T in EventType]?: (payload: EventPayloads[T], id: string, here: Room, after: string) => unknown };

const pageSize = 30;

export function createRooms({ core_: core, unsent_: unsent, recognise_: recognise, listen_: listen }: RoomsOptions): Rooms {
  const { http_: http, emit_: emit } = core;
  const { state_: state, set_: set } = core.store_;
  const rooms = new Map<string, Room>();
  const present = (raw: RawMessage, id: string): SdkMessage => presentMessage(raw, id, core.visitorId_());
  const find: Rooms['find_'] = (id) => state().conversations.find((one) => one.id === id);

  const room = (id: string): Room => {
    const { typing, reads } = nobody;
    const here = rooms.get(id) ?? { id_: id, thread_: createThread(recognise), ready_: undefined, typing, reads, stamp_: 0 };
    rooms.set(id, here);
    return here;
  };

  const show = (): void => {
    const { conversationId, messages } = state();
    const id = conversationId ?? '';
    const here = rooms.get(id);
    const thread = here?.thread_;
    const { typing, reads } = here ?? nobody;
    const next = id ? [...(thread?.list_() ?? []), ...unsent(id)] : [];
    set({
      messages: next.length === messages.length && next.every((one, index) => one === messages[index]) ? messages : next,
      loaded: !!(thread?.baseline_() ?? ''),
      hasMore: !!thread?.hasMore_(),
      typing,
      reads,
    });
  };

  const update = (patch: ConversationPatch): SdkConversation => {
    const old = find(patch.id);
    const next = { status: 'pending', createdAt: '', updatedAt: '', unread: 0, draft: false, ...old, ...patch };
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
      if (!own) here.stamp_ += 1;
      update({ id: here.id_, unread: own ? unread : unread + 1, updatedAt: createdAt > updatedAt ? createdAt : updatedAt });
    }
  };

  const edited = (id: string, raw: Partial<RawMessage> & Pick<RawMessage, 'id'>): void => {
    const changed = rooms.get(id)?.thread_.change_(raw.id, raw as Partial<SdkMessage>);
    if (!changed) return;
    show();
    emit('message:updated', changed);
  };

  const deleted = (conversationId: string, messageId: string): void => {
    const here = rooms.get(conversationId);
    const gone = here?.thread_.remove_(messageId);
    if (!gone) return;
    show();
    emit('message:deleted', { conversationId, messageId });
    // It may have been one of the unread.
    if (!gone.own) recount(here);
  };

  const refresh = async (id: string): Promise<SdkConversation> => {
    const here = rooms.get(id);
    const stamp = here?.stamp_;
    const path = `/conversations/${id}`;
    const [{ conversation }, { unreadCount }] = await Promise.all([
      http.call_<{ conversation: RawConversation }>('GET', path),
      http.call_<{ unreadCount: number }>('GET', `${path}/unread`),
    ]);
    // Something happened while it was asked: the answer may be older than what was heard.
    if (stamp !== here?.stamp_) return refresh(id);
    const fresh = update({ assignedTo: undefined, ...conversation, unread: unreadCount });
    core.post_('conversation', fresh);
    return fresh;
  };

  /** Refreshes in the background; one tab asks, and tells the others. */
  const again = (id: string): void => {
    if (core.leads_()) refresh(id).catch((error: unknown) => emit('error', asSdkError(error)));
  };

  /** The unread count is another than what is being asked for right now. */
  const recount = (here: Room | undefined): void => {
    if (!here) return;
    here.stamp_ += 1;
    again(here.id_);
  };

  const stopTyping = (here: Room, userId: string): void => {
    const who = here.typing.find((one) => one.userId === userId);
    if (!who) return;
    here.typing = here.typing.filter((one) => one !== who);
    emit('typing', { ...who, conversationId: here.id_, active: false });
  };

  const page = async ({ id_: id, thread_: thread }: Room, limit: number, more = ''): Promise<readonly SdkMessage[]> => {
    const { messages } = await http.call_<{ messages: RawMessage[] }>(
      'GET',
      `/conversations/${id}/messages?order=desc&limit=${limit}${more}`,
    );
    const news = thread.addPage_(messages.map((raw) => present(raw, id)).reverse(), messages.length === limit);
    show();
    return news;
  };

  const heard: Heard = {
    'message:new': (payload, id, here) => {
      stopTyping(here, payload.senderId);
      const message = present(payload, id);
      if (here.thread_.addLive_(message)) arrived(here, [here.thread_.find_(message.id) ?? message]);
    },
    'messages:sync': ({ messages, hasMore, edited: changes = [], deleted: gone = [] }, id, here, after) => {
      arrived(
        here,
        here.thread_.addRun_(
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
    'conversation:accepted': ({ assignedTo, assignedToName }, id) => update({ id, status: 'active', assignedTo, assignedToName }),
    'conversation:released': (_payload, id) => update({ id, status: 'pending', assignedTo: undefined }),
    'conversation:resolved': (_payload, id) => update({ id, status: 'closed' }),
    'room:joined': ({ status }, id) => {
      update({ id, status });
      again(id);
    },
  };

  return {
    enter_: (id) => {
      const here = room(id);
      here.ready_ ??= page(here, pageSize).then(
        () => listen(id, here.thread_.baseline_()),
        (error: unknown) => {
          here.ready_ = undefined;
          throw error;
        },
      );
      return here.ready_;
    },
    leave_: (id) => void rooms.delete(id),
    older_: (id, limit) => {
      const here = room(id);
      return page(here, limit, `&before=${here.thread_.list_()[0]?.id ?? here.thread_.baseline_()}`);
    },
    thread_: (id) => rooms.get(id)?.thread_,
    hear_: ({ type, payload }, after) => {
      if (type === 'presence') {
        set({ online: payload.online });
        emit('presence', payload);
        return;
      }
      const { conversationId: id = '' } = payload as { readonly conversationId?: string };
      const here = rooms.get(id);
      // The type says which payload it is: that much TypeScript cannot follow through a table.
      const handle = heard[type] as ((all: typeof payload, id: string, room: Room, from: string) => unknown) | undefined;
      if (!here || !handle) return;
      handle(payload, id, here, after);
      show();
    },
    edited_: edited,
    deleted_: deleted,
    baselines_: () =>
      [...rooms.values()].map(({ id_, thread_ }): [string, string] => [id_, thread_.baseline_()]).filter(([, after]) => after),
    unsettle_: () => {
      for (const here of rooms.values()) {
        here.thread_.unsettle_();
        // Who stopped meanwhile will not be heard of.
        for (const { userId } of here.typing) stopTyping(here, userId);
      }
      show();
    },
    refresh_: refresh,
    find_: find,
    update_: update,
    forget_: (id) => {
      rooms.delete(id);
      list(state().conversations.filter((one) => one.id !== id));
    },
    clear_: () => {
      rooms.clear();
      list([]);
    },
    show_: show,
  };
}
