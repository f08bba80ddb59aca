// Owns how many calls run at once; the others wait their turn, and beyond a length of the queue nobody waits.
// Must not know what the calls are.
import { ModelFailed } from '../services/assistant/language-model.ts';

export type Gate = <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T>;

/**
 * @param most calls that run at once
 * @param waiting calls that may wait
 * @returns runs work when it is its turn; throws ModelFailed when too many wait or the caller gives up
 */
export function createGate(most: number, waiting: number): Gate {
  let running = 0;
  const queue = new Set<() => void>();

  function turn(signal: AbortSignal): Promise<void> {
    if (running < most) {
      running += 1;
      return Promise.resolve();
    }
    if (queue.size >= waiting) return Promise.reject(new ModelFailed('too many questions wait for the model'));
    return new Promise((resolve, reject) => {
      const go = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        queue.delete(go);
        reject(new ModelFailed('the question was withdrawn'));
      };
      queue.add(go);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  return async (signal, work) => {
    if (signal.aborted) throw new ModelFailed('the question was withdrawn');
    await turn(signal);
    try {
      return await work();
    } finally {
      // Its place goes to whoever waits longest, without being free in between.
      const [next] = queue;
      if (next === undefined) running -= 1;
      else {
        queue.delete(next);
        next();
      }
    }
  };
}
