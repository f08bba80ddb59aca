// Puts what is written into other words, by the assistant. Loaded when that is asked for first.
import { assistantProblem } from '../../desk/ai-draft.ts';
import type { ComposerState } from '../../desk/composer.ts';
import type { AiAnswer, RewriteStyle } from '../../protocol/assistant.ts';
import { call } from '../api.ts';
import { desk, deskState } from '../desk.ts';
import { toast } from '../ui/toast.tsx';
import { say } from '../words.ts';

/** Replaces the text, unless something was written since. */
export async function rewrite({ conversationId, buffer }: ComposerState, style: RewriteStyle): Promise<void> {
  try {
    const { text } = await call<AiAnswer>('POST', '/ai/rewrite', { text: buffer.text.trim(), style });
    const now = deskState.value.composer;
    // What was written since is not thrown away.
    if (now?.conversationId !== conversationId || now.buffer.text !== buffer.text) return;
    desk().model.composer.setText(text, text.length);
  } catch (error) {
    toast(assistantProblem(error, say), 'bad');
  }
}
