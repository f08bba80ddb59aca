// Places that connections hold, in memory: one process is the whole service.
import type { Seats } from '../engine.ts';

/** Makes the seats of a service that is one process: all are free. */
export function createMemorySeats(): Seats {
  const taken = new Map<string, number>();
  const release = (key: string): void => {
    const left = (taken.get(key) ?? 1) - 1;
    if (left <= 0) taken.delete(key);
    else taken.set(key, left);
  };
  return {
    take: async (wanted) => {
      const full = wanted.findIndex(({ key, most }) => (taken.get(key) ?? 0) >= most);
      if (full >= 0) return { full };
      const held = wanted.map(({ key }) => key);
      for (const key of held) taken.set(key, (taken.get(key) ?? 0) + 1);
      return () => {
        for (const key of held.splice(0)) release(key);
      };
    },
  };
}
