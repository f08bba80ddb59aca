// Handlers by event name. A handler that throws stops nobody: its error is thrown
// again outside, where the page's own error reporting sees it.
import type { Undo } from './types.ts';

export interface Emitter<E> {
  on<K extends keyof E>(type: K, handler: (event: E[K]) => void): Undo;
  once<K extends keyof E>(type: K, handler: (event: E[K]) => void): Undo;
  off<K extends keyof E>(type: K, handler?: (event: E[K]) => void): void;
  emit<K extends keyof E>(type: K, event: E[K]): void;
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
  const handlers = new Map<keyof E, { readonly handler: (event: never) => void; readonly run: (event: never) => void }[]>();
  const off: Emitter<E>['off'] = (type, handler) => {
    handlers.set(type, handler === undefined ? [] : (handlers.get(type) ?? []).filter((one) => one.handler !== handler));
  };
  const add = <K extends keyof E>(type: K, handler: (event: E[K]) => void, once: boolean): Undo => {
    const entry = {
      handler,
      run: (event: E[K]): void => {
        if (once) undo();
        handler(event);
      },
    };
    const undo = (): void => {
      handlers.set(type, (handlers.get(type) ?? []).filter((one) => one !== entry));
    };
    handlers.set(type, [...(handlers.get(type) ?? []), entry]);
    return undo;
  };
  return {
    on: (type, handler) => add(type, handler, false),
    once: (type, handler) => add(type, handler, true),
    off,
    emit: (type, event) => {
      for (const { run } of handlers.get(type) ?? []) callSafely(run as (value: typeof event) => void, event);
    },
  };
}
