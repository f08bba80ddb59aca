// Owns what a screen reader is told: one polite region that empties itself, apart from the transcript, so that
// nothing is ever read twice and typing or connecting never interrupts.
import { h } from '../shared/dom.ts';

export interface LiveRegion {
  readonly element: HTMLElement;
  announce(text: string): void;
}

const staysMs = 4_000;

/** @param signal aborted when the panel goes */
export function createLiveRegion(signal: AbortSignal): LiveRegion {
  const element = h('div', { class: 'unseen', 'aria-live': 'polite' });
  const timers = new Set<ReturnType<typeof setTimeout>>();
  signal.addEventListener('abort', () => timers.forEach(clearTimeout));
  return {
    element,
    announce: (text) => {
      const line = h('div', {}, text);
      element.append(line);
      const timer = setTimeout(() => {
        timers.delete(timer);
        line.remove();
      }, staysMs);
      timers.add(timer);
    },
  };
}
