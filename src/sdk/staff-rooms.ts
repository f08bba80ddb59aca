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
} & Pick<StaffMessage, 'emailed'>;

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

const pageSize = 50;

/** The rooms that a member has joined. What of them is shown goes to `onChange`, what happens in them to `emit`. */
export class StaffRooms {
  readonly #options: StaffRoomsOptions;
  readonly #rooms = new Map<string, Room>();

  constructor(options: StaffRoomsOptions) {
    this.#options = options;
  }

  /** Joins a room, once, and answers it with its newest messages; @throws SdkError */
  async enter(id: string): Promise<StaffRoom> {
    const here: Room = this.#rooms.get(id) ?? {
      id,
      thread: createMessageList(this.#options.matchStored),
      ready: undefined,
      typing: [],
      reads: {},
    };
    this.#rooms.set(id, here);
    here.ready ??= this.#open(here).catch((error: unknown) => {
      // It may have been left and joined again since.
      if (this.#rooms.get(id) === here) this.#rooms.delete(id);
      throw error;
    });
    await here.ready;
    return this.#snapshot(here);
  }

  leave(id: string): void {
    this.#rooms.delete(id);
    this.publish();
  }

  has(id: string): boolean {
    return this.#rooms.has(id);
  }

  /** One page of older messages. @returns what is new; nothing where there is no room, or nothing older */
  async loadOlder(id: string, limit: number): Promise<readonly StaffMessage[]> {
    const room = this.#rooms.get(id);
    if (room?.thread.hasMore_() !== true) return [];
    const before = room.thread.list_()[0]?.id ?? room.thread.syncCursor_();
    return this.#loadPage(room, limit, `&before=${before}`);
  }

  messages(id: string): MessageList<StaffMessage> | undefined {
    return this.#rooms.get(id)?.thread;
  }

  /** @param after where the catching up began that the frame belongs to */
  handleFrame(frame: ServerFrame, after: string): void {
    if (!('payload' in frame) || !('conversationId' in frame.payload)) return;
    const id = frame.payload.conversationId ?? '';
    const room = this.#rooms.get(id);
    if (room === undefined) return;
    switch (frame.type) {
      case 'message:new':
        this.#stopTyping(room, frame.payload.senderId);
        return this.#arrived(room.thread.addLive_(this.#present(frame.payload as StaffRaw, id)));
      case 'messages:sync': {
        const { messages, hasMore, edited = [], deleted = [] } = frame.payload;
        const run = messages.map((raw) => this.#present(raw as StaffRaw, id));
        this.#arrived(room.thread.addSync_(after, run, !hasMore));
        for (const raw of edited as StaffRaw[]) {
          this.applyEdit(id, raw);
          if (raw.emailed !== undefined) this.#applyEmailed(room, raw.id, raw.emailed);
        }
        for (const messageId of deleted) this.applyDelete(id, messageId);
        return;
      }
      case 'message:edited': {
        const { messageId, ...rest } = frame.payload;
        return this.applyEdit(id, { ...rest, id: messageId });
      }
      case 'message:deleted':
        return this.applyDelete(id, frame.payload.messageId);
      case 'message:emailed':
        return this.#applyEmailed(room, frame.payload.messageId, { state: frame.payload.state });
      case 'typing:start': {
        const { conversationId: _here, ...who } = frame.payload;
        room.typing = [...room.typing.filter(({ userId }) => userId !== who.userId), who];
        this.#options.emit('typing', { ...who, conversationId: id, active: true });
        return this.publish();
      }
      case 'typing:stop':
        this.#stopTyping(room, frame.payload.userId);
        return this.publish();
      case 'conversation:read': {
        const { userId, messageId } = frame.payload;
        room.reads = { ...room.reads, [userId]: messageId };
        this.#options.emit('read', frame.payload);
        return this.publish();
      }
      default:
        return undefined;
    }
  }

  applyEdit(id: string, raw: Partial<StaffRaw> & Pick<StaffRaw, 'id'>): void {
    const { content, contentFormat, contentHtml, editedAt, attachments } = raw;
    const changed = this.messages(id)?.applyEdit_(raw.id, {
      content,
      contentFormat,
      contentHtml,
      editedAt,
      attachments,
    } as Partial<StaffMessage>);
    if (changed === undefined) return;
    this.publish();
    this.#options.emit('message:updated', changed);
  }

  #applyEmailed({ thread }: Room, messageId: string, emailed: NonNullable<StaffMessage['emailed']>): void {
    const known = thread.find_(messageId);
    if (known === undefined || known.emailed?.state === emailed.state) return;
    thread.patch_(messageId, { emailed });
    this.publish();
    this.#options.emit('message:updated', { ...known, emailed });
  }

  applyDelete(id: string, messageId: string): void {
    if (this.messages(id)?.remove_(messageId) === undefined) return;
    this.publish();
    this.#options.emit('message:deleted', { conversationId: id, messageId });
  }

  /** Where each room's catching up begins. */
  syncCursors(): readonly [string, string][] {
    return [...this.#rooms.values()].flatMap(({ id, thread }): [string, string][] =>
      thread.syncCursor_() === '' ? [] : [[id, thread.syncCursor_()]],
    );
  }

  /** The connection is gone; the end of typing in between is not told. */
  disconnect(): void {
    for (const room of this.#rooms.values()) {
      room.thread.disconnect_();
      for (const { userId } of room.typing) this.#stopTyping(room, userId);
    }
    this.publish();
  }

  publish(): void {
    this.#options.onChange(
      Object.fromEntries([...this.#rooms.values()].map((room) => [room.id, this.#snapshot(room)])),
    );
  }

  async #open(room: Room): Promise<void> {
    const { id, thread } = room;
    await this.#loadPage(room, pageSize);
    if (this.#rooms.get(id) === room && thread.syncCursor_() !== '')
      this.#options.join(id, thread.syncCursor_());
  }

  async #loadPage({ id, thread }: Room, limit: number, more = ''): Promise<readonly StaffMessage[]> {
    const { messages } = await this.#options.http.request_<{ messages: StaffRaw[] }>(
      'GET',
      `/conversations/${id}/messages?order=desc&limit=${limit}${more}`,
    );
    const news = thread.addPage_(
      messages.toReversed().map((raw) => this.#present(raw, id)),
      messages.length === limit,
    );
    this.publish();
    return news;
  }

  #present(raw: StaffRaw, id: string): StaffMessage {
    return {
      ...toSdkMessage(raw, id, this.#options.memberId()),
      ...(raw.internal === true && { internal: true }),
    };
  }

  #snapshot({ id, thread, typing, reads }: Room): StaffRoom {
    const { pending, isNote } = this.#options;
    const unsent = pending(id).map((one): StaffMessage =>
      isNote(one.key) ? { ...one, internal: true } : one,
    );
    return {
      conversationId: id,
      messages: [...thread.list_(), ...unsent],
      loaded: thread.syncCursor_() !== '',
      hasMore: thread.hasMore_(),
      typing,
      reads,
    };
  }

  #arrived(news: readonly StaffMessage[]): void {
    this.publish();
    for (const message of news) if (message.key === message.id) this.#options.emit('message', message);
  }

  #stopTyping(room: Room, userId: string): void {
    const who = room.typing.find((one) => one.userId === userId);
    if (who === undefined) return;
    room.typing = room.typing.filter((one) => one !== who);
    this.#options.emit('typing', { ...who, conversationId: room.id, active: false });
  }
}
