// Owns the motions of the caret by rows, as a box of so many columns draws them. Pure.

import { lineEnd, lineStart } from '../../../desk/editing/motion.ts';
import { moved, type EditBuffer } from '../../../desk/editing/buffer.ts';
import { caretAt, caretPosition, layoutText, rowBounds, type TextLayout } from './text-layout.ts';

/** To the beginning of the row; from there to that of the line. */
export function moveRowStart(buffer: EditBuffer, columns: number): EditBuffer {
  const { start } = rowBounds(buffer.text, buffer.caret, columns);
  return moved(buffer, start === buffer.caret ? lineStart(buffer.text, buffer.caret) : start);
}

/** To the end of the row; from there to that of the line. */
export function moveRowEnd(buffer: EditBuffer, columns: number): EditBuffer {
  const { end } = rowBounds(buffer.text, buffer.caret, columns);
  return moved(buffer, end === buffer.caret ? lineEnd(buffer.text, buffer.caret) : end);
}

/** One row up, keeping the column across shorter rows; on the first row, to the beginning of the text. */
export function moveUp(buffer: EditBuffer, columns: number): EditBuffer {
  return moveRows(buffer, columns, -1);
}

/** One row down; on the last row, to the end of the text. */
export function moveDown(buffer: EditBuffer, columns: number): EditBuffer {
  return moveRows(buffer, columns, 1);
}

function moveRows(buffer: EditBuffer, columns: number, by: number): EditBuffer {
  const { row, column } = caretPosition(buffer.text, buffer.caret, columns);
  const goal = buffer.goal ?? column;
  return moved(buffer, caretAt(buffer.text, row + by, goal, columns), goal);
}

/** Whether up has no row to go to. */
export function onFirstRow(buffer: EditBuffer, columns: number): boolean {
  return caretPosition(buffer.text, buffer.caret, columns).row === 0;
}

/** Whether down has no row to go to. */
export function onLastRow(buffer: EditBuffer, columns: number): boolean {
  const { row, rowCount } = caretPosition(buffer.text, buffer.caret, columns);
  return row === rowCount - 1;
}

/**
 * What a box shows of the buffer.
 *
 * @param columns the width of the box; its last column is the caret's
 * @param rows the height of the box
 * @param previousFirstRow `firstRow` of the layout before, so that the text scrolls only when the caret leaves the box
 */
export function layoutBuffer(
  buffer: EditBuffer,
  columns: number,
  rows: number,
  previousFirstRow = 0,
): TextLayout {
  return layoutText(buffer.text, buffer.caret, columns, rows, previousFirstRow);
}
