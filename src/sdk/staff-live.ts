// What a member hears: the socket, which room asked to catch up from where, and what each frame means for
// queue and rooms. Must not send messages.
import { socketPath } from '../protocol/codes.ts';
import type { ServerFrame } from '../protocol/events.ts';
import { createConnection, type Connection } from './connection.ts';
import { sdkError } from './error.ts';
import { resume } from './delivery.ts';
import type { OutboxCore } from './outbox-entries.ts';
import type { StaffContext } from './staff-context.ts';
import type { StaffQueue } from './staff-queue.ts';
import type { StaffRooms } from './staff-rooms.ts';
import type { QueueFilter } from './staff-types.ts';
import type { ConnectionStatus, Environment } from './types.ts';

/** What an event says of its conversation by itself. */
const changes = {
  'conversation:released': { status: 'pending', assignedTo: null, assignedToName: null },
  'conversation:resolved': { status: 'closed' },
  'conversation:reopened': { status: 'active' },
} as const;

/** What frames are for. */
export interface StaffLiveParts {
  readonly rooms: StaffRooms;
  readonly queue: StaffQueue;
  readonly sending: OutboxCore;
}

export class StaffLive {
  readonly link: Connection;
  readonly #context: StaffContext;
  readonly #parts: StaffLiveParts;
  /** What each join that is not answered yet asked to catch up from, by room. */
  readonly #asked = new Map<string, string[]>();
  #filters: readonly QueueFilter[] = [];
  #focused: string | null = null;
  /** The link has one timer at a time; while it is offline, that is the wait before the next attempt. */
  #linkDueAt: number | null = null;

  constructor(context: StaffContext, parts: StaffLiveParts) {
    this.#context = context;
    this.#parts = parts;
    const { base, http, options, emit } = context;
    this.link = createConnection({
      env_: this.#watchTimer(context.env),
      address_: async () => {
        const { token: ticket } = await http.request_<{ token: string }>('POST', '/ws-token', {
          retries_: 0,
        });
        const mode = options.mode === undefined ? '' : `&mode=${options.mode}`;
        return `${base.replace(/^http/, 'ws')}${socketPath}?token=${ticket}&changes=1${mode}`;
      },
      onFrame_: (frame) => this.#hear(frame),
      onStatus_: (status) => this.#connected(status),
      onRefused_: (error) => {
        emit('error', error);
        // Let out for good: because the session is over? The answer says it, and then this client knows.
        if (context.state.session !== null) http.request_('GET', '/session').catch(() => undefined);
      },
    });
  }

  /** Listens to a room from a message on. */
  join(id: string, after: string): void {
    if (this.link.send_('room:join', { conversationId: id, lastMessageId: after, echo: true }))
      this.#asked.set(id, [...(this.#asked.get(id) ?? []), after]);
  }

  leave(id: string): void {
    this.#asked.delete(id);
    this.link.send_('room:leave', { conversationId: id });
  }

