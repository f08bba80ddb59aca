// How many columns of a terminal a text takes, as string-width counts them: the console's layout (Ink) is made with it.
import stringWidth from 'string-width';
import { splitGraphemes } from './graphemes.ts';

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

/** @returns columns on a terminal; control characters must be removed before, and count as none */
export function displayWidth(text: string): number {
  if (PRINTABLE_ASCII.test(text)) return text.length;
  let width = 0;
  for (const grapheme of splitGraphemes(text)) width += graphemeWidth(grapheme);
  return width;
}

// A text has few different graphemes, and a look-up costs a fraction of measuring.
const widthCache = new Map<string, number>();
const MAX_CACHED = 4096;
/** UTF-16 units: longer graphemes are an attack, and must not fill the memory. */
const MAX_CACHED_LENGTH = 32;

/** The columns of one grapheme: 0, 1 or 2; more only where spacing marks or Hangul jamo follow their base. */
export function graphemeWidth(grapheme: string): number {
  if (grapheme.length === 1 && PRINTABLE_ASCII.test(grapheme)) return 1;
  const cached = widthCache.get(grapheme);
  if (cached !== undefined) return cached;
  const width = stringWidth(grapheme);
  if (widthCache.size >= MAX_CACHED) widthCache.clear();
  if (grapheme.length <= MAX_CACHED_LENGTH) widthCache.set(grapheme, width);
  return width;
}

/** The text with blanks behind it, up to a width in columns. */
export function padTo(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}
