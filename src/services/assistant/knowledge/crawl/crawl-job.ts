// Runs the crawls that admins have begun: a few at a time, organizations in turn, one of each. What a crawl has come to
// is in its row after every page, so that a server that stops in the middle leaves what was read, and says that it
// broke off.
import type { Engine } from '../../../../engine/engine.ts';
import type { CrawlRow } from '../../../../engine/rows.ts';
import { createFairLimit } from '../../../../net/fair-limit.ts';
import { assistantLimits, crawlLimits } from '../../../../protocol/codes.ts';
import { assertPlanHasAi } from '../../../tenants/applications.ts';
import { ServiceError, toServiceError } from '../../../core/errors.ts';
import { JobLoop } from '../../../core/job-loop.ts';
import type { Service, Tx } from '../../../service.ts';
import { prepareContent, removeDocumentPassages, replacePassages, storeDocument } from '../documents.ts';
import { contentTooLong } from '../files/file-kinds.ts';
import type { CrawledPage } from './crawler.ts';
import { crawlInThread } from './crawl-thread.ts';
import { readProblems } from './crawls.ts';

/** Another process may have begun one. */
const intervalMs = 5_000;
const userAgent = 'deskbell (knowledge)';
const delayMs = 200;
const pageSize = 500;
/** How long one may run: the server runs a few at once, and a slow site must not keep the others waiting. */
const maxMinutes = 30;
const outOfTime = (left: number): string =>
  `It ended after ${maxMinutes} minutes. What was read is there. Pages that were found and not read: ${left}. For these, begin with a part of the site.`;
const brokenOff = 'The server stopped. Begin it again: what is unchanged is left alone.';

interface Runner {
  wake(): void;
  cancel(id: string): void;
}

const runners = new WeakMap<Engine, Runner>();

/** A crawl was begun. */
export function wakeCrawls(engine: Engine): void {
  runners.get(engine)?.wake();
}

/** A crawl was cancelled: its thread ends at once. */
export function stopCrawl(engine: Engine, id: string): void {
  runners.get(engine)?.cancel(id);
}

/**
 * Begins to run crawls. Those that an earlier life of the server has left running are said to have broken off.
 * @param onError called when one could not be run
 * @returns stops it: what runs breaks off
 */
export function startCrawlJob(service: Service, onError: (error: unknown) => void): () => Promise<void> {
  const { engine } = service;
  const limit = createFairLimit({
    maxRunning: crawlLimits.running,
    maxRunningPerKey: 1,
    maxWaiting: Infinity,
    maxWaitingPerKey: Infinity,
  });
  /** How to end each that was taken, by id. */
  const taken = new Map<string, AbortController>();
  const running = new Set<Promise<void>>();
  let isFirst = true;
  const begin = (row: CrawlRow): void => {
    const ending = new AbortController();
    taken.set(row.id, ending);
    const done = limit(row.organization_id, () => runCrawl(service, row.id, ending.signal))
      .catch(onError)
      .finally(() => {
        taken.delete(row.id);
        running.delete(done);
      });
    running.add(done);
  };
  const loop = new JobLoop({
    clock: engine.clock,
    intervalMs,
    onError,
    run: async () => {
      if (isFirst) await engine.store.write('server', (tx) => breakOffAll(tx, service));
      isFirst = false;
      const waiting = await engine.store.read(({ repositories }) => repositories.crawls.waiting());
      for (const row of waiting) if (!taken.has(row.id)) begin(row);
    },
  });
  const runner: Runner = { wake: () => loop.wake(), cancel: (id) => taken.get(id)?.abort() };
  runners.set(engine, runner);
  loop.wake();
  return async () => {
    if (runners.get(engine) === runner) runners.delete(engine);
    await loop.stop();
    if (taken.size === 0) return;
    for (const ending of taken.values()) ending.abort();
    await Promise.all(running);
    // Where that can't be stored now, the next start does it.
    await engine.store.write('server', (tx) => breakOffAll(tx, service)).catch(onError);
  };
}

