// Owns the few kinds of text that a message may have (paragraphs, bold, italic, strikethrough, underline, code, lists, links), and writing them as
// Markdown. Must not parse anything, and holds no other kind of node.

export interface TextRun {
  readonly kind: 'text';
  readonly text: string;
  readonly bold: boolean;
  readonly italic: boolean;
  readonly strike: boolean;
  readonly underline: boolean;
  readonly code: boolean;
}
/** `hard`: written as a break of its own; otherwise the line just went on in the next one. */
export interface Break {
  readonly kind: 'break';
  readonly hard: boolean;
}
/** `href` has passed `safeHref`. */
export interface Link {
  readonly kind: 'link';
  readonly href: string;
  readonly children: readonly (TextRun | Break)[];
}
export type Inline = TextRun | Break | Link;

export interface Paragraph {
  readonly kind: 'paragraph';
  readonly inlines: readonly Inline[];
}
export interface CodeBlock {
  readonly kind: 'code';
  readonly language: string | null;
  readonly text: string;
}
export interface Item {
  readonly inlines: readonly Inline[];
  readonly lists: readonly List[];
}
export interface List {
  readonly kind: 'list';
  readonly ordered: boolean;
  readonly start: number;
  readonly items: readonly Item[];
}
export type Block = Paragraph | CodeBlock | List;

/** A run of text without any mark. */
export function plainRun(text: string): TextRun {
  return { kind: 'text', text, bold: false, italic: false, strike: false, underline: false, code: false };
}

/** What a reader sees of a line, without marks and addresses. */
export function inlineText(inlines: readonly Inline[]): string {
  return inlines
    .map((inline) =>
      inline.kind === 'text' ? inline.text : inline.kind === 'break' ? '\n' : inlineText(inline.children),
    )
    .join('');
}

// Markdown

/**
 * The blocks as Markdown that says the same to every reader of it: what is text is escaped where any dialect might take
 * it for a mark, a tag, a link or an entity.
 */
export function writeMarkdown(blocks: readonly Block[]): string {
  return blocks
    .map((block) => writeBlock(block))
    .filter((text) => text !== '')
    .join('\n\n');
}

function writeBlock(block: Block): string {
  if (block.kind === 'code') {
    const fence = '`'.repeat(Math.max(3, longestRun(block.text) + 1));
    return `${fence}${block.language ?? ''}\n${block.text}\n${fence}`;
  }
  return block.kind === 'list' ? writeList(block) : writeInlines(block.inlines);
}

function writeList(list: List): string {
  return list.items
    .map((item, index) => {
      const marker = list.ordered ? `${list.start + index}. ` : '- ';
      const own = writeInlines(item.inlines);
      const inner = item.lists.map((nested) => `\n${writeList(nested)}`).join('');
      return marker + `${own}${inner}`.replaceAll('\n', `\n${' '.repeat(marker.length)}`);
    })
    .join('\n');
}

function writeInlines(inlines: readonly Inline[]): string {
  const out: string[] = [];
  for (let from = 0; from < inlines.length;) {
    const to = endOfLined(inlines, from);
    const before = out.at(-1)?.at(-1) ?? '';
    const next = inlines[to];
    const after = next === undefined ? '' : firstCharacter(next);
    const lined = to > from + 1 || isLined(inlines[from]);
    out.push(lined ? writeLined(inlines.slice(from, to), before, after) : writeOne(inlines, from, before));
    from = to;
  }
  // Blanks at the edges of a line are marks of their own (a break, indented code), so only written breaks have them.
  return out
    .join('')
    .split('\n')
    .map((line, index, lines) => {
      const hard = index < lines.length - 1 && line.endsWith('  ') && line.trim() !== '';
      return escapeLineStart(line.trim()) + (hard ? '  ' : '');
    })
    .filter((line) => line !== '')
    .join('\n')
    .trim();
}

function writeOne(inlines: readonly Inline[], at: number, before: string): string {
  const inline = inlines[at];
  const next = inlines[at + 1];
  if (inline === undefined) return '';
  if (inline.kind === 'break') return inline.hard ? '  \n' : '\n';
  if (inline.kind === 'link') return `[${writeInlines(inline.children)}](${writeAddress(inline.href)})`;
  return writeRun(inline, before, next === undefined ? '' : firstCharacter(next));
}

function isLined(inline: Inline | undefined): boolean {
  return inline?.kind === 'text' && inline.underline && inline.text.trim() !== '';
}

