// Joining a room: access, and everything that was missed, read so that the live
// events which follow neither repeat nor skip anything.
import { sizeLimits } from '../../protocol/codes.ts';
import type { MessageWithSender } from '../../engine/rows.ts';
import type { ConversationStatus } from '../../protocol/entities.ts';
import type { EventPayloads, SyncMessage } from '../../protocol/events.ts';
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

/** Where a page of what was missed begins. */
export interface BackfillPlace {
  readonly conversationId: string;
  /** The page begins after this sequence number. */
  readonly afterSeq: number;
  /** Where the whole catching up began. */
  readonly sinceSeq: number;
  /** Of older messages those behind this sequence number are left, of which is still to say what became. */
  readonly changedAfterSeq: number;
}

export interface BackfillPage {
  readonly payload: EventPayloads['messages:sync'];
  readonly next: BackfillPlace;
  readonly eventSeq: number;
}

/** UTF-16 units from which on a frame takes no more: 200 messages may have ten times as many, and edits any number. */
const manyUnits = 512 * 1_024;
/** Messages of which one frame says what became of them: nearly always all. */
const mostChanges = 1_000;
/** Messages that are read at once. */
const readAtOnce = 20;

/**
 * As many messages as one frame takes.
 * @param read reads some behind a sequence number, in order
 */
async function readFrame(
  after: number,
  most: number,
  read: (after: number, limit: number) => Promise<MessageWithSender[]>,
): Promise<{ readonly rows: readonly MessageWithSender[]; readonly hasMore: boolean }> {
  const rows: MessageWithSender[] = [];
  let units = 0;
  for (;;) {
    const limit = Math.min(readAtOnce, most - rows.length);
    const some = await read(rows.at(-1)?.seq ?? after, limit + 1);
    for (const row of some.slice(0, limit)) {
      rows.push(row);
      units += row.content.length + (row.content_html?.length ?? 0);
    }
    const hasMore = some.length > limit;
    if (!hasMore || rows.length === most || units >= manyUnits) return { rows, hasMore };
  }
}

/**
 * One page of missed messages in commit order. Behind the last of them it says what became of older ones, and goes on with
 * that on pages without messages where it is long.
 * @throws ServiceError not_found
 */
async function readBackfillPage(
  tx: ReadTx,
  { actor, service }: ParticipantCall,
  place: BackfillPlace,
): Promise<BackfillPage> {
  const { conversationId, afterSeq, sinceSeq, changedAfterSeq } = place;
  const { messages } = tx.repositories;
  const conversation = await accessConversation(tx, actor, conversationId);
  const notes = actor.kind === 'member';
  const page = await readFrame(afterSeq, sizeLimits.syncPage, (after, limit) =>
    messages.page({ conversationId, notes, order: 'asc', afterSeq: after, limit, offset: 0 }),
  );
  const changes = page.hasMore
    ? null
    : await readFrame(changedAfterSeq, mostChanges, (after, limit) =>
        messages.changedSince(conversationId, sinceSeq, notes, { after, limit }),
      );
  const serialize = (row: MessageWithSender): SyncMessage => serializeSyncMessage(row, service, notes);
  return {
    payload: {
      conversationId,
      messages: page.rows.map(serialize),
      hasMore: page.hasMore || changes?.hasMore === true,
      ...(changes === null
        ? {}
        : {
            edited: changes.rows.filter((row) => row.deleted_at === null).map(serialize),
            deleted: changes.rows.filter((row) => row.deleted_at !== null).map((row) => row.id),
          }),
    },
    next: {
      ...place,
      afterSeq: page.rows.at(-1)?.seq ?? Math.max(afterSeq, conversation.last_seq),
      changedAfterSeq: changes?.rows.at(-1)?.seq ?? changedAfterSeq,
    },
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
export function backfill(call: ParticipantCall, place: BackfillPlace): Promise<BackfillPage> {
  return call.service.engine.store.read((tx) => readBackfillPage(tx, call, place)).catch(throwServiceError);
}