async function breakOffAll({ repositories: { crawls } }: Tx, { engine }: Service): Promise<void> {
  await crawls.breakOffRunning(brokenOff, engine.clock.now());
}

/** Runs one, if it still waits. */
async function runCrawl(service: Service, id: string, signal: AbortSignal): Promise<void> {
  const { store, clock } = service.engine;
  if (signal.aborted) return;
  const row = await store.write('server', async ({ repositories: { crawls } }) =>
    (await crawls.start(id, clock.now())) > 0 ? crawls.byId(id) : undefined,
  );
  if (row === undefined) return;
  const end = (status: 'done' | 'failed', problem: string | null): Promise<number> =>
    store.write({ organization: row.organization_id }, ({ repositories }) =>
      repositories.crawls.end(id, status, problem, clock.now()),
    );
  try {
    const { status, problem } = await readInTime(service, row, signal);
    // Cut off by the server's end, it is no end of its own.
    if (!signal.aborted) await end(status, problem);
  } catch (thrown) {
    const error = toServiceError(thrown);
    const known = error instanceof ServiceError && error.code !== 'internal_error';
    await end('failed', known ? error.message : 'Something went wrong inside the service. Begin it again.');
    if (!known) throw thrown;
  }
}

interface CrawlEnd {
  readonly status: 'done' | 'failed';
  /** Why nothing could be read, or not all; null: neither. */
  readonly problem: string | null;
}

async function readInTime(service: Service, row: CrawlRow, signal: AbortSignal): Promise<CrawlEnd> {
  const over = new AbortController();
  const cancel = service.engine.clock.after(maxMinutes * 60_000, () => over.abort());
  try {
    return await readSite(service, row, signal, over.signal);
  } finally {
    cancel();
  }
}

/** @param over when its time is over */
async function readSite(
  service: Service,
  row: CrawlRow,
  signal: AbortSignal,
  over: AbortSignal,
): Promise<CrawlEnd> {
  const known = await knownDocuments(service, row);
  const pages = crawlInThread(
    {
      start: row.url,
      maxPages: row.max_pages + (row.prune === 1 ? known.size : 0),
      depth: row.depth,
      withinFolder: row.below === 1,
      allowPrivate: service.settings.crawlPrivate,
      userAgent,
      knownUrls: row.prune === 1 ? [...known.keys()] : [],
      delayMs,
    },
    signal,
    over,
  );
  let first = true;
  let problem: string | null = null;
  const ended = (): CrawlEnd => ({ status: problem === null ? 'done' : 'failed', problem });
  for await (const page of pages) {
    if (signal.aborted) return ended();
    if (page.kind === 'left') {
      await count(service, row, { remaining: page.waiting });
      return problem === null && over.aborted
        ? { status: 'done', problem: outOfTime(page.waiting) }
        : ended();
    }
    if (first && page.kind !== 'page') problem = page.problem;
    else if (page.kind === 'page') problem = null;
    if (!(await takePage(service, row, page, known.get(page.url), first))) return ended();
    first = false;
  }
  return ended();
}

/** The ids of the documents that were made of the site's pages, by their address. */
async function knownDocuments(service: Service, row: CrawlRow): Promise<ReadonlyMap<string, string>> {
  const host = URL.parse(row.url)?.host;
  const known = new Map<string, string>();
  for (let offset = 0; ; offset += pageSize) {
    const page = await service.engine.store.read(({ repositories }) =>
      repositories.knowledge.list(row.organization_id, row.application_id, pageSize, offset),
    );
    for (const { id, source } of page)
      if (/^https?:/.test(source) && URL.parse(source)?.host === host) known.set(source, id);
    if (page.length < pageSize) return known;
  }
}

type Counts = Partial<
  Pick<CrawlRow, 'added' | 'updated' | 'unchanged' | 'skipped' | 'failed' | 'removed' | 'remaining'>
