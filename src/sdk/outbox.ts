// What the visitor wrote and the service has not confirmed yet: kept in storage, one
// entry a key, so that tabs never overwrite each other's. Must not send anything itself.
import { attempt } from './error.ts';
import type { ContentFormat, KeyValueStorage } from './types.ts';

export interface OutboxEntry {
  /** The `clientMessageId`: however often it is sent, it is stored once. */
  readonly key: string;
  /** A draft conversation's own key until the service has given it an id. */
  readonly conversationId: string;
  readonly draft: boolean;
  readonly content: string;
  readonly contentFormat: ContentFormat;
  /** Ms since the epoch by the page's clock; entries go out in this order. */
  readonly at: number;
  /** It has been on its way at least once, so it may be stored already. */
  readonly tried: boolean;
  /** Why it was refused for good; it waits for a retry. Empty: it was not. */
  readonly failure: string;
  /** The stored message that it seems to be: the answer has yet to say so. Empty: none. */
  readonly echo: string;
  /** Confirmed, but its place among the others has not been heard yet; no longer in storage. Empty: not yet. */
  readonly sentAs: string;
}

export interface Outbox {
  readonly entries: readonly OutboxEntry[];
  /** Adds an entry or takes over its newer form. */
  put(entry: OutboxEntry): void;
  /** Takes over what another tab has put. */
  mirror(entry: OutboxEntry): void;
  remove(key: string): void;
  find(key: string): OutboxEntry | undefined;
  /** A time later than that of every entry. */
  nextTime(now: number): number;
  /** Reads what earlier pages left. */
  load(): void;
  /** Forgets everything; storage is the caller's business. */
  clear(): void;
}

/**
 * @param storage null: memory only
 * @param prefix what the keys begin with: the application and the visitor
 */
export function createOutbox(storage: KeyValueStorage | null, prefix: () => string): Outbox {
  let entries: readonly OutboxEntry[] = [];
  const keep = (entry: OutboxEntry): void => {
    entries = [...entries.filter(({ key }) => key !== entry.key), entry].toSorted((one, other) => one.at - other.at);
  };
  const drop = (key: string): void => {
    // Blocked meanwhile? Memory is all there is.
    attempt(() => storage?.removeItem(prefix() + key));
  };
  return {
    get entries() {
      return entries;
    },
    put: (entry) => {
      keep(entry);
      if (entry.sentAs) return drop(entry.key);
      // Full or blocked? It goes out all the same, as long as this page lives.
      attempt(() => storage?.setItem(prefix() + entry.key, JSON.stringify(entry)));
      return undefined;
    },
    mirror: keep,
    remove: (key) => {
      entries = entries.filter((one) => one.key !== key);
      drop(key);
    },
    find: (key) => entries.find((one) => one.key === key),
    nextTime: (now) => Math.max(now, (entries.at(-1)?.at ?? 0) + 1),
    load: () => {
      for (const name of namesIn(storage, prefix()))
        // Somebody else wrote there, or half of it? Not ours to send.
        attempt(() => {
          // What it resembled is looked for anew: this page has no history yet.
          keep({ ...(JSON.parse(storage?.getItem(name) ?? '') as OutboxEntry), echo: '' });
        });
    },
    clear: () => {
      entries = [];
    },
  };
}

/** The keys in a storage that begin alike. */
export function namesIn(storage: KeyValueStorage | null, prefix: string): string[] {
  return Array.from({ length: attempt(() => storage?.length) ?? 0 }, (_, index) => storage?.key(index) ?? '').filter((name) => name.startsWith(prefix));
}
