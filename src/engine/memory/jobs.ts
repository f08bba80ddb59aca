// Jobs of a service that is one process: it always leads.
import type { Jobs } from '../engine.ts';

export function createMemoryJobs(): Jobs {
  return {
    whileLeading: (start) => {
      const stop = start();
      return async () => stop();
    },
  };
}
