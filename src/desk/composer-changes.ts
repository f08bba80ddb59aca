// What is begun in the composer in the place of a message to send: the change of an own one, an answer that is kept. Loaded
// with the commands that begin it. What was being written waits behind it, and doesn't leave by itself.
import type { StaffMessage } from '../sdk/staff-types.ts';
import type { ComposerController } from './composer-controller.ts';
import type { ComposerState, Keeping } from './composer.ts';
import * as buffers from './editing/buffer.ts';

type Begun = Pick<ComposerState, 'note' | 'editing' | 'keeping'>;

function begin(composer: ComposerController, text: string, begun: Begun): void {
  composer.change((now) => ({
    ...now,
    ...begun,
    buffer: buffers.replaceAll(buffers.cleared(now.buffer), text),
    before: now.before ?? { buffer: now.buffer, note: now.note },
    ai: null,
    cannedIndex: null,
    leaving: false,
  }));
}

/**
 * Puts an own message into the composer, to be changed; a change that could not be saved goes on.
 * @param text as its author would have typed it
 */
export function beginEdit(
  composer: ComposerController,
  { id, internal = false }: StaffMessage,
  text: string,
): void {
  const { unsaved } = composer.edits;
  begin(composer, unsaved.get(id) ?? text, { note: internal, editing: id, keeping: null });
  unsaved.delete(id);
}

/** Puts a question and its answer into the composer, to be read, changed and kept. */
export function beginKeep(composer: ComposerController, text: string, keeping: Keeping): void {
  begin(composer, text, { note: false, editing: null, keeping });
}

/** It is kept. Something else that has been begun since stays. */
export function endKeep(composer: ComposerController, keeping: Keeping): void {
  if (composer.state?.keeping === keeping) composer.cancelEdit();
}

/** Something was pointed out in this text. */
export function refuseKeep(composer: ComposerController, keeping: Keeping, text: string): void {
  composer.change((now) =>
    now.keeping === keeping ? { ...now, keeping: { ...keeping, refused: text } } : now,
  );
}
