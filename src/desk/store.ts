// A value that changes as a whole, and its listeners. Knows nothing about conversations.

export interface Store<T extends object> {
  get(): T;
  set(patch: Partial<T>): void;
  /** Calls the listener once for all changes of one turn. @returns ends it */
  subscribe(listener: () => void): () => void;
}

/** @param initial the first value */
export function createStore<T extends object>(initial: T): Store<T> {
  let state = initial;
  let notified = true;
  const listeners = new Set<() => void>();
  return {
    get: () => state,
    set: (patch) => {
      if (!changes(state, patch)) return;
      state = { ...state, ...patch };
      if (!notified) return;
      notified = false;
      queueMicrotask(() => {
        notified = true;
        for (const listener of listeners) listener();
      });
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function changes<T extends object>(state: T, patch: Partial<T>): boolean {
  for (const name in patch) if (!Object.is(state[name], patch[name])) return true;
  return false;
}
