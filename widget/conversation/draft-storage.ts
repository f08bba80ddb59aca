// Owns where half-written messages stay in the browser: the tab's own storage, so that the next person at this computer finds
// none of them, or the one that the site gave. Must not know which of them are still to be kept.
import type { KeyValueStorage } from '../../src/sdk/types.ts';
import type { WidgetOptions } from '../launcher/host.ts';

export interface Draft {
  /** Empty: of a conversation that is still to begin. */
  readonly conversationId: string;
  readonly content: string;
  readonly contentFormat: 'plain' | 'lexical';
}

export interface DraftStorage {
  /** What is kept of a visitor's, the one that was changed last as the last. @param owner empty: one who has no id yet */
  load(owner: string): readonly Draft[];
  save(owner: string, drafts: readonly Draft[]): void;
  /** Another page has written there since it was last read or written here. */
  isChanged(): boolean;
}

/** All that is kept, as text: a site's own pages need their room as well. The oldest go first. */
const maxLength = 100_000;

/** Whatever the browser or the site forbids, a page has its drafts as long as it lasts. */
export function createDraftStorage(
  options: Pick<WidgetOptions, 'appId' | 'visitorId' | 'storage'>,
): DraftStorage {
  const name = `deskbell:${options.appId}:drafts`;
  const storage = storageOf(options);
  /** What was last read or written here. */
  let known: string | null = null;

  function read(): string | null {
    return attempt(() => storage?.getItem(name)) ?? null;
  }

  return {
    load: (owner) => {
      known = read();
      return attempt(() => parse(known, owner, options.visitorId !== undefined)) ?? [];
    },
    save: (owner, drafts) => {
      let kept = drafts;
      const write = (): string => JSON.stringify({ of: owner, drafts: kept });
      while (write().length > maxLength) kept = kept.slice(1);
      const text = kept.length === 0 ? null : write();
      if (text === known) return;
      if (text !== null) attempt(() => storage?.setItem(name, text));
      // No room: what was kept before may have been sent since, and must not come back.
      if (read() !== text) attempt(() => storage?.removeItem(name));
      known = read();
    },
    isChanged: () => read() !== known,
  };
}

/** @param isNamed the site says who its visitors are; @throws SyntaxError it is no JSON */
function parse(text: string | null, owner: string, isNamed: boolean): readonly Draft[] {
  const kept: unknown = JSON.parse(text ?? 'null');
  if (!isKept(kept)) return [];
  // Where the site names no one, the visitor who had no id in this tab is the one who has one by now.
  return kept.of === owner || (kept.of === '' && !isNamed) ? kept.drafts.filter(isDraft) : [];
}

function isKept(value: unknown): value is { readonly of: unknown; readonly drafts: readonly unknown[] } {
  return isFields(value) && Array.isArray(value['drafts']);
}

function isDraft(value: unknown): value is Draft {
  return (
    isFields(value) && typeof value['conversationId'] === 'string' && typeof value['content'] === 'string'
  );
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Where they stay; null: nowhere, the site forbids it or the browser does. */
function storageOf({ storage = 'local' }: Pick<WidgetOptions, 'storage'>): KeyValueStorage | null {
  if (typeof storage === 'object') return storage;
  return storage === 'none' ? null : (attempt(() => sessionStorage) ?? null);
}

/** What a function answers; null where it throws, as blocked and full storage does. */
function attempt<T>(run: () => T): T | null {
  try {
    return run();
  } catch {
    return null;
  }
}
