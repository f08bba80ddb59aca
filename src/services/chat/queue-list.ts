// The operators' queue: which conversations fit a question, in which order, a page of them and how many there are. Goes
// through an organization's conversations in stretches of so many rows, and lets others in after each: however many an
// organization has, no request holds the loop.
import { conversationStatus, mode } from '../../protocol/entities.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { QueueSort } from '../../protocol/queue.ts';
import type {
  ConversationFilter,
  QueuedKey,
  QueueStretch,
  StateStretch,
} from '../../engine/repositories/conversations.ts';
import { serializeQueueItem } from '../core/serializers.ts';
import { computeSlice } from '../core/slices.ts';
import type { MemberCall, ReadTx } from '../service.ts';
import { queueFilter } from './queue-filter.ts';
import { catchUpForSearch } from './search.ts';

/** Rows that are looked at between two turns of the loop. */
export const rowsPerTurn = 500;
/** What is looked at in one turn: the next stretches of a pass, at most `most` rows; null: the pass is over. */
type Pass<S extends QueueStretch> = (
  tx: ReadTx,
  most: number,
) => Promise<{ stretch: S; rows: number } | null>;

/**
 * Goes through a pass, `rowsPerTurn` rows in each turn of the loop.
 * @param look is called with every stretch, in the snapshot in which it was found
 */
export async function inTurns<S extends QueueStretch>(
  { service, actor }: MemberCall,
  pass: Pass<S>,
  look: (tx: ReadTx, stretch: S) => Promise<void>,
): Promise<void> {
  let over = false;
  while (!over)
    over = await computeSlice(service, actor.organizationId, () =>
      service.engine.store.read(async (tx) => {
        for (let left = rowsPerTurn; left > 0;) {
          const next = await pass(tx, left);
          if (next === null) return true;
          await look(tx, next.stretch);
          left -= next.rows;
        }
        return false;
      }),
    );
}

/** All conversations of these modes and statuses. */
export function passByState(
  organizationId: string,
  { mode: oneMode, status }: Pick<ConversationFilter, 'mode' | 'status'>,
): Pass<StateStretch> {
  const states = mode.options.flatMap((each) =>
    conversationStatus.options.flatMap((state) =>
      (oneMode ?? each) === each && (status ?? state) === state ? [{ mode: each, status: state }] : [],
    ),
  );
  let after = 0;
  return async ({ repositories }, most) => {
    for (;;) {
      const [state] = states;
      if (state === undefined) return null;
      const { through, rows } = await repositories.conversations.stretchByState(
        organizationId,
        state.mode,
        state.status,
        after,
        most,
      );
      if (through !== null) {
        const stretch = { ...state, after, through };
        after = through;
        return { stretch, rows };
      }
      states.shift();
      after = 0;
    }
  };
}

/** All conversations that may fit a filter: by its visitor, else by its rarest tag, else by their states. */
async function passOf(call: MemberCall, filter: ConversationFilter): Promise<Pass<QueueStretch>> {
  const { visitorId, visitorOf, tagIds = [] } = filter;
  if (visitorId !== undefined || visitorOf !== undefined) return once({ ofVisitor: true });
  const tagId = await rarestOf(call, tagIds);
  return tagId === undefined ? passByState(filter.organizationId, filter) : passByTag(tagId);
}

function once(stretch: QueueStretch): Pass<QueueStretch> {
  let done = false;
  return (_tx, most) => {
    const next = done ? null : { stretch, rows: most };
    done = true;
    return Promise.resolve(next);
  };
}

function passByTag(tagId: string): Pass<QueueStretch> {
  let after = '';
  return async ({ repositories }, most) => {
    const { through, rows } = await repositories.conversations.stretchByTag(tagId, after, most);
    if (through === null) return null;
    const stretch = { tagId, after, through };
    after = through;
    return { stretch, rows };
  };
}

/** The tag that the fewest conversations have. All are walked side by side, in turns of the loop: it ends first. */
async function rarestOf(
  { service, actor }: MemberCall,
  tagIds: readonly string[],
): Promise<string | undefined> {
  if (tagIds.length < 2) return tagIds[0];
  const most = Math.floor(rowsPerTurn / tagIds.length);
  const reached = tagIds.map((tagId) => ({ tagId, after: '' }));
  let rarest: string | undefined;
  while (rarest === undefined)
    rarest = await computeSlice(service, actor.organizationId, () =>
      service.engine.store.read(async ({ repositories }) => {
        for (const place of reached) {
          const { through, rows } = await repositories.conversations.stretchByTag(
            place.tagId,
            place.after,
            most,
          );
          if (through === null || rows < most) return place.tagId;
          place.after = through;
        }
        return undefined;
      }),
    );
  return rarest;
}

const inOrder = (one: QueuedKey, other: QueuedKey): number =>
  one.key0 - other.key0 ||
  one.key1 - other.key1 ||
  one.key2 - other.key2 ||
  (one.id < other.id ? 1 : one.id > other.id ? -1 : 0);

/** The first `most` of two lists that are in order: each step is one comparison, also where a page far back is asked for. */
function merge(one: readonly QueuedKey[], other: readonly QueuedKey[], most: number): QueuedKey[] {
  const merged: QueuedKey[] = [];
  for (let left = 0, right = 0; merged.length < most;) {
    const [first, second] = [one[left], other[right]];
    if (first !== undefined && (second === undefined || inOrder(first, second) < 0)) {
      merged.push(first);
      left += 1;
    } else if (second === undefined) break;
    else {
      merged.push(second);
      right += 1;
    }
  }
  return merged;
}

/** The first `most` that fit, in order, and how many fit. */
async function findFitting(
  call: MemberCall,
  filter: ConversationFilter,
  sort: QueueSort,
  most: number,
): Promise<{ ids: string[]; total: number }> {
  const pass = await passOf(call, filter);
  let kept: QueuedKey[] = [];
  let total = 0;
  await inTurns(call, pass, async (tx, stretch) => {
    // One is asked for at least: with it comes how many there are.
    const found = await tx.repositories.conversations.queueOfStretch(
      filter,
      stretch,
      sort,
      Math.max(most, 1),
    );
    total += found.total;
    kept = merge(kept, found.rows, most);
  });
  return { ids: kept.map(({ id }) => id), total };
}

/** How many conversations fit. */
export async function countFitting(call: MemberCall, filter: ConversationFilter): Promise<number> {
  return (await findFitting(call, filter, 'updated', 0)).total;
}

/** A page of the operators' queue. */
export async function listQueue(
  call: MemberCall,
  input: Input<'staff.conversations.list'>,
): Promise<Output<'staff.conversations.list'>> {
  const { limit, offset, sort = 'queue' } = input;
  const { store } = call.service.engine;
  if (input.q !== undefined) await catchUpForSearch(call.service);
  const filter = await store.read((tx) => queueFilter(tx, call, input));
  if (filter === null) return { conversations: [], total: 0, limit, offset };
  const { ids, total } = await findFitting(call, filter, sort, offset + limit);
  const page = ids.slice(offset);
  const { organizationId, memberId } = call.actor;
  const rows = await store.read(({ repositories }) =>
    repositories.conversations.queuePage(organizationId, page, memberId),
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  // One that was removed in between has no line.
  const lines = page.flatMap((id) => byId.get(id) ?? []);
  return { conversations: lines.map(serializeQueueItem), total, limit, offset };
}
