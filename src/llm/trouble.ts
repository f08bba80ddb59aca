// Tells the server's owner why a language model gives no answers: those who ask are told no more than that it gave none.
import type { Clock } from '../engine/engine.ts';
import { ModelBusyError, ModelError, type LanguageModel } from '../services/assistant/language-model.ts';

/** At most so often, ms: what a visitor asks may be what the model refuses. */
const tellEveryMs = 60_000;

/**
 * The same model, whose failures are told.
 * @param tell told why it fails, once until it answers again, and once with null when it does
 * @param closing a question that ends with the server is no failure
 */
export function tellOfTrouble(
  model: LanguageModel,
  clock: Pick<Clock, 'monotonic'>,
  tell: (why: string | null) => void,
  closing: AbortSignal,
): LanguageModel {
  let told: string | null = null;
  let toldAt = -Infinity;
  const note = (why: string): void => {
    const now = clock.monotonic();
    if (why === told || now - toldAt < tellEveryMs) return;
    told = why;
    toldAt = now;
    tell(why);
  };
  return {
    name: model.name,
    embeddings: model.embeddings,
    complete: async (completion, call) => {
      try {
        const answer = await model.complete(completion, call);
        if (told !== null) tell(null);
        told = null;
        return answer;
      } catch (error) {
        const isIts = error instanceof ModelError && !(error instanceof ModelBusyError);
        if (isIts && !call.signal.aborted && !closing.aborted) note(error.message);
        throw error;
      }
    },
  };
}
