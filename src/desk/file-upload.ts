// One file of the composer on its way to the service: how far it is, and what went wrong.
import { asSdkError } from '../sdk/error.ts';
import { refusalText, type ComposerFile } from './composer-files.ts';
import { errorMessage } from './desk-context.ts';
import type { Say } from './texts.ts';

/** Progress is told in steps: each draws the composer. */
const progressStep = 0.02;

/**
 * Uploads a file; throws nothing.
 * @param signal it was taken out: then nothing more is told
 * @param patch takes what is new about it
 */
export async function uploadFile(
  { key, source, name }: ComposerFile,
  signal: AbortSignal,
  patch: (values: Partial<ComposerFile>) => void,
  say: Say,
): Promise<void> {
  // Taken out while this was loaded.
  if (signal.aborted) return;
  let told = 0;
  const gone = new Promise<null>((resolve) => {
    signal.addEventListener('abort', () => resolve(null));
  });
  const sent = source.upload({
    key,
    signal,
    onProgress: (share) => {
      if (Math.abs(share - told) < progressStep || signal.aborted) return;
      told = share;
      patch({ progress: share });
    },
  });
  // Taken out: what still comes of it concerns no one.
  sent.catch(() => undefined);
  try {
    const uploaded = await Promise.race([gone, sent]);
    if (uploaded !== null) patch({ uploaded, name: uploaded.name, size: uploaded.size, progress: 1 });
  } catch (error) {
    patch(problemOf(error, name, say));
  }
}

/** What is refused for what it is, is refused again. */
function problemOf(
  error: unknown,
  name: string,
  say: Say,
): { readonly problem: string; readonly mayRetry: boolean } {
  const code: string = asSdkError(error).code;
  if (code === 'payload_too_large') return { problem: refusalText('tooLarge', name, say), mayRetry: false };
  if (code === 'file_rejected') return { problem: say('fileRejected'), mayRetry: false };
  if (code === 'plan_limit') return { problem: say('fileNoSpace'), mayRetry: true };
  if (code === 'network') return { problem: say('fileNotUploaded'), mayRetry: true };
  return { problem: errorMessage(error, say), mayRetry: true };
}
