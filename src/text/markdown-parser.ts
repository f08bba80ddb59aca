// Parses CommonMark with the tables, strikethrough and task lists of GitHub into the tree of markdown-tree.ts.
// Everything that the tree has no node for becomes its text.
import type { Options } from 'mdast-util-from-markdown';
import type {
  BlockContent,
  DefinitionContent,
  List as ListNode,
  ListItem,
  PhrasingContent,
  Root,
  RootContent,
  Table,
} from 'mdast';
import { safeHref } from './links.ts';
import {
  inlineText,
  type Block,
  type Break,
  type Inline,
  type Item,
  type List,
  type TextRun,
} from './markdown-tree.ts';

/** Nested lists; deeper items join their parent list. Each takes two of the 32 levels that a message may have. */
const MAX_LISTS = 6;
const MAX_LIST_START = 999_999;
const LANGUAGE = /^[\w+#-]{1,32}/;
/** An `&` that a reader of Markdown would decode inside an address, which could then be another one. */
const ENTITY = /&#?\w+;/;

export interface MarkdownRules {
  /** Whether a link may stay a link; its text stays either way. @param href as `safeHref` returns it */
  readonly keepLink?: (href: string) => boolean;
  /** Whether what is struck through stays so; else it is text like any other. */
  readonly keepStrike?: boolean;
  /** Whether `++text++` is underlined; else it is text like any other. */
  readonly keepUnderline?: boolean;
}

/** Stands for a plus that was escaped until the marks are found. It means nothing in a text. */
const ESCAPED_PLUS = '\ufffc';
/** Two that may mark: not part of a longer row of them. */
const LINE_MARK = /(?<!\+)\+\+(?!\+)/g;
const WORD = /[\p{L}\p{N}]/u;

type Parse = (markdown: string) => Root;
let parser: Promise<Parse> | undefined;

/**
 * Parses Markdown. Raw HTML, character references and reference links are text.
 * @param markdown well-formed, without hidden characters
 * @throws RangeError when it is nested deeper than the stack
 */
export async function parseMarkdownTree(markdown: string, rules: MarkdownRules): Promise<readonly Block[]> {
  parser ??= loadParser();
  const parse = await parser;
  // The parser forgets which characters were escaped.
  const source =
    rules.keepUnderline === true
      ? markdown
          .replaceAll(ESCAPED_PLUS, '')
          .replace(/\\([\s\S])/g, (pair, escaped) => (escaped === '+' ? ESCAPED_PLUS : pair))
      : markdown;
  return new TreeBuilder(source, rules).blocks(parse(source).children);
}

/** The address of a link that may stay one, else null. */
export function linkHref(url: string, { keepLink }: MarkdownRules): string | null {
  const href = safeHref(url);
  if (href === null || ENTITY.test(href)) return null;
  return keepLink === undefined || keepLink(href) ? href : null;
}

// Loaded with the first text that needs it: most commands and most servers never do.
async function loadParser(): Promise<Parse> {
  const [{ fromMarkdown }, table, tableTree, strikethrough, strikethroughTree, taskList, taskListTree] =
    await Promise.all([
      import('mdast-util-from-markdown'),
      import('micromark-extension-gfm-table'),
      import('mdast-util-gfm-table'),
      import('micromark-extension-gfm-strikethrough'),
      import('mdast-util-gfm-strikethrough'),
      import('micromark-extension-gfm-task-list-item'),
      import('mdast-util-gfm-task-list-item'),
    ]);
  const options: Options = {
    extensions: [
      table.gfmTable(),
      // One tilde means "about" to those who write to each other.
      strikethrough.gfmStrikethrough({ singleTilde: false }),
      taskList.gfmTaskListItem(),
      { disable: { null: ['characterReference', 'codeIndented', 'definition', 'htmlFlow', 'htmlText'] } },
    ],
    mdastExtensions: [
      tableTree.gfmTableFromMarkdown(),
      strikethroughTree.gfmStrikethroughFromMarkdown(),
      taskListTree.gfmTaskListItemFromMarkdown(),
    ],
  };
  return (markdown) => fromMarkdown(markdown, options);
}

type Style = Pick<TextRun, 'bold' | 'italic' | 'strike' | 'underline' | 'code'>;
const PLAIN: Style = { bold: false, italic: false, strike: false, underline: false, code: false };

class TreeBuilder {
  readonly #source: string;
  readonly #rules: MarkdownRules;

  constructor(source: string, rules: MarkdownRules) {
    this.#source = source;
    this.#rules = rules;
  }

  blocks(nodes: readonly RootContent[]): Block[] {
    return nodes.flatMap((node) => this.#block(node));
  }

  #block(node: RootContent): Block[] {
    switch (node.type) {
      case 'code':
        return [
          {
            kind: 'code',
            language: LANGUAGE.exec(node.lang ?? '')?.[0].toLowerCase() ?? null,
            text: asWritten(node.value),
          },
        ];
      case 'list':
        return [this.#list(node, 1)];
      case 'blockquote':
        return this.blocks(node.children);
      case 'table':
        return paragraph(this.#tableLines(node));
      case 'paragraph':
      case 'heading':
        return paragraph(this.#line(node.children));
      default:
        return [];
    }
  }

  #tableLines({ children: rows }: Table): Inline[] {
    const lines = rows.map(({ children: cells }) =>
      cells.map((cell) => this.#line(cell.children)).filter((inlines) => inlineText(inlines).trim() !== ''),
    );
    return lines
      .filter((cells) => cells.length > 0)
      .flatMap((cells, line) => [
        ...(line === 0 ? [] : [softBreak]),
        ...cells.flatMap((cell, at) =>
          at === 0 ? cell : [{ kind: 'text', text: ' · ', ...PLAIN } as const, ...cell],
        ),
      ]);
  }

  #list(node: ListNode, depth: number): List {
    const items = node.children.flatMap((item) => this.#items(item, depth));
    return {
      kind: 'list',
      ordered: node.ordered === true,
      start: Math.min(node.start ?? 1, MAX_LIST_START),
      items,
    };
  }

  /** The item, and behind it the items of lists in it that are nested too deep. */
  #items({ children }: ListItem, depth: number): Item[] {
    const inlines: Inline[] = [];
    const lists: List[] = [];
    const tooDeep: Item[] = [];
    for (const child of children) {
      if (child.type !== 'list') {
        const more = this.#flatInlines(child);
        if (more.length > 0) inlines.push(...(inlines.length === 0 ? [] : [hardBreak]), ...more);
      } else if (depth < MAX_LISTS) lists.push(this.#list(child, depth + 1));
      else tooDeep.push(...this.#list(child, depth).items);
    }
    return [{ inlines, lists }, ...tooDeep];
  }

  /** A block inside a list item, as the item's own lines. */
  #flatInlines(node: BlockContent | DefinitionContent): Inline[] {
    return this.#block(node).flatMap((block, at) => {
      const inlines = blockInlines(block);
      return at === 0 ? inlines : [hardBreak, ...inlines];
    });
  }

  /** What a paragraph, a heading or a cell holds. */
  #line(nodes: readonly PhrasingContent[]): Inline[] {
    const inlines = this.#inlines(nodes, PLAIN);
    return this.#rules.keepUnderline === true ? underlined(inlines) : inlines;
  }

  #inlines(nodes: readonly PhrasingContent[], style: Style): Inline[] {
    return nodes.flatMap((node) => this.#inline(node, style));
  }

  #inline(node: PhrasingContent, style: Style): Inline[] {
    switch (node.type) {
      case 'text':
        return textRuns(node.value, style);
      case 'inlineCode':
        return [{ kind: 'text', text: asWritten(node.value), ...style, code: true }];
      case 'strong':
        return this.#inlines(node.children, { ...style, bold: true });
      case 'emphasis':
        return this.#inlines(node.children, { ...style, italic: true });
      case 'delete':
        return this.#inlines(node.children, { ...style, strike: this.#rules.keepStrike === true });
      case 'break':
        return [hardBreak];
      case 'image':
        return textRuns(node.alt ?? '', style);
      case 'link': {
        const children = this.#inlines(node.children, style).filter((inline) => inline.kind !== 'link');
        const { start, end } = node.position ?? {};
        const written = this.#source.slice(start?.offset, end?.offset);
        const href = linkHref(node.url.replaceAll(ESCAPED_PLUS, '+'), this.#rules);
        const isEmpty = inlineText(children).trim() === '';
        // Without a text, and as an address in angle brackets that is none, it stands as it was written.
        if (href === null) return isEmpty || written.startsWith('<') ? textRuns(written, style) : children;
        return isEmpty ? textRuns(written, style) : [{ kind: 'link', href, children }];
      }
      default:
        return [];
    }
  }
}

/** A text in which backslashes mean nothing. */
function asWritten(text: string): string {
  return text.replaceAll(ESCAPED_PLUS, '\\+');
}

interface LineMark {
  /** The place of its run. */
  readonly run: number;
  /** Its place in the run's text. */
  readonly at: number;
  readonly opens: boolean;
}

/** Underlines what stands between two marks of one style, and takes the marks away. */
function underlined(inlines: readonly Inline[]): Inline[] {
  const used = pairedMarks(inlines);
  let depth = 0;
  return inlines.flatMap((inline, run): readonly Inline[] => {
    if (inline.kind === 'break') return [inline];
    if (inline.kind === 'link') {
      const children = underlined(inline.children).filter((one) => one.kind !== 'link');
      return [
        {
          ...inline,
          children: children.map((one) =>
            one.kind === 'text' && depth > 0 ? { ...one, underline: true } : one,
          ),
        },
      ];
    }
    const pieces: TextRun[] = [];
    let from = 0;
    const cut = (to: number): void => {
      const text = inline.text.slice(from, to).replaceAll(ESCAPED_PLUS, '+');
      if (text !== '') pieces.push({ ...inline, text, underline: depth > 0 });
    };
    for (const { at, opens } of used.filter((mark) => mark.run === run)) {
      cut(at);
      depth += opens ? 1 : -1;
      from = at + 2;
    }
    cut(inline.text.length);
    return pieces;
  });
}

/** The marks that have another one, in order. Each character is looked at once. */
function pairedMarks(inlines: readonly Inline[]): readonly LineMark[] {
  const used: LineMark[] = [];
  const open = new Map<string, LineMark>();
  inlines.forEach((inline, run) => {
    if (inline.kind !== 'text' || inline.code) return;
    const style = `${inline.bold}${inline.italic}${inline.strike}`;
    for (const { index: at } of inline.text.matchAll(LINE_MARK)) {
      const before = inline.text[at - 1] ?? edge(inlines[run - 1], -1);
      const after = inline.text[at + 2] ?? edge(inlines[run + 1], 0);
      const first = open.get(style);
      const follows = first !== undefined && (first.run !== run || first.at + 2 < at);
      if (follows && before.trim() !== '' && !WORD.test(after)) {
        used.push(first, { run, at, opens: false });
        open.delete(style);
      } else if (after.trim() !== '' && !WORD.test(before)) open.set(style, { run, at, opens: true });
    }
  });
  return used.toSorted((one, other) => one.run - other.run || one.at - other.at);
}

/** The character of an inline that stands beside another one. */
function edge(inline: Inline | undefined, at: 0 | -1): string {
  if (inline === undefined || inline.kind === 'break') return '';
  return inlineText([inline]).at(at) ?? '';
}

const hardBreak: Break = { kind: 'break', hard: true };
const softBreak: Break = { kind: 'break', hard: false };

function paragraph(inlines: readonly Inline[]): Block[] {
  return inlineText(inlines).trim() === '' ? [] : [{ kind: 'paragraph', inlines }];
}

/** A text in which line ends are breaks that the writer did not ask for. */
function textRuns(text: string, style: Style): (TextRun | Break)[] {
  return text
    .split('\n')
    .flatMap((line, at) => [
      ...(at === 0 ? [] : [softBreak]),
      ...(line === '' ? [] : [{ kind: 'text', text: line, ...style } as const]),
    ]);
}

function blockInlines(block: Block): readonly Inline[] {
  switch (block.kind) {
    case 'paragraph':
      return block.inlines;
    case 'code':
      return block.text
        .split('\n')
        .flatMap((line, at) => [
          ...(at === 0 ? [] : [hardBreak]),
          { kind: 'text', text: line, ...PLAIN, code: true } as const,
        ]);
    case 'list':
      return block.items.flatMap(({ inlines, lists }, at) => [
        ...(at === 0 ? [] : [hardBreak]),
        ...inlines,
        ...lists.flatMap((list) => [hardBreak, ...blockInlines(list)]),
      ]);
  }
}
