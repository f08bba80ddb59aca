// Owns how an edited text lies on rows of the screen, and where its caret is there. Must not edit, and must not style.
// One column stays free at the right, so that a caret behind a full row has a place.

import { graphemeEnds, isCertainBoundary } from '../../../text/graphemes.ts';
import { cellEnd, cellWidth, sanitizeGrapheme } from '../../../text/sanitize-text.ts';
import { lookAhead, nextRowStart, rowStarts, type Cell } from './wrap.ts';

/** A part of the text on one row, in UTF-16 units. */
export interface Row {
  readonly start: number;
  /** Where the next row begins, or the place before the line end. */
  readonly end: number;
}

/** What is drawn of a text in a box. */
export interface TextLayout {
  /** The rows in sight, ready to be drawn; at least one, at most as many as the box has. */
  readonly lines: readonly string[];
  /** Of `lines`: the row of the caret. */
  readonly caretRow: number;
  /** In columns; always inside the box. */
  readonly caretColumn: number;
  /** The number of the first row in sight; rows above it are out of sight. */
  readonly firstRow: number;
  /** All rows of the text. */
  readonly rowCount: number;
}

interface Measured {
  readonly paragraph: string;
  readonly columns: number;
  readonly cells: readonly Cell[];
  /** Where each cell begins in the paragraph, and the paragraph's length at the end. */
  readonly offsets: readonly number[];
  /** The cells with which rows begin. */
  readonly starts: readonly number[];
}

// A keystroke changes one paragraph; all others are found here. Emptied when it holds too many.
const measured = new Map<string, Measured>();
const maxMeasured = 500;
const longParagraph = 200;
// The long paragraph measured last: what most resembles the one that a keystroke made of it.
let lastLong: Measured | undefined;

const tabCell: Cell = { text: '    ', width: 4 };
const shownCells = new Map<string, Cell>();
const maxCells = 4096;

function cellOf(grapheme: string, columns: number): Cell {
  const cell = shownCells.get(grapheme) ?? newCell(grapheme);
  return cell.width > columns ? { text: grapheme === '\t' ? ' ' : '…', width: 1 } : cell;
}

function newCell(grapheme: string): Cell {
  if (grapheme === '\t') return tabCell;
  const text = sanitizeGrapheme(grapheme);
  // Where something is not shown, what stands around it must not become one.
  const cell =
    text === grapheme
      ? { text, width: cellWidth(text) }
      : { text: cellEnd + text + cellEnd, width: cellWidth(text) };
  if (shownCells.size >= maxCells) shownCells.clear();
  // Longer ones are an attack, which must not fill the memory.
  if (grapheme.length <= 32) shownCells.set(grapheme, cell);
  return cell;
}

/** Cells and their ends for a part of a paragraph that begins and ends on boundaries. */
function cellsBetween(
  paragraph: string,
  start: number,
  end: number,
  columns: number,
): { cells: Cell[]; ends: number[] } {
  const part = paragraph.slice(start, end);
  const cells: Cell[] = [];
  const ends: number[] = [];
  let from = 0;
  for (const to of graphemeEnds(part)) {
    cells.push(cellOf(part.slice(from, to), columns));
    ends.push(start + to);
    from = to;
  }
  return { cells, ends };
}

function measure(paragraph: string, columns: number): Measured {
  const key = `${columns}\n${paragraph}`;
  const known = measured.get(key);
  if (known !== undefined) return known;
  const long = paragraph.length > longParagraph;
  const made =
    (long && lastLong?.columns === columns ? measuredFrom(lastLong, paragraph) : undefined) ??
    measuredWhole(paragraph, columns);
  if (long) lastLong = made;
  if (measured.size >= maxMeasured) measured.clear();
  // Each keystroke makes another long paragraph: keeping them all would cost more than it saves.
  if (!long) measured.set(key, made);
  return made;
}

function measuredWhole(paragraph: string, columns: number): Measured {
  const { cells, ends } = cellsBetween(paragraph, 0, paragraph.length, columns);
  return { paragraph, columns, cells, offsets: [0, ...ends], starts: rowStarts(cells, columns, true) };
}

