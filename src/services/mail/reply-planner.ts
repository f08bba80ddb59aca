// Which answers of staff have a row of the outbox: of each conversation one that waits, because a mail takes along all
// that is unread when it goes. What is written while it waits has none of its own, and costs the one who sends nothing.
import type { EventRow, MessageWithSender } from '../../engine/rows.ts';
import { isVisitorId } from '../core/actor.ts';
import type { EffectPlanner, NewEffect } from '../outbox/effects.ts';
import type { ReadTx, Service } from '../service.ts';
import { readMailFacts, whyNotMailed, type MailFacts } from './mail-facts.ts';

/** More conversations than these are looked up again. */
const maxCovered = 20_000;

/**
 * Conversations that have a row which has not chosen its messages yet: what is written in them goes with it, or gets a row
 * when it ends. A memory of this process, which plans and sends; rows decide where it knows nothing.
 */
export class CoveredConversations {
  readonly #covered = new Set<string>();
  /** Those whose row is choosing or ending: for them the rows are asked. */
  readonly #open = new Set<string>();

  has(conversationId: string): boolean {
    return this.#covered.has(conversationId);
  }

  /** Notes that a row waits. */
  cover(conversationId: string): void {
    if (this.#open.has(conversationId)) return;
    if (this.#covered.size >= maxCovered) this.#covered.clear();
    this.#covered.add(conversationId);
  }

  /** Called before a row chooses: who comes from now on asks the rows. */
  open(conversationId: string): void {
    this.#covered.delete(conversationId);
    this.#open.add(conversationId);
  }

  /** Called when what a row has chosen is stored, or when there is none any more. */
  close(conversationId: string): void {
    this.#open.delete(conversationId);
  }

  clear(): void {
    this.#covered.clear();
  }
}

/** Plans a mail for answers of staff, where there is a mail server. */
export function createReplyPlanner(service: Service, covered: CoveredConversations): EffectPlanner {
  let ownServers: ReadonlySet<string> = new Set();
  const serverWide = service.settings.mail.smtpUrl() !== null;
  return {
    refresh: async ({ repositories }) => {
      covered.clear();
      ownServers = new Set(await repositories.mail.organizationsWithServer());
    },
    wants: ({ type, mode, audience, actor_id: actor, organization_id: organization, conversation_id: id }) =>
      type === 'message:new' &&
      mode === 'live' &&
      audience === 'room' &&
      (serverWide || ownServers.has(organization)) &&
      !covered.has(id) &&
      !isVisitorId(actor),
    plan: (tx, event) => planReply(tx, event, covered),
  };
}

async function planReply(
  tx: ReadTx,
  event: EventRow,
  covered: CoveredConversations,
): Promise<readonly NewEffect[]> {
  const message =
    event.message_id === null ? undefined : await tx.repositories.messages.byId(event.message_id);
  if (message?.sender_role !== 'operator' || message.internal === 1 || message.deleted_at !== null) return [];
  const facts = await readMailFacts(tx, message.conversation_id);
  if (facts === null || facts.address === null || whyNotMailed(facts) !== null) return [];
  if (await tx.repositories.effects.waitsUnclaimed('mail', 'reply', message.conversation_id)) {
    covered.cover(message.conversation_id);
    return [];
  }
  covered.close(message.conversation_id);
  return [replyEffect(facts, message)];
}

/** For how long an answer may be read before it is mailed, ms. A visitor who wrote by mail waits for a mail. */
export function replyDelayMs({
  conversation,
  settings,
}: Pick<MailFacts, 'conversation' | 'settings'>): number {
  return conversation.channel === 'email' ? 0 : settings.email.afterMinutes * 60_000;
}

/** The row of the mail that an answer begins. */
export function replyEffect(
  facts: MailFacts,
  { id, created_at: createdAt }: Pick<MessageWithSender, 'id' | 'created_at'>,
): NewEffect {
  const { conversation, address } = facts;
  return {
    kind: 'mail',
    key: `reply:${id}`,
    about: 'reply',
    organizationId: conversation.organization_id,
    conversationId: conversation.id,
    messageId: id,
    recipient: address ?? undefined,
    dueAt: createdAt + replyDelayMs(facts),
  };
}
