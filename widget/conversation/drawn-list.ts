// Owns putting a list of entries on the page with the fewest changes. Must not know what they are.
import { sameVersion, type Entry } from './transcript-entries.ts';

/** Keeps a list's elements by key, and draws anew only what looks otherwise than before. */
export function createDrawnList(list: HTMLElement): (wanted: readonly Entry[]) => void {
  const drawn = new Map<string, { readonly version: unknown; readonly element: HTMLElement }>();
  return (wanted) => {
    const keys = new Set(wanted.map(({ key }) => key));
    for (const [key, { element: old }] of drawn) {
      if (keys.has(key)) continue;
      old.remove();
      drawn.delete(key);
    }
    let at = list.firstChild;
    for (const { key, version, draw: make } of wanted) {
      const old = drawn.get(key);
      let current = old?.element;
      if (old === undefined || current === undefined || !sameVersion(old.version, version)) {
        const fresh = make();
        if (current === at && at !== null) at = at.nextSibling;
        current?.remove();
        current = fresh;
        drawn.set(key, { version, element: fresh });
      }
      if (current === at) at = at.nextSibling;
      else list.insertBefore(current, at);
    }
  };
}
