// One socket's life: waiting to be let in → open → over. Frames are handled one at
// a time and in order; what they mean is decided by rules, what is heard by the hub.
import type { WebSocket } from 'ws';
import { closeCodes, limits } from '../protocol/codes.ts';
import type { Mode, SenderRole } from '../protocol/entities.ts';
import type { EventPayloads, ServerFrame } from '../protocol/events.ts';
import type { ClientFrame, ClientPayloads } from '../protocol/frames.ts';
import type { CommittedEvent } from '../engine/engine.ts';
import type { Log } from '../log.ts';
import { userId, type MemberActor, type VisitorActor } from '../services/actor.ts';
import { execute } from '../services/execute.ts';
import { Failure } from '../services/failure.ts';
import { anonymousName } from '../services/present.ts';
import { openRoom, readRoomPage } from '../services/rooms.ts';
import type { ParticipantCall, Service } from '../services/service.ts';
import { withdrawal } from '../services/socket-tokens.ts';
import { BadFrame, errorOf, frameIds, readFrame, writeFrame } from './frames.ts';
import type { Hub } from './hub.ts';

export interface ConnectionOptions {
  readonly id: string;
  readonly socket: WebSocket;
  readonly service: Service;
  readonly hub: Hub;
  readonly log: Log;
  readonly actor: VisitorActor | MemberActor;
  readonly address: string;
  readonly maxRooms: number;
  /** Which conversations a staff connection hears of without joining them. */
  readonly modes: readonly Mode[];
}

interface Membership {
  readonly echo: boolean;
  /** Room events that arrived while the room was still being read; null once it is live. */
  waiting: CommittedEvent[] | null;
  /** The log's position that the snapshot holds: a message up to it has been sent already. */
  syncedThrough: number;
  /** False until the right to be in the room has been looked up: nothing of it is heard before. */
  admitted: boolean;
}

const pauseAbove = 64;
const mostWaiting = 2_000;
const limitedInARow = 20;
const frameWindows = [
  { limit: 300, windowMs: 1_000 },
  { limit: 3_000, windowMs: 60_000 },
];
const syncWindows = [
  { limit: 30, windowMs: 1_000 },
  { limit: 600, windowMs: 60_000 },
];
const lingerMs = 2_000;

export class Connection {
  readonly id: string;
  readonly actor: VisitorActor | MemberActor;
  readonly userId: string;
  readonly senderRole: SenderRole;
  readonly #options: ConnectionOptions;
  readonly #call: ParticipantCall;
  readonly #rooms = new Map<string, Membership>();
  readonly #typing = new Map<string, () => void>();
  readonly #inbox: (string | null)[] = [];
  #working = false;
  #over = false;
  #badFrames = 0;
  /** Refusals for sending too much since the last frame of the same kind that passed. */
  readonly #limited = { message: 0, other: 0 };
  /** Bytes of missed messages on their way: asked for, and therefore no sign of a slow reader. */
  #syncing = 0;
  #userName: string;

  constructor(options: ConnectionOptions) {
    const { actor, service, address, id } = options;
    this.#options = options;
    this.id = id;
    this.actor = actor;
    this.userId = userId(actor);
    this.senderRole = actor.kind === 'visitor' ? 'visitor' : 'operator';
    this.#userName = actor.kind === 'visitor' ? anonymousName : actor.name;
    this.#call = { service, actor, address, connectionId: id, contentLimit: limits.contentSocket };
  }

  /** The name to show while this one types. */
  get userName(): string {
    return this.#userName;
  }

