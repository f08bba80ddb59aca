// Holds the quick layout, which goes on from the one before, against one made from nothing.
// Must not test what the buffer does.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  caretAt,
  caretPosition,
  layoutText,
  rowBounds,
  rowsOf,
} from '../../../src/cli/console/text/text-layout.ts';
import { pastedText } from '../../../src/desk/editing/pasted-text.ts';
import { STRANGE, strangeText } from './strange-text.ts';

const UNRELATED = '~'.repeat(300);

/** The rows of a text when nothing resembling it was measured before. */
function rowsFromNothing(text: string, columns: number): unknown {
  rowsOf(UNRELATED, columns);
  return rowsOf(text, columns);
}

const piece = fc.oneof(
  fc.constantFrom(...STRANGE, 'word ', 'longerword ', 'สวัสดี', 'ครับ', '漢字', '。', ' '),
  fc.string({ maxLength: 5 }),
);
const longText = fc
  .array(piece, { minLength: 60, maxLength: 150 })
  .map((pieces) => pastedText(pieces.join('').replaceAll(/\s/gu, ' ')).replaceAll('\n', ' '));

describe('a layout that goes on from the one before', () => {
  it('is the one made from nothing, whatever was changed and wherever', () => {
    const change = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      gone: fc.nat(6),
      added: fc.oneof(piece, strangeText, fc.constant('')),
    });
    fc.assert(
      fc.property(
        longText,
        fc.array(change, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 60 }),
        (start, changes, columns) => {
          let text = start;
          for (const { at, gone, added } of changes) {
            rowsFromNothing(text, columns);
            const place = Math.floor(at * text.length);
            text = `${text.slice(0, place)}${added.replaceAll(/\s/gu, ' ')}${text.slice(place + gone)}`;
            const next = rowsOf(text, columns);
            expect(next).toEqual(rowsFromNothing(text, columns));
          }
        },
      ),
      { numRuns: 120 },
    );
  });

  it('has a place for every caret, and finds the way back from it', () => {
    fc.assert(
      fc.property(strangeText.map(pastedText), fc.integer({ min: 2, max: 30 }), (text, columns) => {
        for (const { start, end } of rowsOf(text, columns)) {
          const { row, column } = caretPosition(text, start, columns);
          expect(column).toBe(0);
          const back = caretAt(text, row, 0, columns);
          const bounds = rowBounds(text, start, columns);
          expect(bounds.start).toBe(start);
          expect(bounds.end).toBeLessThanOrEqual(end);
          // Invisible characters at its beginning take no column, so the caret may go behind them.
          expect(back).toBeGreaterThanOrEqual(start);
          expect(back).toBeLessThanOrEqual(end);
        }
        expect(caretAt(text, -1, 5, columns)).toBe(0);
        expect(caretAt(text, 10_000, 5, columns)).toBe(text.length);
      }),
      { numRuns: 150 },
    );
  });

  it('draws the whole text when the box is high enough', () => {
    const text = 'one two three\n\n漢字かな\tend';
    expect(layoutText(text, 0, 8, 99).lines).toEqual(['one two', 'three', '', '漢字か', 'な    ', 'end']);
  });
});
