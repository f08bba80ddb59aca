// The operator's own editor, loaded where there is one: it takes the composer's text and gives it back.
import type { ComposerController } from './composer-controller.ts';
import { withBuffer, type ComposerState } from './composer.ts';
import type { DeskContext } from './desk-context.ts';
import * as buffers from './editing/buffer.ts';

/** Hands the text over, and puts what comes back into the composer where the same conversation is open. */
export async function editOutside(
  context: DeskContext,
  composer: ComposerController,
  { conversationId, buffer }: ComposerState,
): Promise<void> {
  const text = await context.runtime.edit(buffer.text);
  if (text === null) return;
  composer.change((now) =>
    now.conversationId === conversationId
      ? withBuffer(now, buffers.replaceAll(now.buffer, text.replace(/\n+$/, '')))
      : now,
  );
}
