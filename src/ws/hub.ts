// Delivers events to WebSocket connections: follows the event log and offers each event to the connections
// that may be concerned; canReceive (services/core/audience.ts) decides. The log is the source of truth, a
// commit notice only says that there is more.
import type { CommitNotice, CommittedEvent } from '../engine/engine.ts';
import { canReceive } from '../services/core/audience.ts';
import { lastEventSeq, readEvents } from '../services/core/event-log.ts';
import type { Service } from '../services/service.ts';
import type { Connection } from './connection.ts';
import { writeEvent, writeFrame } from './frames.ts';

/** Who types, as the others in the room are told. */
export interface TypingUser extends Pick<Connection, 'userId' | 'userName' | 'senderRole'> {
  readonly organizationId: string;
}

export class Hub {
  readonly #service: Service;
  readonly #onError: (error: unknown) => void;
  readonly #connections = new Set<Connection>();
  readonly #staffByOrganization = new Map<string, Set<Connection>>();
  readonly #visitorsByOrganization = new Map<string, Set<Connection>>();
  readonly #rooms = new Map<string, Set<Connection>>();
  /** Own events that arrived while the log was being read: they know their connection, the log does not. */
  readonly #buffered = new Map<number, CommittedEvent>();
  #position = 0;
  #running = false;
  #catchingUp = false;
  #catchUpAgain = false;
  #unsubscribe: (() => void)[] = [];

  /** @param onError called with errors of delivery; delivery goes on */
  constructor(service: Service, onError: (error: unknown) => void) {
    this.#service = service;
    this.#onError = onError;
  }

