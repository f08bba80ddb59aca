// Cutting: a document becomes passages short enough to be quoted and long enough to
// be understood, each with the headings above it. Pure; stores nothing, ranks nothing.
import type { KnowledgeFormat } from '../../protocol/assistant.ts';
import { assistantLimits } from '../../protocol/codes.ts';
import { withoutInvisible } from '../../text/invisible.ts';
import { preview } from '../../text/text.ts';
import { unwrapped, type Block, type Outline } from './cutting/blocks.ts';
import { readHtml } from './cutting/html.ts';
import { readMarkdown } from './cutting/markdown.ts';

export interface Passage {
  /** Headings above it, outermost first, joined by " › "; null: none but the title. */
  readonly heading: string | null;
  /** The innermost heading's place in the document, without "#". */
  readonly anchor: string | null;
  /** Plain text: lines of a list begin with "- " or a number, paragraphs are parted by an empty line. UTF-16 units: at most `longest`. */
  readonly text: string;
}

export interface CutDocument {
  readonly title: string;
  readonly passages: readonly Passage[];
}

/** UTF-16 units. A passage ends once it has `enough` and the next block would carry it beyond `full`. */
const enough = 400;
const full = 1_000;
const longest = 1_200;
const headingLength = 300;

/**
 * @param source names the document where nothing else does
 * @throws HtmlTooDeep
 */
export function cutDocument(content: string, format: KnowledgeFormat, source: string, title: string | null): CutDocument {
  const outline = readOutline(withoutInvisible(content), format);
  const named = title ?? outline.title ?? nameOf(source);
  return { title: preview(withoutInvisible(named), assistantLimits.title), passages: cut(outline.blocks, outline.title) };
}

function readOutline(content: string, format: KnowledgeFormat): Outline {
  switch (format) {
    case 'markdown':
      return readMarkdown(content);
    case 'html':
      return readHtml(content);
    case 'text':
      return { title: null, blocks: content.split(/\n[ \t]*\n/).map((text) => ({ kind: 'text', text: paragraphOf(text) })) };
  }
}

/** A paragraph of plain text keeps its lines where they are lines, as in a list or a poem. */
function paragraphOf(text: string): string {
  const lines = text.split('\n').map((line) => line.trimEnd());
  const wrapped = lines.slice(0, -1).every((line) => line.length > 50);
  return wrapped ? unwrapped(lines) : lines.join('\n').trim();
}

/** The last part of a path or address, without its ending. */
function nameOf(source: string): string {
  const path = source.replace(/[?#].*$/, '').replace(/\/+$/, '');
  const last = path.slice(path.lastIndexOf('/') + 1).replace(/\.(?:md|markdown|html?|txt)$/i, '');
  return last === '' ? source : last;
}

interface Section {
  readonly heading: string | null;
  readonly anchor: string | null;
  readonly texts: string[];
}

function cut(blocks: readonly Block[], title: string | null): Passage[] {
  const passages: Passage[] = [];
  for (const { heading, anchor, texts } of sectionsOf(blocks, title)) {
    let current = '';
    const end = (): void => {
      if (current !== '') passages.push({ heading, anchor, text: current });
      current = '';
    };
    for (const text of texts) {
      for (const piece of piecesOf(text)) {
        const length = current.length + piece.length + 2;
        if (length > longest || (length > full && current.length >= enough)) end();
        current = current === '' ? piece : `${current}\n\n${piece}`;
      }
    }
    end();
  }
  return passages;
}

function sectionsOf(blocks: readonly Block[], title: string | null): Section[] {
  const path: { level: number; text: string }[] = [];
  let section: Section = { heading: null, anchor: null, texts: [] };
  const sections = [section];
  for (const block of blocks) {
    if (block.kind === 'text') {
      section.texts.push(block.text);
      continue;
    }
    while ((path.at(-1)?.level ?? 0) >= block.level) path.pop();
    // The title is said with every passage already.
    if (!(block.text === title && path.length === 0)) path.push({ level: block.level, text: block.text });
    const heading = path.map(({ text }) => preview(text, 120)).join(' › ');
    section = { heading: heading === '' ? null : preview(heading, headingLength), anchor: block.anchor, texts: [] };
    sections.push(section);
  }
  return sections;
}

/** A block, in pieces of at most `longest`: between lines, else sentences, else words, else anywhere between characters. */
function piecesOf(text: string): string[] {
  if (text.length <= longest) return text.trim() === '' ? [] : [text];
  for (const [parts, glue] of [
    [() => text.split('\n'), '\n'],
    [() => segments(text, 'sentence'), ''],
    [() => segments(text, 'word'), ''],
    [() => segments(text, 'grapheme'), ''],
  ] as const) {
    const found = parts();
    if (found.length > 1) return joined(found, glue);
  }
  return joined(Array.from(text), '');
}

/** Fills pieces up to `full`; a part that is too long by itself is cut on. */
function joined(parts: readonly string[], glue: string): string[] {
  const pieces: string[] = [];
  let current = '';
  const end = (): void => {
    if (current.trim() !== '') pieces.push(current.trim());
    current = '';
  };
  for (const part of parts) {
    if (part.length > longest) {
      end();
      pieces.push(...piecesOf(part));
    } else {
      if (current.length + part.length + glue.length > full) end();
      current = current === '' ? part : `${current}${glue}${part}`;
    }
  }
  end();
  return pieces;
}

function segments(text: string, granularity: 'sentence' | 'word' | 'grapheme'): string[] {
  return [...new Intl.Segmenter('und', { granularity }).segment(text)].map(({ segment }) => segment);
}
