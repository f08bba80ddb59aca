// Delivers events to WebSocket connections: hears every commit in the order of the log, and offers each event to the
// connections that may be concerned; canReceive (services/core/audience.ts) decides.
import type {
  CommitNotice,
  CommittedEvent,
  NotificationSignal,
  Signal,
  TagSignal,
  TypingSignal,
} from '../engine/engine.ts';
import { canReceive, leavesItsRoom } from '../services/core/audience.ts';
import { loadPayloads } from '../services/core/event-log.ts';
import { computeSlice } from '../services/core/slices.ts';
import { sizeLimits } from '../protocol/codes.ts';
import type { Mode } from '../protocol/entities.ts';
import type { ServerFrame } from '../protocol/events.ts';
import type { Service } from '../services/service.ts';
import type { Connection } from './connection.ts';
import { writeEvent, writeFrame } from './frames.ts';

/** After payloads could not be read, they are asked for again so much later, ms. */
const retryMs = 1_000;
/** Payloads that are read at once. */
const pageSize = 500;
/** A little longer than the server of who types waits: its word comes first, unless it was killed or cut off. */
const typingLapseMs = sizeLimits.typingLapseMs + 2_000;

const noConnections: ReadonlySet<Connection> = new Set();

export class Hub {
  readonly #service: Service;
  readonly #onError: (error: unknown) => void;
  readonly #connections = new Set<Connection>();
  readonly #staffByOrganization = new Map<string, Set<Connection>>();
  readonly #visitorsByOrganization = new Map<string, Set<Connection>>();
  /** The staff that receive events of a mode outside of rooms, by organization: the others are not asked for each event. */
  readonly #staffByMode: Readonly<Record<Mode, Map<string, Set<Connection>>>> = {
    live: new Map(),
    test: new Map(),
  };
  readonly #rooms = new Map<string, Set<Connection>>();
  /** By organization, connections whose rights are to be checked again: each once, however often configuration changes. */
  readonly #doubtful = new Map<string, Set<Connection>>();
  /** How to cancel the lapse of typing that the rooms here were told of, by conversation and user. */
  readonly #typing = new Map<string, () => void>();
  /** Events that wait for a payload, with all that come after them. */
  readonly #waiting: CommittedEvent[] = [];
  #loading = false;
  #unsubscribe: (() => void)[] = [];

  /** @param onError called with errors of delivery; delivery goes on */
  constructor(service: Service, onError: (error: unknown) => void) {
    this.#service = service;
    this.#onError = onError;
  }

  start(): void {
    const { store, presence, signals } = this.#service.engine;
    this.#unsubscribe = [
      store.subscribe((notice) => this.#onCommit(notice)),
      presence.subscribe((organizationId, online) => this.#sendPresence(organizationId, online)),
      signals.subscribe((signal) => this.#onSignal(signal)),
    ];
  }

  stop(): void {
    this.#waiting.length = 0;
    for (const cancel of this.#typing.values()) cancel();
    this.#typing.clear();
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
    for (const groups of this.#groupsOf(connection)) addTo(groups, organizationId, connection);
    if (kind === 'member') presence.join(organizationId, connection.userId, connection.id);
  }

  remove(connection: Connection): void {
    if (!this.#connections.delete(connection)) return;
    const { presence } = this.#service.engine;
    const { organizationId, kind } = connection.actor;
    this.#service.metrics.connections[connectionKind(connection)] -= 1;
    for (const groups of this.#groupsOf(connection)) removeFrom(groups, organizationId, connection);
    if (kind === 'member') presence.leave(organizationId, connection.userId, connection.id);
  }

  join(connection: Connection, conversationId: string): void {
    addTo(this.#rooms, conversationId, connection);
  }

  leave(connection: Connection, conversationId: string): void {
    removeFrom(this.#rooms, conversationId, connection);
  }

  #onSignal(signal: Signal): void {
    if (signal.type === 'typing') this.#sendTyping(signal);
    else if (signal.type === 'notification') this.#sendNotification(signal);
    else if (signal.type === 'tag') this.#sendTag(signal);
  }

  #sendNotification({ organizationId, memberId, notification }: NotificationSignal): void {
    this.#sendToMember(organizationId, memberId, { type: 'notification:new', payload: notification });
  }

  #sendTag({ organizationId, tag, renamed }: TagSignal): void {
    const frame = writeFrame({ type: 'tag:changed', payload: { tag, renamed } });
    const event = { type: 'tag:changed', organization_id: organizationId } as const;
    for (const connection of this.#staffByOrganization.get(organizationId) ?? [])
      if (canReceive(event, connection.actor, connection.subscription)) connection.push(frame);
  }

  #sendToMember(
    organizationId: string,
    memberId: string,
    frame: Extract<ServerFrame, { type: 'notification:new' | 'notification:cleared' }>,
  ): void {
    let bytes: Buffer | undefined;
    const event = { type: frame.type, organization_id: organizationId, member_id: memberId } as const;
    for (const connection of this.#staffByOrganization.get(organizationId) ?? [])
      if (canReceive(event, connection.actor, connection.subscription))
        connection.push((bytes ??= writeFrame(frame)));
  }

  /** Tells the others in a room that a participant types, or stopped. It ends also where no one says so any more. */
  #sendTyping(signal: TypingSignal): void {
    const { organizationId, conversationId, userId, userName, senderRole, active } = signal;
    const key = `${conversationId} ${userId}`;
    this.#typing.get(key)?.();
    this.#typing.delete(key);
    if (active && this.#rooms.has(conversationId)) {
      const lapse = (): void => this.#sendTyping({ ...signal, active: false });
      this.#typing.set(key, this.#service.engine.clock.after(typingLapseMs, lapse));
    }
    const frame = writeFrame(
      active
        ? { type: 'typing:start', payload: { conversationId, userId, userName, senderRole } }
        : { type: 'typing:stop', payload: { conversationId, userId } },
    );
    const event = {
      type: active ? 'typing:start' : 'typing:stop',
      organization_id: organizationId,
      conversation_id: conversationId,
      actor_id: userId,
    } as const;
    for (const connection of this.#rooms.get(conversationId) ?? []) connection.deliverTyping(event, frame);
  }

  /** By organization, all that a connection is found in outside of its rooms. */
  #groupsOf({ actor, subscription }: Connection): readonly Map<string, Set<Connection>>[] {
    return actor.kind === 'member'
      ? [this.#staffByOrganization, ...subscription.modes.map((mode) => this.#staffByMode[mode])]
      : [this.#visitorsByOrganization];
  }

  /** The store calls this right after its commit: an error in delivery must not become one in storing. */
  #onCommit(notice: CommitNotice): void {
    try {
      this.#handleCommit(notice);
    } catch (error) {
      this.#onError(error);
    }
  }

  #handleCommit({ events, configuration, lost, cutOff }: CommitNotice): void {
    // They have seen what does not exist any more: on a new connection they ask for what does.
    if (lost === true)
      for (const connection of this.#connections)
        connection.close('goingAway', 'The service has started over: connect again.');
    if (cutOff === true)
      for (const connection of this.#connections)
        connection.close('goingAway', 'The service can’t reach its database: connect again.');
    // First, so that no event goes to a connection whose rights this commit or one before it may have ended.
    if (configuration !== null) this.#doubt(configuration);
    // The usual case: own events, straight from memory.
    if (this.#waiting.length === 0 && events.every(({ payload }) => payload !== undefined))
      for (const event of events) this.#deliver(event);
    else if (events.length > 0) {
      this.#waiting.push(...events);
      void this.#deliverWaiting();
    }
  }

  /** Delivers what waits, in order, with the payloads from the rows. */
  async #deliverWaiting(): Promise<void> {
    if (this.#loading) return;
    this.#loading = true;
    try {
      while (this.#waiting.length > 0) {
        const page = this.#waiting.slice(0, pageSize);
        const events = await loadPayloads(this.#service, page);
        // Emptied by the stop while it was being read.
        if (this.#waiting.splice(0, page.length).length === 0) return;
        for (const event of events) this.#deliver(event);
      }
    } catch (error) {
      this.#onError(error);
      this.#service.engine.clock.after(retryMs, () => void this.#deliverWaiting());
    } finally {
      this.#loading = false;
    }
  }

  /** Configuration changed: until a connection has been checked, it handles no frame and is sent no event. */
  #doubt(organizations: 'all' | ReadonlySet<string>): void {
    const changed =
      organizations === 'all'
        ? new Set([...this.#staffByOrganization.keys(), ...this.#visitorsByOrganization.keys()])
        : organizations;
    for (const organizationId of changed)
      for (const group of [this.#staffByOrganization, this.#visitorsByOrganization])
        this.#doubtAll(organizationId, group.get(organizationId) ?? []);
  }

  /** Checks again whose session, token or key was to end by now, also where they are silent and nothing is sent to them. */
  recheckEnded(): void {
    for (const connection of this.#connections) if (connection.hasEnded) this.recheck(connection);
  }

  /** Checks one connection again, before it is sent more. */
  recheck(connection: Connection): void {
    this.#doubtAll(connection.organizationId, [connection]);
  }

  #doubtAll(organizationId: string, connections: Iterable<Connection>): void {
    const underWay = this.#doubtful.has(organizationId);
    for (const connection of connections) {
      connection.doubt();
      addTo(this.#doubtful, organizationId, connection);
    }
    if (!underWay) void this.#checkDoubtful(organizationId);
  }

  /** Staff before visitors; an organization with many connections takes turns with the others. */
  async #checkDoubtful(organizationId: string): Promise<void> {
    while (this.#doubtful.has(organizationId))
      await computeSlice(this.#service, organizationId, async (full) => {
        for (const connection of this.#doubtful.get(organizationId) ?? []) {
          removeFrom(this.#doubtful, organizationId, connection);
          await this.#check(connection);
          if (full(1)) return;
        }
      });
  }

  async #check(connection: Connection): Promise<void> {
    try {
      await connection.revalidate();
    } catch (error) {
      // Its rights are unknown now: it is closed and may connect again; the others are checked all the same.
      connection.closeAfter(error);
      this.#onError(error);
    }
  }

  #deliver(event: CommittedEvent): void {
    const { payload, activity } = event;
    if (payload === undefined) return;
    let frame: Buffer | undefined;
    const frameOnce = (): Buffer => (frame ??= writeEvent(event.type, payload));
    const staff = this.#staffByMode[event.mode].get(event.organization_id) ?? noConnections;
    const leaves = leavesItsRoom(event);
    for (const connection of this.#rooms.get(event.conversation_id) ?? noConnections)
      if (!leaves || !canReceive(event, connection.actor, connection.subscription))
        connection.deliver(event, frameOnce);
    // Asked once for all: an organization may have many members, and most events are for none of them.
    if (leaves)
      for (const connection of staff)
        if (canReceive(event, connection.actor, connection.subscription)) connection.push(frameOnce());
    if (activity !== undefined && staff.size > 0)
      this.#tellStaff(event, 'conversation:activity', () => writeEvent('conversation:activity', activity()));
    if ((event.type === 'message:edited' || event.type === 'message:deleted') && event.message_id !== null)
      this.#tellOutdated(event, event.message_id);
    // Read in one place: what calls for attention elsewhere is over.
    if (event.type === 'conversation:read' && event.member_id !== null)
      this.#sendToMember(event.organization_id, event.member_id, {
        type: 'notification:cleared',
        payload: { conversationId: event.conversation_id },
      });
  }

  #tellOutdated(event: CommittedEvent, messageId: string): void {
    const payload = { conversationId: event.conversation_id, messageId };
    this.#tellStaff(event, 'conversation:outdated', () =>
      writeFrame({ type: 'conversation:outdated', payload }),
    );
  }

  /** The frame is made for the first who may receive it: staff that look at test data alone cause none of live data. */
  #tellStaff(
    { organization_id, mode }: CommittedEvent,
    type: 'conversation:activity' | 'conversation:outdated',
    frame: () => Buffer,
  ): void {
    let bytes: Buffer | undefined;
    const event = { type, organization_id, mode } as const;
    for (const connection of this.#staffByMode[mode].get(organization_id) ?? noConnections)
      if (canReceive(event, connection.actor, connection.subscription)) connection.push((bytes ??= frame()));
  }

  #sendPresence(organizationId: string, online: boolean): void {
    const frame = writeFrame({ type: 'presence', payload: { online } });
    const event = { type: 'presence', organization_id: organizationId } as const;
    for (const connection of this.#visitorsByOrganization.get(organizationId) ?? [])
      if (canReceive(event, connection.actor, connection.subscription)) connection.push(frame);
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
