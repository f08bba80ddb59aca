// Owns what time it is at the service: visitors' clocks are wrong by minutes and hours, and what may still be done with a
// message is counted by the service's. Learned from the answers that come anyway; must not ask for it.
import type { Environment } from '../../src/sdk/types.ts';

export interface ServerClock {
  /** Ms since the epoch. The page's own clock until the service has answered. */
  now(): number;
  /** Fetches, and looks at when that was answered. */
  readonly fetch: Environment['fetch'];
}

export function createServerClock(): ServerClock {
  let aheadMs = 0;
  return {
    now: () => Date.now() + aheadMs,
    fetch: async (url, request) => {
      const response = await fetch(url, request);
      const answeredAt = Date.parse(response.headers.get('Date') ?? '');
      if (!Number.isNaN(answeredAt)) aheadMs = answeredAt - Date.now();
      return response;
    },
  };
}
