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
} from '../../../text/markdown-tree.ts';
import { safeHref } from '../../../text/links.ts';

type Fields = Readonly<Record<string, unknown>>;

const BOLD = 1;
const ITALIC = 2;
const CODE = 16;
const deepest = 64;

const childrenOf = (node: Fields): readonly Fields[] =>
  Array.isArray(node['children'])
    ? node['children'].filter((one): one is Fields => typeof one === 'object' && one !== null)
    : [];
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function runOf(node: Fields): TextRun {
  const format = typeof node['format'] === 'number' ? node['format'] : 0;
  return {
    kind: 'text',
    text: textOf(node['text']),
    bold: (format & BOLD) > 0,
    italic: (format & ITALIC) > 0,
    code: (format & CODE) > 0,
  };
}

function inlinesOf(nodes: readonly Fields[], depth = 0): readonly Inline[] {
  if (depth > deepest) return [];
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

function listOf(node: Fields, depth: number): List {
  const items: Item[] = [];
  for (const child of childrenOf(node)) {
    const nested = childrenOf(child).filter(({ type }) => type === 'list');
    const own = inlinesOf(childrenOf(child).filter(({ type }) => type !== 'list'));
    const lists = depth > deepest ? [] : nested.map((one) => listOf(one, depth + 1));
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

function blockOf(node: Fields): Block {
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
  try {
    const { root } = JSON.parse(content) as { readonly root: Fields };
    return writeMarkdown(childrenOf(root).map(blockOf)).trim();
  } catch {
    return content;
  }
}

/** Whether Lexical JSON holds anything that plain text could not say. */
export function isFormatted(content: string): boolean {
  try {
    const { root } = JSON.parse(content) as { readonly root: Fields };
    return childrenOf(root).some(
      (node) =>
        node['type'] !== 'paragraph' ||
        childrenOf(node).some(
          (one) => one['type'] !== 'linebreak' && (one['type'] !== 'text' || (one['format'] ?? 0) !== 0),
        ),
    );
  } catch {
    return false;
  }
}
