// A draft of the next answer, asked of the assistant and put into the composer, and why there is none. Sends nothing.
import { asSdkError } from '../sdk/error.ts';
import { hasText, withBuffer, type ComposerState } from './composer.ts';
import { refusalMessage, type DeskContext } from './desk-context.ts';
import * as buffers from './editing/buffer.ts';
import { sanitizeLine } from './sanitize-line.ts';
import type { Say } from './texts.ts';

/** Asks for a draft, unless one is on its way. @param set takes the composer's next state */
export async function askDraft(context: DeskContext, set: (next: ComposerState) => void): Promise<void> {
  const { store, say } = context;
  const now = store.get().composer;
  if (now === null || now.ai === 'asking') return;
  // The draft is for the visitor, and Undo would bring the note back as an answer.
  if (now.note && hasText(now)) return context.flash(say('noteBeforeDraft'), 'info');
  set({ ...now, ai: 'asking' });
  try {
    await insertDraft(context, now, set);
  } catch (error) {
    const after = store.get().composer;
    if (after?.conversationId === now.conversationId) set({ ...after, ai: null });
    const isBeyondPlan = asSdkError(error).code === 'plan_limit';
    context.flash(isBeyondPlan ? say('planHasNoDrafts') : assistantProblem(error, say), 'bad');
  }
  return undefined;
}

/**
 * Replaces the composer's text by a draft where nothing else was begun or written since.
 * @param asked the composer when the draft was asked for
 * @throws SdkError where the assistant can't be asked
 */
async function insertDraft(
  context: DeskContext,
  asked: ComposerState,
  set: (next: ComposerState) => void,
): Promise<void> {
  const { client, store, say } = context;
  const { conversationId } = asked;
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
  if (!stillWaits(asked, after)) {
    set({ ...after, ai: null });
    return context.flash(say('draftLeftOut'), 'info');
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

/**
 * Why the assistant did not do what it was asked for, as a sentence for the operator. Every operator may ask it: what is
 * forbidden is to ask one that is off.
 */
export function assistantProblem(thrown: unknown, say: Say): string {
  const error = asSdkError(thrown);
  if (error.code === 'forbidden') return say('assistantOff');
  if (error.code === 'ai_unavailable') return say('modelSilent');
  return refusalMessage(error, say);
}

/** Whether the composer is as it was: a draft must not take the place of a note, of a changed message or of other words. */
function stillWaits(asked: ComposerState, now: ComposerState): boolean {
  return (
    // What was asked is over once the text was sent.
    now.ai === 'asking' &&
    now.note === asked.note &&
    now.editing === asked.editing &&
    now.keeping === asked.keeping &&
    now.buffer.text === asked.buffer.text
  );
}
