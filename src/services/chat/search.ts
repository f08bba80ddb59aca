// Full-text search over messages in any language: text is cut into words by the
// platform's own segmenter when it is indexed and when it is searched, because
// SQLite's tokenizer knows no words in scripts that write without blanks.
// The index follows the event log, in moments in which little is sent, so that sending never waits for it. A search
// brings it up to the log first.
import { IndexDamagedError } from '../../engine/engine.ts';
import type { Reader, Service, Tx } from '../service.ts';
import type { SearchStretch, WordQuery } from '../../engine/repositories/search.ts';
import type { UnindexedMessage } from '../../engine/rows.ts';
import { readLogPage } from '../core/event-log.ts';
import { readSlice, writeSlice, type SliceBudget } from '../core/slices.ts';
import { spanAfter } from './search-span.ts';

// Made when it is first needed: a command that searches nothing should not wait for it.
let segmenter: Intl.Segmenter | undefined;
const cursorKey = 'search_cursor';
const cursorScope = 'server:search_cursor';
/**
 * Where the log is to be followed from once all messages are indexed: what happened from there on to messages that have
 * their words already is in the log alone. Stays until then, however often that begins anew.
 */
const followFromKey = 'search_follow_from';
/** Stands in the place of the cursor while all messages are indexed. */
const unfinished = 'unfinished';
const batchSize = 200;
/** Texts that are read at once: a short slice has no time for more. */
const textsAtOnce = 20;
const pageSize = 500;
const indexDelayMs = 250;
/** Events within `indexDelayMs` above which the service counts as busy. */
const busyThreshold = 100;
const maxIndexDelayMs = 30_000;
/** A search waits no longer for the index, ms: after a flood, what is not in it by then is found a moment later. */
const maxSearchWaitMs = 1_000;

const ascii = /^[\0-\x7f]*$/;
/**
 * The words of ASCII text as the segmenter cuts them (UAX #29), at a tenth of its cost: letters are joined by one `.`,
 * `:` or `'`, digits by one `.`, `,`, `;` or `'`; one `_` alone is no word.
 */
const asciiWord = /(?:[a-z\d_]|(?<=[a-z])[.:'](?=[a-z])|(?<=\d)[.,;'](?=\d))+/gi;

/** A letter or a digit. What has none, as `__`, is nothing to look for. */
const sign = /[\p{L}\p{N}]/u;
/** Tells where lines may be broken, inside a word. */
const softHyphen = '\u00ad';

/** The words of a text, folded for comparison. */
export function tokenize(text: string): string[] {
  if (ascii.test(text)) return (text.toLowerCase().match(asciiWord) ?? []).filter((word) => sign.test(word));
  const found: string[] = [];
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'word' });
  for (const { segment, isWordLike } of segmenter.segment(text.normalize('NFKC').replaceAll(softHyphen, '')))
    if (isWordLike === true && sign.test(segment)) found.push(segment.toLowerCase());
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

/** The newest messages that match: a word that is in every message costs no more than others. */
const maxMatches = 5_000;
/** Of the words that begin as the last one, so many are looked for, the first ones by the alphabet. */
const maxEndings = 200;
/** Entries of the index that the first stretch reaches over, where several words must occur. */
const firstSpan = 50_000;
/** Looked up in one turn of the loop: words, and matching messages; beside many users fewer of these, which take a millisecond. */
const perTurn = { endings: 100, matches: 500, matchesBesideMany: 150 };

/**
 * The conversations of an organization in which one of its newest 5,000 matching messages is, in no order. In turns of
 * the loop: words that many messages have, or that begin many words, hold up none of the others.
 * @param text what a person typed
 */
export async function searchMessages(
  reader: Reader,
  organizationId: string,
  text: string,
): Promise<string[]> {
  const typed = searchQuery(text);
  if (typed === null) return [];
  const { clock, pace } = reader.service.engine;
  const query = { ...typed, endings: await findEndings(reader, organizationId, typed.prefix) };
  const found = new Set<string>();
  let matches = 0;
  // Of one word, or one of several, each entry that is looked at is a match: so many are looked at as are enough.
  const span = query.words.length === 0 ? Number.MAX_SAFE_INTEGER : firstSpan;
  let next: SearchStretch = { before: null, span, most: perTurn.matches };
  for (;;) {
    const asked = pace.hasManyUsers() ? { ...next, most: perTurn.matchesBesideMany } : next;
    let took = 0;
    const { conversations, before } = await readSlice(reader, organizationId, async ({ repositories }) => {
      const began = clock.monotonic();
      const answer = await repositories.search.matches(query, organizationId, asked);
      took = clock.monotonic() - began;
      return answer;
    });
    for (const id of conversations) found.add(id);
    matches += conversations.length;
    if (before === null || matches >= maxMatches) return [...found];
    next = { ...next, before, span: spanAfter(asked.span, took) };
  }
}

