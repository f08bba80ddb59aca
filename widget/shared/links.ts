// Owns which addresses become links, and what such a link looks like.
import { h } from './dom.ts';

/** Makes a link that opens beside the page; null for an address that must not be one. */
export function link(url: unknown, content: readonly Node[]): HTMLAnchorElement | null {
  const href = safeAddress(url);
  if (href === null) return null;
  return h('a', { href, target: '_blank', rel: 'noopener noreferrer nofollow ugc' }, ...content);
}

/**
 * The address in its normal form when a message may link to it: http, https, mailto or tel; otherwise null.
 * @param base what a relative address begins at; without one it is none
 */
export function safeAddress(url: unknown, base?: string): string | null {
  if (typeof url !== 'string') return null;
  try {
    const { protocol, href, username, password } = new URL(url, base);
    return /^(https?|mailto|tel):$/.test(protocol) && username + password === '' ? href : null;
  } catch {
    return null;
  }
}
