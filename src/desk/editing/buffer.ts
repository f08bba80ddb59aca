// Owns the text being written: caret, edits, undo, kill ring. Pure: every function answers a new buffer, or the same one
// when nothing changed. Must not draw, keep drafts, or know about keys and rows.

import {
  boundaryAt,
  lineEnd,
  lineStart,
  nextBoundary,
  previousBoundary,
  wordEnd,
  wordStart,
} from './motion.ts';
import { pastedText } from './pasted-text.ts';

/** What undo returns to. */
interface Snapshot {
  readonly text: string;
  readonly caret: number;
}

/** Edits of one kind in a row are undone together. */
type Kind = 'typing' | 'blank' | 'erase-back' | 'erase-forward' | 'kill-back' | 'kill-forward' | 'single';

export interface EditBuffer {
  readonly text: string;
  /** In UTF-16 units; never inside a grapheme. */
  readonly caret: number;
  /** The column that up and down try to keep; null when the last act was no such motion. */
  readonly goal: number | null;
  readonly past: readonly Snapshot[];
  readonly future: readonly Snapshot[];
  /** The kind of the last edit while it may still grow; null after a motion or an undo. */
  readonly group: Kind | null;
  /** Killed texts, the newest first. */
  readonly ring: readonly string[];
  /** What the last act yanked, so that the next one may put an older text in its place. */
  readonly yanked: { readonly start: number; readonly end: number; readonly index: number } | null;
}

/** The most a buffer holds, in UTF-16 units; what goes beyond it is not inserted. Far above what a message may be. */
export const maxTextLength = 50_000;
const maxUndos = 500;
const maxKilled = 20;

/** A buffer with a text in it, the caret at its end, and nothing to undo. */
export function bufferOf(text = ''): EditBuffer {
  const clean = pastedText(text).slice(0, maxTextLength).toWellFormed();
  return {
    text: clean,
    caret: clean.length,
    goal: null,
    past: [],
    future: [],
    group: null,
    ring: [],
    yanked: null,
  };
}

/**
 * The caret elsewhere, which ends a group of edits.
 *
 * @param goal the column that the next motion by rows tries to keep
 */
export function moved(buffer: EditBuffer, caret: number, goal: number | null = null): EditBuffer {
  if (caret === buffer.caret && goal === buffer.goal && buffer.group === null && buffer.yanked === null)
    return buffer;
  return { ...buffer, caret, goal, group: null, yanked: null };
}

/**
 * The text as a field of the face's own has it after an edit: with its own undo, so nothing is kept to go back to here.
 *
 * @param caret in UTF-16 units
 */
export function taken(buffer: EditBuffer, text: string, caret: number): EditBuffer {
  const kept = pastedText(text).slice(0, maxTextLength);
  const at = Math.max(0, Math.min(kept.length, caret));
  if (kept === buffer.text && at === buffer.caret) return buffer;
  return { ...bufferOf(''), text: kept, caret: at };
}

function edited(buffer: EditBuffer, start: number, end: number, inserted: string, kind: Kind): EditBuffer {
  if (start === end && inserted === '') return buffer;
  const text = buffer.text.slice(0, start) + inserted + buffer.text.slice(end);
  const caret = boundaryAt(text, start + inserted.length);
  // Typing grows a group of its own or the blanks behind it do; a word behind blanks begins the next one.
  const grows =
    kind !== 'single' && (buffer.group === kind || (kind === 'blank' && buffer.group === 'typing'));
  const before: Snapshot = { text: buffer.text, caret: buffer.caret };
  const past = grows ? buffer.past : [...buffer.past.slice(-(maxUndos - 1)), before];
  return { ...buffer, text, caret, goal: null, past, future: [], group: kind, yanked: null };
}

/** Typed text at the caret. Line ends and blanks end a word for undo. */
export function insert(buffer: EditBuffer, typed: string): EditBuffer {
  const text = fitting(buffer, pastedText(typed));
  if (text === '') return buffer;
  if (text.includes('\n')) return edited(buffer, buffer.caret, buffer.caret, text, 'single');
  return edited(buffer, buffer.caret, buffer.caret, text, /^\s+$/u.test(text) ? 'blank' : 'typing');
}

/** Pasted text at the caret: one step of undo, its line ends `\n`, without escape sequences and control characters. */
export function paste(buffer: EditBuffer, pasted: string): EditBuffer {
  return edited(buffer, buffer.caret, buffer.caret, fitting(buffer, pastedText(pasted)), 'single');
}

function fitting(buffer: EditBuffer, text: string): string {
  const space = maxTextLength - buffer.text.length;
  return text.length <= space ? text : text.slice(0, previousBoundary(text, space + 1));
}

/** A new line at the caret. */
export function newLine(buffer: EditBuffer): EditBuffer {
  return insert(buffer, '\n');
}

/** What stands between a place and the caret replaced, as one step of undo: a name that was chosen. */
export function replaceBefore(buffer: EditBuffer, start: number, text: string): EditBuffer {
  return edited(buffer, start, buffer.caret, fitting(buffer, pastedText(text)), 'single');
}

/** The whole text replaced by another one, as one step of undo: canned replies, history, an editor's result. */
export function replaceAll(buffer: EditBuffer, text: string): EditBuffer {
  const clean = pastedText(text).slice(0, maxTextLength).toWellFormed();
  if (clean === buffer.text) return moved(buffer, clean.length);
  return edited(buffer, 0, buffer.text.length, clean, 'single');
}

