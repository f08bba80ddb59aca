// How many columns of a terminal a text takes. Knows nothing of tables or colours.
// Counts as string-width does, because the console's layout (Ink) is made with it: where they differ, columns shift.

import { graphemesOf } from './graphemes.ts';

// East Asian Width W and F (Unicode 17) without what \p{Emoji_Presentation} has already.
const WIDE =
  /[\u1100-\u115f\u2329\u232a\u2630-\u2637\u268a-\u268f\u2e80-\u2e99\u2e9b-\u2ef3\u2f00-\u2fd5\u2ff0-\u303e\u3041-\u3096\u3099-\u30ff\u3105-\u312f\u3131-\u318e\u3190-\u31e5\u31ef-\u321e\u3220-\u3247\u3250-\ua48c\ua490-\ua4c6\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe52\ufe54-\ufe66\ufe68-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{16fe4}\u{16ff0}-\u{16ff6}\u{17000}-\u{18cda}\u{18cff}-\u{18d20}\u{18d80}-\u{18df2}\u{18e00}-\u{19191}\u{191a0}-\u{191d2}\u{1aff0}-\u{1aff3}\u{1aff5}-\u{1affb}\u{1affd}\u{1affe}\u{1b000}-\u{1b128}\u{1b132}\u{1b150}-\u{1b152}\u{1b155}\u{1b164}-\u{1b168}\u{1b170}-\u{1b2fb}\u{1d300}-\u{1d356}\u{1d360}-\u{1d376}\u{1f1ae}\u{1f200}-\u{1f202}\u{1f210}-\u{1f23b}\u{1f240}-\u{1f248}\u{1f260}-\u{1f265}\u{1f6d9}\u{1f7da}\u{1fa8b}-\u{1fa8d}\u{1facc}\u{1fadd}\u{1faeb}\u{1faf9}\u{1fafa}\u{20000}-\u{2fffd}\u{30000}-\u{3fffd}]|(?![\u{1f1e6}-\u{1f1ff}])\p{Emoji_Presentation}/u;
const VISIBLE = /[^\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Cs}]/u;
// Those that take columns of their own behind the first one of their cluster.
const SPACING = /[\p{Mc}\uff00-\uffef]/u;
// Not a literal: the compiler's target is older than the flag, the runtimes are not.
const EMOJI_SEQUENCE = new RegExp('^\\p{RGI_Emoji}$', 'v');
const KEYCAP = /^[\d#*]\u20e3$/;
const PICTURES = /\p{Extended_Pictographic}/gu;

const LEADING = /[\u1100-\u115f\ua960-\ua97c]/;
const VOWEL = /[\u1160-\u11a7\ud7b0-\ud7c6]/;
const TRAILING = /[\u11a8-\u11ff\ud7cb-\ud7fb]/;

/** @returns columns on a terminal; control characters must be gone already (they count as none) */
export function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const grapheme of graphemesOf(text)) width += graphemeWidth(grapheme);
  return width;
}

// A text has few different graphemes, and looking one up costs a tenth of what measuring it does.
const measured = new Map<string, number>();
const MOST_MEASURED = 4096;

/** The columns of one grapheme: 0, 1 or 2; more only where spacing marks or Hangul jamo follow their base. */
export function graphemeWidth(grapheme: string): number {
  const code = grapheme.codePointAt(0) ?? 0;
  if (grapheme.length === 1 && code >= 0x20 && code < 0x7f) return 1;
  const known = measured.get(grapheme);
  if (known !== undefined) return known;
  const width = grapheme.length === (code > 0xffff ? 2 : 1) ? characterWidth(grapheme) : clusterWidth(grapheme);
  if (measured.size >= MOST_MEASURED) measured.clear();
  // Longer ones are an attack, which must not fill the memory.
  if (grapheme.length <= 32) measured.set(grapheme, width);
  return width;
}

function characterWidth(character: string): number {
  if (WIDE.test(character)) return VISIBLE.test(character) ? 2 : 0;
  return VISIBLE.test(character) ? 1 : 0;
}

function clusterWidth(cluster: string): number {
  const start = cluster.search(VISIBLE);
  if (start < 0) return 0;
  if (isEmojiSequence(cluster)) return 2;
  const [first = '', ...rest] = cluster.slice(start);
  if (LEADING.test(first) || VOWEL.test(first) || TRAILING.test(first)) return jamoWidth([first, ...rest]);
  let width = eastAsianWidth(first);
  for (const character of rest) if (SPACING.test(character)) width += eastAsianWidth(character);
  return width;
}

function eastAsianWidth(character: string): number {
  return WIDE.test(character) ? 2 : 1;
}

function isEmojiSequence(cluster: string): boolean {
  if (EMOJI_SEQUENCE.test(cluster)) return true;
  // Longer than any real sequence: then it is an attack, and looking at it costs.
  if (cluster.length > 50) return false;
  if (KEYCAP.test(cluster)) return true;
  return cluster.includes('\u200d') && (cluster.match(PICTURES)?.length ?? 0) > 1;
}

// A leading jamo, a vowel and perhaps a trailing one are drawn as one syllable; any other jamo stands by itself.
function jamoWidth(characters: readonly string[]): number {
  const shown = characters.filter((character) => VISIBLE.test(character));
  let width = 0;
  for (let index = 0; index < shown.length; index++) {
    const character = shown[index] ?? '';
    if (LEADING.test(character) && VOWEL.test(shown[index + 1] ?? '')) {
      index += TRAILING.test(shown[index + 2] ?? '') ? 2 : 1;
      width += 2;
    } else {
      width += eastAsianWidth(character);
    }
  }
  return width;
}

/** The text with blanks behind it, up to a width in columns. */
export function padTo(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}
