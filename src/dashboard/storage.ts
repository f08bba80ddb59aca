// Owns what stays on this device: unsent messages and drafts, each under its member. Read again by the next page, so that
// a reload, a crash and a sign-out lose nothing. Must not send.
import type { Draft, DraftStore } from '../desk/drafts.ts';
import type { KeyValueStorage } from '../sdk/types.ts';

const outboxPrefix = 'deskbell.outbox.';
const draftPrefix = 'deskbell.draft.';
const handedOverPrefix = 'deskbell.handed-over.';

/** The device's storage; null where it is blocked. */
function storage(): Storage | null {
  try {
    return localStorage;
  } catch {
    return null;
  }
}

function namesWith(prefix: string): string[] {
  const store = storage();
  const names: string[] = [];
  for (let index = 0; index < (store?.length ?? 0); index += 1) {
    const name = store?.key(index) ?? '';
    if (name.startsWith(prefix)) names.push(name);
  }
  return names;
}

/** Where unsent messages stay. A full or blocked storage throws, and the client then keeps them as long as the page. */
export function createOutboxStorage(): KeyValueStorage {
  const names = (): string[] => namesWith(outboxPrefix).map((name) => name.slice(outboxPrefix.length));
  return {
    get length() {
      return names().length;
    },
    key: (index) => names()[index] ?? null,
    getItem: (key) => storage()?.getItem(outboxPrefix + key) ?? null,
    setItem: (key, value) => {
      const store = storage();
      if (store === null) throw new Error('This browser keeps nothing for this page.');
      store.setItem(outboxPrefix + key, value);
    },
    removeItem: (key) => storage()?.removeItem(outboxPrefix + key),
  };
}

/** Which of a member's drafts the service has in the place of this device; `true`: a note. */
export function handedOverDrafts(memberId: string): {
  list(): readonly (readonly [id: string, note: boolean])[];
  /** Throws where storage is full or blocked. */
  add(id: string, note: boolean): void;
  remove(id: string): void;
} {
  const own = `${handedOverPrefix}${memberId}.`;
  return {
    list: () => namesWith(own).map((name) => [name.slice(own.length), storage()?.getItem(name) === 'note']),
    add: (id, note) => {
      const store = storage();
      if (store === null) throw new Error('This browser keeps nothing for this page.');
      store.setItem(own + id, note ? 'note' : 'answer');
    },
    remove: (id) => storage()?.removeItem(own + id),
  };
}

function parseDraft(kept: string | null): Draft | null {
  if (kept === null) return null;
  try {
    const read: unknown = JSON.parse(kept);
    if (typeof read !== 'object' || read === null || !('text' in read) || typeof read.text !== 'string')
      return null;
    return { text: read.text, note: 'note' in read && read.note === true };
  } catch {
    return null;
  }
}

/**
 * The drafts of a member on this device. Every change is written at once.
 * @param memberId whose they are, asked for each call: others never see them
 * @param onProblem told once when drafts can't be kept
 */
export function createLocalDrafts(memberId: () => string, onProblem: () => void): DraftStore {
  const unkept = new Map<string, Draft>();
  const nameOf = (id: string): string => `${draftPrefix}${memberId()}.${id}`;
  return {
    get: (id) => unkept.get(nameOf(id)) ?? parseDraft(storage()?.getItem(nameOf(id)) ?? null),
    set: (id, draft) => {
      const name = nameOf(id);
      try {
        const store = storage();
        if (store === null) throw new Error('blocked');
        store.setItem(name, JSON.stringify(draft));
        unkept.delete(name);
      } catch {
        if (unkept.size === 0) onProblem();
        unkept.set(name, draft);
      }
    },
    remove: (id) => {
      unkept.delete(nameOf(id));
      storage()?.removeItem(nameOf(id));
    },
    ids: () => {
      const own = `${draftPrefix}${memberId()}.`;
      return [...new Set([...namesWith(own), ...unkept.keys()])].map((name) => name.slice(own.length));
    },
    flush: () => undefined,
  };
}
