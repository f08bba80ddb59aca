// The crawl of one site: page after page, politely, within bounds, as its robots.txt
// allows. Hands on what it read; stores nothing and knows no application.
import robotsParser from 'robots-parser';
import type { KnowledgeFormat } from '../../../../protocol/assistant.ts';
import { fileKinds, type FileKind } from '../../../../protocol/codes.ts';
import type { Clock } from '../../../../engine/engine.ts';
import { HtmlDepthError } from '../chunking/blocks.ts';
import { createSsrfGuard, type ResolveHost } from '../../../../net/ssrf-guard.ts';
import { decodePage } from './decode.ts';
import { fetchPage, type FetchResult, type FetchOptions } from './fetch-page.ts';
import { parentPath, isWithinSite, normalizePageUrl } from './page-url.ts';
import { FileRefusedError } from '../files/file-kinds.ts';
import { readFile } from '../files/read-file.ts';
import { extractLinks, isIndexable } from './page-links.ts';

export interface CrawlOptions {
  readonly clock: Pick<Clock, 'after'>;
  /** Where it begins. */
  readonly start: URL;
  /** How many pages at most. */
  readonly maxPages: number;
  /** How many links away from the start. */
  readonly depth: number;
  /** Only pages in the folder of the start. */
  readonly withinFolder: boolean;
  readonly allowPrivate: boolean;
  readonly userAgent: string;
  /** Addresses to look at besides, as those known from the last time. */
  readonly knownUrls: readonly string[];
  /** ms between two requests, unless robots.txt asks for more. */
  readonly delayMs: number;
  /** Ends early when the signal does. */
  readonly sleep: (ms: number) => Promise<void>;
  readonly signal: AbortSignal;
  /** Whether its time is over: it ends before the next page, and says what was left; left out: it has all the time. */
  readonly isOver?: (() => boolean) | undefined;
  /** As the guard has it unless a test has its own. */
  readonly resolve?: ResolveHost | undefined;
}

export type CrawledPage =
  | {
      readonly kind: 'page';
      readonly url: string;
      readonly format: KnowledgeFormat;
      readonly content: string;
    }
  /** `gone`: there is no page, or the site does not want it kept; `failed`: there may be one, and it could not be read. */
  | { readonly kind: 'failed' | 'gone'; readonly url: string; readonly problem: string };

/** Said last when it ended at its number of pages or when its time was over: how many addresses were left. */
export interface CrawlTruncated {
  readonly kind: 'left';
  readonly waiting: number;
}

/** The package's types describe another kind of module than it is. */
const parseRobots = robotsParser as unknown as (
  address: string,
  text: string,
) => {
  isAllowed(url: string, name: string): boolean | undefined;
  getCrawlDelay(name: string): number | undefined;
  getSitemaps(): string[];
};

const kinds: Readonly<Record<string, FileKind>> = { 'application/xhtml+xml': 'html', ...fileKinds };
const pageTypes = Object.keys(kinds).join(',');
/** A site's files are read in one turn, as the crawl is one. */
const turnOfFiles = 'crawl';
const noindex = 'the page does not want to be kept (noindex)';
const disallowed = 'robots.txt of the site does not allow it';
const maxDelayMs = 10_000;
const maxSitemaps = 10;
const maxQueued = 20_000;

interface Robots {
  allows(url: URL): boolean;
  readonly delayMs: number;
  readonly sitemaps: readonly string[];
}

/** Reads a site's pages, one at a time. Fails of a page are pages of the answer; the walk itself does not throw. */
export async function* crawlSite(options: CrawlOptions): AsyncGenerator<CrawledPage | CrawlTruncated> {
  const { clock, start: given, maxPages, signal } = options;
  const guard = createSsrfGuard(options.allowPrivate, options.resolve);
  const fetching: FetchOptions = { clock, guard, userAgent: options.userAgent, signal };
  const site = normalizePageUrl(given.href) ?? given;
  const robots = await fetchRobots(site, fetching);
  if (typeof robots === 'string') {
    yield { kind: 'failed', url: site.href, problem: robots };
    return;
  }
  const below = options.withinFolder ? parentPath(site) : '/';
  const waiting: { url: URL; depth: number }[] = [];
  const seen = new Set<string>();
  const done = new Set<string>();
  const add = (url: URL | null, depth: number): void => {
    if (url === null || seen.has(url.href) || seen.size >= maxQueued || !isWithinSite(url, origin, below))
      return;
    seen.add(url.href);
    waiting.push({ url, depth });
  };
  let origin = site;
  seen.add(site.href);
  waiting.push({ url: site, depth: 0 });
  let first = true;
  for (let pages = 0; !signal.aborted; pages += 1) {
    const next = waiting.shift();
    if (next === undefined) return;
    if (pages === maxPages || options.isOver?.() === true) {
      yield { kind: 'left', waiting: waiting.length + 1 };
      return;
    }
    if (!robots.allows(next.url)) {
      // Told only of what was asked for: a site may disallow thousands.
      if (first || options.knownUrls.includes(next.url.href))
        yield { kind: 'gone', url: next.url.href, problem: disallowed };
      pages -= first ? 0 : 1;
      first = false;
      continue;
    }
    if (!first) await options.sleep(Math.max(options.delayMs, robots.delayMs));
    const page = await fetchPage(next.url, pageTypes, fetching, (url) =>
      robots.allows(url) ? null : disallowed,
    );
    if (first && page.ok) {
      // A site that has moved to https is the same site.
      origin = normalizePageUrl(page.url.href) ?? origin;
    }
    const read = await parsePage(next.url, page, origin, below);
    for (const link of read.links) if (next.depth < options.depth) add(link, next.depth + 1);
    if (first) {
      for (const address of await fetchSitemaps(origin, robots.sitemaps, fetching))
        add(normalizePageUrl(address), 1);
      for (const address of options.knownUrls) add(normalizePageUrl(address), options.depth);
    }
    first = false;
    if (done.has(read.page.url)) continue;
    done.add(read.page.url);
    seen.add(read.page.url);
    yield read.page;
  }
}

