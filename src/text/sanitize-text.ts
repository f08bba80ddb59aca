// Owns how a user's text may appear on a terminal: harmless, and as wide as a layout believes it to be.
// Must not wrap or style. The text that is stored, sent or copied is never changed by it, only what is drawn.

import { splitGraphemes, isCertainBoundary } from './graphemes.ts';
import { escapeControls } from './text.ts';
import { graphemeWidth } from './width.ts';

/** Marks on one letter; no living script needs more, and a stack of them runs over the rows above. */
export const maxMarksPerLetter = 4;
const TAB = 4;
const HARMLESS = /^[\n -~]*$/;

/**
 * Ends a cluster for Ink's segmenter and is taken out by Ink before anything is written: so Ink gives a column to each
 * letter that a terminal draws in its own, although Unicode counts them as one cluster (Thai AM, Indic conjuncts).
 */
export const cellEnd = '\u200b';
const REGIONAL = /[\u{1f1e6}-\u{1f1ff}]/u;
/** Made when the first flag is looked at: for that, Node loads tables (20 ms). */
let flagShape: RegExp | undefined;
// Characters that join to nothing before them, and those to which anything may join.
const STARTS = /^[ -~\u0e01-\u0e30\u0e40-\u0e46]/;
const BINDS =
  /[\u0d4e\u{111c2}\u{111c3}\u{113d1}\u{1193f}\u{11941}\u{11a3a}\u{11a84}-\u{11a89}\u{11d46}\u{11f02}]$/u;
const KEY = /[\d#*]/;
const KEYCAP = '\u20e3';
const SKIN_TONE = /\p{Emoji_Modifier}/u;
const PICTURE = /\p{Extended_Pictographic}/u;
const JOINER = /[\u200c\u200d]/;
const IGNORED = /[\p{Default_Ignorable_Code_Point}\ufeff]/u;
const FORMAT = /[\p{Cf}\p{Cc}]/u;
const MARK = /\p{M}/u;
// Spacing marks have a column of their own, and some scripts' letters are among them.
const FLOATING = /[\p{Mn}\p{Me}]/u;
const LEADING = /[\u1100-\u115f\ua960-\ua97c]/;
const VOWEL = /[\u1160-\u11a7\ud7b0-\ud7c6]/;
const TRAILING = /[\u11a8-\u11ff\ud7cb-\ud7fb]/;

/**
 * A user's text made fit for the screen: `escapeControls`, and then all that terminals and Ink would measure
 * differently is written so that all agree. Emoji joined by U+200D appear side by side (a family as its members), skin
 * tones and variation selectors go, keycaps become their digit, half a flag becomes its letter, at most four marks stay
 * on a letter, a mark without a letter gets a dotted circle, invisible characters go, tabs become blanks.
 *
 * Right-to-left text keeps its logical order: a terminal with bidi support orders it itself, and would turn it round
 * wrongly if we had done it; one without shows the letters in the order in which they are read. Embeddings and
 * overrides are removed, so that no text can appear as another one.
 *
 * @returns text with `\n` as its only control character
 */
export function sanitizeText(text: string): string {
  if (HARMLESS.test(text)) return text;
  let shown = '';
  let column = 0;
  // Whether the end of what is shown so far is another than that of the text.
  let changed = false;
  // Its last characters, apart: taking them from a text that grows copies all of it each time.
  let end = '';
  for (const grapheme of splitGraphemes(escapeControls(text))) {
    if (grapheme === '\n') {
      shown += grapheme;
      end = grapheme;
      column = 0;
      continue;
    }
    const cell = grapheme === '\t' ? ' '.repeat(TAB - (column % TAB)) : sanitizeGrapheme(grapheme);
    if (cell === '') {
      changed = true;
      continue;
    }
    // What was apart must not become one because something between is not shown.
    changed ||= cell !== grapheme;
    const added = changed && column > 0 && !apart(end, cell) ? cellEnd + cell : cell;
    changed = cell !== grapheme;
    shown += added;
    end = (end + added).slice(-2);
    column += cellWidth(cell);
  }
  return shown;
}

function apart(end: string, after: string): boolean {
  return isCertainBoundary(end + after, end.length) || (STARTS.test(after) && !BINDS.test(end));
}

/** The columns of what `sanitizeGrapheme` answered, which may be several clusters by now. */
export function cellWidth(cell: string): number {
  if (cell.length < 2) return graphemeWidth(cell);
  let width = 0;
  for (const part of splitGraphemes(cell)) width += graphemeWidth(part);
  return width;
}

// A text has few different graphemes, and looking one up costs a tenth of what taking it apart does.
const remembered = new Map<string, string>();
const MOST_REMEMBERED = 4096;

/**
 * One grapheme of well-formed text without control characters, as the screen shows it (see `sanitizeText`).
 *
 * @returns what to draw; empty when there is nothing to see
 */
export function sanitizeGrapheme(grapheme: string): string {
  const code = grapheme.codePointAt(0) ?? 0;
  if (grapheme.length === 1 && code >= 0x20 && code < 0x7f) return grapheme;
  const known = remembered.get(grapheme);
  if (known !== undefined) return known;
  const shown = simplified(grapheme);
  if (remembered.size >= MOST_REMEMBERED) remembered.clear();
  // Longer ones are an attack, which must not fill the memory.
  if (grapheme.length <= 32) remembered.set(grapheme, shown);
  return shown;
}

function simplified(grapheme: string): string {
  const text = grapheme.normalize('NFC');
  if (REGIONAL.test(text)) return shownFlag(text);
  const picture = PICTURE.test(text);
  let shown = '';
  let before = '';
  let base = '';
  let marks = 0;
  for (const character of text) {
    if (JOINER.test(character)) {
      if (picture || shown === '' || JOINER.test(before)) continue;
      shown += character;
    } else if (
      IGNORED.test(character) ||
      ((shown !== '' || !text.startsWith(character)) && SKIN_TONE.test(character))
    ) {
      continue;
    } else if (MARK.test(character)) {
      if (character === KEYCAP && KEY.test(base)) continue;
      marks += 1;
      if (marks > maxMarksPerLetter) continue;
      shown += shown === '' && FLOATING.test(character) ? `\u25cc${character}` : character;
    } else {
      const visible = FORMAT.test(character) ? '\ufffd' : character;
      shown += shown === '' || continuesSyllable(before, character) ? visible : cellEnd + visible;
      marks = 0;
      base = character;
    }
    before = character;
  }
  // What was taken out may have stood between a letter and its mark.
  return shown.normalize('NFC');
}

function continuesSyllable(before: string, character: string): boolean {
  return (LEADING.test(before) && VOWEL.test(character)) || (VOWEL.test(before) && TRAILING.test(character));
}

// Half a flag, and a pair that is no country's, have a different width in every terminal.
function shownFlag(text: string): string {
  const letters = text.match(/[\u{1f1e6}-\u{1f1ff}]/gu) ?? [];
  const flag = letters.join('');
  // Not a literal: the compiler's target is older than the flag, the runtimes are not.
  flagShape ??= new RegExp('^\\p{RGI_Emoji_Flag_Sequence}$', 'v');
  if (flagShape.test(flag)) return flag;
  return letters.map((letter) => String.fromCharCode((letter.codePointAt(0) ?? 0) - 0x1f1e6 + 0x41)).join('');
}
