// Owns questions about plain text: does it show anything, can it be stored, how is it shortened or shown safely, how is
// a size or a number of things said.
// Must not know about messages, formats or HTML.

// Everything that leaves no mark on a screen by itself. Combining marks count as nothing because they need a letter
// to sit on; U+2800 and U+1D159 are drawn as blanks although Unicode calls them symbols.
const VISIBLE =
  /[^\p{White_Space}\p{Cc}\p{Cf}\p{Cs}\p{M}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2800\u{1D159}]/u;

/**
 * Whether a reader would see anything: false for blanks, zero-width, control and format characters, fillers and
 * combining marks without a letter, alone or mixed.
 */
export function hasVisibleText(text: string): boolean {
  return VISIBLE.test(text);
}

const printableAscii = /^[ -~]*$/;
const BLANKS = /[\s\p{Cc}]+/gu;
// Made when it is first needed: it takes longer to make than most commands take to run.
let graphemes: Intl.Segmenter | undefined;

/**
 * One line of a text for lists and notifications: white space and control characters folded to single blanks.
 *
 * @param max the longest answer in UTF-16 units, the ellipsis included
 * @returns the folded text, cut between graphemes and ended with `…` when it was too long
 */
export function preview(text: string, max = 120): string {
  const line = text.replace(BLANKS, ' ').trim();
  if (line.length <= max) return line;
  if (max < 1) return '';
  // Between printable ASCII characters every place is a boundary; asking the segmenter costs more than storing the message.
  if (printableAscii.test(line.slice(0, max + 2))) return `${line.slice(0, max - 1).trimEnd()}…`;
  let end = 0;
  // Two units past the limit are enough context: whether a grapheme ends is decided by the next code point.
  graphemes ??= new Intl.Segmenter('und', { granularity: 'grapheme' });
  for (const { index, segment } of graphemes.segment(line.slice(0, max + 2))) {
    const next = index + segment.length;
    if (next > max - 1) break;
    end = next;
  }
  if (end === 0) end = codePointBoundary(line, max - 1);
  return `${line.slice(0, end).trimEnd()}…`;
}

/**
 * The place at or just before `at` that parts no surrogate pair. A single grapheme can be longer than any limit (stacked
 * combining marks); then only the pair counts.
 */
export function codePointBoundary(text: string, at: number): number {
  const code = at > 0 ? text.charCodeAt(at - 1) : 0;
  return code >= 0xd800 && code <= 0xdbff ? at - 1 : at;
}

const LINE_ENDS = /\r\n?|[\u0085\u2028\u2029]/g;
const UNSAFE_ON_TERMINAL = /(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb]/gu;

/**
 * A stranger's text made safe for a terminal. Control characters become visible pictures (ESC is `␛`), so that an
 * escape sequence is read instead of obeyed; C1 controls, which some terminals obey too, become U+FFFD; bidi
 * embeddings, overrides and isolates, which can make text read as something else, are dropped. Newlines and tabs
 * stay, every other line end becomes a newline. The marks U+200E, U+200F and U+061C stay: right-to-left text needs
 * them, and they affect only the letters beside them.
 */
export function escapeControls(text: string): string {
  return text.toWellFormed().replace(LINE_ENDS, '\n').replace(UNSAFE_ON_TERMINAL, visible);
}

function visible(character: string): string {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return '\u2421';
  return code < 0xa0 ? '\ufffd' : '';
}

/** A size as the command line and the documentation say it: in powers of 1024, by their own names. */
export function formatBytes(bytes: number): string {
  if (bytes >= 1_073_741_824) return `${+(bytes / 1_073_741_824).toFixed(1)} GiB`;
  return bytes >= 1_048_576 ? `${+(bytes / 1_048_576).toFixed(1)} MiB` : `${Math.ceil(bytes / 1024)} KiB`;
}

/** A number with its noun, in the singular for one. @param many the plural, where it is not made with an s */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}
