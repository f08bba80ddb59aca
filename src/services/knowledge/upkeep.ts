// What the server does for knowledge by itself: passages of documents that came by an
// import or from an older program, and vectors for those that have none. In small steps.
import { cutStaleDocuments } from './documents.ts';
import { embedMissing } from './vectors.ts';
import type { Service } from '../service.ts';

/** How soon what a command or a rule has added is looked at, ms. */
const everyMs = 5_000;
/** After a fault, which is most likely a model that is away. */
const afterFaultMs = 60_000;

/**
 * @param onFault hears of a run that failed; it is tried again after a minute
 * @returns how to stop
 */
export function keepKnowledge(service: Service, onFault: (error: unknown) => void): () => Promise<void> {
  const stop = new AbortController();
  let cancel = (): void => undefined;
  let running: Promise<void> = Promise.resolve();
  const run = async (): Promise<void> => {
    try {
      await cutStaleDocuments(service, () => stop.signal.aborted);
      await embedMissing(service, stop.signal);
      plan(everyMs);
    } catch (error) {
      // A store that is closing tells nobody anything.
      if (!stop.signal.aborted) onFault(error);
      plan(afterFaultMs);
    }
  };
  const plan = (ms: number): void => {
    if (stop.signal.aborted) return;
    cancel = service.engine.clock.after(ms, () => {
      running = run();
    });
  };
  plan(everyMs);
  return async () => {
    stop.abort();
    cancel();
    await running;
  };
}
