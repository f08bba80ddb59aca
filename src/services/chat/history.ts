// A conversation's history page by page, and how much of it a visitor has not read. A conversation may have a hundred
// thousand messages: what lies before a far page, and what was not read, is counted in slices.
import type { HistoryStretch } from '../../engine/repositories/messages.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import { accessConversation, findMessage } from '../core/access.ts';
import { canReadNotes } from '../core/audience.ts';
import { badField } from '../core/errors.ts';
import { serializeMessage } from '../core/serializers.ts';
import { readInSlices } from '../core/slices.ts';
import type { ParticipantCall, ReadTx, VisitorCall } from '../service.ts';

/** Messages that one statement passes over or counts: it takes a millisecond or two. */
const messagesAtOnce = 2_000;

/** Where a page is in its conversation. */
interface PagePlace {
  readonly organizationId: string;
  /** The conversation's newest sequence number. */
  readonly lastSeq: number;
  readonly order: 'asc' | 'desc';
  readonly afterSeq: number | undefined;
  readonly beforeSeq: number | undefined;
  readonly offset: number;
}

/**
 * A page of history in the one order of the conversation.
 * @throws ServiceError not_found; bad_request for an unknown `after` or `before`
 * @throws QueueFullError when too many far pages wait already
 */
export async function listMessages(
  call: ParticipantCall,
  input: Input<'messages.list'>,
): Promise<Output<'messages.list'>> {
  const { store } = call.service.engine;
  if (input.offset <= messagesAtOnce)
    return store.read(async (tx) => readPage(tx, call, input, await placePage(tx, call, input)));
  const first = await store.read((tx) => placePage(tx, call, input));
  const place = await passOver(call, input, first);
  return store.read(async (tx) => {
    await accessConversation(tx, call.actor, input.conversationId);
    return readPage(tx, call, input, place);
  });
}

async function placePage(
  tx: ReadTx,
  { actor }: ParticipantCall,
  input: Input<'messages.list'>,
): Promise<PagePlace> {
  const { conversationId, offset, order } = input;
  const conversation = await accessConversation(tx, actor, conversationId);
  const position = async (field: 'after' | 'before'): Promise<number | undefined> => {
    const id = input[field];
    if (id === undefined) return undefined;
    const message = await findMessage(tx, actor, conversationId, id);
    if (message === undefined) throw badField(field, 'must be the id of a message of this conversation');
    return message.seq;
  };
  if (input.after !== undefined && input.before !== undefined)
    throw badField('before', "can't be combined with after");
  const beforeSeq = await position('before');
  return {
    organizationId: conversation.organization_id,
    lastSeq: conversation.last_seq,
    // The page that ends just before a message is counted from its end.
    order: beforeSeq === undefined ? order : 'desc',
    afterSeq: await position('after'),
    beforeSeq,
    offset,
  };
}

/** Counts what lies before a page, so that little of its offset is left. */
async function passOver(
  call: ParticipantCall,
  { conversationId }: Input<'messages.list'>,
  place: PagePlace,
): Promise<PagePlace> {
  const { organizationId, lastSeq, order } = place;
  let { afterSeq = 0, beforeSeq = lastSeq + 1, offset } = place;
  await readInSlices(call, organizationId, async ({ repositories: { messages } }) => {
    const stretch: HistoryStretch = {
      conversationId,
      notes: canReadNotes(call.actor),
      afterSeq: order === 'asc' ? afterSeq : Math.max(afterSeq, beforeSeq - 1 - messagesAtOnce),
      beforeSeq: order === 'asc' ? Math.min(beforeSeq, afterSeq + 1 + messagesAtOnce) : beforeSeq,
    };
    const passed = await messages.count(stretch);
    if (passed > offset) return true;
    offset -= passed;
    if (order === 'asc') afterSeq = stretch.beforeSeq - 1;
    else beforeSeq = stretch.afterSeq + 1;
    return beforeSeq - afterSeq <= 1;
  });
  return { ...place, afterSeq, beforeSeq, offset };
}

async function readPage(
  tx: ReadTx,
  { service, actor }: ParticipantCall,
  { conversationId, limit, offset, order }: Input<'messages.list'>,
  place: PagePlace,
): Promise<Output<'messages.list'>> {
  const notes = canReadNotes(actor);
  const { afterSeq, beforeSeq } = place;
  const rows = await tx.repositories.messages.page({
    conversationId,
    notes,
    order: place.order,
    afterSeq,
    beforeSeq,
    limit,
    offset: place.offset,
  });
  const messages = rows.map((row) => serializeMessage(row, service, notes));
  return { messages: order === place.order ? messages : messages.toReversed(), limit, offset };
}

/**
 * How many messages of staff the visitor has not read.
 * @throws ServiceError not_found
 * @throws QueueFullError when too many long counts wait already
 */
export async function countUnread(
  call: VisitorCall,
  { conversationId }: Input<'conversations.unread'>,
): Promise<Output<'conversations.unread'>> {
  const { service, actor } = call;
  let unreadCount = 0;
  let afterSeq = 0;
  /** Counts the next of them, and says whether those were the last. */
  const countSome = async ({ repositories: { messages } }: ReadTx, lastSeq: number): Promise<boolean> => {
    const beforeSeq = Math.min(lastSeq, afterSeq + messagesAtOnce) + 1;
    unreadCount += await messages.countOfStaff({ conversationId, afterSeq, beforeSeq });
    afterSeq = beforeSeq - 1;
    return afterSeq >= lastSeq;
  };
  const { conversation, isOver } = await service.engine.store.read(async (tx) => {
    const found = await accessConversation(tx, actor, conversationId);
    const reader = await tx.repositories.participants.get(found.id, actor.visitorId);
    unreadCount = 0;
    afterSeq = reader?.last_read_seq ?? 0;
    return { conversation: found, isOver: await countSome(tx, found.last_seq) };
  });
  if (!isOver)
    await readInSlices(call, conversation.organization_id, (tx) => countSome(tx, conversation.last_seq));
  return { unreadCount };
}
