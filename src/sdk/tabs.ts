// One of a visitor's tabs leads: it holds the socket and sends. The others follow over
// a channel. Where the browser has no locks or no channel, every tab leads itself.
import type { Environment } from './types.ts';

export interface Tabs<T> {
  readonly leads: boolean;
  /** Tells the other tabs. */
  post(message: T): void;
  /** Steps back: another tab may lead from now on. */
  leave(): void;
}

/**
 * @param name the same for all tabs that belong together
 * @param onLead this tab leads from now on; never called after `leave`
 * @param onMessage another tab said something
 */
export function joinTabs<T>(env: Environment, name: string, onLead: () => void, onMessage: (message: T) => void): Tabs<T> {
  const { locks, openChannel } = env;
  const gone = new AbortController();
  const shared = locks !== null && openChannel !== null;
  const channel = shared ? openChannel(name) : null;
  let leads = false;
  const lead = (): void => {
    leads = true;
    onLead();
  };
  const tabs: Tabs<T> = {
    get leads() {
      return leads;
    },
    post: (message) => channel?.postMessage(message),
    leave: () => {
      leads = false;
      gone.abort();
      channel?.close();
    },
  };
  if (channel !== null)
    channel.onmessage = ({ data }) => {
      if (!gone.signal.aborted) onMessage(data as T);
    };
  const holding = new Promise<void>((resolve) => gone.signal.addEventListener('abort', () => resolve()));
  if (shared)
    locks
      .request(name, { signal: gone.signal }, () => {
        if (gone.signal.aborted) return Promise.resolve();
        lead();
        return holding;
      })
      // Left before its turn came; or the browser refuses locks here, and then each tab is on its own.
      .catch(() => gone.signal.aborted || leads || lead());
  // After the caller has its hands on `tabs`.
  else queueMicrotask(() => gone.signal.aborted || lead());
  return tabs;
}
