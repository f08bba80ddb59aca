// The lookup of names for requests that somebody else's words direct: it hands on only
// addresses that may be reached, and whoever connects uses the very answer it looked at.
import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { addressOfHost, isPublicAddress } from './public-address.ts';

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** Hands on all addresses of a name, or why it has none. */
export type Resolve = (hostname: string, done: (error: Error | null, found: ResolvedAddress[]) => void) => void;

/** Where a name leads may not be reached. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

export interface Guard {
  /** For the `lookup` option of a request. It fails with AddressRefused. */
  readonly lookup: LookupFunction;
  /** Whether a URL's host is an address that may not be reached: the network layer asks no lookup about those. */
  refuses(url: URL): boolean;
}

/** @param resolve the system's resolver unless a test has its own */
export function createGuard(allowPrivate: boolean, resolve: Resolve = resolveBySystem): Guard {
  const permitted = (address: string): boolean => allowPrivate || isPublicAddress(address);
  return {
    refuses: (url) => {
      const literal = addressOfHost(url.hostname);
      return literal !== null && !permitted(literal);
    },
    lookup: (hostname, options, callback) => {
      resolve(hostname, (error, found) => {
        const usable = error === null ? found.filter(({ address }) => permitted(address)) : [];
        const [first] = usable;
        if (first === undefined) callback(error ?? new AddressRefused(`${hostname} leads to a private or local address`), '');
        else if (options.all === true) callback(null, usable);
        else callback(null, first.address, first.family);
      });
    },
  };
}

const resolveBySystem: Resolve = (hostname, done) => systemLookup(hostname, { all: true, verbatim: true }, done);
