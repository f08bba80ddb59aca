// How much one connection may make of few bytes. Nearly no client sends a second request before the answer to the first,
// but HTTP allows it, and 64 KiB hold two thousand: Node would begin all of them in one turn of the loop. And they hold ten
// thousand pieces of a body in chunks, each of which is a call of its own.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../engine/engine.ts';
import { rateLimited, ServiceError } from '../services/core/errors.ts';
import { endConnection } from './client-error.ts';

/** Requests that a connection may have sent and that are not answered: the one under way, and those that wait behind it. */
export const maxAtOnce = 32;
/** Once so much of a turn of the loop has gone into requests that had waited, others go on waiting, ms. */
const mostMs = 15;

const window = { limit: maxAtOnce, windowMs: 1_000 };

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Begins the requests of each connection one after the other, each when the one before it is answered, and ends a
 * connection on which too many wait. Requests that have waited share a few milliseconds of a turn of the loop, whatever
 * the number of their connections.
 * @param answer begins a request; a connection that closes takes those that wait on it along
 */
export function oneByOne(answer: Answer, clock: Pick<Clock, 'monotonic'>): Answer {
  const waiting = new WeakMap<Socket, number>();
  /** When the first of this turn was begun; null: none was. */
  let began: number | null = null;
  const endTurn = (): void => {
    began = null;
  };
  const beginLater: Answer = (request, response) => {
    setImmediate(() => {
      const now = clock.monotonic();
      if (began === null) {
        began = now;
        setImmediate(endTurn);
      }
      (now - began < mostMs ? answer : beginLater)(request, response);
    });
  };
  return (request, response) => {
    // Node gives an answer its connection when those before it are written.
    if (response.socket !== null) return answer(request, response);
    const { socket } = request;
    const count = (waiting.get(socket) ?? 0) + 1;
    waiting.set(socket, count);
    if (count === maxAtOnce) endConnection(socket, tooManyAtOnce());
    if (count >= maxAtOnce) return undefined;
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      beginLater(request, response);
    });
    return undefined;
  };
}

function tooManyAtOnce(): ServiceError {
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