interface ParsedPage {
  readonly page: CrawledPage;
  readonly links: readonly URL[];
}

async function parsePage(asked: URL, fetched: FetchResult, site: URL, below: string): Promise<ParsedPage> {
  const failed = (problem: string, gone = false): ParsedPage => ({
    page: { kind: gone ? 'gone' : 'failed', url: asked.href, problem },
    links: [],
  });
  // What is answered well and is no page is none for ever.
  if (!fetched.ok)
    return failed(fetched.problem, fetched.status !== null && [200, 404, 410].includes(fetched.status));
  const url = normalizePageUrl(fetched.url.href) ?? asked;
  const format = kinds[fetched.mediaType] ?? 'html';
  if (format === 'pdf' || format === 'docx') {
    if (!isIndexable(fetched.robotsTag)) return failed(noindex, true);
    try {
      const document = await readFile(format, fetched.bytes, turnOfFiles);
      return { page: { kind: 'page', url: url.href, ...document }, links: [] };
    } catch (error) {
      if (error instanceof FileRefusedError) return failed(error.message);
      throw error;
    }
  }
  const text = decodePage(fetched.bytes, fetched.charset);
  if (text === null) return failed('it is no text');
  if (format !== 'html') return { page: { kind: 'page', url: url.href, format, content: text }, links: [] };
  try {
    const { links, canonical, base, indexable } = extractLinks(text, fetched.robotsTag);
    const from = (base === null ? null : URL.parse(base, url.href)) ?? url;
    const found = links.flatMap((link) => normalizePageUrl(link, from) ?? []);
    if (!indexable)
      return {
        page: { kind: 'gone', url: asked.href, problem: noindex },
        links: found,
      };
    const named = canonical === null ? null : normalizePageUrl(canonical, url);
    const known = named !== null && isWithinSite(named, site, below) ? named : url;
    return { page: { kind: 'page', url: known.href, format, content: text }, links: found };
  } catch (error) {
    if (error instanceof HtmlDepthError) return failed(`it ${error.message}`);
    throw error;
  }
}

/** What robots.txt says (RFC 9309): none means all is allowed, one that can't be read means nothing is. */
async function fetchRobots(site: URL, fetching: FetchOptions): Promise<Robots | string> {
  const address = new URL('/robots.txt', site);
  const fetched = await fetchPage(address, 'text/plain', fetching);
  if (!fetched.ok) {
    // No answer of the kind that was asked for is none: many sites answer a page for everything.
    if (fetched.status !== null && fetched.status < 500)
      return { allows: () => true, delayMs: 0, sitemaps: [] };
    // Without an answer there is no page either.
    return fetched.status === null ? fetched.problem : `its robots.txt could not be read: ${fetched.problem}`;
  }
  const robots = parseRobots(address.href, fetched.bytes.toString('utf8', 0, 500_000));
  const name = fetching.userAgent.split(/[/ ]/, 1)[0] ?? '';
  return {
    allows: (url) => robots.isAllowed(new URL(url.pathname + url.search, address).href, name) !== false,
    delayMs: Math.min((robots.getCrawlDelay(name) ?? 0) * 1_000, maxDelayMs),
    sitemaps: robots.getSitemaps(),
  };
}

/** The addresses in a site's sitemaps; none when there are none. */
async function fetchSitemaps(site: URL, named: readonly string[], fetching: FetchOptions): Promise<string[]> {
  const waiting = (named.length > 0 ? named : ['/sitemap.xml']).flatMap(
    (address) => normalizePageUrl(address, site) ?? [],
  );
  const addresses: string[] = [];
  for (let read = 0; read < maxSitemaps && addresses.length < maxQueued; read += 1) {
    const next = waiting.shift();
    if (next === undefined) break;
    if (next.host !== site.host) continue;
    const fetched = await fetchPage(
      next,
      'application/xml,text/xml,text/plain,application/rss+xml',
      fetching,
    );
    if (!fetched.ok) continue;
    const text = fetched.bytes.toString('utf8');
    const found = [...text.matchAll(/<loc>\s*(?:<!\[CDATA\[)?([^<\]]{1,2000})/g)].map(([, address]) =>
      (address ?? '').trim().replaceAll('&amp;', '&'),
    );
    if (/<sitemapindex[\s>]/.test(text))
      waiting.push(
        ...found.slice(0, maxSitemaps).flatMap((address) => normalizePageUrl(address, site) ?? []),
      );
    // Not as arguments of one call: a sitemap may name more than a call takes.
    else for (const address of found.slice(0, maxQueued)) addresses.push(address);
  }
  return addresses;
}
