// What every format becomes before it is cut: headings and blocks of plain text, in
// order. Shapes and the small things that both readers need; reads no format itself.

/** Rises whenever the same document would be cut or indexed otherwise: what is stored is then made anew. */
export const chunkerVersion = 3;

/** Between the headings above a passage, outermost first. */
export const headingSeparator = ' › ';

/** HTML that can't be read in reasonable time. The message ends the sentence "The field content …". */
export class HtmlDepthError extends Error {
  override readonly name = 'HtmlDepthError';
}

/** A heading, or a stretch of text that belongs together: a paragraph, a list, a table, a piece of code. */
export type Block =
  | {
      readonly kind: 'heading';
      readonly level: number;
      readonly text: string;
      readonly anchor: string | null;
    }
  | { readonly kind: 'text'; readonly text: string };

export interface Outline {
  /** What the document itself says that it is called; null: nothing. */
  readonly title: string | null;
  readonly blocks: readonly Block[];
}

const unspacedScript =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}\p{Script=Myanmar}。、！？]$/u;

/** Joins the lines of a wrapped paragraph: with a blank, but not in scripts that write without. */
export function joinWrappedLines(lines: readonly string[]): string {
  const parts: string[] = [];
  let last = '';
  for (const line of lines) {
    const trimmed = line.trim();
    if (trimmed === '') continue;
    if (last !== '' && !(unspacedScript.test(last) && unspacedScript.test(trimmed.slice(0, 1))))
      parts.push(' ');
    parts.push(trimmed);
    last = trimmed.slice(-2);
  }
  return parts.join('');
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  copy: '©',
  euro: '€',
};

/** The character references that people type; any other stays as it is. */
export function decodeReferences(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-z]{2,6}));/g,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return entities[name] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
      return code > 0 && code <= 0x10_ff_ff && !(code >= 0xd8_00 && code <= 0xdf_ff)
        ? String.fromCodePoint(code)
        : '';
    },
  );
}
