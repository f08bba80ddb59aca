// Owns where one user-perceived character ends and the next begins. Must not know about widths or styles.
// The common case is decided by a table, because asking the segmenter for every character costs far too much.

// Made when it is first needed: loading its tables takes longer than most commands.
let segmenter: Intl.Segmenter | undefined;

// Ranges of code points that take part in no cluster among themselves: between two of them there is always a boundary
// (UAX #29, class Other, or Extended_Pictographic, which joins only behind U+200D; Hangul syllables join only jamo).
const SIMPLE: readonly number[] = [
  0x20, 0x7e, 0xa1, 0xac, 0xae, 0x2ff, 0x370, 0x482, 0x48a, 0x590, 0x5d0, 0x5ea, 0x620, 0x64a, 0x671, 0x6d3,
  0xe01, 0xe30, 0xe40, 0xe46, 0x1e00, 0x1fff, 0x2010, 0x2027, 0x2030, 0x205e, 0x20a0, 0x20cf, 0x2100, 0x2bff,
  0x2e80, 0x2fd5, 0x3000, 0x3029, 0x3030, 0x3096, 0x309b, 0x4dbf, 0x4e00, 0xa48c, 0xac00, 0xd7a3, 0xf900,
  0xfad9, 0xff01, 0xff9d, 0x1f300, 0x1f3fa, 0x1f400, 0x1faff, 0x20000, 0x3fffd,
];

// Letters that never join to a blank before them.
const LETTER = /[\u0904-\u0939\u0985-\u09b9\u0e01-\u0e30\u0e40-\u0e46]/u;

function isSimple(code: number): boolean {
  if (code < 0x7f) return code >= 0x20;
  let low = 0;
  let high = SIMPLE.length >> 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((SIMPLE[2 * middle + 1] ?? 0) < code) low = middle + 1;
    else high = middle;
  }
  return low < SIMPLE.length >> 1 && (SIMPLE[2 * low] ?? 0) <= code;
}

function codePointBefore(text: string, at: number): number {
  const last = text.charCodeAt(at - 1);
  if (last >= 0xdc00 && last <= 0xdfff && at > 1) {
    const pair = text.codePointAt(at - 2) ?? last;
    if (pair > 0xffff) return pair;
  }
  return last;
}

function unitLength(code: number): number {
  return code > 0xffff ? 2 : 1;
}

/**
 * Whether there is a boundary at an index for which the two characters beside it alone decide it. False is no answer:
 * there may be one or not.
 */
export function isCertainBoundary(text: string, at: number): boolean {
  if (at <= 0 || at >= text.length) return true;
  if (isInsidePair(text, at)) return false;
  return isBreakBetween(codePointBefore(text, at), text.codePointAt(at) ?? 0);
}

function isBreakBetween(before: number, after: number): boolean {
  if (isSimple(before))
    return isSimple(after) || (before === 0x20 && LETTER.test(String.fromCodePoint(after)));
  // Of what stands between Arabic and Tibetan only U+0D4E binds what follows it.
  return after === 0x20 && before >= 0x904 && before <= 0xfff && before !== 0xd4e;
}

function isInsidePair(text: string, at: number): boolean {
  const low = text.charCodeAt(at);
  const high = text.charCodeAt(at - 1);
  return low >= 0xdc00 && low <= 0xdfff && high >= 0xd800 && high <= 0xdbff;
}

function segmentEnds(text: string, start: number, end: number, ends: number[]): void {
  segmenter ??= new Intl.Segmenter('und', { granularity: 'grapheme' });
  for (const { index, segment } of segmenter.segment(text.slice(start, end)))
    ends.push(start + index + segment.length);
}

/** The end of every grapheme of a text, ascending, in UTF-16 units; the last one is the text's length. */
export function graphemeEnds(text: string): number[] {
  const ends: number[] = [];
  let start = 0;
  let at = 0;
  let before = 0;
  while (at < text.length) {
    const code = text.codePointAt(at) ?? 0;
    if (at > 0 && isBreakBetween(before, code)) {
      addEnds(text, start, at, before, ends);
      start = at;
    }
    before = code;
    at += unitLength(code);
  }
  if (start < text.length) addEnds(text, start, text.length, before, ends);
  return ends;
}

// A piece of one character needs no segmenter.
function addEnds(text: string, start: number, end: number, last: number, ends: number[]): void {
  if (end - start === unitLength(last)) ends.push(end);
  else segmentEnds(text, start, end, ends);
}

/** A text cut into its graphemes; joined they are the text. */
export function splitGraphemes(text: string): string[] {
  let start = 0;
  return graphemeEnds(text).map((end) => {
    const grapheme = text.slice(start, end);
    start = end;
    return grapheme;
  });
}

/**
 * The first boundary behind an index, or the text's length.
 *
 * @param at a boundary, in UTF-16 units
 */
export function nextBoundary(text: string, at: number): number {
  if (at >= text.length) return text.length;
  let end = at + unitLength(text.codePointAt(at) ?? 0);
  if (isCertainBoundary(text, end)) return end;
  while (!isCertainBoundary(text, end)) end += unitLength(text.codePointAt(end) ?? 0);
  segmenter ??= new Intl.Segmenter('und', { granularity: 'grapheme' });
  const [first] = segmenter.segment(text.slice(at, end));
  return at + (first?.segment.length ?? end - at);
}

/** The last boundary before an index, or 0. The index need not be a boundary itself. */
export function previousBoundary(text: string, at: number): number {
  if (at <= 0) return 0;
  const stop = Math.min(at, text.length);
  let start = stop - unitLength(codePointBefore(text, stop));
  if (isCertainBoundary(text, start) && isCertainBoundary(text, stop)) return start;
  while (!isCertainBoundary(text, start)) start -= unitLength(codePointBefore(text, start));
  let end = stop;
  while (!isCertainBoundary(text, end)) end += 1;
  const ends: number[] = [start];
  segmentEnds(text, start, end, ends);
  return ends.findLast((boundary) => boundary < at) ?? start;
}

/** The index itself when it is a boundary, else the next boundary behind it; always inside the text. */
export function boundaryAt(text: string, at: number): number {
  if (at <= 0) return 0;
  if (isCertainBoundary(text, at)) return Math.min(at, text.length);
  const before = previousBoundary(text, at);
  const next = nextBoundary(text, before);
  return next;
}
