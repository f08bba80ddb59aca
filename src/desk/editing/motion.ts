// Owns where a caret may go in a text: characters, words, lines. Must not know about edits, rows or the screen.

import { boundaryAt, nextBoundary, previousBoundary } from '../../text/graphemes.ts';

export { boundaryAt, nextBoundary, previousBoundary };

// A word is found inside such a piece of text, so that a motion costs the same in a long text as in a short one.
const segmentLength = 400;
let words: Intl.Segmenter | undefined;

function wordsIn(text: string): Intl.Segments {
  words ??= new Intl.Segmenter('und', { granularity: 'word' });
  return words.segment(text);
}

/** The end of the word that holds or follows an index; the text's length when there is none. */
export function wordEnd(text: string, at: number): number {
  for (let start = at; start < text.length;) {
    const stop = boundaryAt(text, Math.min(text.length, start + segmentLength));
    for (const { index, segment, isWordLike } of wordsIn(text.slice(start, stop))) {
      if (isWordLike === true) return boundaryAt(text, start + index + segment.length);
    }
    start = stop;
  }
  return text.length;
}

/** The beginning of the word that holds or precedes an index; 0 when there is none. */
export function wordStart(text: string, at: number): number {
  for (let stop = at; stop > 0;) {
    const start = previousBoundary(text, Math.max(1, stop - segmentLength));
    let found: number | undefined;
    for (const { index, isWordLike } of wordsIn(text.slice(start, stop))) {
      if (isWordLike === true) found = start + index;
    }
    if (found !== undefined) {
      const boundary = boundaryAt(text, found);
      return boundary < at ? boundary : previousBoundary(text, at);
    }
    stop = start;
  }
  return 0;
}

/** The beginning of the line between line ends that holds an index. */
export function lineStart(text: string, at: number): number {
  return at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1;
}

/** The end of that line, before its line end. */
export function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end;
}
