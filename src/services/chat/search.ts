// Full-text search over messages in any language: text is cut into words by the
// platform's own segmenter when it is indexed and when it is searched, because
// SQLite's tokenizer knows no words in scripts that write without blanks.
// The index follows the event log, a moment behind, so that sending never waits for it.
import type { Service, Tx } from '../service.ts';
import type { WordQuery } from '../../engine/repositories/search.ts';
import type { UnindexedMessage } from '../../engine/rows.ts';
import { writeSlice, type SliceBudget } from '../core/slices.ts';

// Made when it is first needed: a command that searches nothing should not wait for it.
let segmenter: Intl.Segmenter | undefined;
const cursorKey = 'search_cursor';
const cursorScope = 'server:search_cursor';
/** Stands in the place of the cursor while all messages are indexed. */
const unfinished = 'unfinished';
const batchSize = 200;
const pageSize = 500;
const indexDelayMs = 250;
/** Events within `afterMs` above which the service counts as busy. */
const busyThreshold = 100;
const maxIndexDelayMs = 30_000;

const ascii = /^[\0-\x7f]*$/;
/**
 * The words of ASCII text as the segmenter cuts them (UAX #29), at a tenth of its cost: letters are joined by one `.`,
 * `:` or `'`, digits by one `.`, `,`, `;` or `'`; one `_` alone is no word.
 */
const asciiWord = /(?:[a-z\d_]|(?<=[a-z])[.:'](?=[a-z])|(?<=\d)[.,;'](?=\d))+/gi;

/** The words of a text, folded for comparison. */
export function tokenize(text: string): string[] {
  if (ascii.test(text)) return (text.toLowerCase().match(asciiWord) ?? []).filter((word) => word !== '_');
  const found: string[] = [];
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'word' });
  for (const { segment, isWordLike } of segmenter.segment(text.normalize('NFKC')))
    if (isWordLike === true) found.push(segment.toLowerCase());
  return found;
}

/**
 * What a person typed: every word must occur, the last may be the beginning of one.
 * @returns null when there is no word in it
 */
export function searchQuery(text: string): WordQuery | null {
  const words = tokenize(text);
  const prefix = words.pop();
  return prefix === undefined ? null : { words, prefix };
}

/** Brings the index up to the end of the event log; the first time, and after an import, through all messages. */
export async function updateSearchIndex(service: Service): Promise<void> {
  const { store } = service.engine;
  const cursor = await store.read(({ repositories }) => repositories.meta.get(cursorKey));
  if (cursor === undefined || cursor === unfinished) {
    await indexAllMessages(service);
    return;
  }
  let position = Number(cursor);
  for (;;) {
    const after = position;
    const events = await store.read(({ repositories }) => repositories.events.after(after, pageSize));
    const last = events.at(-1);
    if (last === undefined) return;
    position = last.seq;
    const changed = new Map<string, UnindexedMessage>();
    for (const { type, message_id: id, organization_id, conversation_id } of events)
      if (id !== null && (type === 'message:new' || type === 'message:edited'))
        changed.set(id, { id, organization_id, conversation_id });
    await inBatches([...changed.values()], (messages) => indexMessages(service, messages));
    // Not where an import has removed the cursor since: then everything is indexed anew.
    const moved = await store.write(cursorScope, ({ repositories }) =>
      repositories.meta.replace(cursorKey, String(after), String(position)),
    );
    if (moved === 0) return;
  }
}

async function indexAllMessages(service: Service): Promise<void> {
  const { store } = service.engine;
  // Taken first: what is written from here on is in the log after it, and indexing twice changes nothing.
  const end = await store.write(cursorScope, async ({ repositories }) => {
    await repositories.meta.set(cursorKey, unfinished);
    return repositories.events.lastSeq();
  });
  let after = '';
  for (;;) {
    const from = after;
    const rows = await store.read(({ repositories }) => repositories.search.unindexed(from, batchSize));
    const last = rows.at(-1);
    if (last === undefined) break;
    after = last.id;
    await indexMessages(service, rows);
  }
  // Not where an import has removed the cursor since: its messages may lie before those that were read.
  await store.write(cursorScope, ({ repositories }) =>
    repositories.meta.replace(cursorKey, unfinished, String(end)),
  );
}

/** In slices; each message is read where it is indexed, so that none is deleted in between. */
async function indexMessages(service: Service, messages: readonly UnindexedMessage[]): Promise<void> {
  for (const [organization, some] of Map.groupBy(messages, (row) => row.organization_id))
    for (let done = 0; done < some.length;) {
      const rest = some.slice(done);
      done += await writeSlice(service, { organization }, (tx, full) => indexSome(tx, rest, full));
    }
}

/** @returns how many of them were indexed before the slice was full */
async function indexSome(tx: Tx, messages: readonly UnindexedMessage[], full: SliceBudget): Promise<number> {
  let done = 0;
  for (const { id, organization_id } of messages) {
    await indexMessage(tx, id, organization_id);
    done += 1;
    if (full(1)) break;
  }
  return done;
}

/** A deleted message has nothing to find; one whose row was removed has taken its words along. */
async function indexMessage({ repositories }: Tx, id: string, organizationId: string): Promise<void> {
  const text = await repositories.search.textOf(id);
  if (text !== undefined) await repositories.search.put(id, organizationId, tokenize(text));
}

async function inBatches<T>(all: readonly T[], work: (some: readonly T[]) => Promise<void>): Promise<void> {
  for (let start = 0; start < all.length; start += batchSize) await work(all.slice(start, start + batchSize));
}

/**
 * Keeps the index a moment behind the log.
 * @param onFault is called with a run's error; the next commit tries again
 * @returns how to stop
 */
export function startSearchIndexer(service: Service, onFault: (error: unknown) => void): () => Promise<void> {
  let cancel: (() => void) | null = null;
  let running: Promise<void> = Promise.resolve();
  let stopped = false;
  let waitingSince: number | null = null;
  let changedEvents = 0;
  const run = (): void => {
    cancel = null;
    const now = service.engine.clock.monotonic();
    waitingSince ??= now;
    // Under load, messages come first: the index waits for a quieter moment, but not for ever.
    const busy = changedEvents > busyThreshold && now - waitingSince < maxIndexDelayMs;
    changedEvents = 0;
    if (busy) {
      plan();
      return;
    }
    waitingSince = null;
    running = running.then(() => (stopped ? undefined : updateSearchIndex(service))).catch(onFault);
  };
  const plan = (): void => {
    if (!stopped) cancel ??= service.engine.clock.after(indexDelayMs, run);
  };
  const unsubscribe = service.engine.store.subscribe(({ events, configuration }) => {
    changedEvents += events.length;
    // A change of configuration may have been an import, which leaves no events.
    if (configuration !== null || events.some(({ message_id }) => message_id !== null)) plan();
  });
  plan();
  return async () => {
    stopped = true;
    unsubscribe();
    cancel?.();
    await running;
  };
}
