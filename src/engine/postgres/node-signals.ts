// Carries signals to every node: to this one at once, to the others by notification, which all of them
// fit into.
import type { Signal, Signals } from '../engine.ts';
import type { Membership } from './membership.ts';

const message = 'signal';

/** Makes the signals of a node. */
export function createNodeSignals(membership: Membership): Signals {
  const listeners = new Set<(signal: Signal) => void>();
  const tell = (signal: Signal): void => {
    for (const listener of listeners) listener(signal);
  };
  membership.add({
    heard: (kind, text) => {
      const signal = kind === message ? readSignal(text) : null;
      if (signal !== null) tell(signal);
    },
  });
  return {
    send: (signal) => {
      tell(signal);
      membership.tell(message, JSON.stringify(signal));
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** A signal of another node; null: one that this version does not know. */
function readSignal(text: string): Signal | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  return isSignal(value) ? value : null;
}

/** What a node has sent is a signal; any role of the database can send anything. */
function isSignal(value: unknown): value is Signal {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    ['typing', 'focus', 'notification', 'tag'].includes(String(value.type))
  );
}
