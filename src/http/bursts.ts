// How much one connection may make of few bytes. Nearly no client sends a second request before the answer to the first,
// but HTTP allows it, and 64 KiB hold two thousand: Node begins all of them in one turn of the loop. And they hold ten
// thousand pieces of a body in chunks, each of which is a call of its own.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { rateLimited, ServiceError } from '../services/core/errors.ts';
import { endConnection } from './client-error.ts';

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

/** Pieces of a body that may be as small as they like. */
const maxSmallPieces = 2_000;
/** Bytes that a piece has on average, where there are more. */
const minPieceBytes = 16;

/** Ends the connection of a request whose body comes in very many pieces of next to nothing. */
export function limitPieces(request: IncomingMessage): void {
  if (!isOpenEnded(request)) return;
  const push = request.push.bind(request);
  let pieces = 0;
  let bytes = 0;
  request.push = (piece: Buffer | null, encoding) => {
    if (piece === null) return push(piece, encoding);
    pieces += 1;
    bytes += piece.length;
    if (pieces <= maxSmallPieces || bytes >= pieces * minPieceBytes) return push(piece, encoding);
    if (!request.socket.destroyed) endConnection(request.socket, tooManyPieces());
    return false;
  };
}

/** Whether the body of a request is in chunks, and has not come to its end: Node would read on behind the answer. */
export function isOpenEnded({ headers, complete }: IncomingMessage): boolean {
  return !complete && headers['transfer-encoding'] !== undefined;
}

function tooManyPieces(): ServiceError {
  const message = `The body comes in more than ${maxSmallPieces} chunks of less than ${minPieceBytes} bytes: send larger ones.`;
  return new ServiceError('bad_request', message);
}
