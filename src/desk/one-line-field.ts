// What a field of one line takes, and what a key makes of it. Pure.
import type { KeyPress } from './key-names.ts';

/** What such a field takes, unless it says otherwise. */
export const maxFieldLength = 200;

/** A one-line field after a key: typed text is added, Backspace takes the last character; null: unchanged. */
export function fieldAfter(
  text: string,
  { key, text: typed }: KeyPress,
  most = maxFieldLength,
): string | null {
  if (key === 'backspace') return Array.from(text).slice(0, -1).join('');
  if (key === 'ctrl+u' || key === 'ctrl+w') return '';
  if (typed === '' || typed === '\n') return null;
  return (text + typed).slice(0, most);
}
