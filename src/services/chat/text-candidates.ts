// Which conversations may have a text in their subject, or in their visitor's name or address: those that the index of them
// names. Where fewer are to be looked at anyway, as those that wait, the index is not asked to the end.
import type { ConversationFilter, QueueStretch } from '../../engine/repositories/conversations.ts';
import type { SubstringSource } from '../../engine/repositories/substrings.ts';
import { readSlice, type SliceBudget } from '../core/slices.ts';
import type { MemberCall, ReadTx } from '../service.ts';
import { Bits } from './queue-index/bits.ts';
import { inTurns, passByList, type Pass } from './queue-stretches.ts';
import { spanAfter } from './search-span.ts';

/** Entries of the index that the first stretch reaches over, and that are enough in a turn. */
const stretch = { first: 600_000, most: 2_000 };
/** Visitors whose conversations are looked up in one turn. */
const visitorsAtOnce = 50;
/** To look at a row that an index names costs so many times what it costs in a walk through all. */
const costOfOne = 3;

/** What is still to be searched. */
interface Part {
  readonly source: SubstringSource;
  readonly query: string;
  after: number;
  span: number;
}

/** What may have a text, by its numbers. */
type Candidates = Readonly<Record<SubstringSource, Bits>>;

/** What has been found by now, and what is left. */
interface Progress {
  readonly found: Candidates;
  /** null: the text was not looked at yet. */
  parts: Part[] | null;
  /** Of the other pass. */
  counted: number;
}

/**
 * The conversations that may have a filter's text, without those in which a message has the words of it.
 * @param others all conversations that the rest of the filter leaves
 * @returns null: to look at these costs less, or the database has no index that helps
 */
export async function passByText(
  call: MemberCall,
  filter: ConversationFilter & { readonly text: string },
  others: Pass<QueueStretch>,
): Promise<Pass<QueueStretch> | null> {
  const found = { subjects: new Bits(), visitors: new Bits() };
  const progress: Progress = { found, parts: null, counted: 0 };
  let outcome: 'more' | 'found' | 'too many' = 'more';
  while (outcome === 'more')
    outcome = await readSlice(call, call.actor.organizationId, async (tx, full) => {
      const some = await findSome(call, tx, progress, filter, full);
      if (some === 'too many') return some;
      return (await costsLess(tx, progress, filter, others)) ? 'too many' : some;
    });
  if (outcome === 'too many') return null;
  return passByCandidates(found, await placesOf(call, found, filter.matching));
}

/** Whether a walk through the others costs less. They are counted only as far as candidates were found. */
async function costsLess(
  tx: ReadTx,
  progress: Progress,
  { matching }: ConversationFilter,
  others: Pass<QueueStretch>,
): Promise<boolean> {
  const { subjects, visitors } = progress.found;
  const enough = (matching.length + subjects.size + visitors.size) * costOfOne;
  // A turn finds so many at most, but for the messages.
  for (let left = stretch.most * costOfOne; left > 0 && progress.counted < enough;) {
    const next = await others(tx, Math.min(left, enough - progress.counted));
    if (next === null) return true;
    progress.counted += next.rows;
    left -= next.rows;
  }
  return false;
}

async function findSome(
  { service: { engine } }: MemberCall,
  { repositories: { substrings } }: ReadTx,
  progress: Progress,
  filter: ConversationFilter & { readonly text: string },
  full: SliceBudget,
): Promise<'more' | 'found' | 'too many'> {
  if (substrings === null) return 'too many';
  if (progress.parts === null) {
    const query = await substrings.query(filter.organizationId, filter.text);
    if (query === null) return 'too many';
    progress.parts = (['subjects', 'visitors'] as const).flatMap((source) => {
      const own = query[source];
      return own === null ? [] : [{ source, query: own, after: 0, span: stretch.first }];
    });
  }
  let left = stretch.most;
  for (let part = progress.parts[0]; part !== undefined; part = progress.parts[0]) {
    const began = engine.clock.monotonic();
    const { numbers, after } = await substrings.matches(part.source, part.query, {
      after: part.after,
      span: part.span,
      most: left,
    });
    for (const number of numbers) progress.found[part.source].add(number);
    if (after === null) progress.parts.shift();
    else {
      part.after = after;
      part.span = spanAfter(part.span, engine.clock.monotonic() - began);
    }
    left -= numbers.length;
    // After a part, not before the first: a read that begins late must come further all the same.
    if (progress.parts.length > 0 && (left <= 0 || full(0))) return 'more';
  }
  return 'found';
}

/** The places of conversations that are known to fit; none where there are no others. */
async function placesOf(call: MemberCall, found: Candidates, ids: readonly string[]): Promise<Bits> {
  const { organizationId } = call.actor;
  const places = new Bits();
  if (found.subjects.isEmpty && found.visitors.isEmpty) return places;
  await inTurns(
    call,
    passByList(ids, (some) => ({ ids: some })),
    async ({ repositories }, { ids: some }) => {
      for (const place of await repositories.conversations.placesOf(organizationId, some)) places.add(place);
    },
  );
  return places;
}

/** Each conversation once: by its subject, else by its visitor. @param seen places that are left out */
function passByCandidates({ subjects, visitors }: Candidates, seen: Bits): Pass<QueueStretch> {
  const notSeen = (places: readonly number[]): QueueStretch => ({
    places: places.filter((place) => !seen.has(place)),
  });
  const bySubject = passByList(subjects, notSeen);
  const byVisitor = passByList(visitors, (numbers) => numbers);
  /** Of visitors that were looked up: one may have many conversations. */
  const waiting: number[] = [];
  return async (tx, most) => {
    const next = await bySubject(tx, most);
    if (next !== null) return next;
    if (waiting.length === 0) {
      const some = await byVisitor(tx, Math.min(most, visitorsAtOnce));
      if (some === null) return null;
      const places = (await tx.repositories.substrings?.placesOfVisitors(some.stretch)) ?? [];
      for (const place of places) if (!subjects.has(place)) waiting.push(place);
      if (waiting.length === 0) return { stretch: notSeen([]), rows: some.rows };
    }
    const places = waiting.splice(0, most);
    return { stretch: notSeen(places), rows: places.length };
  };
}
