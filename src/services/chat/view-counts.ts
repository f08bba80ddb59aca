// How many conversations each view has. Counted in slices, and again at most once a second for each question of a
// member, however often it is asked.
import type { Input, Output } from '../../protocol/operations.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ViewRow } from '../../engine/rows.ts';
import { computeSlice } from '../core/slices.ts';
import type { MemberCall } from '../service.ts';
import { queueFilter } from './queue-filter.ts';
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
  const counts: Output<'views.counts'>['counts'] = [];
  for (const view of views) counts.push({ id: view.id, count: await keptCount(call, view) });
  return { counts };
}

/** The same question of the same member within a second has the same answer. */
function keptCount(call: MemberCall, view: ViewRow): Promise<number> {
  const { engine } = call.service;
  const kept = keptCounts.get(engine) ?? new Map<string, KeptCount>();
  keptCounts.set(engine, kept);
  const now = engine.clock.monotonic();
  const key = `${call.actor.memberId} ${view.query}`;
  const earlier = kept.get(key);
  if (earlier !== undefined && now - earlier.at < keptMs) return earlier.count;
  if (kept.size >= maxKept) for (const [old, { at }] of kept) if (now - at >= keptMs) kept.delete(old);
  const count = countView(call, view);
  kept.set(key, { at: now, count });
  // What failed is asked again at once.
  count.catch(() => kept.delete(key));
  return count;
}

function countView(call: MemberCall, view: ViewRow): Promise<number> {
  const { engine } = call.service;
  return computeSlice(call.service, call.actor.organizationId, () =>
    engine.store.read(async (tx) => {
      const filter = await queueFilter(tx, call, readViewQuery(view));
      return filter === null ? 0 : tx.repositories.conversations.countQueue(filter);
    }),
  );
}