/** An empty text that remembers what was killed but nothing to undo: what is left after sending. */
export function cleared(buffer: EditBuffer): EditBuffer {
  return { ...bufferOf(), ring: buffer.ring };
}

export function deleteBack(buffer: EditBuffer): EditBuffer {
  return edited(buffer, previousBoundary(buffer.text, buffer.caret), buffer.caret, '', 'erase-back');
}

export function deleteForward(buffer: EditBuffer): EditBuffer {
  return edited(buffer, buffer.caret, nextBoundary(buffer.text, buffer.caret), '', 'erase-forward');
}

function killed(
  buffer: EditBuffer,
  start: number,
  end: number,
  kind: 'kill-back' | 'kill-forward',
): EditBuffer {
  if (start === end) return buffer;
  const text = buffer.text.slice(start, end);
  const [newest = '', ...older] = buffer.ring;
  // Kills in a row make one text, in the order of reading.
  const again = buffer.group === kind;
  const ring = again
    ? [kind === 'kill-back' ? text + newest : newest + text, ...older]
    : [text, ...buffer.ring].slice(0, maxKilled);
  return { ...edited(buffer, start, end, '', kind), ring };
}

export function deleteWordBack(buffer: EditBuffer): EditBuffer {
  return killed(buffer, wordStart(buffer.text, buffer.caret), buffer.caret, 'kill-back');
}

export function deleteWordForward(buffer: EditBuffer): EditBuffer {
  return killed(buffer, buffer.caret, wordEnd(buffer.text, buffer.caret), 'kill-forward');
}

/** To the end of the line; at the end of a line, the line end. */
export function killToLineEnd(buffer: EditBuffer): EditBuffer {
  const end = lineEnd(buffer.text, buffer.caret);
  return killed(
    buffer,
    buffer.caret,
    end === buffer.caret ? nextBoundary(buffer.text, end) : end,
    'kill-forward',
  );
}

/** To the beginning of the line; at the beginning of a line, the line end before it. */
export function killToLineStart(buffer: EditBuffer): EditBuffer {
  const start = lineStart(buffer.text, buffer.caret);
  return killed(
    buffer,
    start === buffer.caret ? previousBoundary(buffer.text, start) : start,
    buffer.caret,
    'kill-back',
  );
}

/** Puts the text that was killed last at the caret. */
export function yank(buffer: EditBuffer): EditBuffer {
  return yankAt(buffer, buffer.caret, buffer.caret, 0);
}

/** Right after a yank: puts the text killed before that one in its place, and so on round the ring. */
export function yankOlder(buffer: EditBuffer): EditBuffer {
  const { yanked, ring } = buffer;
  if (yanked === null || ring.length < 2) return buffer;
  return yankAt(buffer, yanked.start, yanked.end, (yanked.index + 1) % ring.length);
}

function yankAt(buffer: EditBuffer, start: number, end: number, index: number): EditBuffer {
  const room = maxTextLength - buffer.text.length + (end - start);
  const text = buffer.ring[index];
  if (text === undefined || text.length > room) return buffer;
  const after = edited(buffer, start, end, text, 'single');
  return { ...after, yanked: { start, end: start + text.length, index } };
}

export function moveLeft(buffer: EditBuffer): EditBuffer {
  return moved(buffer, previousBoundary(buffer.text, buffer.caret));
}

export function moveRight(buffer: EditBuffer): EditBuffer {
  return moved(buffer, nextBoundary(buffer.text, buffer.caret));
}

export function moveWordLeft(buffer: EditBuffer): EditBuffer {
  return moved(buffer, wordStart(buffer.text, buffer.caret));
}

export function moveWordRight(buffer: EditBuffer): EditBuffer {
  return moved(buffer, wordEnd(buffer.text, buffer.caret));
}

export function moveTextStart(buffer: EditBuffer): EditBuffer {
  return moved(buffer, 0);
}

export function moveTextEnd(buffer: EditBuffer): EditBuffer {
  return moved(buffer, buffer.text.length);
}

/** To the beginning of the line. */
export function moveLineStart(buffer: EditBuffer): EditBuffer {
  return moved(buffer, lineStart(buffer.text, buffer.caret));
}

/** To the end of the line. */
export function moveLineEnd(buffer: EditBuffer): EditBuffer {
  return moved(buffer, lineEnd(buffer.text, buffer.caret));
}

/** Takes back the last group of edits. */
export function undo(buffer: EditBuffer): EditBuffer {
  const before = buffer.past.at(-1);
  if (before === undefined) return buffer;
  const future = [...buffer.future, { text: buffer.text, caret: buffer.caret }];
  return {
    ...buffer,
    ...before,
    goal: null,
    past: buffer.past.slice(0, -1),
    future,
    group: null,
    yanked: null,
  };
}

/** Makes again what was taken back, until the next edit. */
export function redo(buffer: EditBuffer): EditBuffer {
  const after = buffer.future.at(-1);
  if (after === undefined) return buffer;
  const past = [...buffer.past, { text: buffer.text, caret: buffer.caret }];
  return {
    ...buffer,
    ...after,
    goal: null,
    past,
    future: buffer.future.slice(0, -1),
    group: null,
    yanked: null,
  };
}
