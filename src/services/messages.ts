// The rules of messages: send, list, edit, delete. Order is the conversation's own
// sequence; a message is its sender's to change for 15 minutes; deleting is soft.
import { limits } from '../protocol/codes.ts';
import type { ContentFormat } from '../protocol/entities.ts';
import type { Input, Output } from '../protocol/operations.ts';
import type { ConversationWithVisitor, MessageRow, MessageWithSender } from '../engine/rows.ts';
import { accessConversation, accessMessage, placeOfMessage } from './access.ts';
import { userId, type MemberActor, type VisitorActor } from './actor.ts';
import { leaveToPerson } from './assistant/messages.ts';
import { messageAudience } from './audience.ts';
import { prepareContent } from './content/content.ts';
import { badField, Failure } from './failure.ts';
import { isoTime, presentActivity, presentEdited, presentMessage, presentSentMessage, presentSocketMessage } from './present.ts';
import type { ParticipantCall, ReadTx, Tx } from './service.ts';

/** Content that has been checked and rendered: made outside the transaction, because it costs time. */
export interface PreparedContent {
  readonly content: string;
  readonly content_format: ContentFormat;
  readonly content_html: string | null;
  readonly content_text: string | null;
}

/**
 * Checks and renders content once, when it is stored or edited.
 * @throws Failure bad_request
 */
export function prepareMessage(call: ParticipantCall, input: { content: string; contentFormat: ContentFormat }): PreparedContent {
  const prepared = prepareContent(input.content, input.contentFormat, call.contentLimit);
  if (!prepared.ok)
    throw new Failure('bad_request', `The ${prepared.problem}`, { details: [{ path: prepared.path, message: prepared.problem }] });
  const { content, contentFormat, contentHtml, text } = prepared.value;
  return {
    content,
    content_format: contentFormat,
    content_html: contentHtml,
    content_text: contentFormat === 'plain' ? null : text,
  };
}

interface Sending {
  readonly conversationId: string;
  readonly clientMessageId?: string | undefined;
  readonly internal?: boolean;
  /** The visitor asks for a person. */
  readonly person?: boolean | undefined;
}

/**
 * Stores a message and tells the room. The same client id again answers the first message and stores nothing.
 * @throws Failure not_found, forbidden, conversation_not_active
 */
export async function sendMessage(
  tx: Tx,
  call: ParticipantCall,
  input: Sending,
  content: PreparedContent,
): Promise<Output<'messages.send'>> {
  const { actor } = call;
  const conversation = await accessConversation(tx, actor, input.conversationId);
  const internal = input.internal === true;
  if (conversation.status === 'closed' || !maySend(actor, conversation, internal)) {
    // A retry of what was stored before the conversation changed hands is still that message.
    const earlier = await earlierMessage(tx, call, input);
    if (earlier !== undefined) return { message: presentSentMessage(earlier) };
    throw conversation.status === 'closed' ? notActive() : notAssigned();
  }
  const now = call.service.engine.clock.now();
  const seq = conversation.last_seq + 1;
  const row: MessageRow = {
    id: call.service.engine.clock.newId(),
    conversation_id: conversation.id,
    organization_id: conversation.organization_id,
    seq,
    changed_seq: seq,
    sender_id: userId(actor),
    sender_role: actor.kind === 'visitor' ? 'visitor' : 'operator',
    sender_label: null,
    ...content,
    internal: internal ? 1 : 0,
    client_message_id: input.clientMessageId ?? null,
    created_at: now,
    edited_at: null,
    deleted_at: null,
  };
  if ((await tx.tables.messages.insert(row)) === 0) {
    const earlier = await earlierMessage(tx, call, input);
    if (earlier === undefined) throw new Error('A message was refused as a repetition, and there is no first one.');
    return { message: presentSentMessage(earlier) };
  }
  const changed = afterMessage(conversation, actor, internal, seq, now);
  await tx.tables.conversations.afterMessage(changed);
  const stored: MessageWithSender = {
    ...row,
    visitor_name: conversation.visitor_name,
    member_name: actor.kind === 'member' ? actor.name : null,
  };
  await tx.emit({
    ...eventBase(conversation, actor),
    type: 'message:new',
    audience: messageAudience(row),
    message_id: row.id,
    payload: presentSocketMessage(stored),
    activity: presentActivity(row, changed),
    originConnection: call.connectionId,
  });
  if (actor.kind === 'visitor' && input.person === true) await leaveToPerson(tx, call.service, { ...conversation, ...changed }, row);
  return { message: presentSentMessage(stored) };
}

/** An operator sends in what is assigned to them; notes, which no visitor sees, anywhere in the organization. */
function maySend(actor: VisitorActor | MemberActor, conversation: ConversationWithVisitor, internal: boolean): boolean {
  return actor.kind === 'visitor' || internal || conversation.assigned_to === actor.memberId;
}

function notActive(): Failure {
  return new Failure('conversation_not_active', 'The conversation is closed. Start a new one to write again.', { about: 'conversation' });
}

function notAssigned(): Failure {
  return new Failure('forbidden', 'The conversation is not assigned to you. Accept it, or have it transferred to you, to answer.', {
    about: 'conversation',
  });
}

async function earlierMessage(tx: ReadTx, { actor }: ParticipantCall, input: Sending): Promise<MessageWithSender | undefined> {
  if (input.clientMessageId === undefined) return undefined;
  return tx.tables.messages.byClientId(input.conversationId, userId(actor), input.clientMessageId);
}

