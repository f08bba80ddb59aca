// How many conversations each view has: all views of a member in one snapshot. Counted again at most once a second for each
// question, however often it is asked.
import { viewCountsKeptMs } from '../../protocol/codes.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ConversationFilter } from '../../engine/repositories/conversations.ts';
import type { ViewRow } from '../../engine/rows.ts';
import type { MemberCall } from '../service.ts';
import { queueFilter, type QueueQuestion } from './queue-filter.ts';
import { countFitting, matchingConversations, unlessDamaged } from './queue-list.ts';
import { readViewQuery } from './views.ts';

/** Questions that are kept before old ones are thrown away. */
const maxKept = 10_000;

interface KeptCount {
  /** `clock.monotonic()` when it was asked. */
  readonly at: number;
  /** undefined: it can't be told. */
  readonly count: Promise<number | undefined>;
}

const keptCounts = new WeakMap<Engine, Map<string, KeptCount>>();

export async function countViews(
  call: MemberCall,
  _input: Input<'views.counts'>,
): Promise<Output<'views.counts'>> {
  const { actor, service } = call;
  const views = await service.engine.store.read((tx) =>
    tx.repositories.views.visible(actor.organizationId, actor.memberId),
  );
  const kept = keepCounts(call, views);
  const counts: Output<'views.counts'>['counts'] = [];
  for (const { id, query } of views) {
    const count = await kept.get(query);
    if (count !== undefined) counts.push({ id, count });
  }
  return { counts };
}

/** The same question of the same member within a second has the same answer. @returns by question */
function keepCounts(call: MemberCall, views: readonly ViewRow[]): Map<string, KeptCount['count']> {
  const { engine } = call.service;
  const kept = keptCounts.get(engine) ?? new Map<string, KeptCount>();
  keptCounts.set(engine, kept);
  const now = engine.clock.monotonic();
  const isFresh = ({ at }: KeptCount): boolean => now - at < viewCountsKeptMs;
  if (kept.size >= maxKept) for (const [old, one] of kept) if (!isFresh(one)) kept.delete(old);
  const asked = new Map<string, KeptCount['count']>();
  const missing: ViewRow[] = [];
  for (const view of views) {
    const earlier = kept.get(`${call.actor.memberId} ${view.query}`);
    if (earlier !== undefined && isFresh(earlier)) asked.set(view.query, earlier.count);
    else if (!missing.some(({ query }) => query === view.query)) missing.push(view);
  }
  if (missing.length === 0) return asked;
  const pass = countAll(call, missing);
  for (const { query } of missing) {
    const key = `${call.actor.memberId} ${query}`;
    const count = pass.then((counts) => counts.get(query));
    kept.set(key, { at: now, count });
    asked.set(query, count);
    // What failed is asked again at once.
    count.catch(() => kept.delete(key));
  }
  return asked;
}

/** How many conversations fit each question; without those whose words can't be looked up, because an index is damaged. */
async function countAll(call: MemberCall, views: readonly ViewRow[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const asked: { query: string; filter: ConversationFilter }[] = [];
  const questions: { view: ViewRow; question: QueueQuestion; matching: string[] }[] = [];
  for (const view of views) {
    const question = readViewQuery(view);
    const matching = await unlessDamaged(matchingConversations(call, question.q));
    if (matching !== undefined) questions.push({ view, question, matching });
  }
  await call.service.engine.store.read(async (tx) => {
    for (const { view, question, matching } of questions) {
      const filter = await queueFilter(tx, call, question, matching);
      if (filter === null) counts.set(view.query, 0);
      else asked.push({ query: view.query, filter });
    }
  });
  const found = await countFitting(
    call,
    asked.map(({ filter }) => filter),
  );
  for (const { query, filter } of asked) {
    const count = found.get(filter);
    if (count !== undefined) counts.set(query, count);
  }
  return counts;
}