  /** Says which conversation is before the member's eyes, here and after each reconnect. */
  focus(id: string | null): void {
    if (id === this.#focused) return;
    this.#focused = id;
    this.link.send_('desk:focus', { conversationId: id });
  }

  /** A reconnect asks for this page of the queue again: of the latest ten. */
  askAgain(filter: QueueFilter): void {
    if (!this.#filters.some((one) => JSON.stringify(one) === JSON.stringify(filter)))
      this.#filters = [...this.#filters.slice(-9), filter];
  }

  /** This member has read up to a message, here or elsewhere. */
  readUpTo(id: string, messageId: string): void {
    const { rooms, queue } = this.#parts;
    const messages = rooms.messages(id)?.list_() ?? [];
    const at = messages.findIndex((one) => one.id === messageId);
    if (at < 0) return queue.refresh(id);
    return queue.hasRead(
      id,
      messages.slice(at + 1).filter(({ senderRole }) => senderRole === 'visitor').length,
    );
  }

  #watchTimer(env: Environment): Environment {
    return {
      ...env,
      after: (ms, run) => {
        const at = env.now() + ms;
        this.#linkDueAt = at;
        const cancel = env.after(ms, run);
        return () => {
          if (this.#linkDueAt === at) this.#linkDueAt = null;
          cancel();
        };
      },
    };
  }

  #connected(connection: ConnectionStatus): void {
    const { rooms, queue, sending } = this.#parts;
    const context = this.#context;
    context.set({ connection, reconnectAt: connection === 'offline' ? this.#linkDueAt : null });
    context.emit('connection', { status: connection });
    if (connection !== 'online') return rooms.disconnect();
    this.#asked.clear();
    if (this.#focused !== null) this.link.send_('desk:focus', { conversationId: this.#focused });
    for (const [id, after] of rooms.syncCursors()) this.join(id, after);
    resume(sending);
    // What happened in the queue in between is not told again: ask for the same pages.
    for (const filter of this.#filters) queue.list(filter).catch((error: unknown) => context.report(error));
  }

  #hear(frame: ServerFrame): void {
    const { rooms } = this.#parts;
    const { emit } = this.#context;
    switch (frame.type) {
      case 'error':
        emit('error', sdkError(frame.payload.code, frame.payload.message));
        if (frame.payload.code === 'RATE_LIMITED') this.link.reconnect_();
        return;
      case 'messages:sync':
      case 'room:joined': {
        const { conversationId: id } = frame.payload;
        const [after = '', ...others] = this.#asked.get(id) ?? [];
        this.#asked.set(
          id,
          frame.type === 'room:joined' ? others : [frame.payload.messages.at(-1)?.id ?? after, ...others],
        );
        return rooms.handleFrame(frame, after);
      }
      case 'conversation:new':
      case 'conversation:accepted':
      case 'conversation:released':
      case 'conversation:resolved':
      case 'conversation:reopened':
      case 'conversation:changed':
      case 'conversation:activity':
        return this.#hearOfQueue(frame);
      case 'notification:new':
        return emit(frame.type, frame.payload);
      case 'notification:cleared':
        return emit(frame.type, frame.payload);
      case 'conversation:read': {
        const { conversationId: id, userId, messageId } = frame.payload;
        // What others read changes nothing in the queue of this member.
        if (userId === this.#context.memberId()) this.readUpTo(id, messageId);
        return rooms.handleFrame(frame, '');
      }
      case 'conversation:outdated':
        this.#parts.queue.outdated(frame.payload);
        return emit(frame.type, frame.payload);
      case 'tag:changed':
        this.#parts.queue.renameTag(frame.payload);
        return emit(frame.type, frame.payload);
      default:
        return rooms.handleFrame(frame, '');
    }
  }

  #hearOfQueue(frame: Extract<ServerFrame, { type: `conversation:${string}` }>): void {
    const { patch, refresh, heard } = this.#parts.queue;
    const { emit } = this.#context;
    switch (frame.type) {
      case 'conversation:new':
        emit(frame.type, frame.payload);
        return refresh(frame.payload.id);
      case 'conversation:accepted': {
        const { conversationId: id, assignedTo, assignedToName } = frame.payload;
        patch(id, { status: 'active', assignedTo, assignedToName });
        emit(frame.type, frame.payload);
        return refresh(id);
      }
      case 'conversation:released':
      case 'conversation:resolved':
      case 'conversation:reopened': {
        const { conversationId: id } = frame.payload;
        patch(id, changes[frame.type]);
        emit(frame.type, frame.payload);
        return refresh(id);
      }
      case 'conversation:changed': {
        const { conversationId: id, tags, priority, snoozedUntil, subject } = frame.payload;
        patch(id, { tags, priority, snoozedUntil, ...(subject !== null && { subject }) });
        emit(frame.type, frame.payload);
        // It tells all of it, but of one that was asleep when the queue was listed, and of a subject that went.
        const known = this.#context.state.conversations.find((one) => one.id === id);
        if (known === undefined ? snoozedUntil === null : subject === null && known.subject !== undefined)
          refresh(id);
        return undefined;
      }
      case 'conversation:activity':
        emit(frame.type, frame.payload);
        return heard(frame.payload);
      default:
        return undefined;
    }
  }
}
