// What a mail of a conversation depends on, read from the rows as they are.
import type { ConversationWithVisitor } from '../../engine/rows.ts';
import type { ApplicationSettings } from '../../protocol/application-settings.ts';
import { readVerifiedFields } from '../core/serializers.ts';
import type { ReadTx, Service } from '../service.ts';
import { readSettings } from '../tenants/settings.ts';
import { mailVisitorId } from './mail-addresses.ts';

/** What a mail of a conversation depends on. */
export interface MailFacts {
  readonly conversation: ConversationWithVisitor;
  readonly settings: ApplicationSettings;
  readonly applicationName: string;
  /** The visitor's address; null: none is known. */
  readonly address: string | null;
  readonly addressVerified: boolean;
}

/** @returns null where the conversation is not there any more */
export async function readMailFacts(
  { repositories }: ReadTx,
  conversationId: string,
): Promise<MailFacts | null> {
  const conversation = await repositories.conversations.byId(conversationId);
  if (conversation === undefined) return null;
  const { application_id, mode, visitor_id } = conversation;
  const application = await repositories.applications.byId(application_id);
  const visitor = await repositories.visitors.byVisitorId(application_id, mode, visitor_id);
  if (application === undefined || visitor === undefined) return null;
  return {
    conversation,
    settings: readSettings(application),
    applicationName: application.name,
    address: visitor.email,
    addressVerified: visitor.verified === 1 && readVerifiedFields(visitor).includes('email'),
  };
}

/**
 * Whether what the visitor wrote may go to their address: it was proven, or their mails to an inbox come from it. A
 * visitor of a page who answered by mail may have named another address since.
 */
export function isOwnAddress(
  service: Pick<Service, 'secrets'>,
  { conversation, address, addressVerified }: MailFacts,
): boolean {
  const { channel, continues, application_id: application, visitor_id: visitor } = conversation;
  return (
    addressVerified ||
    // No page speaks for who began a conversation by mail, nor for who has the id of the address.
    (channel === 'email' && continues === null) ||
    (address !== null && visitor === mailVisitorId(service, application, address))
  );
}

/**
 * Why no mails of a conversation go to its visitor; null: they go.
 * @param askedByOwner whether the address was proven and its owner asks for this one: who wants no mails of their own
 * accord may still ask
 */
export function whyNotMailed(
  { conversation, settings }: Pick<MailFacts, 'conversation' | 'settings'>,
  askedByOwner = false,
): string | null {
  if (conversation.mode !== 'live') return 'test data is not mailed';
  if (settings.email.mode === 'off') return 'mail is switched off for this application';
  return conversation.mail_stopped_at === null || askedByOwner
    ? null
    : 'the visitor wants no mails of this conversation';
}
