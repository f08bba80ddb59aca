// Names, subjects, previews and error texts from outside, as one harmless line. How wide they are is the face's business.
import { escapeControls } from '../text/text.ts';

/** Letters, digits, signs and marks: what can be seen. */
const visible = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** One line without line ends, control characters, bidi overrides, or blanks around it; empty where nothing can be seen. */
export function sanitizeLine(text: string): string {
  const line = escapeControls(text)
    .replace(/[\n\t]/g, ' ')
    .trim();
  return visible.test(line) ? line : '';
}
