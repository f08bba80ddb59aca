// Looks up names that a customer chose: in the DNS alone, all at once. The system's own way takes one of two threads that the
// whole process has for it, for as long as the name's servers leave it waiting; whose servers never answer would have all others
// wait, whatever they send. It also knows the machine's own names, which lead nowhere that may be reached.
import { promises } from 'node:dns';
import { errorCode } from './network-errors.ts';
import type { ResolvedAddress, ResolveHost } from './ssrf-guard.ts';

/** For one question to one server, ms; the second time it waits twice as long. */
const waitMs = 2_000;
/** After so long the system's settings are read again. */
const keptMs = 60_000;
const unknown: readonly string[] = ['ENOTFOUND', 'ENODATA', 'EBADNAME'];

export interface DnsLookupOptions {
  /** Addresses of the DNS servers to ask; left out: those of the system. */
  readonly servers?: readonly string[];
  readonly timeoutMs?: number;
}

/** A way to look names up that holds no thread. */
export function createDnsLookup({ servers, timeoutMs = waitMs }: DnsLookupOptions = {}): ResolveHost {
  let resolver: promises.Resolver | null = null;
  let readAt = 0;
  const current = (): promises.Resolver => {
    const now = performance.now();
    if (resolver !== null && now - readAt < keptMs) return resolver;
    resolver = new promises.Resolver({ timeout: timeoutMs, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    readAt = now;
    return resolver;
  };
  return (hostname, done) => void tell(find(current(), hostname), done);
}

interface Found {
  readonly error: Error | null;
  readonly addresses: ResolvedAddress[];
}

/** Hands what was found, which is never a rejection, to who takes callbacks. */
async function tell(outcome: Promise<Found>, done: Parameters<ResolveHost>[1]): Promise<void> {
  const { error, addresses } = await outcome;
  done(error, addresses);
}

async function find(resolver: promises.Resolver, hostname: string): Promise<Found> {
  const answers = await Promise.all([
    addressesOf(resolver.resolve4(hostname), 4),
    addressesOf(resolver.resolve6(hostname), 6),
  ]);
  const addresses = answers.flatMap((answer) => (Array.isArray(answer) ? answer : []));
  if (addresses.length > 0) return { error: null, addresses };
  const isUnknown = answers.every((answer) => Array.isArray(answer) || unknown.includes(answer));
  return { error: lookupError(isUnknown ? 'ENOTFOUND' : 'EAI_AGAIN'), addresses };
}

/** @returns the addresses, or the code of what was wrong */
async function addressesOf(answer: Promise<string[]>, family: 4 | 6): Promise<ResolvedAddress[] | string> {
  try {
    return (await answer).map((address) => ({ address, family }));
  } catch (error) {
    return errorCode(error);
  }
}

/** As the system's own way tells it. */
const lookupError = (code: 'ENOTFOUND' | 'EAI_AGAIN'): Error =>
  Object.assign(new Error('the name could not be looked up'), { code });
