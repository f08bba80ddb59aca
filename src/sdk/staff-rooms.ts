// The rooms that a member has joined: pages, catching up, live events, typing and read
// marks. Must not open sockets or send.
import type { ServerFrame } from '../protocol/events.ts';
import { presentMessage, type RawMessage } from './core.ts';
import type { Emitter } from './emitter.ts';
import type { Http } from './http.ts';
import type { StaffEvents, StaffMessage, StaffRoom } from './staff-types.ts';
import { createThread, type Thread } from './thread.ts';
import type { SdkMessage, TypingPerson } from './types.ts';

type StaffRaw = RawMessage & { readonly internal?: true };

interface Room {
  readonly id: string;
  readonly thread: Thread<StaffMessage>;
  ready: Promise<void> | undefined;
  typing: readonly TypingPerson[];
  reads: Readonly<Record<string, string>>;
}

export interface StaffRoomsOptions {
  readonly http: Http;
  readonly emit: Emitter<StaffEvents>['emit_'];
  memberId(): string;
  unsent(id: string): readonly SdkMessage[];
  isNote(key: string): boolean;
  recognise(message: StaffMessage): StaffMessage;
  listen(id: string, after: string): void;
  changed(rooms: Readonly<Record<string, StaffRoom>>): void;
}

export interface StaffRooms {
  enter(id: string): Promise<StaffRoom>;
  leave(id: string): void;
  has(id: string): boolean;
  older(id: string, limit: number): Promise<readonly StaffMessage[]>;
  thread(id: string): Thread<StaffMessage> | undefined;
  hear(frame: ServerFrame, after: string): void;
  edited(id: string, raw: Partial<StaffRaw> & Pick<StaffRaw, 'id'>): void;
  deleted(id: string, messageId: string): void;
  baselines(): readonly [string, string][];
  unsettle(): void;
  show(): void;
}

const pageSize = 50;

export function createStaffRooms(options: StaffRoomsOptions): StaffRooms {
  const { http, emit } = options;
  const rooms = new Map<string, Room>();
  let shown: Readonly<Record<string, StaffRoom>> = {};

  const present = (raw: StaffRaw, id: string): StaffMessage => ({
    ...presentMessage(raw, id, options.memberId()),
    ...(raw.internal === true && { internal: true }),
  });

  function snapshot({ id, thread, typing, reads }: Room): StaffRoom {
    const unsent = options.unsent(id).map((one): StaffMessage => (options.isNote(one.key) ? { ...one, internal: true } : one));
    return {
      conversationId: id,
      messages: [...thread.list_(), ...unsent],
      loaded: thread.baseline_() !== '',
      hasMore: thread.hasMore_(),
      typing,
      reads,
    };
  }

  function show(): void {
    shown = Object.fromEntries([...rooms.values()].map((room) => [room.id, snapshot(room)]));
    options.changed(shown);
  }

  function arrived(news: readonly StaffMessage[]): void {
    show();
    for (const message of news) if (message.key === message.id) emit('message', message);
  }

  function edited(id: string, raw: Partial<StaffRaw> & Pick<StaffRaw, 'id'>): void {
    const { content, contentFormat, contentHtml, editedAt } = raw;
    const changed = rooms.get(id)?.thread.change_(raw.id, { content, contentFormat, contentHtml, editedAt } as Partial<StaffMessage>);
    if (changed === undefined) return;
    show();
    emit('message:updated', changed);
  }

  function deleted(id: string, messageId: string): void {
    if (rooms.get(id)?.thread.remove_(messageId) === undefined) return;
    show();
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
    const { messages } = await http.call_<{ messages: StaffRaw[] }>('GET', `/conversations/${id}/messages?order=desc&limit=${pageSize}`);
    thread.addPage_(
      messages.toReversed().map((raw) => present(raw, id)),
      messages.length === pageSize,
    );
    show();
    if (rooms.get(id) === room && thread.baseline_() !== '') options.listen(id, thread.baseline_());
  }

  function hear(frame: ServerFrame, after: string): void {
    if (!('payload' in frame) || !('conversationId' in frame.payload)) return;
    const id = frame.payload.conversationId ?? '';
    const room = rooms.get(id);
    if (room === undefined) return;
    switch (frame.type) {
      case 'message:new': {
        stopTyping(room, frame.payload.senderId);
        const message = present(frame.payload as StaffRaw, id);
        if (room.thread.addLive_(message)) arrived([room.thread.find_(message.id) ?? message]);
        return;
      }
      case 'messages:sync': {
        const { messages, hasMore, edited: changes = [], deleted: gone = [] } = frame.payload;
        arrived(
          room.thread.addRun_(
            after,
            messages.map((raw) => present(raw as StaffRaw, id)),
            !hasMore,
          ),
        );
        for (const raw of changes) edited(id, raw as StaffRaw);
        for (const messageId of gone) deleted(id, messageId);
        return;
      }
      case 'message:edited': {
        const { messageId, ...rest } = frame.payload;
        return edited(id, { ...rest, id: messageId });
      }
      case 'message:deleted':
        return deleted(id, frame.payload.messageId);
      case 'typing:start': {
        const { conversationId: _here, ...who } = frame.payload;
        room.typing = [...room.typing.filter(({ userId }) => userId !== who.userId), who];
        emit('typing', { ...who, conversationId: id, active: true });
        return show();
      }
      case 'typing:stop':
        stopTyping(room, frame.payload.userId);
        return show();
      case 'conversation:read': {
        const { userId, messageId } = frame.payload;
        room.reads = { ...room.reads, [userId]: messageId };
        emit('read', frame.payload);
        return show();
      }
      default:
        return undefined;
    }
  }

  return {
    enter: async (id) => {
      let room = rooms.get(id);
      if (room === undefined) {
        room = { id, thread: createThread(options.recognise), ready: undefined, typing: [], reads: {} };
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
      show();
    },
    has: (id) => rooms.has(id),
    older: async (id, limit) => {
      const thread = rooms.get(id)?.thread;
      if (thread?.hasMore_() !== true) return [];
      const before = thread.list_()[0]?.id ?? thread.baseline_();
      const { messages } = await http.call_<{ messages: StaffRaw[] }>(
        'GET',
        `/conversations/${id}/messages?order=desc&limit=${limit}&before=${before}`,
      );
      const news = thread.addPage_(
        messages.toReversed().map((raw) => present(raw, id)),
        messages.length === limit,
      );
      show();
      return news;
    },
    thread: (id) => rooms.get(id)?.thread,
    hear,
    edited,
    deleted,
    baselines: () =>
      [...rooms.values()].flatMap(({ id, thread }): [string, string][] => (thread.baseline_() === '' ? [] : [[id, thread.baseline_()]])),
    unsettle: () => {
      for (const room of rooms.values()) {
        room.thread.unsettle_();
        for (const { userId } of room.typing) stopTyping(room, userId);
      }
      show();
    },
    show,
  };
}
