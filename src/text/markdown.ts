// Owns constrained Markdown: from any Markdown to the few marks that answers may have, as Markdown again or as the
// Lexical JSON of a message. Knows nothing of messages, models or HTML; no link leaves but through links.ts.
import { dropHidden } from './hidden.ts';
import { safeHref } from './links.ts';
import { normaliseLines, unshield } from './markdown-lines.ts';
import type { Block, Break, Inline, Item, Link, List, TextRun } from './markdown-tree.ts';
import { inlineText, plainRun, writeLexical, writeMarkdown } from './markdown-tree.ts';

/** What `services/content` accepts: nodes below the root; held against it by a test. */
export const MAX_NODES = 2_000;
/** Lists in lists; deeper ones join their parent. Two levels of nodes each, far below the 32 that a message may have. */
const MAX_LISTS = 6;
/** Longer texts are not parsed but stand as they are: nobody reads them, and parsing is not linear in everything. */
const MAX_PARSED = 40_000;
/** More characters that may be marks than this are no formatting: the parser's time grows with their square. */
const MAX_MARKS = 1_500;
/** An `&` that a reader of Markdown would decode inside an address, which could then be another one. */
const ENTITY = /&#?\w+;/;

export interface MarkdownRules {
  /** Whether a link may stay one; its text stays either way. @param href as `safeHref` answers it */
  readonly keepLink?: (href: string) => boolean;
}

/**
 * Markdown as a message's content in format `lexical`: it passes `prepareContent` whenever the text shows anything and
 * is short enough. Images become their alt text, addresses outside http, https, mailto and tel their text, raw HTML
 * stays as it was written, headings, quotes and tables become paragraphs.
 *
 * @returns the JSON string of a Lexical editor's state
 */
export async function markdownToLexical(markdown: string, rules: MarkdownRules = {}): Promise<string> {
  const blocks = await parseMarkdown(markdown, rules);
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
  const paragraphs = dropHidden(text).split(/\n\s*\n/);
  return writeMarkdown(paragraphs.map((paragraph) => ({ kind: 'paragraph', inlines: plainLines(paragraph) })));
}

const LIST_LINE = /^(?:- |(\d{1,9})\. )(?=\S)/;