>;

/** Counts what became of a page. @returns false: the crawl is over, or its application is gone */
async function count(
  service: Service,
  row: CrawlRow,
  counts: Counts,
  problem?: { readonly url: string; readonly problem: string },
): Promise<boolean> {
  return service.engine.store.write({ organization: row.organization_id }, (tx) =>
    countIn(tx, row, counts, problem),
  );
}

async function isRunning({ repositories }: Tx, { id }: CrawlRow): Promise<boolean> {
  return (await repositories.crawls.byId(id))?.status === 'running';
}

async function countIn(
  { repositories: { crawls } }: Tx,
  { id }: CrawlRow,
  counts: Counts,
  problem?: { readonly url: string; readonly problem: string },
): Promise<boolean> {
  const now = await crawls.byId(id);
  if (now?.status !== 'running') return false;
  const sum = (name: 'added' | 'updated' | 'unchanged' | 'skipped' | 'failed' | 'removed'): number =>
    now[name] + (counts[name] ?? 0);
  const problems = [...readProblems(now), ...(problem === undefined ? [] : [problem])];
  await crawls.putCounts({
    id,
    pages: now.pages + (counts.remaining === undefined ? 1 : 0),
    added: sum('added'),
    updated: sum('updated'),
    unchanged: sum('unchanged'),
    skipped: sum('skipped'),
    failed: sum('failed'),
    removed: sum('removed'),
    remaining: counts.remaining ?? now.remaining,
    problems: JSON.stringify(problems.slice(-crawlLimits.problems)),
  });
  return true;
}

/** @param before the id of the document that was made of it @returns false: the crawl is over */
async function takePage(
  service: Service,
  row: CrawlRow,
  page: CrawledPage,
  before: string | undefined,
  first: boolean,
): Promise<boolean> {
  if (page.kind === 'page') return keepPage(service, row, page);
  const { url, problem } = page;
  if (page.kind === 'gone' && before !== undefined && row.prune === 1) {
    await removeDocumentPassages(service, { id: before, organization_id: row.organization_id });
    return service.engine.store.write({ organization: row.organization_id }, async (tx) => {
      if (!(await countIn(tx, row, { removed: 1 }))) return false;
      await tx.repositories.knowledge.remove(before);
      return true;
    });
  }
  // A broken link on the site is skipped; an address that was typed and leads nowhere is an error.
  return count(service, row, page.kind === 'gone' && !first ? { skipped: 1 } : { failed: 1 }, {
    url,
    problem,
  });
}

/** The page becomes a document, or the new text of the one that was made of it. */
async function keepPage(
  service: Service,
  row: CrawlRow,
  { url, format, content }: Extract<CrawledPage, { kind: 'page' }>,
): Promise<boolean> {
  if (content.length > assistantLimits.content)
    return count(service, row, { failed: 1 }, { url, problem: contentTooLong });
  const input = { source: url, url, format, content };
  try {
    const prepared = await prepareContent(service, row.organization_id, input);
    const stored = await service.engine.store.write({ organization: row.organization_id }, async (tx) => {
      const application = await tx.repositories.applications.byId(row.application_id);
      // Cancelled, or gone with its application.
      if (application === undefined || !(await isRunning(tx, row))) return null;
      await assertPlanHasAi(tx, row.organization_id);
      const { added, unfinished } = await storeDocument(tx, service, application, input, prepared);
      await countIn(tx, row, { [added.change]: 1 });
      return { unfinished };
    });
    if (stored === null) return false;
    // What is left of a long document follows in slices.
    if (stored.unfinished !== null) await replacePassages(service, stored.unfinished, prepared);
    return true;
  } catch (error) {
    // Of one document; anything else would meet every other one, too.
    if (!(error instanceof ServiceError) || error.code !== 'bad_request') throw error;
    return count(service, row, { failed: 1 }, { url, problem: error.message });
  }
}
