// Owns putting a list of entries on the page with the fewest changes, and that the keyboard's focus outlives them.
// Must not know what they are.
import { sameVersion, type Entry } from './transcript-entries.ts';

/**
 * Keeps a list's elements by key, and draws anew only what looks otherwise than before.
 * @param list in a shadow root
 * @param leave puts the focus beside the list: what had it is gone
 */
export function createDrawnList(list: HTMLElement, leave: () => void): (wanted: readonly Entry[]) => void {
  const drawn = new Map<string, { readonly version: unknown; readonly element: HTMLElement }>();

  function place(wanted: readonly Entry[]): void {
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
  }

  return (wanted) => {
    const focused = focusIn(list);
    const [holder] = [...drawn].find(([, { element }]) => element.contains(focused)) ?? [];
    place(wanted);
    if (focused === null || focusIn(list) === focused) return;
    // What leaves the page, or only moves on it, loses the focus to the page's body.
    const now = holder === undefined ? undefined : drawn.get(holder)?.element;
    controlLike(focused, now)?.focus({ preventScroll: true });
    if (focusIn(list) === null) leave();
  };
}

/** What has the focus in a list; null: it is elsewhere. */
function focusIn(list: HTMLElement): HTMLElement | null {
  const root = list.getRootNode();
  const at = root instanceof ShadowRoot ? root.activeElement : null;
  return at instanceof HTMLElement && list.contains(at) ? at : null;
}

/** The control in an entry that is the one from before: it looks the same, or has the same id. */
function controlLike(before: HTMLElement, entry: HTMLElement | undefined): HTMLElement | undefined {
  return [...(entry?.querySelectorAll<HTMLElement>('a, button') ?? [])].find(
    (one) => one.isEqualNode(before) || (one.id !== '' && one.id === before.id),
  );
}
