// Names, subjects, previews and error texts from outside, and the model's sentences with them, as one harmless line of a
// terminal. Message contents go through rich-lines, which does the same.
import { sanitizeText } from '../../../text/sanitize-text.ts';

/** One line without line ends or blanks around it, as wide as a layout believes it to be. */
export function sanitizeLine(text: string): string {
  return sanitizeText(text).replaceAll('\n', ' ').trim();
}
