// Who hears what: follows the event log and hands each event to the connections of
// its audience. The log is the truth; a commit notice only says that there is more.
import type { CommitNotice, CommittedEvent } from '../engine/engine.ts';
import type { EventPayloads, EventType, ServerFrame } from '../protocol/events.ts';
import { feedEnd, readFeed } from '../services/feed.ts';
import type { Service } from '../services/service.ts';
import type { Connection } from './connection.ts';
import { writeFrame } from './frames.ts';

export interface Hub {
  /** Follows the log from its present end. */
  start(): Promise<void>;
  stop(): void;
  add(connection: Connection): void;
  remove(connection: Connection): void;
  join(connection: Connection, conversationId: string): void;
  leave(connection: Connection, conversationId: string): void;
  /** Tells the others in a room that somebody types, or no longer does. Passes without a row in the log. */
  typing(from: Pick<Connection, 'userId' | 'userName' | 'senderRole'>, conversationId: string, active: boolean): void;
  readonly connections: ReadonlySet<Connection>;
}

export function createHub(service: Service, onFault: (error: unknown) => void): Hub {
  const { store, presence } = service.engine;
  const connections = new Set<Connection>();
  const staff = new Map<string, Set<Connection>>();
  const visitors = new Map<string, Set<Connection>>();
  const rooms = new Map<string, Set<Connection>>();
  let position = 0;
  let following = false;
  let catchingUp = false;
  let moreSince = false;
  // Our own events that came while the log was being read: they know which connection they came by, the log does not.
  const held = new Map<number, CommittedEvent>();
  let undo: (() => void)[] = [];

  /** A fault in telling must not become one in storing: the store calls this right after its commit. */
  function hearCommit(notice: CommitNotice): void {
    try {
      onCommit(notice);
    } catch (error) {
      onFault(error);
    }
  }

  function onCommit(notice: CommitNotice): void {
    const [next] = notice.events;
    // The usual case: our own commit, next in line, straight from memory.
    if (!catchingUp && next?.seq === position + 1) {
      for (const event of notice.events) deliver(event);
      position += notice.events.length;
    } else if (next !== undefined || notice.configuration) {
      // Another process committed, or came in between: the log says what happened, in order.
      for (const event of notice.events) held.set(event.seq, event);
      catchUp().catch(onFault);
    }
    if (notice.configuration) revalidate().catch(onFault);
  }

  async function catchUp(): Promise<void> {
    moreSince = true;
    if (catchingUp) return;
    catchingUp = true;
    try {
      while (moreSince && following) {
        moreSince = false;
        const events = await readFeed(service, position);
        for (const event of events) deliver(held.get(event.seq) ?? event);
        const last = events.at(-1);
        if (last !== undefined) {
          position = last.seq;
          moreSince = true;
        }
      }
    } finally {
      held.clear();
      catchingUp = false;
    }
  }

  async function revalidate(): Promise<void> {
    for (const connection of connections) {
      try {
        await connection.revalidate();
      } catch (error) {
        // Whether this one may stay can't be known: it is sent away to knock again, and the others are asked all the same.
        connection.close('internal', 'Something went wrong inside the service: connect again.');
        onFault(error);
      }
    }
  }

  function deliver(event: CommittedEvent): void {
    if (event.payload === undefined) return;
    const room = rooms.get(event.conversation_id);
    const toStaff = event.audience === 'staff' || event.audience === 'staff_and_room';
    const listening = staff.get(event.organization_id);
    if (event.audience !== 'staff' && room !== undefined) {
      const frame = writeFrame(asFrame(event.type, event.payload));
      for (const connection of room) {
        const reachedAsStaff = toStaff && connection.actor.kind === 'member' && connection.hearsMode(event.mode);
        if (!reachedAsStaff) connection.hearInRoom(event, frame);
      }
    }
    if (listening === undefined) return;
    if (toStaff) {
      const frame = writeFrame(asFrame(event.type, event.payload));
      for (const connection of listening) if (connection.hearsMode(event.mode)) connection.hear(frame);
    }
    if (event.activity !== undefined) {
      const frame = writeFrame(asFrame('conversation:activity', event.activity));
      for (const connection of listening) if (connection.hearsMode(event.mode)) connection.hear(frame);
    }
  }

  function onPresence(organizationId: string, online: boolean): void {
    const frame = writeFrame({ type: 'presence', payload: { online } });
    for (const connection of visitors.get(organizationId) ?? []) connection.hear(frame);
  }

  return {
    connections,
    start: async () => {
      following = true;
      undo = [store.subscribe(hearCommit), presence.subscribe(onPresence)];
      position = await feedEnd(service);
      await catchUp();
    },
    stop: () => {
      following = false;
      for (const step of undo) step();
      undo = [];
    },
    add: (connection) => {
      connections.add(connection);
      service.measures.connections[doorOf(connection)] += 1;
      const { organizationId, kind } = connection.actor;
      addTo(kind === 'member' ? staff : visitors, organizationId, connection);
      if (kind === 'member') presence.join(organizationId, connection.userId, connection.id);
    },
    remove: (connection) => {
      if (!connections.delete(connection)) return;
      service.measures.connections[doorOf(connection)] -= 1;
      const { organizationId, kind } = connection.actor;
      removeFrom(kind === 'member' ? staff : visitors, organizationId, connection);
      if (kind === 'member') presence.leave(organizationId, connection.userId, connection.id);
    },
    join: (connection, conversationId) => addTo(rooms, conversationId, connection),
    leave: (connection, conversationId) => removeFrom(rooms, conversationId, connection),
    typing: (from, conversationId, active) => {
      const frame = writeFrame(
        active
          ? { type: 'typing:start', payload: { conversationId, userId: from.userId, userName: from.userName, senderRole: from.senderRole } }
          : { type: 'typing:stop', payload: { conversationId, userId: from.userId } },
      );
      for (const connection of rooms.get(conversationId) ?? [])
        if (connection.userId !== from.userId) connection.hearTyping(conversationId, frame);
    },
  };
}

/** A committed event's payload is what its type says: rules write it, the feed rebuilds it, and tests hold both to the same shape. */
function asFrame<T extends EventType>(type: T, payload: object): ServerFrame {
  return { type, payload: payload as EventPayloads[T] } as ServerFrame;
}

function doorOf({ actor }: Connection): 'visitor' | 'staff' {
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
