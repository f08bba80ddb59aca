// Limits how many calls run at once. The others wait in a queue, which is bounded; a waiting call can be aborted.
import pLimit from 'p-limit';

/** So many calls wait already that no further one may. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
}

export type ConcurrencyLimit = <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T>;

/**
 * @param maxConcurrent calls that run at once
 * @param maxQueued calls that may wait
 * @returns runs `work` in its turn, first come first served; rejects with QueueFullError, or with the signal's reason
 *   when it is aborted before `work` began. After that, aborting is `work`'s own concern
 */
export function createConcurrencyLimit(maxConcurrent: number, maxQueued: number): ConcurrencyLimit {
  const limit = pLimit(maxConcurrent);
  let pending = 0;
  return async (signal, work) => {
    signal.throwIfAborted();
    if (pending >= maxConcurrent + maxQueued) throw new QueueFullError('too many calls wait already');
    pending += 1;
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => aborted.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([
        limit(() => {
          signal.removeEventListener('abort', onAbort);
          signal.throwIfAborted();
          return work();
        }),
        aborted.promise,
      ]);
    } finally {
      signal.removeEventListener('abort', onAbort);
      pending -= 1;
    }
  };
}
