// How a server stops listening.
import type { Server } from 'node:http';

/** How often connections are looked for on which nothing is asked any more, ms. */
const lookMs = 20;

/**
 * Accepts no connection more, and waits for the requests under way. A connection ends with its last answer: without that each
 * one that is kept for more requests would hold the end up until its client or a timeout ends it.
 * @param mostMs after so long all that is left is cut off
 */
export function drain(server: Server, mostMs: number): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) {
      resolve();
      return;
    }
    const cutOff = setTimeout(() => server.closeAllConnections(), mostMs);
    const looking = setInterval(() => server.closeIdleConnections(), lookMs);
    server.close(() => {
      clearTimeout(cutOff);
      clearInterval(looking);
      resolve();
    });
    server.closeIdleConnections();
  });
}
