// Owns dropping what hides in a text that people are going to read. Stricter than nothing, milder than invisible.ts:
// what a script or an emoji needs to look right stays.

// Controls but newline and tab; bidi embeddings, overrides and isolates; zero-width blanks and joiners of words; soft
// hyphens; tags and the variation selectors of the supplementary plane, in which whole texts can be hidden. The joiners
// U+200C and U+200D and the direction marks stay: emoji, Persian, Indic and right-to-left text need them.
const HIDDEN =
  /(?![\n\t])\p{Cc}|[\u00ad\u180e\u200b\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]|\p{Noncharacter_Code_Point}/gu;
const LINE_ENDS = /\r\n?|[\u0085\u2028\u2029]/g;

/**
 * A text without what can hide in it: every line end becomes a newline, half characters become U+FFFD, and what shows
 * nothing is dropped. The answer can always be stored.
 */
export function stripHidden(text: string): string {
  return text.toWellFormed().replace(LINE_ENDS, '\n').replace(HIDDEN, '');
}
