// How many columns of a terminal a text takes. Knows nothing of tables or colours.

// Made when it is needed: loading its tables takes longer than most commands.
let graphemes: Intl.Segmenter | undefined;
// The wide and fullwidth blocks of Unicode's East Asian Width, coarsely: whole blocks, and pictures drawn in colour.
const wide =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{17000}-\u{18cff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}])/u;
const invisible = /^[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}]+$/u;

/** @returns columns on a terminal; control characters must be gone already */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  graphemes ??= new Intl.Segmenter('und', { granularity: 'grapheme' });
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    if (invisible.test(segment)) continue;
    width += wide.test(segment) || segment.includes('\ufe0f') ? 2 : 1;
  }
  return width;
}

/** The text with blanks behind it, up to a width in columns. */
export function padTo(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}