/** Where the underlined runs that begin here end; one further, where none does. */
function endOfLined(inlines: readonly Inline[], from: number): number {
  let to = from + 1;
  while (isLined(inlines[from]) && isLined(inlines[to])) to += 1;
  return to;
}

/** Underlined runs between marks of their own, of which CommonMark knows none. */
function writeLined(inlines: readonly Inline[], before: string, after: string): string {
  const inner = inlines.reduce(
    (written, _, at) => written + writeOne(inlines, at, at === 0 ? '+' : (written.at(-1) ?? '')),
    '',
  );
  const [, lead = '', core = '', trail = ''] = /^(\s*)([\s\S]*?)(\s*)$/.exec(inner) ?? [];
  const fitting = fits('+', core, lead === '' ? before : ' ', trail === '' ? after : ' ');
  return fitting && !core.startsWith('+') && !core.endsWith('+') ? `${lead}++${core}++${trail}` : inner;
}

/** The first character that an inline will write, as far as the marks beside it care. */
function firstCharacter(inline: Inline): string {
  if (inline.kind === 'break') return '\n';
  if (inline.kind === 'link') return '[';
  if (inline.underline) return '+';
  if (inline.strike) return '~';
  return inline.code ? '`' : inline.bold || inline.italic ? '*' : (inline.text[0] ?? '');
}

function writeRun(run: TextRun, before: string, after: string): string {
  const [, lead = '', core = '', trail = ''] = /^(\s*)([\s\S]*?)(\s*)$/.exec(run.text) ?? [];
  if (core === '') return run.text;
  const outerLeft = lead === '' ? before : ' ';
  const outerRight = trail === '' ? after : ' ';
  const struck = run.strike ? writeCore(run, core, '~', '~') : '';
  if (struck !== '' && fits('~', struck, outerLeft, outerRight)) return `${lead}~~${struck}~~${trail}`;
  return `${lead}${writeCore(run, core, outerLeft, outerRight)}${trail}`;
}

/** A run without blanks at its edges, and without its strokes. @param before, after: the characters beside it */
function writeCore(run: TextRun, core: string, before: string, after: string): string {
  if (run.code) {
    const fence = '`'.repeat(longestRun(core) + 1);
    const pad = core.includes('`') ? ' ' : '';
    // A code span beside another one would read as one longer fence.
    const apart = before === '`' ? ' ' : '';
    return `${apart}${fence}${pad}${core.replaceAll('\n', ' ')}${pad}${fence}`;
  }
  const mark = run.bold && run.italic ? '***' : run.bold ? '**' : run.italic ? '*' : '';
  const text = escapeText(core, after);
  return mark !== '' && fits('*', core, before, after) ? `${mark}${text}${mark}` : text;
}

/** Whether a reader takes marks around a text for marks; else it stands without them rather than with stray ones. */
function fits(mark: string, text: string, before: string, after: string): boolean {
  return before !== mark && after !== mark && flanks(before, text[0]) && flanks(after, text.at(-1));
}

const BLANK_OR_PUNCTUATION = /^[\s\p{P}\p{S}]$/u;

function flanks(outside: string, inside = ''): boolean {
  return outside === '' || BLANK_OR_PUNCTUATION.test(outside) || !BLANK_OR_PUNCTUATION.test(inside);
}

function escapeText(text: string, after: string): string {
  return (
    text
      // At the end of a run, what follows is in the next one.
      .replace(/[\\`*[\]~]|<(?=[a-z/!?]|$)|&(?=#?\w*(?:;|$))/gi, '\\$&')
      .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_')
      .replace(/!(?=\\?\[)/g, '\\!')
      // What could open an underline; "C++" can't.
      .replace(/(?<![\p{L}\p{N}+])\+\+(?=[^\s+])/gu, '\\+\\+')
      .replace(/!$/, after === '[' ? '\\!' : '!')
  );
}

// What begins a block, or turns the line above into a heading or a table, anywhere a line begins.
function escapeLineStart(line: string): string {
  if (/^[-:|=\s]+$/.test(line)) return `\\${line}`;
  return line.replace(/^(?:[#>+=-])/, '\\$&').replace(/^(\d{1,9})([.)])(?=\s|$)/, '$1\\$2');
}

function writeAddress(href: string): string {
  return href.replace(
    /[()<>\\*`[\]]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));
}
