// The rooms that a member has joined: pages, catching up, live events, typing and read
// marks. Must not open sockets or send.
import type { ServerFrame } from '../protocol/events.ts';
import { toSdkMessage, type RawMessage } from './context.ts';
import type { Emitter } from './emitter.ts';
import type { HttpClient } from './http.ts';
import type { StaffEvents, StaffMessage, StaffRoom } from './staff-types.ts';
import { createMessageList, type MessageList } from './message-list.ts';
import type { SdkAttachment, SdkMessage, TypingPerson } from './types.ts';

type StaffRaw = RawMessage & {
  readonly internal?: true;
  readonly attachments?: SdkAttachment[] | undefined;
};

interface Room {
  readonly id: string;
  readonly thread: MessageList<StaffMessage>;
  ready: Promise<void> | undefined;
  typing: readonly TypingPerson[];
  reads: Readonly<Record<string, string>>;
}

export interface StaffRoomsOptions {
  readonly http: HttpClient;
  readonly emit: Emitter<StaffEvents>['emit_'];
  memberId(): string;
  pending(id: string): readonly SdkMessage[];
  isNote(key: string): boolean;
  matchStored(message: StaffMessage): StaffMessage;
  join(id: string, after: string): void;
  onChange(rooms: Readonly<Record<string, StaffRoom>>): void;
}

export interface StaffRooms {
  enter(id: string): Promise<StaffRoom>;
  leave(id: string): void;
  has(id: string): boolean;
  loadOlder(id: string, limit: number): Promise<readonly StaffMessage[]>;
  messages(id: string): MessageList<StaffMessage> | undefined;
  handleFrame(frame: ServerFrame, after: string): void;
  applyEdit(id: string, raw: Partial<StaffRaw> & Pick<StaffRaw, 'id'>): void;
  applyDelete(id: string, messageId: string): void;
  syncCursors(): readonly [string, string][];
  disconnect(): void;
  publish(): void;
}

const pageSize = 50;

