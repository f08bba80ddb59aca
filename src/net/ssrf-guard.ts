// Protects requests whose address a customer chose (SSRF): a name resolves only to addresses that may be reached, and
// the connection uses the very answer that was checked, so a name that changes in between (DNS rebinding) gains nothing.
import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { createDnsLookup } from './dns-lookup.ts';
import { isLocalHostname, isPublicAddress, parseIpHost } from './ip-ranges.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** Calls back with all addresses of a name, or with the reason why it has none. */
export type ResolveHost = (
  hostname: string,
  done: (error: Error | null, found: ResolvedAddress[]) => void,
) => void;

/** An address that may not be reached, or a name that has no other. */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
}

export interface SsrfGuard {
  /** For the `lookup` option of a request. Fails with BlockedAddressError. */
  readonly lookup: LookupFunction;
  /** Whether a URL's host is an IP address that may not be reached. Node looks up no such host. */
  blocks(url: URL): boolean;
}

/**
 * @param allowPrivate whether private and local addresses may be reached, and with them the names that this machine alone knows
 * @param resolve the DNS, or the system's resolver with them, unless a test has its own
 */
export function createSsrfGuard(
  allowPrivate: boolean,
  resolve: ResolveHost = allowPrivate ? resolveWithSystem : resolveInDns,
): SsrfGuard {
  const isAllowed = (address: string): boolean => allowPrivate || isPublicAddress(address);
  return {
    blocks: (url) => {
      const literal = parseIpHost(url.hostname);
      return literal !== null && !isAllowed(literal);
    },
    lookup: (hostname, options, callback) => {
      // This machine by definition: nothing is to be looked up.
      if (!allowPrivate && isLocalHostname(hostname)) {
        callback(new BlockedAddressError(`${hostname} is this machine`), '');
        return;
      }
      resolve(hostname, (error, found) => {
        const usable = error === null ? found.filter(({ address }) => isAllowed(address)) : [];
        const [first] = usable;
        if (first === undefined)
          callback(
            error ?? new BlockedAddressError(`${hostname} resolves to a private or local address`),
            '',
          );
        else if (options.all === true) callback(null, usable);
        else callback(null, first.address, first.family);
      });
    },
  };
}

const resolveInDns = createDnsLookup();

const resolveWithSystem: ResolveHost = (hostname, done) =>
  systemLookup(hostname, { all: true, verbatim: true }, done);
