// Joining a room: access, and everything that was missed, read so that the live
// events which follow neither repeat nor skip anything.
import { sizeLimits } from '../../protocol/codes.ts';
import type { ConversationStatus } from '../../protocol/entities.ts';
import type { EventPayloads } from '../../protocol/events.ts';
import { accessConversation, findMessage } from '../core/access.ts';
import { throwServiceError } from '../core/errors.ts';
import { serializeSyncMessage } from '../core/serializers.ts';
import type { ParticipantCall, ReadTx } from '../service.ts';

export interface RoomSnapshot {
  readonly conversationId: string;
  readonly status: ConversationStatus;
  /** The newest message that the caller may see. */
  readonly lastMessageId: string | null;
  /** Where the missed messages begin: the sequence number of `lastMessageId`, 0 for an unknown one; null: nothing was asked for. */
  readonly resumeSeq: number | null;
  /** The event log's position at this snapshot: an event up to it is in the snapshot already. */
  readonly eventSeq: number;
}

/**
 * @param lastMessageId the newest message that the caller has
 * @throws ServiceError not_found
 */
async function readSnapshot(
  tx: ReadTx,
  { actor }: ParticipantCall,
  input: { conversationId: string; lastMessageId?: string | undefined },
): Promise<RoomSnapshot> {
  const conversation = await accessConversation(tx, actor, input.conversationId);
  const [newest] = await tx.repositories.messages.page({
    conversationId: conversation.id,
    notes: actor.kind === 'member',
    order: 'desc',
    limit: 1,
    offset: 0,
  });
  const known =
    input.lastMessageId === undefined
      ? undefined
      : await findMessage(tx, actor, conversation.id, input.lastMessageId);
  return {
    conversationId: conversation.id,
    status: conversation.status,
    lastMessageId: newest?.id ?? null,
    resumeSeq: input.lastMessageId === undefined ? null : (known?.seq ?? 0),
    eventSeq: await tx.repositories.events.lastSeq(),
  };
}

export interface BackfillPage {
  readonly payload: EventPayloads['messages:sync'];
  /** Where the next page begins. */
  readonly lastSeq: number;
  readonly eventSeq: number;
}

/**
 * One page of missed messages in commit order; the last also says what became of older ones.
 * @param input.afterSeq the page begins after this sequence number
 * @param input.sinceSeq where the whole catching up began
 * @throws ServiceError not_found
 */
async function readBackfillPage(
  tx: ReadTx,
  { actor, service }: ParticipantCall,
  input: { conversationId: string; afterSeq: number; sinceSeq: number },
): Promise<BackfillPage> {
  const { conversationId, afterSeq, sinceSeq } = input;
  const conversation = await accessConversation(tx, actor, conversationId);
  const notes = actor.kind === 'member';
  const rows = await tx.repositories.messages.page({
    conversationId,
    notes,
    order: 'asc',
    afterSeq,
    limit: sizeLimits.syncPage + 1,
    offset: 0,
  });
  const hasMore = rows.length > sizeLimits.syncPage;
  const page = rows.slice(0, sizeLimits.syncPage);
  const changed = hasMore ? [] : await tx.repositories.messages.changedSince(conversationId, sinceSeq, notes);
  return {
    payload: {
      conversationId,
      messages: page.map((row) => serializeSyncMessage(row, service, notes)),
      hasMore,
      ...(hasMore
        ? {}
        : {
            edited: changed
              .filter((row) => row.deleted_at === null)
              .map((row) => serializeSyncMessage(row, service, notes)),
            deleted: changed.filter((row) => row.deleted_at !== null).map((row) => row.id),
          }),
    },
    lastSeq: page.at(-1)?.seq ?? Math.max(afterSeq, conversation.last_seq),
    eventSeq: await tx.repositories.events.lastSeq(),
  };
}

/**
 * Joins a room: what the transport needs to begin listening.
 * @throws ServiceError not_found
 */
export function resync(
  call: ParticipantCall,
  input: { conversationId: string; lastMessageId?: string | undefined },
): Promise<RoomSnapshot> {
  return call.service.engine.store.read((tx) => readSnapshot(tx, call, input)).catch(throwServiceError);
}

/**
 * The next page of what was missed.
 * @throws ServiceError not_found
 */
export function backfill(
  call: ParticipantCall,
  input: { conversationId: string; afterSeq: number; sinceSeq: number },
): Promise<BackfillPage> {
  return call.service.engine.store.read((tx) => readBackfillPage(tx, call, input)).catch(throwServiceError);
}