/** The words that begin as the last one that was typed; undefined: the database finds beginnings by itself. */
async function findEndings(
  reader: Reader,
  organizationId: string,
  prefix: string,
): Promise<string[] | undefined> {
  const endings: string[] = [];
  for (;;) {
    const some = await readSlice(reader, organizationId, ({ repositories: { search } }) =>
      search.endings(prefix, organizationId, endings.at(-1) ?? null, perTurn.endings),
    );
    if (some === null) return undefined;
    endings.push(...some);
    if (some.length < perTurn.endings || endings.length >= maxEndings) return endings;
  }
}

/** Asked between two slices of indexing: whether to leave the rest for later. */
type Pausing = () => boolean;

/** Runs of an engine: the one under way, and the one after it, which all who ask in the meantime share. */
interface Runs {
  readonly current: Promise<void>;
  next: Promise<void> | null;
}

/** How many searches wait for the index. */
const waitingSearches = new WeakMap<Service['engine'], number>();

const runsByEngine = new WeakMap<Service['engine'], Runs>();

/**
 * Where an index could not be written because it is damaged. It stays so until it is made anew, for which the server is
 * stopped, and is behind the messages from then on: a search tells of it, where it would find too little.
 */
const damaged = new WeakMap<Service['engine'], IndexDamagedError>();

/**
 * Brings the index up to the end of the event log; the first time, and after an import, through all messages.
 * @param pausing once it says true, the rest of the log is left for the next run
 * @returns when everything is indexed that was in the log at the time of the call
 */
export function updateSearchIndex(service: Service, pausing: Pausing = () => false): Promise<void> {
  const known = damaged.get(service.engine);
  // Each write of it would fail with the commit that it is in.
  if (known !== undefined) return Promise.reject(known);
  const underWay = runsByEngine.get(service.engine);
  if (underWay === undefined) return startRun(service, pausing);
  return (underWay.next ??= underWay.current.catch(() => undefined).then(() => startRun(service, pausing)));
}

function startRun(service: Service, pausing: Pausing): Promise<void> {
  const { engine } = service;
  const current = followLog(service, pausing)
    .catch((error: unknown) => {
      if (error instanceof IndexDamagedError) damaged.set(engine, error);
      throw error;
    })
    .finally(() => {
      if (runs.next === null) runsByEngine.delete(engine);
    });
  const runs: Runs = { current, next: null };
  runsByEngine.set(engine, runs);
  return current;
}

/**
 * What a search does first, so that it finds what was sent a moment ago, and not what was edited away. Waits for a
 * limited time; where nothing can be written now, the index is searched as it is.
 * @throws IndexDamagedError where it was not to be written because of that, now or before
 */
export async function catchUpForSearch(service: Service): Promise<void> {
  const { store, clock } = service.engine;
  const isCurrent = await store.read(
    async ({ repositories: { meta, events } }) =>
      Number(await meta.get(cursorKey)) >= (await events.lastSeq()),
  );
  if (isCurrent) return;
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(maxSearchWaitMs, resolve);
  const { engine } = service;
  waitingSearches.set(engine, (waitingSearches.get(engine) ?? 0) + 1);
  await Promise.race([updateSearchIndex(service).catch(() => undefined), late]);
  waitingSearches.set(engine, (waitingSearches.get(engine) ?? 1) - 1);
  cancel();
  const known = damaged.get(engine);
  if (known !== undefined) throw known;
}

async function followLog(service: Service, pausing: Pausing): Promise<void> {
  const { store } = service.engine;
  const { cursor, end } = await store.read(async ({ repositories: { meta, events } }) => ({
    cursor: await meta.get(cursorKey),
    end: await events.lastSeq(),
  }));
  const isWhole = cursor !== undefined && cursor !== unfinished;
  const begin = isWhole ? Number(cursor) : await indexAllMessages(service);
  // An import has removed the cursor since: everything is indexed anew.
  if (begin === null) return;
  for (let position = begin; position < end && !pausing();) {
    const after = position;
    const { events, through } = await store.read((tx) => readLogPage(tx, after, pageSize));
    position = through;
    const changed = new Map<string, UnindexedMessage>();
    for (const { type, message_id: id, organization_id, conversation_id } of events)
      if (id !== null && (type === 'message:new' || type === 'message:edited'))
        changed.set(id, { id, organization_id, conversation_id });
    await indexMessages(service, [...changed.values()]);
    // Not where an import has removed the cursor since: then everything is indexed anew.
    const moved = await store.write(
      cursorScope,
      ({ repositories }) => repositories.meta.replace(cursorKey, String(after), String(position)),
      'behind',
    );
    if (moved === 0) return;
  }
}

/**
 * Has the messages that have no words yet indexed, as those of an import: the cursor is taken away, and the log followed
 * from where it stood afterwards.
 */
