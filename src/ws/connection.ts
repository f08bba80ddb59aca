// One accepted WebSocket connection. Frames are handled one at a time and in order: handlers decide what they
// mean, canReceive decides what the connection is sent.
import type { WebSocket } from 'ws';
import type { CommittedEvent, Soon } from '../engine/engine.ts';
import type { Log } from '../log.ts';
import { closeCodes, sizeLimits } from '../protocol/codes.ts';
import type { SenderRole } from '../protocol/entities.ts';
import type { EventPayloads, ServerFrame } from '../protocol/events.ts';
import { readStaffSend, readVisitorSend, type ClientFrame, type ClientPayloads } from '../protocol/frames.ts';
import { checkAccess, type Access } from '../services/auth/socket-tokens.ts';
import { backfill, resync, type BackfillPlace } from '../services/chat/room-sync.ts';
import { endsAt, userId, type MemberActor, type VisitorActor } from '../services/core/actor.ts';
import {
  canReceive,
  type OrganizationSubscription,
  type RoomSubscription,
  type TypingEvent,
} from '../services/core/audience.ts';
import { ServiceError } from '../services/core/errors.ts';
import { focusRenewalMs } from '../services/notifications/focus.ts';
import { anonymousName } from '../services/core/serializers.ts';
import { readTypistName } from '../services/chat/visitors.ts';
import { assertScope, execute, executeChecked } from '../services/execute.ts';
import type { ParticipantCall, Service } from '../services/service.ts';
import { closingAfter } from './closing.ts';
import {
  FrameError,
  frameIds,
  readFrame,
  toErrorPayload,
  writeAck,
  writeEvent,
  writeFrame,
} from './frames.ts';
import {
  assertMaySendLarge,
  countFrame,
  isLargeFrame,
  maxLimitedInARow,
  noteLargeFrame,
} from './frame-limits.ts';
import type { Hub } from './hub.ts';
import type { SocketWriter } from './socket-writer.ts';
import type { SyncLimits } from './sync-limits.ts';

export interface ConnectionOptions {
  readonly id: string;
  readonly socket: WebSocket;
  readonly writer: SocketWriter;
  readonly service: Service;
  readonly hub: Hub;
  readonly log: Log;
  readonly actor: VisitorActor | MemberActor;
  readonly address: string;
  readonly syncs: SyncLimits;
  readonly maxRooms: number;
  /** What it receives outside its rooms. */
  readonly subscription: OrganizationSubscription;
}

/** A room that the connection joins or has joined. */
interface Room {
  readonly subscription: RoomSubscription;
  /** Events that arrived while the room was still being read; null once it is live. */
  buffered: CommittedEvent[] | null;
  /** The log's position that was read last: a message up to it has been sent already. */
  syncedThrough: number;
  /** False until the right to be in the room has been checked: nothing of it is sent before. */
  authorized: boolean;
}

/** Frames that wait to be handled before the socket is paused. */
const pauseThreshold = 64;
const maxBufferedEvents = 2_000;
const closeTimeoutMs = 2_000;
const whyRefused = {
  unauthorized: 'The API key that the token was made with has ended.',
  withdrawn: 'Access was withdrawn.',
  appNotFound: 'The application does not exist any more.',
};

export class Connection {
  readonly id: string;
  readonly userId: string;
  readonly senderRole: SenderRole;
  /** What it receives without joining a room. */
  readonly subscription: OrganizationSubscription;
  readonly #options: ConnectionOptions;
  #call: ParticipantCall;
  readonly #rooms = new Map<string, Room>();
  /** How to cancel the end of typing, by conversation; null: it has never typed. */
  #typing: Map<string, () => void> | null = null;
  /** How to cancel the renewal of what the member looks at; null: they look at nothing. */
  #focus: (() => void) | null = null;
  readonly #inbox: (string | null)[] = [];
  #working = false;
  #closed = false;
  #badFrames = 0;
  /** Refusals for sending too much since the last frame of the same kind that passed. */
  readonly #limited = { message: 0, other: 0, large: 0 };
  /** Whether the frame that is handled now is a large one. */
  #isLarge = false;
  /** Bytes of missed messages on their way: they were asked for, and are no sign of a slow reader. */
  #backfillBytes = 0;
  /** Events that wait until its rights have been checked again; null: they hold. */
  #held: Buffer[] | null = null;
  /** How often its rights have come into doubt. */
  #doubts = 0;
  /** When they end by time alone, ms, as was last seen: use of a session puts that off. */
  #endsAt: number;
  /** The name that others see while this user types. */
  #userName: string;

