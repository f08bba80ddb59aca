// The event log read from a position, and what its events tell: how the hub completes other nodes' commits, and how
// `deskbell tail` follows. Text comes from its row, never from the log.
import type { CommittedEvent } from '../../engine/engine.ts';
import type { EventRow } from '../../engine/rows.ts';
import {
  serializeActivity,
  serializeChanged,
  serializeEdited,
  serializeNewConversation,
  serializeSocketMessage,
} from './serializers.ts';
import type { LinkMaker } from '../files/links.ts';
import type { ReadTx, Service } from '../service.ts';

const pageSize = 500;

/**
 * The events after a position, oldest first, with their payloads. One whose message or conversation no longer exists
 * keeps its place but carries no payload.
 * @param afterSeq the newest event that the caller has
 */
export async function readEvents(service: Service, afterSeq: number): Promise<CommittedEvent[]> {
  const rows = await service.engine.store.read(({ repositories }) =>
    repositories.events.after(afterSeq, pageSize),
  );
  return loadPayloads(
    service,
    rows.map((row) => ({ ...row, own: false })),
  );
}

/** A page of the log. */
export interface LogPage {
  readonly events: readonly EventRow[];
  /** The log is read up to this number: behind the last event where the newest ones went with what they told of. */
  readonly through: number;
}

/**
 * Reads on from a number.
 * @param tx one snapshot of the log
 * @param limit of events; none in the answer: the log is read to its end
 */
export async function readLogPage(
  { repositories: { events } }: ReadTx,
  after: number,
  limit: number,
): Promise<LogPage> {
  const page = await events.after(after, limit);
  const last = page.at(-1);
  return { events: page, through: last?.seq ?? Math.max(after, await events.lastSeq()) };
}

/** Completes events that came without a payload. Each keeps its place, also where there is nothing to tell any more. */
export function loadPayloads(service: Service, events: readonly CommittedEvent[]): Promise<CommittedEvent[]> {
  return service.engine.store.read((tx) =>
    Promise.all(
      events.map(async (event) =>
        event.payload === undefined ? { ...event, ...(await loadEventPayload(tx, event, service)) } : event,
      ),
    ),
  );
}

/** The newest position of the log. */
export function lastEventSeq(service: Service): Promise<number> {
  return service.engine.store.read((tx) => tx.repositories.events.lastSeq());
}

/** What an event tells, from the rows as they are now; nothing where they were removed. */
export async function loadEventPayload(
  tx: ReadTx,
  row: EventRow,
  service: LinkMaker,
): Promise<{ payload?: object; activity?: () => object }> {
  const { conversation_id: conversationId, message_id: messageId, actor_id: actorId } = row;
  switch (row.type) {
    case 'message:new':
    case 'message:edited': {
      const message = messageId === null ? undefined : await tx.repositories.messages.byId(messageId);
      if (message === undefined || message.deleted_at !== null) return {};
      if (row.type === 'message:edited') return { payload: serializeEdited(message, service) };
      const conversation = await tx.repositories.conversations.byId(conversationId);
      return {
        payload: serializeSocketMessage(message, service),
        ...(conversation === undefined ? {} : { activity: () => serializeActivity(message, conversation) }),
      };
    }
    case 'message:deleted':
      return { payload: { conversationId, messageId, senderId: actorId } };
    case 'message:emailed': {
      const message = messageId === null ? undefined : await tx.repositories.messages.byId(messageId);
      if (message === undefined || message.emailed === null) return {};
      return { payload: { conversationId, messageId: message.id, state: message.emailed } };
    }
    case 'conversation:new': {
      const conversation = await tx.repositories.conversations.byId(conversationId);
      return conversation === undefined
        ? {}
        : { payload: { ...serializeNewConversation(conversation), status: 'pending' } };
    }
    case 'conversation:accepted': {
      const member = row.member_id === null ? undefined : await tx.repositories.members.byId(row.member_id);
      return {
        payload: { conversationId, assignedTo: row.member_id, assignedToName: member?.name ?? 'Operator' },
      };
    }
    case 'conversation:released':
      return { payload: { conversationId } };
    case 'conversation:resolved':
      return { payload: { conversationId, resolvedBy: actorId } };
    case 'conversation:reopened':
      return { payload: { conversationId, reopenedBy: actorId } };
    case 'conversation:changed': {
      const conversation = await tx.repositories.conversations.byId(conversationId);
      if (conversation === undefined) return {};
      const tags = await tx.repositories.tags.ofConversation(conversationId);
      return { payload: serializeChanged(conversation, tags) };
    }
    case 'conversation:read':
      return { payload: { conversationId, userId: actorId, messageId } };
  }
}