/** The same as `measuredWhole`, from the measures of a paragraph that differs in one place; undefined when it differs in all. */
function measuredFrom(old: Measured, paragraph: string): Measured | undefined {
  if (old.paragraph === paragraph) return old;
  const change = changeBetween(old.paragraph, paragraph);
  if (change === undefined) return undefined;
  const { start, oldEnd, newEnd } = change;
  const shift = newEnd - oldEnd;
  const first = indexOf(old.offsets, start);
  const last = indexOf(old.offsets, oldEnd);
  const { cells: fresh, ends } = cellsBetween(paragraph, start, newEnd, old.columns);
  const cells = [...old.cells.slice(0, first), ...fresh, ...old.cells.slice(last)];
  const offsets = old.offsets.slice(0, first + 1);
  offsets.push(...ends);
  for (let index = last + 1; index < old.offsets.length; index++)
    offsets.push((old.offsets[index] ?? 0) + shift);
  const starts = startsFrom(old, cells, first, first + fresh.length, fresh.length - (last - first));
  return { paragraph, columns: old.columns, cells, offsets, starts };
}

interface Change {
  readonly start: number;
  readonly oldEnd: number;
  readonly newEnd: number;
}

/** The part in which two texts differ, widened to boundaries that both surely have there. */
function changeBetween(before: string, after: string): Change | undefined {
  const shorter = Math.min(before.length, after.length);
  let same = 0;
  while (same < shorter && before.charCodeAt(same) === after.charCodeAt(same)) same += 1;
  let tail = 0;
  while (
    tail < shorter - same &&
    before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail)
  )
    tail += 1;
  if (same + tail < shorter / 2) return undefined;
  // The characters on both sides of a boundary must be in the part that is the same.
  let start = Math.max(0, same - 1);
  while (!isCertainBoundary(after, start)) start -= 1;
  let kept = Math.max(0, tail - 1);
  while (kept > 0 && !isCertainBoundary(after, after.length - kept)) kept -= 1;
  return { start, oldEnd: before.length - kept, newEnd: after.length - kept };
}

