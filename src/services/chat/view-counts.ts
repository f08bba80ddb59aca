// How many conversations each view has. One pass over the conversations answers all views of a member: their questions are
// put to each conversation in turn. Counted again at most once a second for each question, however often it is asked.
import { conversationStatus, mode } from '../../protocol/entities.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ConversationFilter, FacetRow, StateStretch } from '../../engine/repositories/conversations.ts';
import type { ViewRow } from '../../engine/rows.ts';
import type { MemberCall } from '../service.ts';
import { queueFilter } from './queue-filter.ts';
import { countFitting, inTurns, passByState } from './queue-list.ts';
import { readViewQuery } from './views.ts';

const keptMs = 1_000;
/** Questions that are kept before old ones are thrown away. */
const maxKept = 10_000;

interface KeptCount {
  /** `clock.monotonic()` when it was asked. */
  readonly at: number;
  readonly count: Promise<number>;
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
  for (const { id, query } of views) counts.push({ id, count: (await kept.get(query)) ?? 0 });
  return { counts };
}

/** The same question of the same member within a second has the same answer. @returns by question */
function keepCounts(call: MemberCall, views: readonly ViewRow[]): Map<string, Promise<number>> {
  const { engine } = call.service;
  const kept = keptCounts.get(engine) ?? new Map<string, KeptCount>();
  keptCounts.set(engine, kept);
  const now = engine.clock.monotonic();
  const isFresh = ({ at }: KeptCount): boolean => now - at < keptMs;
  if (kept.size >= maxKept) for (const [old, one] of kept) if (!isFresh(one)) kept.delete(old);
  const asked = new Map<string, Promise<number>>();
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
    const count = pass.then((counts) => counts.get(query) ?? 0);
    kept.set(key, { at: now, count });
    asked.set(query, count);
    // What failed is asked again at once.
    count.catch(() => kept.delete(key));
  }
  return asked;
}

/** A question whose answer the facets of a conversation hold. */
interface Tally {
  readonly query: string;
  readonly filter: ConversationFilter;
  readonly fits: (row: FacetRow) => boolean;
  count: number;
}

/** How many conversations fit each question. */
async function countAll(call: MemberCall, views: readonly ViewRow[]): Promise<Map<string, number>> {
  const { organizationId, memberId } = call.actor;
  const counts = new Map<string, number>();
  const tallies: Tally[] = [];
  const others: { query: string; filter: ConversationFilter }[] = [];
  await call.service.engine.store.read(async (tx) => {
    for (const view of views) {
      const filter = await queueFilter(tx, call, readViewQuery(view));
      if (filter === null) counts.set(view.query, 0);
      else if (needsRows(filter)) others.push({ query: view.query, filter });
      else tallies.push({ query: view.query, filter, fits: facetTest(filter), count: 0 });
    }
  });
  for (const state of statesOf(tallies)) {
    const asking = tallies.filter(({ filter }) => isOfState(filter, state));
    await inTurns(call, passByState(organizationId, state), async (tx, stretch) => {
      for (const row of await tx.repositories.conversations.facetsOfStretch(
        organizationId,
        stretch,
        memberId,
      ))
        for (const tally of asking) if (tally.fits(row)) tally.count += 1;
    });
  }
  for (const { query, count } of tallies) counts.set(query, count);
  for (const { query, filter } of others) counts.set(query, await countFitting(call, filter));
  return counts;
}

type State = Pick<StateStretch, 'mode' | 'status'>;

function statesOf(tallies: readonly Tally[]): State[] {
  return mode.options
    .flatMap((each) => conversationStatus.options.map((status) => ({ mode: each, status })))
    .filter((state) => tallies.some(({ filter }) => isOfState(filter, state)));
}

function isOfState({ mode: one, status }: ConversationFilter, state: State): boolean {
  return (one ?? state.mode) === state.mode && (status ?? state.status) === state.status;
}

/** Words, and a visitor, are looked up by the database. */
function needsRows({ text, visitorId, visitorOf }: ConversationFilter): boolean {
  return text !== undefined || visitorId !== undefined || visitorOf !== undefined;
}

/** The filter's question as one to a conversation's facets; its mode and status are asked before. */
function facetTest(filter: ConversationFilter): (row: FacetRow) => boolean {
  const {
    assignedTo,
    applicationId,
    tagIds = [],
    untagged,
    unread,
    snoozed,
    priorities,
    waitingSince,
  } = filter;
  return (row) =>
    (assignedTo === undefined || row.assigned_to === assignedTo) &&
    (applicationId === undefined || row.application_id === applicationId) &&
    (snoozed === undefined || (row.snoozed === 1) === snoozed) &&
    (unread === undefined || (row.unread === 1) === unread.is) &&
    (priorities === undefined || priorities.includes(row.priority)) &&
    (waitingSince === undefined || (row.waiting_since !== null && row.waiting_since <= waitingSince)) &&
    (untagged === undefined || (row.tag_ids === null) === untagged) &&
    // Ids have one length and no spaces: one is never a part of another.
    tagIds.every((tagId) => row.tag_ids?.includes(tagId) === true);
}
