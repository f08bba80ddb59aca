// The end of mails, by a link in one of them: of a conversation, or of everything that an organization sends.
import type { Input } from '../../protocol/operations.ts';
import type { ConversationWithVisitor } from '../../engine/rows.ts';
import { notFound } from '../core/errors.ts';
import type { AnonymousCall, ReadTx, Service } from '../service.ts';
import { markAddress } from './mail-addresses.ts';
import { readToken, tokenHolds } from './reply-token.ts';

/** The conversation of a link's token. @throws ServiceError not_found */
async function conversationOf(tx: ReadTx, service: Service, text: string): Promise<ConversationWithVisitor> {
  const token = readToken(text);
  const row = token === null ? undefined : await tx.repositories.conversations.byId(token.conversationId);
  if (token === null || row === undefined || !tokenHolds(service, 'stop', token, row)) throw notFound('link');
  return row;
}

/**
 * Ends mails. Twice is once.
 * @throws ServiceError not_found for a link that was not made here, or whose conversation is gone
 */
export async function stopMail(
  { service }: AnonymousCall,
  { token, scope }: Input<'email.stop'>,
): Promise<{ success: true }> {
  const { store, clock } = service.engine;
  const { organization_id: organization, id } = await store.read((tx) => conversationOf(tx, service, token));
  await store.write({ organization }, async (tx) => {
    const conversation = await conversationOf(tx, service, token);
    await tx.repositories.conversations.stopMail(id, clock.now());
    if (scope !== 'address') return;
    const { application_id, mode, visitor_id } = conversation;
    const visitor = await tx.repositories.visitors.byVisitorId(application_id, mode, visitor_id);
    if (visitor !== undefined && visitor.email !== null)
      await markAddress(tx, service, organization, visitor.email, 'stopped');
  });
  return { success: true };
}
