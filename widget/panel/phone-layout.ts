// Owns how the panel covers a phone's whole screen: its size above the keyboard, and that neither scrolling nor
// Tab leads behind it.
import { isShown } from '../shared/dom.ts';

const narrow = '(max-width: 480px), (max-height: 480px)';

export interface PhoneLayout {
  /** The panel covers the page. */
  isPhone(): boolean;
  /** Gives the panel its place; to be called when it was opened or closed. */
  fit(): void;
}

/** @param isOpen whether the panel is shown @param signal ends it */
export function createPhoneLayout(
  element: HTMLElement,
  isOpen: () => boolean,
  signal: AbortSignal,
): PhoneLayout {
  const phone = matchMedia(narrow);
  /** The page's own, while it is held; null: it is not. */
  let overflow: string | null = null;

  function fit(): void {
    const whole = phone.matches && isOpen();
    if (whole) element.setAttribute('aria-modal', 'true');
    else element.removeAttribute('aria-modal');
    // The keyboard shrinks the visual viewport only; the panel must end above it. Pinching is none of its business.
    const seen = whole && visualViewport !== null && visualViewport.scale < 1.01 ? visualViewport : null;
    element.style.setProperty('--height', seen === null ? '100%' : `${seen.height}px`);
    element.style.setProperty('--top', seen === null ? '0px' : `${seen.offsetTop}px`);
    const page = document.documentElement.style;
    if (whole && overflow === null) {
      overflow = page.overflow;
      page.overflow = 'hidden';
    } else if (!whole && overflow !== null) {
      page.overflow = overflow;
      overflow = null;
    }
  }

  phone.addEventListener('change', fit, { signal });
  for (const type of ['resize', 'scroll']) visualViewport?.addEventListener(type, fit, { signal });
  return { isPhone: () => phone.matches, fit };
}

/** Tab at the panel's last stop leads to its first, and back. */
export function trapFocus(element: HTMLElement, root: ShadowRoot, event: KeyboardEvent): void {
  const stops = [
    ...element.querySelectorAll<HTMLElement>('button, input, a[href], [contenteditable], [tabindex="0"]'),
  ].filter((stop) => stop.tabIndex >= 0 && isShown(stop));
  const edge = event.shiftKey ? stops[0] : stops.at(-1);
  if (root.activeElement !== edge && root.activeElement !== element) return;
  event.preventDefault();
  (event.shiftKey ? stops.at(-1) : stops[0])?.focus();
}
