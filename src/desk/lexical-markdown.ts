// A stored message as Markdown to be edited: what its author would have typed. Reads
// Lexical JSON; must not throw on anything, and keeps every text.
import {
  inlineText,
  plainRun,
  writeMarkdown,
  type Block,
  type Break,
  type Inline,
  type Item,
  type List,
  type TextRun,
} from '../text/markdown-tree.ts';
import { childrenOf, formatBits, parseLexicalRoot, type LexicalNode } from './lexical-nodes.ts';
import { safeHref } from '../text/links.ts';

const maxDepth = 64;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function runOf(node: LexicalNode): TextRun {
  const format = typeof node['format'] === 'number' ? node['format'] : 0;
  return {
    kind: 'text',
    text: textOf(node['text']),
    bold: (format & formatBits.bold) > 0,
    italic: (format & formatBits.italic) > 0,
    strike: (format & formatBits.strike) > 0,
    underline: (format & formatBits.underline) > 0,
    code: (format & formatBits.code) > 0,
  };
}

function inlinesOf(nodes: readonly LexicalNode[], depth = 0): readonly Inline[] {
  if (depth > maxDepth) return [];
  return nodes.flatMap((node): readonly Inline[] => {
    switch (node['type']) {
      case 'linebreak':
        return [{ kind: 'break', hard: true }];
      case 'tab':
        return [plainRun('\t')];
      case 'link':
      case 'autolink': {
        const inner = inlinesOf(childrenOf(node), depth + 1).filter(
          (one): one is TextRun | Break => one.kind !== 'link',
        );
        const href = safeHref(node['url']);
        return href === null ? inner : [{ kind: 'link', href, children: inner }];
      }
      default:
        return 'text' in node ? [runOf(node)] : inlinesOf(childrenOf(node), depth + 1);
    }
  });
}

function listOf(node: LexicalNode, depth: number): List {
  const items: Item[] = [];
  for (const child of childrenOf(node)) {
    const nested = childrenOf(child).filter(({ type }) => type === 'list');
    const own = inlinesOf(childrenOf(child).filter(({ type }) => type !== 'list'));
    const lists = depth > maxDepth ? [] : nested.map((one) => listOf(one, depth + 1));
    const before = items.at(-1);
    // Lexical puts a nested list into an item of its own.
    if (own.length === 0 && lists.length > 0 && before !== undefined)
      items[items.length - 1] = { ...before, lists: [...before.lists, ...lists] };
    else items.push({ inlines: own, lists });
  }
  return {
    kind: 'list',
    ordered: node['listType'] === 'number',
    start: typeof node['start'] === 'number' ? node['start'] : 1,
    items,
  };
}

function blockOf(node: LexicalNode): Block {
  if (node['type'] === 'list') return listOf(node, 0);
  const inlines = inlinesOf(childrenOf(node));
  if (node['type'] === 'code')
    return { kind: 'code', language: textOf(node['language']) || null, text: inlineText(inlines) };
  return { kind: 'paragraph', inlines };
}

/** @returns Markdown; a plain message, and what is no tree after all, as it stands */
export function editableText({
  content,
  contentFormat,
}: {
  readonly content: string;
  readonly contentFormat: 'plain' | 'lexical';
}): string {
  if (contentFormat === 'plain') return content;
  const root = parseLexicalRoot(content);
  return root === null ? content : writeMarkdown(childrenOf(root).map(blockOf)).trim();
}

/** Whether Lexical JSON holds anything that plain text could not say. */
export function isFormatted(content: string): boolean {
  const root = parseLexicalRoot(content);
  return (
    root !== null &&
    childrenOf(root).some(
      (node) =>
        node['type'] !== 'paragraph' ||
        childrenOf(node).some(
          (one) => one['type'] !== 'linebreak' && (one['type'] !== 'text' || (one['format'] ?? 0) !== 0),
        ),
    )
  );
}
