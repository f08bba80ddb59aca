// The one writer of messages. Visitors, members and the assistant append through this function: the row, its
// place in the conversation, what the message changes about the conversation, and the event.
import { whenReady, type Soon } from '../../engine/engine.ts';
import type { NewMessage } from '../../engine/repositories/messages.ts';
import type { ConversationWithVisitor, FileRow, MessageRow, MessageWithSender } from '../../engine/rows.ts';
import type { AiChoice, SenderRole, SentMessage } from '../../protocol/entities.ts';
import { messageAudience } from '../core/audience.ts';
import { serializeActivity, serializeSentMessage } from '../core/serializers.ts';
import type { Service, Tx } from '../service.ts';
import { attachFiles } from '../files/attach.ts';
import { storeAttachments } from '../files/links.ts';
import { conversationEvent, wakeConversation } from './conversation-events.ts';

/** Content that was checked and rendered before the transaction, because that takes time. */
export type MessageContent = Pick<MessageRow, 'content' | 'content_format' | 'content_html' | 'content_text'>;

export interface MessageSender {
  readonly id: string;
  readonly role: SenderRole;
  /** The name of a sender that is neither a visitor nor a member; null for those, whose names are in their rows. */
  readonly label: string | null;
  /** A member's name; null for others. */
  readonly memberName: string | null;
}

export interface AppendOptions {
  /** An internal note: for staff only. Changes nothing that a visitor could notice. */
  readonly internal?: boolean;
  /** A message with the same id of the same sender is stored once. */
  readonly clientMessageId?: string | undefined;
  /** The connection that sent it: it does not receive its own message. */
  readonly connectionId?: string | undefined;
  /** What an assistant's message offers. */
  readonly choices?: readonly AiChoice[] | undefined;
  /** The passage that a visitor's message chooses. */
  readonly choice?: string | undefined;
  /** Files that the sender may send, as `readOwnFiles` has found them. */
  readonly files?: readonly FileRow[] | undefined;
  /** It came by a mail with this Message-ID; null: by one without. */
  readonly mail?: { readonly id: string | null } | undefined;
}

export interface AppendedMessage {
  readonly message: MessageWithSender;
  /** The message as the answer and the event carry it. */
  readonly sent: SentMessage;
  /** False when the message was stored before, under the same client id. */
  readonly isNew: boolean;
  /** The conversation after the message. */
  readonly conversation: ConversationWithVisitor;
}

/**
 * Stores a message at the end of its conversation and emits `message:new`. Whether the sender may write is the
 * caller's to check. A visitor's message starts the waiting time, a member's ends it and is the first response;
 * an assistant's changes neither, because only a person's answer counts.
 */
export function appendMessage(
  tx: Tx,
  service: Service,
  conversation: ConversationWithVisitor,
  sender: MessageSender,
  content: MessageContent,
  options: AppendOptions = {},
): Soon<AppendedMessage> {
  const { internal = false, clientMessageId, choices, choice, files = [], mail } = options;
  const { messages } = tx.repositories;
  const { clock } = service.engine;
  // One object from here to the answer, written out: every message comes this way.
  const message: MessageWithSender = {
    id: clock.newId(),
    conversation_id: conversation.id,
    organization_id: conversation.organization_id,
    // Its place is known once it is stored.
    seq: 0,
    changed_seq: 0,
    sender_id: sender.id,
    sender_role: sender.role,
    sender_label: sender.label,
    content: content.content,
    content_format: content.content_format,
    content_html: content.content_html,
    content_text: content.content_text,
    internal: internal ? 1 : 0,
    choices: choices === undefined ? null : JSON.stringify(choices),
    choice: choice ?? null,
    attachments: storeAttachments(files),
    client_message_id: clientMessageId ?? null,
    created_at: clock.now(),
    edited_at: null,
    deleted_at: null,
    via: mail === undefined ? null : 'email',
    mail_id: mail?.id ?? null,
    emailed: null,
    emailed_at: null,
    visitor_name: conversation.visitor_name,
    member_name: sender.memberName,
  };
  return whenReady(messages.append(message, internal ? 'note' : stepOf(sender.role)), (after) => {
    if (after === undefined) return readEarlier(tx, service, conversation, message);
    message.seq = after.last_seq;
    message.changed_seq = after.last_seq;
    return tellOf(tx, service, { message, before: conversation, after, sender, options });
  });
}

/** The message that was stored before, under the same client id. */
async function readEarlier(
  { repositories: { messages } }: Tx,
  service: Service,
  conversation: ConversationWithVisitor,
  { sender_id, client_message_id }: NewMessage,
): Promise<AppendedMessage> {
  const earlier = await messages.byClientId(conversation.id, sender_id, client_message_id ?? '');
  if (earlier === undefined) throw new Error('A message under the same client id is not there.');
  return { message: earlier, sent: serializeSentMessage(earlier, service), isNew: false, conversation };
}

interface Stored {
  readonly message: MessageWithSender;
  /** The conversation before the message, and after it. */
  readonly before: ConversationWithVisitor;
  readonly after: ConversationWithVisitor;
  readonly sender: MessageSender;
  readonly options: AppendOptions;
}

/** What belongs to a new message beside its row: its files, the mail that it came by, the event, the end of a snooze. */
function tellOf(
  tx: Tx,
  service: Service,
  { message, before, after, sender, options: { files = [], mail, connectionId } }: Stored,
): Soon<AppendedMessage> {
  const sent = serializeSentMessage(message, service);
  const appended: AppendedMessage = { message, sent, isNew: true, conversation: after };
  const wakes = before.snoozed_until !== null && sender.role === 'visitor';
  const emit = (): Soon<void> =>
    tx.emit({
      ...conversationEvent(before, sender.id),
      type: 'message:new',
      audience: messageAudience(message),
      message_id: message.id,
      payload: sent,
      activity: () => serializeActivity(message, after),
      originConnectionId: connectionId,
    });
  if (files.length === 0 && mail === undefined && !wakes) return whenReady(emit(), () => appended);
  const emitBetween = async (): Promise<AppendedMessage> => {
    await attachFiles(tx, message.id, files);
    if (mail !== undefined) await tx.repositories.messages.setVia(message.id, 'email', mail.id);
    await emit();
    if (wakes) await wakeConversation(tx, before, sender.id);
    return appended;
  };
  return emitBetween();
}

function stepOf(role: SenderRole): 'visitor' | 'operator' | 'other' {
  return role === 'visitor' || role === 'operator' ? role : 'other';
}
