// What may stand in a mail's header: one line of visible text.
import { splitGraphemes } from '../../text/graphemes.ts';
import { stripInvisible } from '../../text/strip-invisible.ts';

const maxLength = 200;

/** A name or a subject as one line: without line ends, controls and marks that turn the direction of writing. */
export function headerText(text: string): string {
  const line = stripInvisible(text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' '))
    .replace(/\s+/g, ' ')
    .trim();
  return splitGraphemes(line).slice(0, maxLength).join('');
}
