// Reports that a mail could not be delivered: each proves, by the return path that it comes back to, which mail it is about,
// and speaks for the address that this mail went to. What a report says of itself decides nothing.
import type { ConversationWithVisitor, EffectRow } from '../../../engine/rows.ts';
import type { ReadTx, Service } from '../../service.ts';
import { markAddress } from '../mail-addresses.ts';
import { claimedMessages, setEmailed } from '../reply-mail.ts';
import { reportTokenHolds, type ReadToken } from '../reply-token.ts';

/** A mail of ours, found by the return path that it went out with. */
export interface ReportedMail {
  readonly effect: EffectRow;
  readonly recipient: string;
  readonly conversation: ConversationWithVisitor;
}

/** @returns null: no mail went out with this token in its return path, or it is forgotten by now */
export async function findReportedMail(
  { repositories }: ReadTx,
  service: Service,
  token: ReadToken,
): Promise<ReportedMail | null> {
  const effect = await repositories.effects.byId(token.id);
  if (effect?.kind !== 'mail' || effect.recipient === null || effect.conversation_id === null) return null;
  const { recipient } = effect;
  if (!reportTokenHolds(service, token, effect, recipient)) return null;
  const conversation = await repositories.conversations.byId(effect.conversation_id);
  return conversation === undefined ? null : { effect, recipient, conversation };
}

/** The address takes no mails for a while, and staff see which messages came back. */
export function noteBounce(
  service: Service,
  { effect, recipient, conversation }: ReportedMail,
): Promise<{ state: 'bounce-noted'; conversationId: string }> {
  const { organization_id: organization, id } = conversation;
  return service.engine.store.write({ organization }, async (tx) => {
    await markAddress(tx, service, organization, recipient, 'bounced');
    for (const messageId of claimedMessages(effect))
      if ((await tx.repositories.messages.byId(messageId))?.emailed === 'sent')
        await setEmailed(tx, service, conversation, messageId, 'bounced');
    return { state: 'bounce-noted', conversationId: id };
  });
}
