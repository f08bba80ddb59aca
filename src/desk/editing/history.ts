// Owns what was sent before, and walking through it. Pure. Must not know about buffers, keys or files.

export interface History {
  /** The oldest first. */
  readonly entries: readonly string[];
  /** The walk under way; null when there is none. */
  readonly walk: {
    /** What was being written when it began: the end of the way back, and what entries must begin with. */
    readonly unsent: string;
    readonly index: number;
    readonly shown: string;
  } | null;
}

/** A step of a walk: what to show now, and the history from which the next step goes on. */
export interface Step {
  readonly text: string;
  readonly history: History;
}

export const emptyHistory: History = { entries: [], walk: null };
const maxEntries = 200;

/** With a text that was sent; one that is there already moves to the end, so that a walk meets it once. */
export function remember(history: History, text: string): History {
  if (text.trim() === '') return { ...history, walk: null };
  return {
    entries: [...history.entries.filter((entry) => entry !== text), text].slice(-maxEntries),
    walk: null,
  };
}

/**
 * To the newest entry before the one shown that begins with what was being written.
 *
 * @param text what is in the composer now; when it is not what the walk showed last, a new walk begins with it
 * @returns null when there is none
 */
export function older(history: History, text: string): Step | null {
  const { entries } = history;
  const walk =
    history.walk?.shown === text ? history.walk : { unsent: text, index: entries.length, shown: text };
  for (let index = Math.min(walk.index, entries.length) - 1; index >= 0; index--) {
    const entry = entries[index];
    if (entry !== undefined && entry !== walk.shown && entry.startsWith(walk.unsent)) {
      return { text: entry, history: { entries, walk: { unsent: walk.unsent, index, shown: entry } } };
    }
  }
  return null;
}

/**
 * To the next entry after the one shown, and behind the last one back to what was being written.
 *
 * @param text what is in the composer now, when known; if it is not what the walk showed last, the walk is over
 * @returns null when no walk is under way
 */
export function newer(history: History, text?: string): Step | null {
  const { entries, walk } = history;
  if (walk === null || (text !== undefined && text !== walk.shown)) return null;
  for (let index = walk.index + 1; index < entries.length; index++) {
    const entry = entries[index];
    if (entry !== undefined && entry !== walk.shown && entry.startsWith(walk.unsent)) {
      return { text: entry, history: { entries, walk: { unsent: walk.unsent, index, shown: entry } } };
    }
  }
  return { text: walk.unsent, history: { entries, walk: null } };
}
