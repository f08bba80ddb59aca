// Owns writing the text of a message as Lexical JSON. Must not parse anything.
import { plainRun, type Block, type Inline, type List, type TextRun } from './markdown-tree.ts';

interface LexicalJson {
  readonly type: string;
  readonly version: 1;
  readonly [field: string]: unknown;
}

const element = { direction: null, format: '', indent: 0, version: 1 } as const;

/** The blocks as the JSON string of a Lexical editor's state (contract: "Rich text"). */
export function writeLexical(blocks: readonly Block[]): string {
  const children = joinLists(blocks).map((block) => lexicalBlock(block));
  return JSON.stringify({ root: { ...element, type: 'root', children } });
}

/** Lists of one kind that follow each other as one: the editor joins them when it opens the state. */
function joinLists<T extends Block>(blocks: readonly T[]): (T | List)[] {
  const joined: (T | List)[] = [];
  for (const block of blocks) {
    const last = joined.at(-1);
    if (block.kind === 'list' && last?.kind === 'list' && last.ordered === block.ordered)
      joined[joined.length - 1] = { ...last, items: [...last.items, ...block.items] };
    else joined.push(block);
  }
  return joined;
}

function lexicalBlock(block: Block): LexicalJson {
  if (block.kind === 'code') {
    const children = block.text
      .split('\n')
      .flatMap((line, index) => [
        ...(index === 0 ? [] : [lexicalBreak]),
        ...(line === '' ? [] : [lexicalRun(plainRun(line))]),
      ]);
    return {
      ...element,
      type: 'code',
      ...(block.language === null ? {} : { language: block.language }),
      children,
    };
  }
  if (block.kind === 'paragraph')
    return { ...element, type: 'paragraph', children: lexicalInlines(block.inlines) };
  return lexicalList(block);
}

function lexicalList(list: List): LexicalJson {
  const tag = list.ordered ? 'ol' : 'ul';
  const children: LexicalJson[] = [];
  list.items.forEach((item, index) => {
    const value = list.start + index;
    if (item.inlines.length > 0 || item.lists.length === 0) {
      children.push({ ...element, type: 'listitem', value, children: lexicalInlines(item.inlines) });
    }
    // The editor keeps a nested list in an item of its own, behind the one that it belongs to.
    for (const nested of joinLists(item.lists))
      children.push({ ...element, type: 'listitem', value: value + 1, children: [lexicalList(nested)] });
  });
  return {
    ...element,
    type: 'list',
    listType: list.ordered ? 'number' : 'bullet',
    start: list.start,
    tag,
    children,
  };
}

const lexicalBreak: LexicalJson = { type: 'linebreak', version: 1 };

/** Runs of one style that follow each other as one: the editor joins them, too. */
function joinRuns(inlines: readonly Inline[]): Inline[] {
  const joined: Inline[] = [];
  for (const inline of inlines) {
    const last = joined.at(-1);
    if (inline.kind === 'text' && last?.kind === 'text' && formatOf(inline) === formatOf(last))
      joined[joined.length - 1] = { ...last, text: last.text + inline.text };
    else joined.push(inline);
  }
  return joined;
}

function lexicalInlines(inlines: readonly Inline[]): LexicalJson[] {
  return joinRuns(inlines).map((inline) => {
    if (inline.kind === 'break') return lexicalBreak;
    if (inline.kind === 'text') return lexicalRun(inline);
    return {
      ...element,
      type: 'link',
      url: inline.href,
      rel: 'noopener noreferrer',
      target: '_blank',
      title: null,
      children: lexicalInlines(inline.children),
    };
  });
}

function lexicalRun(run: TextRun): LexicalJson {
  const { text } = run;
  return { type: 'text', version: 1, detail: 0, format: formatOf(run), mode: 'normal', style: '', text };
}

/** Lexical's bitmask of a run's marks. */
function formatOf(run: TextRun): number {
  return (
    (run.bold ? 1 : 0) +
    (run.italic ? 2 : 0) +
    (run.strike ? 4 : 0) +
    (run.underline ? 8 : 0) +
    (run.code ? 16 : 0)
  );
}
