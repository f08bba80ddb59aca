// Which lines of the conversation are in sight: a window over the messages that is held
// by a message, never by a count from either end, so that nothing jumps. Pure.
import type { Line } from '../text/types.ts';
import type { Anchor } from './view-state.ts';

/** The conversation as the window sees it. */
export interface MessageBlocks {
  readonly length: number;
  keyAt(index: number): string;
  linesAt(index: number): readonly Line[];
}

export interface ViewportLine {
  readonly line: Line;
  /** The message that the line belongs to. */
  readonly key: string;
}

export interface Viewport {
  readonly lines: readonly ViewportLine[];
  /** The first line of the first message is in sight. */
  readonly atTop: boolean;
  readonly atEnd: boolean;
}

interface Place {
  readonly index: number;
  readonly below: number;
}

function placeOf(blocks: MessageBlocks, anchor: Anchor | null): Place {
  const end = { index: blocks.length - 1, below: 0 };
  if (anchor === null) return end;
  for (let index = blocks.length - 1; index >= 0; index -= 1) {
    if (blocks.keyAt(index) === anchor.key)
      return { index, below: Math.min(anchor.below, Math.max(0, blocks.linesAt(index).length - 1)) };
  }
  return end;
}

function anchorOf(blocks: MessageBlocks, { index, below }: Place): Anchor | null {
  return index >= blocks.length - 1 && below === 0 ? null : { key: blocks.keyAt(index), below };
}

/** Moves the place so many lines towards the beginning (positive) or the end. */
function moved(blocks: MessageBlocks, from: Place, lines: number): Place {
  let { index, below } = from;
  below += lines;
  while (below < 0 && index < blocks.length - 1) {
    index += 1;
    below += blocks.linesAt(index).length;
  }
  if (below < 0) return { index: blocks.length - 1, below: 0 };
  while (index > 0 && below >= blocks.linesAt(index).length) {
    below -= blocks.linesAt(index).length;
    index -= 1;
  }
  return { index, below };
}

/** How many lines there are from the beginning to the place, counted no further than `enough`. */
function linesUpTo(blocks: MessageBlocks, place: Place, enough: number): number {
  let count = -place.below;
  for (let index = place.index; index >= 0 && count < enough; index -= 1)
    count += blocks.linesAt(index).length;
  return count;
}

/** A place that leaves no empty space above the first line while there are lines below. */
function settled(blocks: MessageBlocks, place: Place, height: number): Place {
  const missing = height - linesUpTo(blocks, place, height);
  return missing > 0 ? moved(blocks, place, -missing) : place;
}

/** The lines in sight, at most `height`. */
export function viewportOf(blocks: MessageBlocks, anchor: Anchor | null, height: number): Viewport {
  if (blocks.length === 0 || height <= 0) return { lines: [], atTop: true, atEnd: true };
  const place = settled(blocks, placeOf(blocks, anchor), height);
  const lines: ViewportLine[] = [];
  let index = place.index;
  let skip = place.below;
  let whole = true;
  for (; index >= 0 && lines.length < height; index -= 1) {
    const own = blocks.linesAt(index);
    const key = blocks.keyAt(index);
    for (let at = own.length - 1 - skip; at >= 0; at -= 1) {
      if (lines.length === height) {
        whole = false;
        break;
      }
      lines.push({ line: own[at] ?? [], key });
    }
    skip = 0;
  }
  return {
    lines: lines.toReversed(),
    atTop: index < 0 && whole,
    atEnd: place.index === blocks.length - 1 && place.below === 0,
  };
}

/** @param lines towards the beginning where positive */
export function scrollBy(
  blocks: MessageBlocks,
  anchor: Anchor | null,
  lines: number,
  height: number,
): Anchor | null {
  if (blocks.length === 0) return null;
  const from = settled(blocks, placeOf(blocks, anchor), height);
  return anchorOf(blocks, settled(blocks, moved(blocks, from, lines), height));
}

/** The nearest anchor that shows a message, whole where it fits. */
export function scrollIntoView(
  blocks: MessageBlocks,
  anchor: Anchor | null,
  key: string,
  height: number,
): Anchor | null {
  let index = blocks.length - 1;
  while (index >= 0 && blocks.keyAt(index) !== key) index -= 1;
  if (index < 0) return anchor;
  const place = settled(blocks, placeOf(blocks, anchor), height);
  if (index > place.index || (index === place.index && place.below > 0))
    return anchorOf(blocks, settled(blocks, { index, below: 0 }, height));
  // Lines from the message's first to the window's last.
  let span = -place.below;
  for (let at = place.index; at >= index; at -= 1) span += blocks.linesAt(at).length;
  if (span <= height) return anchorOf(blocks, place);
  return anchorOf(blocks, settled(blocks, moved(blocks, place, span - height), height));
}

/** The first line of the conversation. */
export function scrollToTop(blocks: MessageBlocks, height: number): Anchor | null {
  return blocks.length === 0
    ? null
    : anchorOf(
        blocks,
        settled(blocks, { index: 0, below: Math.max(0, blocks.linesAt(0).length - 1) }, height),
      );
}
