// From what a list or a saved view asks for to what the store is asked. Holds what is left out by itself: snoozed
// conversations, unless the caller searches or looks at one visitor.
import type { Mode } from '../../protocol/entities.ts';
import type { ViewQuery } from '../../protocol/queue.ts';
import { goingApplication } from '../../engine/repositories/meta.ts';
import type { ConversationFilter } from '../../engine/repositories/conversations.ts';
import type { MemberCall, ReadTx } from '../service.ts';
import { tagIdsOf } from './tag-names.ts';

/** A question to the queue. `visitorOf` is a conversation: those of the same visitor. */
export type QueueQuestion = ViewQuery & { readonly visitorOf?: string | undefined };

/**
 * What the store is asked.
 * @param matching the conversations with a message that has the words, as a search has found them
 * @returns null: no conversation can fit, because a tag of that name does not exist
 */
export async function queueFilter(
  tx: ReadTx,
  { actor, service }: MemberCall,
  query: QueueQuestion,
  matching: readonly string[],
): Promise<ConversationFilter | null> {
  const { organizationId, memberId } = actor;
  const tagIds = await tagIdsOf(tx, organizationId, query.tag ?? []);
  if (tagIds === null) return null;
  // Their conversations go bit by bit, but are found no more from the beginning on.
  const going = await tx.repositories.meta.startingWith(goingApplication);
  const { assignedTo, unread, waitingLonger, mode = 'live' } = query;
  return {
    organizationId,
    mode: mode === 'all' ? undefined : (mode satisfies Mode),
    visitorOf: query.visitorOf,
    status: query.status,
    applicationId: query.applicationId,
    ...(going.length === 0
      ? {}
      : { goingApplicationIds: going.map(({ key }) => key.slice(goingApplication.length)) }),
    text: query.q,
    matching,
    assignedTo: assignedTo === 'me' ? memberId : assignedTo === 'none' ? null : assignedTo,
    tagIds,
    untagged: query.untagged,
    unread: unread === undefined ? undefined : { readerId: memberId, is: unread },
    snoozed: snoozedFilter(query),
    priorities: query.priority,
    visitorId: query.visitorId,
    channel: query.channel,
    waitingSince:
      waitingLonger === undefined ? undefined : service.engine.clock.now() - waitingLonger * 60_000,
  };
}

/** Who searches, or looks at one visitor, wants to find what is there. */
function snoozedFilter({ snoozed, q, visitorId, visitorOf }: QueueQuestion): boolean | undefined {
  if (snoozed !== undefined) return snoozed === 'all' ? undefined : snoozed;
  return q === undefined && visitorId === undefined && visitorOf === undefined ? false : undefined;
}
