// The same act on many conversations: each in a transaction of its own, as if done alone. They are handed to the store a
// few at once, which share a commit; between two such slices others are served.
import { toServiceError, ServiceError } from '../core/errors.ts';
import { conversationScope, organizationScope } from '../core/scopes.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { Engine } from '../../engine/engine.ts';
import { createFairLimit, type FairLimit } from '../../net/fair-limit.ts';
import { writeAs } from '../auth/standing.ts';
import type { MemberCall, Tx } from '../service.ts';
import * as conversations from './conversations.ts';
import * as order from './queue-order.ts';
import * as tags from './tags.ts';

type BulkInput = Input<'staff.conversations.bulk'>;
type Act = (tx: Tx, call: MemberCall, input: { conversationId: string }) => Promise<ActOutput>;
type ActOutput = Output<'staff.conversations.get'>;
type Result = Output<'staff.conversations.bulk'>['results'][number];

/** One at a time for each organization: many acts in one request must not crowd out those of others. */
const turns = { maxRunning: 4, maxRunningPerKey: 1, maxWaiting: 1_000, maxWaitingPerKey: 20 };
const limits = new WeakMap<Engine, FairLimit>();
/** An act takes a millisecond or two of processor time: a slice stays below the 50 ms that a request may hold the loop. */
const actsPerSlice = 20;

/**
 * Does one act to each of the conversations, in their order. What one refuses keeps none of the others back; the caller's
 * rights are read again for each.
 * @returns a result for each id, in their order
 * @throws ServiceError unavailable when too many wait already
 */
export function actOnMany(call: MemberCall, input: BulkInput): Promise<Output<'staff.conversations.bulk'>> {
  const { engine } = call.service;
  const limit = limits.get(engine) ?? createFairLimit(turns);
  limits.set(engine, limit);
  const act = actOf(input);
  // A new name becomes a tag of the organization.
  const scope = input.act === 'tag' ? organizationScope : conversationScope;
  return limit(call.actor.organizationId, async () => {
    const results: Result[] = [];
    for (let at = 0; at < input.ids.length; at += actsPerSlice) {
      const slice = input.ids.slice(at, at + actsPerSlice);
      // Handed over in the same turn of the loop: that makes them one group.
      results.push(...(await Promise.all(slice.map((id) => resultOf(call, id, act, scope)))));
    }
    return { results };
  });
}

async function resultOf(
  call: MemberCall,
  id: string,
  act: Act,
  scope: typeof conversationScope,
): Promise<Result> {
  const input = { conversationId: id };
  try {
    const { conversation } = await writeAs(call, scope(call, input), (tx, current) =>
      act(tx, current, input),
    );
    return { id, ok: true, conversation };
  } catch (thrown) {
    const error = toServiceError(thrown);
    if (!(error instanceof ServiceError)) throw error;
    const { state } = error.context;
    return { id, ok: false, error: error.code, message: error.message, ...state };
  }
}

/** The schema has checked that what an act needs is there. */
function actOf({ act, tag = '', priority, until = '', memberId = '' }: BulkInput): Act {
  switch (act) {
    case 'accept':
      return conversations.acceptConversation;
    case 'release':
      return conversations.releaseConversation;
    case 'resolve':
      return conversations.resolveConversation;
    case 'reopen':
      return conversations.reopenConversation;
    case 'transfer':
      return (tx, call, input) => conversations.transferConversation(tx, call, { ...input, memberId });
    case 'tag':
      return (tx, call, input) => tags.tagConversation(tx, call, { ...input, tag });
    case 'untag':
      return (tx, call, input) => tags.untagConversation(tx, call, { ...input, tag });
    case 'priority':
      return (tx, call, input) => order.updateConversation(tx, call, { ...input, priority });
    case 'snooze':
      return (tx, call, input) => order.snoozeConversation(tx, call, { ...input, until });
    case 'unsnooze':
      return order.unsnoozeConversation;
    case 'unread':
      return order.unreadConversation;
  }
}
