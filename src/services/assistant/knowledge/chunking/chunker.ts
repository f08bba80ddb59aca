// Cutting: a document becomes passages short enough to be quoted and long enough to
// be understood, each with the headings above it. Pure; stores nothing, ranks nothing.
import type { KnowledgeFormat } from '../../../../protocol/assistant.ts';
import { assistantLimits } from '../../../../protocol/codes.ts';
import { stripInvisible } from '../../../../text/strip-invisible.ts';
import { preview } from '../../../../text/text.ts';
import { headingSeparator, joinWrappedLines, type Block, type Outline } from './blocks.ts';
import { parseHtmlOutline } from './html.ts';
import { parseMarkdownOutline } from './markdown.ts';

export interface Passage {
  /** Headings above it, outermost first, joined by " › "; null: none but the title. */
  readonly heading: string | null;
  /** The innermost heading's place in the document, without "#". */
  readonly anchor: string | null;
  /** Plain text: lines of a list begin with "- " or a number, paragraphs are parted by an empty line. UTF-16 units: at most `longest`. */
  readonly text: string;
}

export interface DocumentChunks {
  readonly title: string;
  readonly passages: readonly Passage[];
}

/** UTF-16 units. A passage ends once it has `enough` and the next block would carry it beyond `full`. */
const minPassageLength = 400;
const targetPassageLength = 1_000;
const maxPassageLength = 1_200;
const maxHeadingLength = 300;

/**
 * @param source names the document where nothing else does
 * @throws HtmlDepthError
 */
export function chunkDocument(
  content: string,
  format: KnowledgeFormat,
  source: string,
  title: string | null,
): DocumentChunks {
  const outline = readOutline(stripInvisible(content), format);
  const named = title ?? outline.title ?? titleFromSource(source);
  return {
    title: preview(stripInvisible(named), assistantLimits.title),
    passages: splitIntoPassages(outline.blocks, outline.title),
  };
}

function readOutline(content: string, format: KnowledgeFormat): Outline {
  switch (format) {
    case 'markdown':
      return parseMarkdownOutline(content);
    case 'html':
      return parseHtmlOutline(content);
    case 'text':
      return {
        title: null,
        blocks: content.split(/\n[ \t]*\n/).map((text) => ({ kind: 'text', text: unwrapParagraph(text) })),
      };
  }
}

/** A paragraph of plain text keeps its lines where they are lines, as in a list or a poem. */
function unwrapParagraph(text: string): string {
  const lines = text.split('\n').map((line) => line.trimEnd());
  const wrapped = lines.slice(0, -1).every((line) => line.length > 50);
  return wrapped ? joinWrappedLines(lines) : lines.join('\n').trim();
}

/** The last part of a path or address, without its ending. */
function titleFromSource(source: string): string {
  const path = source.replace(/[?#].*$/, '').replace(/\/+$/, '');
  const last = path.slice(path.lastIndexOf('/') + 1).replace(/\.(?:md|markdown|html?|txt)$/i, '');
  return last === '' ? source : last;
}

interface Section {
  readonly heading: string | null;
  readonly anchor: string | null;
  readonly texts: string[];
}

function splitIntoPassages(blocks: readonly Block[], title: string | null): Passage[] {
  const passages: Passage[] = [];
  for (const { heading, anchor, texts } of splitIntoSections(blocks, title)) {
    let current = '';
    const end = (): void => {
      if (current !== '') passages.push({ heading, anchor, text: current });
      current = '';
    };
    for (const text of texts) {
      for (const piece of splitText(text)) {
        const length = current.length + piece.length + 2;
        if (length > maxPassageLength || (length > targetPassageLength && current.length >= minPassageLength))
          end();
        current = current === '' ? piece : `${current}\n\n${piece}`;
      }
    }
    end();
  }
  return passages;
}

function splitIntoSections(blocks: readonly Block[], title: string | null): Section[] {
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
    const heading = path.map(({ text }) => preview(text, 120)).join(headingSeparator);
    section = {
      heading: heading === '' ? null : preview(heading, maxHeadingLength),
      anchor: block.anchor,
      texts: [],
    };
    sections.push(section);
  }
  return sections;
}

/** A block, in pieces of at most `longest`: between lines, else sentences, else words, else anywhere between characters. */
function splitText(text: string): string[] {
  if (text.length <= maxPassageLength) return text.trim() === '' ? [] : [text];
  for (const [parts, glue] of [
    [() => text.split('\n'), '\n'],
    [() => segmentText(text, 'sentence'), ''],
    [() => segmentText(text, 'word'), ''],
    [() => segmentText(text, 'grapheme'), ''],
  ] as const) {
    const found = parts();
    if (found.length > 1) return packParts(found, glue);
  }
  return packParts(Array.from(text), '');
}

/** Fills pieces up to `full`; a part that is too long by itself is cut on. */
function packParts(parts: readonly string[], glue: string): string[] {
  const pieces: string[] = [];
  let current = '';
  const end = (): void => {
    if (current.trim() !== '') pieces.push(current.trim());
    current = '';
  };
  for (const part of parts) {
    if (part.length > maxPassageLength) {
      end();
      pieces.push(...splitText(part));
    } else {
      if (current.length + part.length + glue.length > targetPassageLength) end();
      current = current === '' ? part : `${current}${glue}${part}`;
    }
  }
  end();
  return pieces;
}

function segmentText(text: string, granularity: 'sentence' | 'word' | 'grapheme'): string[] {
  return [...new Intl.Segmenter('und', { granularity }).segment(text)].map(({ segment }) => segment);
}
