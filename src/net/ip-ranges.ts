// Which IP addresses are public, which are this machine, and which belong to the same customer. Knows no names: callers
// ask about the address that a name resolved to.
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { keepResults } from './keep-results.ts';

/** The only space of IPv6 that is routed on the public internet. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** @returns null for a text that is no IP address; ipaddr.js alone would also read 0x7f.1 and 2130706433 */
function parseIp(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  return isIP(text) === 0 ? null : ipaddr.parse(withoutShortCompatible(text));
}

/** ipaddr.js takes ::127.0.0.1 (IPv4-compatible, never routed, RFC 4291 §2.5.5.1) for the mapped ::ffff:127.0.0.1. */
function withoutShortCompatible(text: string): string {
  return text.replace(/^::(?=\d+\.)/, '0::');
}

/**
 * True for an IP address of the public internet. An IPv4 address mapped or embedded into IPv6, an address with a zone,
 * and a text that is no address are not public.
 */
export function isPublicAddress(text: string): boolean {
  const address = parseIp(text);
  if (address === null || address.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv4 || (address.zoneId === undefined && address.match(globalUnicast));
}

/** The canonical text of an IP address, without a zone; an IPv4 address mapped into IPv6 as IPv4. null: no address. */
export const canonicalAddress = keepResults((text: string): string | null => {
  const [bare = ''] = text.split('%', 1);
  if (isIP(bare) === 0 || (isIP(bare) === 4 && bare !== text)) return null;
  const address = ipaddr.process(withoutShortCompatible(bare));
  return address instanceof ipaddr.IPv4 ? address.toString() : address.toRFC5952String();
});

/**
 * The key under which an address is rate limited: an IPv4 address itself, an IPv6 address as its /64 network, since a
 * provider gives each customer at least that many. A text that is no address is its own key.
 */
export function addressKey(text: string): string {
  const canonical = canonicalAddress(text);
  if (canonical === null) return text;
  const address = ipaddr.parse(canonical);
  if (address instanceof ipaddr.IPv4) return canonical;
  const network = address.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}

/** A network that is rate limited, and how many times the limit of a single address it has. */
export interface LimitedNetwork {
  readonly key: string;
  readonly factor: number;
}

/**
 * The networks under which an address is rate limited: itself or its /64, and for IPv6 also its /56 and /48, which
 * many providers give to one customer.
 */
export const addressNetworks = keepResults((text: string): readonly LimitedNetwork[] => {
  const own: LimitedNetwork = { key: addressKey(text), factor: 1 };
  const canonical = canonicalAddress(text);
  if (canonical === null) return [own];
  const address = ipaddr.parse(canonical);
  if (address instanceof ipaddr.IPv4) return [own];
  const [first = 0, second = 0, third = 0, fourth = 0] = address.parts;
  const hex = (...parts: number[]): string => parts.map((part) => part.toString(16)).join(':');
  return [
    own,
    { key: `${hex(first, second, third, fourth & 0xff00)}::/56`, factor: 4 },
    { key: `${hex(first, second, third)}::/48`, factor: 16 },
  ];
});

/** Whether an address is this machine itself: 127.0.0.0/8 or ::1, also mapped into IPv6. */
export function isLoopbackAddress(text: string): boolean {
  const canonical = canonicalAddress(text);
  return canonical !== null && ipaddr.parse(canonical).range() === 'loopback';
}

/** The IP address that a URL's host is, without brackets; null for a name. The URL parser has decoded 0x7f.1 already. */
export function parseIpHost(hostname: string): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? null : bare;
}

/** True for a name that means this machine by definition (RFC 6761). */
export function isLocalHostname(hostname: string): boolean {
  return /^(?:.+\.)?localhost\.?$/.test(hostname);
}

/** Whether a URL's host is this machine, as a name or as an address. */
export function isLoopbackHost(hostname: string): boolean {
  return isLocalHostname(hostname) || isLoopbackAddress(parseIpHost(hostname) ?? '');
}

/** Whether a URL's host is a private or local address, or this machine. What another name leads to is known when connecting. */
export function leadsInside(hostname: string): boolean {
  const address = parseIpHost(hostname);
  return address === null ? isLocalHostname(hostname) : !isPublicAddress(address);
}
