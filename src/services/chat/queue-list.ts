// The operators' queue: which conversations fit a question, in which order, a page of them and how many there are. The
// organization's index answers, as of the one snapshot in which the page is read. What it does not hold, a word or a
// visitor, is looked up by the database in stretches.
import { IndexDamagedError } from '../../engine/engine.ts';
import type { Input, Output } from '../../protocol/operations.ts';
import type { QueueSort } from '../../protocol/queue.ts';
import type { ConversationFilter, QueuedKey, QueueStretch } from '../../engine/repositories/conversations.ts';
import type { QueueLine } from '../../engine/rows.ts';
import { serializeQueueItem } from '../core/serializers.ts';
import { readSlice } from '../core/slices.ts';
import type { MemberCall, ReadTx } from '../service.ts';
import { queueFilter } from './queue-filter.ts';
import { isIndexed } from './queue-index/queue-index.ts';
import { queueIndexes } from './queue-index/queue-indexes.ts';
import { inTurns, passByList, passByState, rowsPerTurn, type Pass } from './queue-stretches.ts';
import { catchUpForSearch, searchMessages } from './search.ts';
import { passByText } from './text-candidates.ts';

/**
 * All conversations that the rest of a filter leaves: by its rarest tag, else by their states.
 * @returns makes a pass from the beginning
 */
async function passesOf(call: MemberCall, filter: ConversationFilter): Promise<() => Pass<QueueStretch>> {
  const tagId = await rarestOf(call, filter.tagIds ?? []);
  return () => (tagId === undefined ? passByState(filter.organizationId, filter) : passByTag(tagId));
}

