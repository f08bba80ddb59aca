// Owns how a message's content becomes styled rows: Lexical trees and plain text, as the contract describes them.
// Must not fail on any content and must not let a byte through that a terminal obeys; keeps nothing between calls.

import { safeHref } from '../../../text/links.ts';
import { childrenOf, formatBits, parseLexicalRoot, type LexicalNode } from '../../../desk/lexical-nodes.ts';
import { sanitizeText } from '../../../text/sanitize-text.ts';
import type { Line, Span, Style } from './types.ts';
import { textOf, widthOf, wrap, wrapHard } from './wrap.ts';

/** A message's content, as it is stored. */
export interface Content {
  readonly content: string;
  readonly contentFormat: 'plain' | 'lexical';
}

// The service refuses more than 32 levels and 2,000 nodes; beyond these it is not from our service.
const maxLevels = 64;
const maxNodes = 10_000;
const maxAddress = 300;

const blockTypes: ReadonlySet<unknown> = new Set([
  'paragraph',
  'heading',
  'list',
  'listitem',
  'code',
  'quote',
  'horizontalrule',
]);
const inlineTypes: ReadonlySet<unknown> = new Set([
  'text',
  'linebreak',
  'link',
  'autolink',
  'tab',
  'hashtag',
  'code-highlight',
]);
const languageName = /^[a-z0-9+#-]{1,32}$/i;

/**
 * A message's content as rows, none of them wider than the columns. Every text went through `sanitizeText`. A link is its
 * text with the address behind it, unless they say the same, so that the real host can be read. What is no tree after
 * all is shown as the text that it is.
 *
 * @param columns at least 1
 * @returns at least one row
 */
export function contentLines({ content, contentFormat }: Content, columns: number): Line[] {
  const room = Math.max(1, Math.floor(columns));
  if (contentFormat === 'lexical') {
    const lines = lexicalLines(content, room);
    if (lines !== null) return lines;
  }
  return trimmed(textLines(sanitizeText(content), {}, room));
}

function textLines(text: string, style: Style, columns: number): Line[] {
  return text.split('\n').flatMap((line) => wrap([{ ...style, text: line }], columns));
}

class NotATreeError extends Error {}

function lexicalLines(content: string, columns: number): Line[] | null {
  const root = parseLexicalRoot(content);
  if (root === null) return null;
  try {
    const flow = new Flow(columns, {}, { nodes: 0, minColumns: columns / 2 }, 0);
    flow.add(childrenOf(root));
    const lines = trimmed(flow.finish());
    return lines.length === 1 && widthOf(lines[0] ?? []) === 0 ? null : lines;
  } catch (error) {
    if (error instanceof NotATreeError) return null;
    throw error;
  }
}

// A type that we don't know stands as a block among blocks (a table), and inside a line among text (a mention).
function standsAsBlocks(children: readonly LexicalNode[]): boolean {
  return children.every(({ type }) => !inlineTypes.has(type));
}

/** What all parts of one message share. */
interface Whole {
  nodes: number;
  /** However deep it is nested, text keeps so many columns. */
  readonly minColumns: number;
}

// Gathers the rows of one block. Inline content gathers in a run of spans, which the next block or the end turns into
// rows.
class Flow {
  readonly #columns: number;
  readonly #style: Style;
  readonly #whole: Whole;
  readonly #level: number;
  /** Whether blocks are set apart by an empty row. */
  readonly #loose: boolean;
  readonly #rows: Line[] = [];
  #run: Span[] = [];
  #insideLink = false;

  constructor(columns: number, style: Style, whole: Whole, level: number, loose = true) {
    this.#columns = columns;
    this.#style = style;
    this.#whole = whole;
    this.#level = level;
    this.#loose = loose;
  }

  add(children: readonly LexicalNode[], style = this.#style, level = this.#level): void {
    const asBlocks = standsAsBlocks(children);
    for (const child of children) this.#node(child, style, level + 1, asBlocks);
  }

  finish(): Line[] {
    this.#endRun();
    return this.#rows;
  }

  #node(node: LexicalNode, style: Style, level: number, asBlocks: boolean): void {
    this.#whole.nodes += 1;
    if (level > maxLevels || this.#whole.nodes > maxNodes) throw new NotATreeError();
    const type = node['type'];
    if (blockTypes.has(type) || (asBlocks && !inlineTypes.has(type))) {
      this.#block(this.#blockRows(node, style, level));
      return;
    }
    if (type === 'linebreak') this.#run.push({ text: '\n' });
    if (type === 'link' || type === 'autolink') this.#link(node, style, level);
    else
      this.#inline(
        node,
        type === 'text' || !inlineTypes.has(type) ? formatted(node['format'], style) : style,
        level,
      );
  }

  #inline(node: LexicalNode, style: Style, level: number): void {
    const text = node['text'];
    if (typeof text === 'string' && text !== '') this.#run.push({ ...style, text: sanitizeText(text) });
    this.add(childrenOf(node), style, level);
  }

  #link(node: LexicalNode, style: Style, level: number): void {
    const address = safeHref(node['url']);
    if (address === null || this.#insideLink) return this.#inline(node, style, level);
    const start = this.#run.length;
    const rows = this.#rows.length;
    this.#insideLink = true;
    this.#inline(node, { ...style, underline: true, color: 'blue' }, level);
    this.#insideLink = false;
    const label = this.#rows.length === rows ? textOf(this.#run.slice(start)).trim() : null;
    if (label !== null && saysTheSame(label, address)) return;
    const shown = shortened(address);
    if (label === '') this.#run.push({ ...style, underline: true, color: 'blue', text: shown });
    else this.#run.push({ dim: true, text: this.#run.length === 0 ? `(${shown})` : ` (${shown})` });
  }

  #blockRows(node: LexicalNode, style: Style, level: number): Line[] {
    switch (node['type']) {
      case 'heading':
        return this.#inner(node, { ...style, bold: true }, level, this.#columns);
      case 'list':
        return this.#list(node, style, level);
      case 'code':
        return this.#code(node, level);
      case 'quote':
        return this.#quote(node, style, level);
      case 'horizontalrule':
        return [[{ text: '─'.repeat(Math.min(this.#columns, 20)), dim: true }]];
      default:
        return this.#inner(node, style, level, this.#columns);
    }
  }

  #quote(node: LexicalNode, style: Style, level: number): Line[] {
    if (this.#columns - 2 < this.#whole.minColumns) return this.#inner(node, style, level, this.#columns);
    const bar: Span = { text: '│ ', dim: true };
    return this.#inner(node, style, level, this.#columns - 2).map((row): Line => [bar, ...row]);
  }

  #inner(node: LexicalNode, style: Style, level: number, columns: number, loose = this.#loose): Line[] {
    const flow = new Flow(columns, style, this.#whole, level, loose);
    flow.#insideLink = this.#insideLink;
    flow.#inline(node, style, level);
    return flow.finish();
  }

  #list(node: LexicalNode, style: Style, level: number): Line[] {
    const items = childrenOf(node);
    const numbered = node['listType'] === 'number';
    const marks = items.filter((item) => !holdsOnlyLists(item)).length;
    const indent = numbered ? String(marks).length + 2 : 2;
    const fits = this.#columns - indent >= this.#whole.minColumns;
    const room = fits ? this.#columns - indent : this.#columns;
    let number = 0;
    return items.flatMap((item) => {
      this.#whole.nodes += 1;
      if (this.#whole.nodes > maxNodes || level + 1 > maxLevels) throw new NotATreeError();
      const rows = this.#inner(item, style, level + 1, room, false);
      const bare = holdsOnlyLists(item);
      if (!bare) number += 1;
      if (!fits) return rows;
      const mark = bare ? '' : numbered ? `${number}. ` : '• ';
      const shown = rows.length === 0 ? [[]] : rows;
      return shown.map((row, index): Line => [
        { text: (index === 0 ? mark : '').padStart(numbered ? indent : 0).padEnd(indent) },
        ...row,
      ]);
    });
  }

  #code(node: LexicalNode, level: number): Line[] {
    const text = codeText(node, level, this.#whole);
    const indent = this.#columns > 10 ? '  ' : '';
    const rows = text
      .replace(/\n$/, '')
      .split('\n')
      .flatMap((line) => wrapHard([{ text: line, color: 'cyan' }], this.#columns - indent.length))
      .map((row): Line => (indent === '' ? row : [{ text: indent }, ...row]));
    const language = node['language'];
    if (typeof language !== 'string' || !languageName.test(language) || this.#columns < 10) return rows;
    return [...wrap([{ text: `${indent}${language}`, dim: true, italic: true }], this.#columns), ...rows];
  }

  #block(rows: readonly Line[]): void {
    this.#endRun();
    if (rows.every((row) => row.length === 0)) {
      // An empty paragraph is the space that its author wanted; several are no more than one.
      if (this.#loose) this.#space();
      return;
    }
    if (this.#loose) this.#space();
    this.#rows.push(...rows);
  }

  #space(): void {
    if (this.#rows.length > 0 && (this.#rows.at(-1)?.length ?? 0) > 0) this.#rows.push([]);
  }

  #endRun(): void {
    if (this.#run.length === 0) return;
    const lines: Span[][] = [[]];
    for (const span of this.#run) {
      const [first = '', ...more] = span.text.split('\n');
      lines.at(-1)?.push({ ...span, text: first });
      for (const text of more) lines.push([{ ...span, text }]);
    }
    this.#run = [];
    const rows = lines.flatMap((line) => wrap(line, this.#columns));
    if (this.#loose && rows.some((row) => row.length > 0)) this.#space();
    this.#rows.push(...rows);
  }
}

// Lexical nests a list inside an item of its own, which has no mark.
function holdsOnlyLists(item: LexicalNode): boolean {
  const children = childrenOf(item);
  return children.length > 0 && children.every(({ type }) => type === 'list');
}

function codeText(node: LexicalNode, level: number, whole: Whole): string {
  if (level > maxLevels) throw new NotATreeError();
  let text = typeof node['text'] === 'string' ? sanitizeText(node['text']) : '';
  for (const child of childrenOf(node)) {
    whole.nodes += 1;
    if (whole.nodes > maxNodes) throw new NotATreeError();
    // A block inside code is a line of it.
    if (blockTypes.has(child['type']) && text !== '' && !text.endsWith('\n')) text += '\n';
    text += child['type'] === 'linebreak' ? '\n' : codeText(child, level + 1, whole);
  }
  return text;
}

function formatted(format: unknown, style: Style): Style {
  if (typeof format !== 'number' || !Number.isInteger(format) || format <= 0) return style;
  return {
    ...style,
    ...((format & formatBits.bold) !== 0 && { bold: true }),
    ...((format & formatBits.italic) !== 0 && { italic: true }),
    ...((format & formatBits.strike) !== 0 && { strike: true }),
    ...((format & formatBits.underline) !== 0 && { underline: true }),
    ...((format & formatBits.code) !== 0 && { color: 'cyan' as const }),
  };
}

/** Whether a link's label is its address, give or take scheme and last slash, so that it needs no second mention. */
function saysTheSame(label: string, address: string): boolean {
  const bare = (text: string): string =>
    text.replace(/^(?:https?:\/\/|mailto:|tel:)/i, '').replace(/\/$/, '');
  return label !== '' && bare(label) === bare(address);
}

// Shortened behind the host only: a host that is cut could be any other one.
function shortened(address: string): string {
  const host = /^[a-z]+:\/\/[^/?#\\]*/i.exec(address)?.[0].length ?? 0;
  const most = Math.max(maxAddress, host + 40);
  return address.length <= most ? address : `${address.slice(0, most - 1)}…`;
}

function trimmed(rows: readonly Line[]): Line[] {
  const start = rows.findIndex((row) => row.some(({ text }) => text.trim() !== ''));
  if (start < 0) return [[]];
  const end = rows.findLastIndex((row) => row.some(({ text }) => text.trim() !== ''));
  return rows.slice(start, end + 1);
}
