// Owns whose address a request counts for: the socket's, or the one that trusted proxies report.
// It must never believe a forwarded header beyond the number of proxies that the setting names.

import { isIP } from 'node:net';

const unknownAddress = 'unknown';

/** The canonical text of an IP address, or null when it is none; an IPv4 address mapped into IPv6 becomes IPv4. */
function canonical(text: string): string | null {
  const zone = text.indexOf('%');
  const bare = zone === -1 ? text : text.slice(0, zone);
  const family = isIP(bare);
  if (family === 0) return null;
  if (family === 4) return zone === -1 ? bare : null;
  const address = new URL(`http://[${bare}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(address);
  if (!mapped) return address;
  const high = Number.parseInt(mapped[1] ?? '', 16);
  const low = Number.parseInt(mapped[2] ?? '', 16);
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}

/** One entry of X-Forwarded-For: an address, perhaps with brackets and a port, as some proxies write it. */
function forwardedAddress(entry: string): string | null {
  const bracketed = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(entry);
  if (bracketed) {
    const inner = bracketed[1] ?? '';
    return inner.includes(':') ? canonical(inner) : null;
  }
  const withPort = /^([\d.]+):\d{1,5}$/.exec(entry);
  return canonical(withPort ? (withPort[1] ?? '') : entry);
}

/**
 * The address of the caller.
 *
 * Takes the socket's remote address, the X-Forwarded-For header as Node gives it, and the number of trusted proxies in
 * front. With 0 (or anything but a whole number of 1 or more) no header is believed; with N the Nth entry from the
 * right counts, because each proxy appends the address that it saw. When the list is shorter than that, or the entry is
 * no IP address, the socket's address counts: whatever such a caller sends gains it nothing.
 * Returns a canonical IPv4 or IPv6 address, or `unknown` when the socket has none any more. Throws nothing.
 */
export function callerAddress(
  socketAddress: string | undefined,
  forwardedFor: string | readonly string[] | undefined,
  trustProxy: number,
): string {
  const socket = canonical(socketAddress ?? '') ?? unknownAddress;
  if (!Number.isInteger(trustProxy) || trustProxy < 1 || forwardedFor === undefined) return socket;
  const entries = (typeof forwardedFor === 'string' ? forwardedFor : forwardedFor.join(',')).split(',');
  const entry = entries.at(-trustProxy);
  return (entry === undefined ? null : forwardedAddress(entry.trim())) ?? socket;
}

/**
 * The key under which an address is limited: an IPv4 address itself, an IPv6 address as its /64 network, since one
 * customer of a provider commands at least that many. Takes any text; what is no address is its own key.
 */
export function addressKey(address: string): string {
  const known = canonical(address);
  if (known === null) return address;
  if (isIP(known) === 4) return known;
  const [left = '', right = ''] = known.split('::');
  const before = left === '' ? [] : left.split(':');
  const after = right === '' ? [] : right.split(':');
  const gap = known.includes('::') ? Array.from({ length: 8 - before.length - after.length }, () => '0') : [];
  return `${[...before, ...gap, ...after].slice(0, 4).join(':')}::/64`;
}

/** Whether an address is this machine itself: 127.0.0.0/8 or ::1, also mapped into IPv6. A name never is. */
export function isLoopback(address: string): boolean {
  const known = canonical(address);
  return known !== null && (known === '::1' || (isIP(known) === 4 && known.startsWith('127.')));
}
