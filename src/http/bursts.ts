// How many requests one connection may send at once. Nearly no client sends a second one before the answer to the first,
// but HTTP allows it, and a piece of 64 KiB holds two thousand: Node begins all of them in one turn of the loop.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { rateLimited, type ServiceError } from '../services/core/errors.ts';

/** Requests of one connection that are begun in one turn of the loop: a few milliseconds' work. */
export const maxAtOnce = 32;

const window = { limit: maxAtOnce, windowMs: 1_000 };

/**
 * Counts the requests that came at once.
 * @returns for each request whether it is to be served, is the first of its connection that is too many, or comes after
 *   that one
 */
export function createBurstCounter(): (request: IncomingMessage) => 'serve' | 'refuse' | 'drop' {
  let sender: Socket | null = null;
  let sent = 0;
  let isTurnCounted = false;
  const nextTurn = (): void => {
    sender = null;
    isTurnCounted = false;
  };
  return ({ socket }) => {
    if (!isTurnCounted) {
      isTurnCounted = true;
      setImmediate(nextTurn);
    }
    // All that a connection has sent comes in one go: several pieces, where they are full.
    if (socket !== sender) {
      sender = socket;
      sent = 0;
    }
    sent += 1;
    if (sent <= maxAtOnce) return 'serve';
    return sent === maxAtOnce + 1 ? 'refuse' : 'drop';
  };
}

/** What is said to who sends more. */
export function tooManyAtOnce(): ServiceError {
  const message = `One connection sends at most ${maxAtOnce} requests before it has read their answers`;
  return rateLimited('per_address', [window], window, window.windowMs, message);
}
