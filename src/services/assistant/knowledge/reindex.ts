// Background job for knowledge: chunks documents again that came by an import or were chunked by an older program, and
// adds the vectors that are missing. In small steps.
import { JobLoop } from '../../core/job-loop.ts';
import type { Service } from '../../service.ts';
import { rechunkStaleDocuments } from './documents.ts';
import { embedMissing } from './vectors.ts';

/** How soon a document that was added is processed, ms. */
const intervalMs = 5_000;
/** After an error, most likely of a model that can't be reached, ms. */
const retryMs = 60_000;

/**
 * @param onError called with the error of a failed run, which is tried again after a minute
 * @returns stops the job
 */
export function startReindexJob(service: Service, onError: (error: unknown) => void): () => Promise<void> {
  const loop = new JobLoop({
    clock: service.engine.clock,
    intervalMs,
    retryMs,
    onError,
    run: async (signal) => {
      await rechunkStaleDocuments(service, () => signal.aborted);
      await embedMissing(service, signal);
    },
  });
  return () => loop.stop();
}
