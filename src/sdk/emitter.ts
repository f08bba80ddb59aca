// Handlers by event name. A handler that throws stops no other: its error is thrown
// again outside, where the page's own error reporting sees it.
import type { Undo } from './types.ts';

export interface Emitter<E> {
  on<K extends keyof E>(type: K, handler: (event: E[K]) => void): Undo;
  once<K extends keyof E>(type: K, handler: (event: E[K]) => void): Undo;
  off<K extends keyof E>(type: K, handler?: (event: E[K]) => void): void;
  emit_<K extends keyof E>(type: K, event: E[K]): void;
}

/** Calls a function of the page's; what it throws surfaces as an uncaught error, after everybody else has been served. */
export function callSafely<T>(handler: (value: T) => void, value: T): void {
  try {
    handler(value);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/** An emitter; handlers are called in the order in which they came. */
export function createEmitter<E>(): Emitter<E> {
  type Run = (event: never) => void;
  // Replaced whenever it changes, so that a loop over it is not disturbed.
  let entries: readonly (readonly [keyof E, handler: Run, run: Run])[] = [];
  const add = <K extends keyof E>(type: K, handler: (event: E[K]) => void, run = handler): Undo => {
    const entry = [type, handler, run] as const;
    entries = [...entries, entry];
    return () => {
      entries = entries.filter((one) => one !== entry);
    };
  };
  return {
    on: (type, handler) => add(type, handler),
    once: (type, handler) => {
      const undo = add(type, handler, (event) => {
        undo();
        handler(event);
      });
      return undo;
    },
    off: (type, handler) => {
      entries = entries.filter(([name, known]) => name !== type || (handler && handler !== known));
    },
    emit_: (type, event) => {
      for (const [name, , run] of entries)
        if (name === type) callSafely(run as (value: typeof event) => void, event);
    },
  };
}