  /** Takes one frame; null is a binary one. Handled after those before it. */
  receive(frame: string | null): void {
    if (this.#over) return;
    this.#options.service.measures.framesIn += 1;
    this.#inbox.push(frame);
    if (this.#inbox.length > pauseAbove) this.#options.socket.pause();
    if (!this.#working) void this.#work();
  }

  async #work(): Promise<void> {
    this.#working = true;
    while (this.#inbox.length > 0 && !this.#over) {
      await this.#handle(this.#inbox.shift() as string | null);
      if (this.#inbox.length <= pauseAbove / 2 && this.#options.socket.isPaused) this.#options.socket.resume();
    }
    this.#working = false;
  }

  async #handle(text: string | null): Promise<void> {
    let frame: ClientFrame | undefined;
    try {
      if (text === null) throw new BadFrame('VALIDATION_ERROR', 'Binary frames are not part of the protocol: send text.');
      frame = readFrame(text);
      await this.#run(frame);
      this.#badFrames = 0;
      this.#limited[limitedKind(frame)] = 0;
    } catch (error) {
      this.#refuse(error, frame);
    }
  }

  #refuse(error: unknown, frame: ClientFrame | undefined): void {
    if (error instanceof BadFrame) {
      this.#sendError(frame, { code: error.code, message: error.message, ...error.about });
      return;
    }
    const payload = error instanceof Failure ? errorOf(error, frameIds(frame?.payload)) : null;
    if (payload === null) {
      this.#options.log.error({ connection: this.id, frame: frame?.type, err: describe(error) }, 'a frame could not be handled');
      this.close('internal', 'Something went wrong inside the service: connect again.');
      return;
    }
    this.#sendError(frame, payload);
  }

  #sendError(frame: ClientFrame | undefined, payload: EventPayloads['error']): void {
    const { code } = payload;
    this.send({ type: 'error', payload });
    const bad = code === 'PARSE_ERROR' || code === 'VALIDATION_ERROR';
    this.#badFrames = bad ? this.#badFrames + 1 : 0;
    const kind = limitedKind(frame);
    if (code === 'RATE_LIMITED') this.#limited[kind] += 1;
    if (this.#badFrames >= limits.badFramesInARow) this.close('badFrames', `${limits.badFramesInARow} bad frames in a row.`);
    else if (this.#limited[kind] >= limitedInARow) this.close('rateLimited', 'Too many messages, and still sending.');
  }

  async #run(frame: ClientFrame): Promise<void> {
    if (!frame.type.startsWith('message:')) this.#countFrame('frames', frameWindows);
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
        await execute(this.#call, this.#operation('messages.edit'), frame.payload);
        return undefined;
      case 'message:delete':
        await execute(this.#call, this.#operation('messages.delete'), frame.payload);
        return undefined;
      case 'typing:start':
        return this.#startTyping(frame.payload.conversationId);
      case 'typing:stop':
        this.#member(frame.payload.conversationId);
        return this.#stopTyping(frame.payload.conversationId);
    }
  }

  /** Visitors and staff go through their own operations, which lead to the same rules. */
  #operation<N extends 'messages.send' | 'messages.edit' | 'messages.delete'>(name: N): N | `staff.${N}` {
    return this.actor.kind === 'visitor' ? name : `staff.${name}`;
  }

  /** Frames that are no messages have a limit of their own, per connection. */
  #countFrame(kind: 'frames' | 'syncs', windows: typeof frameWindows): void {
    const verdict = this.#options.service.engine.limiter.take([{ key: `c:${kind}:${this.id}`, windows }]);
    if (!verdict.ok) throw new BadFrame('RATE_LIMITED', `Too many frames; wait ${Math.ceil(verdict.retryAfterMs / 1000)} s.`);
  }

  async #sendMessage(payload: ClientPayloads['message:send']): Promise<void> {
    // Whoever sends has stopped typing: the others hear that first.
    this.#stopTyping(payload.conversationId);
    const { message } = await execute(this.#call, this.#operation('messages.send'), payload);
    this.#userName = message.senderName;
    this.send({
      type: 'message:ack',
      payload: { clientMessageId: payload.clientMessageId, serverMessageId: message.id, createdAt: message.createdAt },
    });
  }

  /**
   * Listens first and reads afterwards: whatever is committed meanwhile waits, and then passes unless the
   * snapshot has it. So nothing is lost between the two, and nothing heard twice.
   */
  async #join(payload: ClientPayloads['room:join']): Promise<void> {
    const { conversationId, lastMessageId } = payload;
    if (lastMessageId !== undefined) this.#countFrame('syncs', syncWindows);
    if (!this.#rooms.has(conversationId) && this.#rooms.size >= this.#options.maxRooms)
      throw new BadFrame('VALIDATION_ERROR', `One connection joins at most ${this.#options.maxRooms} rooms: leave one first.`, {
        conversationId,
      });
    const before = this.#rooms.get(conversationId);
    const membership: Membership = {
      echo: payload.echo ?? before?.echo ?? false,
      waiting: [],
      syncedThrough: before?.syncedThrough ?? 0,
      admitted: before !== undefined,
    };
    this.#rooms.set(conversationId, membership);
    this.#options.hub.join(this, conversationId);
    try {
      const snapshot = await openRoom(this.#call, { conversationId, lastMessageId });
      // Who is in the room already and asks for nothing missed gets everything that came meanwhile live.
      if (before === undefined) membership.syncedThrough = snapshot.eventSeq;
      membership.admitted = true;
      if (this.actor.kind === 'visitor') this.#userName = snapshot.visitorName ?? anonymousName;
      if (snapshot.resumeSeq !== null) await this.#sync(membership, conversationId, snapshot.resumeSeq);
      this.send({
        type: 'room:joined',
        payload: { conversationId, status: snapshot.status, lastMessageId: snapshot.lastMessageId },
      });
      this.#goLive(membership);
    } catch (error) {
      if (before === undefined) {
        this.#rooms.delete(conversationId);
        this.#options.hub.leave(this, conversationId);
      } else {
        // Joined once already: it stays so, and hears what came meanwhile.
        this.#rooms.set(conversationId, before);
        for (const event of membership.waiting ?? []) this.#passOn(before, event, undefined);
      }
      throw error;
    }
  }

  /** Page by page, each only after the one before has left: a long history must not look like a slow reader. */
  async #sync(membership: Membership, conversationId: string, sinceSeq: number): Promise<void> {
    let afterSeq = sinceSeq;
    for (;;) {
      const page = await readRoomPage(this.#call, { conversationId, afterSeq, sinceSeq });
      membership.syncedThrough = page.eventSeq;
      await this.#sendAndWait({ type: 'messages:sync', payload: page.payload });
      if (!page.payload.hasMore || this.#over) return;
      afterSeq = page.lastSeq;
    }
  }

  #goLive(membership: Membership): void {
    const waiting = membership.waiting ?? [];
    membership.waiting = null;
    for (const event of waiting) this.#passOn(membership, event, undefined);
  }

  #leave(conversationId: string): void {
    this.#stopTyping(conversationId);
    this.#rooms.delete(conversationId);
    this.#options.hub.leave(this, conversationId);
  }

