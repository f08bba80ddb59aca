// Putting lines together: padded, joined, ruled. Pure; every line that leaves here is
// exactly as wide as it was asked to be.
import type { Line, Span } from '../text/types.ts';
import { cut, widthOf } from '../text/wrap.ts';

/** A row with nothing in it. */
export const blankLine: Line = [];

/** Cut or filled up with blanks to exactly so many columns. */
export function fitLine(line: Line, columns: number): Line {
  const width = widthOf(line);
  if (width === columns) return line;
  if (width < columns) return [...line, { text: ' '.repeat(columns - width) }];
  const shorter = cut(line, columns);
  return [...shorter, { text: ' '.repeat(Math.max(0, columns - widthOf(shorter))) }];
}

/** Left and right on one line; the left one gives way. */
export function justify(left: Line, right: Line, columns: number): Line {
  const width = widthOf(right);
  if (width === 0) return fitLine(left, columns);
  if (width + 4 > columns) return fitLine(left, columns);
  return [...fitLine(left, columns - width - 1), { text: ' ' }, ...right];
}

/**
 * The title line of a pane: heavy where the keys go, so that one sees it without colour.
 * @param left what stands in the line; @param right what stands at its end
 */
export function titleRule(left: Line, right: Line, columns: number, focused: boolean): Line {
  const stroke = focused ? '━' : '─';
  const style: Omit<Span, 'text'> = focused ? { color: 'cyan' } : { dim: true };
  const head: Line = [{ text: `${stroke} `, ...style }, ...left, { text: ' ', ...style }];
  const tail: Line = widthOf(right) === 0 ? [] : [{ text: ' ' }, ...right, { text: ` ${stroke}`, ...style }];
  const room = columns - widthOf(tail);
  if (room < 8) return titleRule(left, [], columns, focused);
  const shorter = widthOf(head) > room ? cut(head, room) : head;
  return [...shorter, { text: stroke.repeat(Math.max(0, room - widthOf(shorter))), ...style }, ...tail];
}

/** Lines in a frame, with a title in its upper edge. */
export function framed(
  lines: readonly Line[],
  title: string,
  foot: string,
  columns: number,
): readonly Line[] {
  const inner = columns - 4;
  const edge = (left: string, right: string, text: string): Line => {
    const label: Line = text === '' ? [] : cut([{ text: ` ${text} `, bold: true }], Math.max(0, columns - 4));
    return [
      { text: `${left}─` },
      ...label,
      { text: '─'.repeat(Math.max(0, columns - 3 - widthOf(label))) },
      { text: right },
    ];
  };
  return [
    edge('╭', '╮', title),
    ...lines.map((line): Line => [{ text: '│ ' }, ...fitLine(line, inner), { text: ' │' }]),
    edge('╰', '╯', foot),
  ];
}

/** Between lines of one height: filled with blank ones at the top or the bottom. */
export function fitHeight(lines: readonly Line[], height: number, at: 'top' | 'bottom'): readonly Line[] {
  if (lines.length >= height) return lines.slice(0, height);
  const blanks: readonly Line[] = Array.from({ length: height - lines.length }, () => blankLine);
  return at === 'top' ? [...lines, ...blanks] : [...blanks, ...lines];
}
