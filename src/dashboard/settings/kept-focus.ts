// Owns where the focus goes when what has it is gone, as a row's button that removed the row, or a form that was put away: to the
// heading of its section. Without that a screen reader and the keyboard would begin the page anew.
import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

/** @param ref the page whose parts come and go, with a heading of its own */
export function useKeptFocus(ref: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const page = ref.current;
    if (page === null) return undefined;
    let last: Element | null = null;
    let section: Element | null = null;
    const note = (event: FocusEvent): void => {
      last = event.target instanceof Element ? event.target : null;
      section = last?.closest('section') ?? null;
    };
    const changes = new MutationObserver(() => {
      if (last === null || last.isConnected || document.activeElement !== document.body) return;
      const heading = (section?.isConnected === true ? section : page).querySelector<HTMLElement>('h1, h2');
      last = null;
      if (heading === null) return;
      heading.tabIndex = -1;
      // What is looked at stays where it is.
      heading.focus({ preventScroll: true });
    });
    page.addEventListener('focusin', note);
    changes.observe(page, { childList: true, subtree: true });
    return () => {
      page.removeEventListener('focusin', note);
      changes.disconnect();
    };
  }, []);
}