export function createStaffRooms(options: StaffRoomsOptions): StaffRooms {
  const { http, emit } = options;
  const rooms = new Map<string, Room>();
  let shown: Readonly<Record<string, StaffRoom>> = {};

  const present = (raw: StaffRaw, id: string): StaffMessage => ({
    ...toSdkMessage(raw, id, options.memberId()),
    ...(raw.internal === true && { internal: true }),
  });

  function snapshot({ id, thread, typing, reads }: Room): StaffRoom {
    const unsent = options
      .pending(id)
      .map((one): StaffMessage => (options.isNote(one.key) ? { ...one, internal: true } : one));
    return {
      conversationId: id,
      messages: [...thread.list_(), ...unsent],
      loaded: thread.syncCursor_() !== '',
      hasMore: thread.hasMore_(),
      typing,
      reads,
    };
  }

  function publish(): void {
    shown = Object.fromEntries([...rooms.values()].map((room) => [room.id, snapshot(room)]));
    options.onChange(shown);
  }

  function arrived(news: readonly StaffMessage[]): void {
    publish();
    for (const message of news) if (message.key === message.id) emit('message', message);
  }

  function applyEdit(id: string, raw: Partial<StaffRaw> & Pick<StaffRaw, 'id'>): void {
    const { content, contentFormat, contentHtml, editedAt, attachments } = raw;
    const changed = rooms.get(id)?.thread.applyEdit_(raw.id, {
      content,
      contentFormat,
      contentHtml,
      editedAt,
      attachments,
    } as Partial<StaffMessage>);
    if (changed === undefined) return;
    publish();
    emit('message:updated', changed);
  }

  function applyDelete(id: string, messageId: string): void {
    if (rooms.get(id)?.thread.remove_(messageId) === undefined) return;
    publish();
    emit('message:deleted', { conversationId: id, messageId });
  }

  function stopTyping(room: Room, userId: string): void {
    const who = room.typing.find((one) => one.userId === userId);
    if (who === undefined) return;
    room.typing = room.typing.filter((one) => one !== who);
    emit('typing', { ...who, conversationId: room.id, active: false });
  }

  async function load(room: Room): Promise<void> {
    const { id, thread } = room;
    const { messages } = await http.request_<{ messages: StaffRaw[] }>(
      'GET',
      `/conversations/${id}/messages?order=desc&limit=${pageSize}`,
    );
    thread.addPage_(
      messages.toReversed().map((raw) => present(raw, id)),
      messages.length === pageSize,
    );
    publish();
    if (rooms.get(id) === room && thread.syncCursor_() !== '') options.join(id, thread.syncCursor_());
  }

  function handleFrame(frame: ServerFrame, after: string): void {
    if (!('payload' in frame) || !('conversationId' in frame.payload)) return;
    const id = frame.payload.conversationId ?? '';
    const room = rooms.get(id);
    if (room === undefined) return;
    switch (frame.type) {
      case 'message:new': {
        stopTyping(room, frame.payload.senderId);
        return arrived(room.thread.addLive_(present(frame.payload as StaffRaw, id)));
      }
      case 'messages:sync': {
        const { messages, hasMore, edited: changes = [], deleted: gone = [] } = frame.payload;
        arrived(
          room.thread.addSync_(
            after,
            messages.map((raw) => present(raw as StaffRaw, id)),
            !hasMore,
          ),
        );
        for (const raw of changes) applyEdit(id, raw as StaffRaw);
        for (const messageId of gone) applyDelete(id, messageId);
        return;
      }
      case 'message:edited': {
        const { messageId, ...rest } = frame.payload;
        return applyEdit(id, { ...rest, id: messageId });
      }
      case 'message:deleted':
        return applyDelete(id, frame.payload.messageId);
      case 'typing:start': {
        const { conversationId: _here, ...who } = frame.payload;
        room.typing = [...room.typing.filter(({ userId }) => userId !== who.userId), who];
        emit('typing', { ...who, conversationId: id, active: true });
        return publish();
      }
      case 'typing:stop':
        stopTyping(room, frame.payload.userId);
        return publish();
      case 'conversation:read': {
        const { userId, messageId } = frame.payload;
        room.reads = { ...room.reads, [userId]: messageId };
        emit('read', frame.payload);
        return publish();
      }
      default:
        return undefined;
    }
  }

  return {
    enter: async (id) => {
      let room = rooms.get(id);
      if (room === undefined) {
        room = {
          id,
          thread: createMessageList(options.matchStored),
          ready: undefined,
          typing: [],
          reads: {},
        };
        rooms.set(id, room);
      }
      const here = room;
      here.ready ??= load(here).catch((error: unknown) => {
        rooms.delete(id);
        throw error;
      });
      await here.ready;
      return snapshot(here);
    },
    leave: (id) => {
      rooms.delete(id);
      publish();
    },
    has: (id) => rooms.has(id),
    loadOlder: async (id, limit) => {
      const thread = rooms.get(id)?.thread;
      if (thread?.hasMore_() !== true) return [];
      const before = thread.list_()[0]?.id ?? thread.syncCursor_();
      const { messages } = await http.request_<{ messages: StaffRaw[] }>(
        'GET',
        `/conversations/${id}/messages?order=desc&limit=${limit}&before=${before}`,
      );
      const news = thread.addPage_(
        messages.toReversed().map((raw) => present(raw, id)),
        messages.length === limit,
      );
      publish();
      return news;
    },
    messages: (id) => rooms.get(id)?.thread,
    handleFrame,
    applyEdit,
    applyDelete,
    syncCursors: () =>
      [...rooms.values()].flatMap(({ id, thread }): [string, string][] =>
        thread.syncCursor_() === '' ? [] : [[id, thread.syncCursor_()]],
      ),
    disconnect: () => {
      for (const room of rooms.values()) {
        room.thread.disconnect_();
        for (const { userId } of room.typing) stopTyping(room, userId);
      }
      publish();
    },
    publish,
  };
}