export async function indexAllAnew({ repositories: { meta } }: Tx): Promise<void> {
  const cursor = await meta.get(cursorKey);
  if (cursor !== undefined && cursor !== unfinished) await meta.set(followFromKey, cursor);
  await meta.remove(cursorKey);
}

/** @returns from where the log is to be followed now; null: an import came in between, and all begins anew */
async function indexAllMessages(service: Service): Promise<number | null> {
  const { store } = service.engine;
  // Taken first: what is written from here on is in the log after it, and indexing twice changes nothing.
  const begin = await store.write(cursorScope, async ({ repositories: { meta, events } }) => {
    // Of a walk that an older program has begun it is not known: then from the first event.
    const unknown = (await meta.get(cursorKey)) === unfinished ? 0 : await events.lastSeq();
    const from = (await meta.get(followFromKey)) ?? String(unknown);
    await meta.set(cursorKey, unfinished);
    await meta.set(followFromKey, from);
    return from;
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
  return store.write(cursorScope, async ({ repositories: { meta } }) => {
    if ((await meta.replace(cursorKey, unfinished, begin)) === 0) return null;
    await meta.remove(followFromKey);
    return Number(begin);
  });
}

/** In slices; each message is read where it is indexed, so that none is deleted in between. */
async function indexMessages(service: Service, messages: readonly UnindexedMessage[]): Promise<void> {
  for (const [organization, some] of Map.groupBy(messages, (row) => row.organization_id)) {
    const writeSome = <T>(work: (tx: Tx, full: SliceBudget) => Promise<T>): Promise<T> =>
      writeSlice(
        service,
        { organization },
        work,
        (waitingSearches.get(service.engine) ?? 0) > 0 ? 'awaited' : 'background',
      );
    for (let done = 0; done < some.length;) {
      const rest = some.slice(done);
      const { count, isMergeDue } = await writeSome((tx, full) => indexSome(tx, organization, rest, full));
      done += count;
      for (let isDue = isMergeDue; isDue;) isDue = await writeSome(mergeSome);
    }
  }
}

/** What one slice has done. */
interface Indexed {
  readonly count: number;
  /** Whether the index is to be merged before the next slice. */
  readonly isMergeDue: boolean;
}

/**
 * Indexes messages of one organization until the slice is full. A deleted message has nothing to find; one whose row was
 * removed has taken its words along.
 */
async function indexSome(
  { repositories: { search } }: Tx,
  organizationId: string,
  messages: readonly UnindexedMessage[],
  full: SliceBudget,
): Promise<Indexed> {
  // Of an organization that was removed in the meantime, no text is left, and it has no scope.
  let scope: number | undefined;
  let count = 0;
  let isMergeDue = false;
  while (count < messages.length) {
    const some = messages.slice(count, count + textsAtOnce);
    const texts = new Map((await search.textsOf(some.map(({ id }) => id))).map(({ id, text }) => [id, text]));
    for (const { id } of some) {
      const text = texts.get(id);
      if (text !== undefined) {
        scope ??= await search.scopeOf(organizationId);
        isMergeDue = await search.put(scope, id, tokenize(text));
      }
      count += 1;
      if (full(1)) return { count, isMergeDue };
    }
  }
  return { count, isMergeDue };
}

/** Merges until the slice is full. @returns whether more is due */
async function mergeSome({ repositories: { search } }: Tx, full: SliceBudget): Promise<boolean> {
  while (await search.merge()) if (full(0)) return true;
  return false;
}

/**
 * Keeps the index a moment behind the log.
 * @param onFault is called with a run's error; the next commit tries again, unless the index is damaged
 * @returns how to stop
 */
export function startSearchIndexer(service: Service, onFault: (error: unknown) => void): () => Promise<void> {
  let cancel: (() => void) | null = null;
  let indexing: Promise<void> = Promise.resolve();
  let stopped = false;
  let waitingSince: number | null = null;
  /** Since the last look. */
  let changedEvents = 0;
  const isOver = (): boolean => stopped || damaged.has(service.engine);
  const run = (): void => {
    cancel = null;
    const now = service.engine.clock.monotonic();
    waitingSince ??= now;
    // Under load, messages come first: the index waits for a quieter moment, but not for ever.
    const overdue = now - waitingSince >= maxIndexDelayMs;
    const busy = (): boolean => changedEvents > busyThreshold && !overdue;
    if (busy()) {
      changedEvents = 0;
      plan();
      return;
    }
    changedEvents = 0;
    indexing = indexing
      .then(() => (isOver() ? undefined : updateSearchIndex(service, () => stopped || busy())))
      .catch(onFault)
      .then(() => {
        // Left for later, or it came in the meantime.
        if (busy()) plan();
        else waitingSince = null;
      });
  };
  const plan = (): void => {
    if (!isOver()) cancel ??= service.engine.clock.after(indexDelayMs, run);
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
    await indexing;
  };
}