/** What a message changes about its conversation. A note changes nothing that a visitor could notice. */
function afterMessage(
  conversation: ConversationWithVisitor,
  actor: VisitorActor | MemberActor,
  internal: boolean,
  seq: number,
  now: number,
) {
  const { id, waiting_since, first_response_at, updated_at } = conversation;
  if (internal) return { id, last_seq: seq, waiting_since, first_response_at, updated_at };
  return actor.kind === 'visitor'
    ? { id, last_seq: seq, waiting_since: waiting_since ?? now, first_response_at, updated_at: now }
    : { id, last_seq: seq, waiting_since: null, first_response_at: first_response_at ?? now, updated_at: now };
}

/** The columns that every event of a conversation has. */
export function eventBase(conversation: ConversationWithVisitor, actor: VisitorActor | MemberActor) {
  return {
    organization_id: conversation.organization_id,
    conversation_id: conversation.id,
    mode: conversation.mode,
    actor_id: userId(actor),
    message_id: null,
    member_id: null,
  };
}

/**
 * A page of history in the one order of the conversation.
 * @throws Failure not_found; bad_request for an unknown `after` or `before`
 */
export async function listMessages(tx: ReadTx, call: ParticipantCall, input: Input<'messages.list'>): Promise<Output<'messages.list'>> {
  const { conversationId, limit, offset, order } = input;
  await accessConversation(tx, call.actor, conversationId);
  const position = async (field: 'after' | 'before'): Promise<number | undefined> => {
    const id = input[field];
    if (id === undefined) return undefined;
    const place = await placeOfMessage(tx, call.actor, conversationId, id);
    if (place === undefined) throw badField(field, 'must be the id of a message of this conversation');
    return place.seq;
  };
  if (input.after !== undefined && input.before !== undefined) throw badField('before', "can't be combined with after");
  const rows = await tx.tables.messages.page({
    conversationId,
    notes: call.actor.kind === 'member',
    order,
    afterSeq: await position('after'),
    beforeSeq: await position('before'),
    limit,
    offset,
  });
  return { messages: rows.map(presentMessage), limit, offset };
}

/**
 * Changes one's own message within 15 minutes.
 * @throws Failure not_found, forbidden, edit_window_expired
 */
export async function editMessage(
  tx: Tx,
  call: ParticipantCall,
  input: { conversationId: string; messageId: string },
  content: PreparedContent,
): Promise<Output<'messages.edit'>> {
  const { conversation, message, now } = await accessOwnMessage(tx, call, input);
  const seq = conversation.last_seq + 1;
  await tx.tables.messages.edit({ id: message.id, changed_seq: seq, edited_at: now, ...content });
  await tx.tables.conversations.setLastSeq({ id: conversation.id, last_seq: seq, updated_at: updatedAt(conversation, message, now) });
  const edited: MessageWithSender = { ...message, ...content, changed_seq: seq, edited_at: now };
  await tx.emit({
    ...eventBase(conversation, call.actor),
    type: 'message:edited',
    audience: messageAudience(message),
    message_id: message.id,
    payload: presentEdited(edited),
  });
  return { message: presentMessage(edited) };
}

/**
 * Deletes one's own message within 15 minutes: the text is gone at once, its place stays.
 * @throws Failure not_found, forbidden, edit_window_expired
 */
export async function deleteMessage(
  tx: Tx,
  call: ParticipantCall,
  input: { conversationId: string; messageId: string },
): Promise<{ success: true }> {
  const { conversation, message, now } = await accessOwnMessage(tx, call, input);
  const seq = conversation.last_seq + 1;
  await tx.tables.messages.remove(message.id, seq, now);
  await tx.tables.search.remove(message.id);
  // What the assistant was asked may have been this message.
  if (message.sender_role === 'visitor') await tx.tables.aiLog.blank(conversation.id, message.created_at);
  await tx.tables.conversations.setLastSeq({ id: conversation.id, last_seq: seq, updated_at: updatedAt(conversation, message, now) });
  await tx.emit({
    ...eventBase(conversation, call.actor),
    type: 'message:deleted',
    audience: messageAudience(message),
    message_id: message.id,
    payload: { conversationId: conversation.id, messageId: message.id, senderId: message.sender_id },
  });
  return { success: true };
}

/** Sender first, then the window: somebody else's message is forbidden however young it is. */
async function accessOwnMessage(tx: Tx, call: ParticipantCall, input: { conversationId: string; messageId: string }) {
  const conversation = await accessConversation(tx, call.actor, input.conversationId);
  const message = await accessMessage(tx, call.actor, conversation.id, input.messageId);
  if (message.sender_id !== userId(call.actor))
    throw new Failure('forbidden', 'Only its sender may edit or delete a message.', { about: 'message' });
  const now = call.service.engine.clock.now();
  const ends = message.created_at + limits.editWindowMs;
  if (now > ends)
    throw new Failure('edit_window_expired', `Message ${message.id} could be edited or deleted until ${isoTime(ends)}.`, {
      about: 'message',
    });
  return { conversation, message, now };
}

function updatedAt(conversation: ConversationWithVisitor, message: MessageRow, now: number): number {
  return message.internal === 1 ? conversation.updated_at : now;
}
