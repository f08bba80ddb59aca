// Whose address a request counts for: the socket's, or the one that trusted proxies report. A forwarded header is never
// believed beyond the number of proxies that the setting names.
import { canonicalAddress } from './ip-ranges.ts';

const unknownAddress = 'unknown';

/** One entry of X-Forwarded-For: an address, with brackets and a port as some proxies write it. */
function forwardedAddress(entry: string): string | null {
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(entry);
  if (bracketed) {
    const inner = bracketed[1] ?? '';
    return inner.includes(':') ? canonicalAddress(inner) : null;
  }
  const withPort = /^([\d.]+):\d{1,5}$/.exec(entry);
  return canonicalAddress(withPort?.[1] ?? entry);
}

/**
 * The address of the caller.
 *
 * @param socketAddress the socket's remote address
 * @param forwardedFor the header X-Forwarded-For, as Node returns it
 * @param trustProxy how many proxies in front are trusted. With 0 (or anything but a whole number of 1 or more) the header
 *   is ignored. With N the Nth entry from the right counts, because each proxy appends the address that it saw. Where the
 *   list is shorter, or the entry is no IP address, the socket's address counts
 * @returns a canonical IPv4 or IPv6 address, or `unknown` when the socket has none any more
 */
export function clientAddress(
  socketAddress: string | undefined,
  forwardedFor: string | readonly string[] | undefined,
  trustProxy: number,
): string {
  const socket = canonicalAddress(socketAddress ?? '') ?? unknownAddress;
  if (!Number.isInteger(trustProxy) || trustProxy < 1 || forwardedFor === undefined) return socket;
  const entries = (typeof forwardedFor === 'string' ? forwardedFor : forwardedFor.join(',')).split(',');
  const entry = entries.at(-trustProxy);
  return (entry === undefined ? null : forwardedAddress(entry.trim())) ?? socket;
}
