// Owns how a line becomes rows of the screen: where it breaks, how it is cut, how wide it is.
// Must not make text safe: it expects spans whose text has been through `sanitizeText`.

import { splitGraphemes } from '../../../text/graphemes.ts';
import { displayWidth, graphemeWidth } from '../../../text/width.ts';
import { cellEnd } from '../../../text/sanitize-text.ts';
import type { Line, Span } from './types.ts';

/** What a row is made of: one grapheme, as drawn. */
export interface Cell {
  readonly text: string;
  /** In columns. */
  readonly width: number;
}

const ellipsis = '…';
const maxClusterWidth = 6;
const blankText = /^[\s\u200b]+$/u;
const noSpaces = /\p{Script=Thai}|\p{Script=Lao}|\p{Script=Khmer}|\p{Script=Myanmar}/u;
const ideograph = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303f\uff01-\uff60]/u;
// Never at the beginning of a row, and never at the end of one (the heart of JIS X 4051's line-breaking rules).
const closing =
  /^[!%),.:;?\]}¢°’”‰′″℃、。々〉》」』】〕〗〙〛〜ぁぃぅぇぉっゃゅょゎ゛゜ゝゞァィゥェォッャュョヮヵヶ・ーヽヾ！％），．：；？］｝～…‥]/u;
