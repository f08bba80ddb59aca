// Handlers of messages: send, edit, delete. Order is the conversation's own sequence; only the sender may
// change a message, for 15 minutes; deleting is soft.
import { sizeLimits } from '../../protocol/codes.ts';
import type { ContentFormat, StaffContentFormat } from '../../protocol/entities.ts';
import type { Output } from '../../protocol/operations.ts';
import { whenReady, type Soon } from '../../engine/engine.ts';
import type { ConversationWithVisitor, FileRow, MessageRow, MessageWithSender } from '../../engine/rows.ts';
import { accessConversation, accessMessage } from '../core/access.ts';
import { userId, type MemberActor, type VisitorActor } from '../core/actor.ts';
import { handOffToHuman } from '../assistant/messages.ts';
import { canReadNotes, messageAudience } from '../core/audience.ts';
import { prepareContent } from '../content/content.ts';
import { ServiceError } from '../core/errors.ts';
import { keepFiles, readOwnFiles } from '../files/attach.ts';
import { isoTime, serializeEdited, serializeMessage, serializeSentMessage } from '../core/serializers.ts';
import { markdownToLexical } from '../../text/markdown.ts';
import type { MemberCall, ParticipantCall, ReadTx, Tx } from '../service.ts';
import { appendMessage, type MessageContent, type MessageSender } from './append-message.ts';
import { conversationEvent } from './conversation-events.ts';

/**
 * Checks and renders content once, when it is stored or edited.
 * @throws ServiceError bad_request
 */
export function prepareMessage(
  call: ParticipantCall,
  input: { content: string; contentFormat: ContentFormat },
): MessageContent {
  const prepared = prepareContent(input.content, input.contentFormat, call.contentLimit);
  if (!prepared.ok)
    throw new ServiceError('bad_request', `The ${prepared.problem}`, {
      details: [{ path: prepared.path, message: prepared.problem }],
    });
  const { content, contentFormat, contentHtml, text } = prepared.value;
  return {
    content,
    content_format: contentFormat,
    content_html: contentHtml,
    content_text: contentFormat === 'plain' ? null : text,
  };
}

/**
 * The same for what members write, where Markdown is a format too: it becomes `lexical`. Its length is the limit's,
 * whatever the length of the tree.
 * @throws ServiceError bad_request
 */
export function prepareStaffMessage(
  call: MemberCall,
  { content, contentFormat }: { content: string; contentFormat: StaffContentFormat },
): Soon<MessageContent> {
  return contentFormat === 'markdown'
    ? prepareMarkdown(call, content)
    : prepareMessage(call, { content, contentFormat });
}

async function prepareMarkdown(call: MemberCall, content: string): Promise<MessageContent> {
  // Checked as it was written, so that errors speak of what the member sees.
  prepareMessage(call, { content, contentFormat: 'plain' });
  const tree = await markdownToLexical(content.trim());
  const contentLimit = Math.max(call.contentLimit, sizeLimits.contentSocket);
  return prepareMessage({ ...call, contentLimit }, { content: tree, contentFormat: 'lexical' });
}

interface SendInput {
  readonly conversationId: string;
  readonly clientMessageId?: string | undefined;
  readonly internal?: boolean;
  /** The visitor asks for a human. */
  readonly person?: boolean | undefined;
  /** The passage that the visitor chooses among those that the assistant offered. */
  readonly choice?: string | undefined;
  /** Files to be sent with it. */
  readonly attachments?: readonly string[] | undefined;
}

/**
 * Stores a message and tells the room. The same client id again answers the first message and stores nothing.
 * @throws ServiceError not_found, forbidden, conversation_not_active
 */
export function sendMessage(
  tx: Tx,
  call: ParticipantCall,
  input: SendInput,
  content: MessageContent,
): Soon<Output<'messages.send'>> {
  const { actor } = call;
  const internal = input.internal === true;
  return whenReady(accessConversation(tx, actor, input.conversationId), (conversation) => {
    if (conversation.status === 'closed' || !maySend(actor, conversation, internal))
      return answerRetry(tx, call, input, conversation);
    const store = (files: readonly FileRow[]): Soon<Output<'messages.send'>> => {
      const appended = appendMessage(tx, call.service, conversation, senderOf(actor), content, {
        internal,
        clientMessageId: input.clientMessageId,
        connectionId: call.connectionId,
        choice: input.choice,
        files,
      });
      return whenReady(appended, ({ message, sent, isNew, conversation: after }) =>
        isNew && actor.kind === 'visitor' && input.person === true
          ? handOffToHuman(tx, call.service, after, message).then(() => ({ message: sent }))
          : { message: sent },
      );
    };
    const { attachments = [] } = input;
    return attachments.length === 0 ? store([]) : sendFiles(tx, call, input, attachments, store);
  });
}

/**
 * A retry of a message stored before the conversation was closed or reassigned answers that message.
 * @throws ServiceError conversation_not_active, forbidden
 */
async function answerRetry(
  tx: ReadTx,
  call: ParticipantCall,
  input: SendInput,
  { status }: ConversationWithVisitor,
): Promise<Output<'messages.send'>> {
  const earlier = await findDuplicate(tx, call, input);
  if (earlier !== undefined) return { message: serializeSentMessage(earlier, call.service) };
  throw status === 'closed' ? notActiveError(call.actor) : notAssignedError();
}

/**
 * Stores a message with files. Those of one that was stored before belong to it, and are no longer to be had.
 * @throws ServiceError bad_request
 */
