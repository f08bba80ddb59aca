// Owns reading what was written in the composer: from whatever elements the browser's editing made to plain
// text or Lexical JSON. Knows no element of the page but the one it is given.
import { safeAddress } from '../shared/links.ts';

export interface ComposedContent {
  readonly content: string;
  readonly contentFormat: 'plain' | 'lexical';
  /** Ids of uploaded files. */
  readonly attachments?: readonly string[];
}

interface LexicalNode {
  readonly type: string;
  readonly version: 1;
  text?: string;
  format?: number;
  url?: string;
  listType?: 'bullet' | 'number';
  value?: number;
  children?: LexicalNode[];
}

/** Bits of a text's format by element (contract: "Rich text"). */
const formatBits: Readonly<Record<string, number>> = {
  B: 1,
  STRONG: 1,
  I: 2,
  EM: 2,
  S: 4,
  STRIKE: 4,
  DEL: 4,
  U: 8,
  CODE: 16,
};

/**
 * What the editor holds; null when there is nothing to send. Plain whenever plain says it all: the smaller and the
 * more widely read of the two.
 */
export function serializeContent(editor: Node): ComposedContent | null {
  const blocks = trim(readBlocks(editor));
  if (textOf(blocks).trim() === '') return null;
  const plain = blocks.every(({ type, children = [] }) => type === 'paragraph' && children.every(isPlain));
  if (plain) return { content: textOf(blocks).trim(), contentFormat: 'plain' };
  return {
    content: JSON.stringify({ root: { type: 'root', version: 1, children: blocks } }),
    contentFormat: 'lexical',
  };
}

function isPlain({ type, format = 0 }: LexicalNode): boolean {
  return type === 'linebreak' || (type === 'text' && format === 0);
}

function textOf(nodes: readonly LexicalNode[]): string {
  return nodes
    .map(({ type, text, children = [] }) => {
      const inner = type === 'linebreak' ? '\n' : (text ?? textOf(children));
      return type === 'paragraph' || type === 'listitem' ? `${inner}\n` : inner;
    })
    .join('');
}

function readBlocks(parent: Node): LexicalNode[] {
  const blocks: LexicalNode[] = [];
  let line: LexicalNode[] = [];
  const endLine = (evenEmpty = false): void => {
    // Browsers keep an empty line open with a line break that is not part of the text.
    if (line.at(-1)?.type === 'linebreak') line.pop();
    else if (line.length === 0 && !evenEmpty) return;
    blocks.push({ type: 'paragraph', version: 1, children: line });
    line = [];
  };
  const read = (node: Node, format: number): void => {
    const tag = node.nodeName;
    if (tag === 'UL' || tag === 'OL') {
      endLine();
      blocks.push(readList(node));
    } else if (/^(DIV|P|PRE|LI|BLOCKQUOTE|H[1-6])$/.test(tag)) {
      endLine();
      for (const child of node.childNodes) read(child, format);
      endLine(true);
    } else readInline(node, format, line, read);
  };
  for (const child of parent.childNodes) read(child, 0);
  endLine();
  return blocks;
}

function readList(list: Node): LexicalNode {
  const items = [...list.childNodes].map((item, index): LexicalNode => {
    // What nests lists and lines inside an item is flattened into lines of that item; a list in it stays a list.
    const children = readBlocks(item).flatMap((block, at) =>
      block.type === 'paragraph'
        ? [...(at > 0 ? [{ type: 'linebreak', version: 1 } as const] : []), ...(block.children ?? [])]
        : [block],
    );
    return { type: 'listitem', version: 1, value: index + 1, children };
  });
  const filled = items.filter(({ children = [] }) => textOf(children).trim() !== '');
  return {
    type: 'list',
    version: 1,
    listType: list.nodeName === 'OL' ? 'number' : 'bullet',
    children: filled,
  };
}

function readInline(
  node: Node,
  format: number,
  line: LexicalNode[],
  read: (node: Node, format: number) => void,
): void {
  if (node.nodeType === 3) {
    // Zero-width spaces hold the caret open, and no-break spaces are the browser's way of keeping several.
    const text = (node.nodeValue ?? '').replace(/\u200b/g, '').replace(/\u00a0/g, ' ');
    addText(text, format, line);
  } else if (node.nodeName === 'BR') {
    line.push({ type: 'linebreak', version: 1 });
  } else if (node instanceof HTMLAnchorElement && safeAddress(node.href) !== null) {
    const inner: LexicalNode[] = [];
    for (const child of node.childNodes)
      readInline(child, format, inner, (deeper, bit) => readInline(deeper, bit, inner, () => undefined));
    if (textOf(inner) !== '') line.push({ type: 'link', version: 1, url: node.href, children: inner });
  } else {
    for (const child of node.childNodes) read(child, format | (formatBits[node.nodeName] ?? 0));
  }
}

function addText(text: string, format: number, line: LexicalNode[]): void {
  const last = line.at(-1);
  const pieces = text.split('\n');
  pieces.forEach((piece, index) => {
    if (index > 0) line.push({ type: 'linebreak', version: 1 });
    if (piece === '') return;
    if (index === 0 && last?.type === 'text' && last.format === format) last.text = (last.text ?? '') + piece;
    else line.push({ type: 'text', version: 1, text: piece, format });
  });
}

function trim(blocks: LexicalNode[]): LexicalNode[] {
  const filled = blocks.map(({ children = [] }) => textOf(children).trim() !== '');
  return blocks.slice(filled.indexOf(true), filled.lastIndexOf(true) + 1);
}
