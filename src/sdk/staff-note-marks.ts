// Which unsent messages are internal notes. Their mark is kept beside them, so that what a
// crash left behind can never go out as an answer. Must not send.
import { keysWithPrefix } from './context.ts';
import { tryOrUndefined } from './error.ts';
import type { KeyValueStorage } from './types.ts';

export interface NoteMarks {
  has(key: string): boolean;
  /** Before the first attempt to send it. */
  mark(key: string): void;
  /** It is stored, or taken back. */
  clear(key: string): void;
  /** Reads what an earlier process left. */
  load(): void;
}

const prefix = 'note:';

/** @param storage null: nothing outlives this process */
export function createNoteMarks(storage: KeyValueStorage | null): NoteMarks {
  const keys = new Set<string>();
  return {
    has: (key) => keys.has(key),
    mark: (key) => {
      keys.add(key);
      // Unlike a lost answer, a note without its mark would reach the visitor: better not to send it at all.
      storage?.setItem(prefix + key, '');
    },
    // In memory it stays a note: its place among the others may not have been heard yet.
    clear: (key) => tryOrUndefined(() => storage?.removeItem(prefix + key)),
    load: () => {
      for (const name of keysWithPrefix(storage, prefix)) keys.add(name.slice(prefix.length));
    },
  };
}
