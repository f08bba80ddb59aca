// Owns: which characters show nothing and yet are read by programs and models, and a text without them.
// Must not know what the text is for.

// Controls but newline and tab; soft hyphen, zero-width and bidi characters, the tags block, variation selectors
// beyond the emoji's, fillers, surrogates without a partner. ZWNJ and ZWJ go too: words of Persian or Indic
// scripts then compare equal however they were typed, and no instruction hides between them.
const INVISIBLE = new RegExp(
  [
    String.raw`(?![\n\t])\p{Cc}`,
    // Fillers and marks without a shape; a class of them would read some as parts of the letters beside them.
    String.raw`\u00ad|\u034f|\u061c|\u115f|\u1160|\u17b4|\u17b5|\u180b|\u180c|\u180d|\u180e|\u180f|\u3164|\ufeff|\uffa0`,
    String.raw`[\u200b-\u200f\u202a-\u202e\u2060-\u206f]|[\ufe00-\ufe0e]|[\ufff0-\ufffb]`,
    String.raw`[\u{1bca0}-\u{1bca3}]|[\u{1d173}-\u{1d17a}]|[\u{e0000}-\u{e0fff}]`,
    String.raw`\p{Cs}|\p{Noncharacter_Code_Point}`,
  ].join('|'),
  'gu',
);
const LINE_ENDS = /\r\n?|[\u0085\u2028\u2029]/g;

/** A text without anything that shows nothing: what is left is what a reader sees. Line ends become newlines. */
export function stripInvisible(text: string): string {
  return text.replace(LINE_ENDS, '\n').replace(INVISIBLE, '');
}
