// Owns reading Lexical JSON: checks it and answers a small tree of our own that holds only what we render.
// Must not make HTML, and must not pass on a field of the sender's that is not named here.

import { parseJson } from './json.ts';
import { readRel, safeHref } from '../../text/links.ts';
import { findUnstorable } from '../../protocol/text.ts';
import { hasVisibleText } from '../../text/text.ts';

/** Levels of nodes below the root: the root's children are level 1. */
const MAX_LEXICAL_LEVELS = 32;
/** Nodes below the root. */
export const MAX_LEXICAL_NODES = 2000;

// A node at level n sits 2n + 2 deep in the JSON (its object, its parent's array, and so up to the root's wrapper).
// The rest is room for an empty `children` array and for nested fields of editors' own, which we don't read.
const MAX_SOURCE_DEPTH = 2 * MAX_LEXICAL_LEVELS + 2 + 4;

/** What every node has: its own text (empty for most) and its children, in reading order: the text comes first. */
interface Common {
  readonly text: string;
  readonly children: readonly LexicalNode[];
}

export type HeadingTag = 'h1' | 'h2' | 'h3' | 'h4' | 'h5' | 'h6';

export interface RootNode extends Common {
  readonly type: 'root';
}
export interface ParagraphNode extends Common {
  readonly type: 'paragraph';
}
export interface HeadingNode extends Common {
  readonly type: 'heading';
  /** `p` when the sender's tag is none of h1 to h6. */
  readonly tag: HeadingTag | 'p';
}
export interface ListNode extends Common {
  readonly type: 'list';
  readonly ordered: boolean;
}
export interface ListItemNode extends Common {
  readonly type: 'listitem';
}
export interface CodeNode extends Common {
  readonly type: 'code';
  /** Lower case, of a-z 0-9 + # -, at most 32 characters; null when there is none that can be used. */
  readonly language: string | null;
}
/** A link or an autolink. */
export interface LinkNode extends Common {
  readonly type: 'link';
  /** An address that was found safe; null when the link is to become its text. */
  readonly href: string | null;
  readonly newTab: boolean;
  /** As `readRel` leaves it. */
  readonly rel: string;
}
export interface TextNode extends Common {
  readonly type: 'text';
  /** The sum of bold 1, italic 2, strikethrough 4, underline 8 and code 16; other bits may be set and mean nothing. */
  readonly format: number;
}
export interface LineBreakNode extends Common {
  readonly type: 'linebreak';
}
/** Any type that we don't render (quote, table, image, mention …): its text and children stand in its place. */
export interface UnknownNode extends Common {
  readonly type: 'unknown';
  readonly format: number;
}

export type LexicalNode =
  | RootNode
  | ParagraphNode
  | HeadingNode
  | ListNode
  | ListItemNode
  | CodeNode
  | LinkNode
  | TextNode
  | LineBreakNode
  | UnknownNode;

/** The outcome of {@link checkLexical}; `problem` is a sentence for the person who wrote the client. */
export type CheckedLexical = { ok: true; root: RootNode } | { ok: false; problem: string };

/**
 * Reads and checks the JSON string of a rich message (contract: "Rich text" and the settled limits): an object with
 * `root`, of type `root` and version 1, whose `children` is an array; at most 32 levels of nodes below the root and
 * 2,000 of them; each an object with a `type` (a string, or a number, which is an unknown type like any other);
 * text nodes have a string `text` and an integer `format` of 0 or more; no text with U+0000 or a lone surrogate;
 * and the whole must show something. Unknown types, fields and format bits are not errors.
 *
 * @param source the JSON text
 * @returns the tree to render, or what is wrong and where; never throws on any input
 */
export function checkLexical(source: string): CheckedLexical {
  const parsed = parseJson(source, MAX_SOURCE_DEPTH);
  if (!parsed.ok) {
    const problem =
      parsed.reason === 'depth'
        ? TOO_DEEP
        : 'is not JSON. Send the editor state as a JSON string, or set contentFormat to plain.';
    return { ok: false, problem };
  }
  try {
    const root = new TreeReader().root(parsed.value);
    if (!hasVisibleText(plainText(root))) {
      return { ok: false, problem: 'shows no text. Write something before sending.' };
    }
    return { ok: true, root };
  } catch (error) {
    if (error instanceof LexicalError) return { ok: false, problem: error.message };
    throw error;
  }
}

/**
 * The message as plain text for search, previews and terminals: one line for each block or line break, no
 * markup, no addresses. Empty paragraphs leave no line.
 */
export function plainText(root: LexicalNode): string {
  const lines = new LineWriter();
  lines.write(root, true);
  return lines.text.trim();
}

/**
 * Whether a child of an unknown type is a block of its own (a quote, a table) where blocks may stand, or part of a
 * line (a mention, a hashtag): it is part of a line when a sibling is text, a link or a line break.
 */
export function unknownChildrenAreBlocks(parent: LexicalNode): boolean {
  return parent.children.every((child) => isBlockNode(child) || child.type === 'unknown');
}

