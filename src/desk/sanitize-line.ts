// Names, subjects, previews and error texts from outside, as one harmless line. Message
// contents go through rich-lines, which does the same.
import { sanitizeText } from '../text/sanitize-text.ts';

/** One line without line ends or blanks around it. */
export function sanitizeLine(text: string): string {
  return sanitizeText(text).replaceAll('\n', ' ').trim();
}
