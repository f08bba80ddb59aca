// What the assistant writes into conversations, and when it falls silent there: inside the transaction of whoever
// calls, from rows as they are now. Asks no model and finds nothing.
import type { ApplicationSettings } from '../../protocol/entities.ts';
import { limits } from '../../protocol/codes.ts';
import type { ConversationWithVisitor, MessageRow, MessageWithSender } from '../../engine/rows.ts';
import { markdownToLexical, plainLexical } from '../../text/markdown.ts';
import { recordAi } from './log.ts';
import { phrasesFor } from './phrases.ts';
import { messageAudience } from '../audience.ts';
import { prepareContent } from '../content/content.ts';
import { organizationLimits } from '../plans.ts';
import { presentActivity, presentSocketMessage } from '../present.ts';
import type { ReadTx, Service, Tx } from '../service.ts';
import { readSettings } from '../settings.ts';

/** The columns of a message's content. */
export type AssistantContent = Pick<MessageRow, 'content' | 'content_format' | 'content_html' | 'content_text'>;

/** A text as the assistant's message. @throws Error for one that shows nothing */
export function plainContent(text: string): AssistantContent {
  const content = contentOf(plainLexical(text));
  if (content === null) throw new Error('The assistant has nothing to say.');
  return content;
}

/** Markdown as the assistant's message; where that would be longer than a message may be, as much of its text as fits. */
export async function markdownContent(markdown: string): Promise<AssistantContent> {
  const content = contentOf(await markdownToLexical(markdown));
  return content ?? plainContent(markdown.slice(0, limits.contentRest).toWellFormed());
}

function contentOf(lexical: string): AssistantContent | null {
  const prepared = prepareContent(lexical, 'lexical', limits.contentSocket);
  if (!prepared.ok) return null;
  const { content, contentFormat, contentHtml, text } = prepared.value;
  return { content, content_format: contentFormat, content_html: contentHtml, content_text: text };
}

/** The settings of an application that answers by itself; null: it does not, by its setting or its plan. */
export async function automaticSettings(tx: ReadTx, applicationId: string): Promise<ApplicationSettings | null> {
  const application = await tx.tables.applications.byId(applicationId);
  if (application === undefined) return null;
  const settings = readSettings(application);
  if (settings.ai.mode !== 'auto') return null;
  const organization = await tx.tables.organizations.byId(application.organization_id);
  return organization !== undefined && organizationLimits(organization).ai ? settings : null;
}

/**
 * Stores a message of the assistant and tells the room. Whoever waits keeps waiting: only a person answers for good, so
 * neither status nor waiting time nor first response change.
 * @param name from the application's settings
 * @param answered the visitor's message; each is answered once
 */
export async function postAssistantMessage(
  tx: Tx,
  { engine: { clock } }: Service,
  conversation: ConversationWithVisitor,
  name: string,
  answered: string,
  content: AssistantContent,
): Promise<void> {
  const now = clock.now();
  const seq = conversation.last_seq + 1;
  const row: MessageRow = {
    id: clock.newId(),
    conversation_id: conversation.id,
    organization_id: conversation.organization_id,
    seq,
    changed_seq: seq,
    sender_id: conversation.application_id,
    sender_role: 'assistant',
    sender_label: name,
    ...content,
    internal: 0,
    client_message_id: `ai:${answered}`,
    created_at: now,
    edited_at: null,
    deleted_at: null,
  };
  if ((await tx.tables.messages.insert(row)) === 0) return;
  const { id, waiting_since, first_response_at } = conversation;
  const changed = { id, last_seq: seq, waiting_since, first_response_at, updated_at: now };
  await tx.tables.conversations.afterMessage(changed);
  const stored: MessageWithSender = { ...row, visitor_name: conversation.visitor_name, member_name: null };
  await tx.emit({
    organization_id: conversation.organization_id,
    conversation_id: conversation.id,
    mode: conversation.mode,
    type: 'message:new',
    audience: messageAudience(row),
    actor_id: row.sender_id,
    message_id: row.id,
    member_id: null,
    payload: presentSocketMessage(stored),
    activity: presentActivity(row, changed),
  });
}

/**
 * The visitor asks for a person: the assistant says so once and then nothing more. Where a person has the conversation
 * already, or it is closed, there is nothing to do; where nothing answers by itself, it is only remembered.
 * @param conversation as it is after the message
 * @param message the visitor's
 */
export async function leaveToPerson(
  tx: Tx,
  service: Service,
  conversation: ConversationWithVisitor,
  message: Pick<MessageRow, 'id' | 'content' | 'content_text'>,
): Promise<void> {
  if (conversation.status !== 'pending') return;
  if ((await tx.tables.conversations.muteAssistant(conversation.id, service.engine.clock.now())) === 0) return;
  const settings = await automaticSettings(tx, conversation.application_id);
  if (settings === null) return;
  const text = message.content_text ?? message.content;
  const { person } = phrasesFor(settings.locale, text);
  await recordAi(tx, service, {
    ...automaticRecord(conversation, message.id),
    question: text,
    answer: person,
    outcome: 'person',
    model: null,
    durationMs: 0,
  });
  await postAssistantMessage(tx, service, conversation, settings.ai.name, message.id, plainContent(person));
}

/** What the log says of every automatic answer. @param messageId the visitor's message */
export function automaticRecord(conversation: ConversationWithVisitor, messageId: string) {
  return {
    id: messageId,
    organizationId: conversation.organization_id,
    applicationId: conversation.application_id,
    visitorKey: conversation.visitor_key,
    conversationId: conversation.id,
    mode: conversation.mode,
    door: 'auto',
    actor: `visitor:${conversation.application_id}`,
  } as const;
}