  constructor(options: ConnectionOptions) {
    const { actor, service, address, id } = options;
    this.#options = options;
    this.id = id;
    this.userId = userId(actor);
    this.senderRole = actor.kind === 'visitor' ? 'visitor' : 'operator';
    this.subscription = options.subscription;
    this.#userName = actor.kind === 'visitor' ? anonymousName : actor.name;
    this.#endsAt = endsAt(actor);
    this.#call = { service, actor, address, connectionId: id, contentLimit: sizeLimits.contentSocket };
  }

  /** Whose it is, as they were when their rights were checked last. */
  get actor(): VisitorActor | MemberActor {
    return this.#call.actor;
  }

  get organizationId(): string {
    return this.actor.organizationId;
  }

  /** Whether its session, token or key was to end by now. */
  get hasEnded(): boolean {
    return this.#endsAt <= this.#options.service.engine.clock.now();
  }

  /** Takes one frame; null is a binary one. Handled after those before it. */
  receive(frame: string | null): void {
    if (this.#closed) return;
    this.#options.service.metrics.framesIn += 1;
    if (this.#working) {
      this.#inbox.push(frame);
      if (this.#inbox.length > pauseThreshold) this.#options.socket.pause();
      return;
    }
    // The usual frame finds none before it, and waits in no list.
    this.#working = true;
    if (this.#handle(frame)) this.#work();
  }

  /** Handles what waits, until a frame is not done at once. */
  readonly #work = (): void => {
    for (let frame = this.#inbox.shift(); frame !== undefined && !this.#closed; frame = this.#inbox.shift()) {
      const done = this.#handle(frame);
      if (this.#inbox.length <= pauseThreshold / 2 && this.#options.socket.isPaused)
        this.#options.socket.resume();
      if (!done) return;
    }
    this.#working = false;
  };

  /**
   * Runs one frame and answers its error.
   * @returns false where it is not done at once: the work then goes on after it
   */
  #handle(text: string | null): boolean {
    let frame: ClientFrame | undefined;
    try {
      const read = this.#read(text);
      frame = read;
      const running = this.#isInDoubt ? this.#runOnceAdmitted(read) : this.#run(read);
      if (running !== undefined) {
        running.then(
          () => {
            this.#passed(read);
            this.#work();
          },
          (error: unknown) => {
            this.#answerError(error, read);
            this.#work();
          },
        );
        return false;
      }
      this.#passed(read);
    } catch (error) {
      this.#answerError(error, frame);
    }
    return true;
  }

  /** Reads a frame. One that can't be read counts as one that is no message: nothing else would count it. */
  #read(text: string | null): ClientFrame {
    this.#isLarge = text !== null && isLargeFrame(text);
    if (this.#isLarge) assertMaySendLarge(this.#options);
    try {
      if (text === null)
        throw new FrameError('VALIDATION_ERROR', 'Binary frames are not part of the protocol: send text.');
      return readFrame(text);
    } catch (error) {
      countFrame(this.#options, error instanceof FrameError ? error.ids : {});
      throw error;
    }
  }

  async #runOnceAdmitted(frame: ClientFrame): Promise<void> {
    await this.revalidate();
    if (!this.#closed) await this.#run(frame);
  }

  #passed(frame: ClientFrame): void {
    this.#badFrames = 0;
    this.#limited[this.#limitedKind(frame)] = 0;
  }

  #answerError(error: unknown, frame: ClientFrame | undefined): void {
    if (error instanceof FrameError) {
      this.#sendError(frame, {
        code: error.code,
        message: error.message,
        ...frameIds(frame?.payload),
        ...error.ids,
      });
      return;
    }
    const payload = error instanceof ServiceError ? toErrorPayload(error, frameIds(frame?.payload)) : null;
    if (payload === null) {
      const { log } = this.#options;
      log.error(
        { connection: this.id, frame: frame?.type, err: describe(error) },
        'a frame could not be handled',
      );
      this.closeAfter(error);
      return;
    }
    this.#sendError(frame, payload);
  }

  #sendError(frame: ClientFrame | undefined, payload: EventPayloads['error']): void {
    const { code } = payload;
    if (this.#isLarge) noteLargeFrame(this.#options);
    this.send({ type: 'error', payload });
    const bad = code === 'PARSE_ERROR' || code === 'VALIDATION_ERROR';
    this.#badFrames = bad ? this.#badFrames + 1 : 0;
    const kind = this.#limitedKind(frame);
    if (code === 'RATE_LIMITED') this.#limited[kind] += 1;
    if (this.#badFrames >= sizeLimits.badFramesInARow)
      this.close('badFrames', `${sizeLimits.badFramesInARow} bad frames in a row.`);
    else if (this.#limited[kind] >= maxLimitedInARow)
      this.close('rateLimited', 'Too many messages, and still sending.');
  }

  #countFrame(): void {
    if (this.#isLarge) noteLargeFrame(this.#options);
    countFrame(this.#options);
  }

  /** Each kind of frame has limits of its own: pings in between must not excuse a flood of messages, or of large frames. */
  #limitedKind(frame: ClientFrame | undefined): 'message' | 'other' | 'large' {
    if (this.#isLarge) return 'large';
    return frame?.type.startsWith('message:') === true ? 'message' : 'other';
  }

  #run(frame: ClientFrame): Soon<void> {
    if (!frame.type.startsWith('message:')) this.#countFrame();
    switch (frame.type) {
      case 'ping':
        return this.send({ type: 'pong' });
      case 'room:join':
        return this.#join(frame.payload);
      case 'room:leave':
        return this.#leave(frame.payload.conversationId);
      case 'message:send':
        return this.#sendMessage(frame.payload);
      case 'message:edit':
        return this.#execute('messages.edit', frame.payload);
      case 'message:delete':
        return this.#execute('messages.delete', frame.payload);
      case 'conversation:read':
        return this.#execute('conversations.read', frame.payload);
      case 'desk:focus':
        return this.#setFocus(frame.payload.conversationId);
      case 'typing:start':
        return this.#startTyping(frame.payload.conversationId);
      case 'typing:stop':
        this.#assertJoined(frame.payload.conversationId);
        return this.#stopTyping(frame.payload.conversationId);
    }
  }

  async #execute(
    name: 'messages.edit' | 'messages.delete' | 'conversations.read',
    payload: unknown,
  ): Promise<void> {
    await execute(this.#call, this.#operation(name), payload);
  }

  /** Visitors and staff have operations of their own, which lead to the same handlers. */
  #operation<N extends 'messages.edit' | 'messages.delete' | 'conversations.read'>(
    name: N,
  ): N | `staff.${N}` {
    return this.actor.kind === 'visitor' ? name : `staff.${name}`;
  }

  // Not `async`, like all that a message passes through: a promise for each step would cost more than most steps.
  #sendMessage(payload: ClientPayloads['message:send']): Promise<void> {
    // Sending ends typing: the others are told that first.
    this.#stopTyping(payload.conversationId);
    const sent =
      this.actor.kind === 'visitor'
        ? executeChecked(this.#call, 'messages.send', readVisitorSend(payload))
        : executeChecked(this.#call, 'staff.messages.send', readStaffSend(payload));
    return sent.then(({ message }) =>
      this.#sendBytes(
        writeAck({
          clientMessageId: payload.clientMessageId,
          serverMessageId: message.id,
          createdAt: message.createdAt,
        }),
      ),
    );
  }

  /**
   * Subscribes first and reads afterwards: events committed in between are buffered, and then sent unless what was
   * read has them. So nothing is lost between the two, and nothing sent twice.
   */
  async #join({ conversationId, lastMessageId, echo }: ClientPayloads['room:join']): Promise<void> {
    if (lastMessageId !== undefined) await this.#options.syncs.count(this.#options);
    if (this.#closed) return;
    const before = this.#rooms.get(conversationId);
    this.#assertMayJoin(conversationId);
    const room = this.#enter(conversationId, before, echo);
    try {
      const snapshot = await resync(this.#call, { conversationId, lastMessageId });
      // What was read is told to those alone who may still read it.
      await this.revalidate();
      if (this.#closed) return;
      // A connection that is in the room already and asks for nothing missed is sent everything since, live.
      if (before === undefined) room.syncedThrough = snapshot.eventSeq;
      room.authorized = true;
      const { resumeSeq } = snapshot;
      if (resumeSeq !== null)
        await this.#options.syncs.inTurn(this.#options, () => this.#backfill(room, resumeSeq));
      this.send({
        type: 'room:joined',
        payload: { conversationId, status: snapshot.status, lastMessageId: snapshot.lastMessageId },
      });
      this.#goLive(room);
    } catch (error) {
      if (before === undefined) this.#leave(conversationId);
      else this.#restore(conversationId, before, room);
      throw error;
    }
  }

  #assertMayJoin(conversationId: string): void {
    const { maxRooms } = this.#options;
    if (this.#rooms.has(conversationId) || this.#rooms.size < maxRooms) return;
    throw new FrameError(
      'VALIDATION_ERROR',
      `One connection joins at most ${maxRooms} rooms: leave one first.`,
      {
        conversationId,
      },
    );
  }

  #enter(conversationId: string, before: Room | undefined, echo: boolean | undefined): Room {
    const room: Room = {
      subscription: {
        kind: 'room',
        conversationId,
        connectionId: this.id,
        echo: echo ?? before?.subscription.echo ?? false,
      },
      buffered: [],
      syncedThrough: before?.syncedThrough ?? 0,
      authorized: before !== undefined,
    };
    this.#rooms.set(conversationId, room);
    this.#options.hub.join(this, conversationId);
    return room;
  }

  /** The room was joined before and stays joined: what was buffered for the failed attempt is sent. */
  #restore(conversationId: string, before: Room, failed: Room): void {
    this.#rooms.set(conversationId, before);
    for (const event of failed.buffered ?? []) this.#sendEvent(before, event);
  }

  /** Page by page, each only after the one before has left: a long history must not look like a slow reader. */
  async #backfill(room: Room, sinceSeq: number): Promise<void> {
    const { conversationId } = room.subscription;
    let place: BackfillPlace = { conversationId, afterSeq: sinceSeq, sinceSeq, changedAfterSeq: 0 };
    for (;;) {
      await this.revalidate();
      if (this.#closed) return;
      const from = place;
      const page = await this.#options.syncs.readPage(this.#options, () => backfill(this.#call, from));
      await this.revalidate();
      if (this.#closed) return;
      room.syncedThrough = page.eventSeq;
      await this.#sendAndWait({ type: 'messages:sync', payload: page.payload });
      if (!page.payload.hasMore) return;
      place = page.next;
    }
  }

  #goLive(room: Room): void {
    const buffered = room.buffered ?? [];
    room.buffered = null;
    for (const event of buffered) this.#sendEvent(room, event);
  }

  #leave(conversationId: string): void {
    this.#stopTyping(conversationId);
    this.#rooms.delete(conversationId);
    this.#options.hub.leave(this, conversationId);
  }

  #assertJoined(conversationId: string): void {
    if (this.#rooms.has(conversationId)) return;
    throw new FrameError('FORBIDDEN', 'Join the room before typing in it.', { conversationId });
  }

  async #startTyping(conversationId: string): Promise<void> {
    const { service } = this.#options;
    this.#assertJoined(conversationId);
    // The visitor is told that an answer is being written.
    assertScope(this.actor, 'staff.messages.send');
    this.#userName = await readTypistName(service, this.actor);
    await this.revalidate();
    if (this.#closed) return;
    this.#typing?.get(conversationId)?.();
    const cancel = service.engine.clock.after(sizeLimits.typingLapseMs, () =>
      this.#stopTyping(conversationId),
    );
    (this.#typing ??= new Map()).set(conversationId, cancel);
    this.#sendTyping(conversationId, true);
  }

  /** What the member looks at: they are told of nothing in it. Said again from time to time, as long as it holds. */
  #setFocus(conversationId: string | null): void {
    const { actor } = this;
    if (actor.kind === 'visitor') throw new FrameError('FORBIDDEN', 'Only staff say what they look at.');
    const { signals, clock } = this.#options.service.engine;
    this.#focus?.();
    this.#focus = null;
    signals.send({ type: 'focus', memberId: actor.memberId, connectionId: this.id, conversationId });
    if (conversationId !== null)
      this.#focus = clock.after(focusRenewalMs, () => this.#setFocus(conversationId));
  }

  #stopTyping(conversationId: string): void {
    const cancel = this.#typing?.get(conversationId);
    if (cancel === undefined) return;
    cancel();
    this.#typing?.delete(conversationId);
    this.#sendTyping(conversationId, false);
  }

  #sendTyping(conversationId: string, active: boolean): void {
    const { userId, senderRole, organizationId } = this;
    this.#options.service.engine.signals.send({
      type: 'typing',
      organizationId,
      conversationId,
      userId,
      userName: this.#userName,
      senderRole,
      active,
    });
  }

  /**
   * Sends an event of a joined room, at once or after the room has been read.
   * @param frame the event as bytes, made once for all connections
   */
  deliver(event: CommittedEvent, frame: () => Buffer): void {
    const room = this.#rooms.get(event.conversation_id);
    if (room === undefined) return;
    if (room.buffered === null) this.#sendEvent(room, event, frame);
    else if (room.buffered.length < maxBufferedEvents) room.buffered.push(event);
    else this.close('tooSlow', 'More happened than was read.');
  }

  /** Typing has no place in the log's order and is not buffered. */
  deliverTyping(event: TypingEvent, frame: Buffer): void {
    const room = this.#rooms.get(event.conversation_id);
    if (room?.authorized === true && canReceive(event, this.actor, room.subscription)) this.push(frame);
  }

  #sendEvent(room: Room, event: CommittedEvent, frame?: () => Buffer): void {
    if (event.payload === undefined || !canReceive(event, this.actor, room.subscription)) return;
    if (event.type === 'message:new' && event.seq <= room.syncedThrough) return;
    this.push(frame === undefined ? writeEvent(event.type, event.payload) : frame());
  }

  send(frame: ServerFrame): void {
    this.#sendBytes(writeFrame(frame));
  }

  /** Sends the frame of an event, now or once its rights are known to hold. */
  push(frame: Buffer): void {
    if (!this.#isInDoubt) return this.#sendBytes(frame);
    if (this.#held === null) this.#options.hub.recheck(this);
    const held = (this.#held ??= []);
    if (held.length < maxBufferedEvents) held.push(frame);
    else this.close('tooSlow', 'More happened than was read.');
  }

  get #isInDoubt(): boolean {
    return this.#held !== null || this.hasEnded;
  }

  /** Hands a frame to the socket; a connection that lets too much pile up is closed as too slow. */
  #sendBytes(frame: Buffer): void {
    const { writer, service } = this.#options;
    if (this.#closed || !writer.open) return;
    if (writer.waitingBytes - this.#backfillBytes + frame.length > sizeLimits.unreadBytes) {
      this.close('tooSlow', 'More than 1 MiB waits to be read.');
      return;
    }
    service.metrics.framesOut += 1;
    writer.write(frame);
  }

  async #sendAndWait(frame: ServerFrame): Promise<void> {
    const { writer, service } = this.#options;
    if (this.#closed || !writer.open) return;
    const bytes = writeFrame(frame);
    this.#backfillBytes += bytes.length;
    service.metrics.framesOut += 1;
    await writer.writeAndWait(bytes);
    this.#backfillBytes -= bytes.length;
  }

  /** Configuration has changed: no frame is handled and no event sent before its rights have been checked again. */
  doubt(): void {
    this.#doubts += 1;
    this.#held ??= [];
  }

  /** Checks whether the connection may stay, where that is in doubt; closes it, or sends what waited. */
  async revalidate(): Promise<void> {
    if (this.hasEnded) this.doubt();
    while (this.#held !== null && !this.#closed) {
      const doubts = this.#doubts;
      const access = await checkAccess(this.#options.service, this.actor, this.#options.address);
      if ('refused' in access) this.close(access.refused, whyRefused[access.refused]);
      else if (doubts === this.#doubts) this.#release(access);
    }
  }

  #release({ until, actor }: Extract<Access, { until: number }>): void {
    if (actor !== this.actor) this.#call = { ...this.#call, actor };
    this.#endsAt = until;
    const held = this.#held ?? [];
    this.#held = null;
    for (const frame of held) this.#sendBytes(frame);
  }

  /** Closes the socket after an error that leaves unknown what its actor may do. */
  closeAfter(error: unknown): void {
    const { reason, message } = closingAfter(error);
    this.close(reason, message);
  }

  /** Ends the connection from our side. */
  close(reason: keyof typeof closeCodes, message: string): void {
    if (this.#closed) return;
    const { socket, writer, service } = this.#options;
    writer.hangUp(closeCodes[reason].code, message);
    // A peer that does not read will not read the close frame either.
    service.engine.clock.after(closeTimeoutMs, () => socket.terminate());
    this.end();
  }

  /** Frees what the connection holds: it is closed. */
  end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#inbox.length = 0;
    if (this.#focus !== null) this.#setFocus(null);
    for (const conversationId of this.#rooms.keys()) this.#leave(conversationId);
    this.#options.hub.remove(this);
  }
}

function describe(error: unknown): object | string {
  return error instanceof Error
    ? { name: error.name, message: error.message, stack: error.stack }
    : String(error);
}
