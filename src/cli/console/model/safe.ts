// Names, subjects, previews and error texts from outside, as one harmless line. Message
// contents go through rich-lines, which does the same.
import { safeText } from '../text/safe-text.ts';

/** One line without line ends or blanks around it. */
export function oneLine(text: string): string {
  return safeText(text).replaceAll('\n', ' ').trim();
}
