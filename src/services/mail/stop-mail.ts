// The end of mails, by a link in one of them: of a conversation, or of everything that an organization sends.
import type { Input } from '../../protocol/operations.ts';
import type { ConversationWithVisitor } from '../../engine/rows.ts';
import { notFound } from '../core/errors.ts';
import type { AnonymousCall, ReadTx, Service } from '../service.ts';
import { markAddress, wantsNoMail } from './mail-addresses.ts';
import { readToken, tokenHolds } from './reply-token.ts';

/** What a link is about: its conversation, and the address to which the mail with it went. */
interface Stopped {
  readonly conversation: ConversationWithVisitor;
  readonly address: string;
}

/**
 * What a link's token is about. It speaks for the address of its mail alone: who has another one by now can't end the
 * mails to that with it.
 * @throws ServiceError not_found
 */
async function stoppedBy(tx: ReadTx, service: Service, text: string): Promise<Stopped> {
  const token = readToken(text);
  const { conversations, visitors } = tx.repositories;
  const conversation = token === null ? undefined : await conversations.byId(token.id);
  if (token === null || conversation === undefined) throw notFound('link');
  const { application_id, mode, visitor_id } = conversation;
  const address = (await visitors.byVisitorId(application_id, mode, visitor_id))?.email ?? '';
  if (!tokenHolds(service, 'stop', token, conversation, address)) throw notFound('link');
  return { conversation, address };
}

async function isStopped(
  tx: ReadTx,
  service: Service,
  { conversation, address }: Stopped,
  scope: Input<'email.stop'>['scope'],
): Promise<boolean> {
  if (conversation.mail_stopped_at === null) return false;
  return scope !== 'address' || (await wantsNoMail(tx, service, conversation.organization_id, address));
}

/**
 * Ends mails. Twice is once, and the second time writes nothing: no limit counts who opens a link again and again.
 * @throws ServiceError not_found for a link that was not made here, whose conversation is gone, or whose address is the
 * visitor's no more
 */
export async function stopMail(
  { service }: AnonymousCall,
  { token, scope }: Input<'email.stop'>,
): Promise<{ success: true }> {
  const { store, clock } = service.engine;
  const { conversation, isDone } = await store.read(async (tx) => {
    const stopped = await stoppedBy(tx, service, token);
    return { ...stopped, isDone: await isStopped(tx, service, stopped, scope) };
  });
  if (isDone) return { success: true };
  const { organization_id: organization, id } = conversation;
  await store.write({ organization }, async (tx) => {
    const { address } = await stoppedBy(tx, service, token);
    await tx.repositories.conversations.stopMail(id, clock.now());
    if (scope === 'address') await markAddress(tx, service, organization, address, 'stopped');
  });
  return { success: true };
}
