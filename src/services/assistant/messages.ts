// What the assistant writes into conversations, and when it falls silent there: inside the transaction of the act that
// calls, from rows as they are now. Asks no model and finds nothing.
import type { ApplicationSettings } from '../../protocol/application-settings.ts';
import type { AiChoice } from '../../protocol/entities.ts';
import { sizeLimits } from '../../protocol/codes.ts';
import type { ConversationWithVisitor, MessageRow } from '../../engine/rows.ts';
import { markdownToLexical, plainLexical } from '../../text/markdown.ts';
import { recordAi } from './log.ts';
import { getPhrases } from './phrases.ts';
import { appendMessage, type MessageContent } from '../chat/append-message.ts';
import { prepareContent } from '../content/content.ts';
import { organizationQuotas } from '../tenants/quotas.ts';
import type { ReadTx, Service, Tx } from '../service.ts';
import { readSettings } from '../tenants/settings.ts';

/** A text as the assistant's message. @throws Error for one that shows nothing */
export function plainContent(text: string): MessageContent {
  const content = toContent(plainLexical(text));
  if (content === null) throw new Error('The assistant has nothing to say.');
  return content;
}

/** Markdown as the assistant's message; where that would be longer than a message may be, as much of its text as fits. */
export async function markdownContent(markdown: string): Promise<MessageContent> {
  const content = toContent(await markdownToLexical(markdown));
  return content ?? plainContent(markdown.slice(0, sizeLimits.contentRest).toWellFormed());
}

function toContent(lexical: string): MessageContent | null {
  const prepared = prepareContent(lexical, 'lexical', sizeLimits.contentSocket);
  if (!prepared.ok) return null;
  const { content, contentFormat, contentHtml, text } = prepared.value;
  return { content, content_format: contentFormat, content_html: contentHtml, content_text: text };
}

/** The settings of an application that answers by itself; null: it does not, by its setting or its plan. */
export async function getAutoReplySettings(
  tx: ReadTx,
  applicationId: string,
): Promise<ApplicationSettings | null> {
  const application = await tx.repositories.applications.byId(applicationId);
  if (application === undefined) return null;
  const settings = readSettings(application);
  if (settings.ai.mode !== 'auto') return null;
  const organization = await tx.repositories.organizations.byId(application.organization_id);
  return organization !== undefined && organizationQuotas(organization).ai ? settings : null;
}

/**
 * Appends a message of the assistant. The visitor keeps waiting: only a person's answer ends the waiting time.
 * @param name from the application's settings
 * @param answered the visitor's message; each is answered once
 */
export async function postAssistantMessage(
  tx: Tx,
  service: Service,
  conversation: ConversationWithVisitor,
  name: string,
  answered: string,
  content: MessageContent,
  choices?: readonly AiChoice[],
): Promise<void> {
  const sender = {
    id: conversation.application_id,
    role: 'assistant',
    label: name,
    memberName: null,
  } as const;
  await appendMessage(tx, service, conversation, sender, content, {
    clientMessageId: `ai:${answered}`,
    choices,
  });
}

/**
 * The visitor asks for a person: the assistant says so once and then nothing more. Where a person has the conversation
 * already, or it is closed, there is nothing to do; where nothing answers by itself, it is only remembered.
 * @param conversation as it is after the message
 * @param message the visitor's
 */
export async function handOffToHuman(
  tx: Tx,
  service: Service,
  conversation: ConversationWithVisitor,
  message: Pick<MessageRow, 'id' | 'content' | 'content_text'>,
): Promise<void> {
  if (conversation.status !== 'pending') return;
  if ((await tx.repositories.conversations.muteAssistant(conversation.id, service.engine.clock.now())) === 0)
    return;
  const settings = await getAutoReplySettings(tx, conversation.application_id);
  if (settings === null) return;
  const text = message.content_text ?? message.content;
  const { person } = getPhrases(settings.locale, text);
  await recordAi(tx, service, {
    ...autoReplyRecord(conversation, message.id),
    question: text,
    answer: person,
    outcome: 'person',
    model: null,
    durationMs: 0,
  });
  await postAssistantMessage(tx, service, conversation, settings.ai.name, message.id, plainContent(person));
}

/** What the log says of every automatic answer. @param messageId the visitor's message */
export function autoReplyRecord(conversation: ConversationWithVisitor, messageId: string) {
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