const TOO_DEEP = `is nested too deeply. At most ${MAX_LEXICAL_LEVELS} levels of nodes are allowed below root.`;
const LANGUAGE = /^[a-z0-9+#-]{1,32}$/;

class LexicalError extends Error {}

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  // An array passes, and is refused a line later: parsed JSON arrays have none of the names that we look for.
  return typeof value === 'object' && value !== null;
}

// Recursion is safe here: the source's depth was bounded before it was parsed.
class TreeReader {
  private nodes = 0;
  private readonly place: number[] = [];

  root(value: unknown): RootNode {
    if (!isObject(value) || !isObject(value['root']))
      throw new LexicalError('must be a JSON object with an object `root`.');
    const root = value['root'];
    if (root['type'] !== 'root') throw new LexicalError('must have root.type "root".');
    if (root['version'] !== 1)
      throw new LexicalError('must have root.version 1; other versions are not known.');
    if (!Array.isArray(root['children'])) throw new LexicalError('must have an array root.children.');
    return { type: 'root', text: '', children: this.children(root) };
  }

  private children(fields: Fields): LexicalNode[] {
    const list: unknown = fields['children'];
    if (list === undefined) return [];
    if (!Array.isArray(list)) this.refuse('has `children` that is not an array.');
    if (list.length > 0 && this.place.length >= MAX_LEXICAL_LEVELS) throw new LexicalError(TOO_DEEP);
    return list.map((child: unknown, index) => {
      this.place.push(index);
      const node = this.node(child);
      this.place.pop();
      return node;
    });
  }

  private node(value: unknown): LexicalNode {
    this.nodes++;
    if (this.nodes > MAX_LEXICAL_NODES) {
      throw new LexicalError(`has too many nodes. At most ${MAX_LEXICAL_NODES} are allowed below root.`);
    }
    if (!isObject(value)) this.refuse('must be an object with a `type`.');
    const type = value['type'];
    if (typeof type !== 'string' && typeof type !== 'number')
      this.refuse('must have a `type` that is a string.');
    const text = this.text(value, type);
    const format = this.format(value, type);
    const common = { text, children: this.children(value) };
    switch (type) {
      case 'paragraph':
      case 'listitem':
      case 'linebreak':
        return { type, ...common };
      case 'heading':
        return { type, ...common, tag: headingTag(value['tag']) };
      case 'list':
        return { type, ...common, ordered: value['listType'] === 'number' };
      case 'code':
        return { type, ...common, language: codeLanguage(value['language']) };
      case 'link':
      case 'autolink':
        return {
          type: 'link',
          ...common,
          href: safeHref(value['url']),
          newTab: value['target'] === '_blank',
          rel: readRel(value['rel'], value['target'] === '_blank'),
        };
      case 'text':
        return { type, ...common, format };
      default:
        return { type: 'unknown', ...common, format };
    }
  }

  // Any node may carry text: editors' own leaf types do (hashtags, mentions, code highlights), and none may be lost.
  private text(fields: Fields, type: string | number): string {
    const text = fields['text'];
    if (typeof text !== 'string') {
      if (type === 'text') this.refuse('is a text node and must have a string `text`.');
      return '';
    }
    const reason = findUnstorable(text);
    if (reason === 'nul')
      this.refuse('has text with the character U+0000, which cannot be stored. Remove it.');
    if (reason !== null)
      this.refuse('has text with half a character (a lone surrogate). Send well-formed Unicode.');
    return text;
  }

  // Only in text is `format` a bitmask; elements use the same name for their alignment.
  private format(fields: Fields, type: string | number): number {
    const format = fields['format'];
    if (typeof format === 'number' && Number.isInteger(format) && format >= 0) return format;
    if (type === 'text' && format !== undefined)
      this.refuse('is a text node whose `format` is not an integer of 0 or more.');
    return 0;
  }

  private refuse(problem: string): never {
    const path = this.place.map((index) => `.children[${index}]`).join('');
    throw new LexicalError(`is not valid: root${path} ${problem}`);
  }
}

function headingTag(tag: unknown): HeadingTag | 'p' {
  switch (tag) {
    case 'h1':
    case 'h2':
    case 'h3':
    case 'h4':
    case 'h5':
    case 'h6':
      return tag;
    default:
      return 'p';
  }
}

function codeLanguage(language: unknown): string | null {
  if (typeof language !== 'string') return null;
  const name = language.toLowerCase();
  return LANGUAGE.test(name) ? name : null;
}

class LineWriter {
  text = '';

  /** `asBlock` says whether a node of unknown type begins and ends a line here. */
  write(node: LexicalNode, asBlock: boolean): void {
    const block = isBlockNode(node) || (asBlock && node.type === 'unknown');
    if (block) this.newLine();
    if (node.type === 'linebreak') this.text += '\n';
    this.text += node.text;
    const holdsBlocks = block && (node.type === 'root' || node.type === 'unknown');
    const childAsBlock = holdsBlocks && unknownChildrenAreBlocks(node);
    for (const child of node.children) this.write(child, childAsBlock);
    if (block) this.newLine();
  }

  private newLine(): void {
    if (this.text !== '' && !this.text.endsWith('\n')) this.text += '\n';
  }
}

function isBlockNode(node: LexicalNode): boolean {
  return node.type !== 'text' && node.type !== 'link' && node.type !== 'linebreak' && node.type !== 'unknown';
}
