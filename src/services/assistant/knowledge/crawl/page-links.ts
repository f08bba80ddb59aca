// What a page says about itself and others for the crawl: its links, its canonical
// address, and whether robots may keep it or follow it. Fetches nothing.
import { getAttribute, isElement, parseHtml, walk } from '../chunking/html-tree.ts';

export interface PageLinks {
  readonly links: readonly string[];
  /** As written; null: none. */
  readonly canonical: string | null;
  /** As written in <base href>; null: none. */
  readonly base: string | null;
  readonly indexable: boolean;
}

const maxLinks = 5_000;

/**
 * @param robotsTag the header X-Robots-Tag
 * @throws HtmlDepthError
 */
export function extractLinks(html: string, robotsTag: string): PageLinks {
  const links: string[] = [];
  let canonical: string | null = null;
  let base: string | null = null;
  let robots = robotsTag;
  for (const node of walk(parseHtml(html))) {
    if (!isElement(node)) continue;
    const { tagName } = node;
    const rel =
      tagName === 'a' || tagName === 'link'
        ? (getAttribute(node, 'rel') ?? '').toLowerCase().split(/\s+/)
        : [];
    const href = getAttribute(node, 'href');
    if (tagName === 'base') base ??= href;
    else if (tagName === 'link' && rel.includes('canonical')) canonical ??= href;
    else if (tagName === 'a' && href !== null && !rel.includes('nofollow') && links.length < maxLinks)
      links.push(href);
    else if (tagName === 'meta' && getAttribute(node, 'name')?.toLowerCase() === 'robots')
      robots += `,${getAttribute(node, 'content') ?? ''}`;
  }
  const says = wordsOf(robots);
  return {
    links: says.includes('none') || says.includes('nofollow') ? [] : links,
    canonical,
    base,
    indexable: isIndexable(robots),
  };
}

/** Whether what a page says to robots lets it be kept. */
export function isIndexable(robots: string): boolean {
  const says = wordsOf(robots);
  return !says.includes('none') && !says.includes('noindex');
}

const wordsOf = (robots: string): string[] => robots.toLowerCase().split(/[,\s]+/);
