// The caret between rows, for a face that edits text itself; from the outermost row one walks what was sent before. Pure.
import { withBuffer, type ComposerState } from './composer.ts';
import type { Face, RowMotion } from './desk-context.ts';
import * as buffers from './editing/buffer.ts';
import { newer, older } from './editing/history.ts';

/** By rows where the face draws them, else by lines. */
export function moveCaret(now: ComposerState, motion: RowMotion, face: Face): ComposerState {
  const moved = face.moveCaret(now.buffer, motion);
  if (moved !== null) return withBuffer(now, moved);
  if (motion === 'lineStart') return withBuffer(now, buffers.moveLineStart(now.buffer));
  if (motion === 'lineEnd') return withBuffer(now, buffers.moveLineEnd(now.buffer));
  const step = (motion === 'lineUp' ? older : newer)(now.history, now.buffer.text);
  if (step === null) return now;
  const next = withBuffer(now, buffers.replaceAll(now.buffer, step.text));
  return { ...next, history: step.history, cannedIndex: null };
}
