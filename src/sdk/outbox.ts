// What the visitor wrote and the service has not confirmed yet: kept in storage, one
// entry a key, so that tabs never overwrite each other's. Must not send anything itself.
import { attempt, type sdkError } from './error.ts';
import type { ContentFormat, KeyValueStorage } from './types.ts';

/** An error in a form that storage and channels carry. */
export type Failure = Parameters<typeof sdkError>;

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
  readonly tried?: boolean;
  /** Why it was refused for good, as `sdkError` takes it; it waits for a retry. */
  readonly failure?: Failure | undefined;
  /** The stored message that it seems to be: the answer has yet to say so. Empty: none. */
  readonly echo: string;
  /** Confirmed, but its place among the others has not been heard yet; no longer in storage. Empty: not yet. */
  readonly sentAs: string;
}

export interface Outbox {
  entries_(): readonly OutboxEntry[];
  /** Adds an entry or takes over its newer form. */
  put_(entry: OutboxEntry): void;
  /** Takes over what another tab has put. */
  mirror_(entry: OutboxEntry): void;
  remove_(key: string): void;
  find_(key: string): OutboxEntry | undefined;
  /** A time later than that of every entry. */
  nextTime_(now: number): number;
  /** Reads what earlier pages left. */
  load_(): void;
  /** Forgets everything; storage is the caller's business. */
  clear_(): void;
}

/**
 * @param storage answers null: memory only
 * @param prefix what the keys begin with: the application and the visitor
 */
export function createOutbox(storage: () => KeyValueStorage | null, prefix: () => string): Outbox {
  let entries: readonly OutboxEntry[] = [];
  const without = (key: string): readonly OutboxEntry[] => entries.filter((one) => one.key !== key);
  const mirror = (entry: OutboxEntry): void => {
    entries = [...without(entry.key), entry].sort((one, other) => one.at - other.at);
  };
  // Full or blocked? It goes out all the same, as long as this page lives.
  const store = (key: string, entry?: OutboxEntry): unknown =>
    attempt(() => (entry ? storage()?.setItem(prefix() + key, JSON.stringify(entry)) : storage()?.removeItem(prefix() + key)));
  return {
    entries_: () => entries,
    put_: (entry) => {
      mirror(entry);
      store(entry.key, entry.sentAs ? undefined : entry);
    },
    mirror_: mirror,
    remove_: (key) => {
      entries = without(key);
      store(key);
    },
    find_: (key) => entries.find((one) => one.key === key),
    nextTime_: (now) => Math.max(now, (entries.at(-1)?.at ?? 0) + 1),
    load_: () => {
      for (const name of namesIn(storage(), prefix()))
        // Somebody else wrote there, or half of it? Not ours to send.
        attempt(() => {
          // What it resembled is looked for anew: this page has no history yet.
          mirror({ ...(JSON.parse(storage()?.getItem(name) ?? '') as OutboxEntry), echo: '' });
        });
    },
    clear_: () => {
      entries = [];
    },
  };
}

/** The keys in a storage that begin alike. */
export function namesIn(storage: KeyValueStorage | null, prefix: string): string[] {
  return Array.from({ length: attempt(() => storage?.length) ?? 0 }, (_, index) => storage?.key(index) ?? '').filter((name) => name.startsWith(prefix));
}
