// Constrained Markdown: from any Markdown to the few marks that answers may have, as Markdown again or as the Lexical
// JSON of a message. A link passes only if links.ts accepts its address.
import { stripHidden } from './strip-hidden.ts';
import { linkHref, parseMarkdownTree, type MarkdownRules } from './markdown-parser.ts';
import { inlineText, plainRun, writeMarkdown, type Block, type Inline, type Item } from './markdown-tree.ts';
import { writeLexical } from './lexical-writer.ts';

/** What `services/content` accepts: nodes below the root; held against it by a test. */
export const MAX_NODES = 2_000;
/** UTF-16 units. Longer texts are not parsed but stay as they are: no message may be so long. */
const MAX_PARSED = 20_000;
/** More characters that may be marks than this are no formatting. The parser's time grows with their square. */
const MAX_MARKS = 1_500;
/** The same for lines that may make a heading of the line above. */
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*$/gm;
const MAX_UNDERLINES = 50;
/** Lists and quotes that one line opens inside each other. */
const DEEP_NESTING = /^(?:[ \t]*(?:[-*+>]|\d{1,9}[.)])(?=[ \t>]|$)){33}/m;
const DEEP_INDENT = /^(?: {100}|\t{25})[ \t]*(?:[-*+>]|\d{1,9}[.)])[ \t]/m;

/**
 * Markdown as a message's content in format `lexical`: it passes `prepareContent` whenever the text shows anything and
 * is short enough. Images become their alt text, addresses outside http, https, mailto and tel their text, raw HTML
 * stays as it was written, headings, quotes and tables become paragraphs.
 *
 * @returns the JSON string of a Lexical editor's state
 */
export async function markdownToLexical(markdown: string, rules: MarkdownRules = {}): Promise<string> {
  const blocks = await parseMarkdown(markdown, { keepStrike: true, keepUnderline: true, ...rules });
  return writeLexical(nodeCount(blocks) > MAX_NODES ? plainBlocks(markdown) : blocks);
}

/**
 * Any Markdown as constrained Markdown: paragraphs, bold, italic, inline code, code blocks, lists and links; everything
 * else as its text, escaped, so that no reader of Markdown makes a tag, an image or another link of it.
 */
export async function constrainMarkdown(markdown: string, rules: MarkdownRules = {}): Promise<string> {
  return writeMarkdown(await parseMarkdown(markdown, rules));
}

/** The words of a Markdown text, without marks and addresses, one line for each block. */
export async function markdownText(markdown: string): Promise<string> {
  return (await parseMarkdown(markdown)).map((block) => blockText(block)).join('\n');
}

/** Plain text as Markdown that shows exactly it. */
export function escapeMarkdown(text: string): string {
  const paragraphs = stripHidden(text).split(/\n\s*\n/);
  return writeMarkdown(
    paragraphs.map((paragraph) => ({ kind: 'paragraph', inlines: plainLines(paragraph) })),
  );
}

const LIST_LINE = /^(?:- |(\d{1,9})\. )(?=\S)/;

/** Plain text in which lines that begin with "- " or a number are items of lists, as Markdown; all else shows as it is. */
export function quoteMarkdown(text: string): string {
  const blocks: Block[] = [];
  for (const paragraph of stripHidden(text).split(/\n\s*\n/)) {
    let lines: string[] = [];
    const flush = (): void => {
      if (lines.length > 0) blocks.push({ kind: 'paragraph', inlines: plainLines(lines.join('\n')) });
      lines = [];
    };
    for (const line of paragraph.split('\n')) {
      const marker = LIST_LINE.exec(line);
      if (marker === null) {
        lines.push(line);
        continue;
      }
      flush();
      const item: Item = { inlines: [plainRun(line.slice(marker[0].length))], lists: [] };
      const ordered = marker[1] !== undefined;
      const last = blocks.at(-1);
      if (last?.kind === 'list' && last.ordered === ordered)
        blocks[blocks.length - 1] = { ...last, items: [...last.items, item] };
      else blocks.push({ kind: 'list', ordered, start: Number(marker[1] ?? 1), items: [item] });
    }
    flush();
  }
  return writeMarkdown(blocks);
}

/** Plain text as a message's content in format `lexical`. */
export function plainLexical(text: string): string {
  return writeLexical(plainBlocks(text));
}

/** A Markdown link, or the bare text when the address is none that may be linked. */
export function markdownLink(text: string, url: string | null): string {
  const href = url === null ? null : linkHref(url, {});
  const children = [plainRun(stripHidden(text).replaceAll('\n', ' ').trim())];
  return writeMarkdown([
    { kind: 'paragraph', inlines: href === null ? children : [{ kind: 'link', href, children }] },
  ]);
}

/** The blocks of a Markdown text; never throws on any input. */
async function parseMarkdown(markdown: string, rules: MarkdownRules = {}): Promise<readonly Block[]> {
  const text = stripHidden(markdown);
  if (isTooComplex(text)) return plainBlocks(text);
  try {
    return await parseMarkdownTree(text, rules);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // The nesting exhausted the stack: the words remain.
    return plainBlocks(text);
  }
}

function isTooComplex(text: string): boolean {
  return (
    text.length > MAX_PARSED ||
    (text.match(/[*_`~[|>]/g)?.length ?? 0) > MAX_MARKS ||
    (text.match(UNDERLINE)?.length ?? 0) > MAX_UNDERLINES ||
    DEEP_NESTING.test(text) ||
    DEEP_INDENT.test(text)
  );
}

function plainLines(text: string): Inline[] {
  return text
    .split('\n')
    .flatMap((line, index): Inline[] => [
      ...(index === 0 ? [] : [{ kind: 'break', hard: true } as const]),
      plainRun(line),
    ]);
}

/** The text without any mark: by lines while they are few enough to be nodes, as one run otherwise. */
function plainBlocks(text: string): Block[] {
  const clean = stripHidden(text);
  const blocks: Block[] = clean
    .split(/\n\s*\n/)
    .filter((paragraph) => paragraph.trim() !== '')
    .map((paragraph) => ({ kind: 'paragraph', inlines: plainLines(paragraph) }));
  return nodeCount(blocks) <= MAX_NODES
    ? blocks
    : [{ kind: 'paragraph', inlines: [plainRun(clean.replace(/\s+/g, ' ').trim())] }];
}

function blockText(block: Block): string {
  if (block.kind === 'code') return block.text;
  if (block.kind === 'paragraph') return inlineText(block.inlines);
  return block.items.flatMap((item) => [inlineText(item.inlines), ...item.lists.map(blockText)]).join('\n');
}

function nodeCount(blocks: readonly Block[]): number {
  const inlineCount = (inlines: readonly Inline[]): number =>
    inlines.reduce((sum, inline) => sum + 1 + (inline.kind === 'link' ? inline.children.length : 0), 0);
  return blocks.reduce((sum, block) => {
    if (block.kind === 'code') return sum + 2 * block.text.split('\n').length;
    if (block.kind === 'paragraph') return sum + 1 + inlineCount(block.inlines);
    return (
      sum +
      1 +
      block.items.reduce((inner, item) => inner + 2 + inlineCount(item.inlines) + nodeCount(item.lists), 0)
    );
  }, 0);
}