  #member(conversationId: string): Membership {
    const membership = this.#rooms.get(conversationId);
    if (membership === undefined) throw new BadFrame('FORBIDDEN', 'Join the room before typing in it.', { conversationId });
    return membership;
  }

  #startTyping(conversationId: string): void {
    this.#member(conversationId);
    this.#typing.get(conversationId)?.();
    this.#typing.set(
      conversationId,
      this.#options.service.engine.clock.after(limits.typingLapseMs, () => this.#stopTyping(conversationId)),
    );
    this.#options.hub.typing(this, conversationId, true);
  }

  #stopTyping(conversationId: string): void {
    const cancel = this.#typing.get(conversationId);
    if (cancel === undefined) return;
    cancel();
    this.#typing.delete(conversationId);
    this.#options.hub.typing(this, conversationId, false);
  }

  /** An event of a room that this connection has joined. */
  hearInRoom(event: CommittedEvent, frame: Buffer): void {
    const membership = this.#rooms.get(event.conversation_id);
    if (membership === undefined) return;
    if (membership.waiting === null) {
      this.#passOn(membership, event, frame);
      return;
    }
    if (membership.waiting.length >= mostWaiting) this.close('tooSlow', 'More happened than was read.');
    else membership.waiting.push(event);
  }

  /** Typing passes without a row in the log, and waits for nothing; but it is heard in the room only. */
  hearTyping(conversationId: string, frame: Buffer): void {
    if (this.#rooms.get(conversationId)?.admitted === true) this.hear(frame);
  }

  #passOn(membership: Membership, event: CommittedEvent, frame: Buffer | undefined): void {
    if (event.audience === 'room_staff' && this.actor.kind !== 'member') return;
    if (event.type === 'message:new') {
      if (event.seq <= membership.syncedThrough) return;
      const own = event.actor_id === this.userId;
      if (own && (!membership.echo || event.originConnection === this.id)) return;
    }
    this.hear(frame ?? writeFrame({ type: event.type, payload: event.payload } as ServerFrame));
  }

  /** True when this staff connection asked for conversations of a mode. */
  hearsMode(mode: Mode): boolean {
    return this.#options.modes.includes(mode);
  }

  send(frame: ServerFrame): void {
    this.hear(writeFrame(frame));
  }

  /** Hands bytes to the socket; whoever lets too much pile up is cut off by name. */
  hear(frame: Buffer): void {
    const { socket, service } = this.#options;
    if (this.#over || socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount - this.#syncing + frame.length > limits.unreadBytes) {
      this.close('tooSlow', 'More than 1 MiB waits to be read.');
      return;
    }
    service.measures.framesOut += 1;
    socket.send(frame, { binary: false });
  }

  #sendAndWait(frame: ServerFrame): Promise<void> {
    const { socket, service } = this.#options;
    if (this.#over || socket.readyState !== socket.OPEN) return Promise.resolve();
    const bytes = writeFrame(frame);
    this.#syncing += bytes.length;
    service.measures.framesOut += 1;
    return new Promise((resolve) => {
      // A socket that fails is closed by its own event; nobody needs to hear of it here.
      socket.send(bytes, { binary: false }, () => {
        this.#syncing -= bytes.length;
        resolve();
      });
    });
  }

  /** Asked again after every change of configuration: may this one stay? */
  async revalidate(): Promise<void> {
    if (this.#over) return;
    const reason = await withdrawal(this.#options.service, this.actor);
    if (reason !== null) this.close(reason, reason === 'withdrawn' ? 'Access was withdrawn.' : 'The application does not exist any more.');
  }

  /** Ends the connection from our side. */
  close(reason: keyof typeof closeCodes, message: string): void {
    if (this.#over) return;
    const { socket, service } = this.#options;
    socket.close(closeCodes[reason].code, message);
    // Whoever does not read will not read the close frame either.
    service.engine.clock.after(lingerMs, () => socket.terminate());
    this.end();
  }

  /** Forgets everything about this connection: it is over. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#inbox.length = 0;
    for (const conversationId of this.#rooms.keys()) this.#leave(conversationId);
    this.#options.hub.remove(this);
  }
}

/** Messages and all other frames have limits of their own: pings in between must not excuse a flood of messages. */
function limitedKind(frame: ClientFrame | undefined): 'message' | 'other' {
  return frame?.type.startsWith('message:') === true ? 'message' : 'other';
}

function describe(error: unknown): object | string {
  return error instanceof Error ? { name: error.name, message: error.message, stack: error.stack } : String(error);
}
