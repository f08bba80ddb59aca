// Signals of a service that is one process: told at once.
import type { Signal, Signals } from '../engine.ts';

export function createMemorySignals(): Signals {
  const listeners = new Set<(signal: Signal) => void>();
  return {
    send: (signal) => {
      for (const listener of listeners) listener(signal);
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