const opening = /^[([{‘“〈《「『【〔〖〘〚（［｛$£¥＄￡￥]/u;
const breakBehind = /^[-\u2010\u2013\u2014/\\?&]/u;
const noCell: Cell = { text: '', width: 0 };
let segmenter: Intl.Segmenter | undefined;

/** The columns that a line takes. */
export function widthOf(line: Line): number {
  return displayWidth(textOf(line));
}

/** The text of a line without its styles. */
export function textOf(line: Line): string {
  return line.length === 1 ? (line[0]?.text ?? '') : line.map(({ text }) => text).join('');
}

/**
 * A line as rows that are never wider than the columns. It breaks between words where it can, between ideographs
 * everywhere but before closing and behind opening punctuation, and inside a word only when the word alone is too long.
 * Blanks at which it breaks are left out; everything else is kept, in order. A grapheme goes with the style of the span
 * in which it begins.
 *
 * @param columns at least 1; a character wider than that becomes `…`
 * @returns at least one row
 */
export function wrap(line: Line, columns: number): Line[] {
  return rowsOf(line, columns, true);
}

/** The same without regard to words, and with every blank kept: for code. */
export function wrapHard(line: Line, columns: number): Line[] {
  return rowsOf(line, columns, false);
}

/** A line in at most so many columns, ended with `…` when something had to go. */
export function cut(line: Line, columns: number): Line {
  if (columns < 1) return [];
  if (widthOf(line) <= columns) return line;
  const cells = cellsOf(line, columns);
  let width = 0;
  let end = 0;
  while (end < cells.length && width + (cells[end]?.width ?? 0) < columns) {
    width += cells[end]?.width ?? 0;
    end += 1;
  }
  // A blank before the ellipsis would look as if a word were missing.
  while (end > 0 && blankText.test(cells[end - 1]?.text ?? '')) end -= 1;
  const kept = cells.slice(0, end);
  const style = line[kept.at(-1)?.span ?? 0] ?? { text: '' };
  const short = spansOf(line, kept);
  const last = short.at(-1);
  return last === undefined
    ? [{ ...style, text: ellipsis }]
    : [...short.slice(0, -1), { ...last, text: last.text + ellipsis }];
}

/**
 * Where the row behind the one that begins at a cell begins. Blanks behind a word stay on its row even where they don't
 * fit any more, so that no row begins with a blank of the break. What is before `start` has no say in it.
 *
 * @param start an index of `cells`
 * @param columns at least 1
 * @param atWords false breaks wherever a row is full
 * @returns an index; -1 when all the rest is on this row
 */
export function nextRowStart(
  cells: readonly Cell[],
  start: number,
  columns: number,
  atWords: boolean,
): number {
  let width = 0;
  for (let index = start; index < cells.length; index++) {
    const { text, width: own } = cells[index] ?? noCell;
    if (width + own > columns && index > start && !(atWords && blankText.test(text)))
      return atWords ? breakBefore(cells, start, index) : index;
    width += own;
  }
  return -1;
}

/** How many cells behind a full row may have a say in where it ends. */
export const lookAhead = 20;

/** Where the rows of a run of cells begin: indexes of cells, the first one always 0. */
export function rowStarts(cells: readonly Cell[], columns: number, atWords: boolean): number[] {
  const starts: number[] = [];
  for (let start = 0; start >= 0; start = nextRowStart(cells, start, columns, atWords)) starts.push(start);
  return starts;
}

/** The last place up to the cell that does not fit any more at which a row may end; that cell when there is none. */
function breakBefore(cells: readonly Cell[], start: number, full: number): number {
  let words: ReadonlySet<number> | undefined;
  for (let index = full; index > start; index--) {
    const now = cells[index]?.text ?? '';
    const before = cells[index - 1]?.text ?? '';
    if (blankText.test(now)) continue;
    if (blankText.test(before)) return index;
    if (noSpaces.test(now) && noSpaces.test(before)) {
      words ??= wordStartsIn(cells, start, Math.min(cells.length, full + lookAhead));
      if (words.has(index)) return index;
      continue;
    }
    if (closing.test(now) || opening.test(before)) continue;
    if (ideograph.test(now) || ideograph.test(before)) return index;
    if (breakBehind.test(before) && !breakBehind.test(now)) return index;
  }
  return full;
}

// Thai, Lao, Khmer and Burmese write words without blanks between them; only a dictionary knows where they begin.
function wordStartsIn(cells: readonly Cell[], start: number, end: number): ReadonlySet<number> {
  const cellAt = new Map<number, number>();
  let text = '';
  for (let index = start; index < end; index++) {
    const part = (cells[index]?.text ?? '').replaceAll(cellEnd, '');
    if (part !== '') cellAt.set(text.length, index);
    text += part;
  }
  segmenter ??= new Intl.Segmenter('und', { granularity: 'word' });
  const starts = new Set<number>();
  for (const { index } of segmenter.segment(text)) {
    const cell = cellAt.get(index);
    if (cell !== undefined) starts.add(cell);
  }
  return starts;
}

interface StyledCell extends Cell {
  /** The index of the span it belongs to. */
  readonly span: number;
}

function rowsOf(line: Line, columns: number, atWords: boolean): Line[] {
  const room = Math.max(1, Math.floor(columns));
  const [only] = line;
  if (only === undefined) return [[]];
  // Most lines are short: nothing to cut, nothing to count twice.
  if (widthOf(line) <= room) return [line.filter(({ text }) => text !== '')];
  const cells = cellsOf(line, room).map((cell) =>
    cell.width > room ? { ...cell, text: ellipsis, width: 1 } : cell,
  );
  const starts = rowStarts(cells, room, atWords);
  return starts.map((start, row) => {
    const next = starts[row + 1];
    let end = next ?? cells.length;
    if (atWords && (next !== undefined || widthBetween(cells, start, end) > room)) {
      while (end > start && blankText.test(cells[end - 1]?.text ?? '')) end -= 1;
    }
    return spansOf(line, cells.slice(start, end));
  });
}

function widthBetween(cells: readonly Cell[], start: number, end: number): number {
  let width = 0;
  for (let index = start; index < end; index++) width += cells[index]?.width ?? 0;
  return width;
}

function cellsOf(line: Line, columns: number): StyledCell[] {
  const cells: StyledCell[] = [];
  let span = 0;
  let end = line[0]?.text.length ?? 0;
  let at = 0;
  let joins = false;
  for (const text of splitGraphemes(textOf(line))) {
    while (at >= end && span < line.length - 1) {
      span += 1;
      end += line[span]?.text.length ?? 0;
    }
    at += text.length;
    const last = cells.at(-1);
    const width = graphemeWidth(text) + (last?.width ?? 0);
    // What `sanitizeText` took apart for the sake of its width was one cluster, and no row should begin inside it.
    if (last !== undefined && (joins || text === cellEnd) && width <= Math.min(columns, maxClusterWidth)) {
      cells[cells.length - 1] = { text: last.text + text, width, span: last.span };
    } else {
      cells.push({ text, width: graphemeWidth(text), span });
    }
    joins = text === cellEnd;
  }
  return cells;
}

function spansOf(line: Line, cells: readonly StyledCell[]): Line {
  const spans: Span[] = [];
  let start = 0;
  for (let index = 1; index <= cells.length; index++) {
    const span = cells[start]?.span ?? 0;
    if (index < cells.length && cells[index]?.span === span) continue;
    const text = cells
      .slice(start, index)
      .map((cell) => cell.text)
      .join('');
    spans.push({ ...line[span], text });
    start = index;
  }
  return spans;
}
