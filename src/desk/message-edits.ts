// Saves what an operator has changed of an own message; loaded with the first change. Nothing that was written is lost where it
// can't be saved, and nothing that was begun since is ended.
import { asSdkError } from '../sdk/error.ts';
import type { OutgoingMessage } from '../sdk/types.ts';
import type { DeskContext } from './desk-context.ts';
import type { ComposerState } from './composer.ts';

/** The changes of own messages that have left the composer, by message. */
export interface MessageEdits {
  /** What is being saved, and when that is over. */
  readonly saving: Map<string, { readonly text: string; readonly over: Promise<void> }>;
  /** What could not be saved, and is no longer in the composer. */
  readonly unsaved: Map<string, string>;
}

export interface EditParts {
  readonly edits: MessageEdits;
  readonly toOutgoing: (text: string) => Promise<OutgoingMessage>;
  /** Leaves the change that is in the composer. */
  readonly end: () => void;
}

/**
 * Saves a change, after one of the same message that is under way; the same text once.
 * @param now the composer as it was sent
 * @returns when it is over; throws nothing
 */
export function saveEdit(
  context: DeskContext,
  parts: EditParts,
  now: ComposerState,
  messageId: string,
): Promise<void> {
  const { saving } = parts.edits;
  const { text } = now.buffer;
  const before = saving.get(messageId);
  if (before?.text === text) return before.over;
  const over = Promise.resolve(before?.over).then(() => save(context, parts, now, messageId));
  const entry = { text, over };
  saving.set(messageId, entry);
  return over.then(() => {
    if (saving.get(messageId) === entry) saving.delete(messageId);
  });
}

async function save(
  context: DeskContext,
  { edits: { unsaved }, toOutgoing, end }: EditParts,
  { conversationId, buffer: { text } }: ComposerState,
  messageId: string,
): Promise<void> {
  const { client, say } = context;
  try {
    const outgoing = await toOutgoing(text);
    await client.editMessage(conversationId, messageId, outgoing).catch((error: unknown) => {
      // The service has it; its conversation was left, and there is no message here to show it in.
      if (asSdkError(error).code !== 'unknown') throw error;
    });
    unsaved.delete(messageId);
    context.flash(say('changed'), 'good');
    const { composer } = context.state;
    // What was typed since is the next change, and another message's is none of this one.
    if (composer?.editing === messageId && composer.buffer.text === text) end();
    return undefined;
  } catch (error) {
    if (context.state.composer?.editing === messageId) return context.report(error);
    unsaved.set(messageId, text);
    context.report(error, say('changeKept'));
  }
}