async function sendFiles(
  tx: ReadTx,
  call: ParticipantCall,
  input: SendInput,
  ids: readonly string[],
  store: (files: readonly FileRow[]) => Soon<Output<'messages.send'>>,
): Promise<Output<'messages.send'>> {
  const earlier = await findDuplicate(tx, call, input);
  if (earlier !== undefined) return { message: serializeSentMessage(earlier, call.service) };
  return store(await readOwnFiles(tx, call.actor, ids));
}

function senderOf(actor: VisitorActor | MemberActor): MessageSender {
  return actor.kind === 'visitor'
    ? { id: actor.visitorId, role: 'visitor', label: null, memberName: null }
    : { id: actor.memberId, role: 'operator', label: null, memberName: actor.name };
}

/** An operator answers only in conversations assigned to them, and writes notes in any of the organization. */
function maySend(
  actor: VisitorActor | MemberActor,
  conversation: ConversationWithVisitor,
  internal: boolean,
): boolean {
  return actor.kind === 'visitor' || internal || conversation.assigned_to === actor.memberId;
}

function notActiveError({ kind }: VisitorActor | MemberActor): ServiceError {
  const remedy = kind === 'visitor' ? 'Start a new one' : 'Reopen it';
  return new ServiceError(
    'conversation_not_active',
    `The conversation is closed. ${remedy} to write again.`,
    { resource: 'conversation' },
  );
}

function notAssignedError(): ServiceError {
  return new ServiceError(
    'forbidden',
    'The conversation is not assigned to you. Accept it, or have it transferred to you, to answer.',
    {
      resource: 'conversation',
    },
  );
}

async function findDuplicate(
  tx: ReadTx,
  { actor }: ParticipantCall,
  input: SendInput,
): Promise<MessageWithSender | undefined> {
  if (input.clientMessageId === undefined) return undefined;
  return tx.repositories.messages.byClientId(input.conversationId, userId(actor), input.clientMessageId);
}

/**
 * Changes one's own message within 15 minutes.
 * @throws ServiceError not_found, forbidden, edit_window_expired
 */
export async function editMessage(
  tx: Tx,
  call: ParticipantCall,
  input: { conversationId: string; messageId: string; attachments?: readonly string[] | undefined },
  content: MessageContent,
): Promise<Output<'messages.edit'>> {
  const { conversation, message, now } = await accessOwnMessage(tx, call, input);
  const attachments = await keepFiles(tx, message, input.attachments);
  const seq = await nextChangeSeq(tx, message, now);
  const changed = { ...content, attachments, changed_seq: seq, edited_at: now };
  await tx.repositories.messages.edit({ id: message.id, ...changed });
  await blankAsked(tx, message);
  const edited: MessageWithSender = { ...message, ...changed };
  await tx.emit({
    ...conversationEvent(conversation, userId(call.actor)),
    type: 'message:edited',
    audience: messageAudience(message),
    message_id: message.id,
    payload: serializeEdited(edited, call.service),
  });
  return { message: serializeMessage(edited, call.service, canReadNotes(call.actor)) };
}

/**
 * Deletes one's own message within 15 minutes: the text is removed at once, the row keeps its place.
 * @throws ServiceError not_found, forbidden, edit_window_expired
 */
export async function deleteMessage(
  tx: Tx,
  call: ParticipantCall,
  input: { conversationId: string; messageId: string },
): Promise<{ success: true }> {
  const { conversation, message, now } = await accessOwnMessage(tx, call, input);
  const seq = await nextChangeSeq(tx, message, now);
  await tx.repositories.messages.remove(message.id, seq, now);
  await tx.repositories.files.removeOfMessage(message.id);
  await tx.repositories.search.remove(message.id);
  await blankAsked(tx, message);
  await tx.emit({
    ...conversationEvent(conversation, userId(call.actor)),
    type: 'message:deleted',
    audience: messageAudience(message),
    message_id: message.id,
    payload: { conversationId: conversation.id, messageId: message.id, senderId: message.sender_id },
  });
  return { success: true };
}

/** What the assistant was asked may have been this message: its words go from the assistant's log too. */
async function blankAsked(tx: Tx, message: MessageWithSender): Promise<void> {
  if (message.sender_role === 'visitor')
    await tx.repositories.aiLog.blank(message.conversation_id, message.created_at);
}

/**
 * Sender first, then the window: a message of another sender is forbidden however new it is. The window ends by the
 * newest time that the store has seen: a clock that is set back opens none again.
 */
async function accessOwnMessage(
  tx: Tx,
  call: ParticipantCall,
  input: { conversationId: string; messageId: string },
) {
  const conversation = await accessConversation(tx, call.actor, input.conversationId);
  const message = await accessMessage(tx, call.actor, conversation.id, input.messageId);
  if (message.sender_id !== userId(call.actor))
    throw new ServiceError('forbidden', 'Only its sender may edit or delete a message.', {
      resource: 'message',
    });
  const now = call.service.engine.clock.now();
  const ends = message.created_at + sizeLimits.editWindowMs;
  const newest = (await tx.repositories.retention.newestTime()) ?? now;
  if (Math.max(now, newest) > ends)
    throw new ServiceError(
      'edit_window_expired',
      `Message ${message.id} could be edited or deleted until ${isoTime(ends)}.`,
      {
        resource: 'message',
      },
    );
  return { conversation, message, now };
}

/** The place of an edit or a deletion in the conversation's sequence. One of a note is nothing a visitor could notice. */
async function nextChangeSeq(tx: Tx, message: MessageRow, now: number): Promise<number> {
  const { conversations } = tx.repositories;
  const changed = await conversations.advance(
    message.conversation_id,
    message.internal === 1 ? 'note' : 'other',
    now,
  );
  return changed.last_seq;
}
