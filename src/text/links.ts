// Owns which addresses a message may link to. Must not know about nodes or tags.

const WEB: ReadonlySet<string> = new Set(['http:', 'https:']);
const OTHER: ReadonlySet<string> = new Set(['mailto:', 'tel:']);
const CONTROL = /\p{Cc}/u;
// What stands between `//` and the path, in the text itself: the parser would forgive missing and surplus slashes.
const AUTHORITY = /^[a-z]+:\/\/(?<authority>[^/?#\\]+)/i;
const PLAIN_ASCII = /^[\u0021-\u005b\u005d-\u007e]+$/;

/**
 * The address for `href`, or null when a link to it must become its text. Only absolute http, https, mailto and tel
 * addresses without user name or password are kept; the scheme is the one that a browser's own parser finds, read
 * without a base. An address of plain ASCII is kept letter for letter; anything else comes back in its normal form
 * (a look-alike domain shows as punycode, other letters as percent escapes).
 *
 * @param address the `url` field as it came, of any type
 */
export function safeHref(address: unknown): string | null {
  if (typeof address !== 'string') return null;
  const trimmed = address.trim();
  // The URL parser silently removes control characters, which is how `java\nscript:` works; refuse them outright.
  if (CONTROL.test(trimmed)) return null;
  const url = URL.parse(trimmed);
  if (url === null) return null;
  const authority = AUTHORITY.exec(trimmed)?.groups?.['authority'] ?? '';
  if (authority.includes('@')) return null;
  // Without a host after exactly two slashes (`https:page`) a browser on the same scheme stays on its own site.
  const complete = WEB.has(url.protocol) ? authority !== '' : OTHER.has(url.protocol) && url.pathname !== '';
  if (!complete) return null;
  return PLAIN_ASCII.test(trimmed) ? trimmed : url.href;
}

/** What a link's `rel` may say, in the order in which it is written. */
const relTokens = ['nofollow', 'noopener', 'noreferrer', 'sponsored', 'ugc'];
/** Without these, the page behind a link reaches the page that it was opened from. */
const newTabTokens = ['noopener', 'noreferrer'];

/**
 * The tokens of a link's `rel` that are kept, each once.
 * @param rel as it was sent
 * @param newTab whether the link opens a page of its own
 * @returns tokens with a blank between; empty: none
 */
export function readRel(rel: unknown, newTab: boolean): string {
  const sent = new Set(typeof rel === 'string' ? rel.toLowerCase().split(/[\t\n\f\r ]/) : []);
  return relTokens.filter((token) => sent.has(token) || (newTab && newTabTokens.includes(token))).join(' ');
}