  /** Follows the log from its present end. */
  async start(): Promise<void> {
    const { store, presence } = this.#service.engine;
    this.#running = true;
    this.#unsubscribe = [
      store.subscribe((notice) => this.#onCommit(notice)),
      presence.subscribe((organizationId, online) => this.#sendPresence(organizationId, online)),
    ];
    this.#position = await lastEventSeq(this.#service);
    await this.#catchUp();
  }

  stop(): void {
    this.#running = false;
    for (const unsubscribe of this.#unsubscribe.splice(0)) unsubscribe();
  }

  get connections(): ReadonlySet<Connection> {
    return this.#connections;
  }

  add(connection: Connection): void {
    const { presence } = this.#service.engine;
    const { organizationId, kind } = connection.actor;
    this.#connections.add(connection);
    this.#service.metrics.connections[connectionKind(connection)] += 1;
    addTo(this.#byOrganization(connection), organizationId, connection);
    if (kind === 'member') presence.join(organizationId, connection.userId, connection.id);
  }

  remove(connection: Connection): void {
    if (!this.#connections.delete(connection)) return;
    const { presence } = this.#service.engine;
    const { organizationId, kind } = connection.actor;
    this.#service.metrics.connections[connectionKind(connection)] -= 1;
    removeFrom(this.#byOrganization(connection), organizationId, connection);
    if (kind === 'member') presence.leave(organizationId, connection.userId, connection.id);
  }

  join(connection: Connection, conversationId: string): void {
    addTo(this.#rooms, conversationId, connection);
  }

  leave(connection: Connection, conversationId: string): void {
    removeFrom(this.#rooms, conversationId, connection);
  }

  /** Tells the others in a room that someone types, or stopped. Never stored. */
  sendTyping(from: TypingUser, conversationId: string, active: boolean): void {
    const { userId, userName, senderRole, organizationId } = from;
    const frame = writeFrame(
      active
        ? { type: 'typing:start', payload: { conversationId, userId, userName, senderRole } }
        : { type: 'typing:stop', payload: { conversationId, userId } },
    );
    const type = active ? 'typing:start' : 'typing:stop';
    const event = {
      type,
      organization_id: organizationId,
      conversation_id: conversationId,
      actor_id: userId,
    } as const;
    for (const connection of this.#rooms.get(conversationId) ?? []) connection.deliverTyping(event, frame);
  }

  #byOrganization(connection: Connection): Map<string, Set<Connection>> {
    return connection.actor.kind === 'member' ? this.#staffByOrganization : this.#visitorsByOrganization;
  }

  /** The store calls this right after its commit: an error in delivery must not become one in storing. */
  #onCommit(notice: CommitNotice): void {
    try {
      this.#handleCommit(notice);
    } catch (error) {
      this.#onError(error);
    }
  }

  #handleCommit(notice: CommitNotice): void {
    const [next] = notice.events;
    // The usual case: our own commit, next in line, straight from memory.
    if (!this.#catchingUp && next?.seq === this.#position + 1) {
      for (const event of notice.events) this.#deliver(event);
      this.#position += notice.events.length;
    } else if (next !== undefined || notice.configuration) {
      // Another process committed, or committed in between: the log has the order.
      for (const event of notice.events) this.#buffered.set(event.seq, event);
      this.#catchUp().catch(this.#onError);
    }
    if (notice.configuration) this.#revalidate().catch(this.#onError);
  }

  async #catchUp(): Promise<void> {
    this.#catchUpAgain = true;
    if (this.#catchingUp) return;
    this.#catchingUp = true;
    try {
      while (this.#catchUpAgain && this.#running) {
        this.#catchUpAgain = false;
        const events = await readEvents(this.#service, this.#position);
        for (const event of events) this.#deliver(this.#buffered.get(event.seq) ?? event);
        const last = events.at(-1);
        if (last !== undefined) {
          this.#position = last.seq;
          this.#catchUpAgain = true;
        }
      }
    } finally {
      this.#buffered.clear();
      this.#catchingUp = false;
    }
  }

  async #revalidate(): Promise<void> {
    for (const connection of this.#connections) {
      try {
        await connection.revalidate();
      } catch (error) {
        // Its rights are unknown now: it is closed and may connect again; the others are checked all the same.
        connection.close('internal', 'Something went wrong inside the service: connect again.');
        this.#onError(error);
      }
    }
  }

  #deliver(event: CommittedEvent): void {
    const { payload, activity } = event;
    if (payload === undefined) return;
    let frame: Buffer | undefined;
    const frameOnce = (): Buffer => (frame ??= writeEvent(event.type, payload));
    const staff = this.#staffByOrganization.get(event.organization_id) ?? [];
    for (const connection of this.#rooms.get(event.conversation_id) ?? [])
      if (!canReceive(event, connection.actor, connection.subscription)) connection.deliver(event, frameOnce);
    for (const connection of staff)
      if (canReceive(event, connection.actor, connection.subscription)) connection.sendBytes(frameOnce());
    if (activity !== undefined) this.#sendActivity(event, activity);
  }

  #sendActivity({ organization_id, mode }: CommittedEvent, payload: object): void {
    const frame = writeEvent('conversation:activity', payload);
    const event = { type: 'conversation:activity', organization_id, mode } as const;
    for (const connection of this.#staffByOrganization.get(organization_id) ?? [])
      if (canReceive(event, connection.actor, connection.subscription)) connection.sendBytes(frame);
  }

  #sendPresence(organizationId: string, online: boolean): void {
    const frame = writeFrame({ type: 'presence', payload: { online } });
    const event = { type: 'presence', organization_id: organizationId } as const;
    for (const connection of this.#visitorsByOrganization.get(organizationId) ?? [])
      if (canReceive(event, connection.actor, connection.subscription)) connection.sendBytes(frame);
  }
}

function connectionKind({ actor }: Connection): 'visitor' | 'staff' {
  return actor.kind === 'member' ? 'staff' : 'visitor';
}

function addTo(groups: Map<string, Set<Connection>>, key: string, connection: Connection): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, new Set([connection]));
  else group.add(connection);
}

function removeFrom(groups: Map<string, Set<Connection>>, key: string, connection: Connection): void {
  const group = groups.get(key);
  if (group?.delete(connection) === true && group.size === 0) groups.delete(key);
}