/** Plain text in which lines that begin with "- " or a number are items of lists, as Markdown; all else shows as it is. */
export function quoteMarkdown(text: string): string {
  const blocks: Block[] = [];
  for (const paragraph of dropHidden(text).split(/\n\s*\n/)) {
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
      if (last?.kind === 'list' && last.ordered === ordered) blocks[blocks.length - 1] = { ...last, items: [...last.items, item] };
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
  const href = url === null ? null : keptHref(url, {});
  const children = [plainRun(dropHidden(text).replaceAll('\n', ' ').trim())];
  return writeMarkdown([{ kind: 'paragraph', inlines: href === null ? children : [{ kind: 'link', href, children }] }]);
}

/** The blocks of a Markdown text; never throws on any input. */
async function parseMarkdown(markdown: string, rules: MarkdownRules = {}): Promise<readonly Block[]> {
  const text = dropHidden(markdown);
  if (text.length > MAX_PARSED || (text.match(/[*_`~[]/g)?.length ?? 0) > MAX_MARKS) return plainBlocks(text);
  const parse = await lexicalParser();
  try {
    return new TreeReader(rules).blocks(parse(normaliseLines(text)));
  } catch {
    // Hostile nesting can exhaust the parser's stack, and a bad character reference makes it throw: the words remain.
    return plainBlocks(text);
  }
}

type Parse = (markdown: string) => unknown;
let parser: Promise<Parse> | undefined;

function lexicalParser(): Promise<Parse> {
  parser ??= loadParser();
  return parser;
}

// Loaded when the first text needs it: most commands and most servers never do.
async function loadParser(): Promise<Parse> {
  const [headless, code, link, list, markdown] = await Promise.all([
    import('@lexical/headless'),
    import('@lexical/code-core'),
    import('@lexical/link'),
    import('@lexical/list'),
    import('@lexical/markdown'),
  ]);
  const nodes = [code.CodeNode, link.LinkNode, list.ListNode, list.ListItemNode];
  const transformers = [
    markdown.CODE,
    markdown.UNORDERED_LIST,
    markdown.ORDERED_LIST,
    markdown.INLINE_CODE,
    markdown.BOLD_ITALIC_STAR,
    markdown.BOLD_ITALIC_UNDERSCORE,
    markdown.BOLD_STAR,
    markdown.BOLD_UNDERSCORE,
    markdown.ITALIC_STAR,
    markdown.ITALIC_UNDERSCORE,
    markdown.STRIKETHROUGH,
    markdown.LINK,
  ];
  return (text) => {
    // An editor of its own for each text: nothing of one can be left in the next, not even after an error.
    const editor = headless.createHeadlessEditor({
      nodes,
      onError: (error) => {
        throw error;
      },
    });
    editor.update(() => markdown.$convertFromMarkdownString(text, transformers), { discrete: true });
    return editor.getEditorState().toJSON().root;
  };
}

function keptHref(url: unknown, rules: MarkdownRules): string | null {
  const href = safeHref(url);
  if (href === null || ENTITY.test(href)) return null;
  return rules.keepLink === undefined || rules.keepLink(href) ? href : null;
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function childrenOf(fields: Fields): readonly Fields[] {
  const children: unknown = fields['children'];
  return Array.isArray(children) ? children.map((child: unknown) => fieldsOf(child)) : [];
}

function textOf(fields: Fields): string {
  const text = fields['text'];
  if (typeof text === 'string') return text;
  return fields['type'] === 'linebreak' ? '\n' : childrenOf(fields).map(textOf).join('');
}

/** From the editor's own JSON to the few kinds of nodes that are kept. */
class TreeReader {
  private readonly rules: MarkdownRules;

  constructor(rules: MarkdownRules) {
    this.rules = rules;
  }

  blocks(root: unknown): Block[] {
    return childrenOf(fieldsOf(root)).flatMap((node): Block[] => {
      if (node['type'] === 'code') {
        const language = node['language'];
        return [{ kind: 'code', language: typeof language === 'string' ? language.toLowerCase() : null, text: textOf(node) }];
      }
      if (node['type'] === 'list') return [this.list(node, 1)];
      const inlines = this.inlines(childrenOf(node));
      return inlineText(inlines).trim() === '' ? [] : [{ kind: 'paragraph', inlines }];
    });
  }

  private list(node: Fields, depth: number): List {
    const items: Item[] = [];
    for (const child of childrenOf(node)) {
      const nested = childrenOf(child).filter((grandchild) => grandchild['type'] === 'list');
      if (nested.length === 0) items.push({ inlines: this.inlines(childrenOf(child)), lists: [] });
      for (const inner of nested) this.nest(items, this.list(inner, depth + 1), depth);
    }
    const start = node['start'];
    return { kind: 'list', ordered: node['listType'] === 'number', start: typeof start === 'number' ? Math.min(start, 999_999) : 1, items };
  }

  private nest(items: Item[], inner: List, depth: number): void {
    const last = items.at(-1);
    if (depth >= MAX_LISTS) items.push(...inner.items);
    else if (last === undefined) items.push({ inlines: [], lists: [inner] });
    else items[items.length - 1] = { inlines: last.inlines, lists: [...last.lists, inner] };
  }

  private inlines(nodes: readonly Fields[]): Inline[] {
    return nodes.flatMap((node): Inline[] => {
      if (node['type'] !== 'link') return [this.run(node)].filter((run) => run.kind === 'break' || run.text !== '');
      const children = childrenOf(node).map((child) => this.run(child));
      const url = node['url'];
      const href = typeof url === 'string' ? keptHref(unshield(url), this.rules) : null;
      if (href === null || inlineText(children).trim() === '') return children;
      return [{ kind: 'link', href, children } satisfies Link];
    });
  }

  private run(node: Fields): TextRun | Break {
    if (node['type'] === 'linebreak') {
      const state = fieldsOf(node['$']);
      return { kind: 'break', hard: typeof state['mdHardLineBreak'] === 'string' && state['mdHardLineBreak'] !== '' };
    }
    const format = typeof node['format'] === 'number' ? node['format'] : 0;
    const text = dropHidden(unshield(textOf(node))).replaceAll('\n', ' ');
    return { kind: 'text', text, bold: (format & 1) !== 0, italic: (format & 2) !== 0, code: (format & 16) !== 0 };
  }
}

function plainLines(text: string): Inline[] {
  return text
    .split('\n')
    .flatMap((line, index): Inline[] => [...(index === 0 ? [] : [{ kind: 'break', hard: true } as const]), plainRun(line)]);
}

/** The text without any mark: by lines while they are few enough to be nodes, as one run otherwise. */
function plainBlocks(text: string): Block[] {
  const clean = dropHidden(text);
  const blocks: Block[] = clean
    .split(/\n\s*\n/)
    .filter((paragraph) => paragraph.trim() !== '')
    .map((paragraph) => ({ kind: 'paragraph', inlines: plainLines(paragraph) }));
  return nodeCount(blocks) <= MAX_NODES ? blocks : [{ kind: 'paragraph', inlines: [plainRun(clean.replace(/\s+/g, ' ').trim())] }];
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
    return sum + 1 + block.items.reduce((inner, item) => inner + 2 + inlineCount(item.inlines) + nodeCount(item.lists), 0);
  }, 0);
}