function indexOf(offsets: readonly number[], offset: number): number {
  let low = 0;
  let high = offsets.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((offsets[middle] ?? 0) < offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where rows begin after a change: what is far enough before it stays, and so does what follows once rows agree again. */
function startsFrom(
  old: Measured,
  cells: readonly Cell[],
  changed: number,
  changedEnd: number,
  shift: number,
): number[] {
  // The end of a row may depend on a few cells behind it.
  const keep = old.starts.findLastIndex((start) => start <= changed - lookAhead) - 2;
  const starts = keep > 0 ? old.starts.slice(0, keep) : [];
  const later = new Map(old.starts.map((start, row) => [start + shift, row]));
  for (
    let start = starts.length === 0 ? 0 : nextRowStart(cells, starts.at(-1) ?? 0, old.columns, true);
    start >= 0;
  ) {
    const row = start >= changedEnd ? later.get(start) : undefined;
    if (row !== undefined) return [...starts, ...old.starts.slice(row).map((one) => one + shift)];
    starts.push(start);
    start = nextRowStart(cells, start, old.columns, true);
  }
  return starts;
}

/** The columns that text may take in a box of so many. */
function room(columns: number): number {
  return Math.max(1, Math.floor(columns) - 1);
}

interface Place extends Row {
  readonly paragraph: Measured;
  /** Where the paragraph begins in the text. */
  readonly base: number;
  /** Cells of the paragraph. */
  readonly first: number;
  readonly last: number;
}

let lastPlaces:
  | { readonly text: string; readonly columns: number; readonly places: readonly Place[] }
  | undefined;

function placesOf(text: string, columns: number): readonly Place[] {
  // A keystroke asks several times about one text.
  if (lastPlaces?.text === text && lastPlaces.columns === columns) return lastPlaces.places;
  const places: Place[] = [];
  let base = 0;
  for (const line of text.split('\n')) {
    const paragraph = measure(line, room(columns));
    paragraph.starts.forEach((first, row) => {
      const last = paragraph.starts[row + 1] ?? paragraph.cells.length;
      const start = base + (paragraph.offsets[first] ?? 0);
      places.push({ paragraph, base, first, last, start, end: base + (paragraph.offsets[last] ?? 0) });
    });
    base += line.length + 1;
  }
  lastPlaces = { text, columns, places };
  return places;
}

/** All rows of a text in a box; they cover it without gaps but for the line ends. */
export function rowsOf(text: string, columns: number): Row[] {
  return placesOf(text, columns).map(({ start, end }) => ({ start, end }));
}

// A caret at the end of a wrapped row stands at the beginning of the next one, where its next letter would appear.
function rowAt(places: readonly Row[], caret: number): number {
  let low = 0;
  let high = places.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((places[middle]?.start ?? 0) <= caret) low = middle;
    else high = middle - 1;
  }
  return low;
}

function columnIn(place: Place, caret: number): number {
  const { cells, offsets } = place.paragraph;
  let column = 0;
  for (let index = place.first; index < place.last && place.base + (offsets[index] ?? 0) < caret; index++)
    column += cells[index]?.width ?? 0;
  return column;
}

function drawn(place: Place, columns: number): string {
  let text = '';
  let width = 0;
  for (let index = place.first; index < place.last; index++) {
    const cell = place.paragraph.cells[index];
    // Only the blanks that hang behind a full row don't fit.
    if (cell === undefined || width + cell.width > columns) break;
    text += cell.text;
    width += cell.width;
  }
  return text;
}

/**
 * The part of a text that a box shows, with the caret in sight.
 *
 * @param caret in UTF-16 units, on a grapheme boundary
 * @param columns, rows the size of the box
 * @param previousFirstRow what was the first row before, so that the text moves only when it must
 */
export function layoutText(
  text: string,
  caret: number,
  columns: number,
  rows: number,
  previousFirstRow = 0,
): TextLayout {
  const places = placesOf(text, columns);
  const height = Math.max(1, Math.floor(rows));
  const row = rowAt(places, caret);
  const lastFirst = Math.max(0, places.length - height);
  const firstRow = Math.max(row - height + 1, Math.min(row, previousFirstRow, lastFirst), 0);
  const place = places[row];
  const column = place === undefined ? 0 : columnIn(place, caret);
  return {
    lines: places.slice(firstRow, firstRow + height).map((one) => drawn(one, room(columns))),
    caretRow: row - firstRow,
    caretColumn: Math.max(0, Math.min(column, Math.floor(columns) - 1)),
    firstRow,
    rowCount: places.length,
  };
}

/** Where a caret stands: its row of all rows, and its column. */
export function caretPosition(
  text: string,
  caret: number,
  columns: number,
): { row: number; rowCount: number; column: number } {
  const places = placesOf(text, columns);
  const row = rowAt(places, caret);
  const place = places[row];
  return { row, rowCount: places.length, column: place === undefined ? 0 : columnIn(place, caret) };
}

/**
 * The caret nearest to a column of a row.
 *
 * @param row of all rows; one that is not there gives the beginning or the end of the text
 */
export function caretAt(text: string, row: number, column: number, columns: number): number {
  if (row < 0) return 0;
  const places = placesOf(text, columns);
  const place = places[row];
  if (place === undefined) return text.length;
  const { cells, offsets } = place.paragraph;
  let at = place.first;
  let width = 0;
  while (at < place.last && width + (cells[at]?.width ?? 0) <= column) {
    width += cells[at]?.width ?? 0;
    at += 1;
  }
  return lastInRow(places, row, place.base + (offsets[at] ?? 0));
}

/** The beginning and the end of the row that holds a caret; the end of a wrapped row is before its last character. */
export function rowBounds(text: string, caret: number, columns: number): Row {
  const places = placesOf(text, columns);
  const row = rowAt(places, caret);
  const place = places[row];
  if (place === undefined) return { start: 0, end: text.length };
  return { start: place.start, end: lastInRow(places, row, place.end) };
}

// The end of a wrapped row is the beginning of the next: a caret that is to stay on the row goes one character less far.
function lastInRow(places: readonly Place[], row: number, at: number): number {
  const place = places[row];
  const next = places[row + 1];
  if (place === undefined || next === undefined || at < next.start || place.last === place.first) return at;
  return place.base + (place.paragraph.offsets[place.last - 1] ?? 0);
}
