// A draft of the next answer, asked of the assistant and put into the composer. Sends nothing.
import { hasText, withBuffer, type ComposerState } from './composer.ts';
import type { DeskContext } from './desk-context.ts';
import * as buffers from './editing/buffer.ts';
import { sanitizeLine } from './sanitize-line.ts';

/**
 * Asks for a draft, and replaces the composer's text by it where that conversation is still the open one.
 * @param set takes the composer's next state
 * @throws SdkError where the assistant can't be asked
 */
export async function insertDraft(
  context: DeskContext,
  conversationId: string,
  set: (next: ComposerState) => void,
): Promise<void> {
  const { client, store, say } = context;
  const { text, sources, answered } = await client.call<{
    text: string;
    answered: boolean;
    sources: readonly { title: string }[];
  }>('POST', `/conversations/${conversationId}/ai/reply`, {});
  const after = store.get().composer;
  if (after?.conversationId !== conversationId) return;
  if (!answered || text.trim() === '') {
    set({ ...after, ai: null });
    return context.flash(say('noAnswerFound'), 'info');
  }
  const replaced = hasText(after);
  set({
    ...withBuffer(after, buffers.replaceAll(after.buffer, text)),
    note: false,
    ai: 'drafted',
    cannedIndex: null,
  });
  const titles = sources
    .map(({ title }) => sanitizeLine(title))
    .slice(0, 3)
    .join(', ');
  const told = titles === '' ? say('drafted') : say('draftedFrom', { titles });
  return context.flash(replaced ? `${told} ${say('undoBringsBack')}` : told, 'info');
}