/** Those of the one visitor that a filter names. */
function passByVisitor(): Pass<QueueStretch> {
  let done = false;
  return (_tx, most) => {
    const next = done ? null : { stretch: { ofVisitor: true } as const, rows: most };
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
async function rarestOf(call: MemberCall, tagIds: readonly string[]): Promise<string | undefined> {
  if (tagIds.length < 2) return tagIds[0];
  const most = Math.floor(rowsPerTurn / tagIds.length);
  const reached = tagIds.map((tagId) => ({ tagId, after: '' }));
  let rarest: string | undefined;
  while (rarest === undefined)
    rarest = await readSlice(call, call.actor.organizationId, async ({ repositories }) => {
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
    });
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
  let kept: QueuedKey[] = [];
  let total = 0;
  const lookThrough = (pass: Pass<QueueStretch>, asked: ConversationFilter): Promise<void> =>
    inTurns(call, pass, async (tx, stretch) => {
      // One is asked for at least: with it comes how many there are.
      const found = await tx.repositories.conversations.queueOfStretch(
        asked,
        stretch,
        sort,
        Math.max(most, 1),
      );
      total += found.total;
      kept = merge(kept, found.rows, most);
    });
  for (const { pass, asked } of await passesFor(call, filter)) await lookThrough(pass, asked);
  return { ids: kept.map(({ id }) => id), total };
}

/** What is looked through for a filter, and what is asked there. No conversation is in two of these passes. */
async function passesFor(
  call: MemberCall,
  filter: ConversationFilter,
): Promise<{ pass: Pass<QueueStretch>; asked: ConversationFilter }[]> {
  const { text, matching } = filter;
  if (filter.visitorId !== undefined || filter.visitorOf !== undefined)
    return [{ pass: passByVisitor(), asked: filter }];
  const passes = await passesOf(call, filter);
  const byText = text === undefined ? null : await passByText(call, { ...filter, text }, passes());
  if (byText === null) return [{ pass: passes(), asked: filter }];
  return [
    {
      pass: passByList(matching, (ids) => ({ ids })),
      asked: { ...filter, text: undefined, matching: [] },
    },
    { pass: byText, asked: { ...filter, matching: [] } },
  ];
}

/** The conversations with a message that has the words of a question; none where it asks for no words. */
export async function matchingConversations(call: MemberCall, text: string | undefined): Promise<string[]> {
  return text === undefined ? [] : searchMessages(call, call.actor.organizationId, text);
}

/** What an index says; undefined where it is damaged, and nothing else is wrong. */
export function unlessDamaged<T>(answer: Promise<T>): Promise<T | undefined> {
  return answer.catch((error: unknown) => {
    if (error instanceof IndexDamagedError) return undefined;
    throw error;
  });
}

/** How many conversations fit each of these questions; without those that only a damaged index could answer. */
export async function countFitting(
  call: MemberCall,
  filters: readonly ConversationFilter[],
): Promise<Map<ConversationFilter, number>> {
  const counts = new Map<ConversationFilter, number>();
  const indexed = filters.filter(isIndexed);
  if (indexed.length > 0)
    // All of them in one snapshot.
    await queueIndexes(call.service).ask(call, async (index) => {
      for (const filter of indexed) counts.set(filter, index.count(filter));
    });
  for (const filter of filters)
    if (!counts.has(filter)) {
      const found = await unlessDamaged(findFitting(call, filter, 'updated', 0));
      if (found !== undefined) counts.set(filter, found.total);
    }
  return counts;
}

/** Lines of a page that are read in one turn of the loop: each counts up to 200 messages that may be unread. */
const linesPerTurn = 10;
/** So far down a page is found by the index: it orders everything that stands before it. */
const maxRanked = 2_000;

/** A page of the operators' queue. */
export async function listQueue(
  call: MemberCall,
  input: Input<'staff.conversations.list'>,
): Promise<Output<'staff.conversations.list'>> {
  const { limit, offset } = input;
  const { store } = call.service.engine;
  if (input.q !== undefined) await catchUpForSearch(call.service);
  const matching = await matchingConversations(call, input.q);
  const filter = await store.read((tx) => queueFilter(tx, call, input, matching));
  if (filter === null) return { conversations: [], total: 0, limit, offset };
  const { rows, total } = (await indexedPage(call, filter, input)) ?? (await foundPage(call, filter, input));
  return { conversations: await serializeLines(call, rows), total, limit, offset };
}

/** Lines as they are answered: what their visitors are said to be is read and made out in slices, because it may be long. */
async function serializeLines(
  call: MemberCall,
  lines: readonly QueueLine[],
): Promise<Output<'staff.conversations.list'>['conversations']> {
  const { organizationId } = call.actor;
  const made: Output<'staff.conversations.list'>['conversations'] = [];
  while (made.length < lines.length)
    await readSlice(call, organizationId, async ({ repositories }, full) => {
      let some: readonly QueueLine[];
      do {
        some = lines.slice(made.length, made.length + linesPerTurn);
        const ids = some.map(({ id }) => id);
        const found = await repositories.conversations.visitorAttributes(organizationId, ids);
        const attributes = new Map(found.map((one) => [one.id, one.visitor_attributes]));
        // Of who was removed in between nothing more is said.
        for (const line of some)
          made.push(serializeQueueItem({ ...line, visitor_attributes: attributes.get(line.id) ?? '{}' }));
      } while (made.length < lines.length && !full(some.length));
    });
  return made;
}

type QueuePage = { readonly rows: readonly QueueLine[]; readonly total: number };
type Asked = Pick<Input<'staff.conversations.list'>, 'limit' | 'offset' | 'sort'>;

/** @returns undefined: the index can't tell */
async function indexedPage(
  call: MemberCall,
  filter: ConversationFilter,
  { limit, offset, sort = 'queue' }: Asked,
): Promise<QueuePage | undefined> {
  if (!isIndexed(filter) || offset + limit > maxRanked) return undefined;
  return queueIndexes(call.service).ask(call, async (index, tx) => {
    const { ids, total } = index.first(filter, sort, offset + limit);
    return { rows: await readLines(tx, call, ids.slice(offset)), total };
  });
}

async function foundPage(
  call: MemberCall,
  filter: ConversationFilter,
  { limit, offset, sort = 'queue' }: Asked,
): Promise<QueuePage> {
  const { ids, total } = await findFitting(call, filter, sort, offset + limit);
  const rows: QueueLine[] = [];
  for (let from = offset; from < ids.length; from += linesPerTurn) {
    const some = ids.slice(from, from + linesPerTurn);
    const lines = await readSlice(call, call.actor.organizationId, (tx) => readLines(tx, call, some));
    rows.push(...lines);
  }
  return { rows, total };
}

/** The lines of conversations, in their order. One that was removed in between has none. */
async function readLines(
  { repositories }: ReadTx,
  { actor }: MemberCall,
  ids: readonly string[],
): Promise<QueueLine[]> {
  const rows = await repositories.conversations.queuePage(actor.organizationId, ids, actor.memberId);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}
