// One of a visitor's tabs leads: it holds the socket and sends. The others follow over
// a channel. Where the browser has no locks or no channel, every tab leads itself.
import type { Environment } from './types.ts';

export interface TabLeader<T> {
  isLeader_(): boolean;
  /** Tells the other tabs. */
  broadcast_(message: T): void;
  /** Steps back: another tab may lead from now on. */
  stepDown_(): void;
}

/**
 * @param name the same for all tabs that belong together
 * @param onLead this tab leads from now on; never called after `leave`
 * @param onMessage another tab said something
 */
export function joinTabs<T>(
  env: Environment,
  name: string,
  onLead: () => void,
  onMessage: (message: T) => void,
): TabLeader<T> {
  const { locks, openChannel } = env;
  const gone = new AbortController();
  const { signal } = gone;
  const channel = locks && openChannel?.(name);
  let leads = false;
  const lead = (): void => {
    if (signal.aborted || leads) return;
    leads = true;
    onLead();
  };
  if (channel) {
    channel.onmessage = ({ data }) => {
      if (!signal.aborted) onMessage(data as T);
    };
    locks
      .request(
        name,
        { signal },
        () =>
          new Promise((resolve) => {
            // First: what is told of leading may end it.
            signal.onabort = resolve;
            lead();
          }),
      )
      // Left before its turn came; or the browser refuses locks here, and then each tab is on its own.
      .catch(lead);
  }
  // After the caller has its hands on what this answers.
  else queueMicrotask(lead);
  return {
    isLeader_: () => leads,
    broadcast_: (message) => channel?.postMessage(message),
    stepDown_: () => {
      leads = false;
      gone.abort();
      channel?.close();
    },
  };
}
