// How many files are received and read at once: each takes its bytes of memory until it is a document. Organizations in
// turn; what waits holds no bytes yet, for nothing is read of its connection.
import type { IncomingMessage } from 'node:http';
import { createFairLimit } from '../net/fair-limit.ts';
import { ServiceError } from '../services/core/errors.ts';
import { holdBodyTime } from './receive-time.ts';

const inTurn = createFairLimit({ maxRunning: 4, maxRunningPerKey: 1, maxWaiting: 400, maxWaitingPerKey: 8 });

/**
 * Serves a request whose body is a file, in its organization's turn.
 * @param turnOf an organization
 * @throws QueueFullError too many wait already; and what `serve` throws
 */
export async function serveFileInTurn<T>(
  request: IncomingMessage,
  turnOf: string,
  serve: () => Promise<T>,
): Promise<T> {
  const left = new AbortController();
  const leave = (): void =>
    left.abort(new ServiceError('bad_request', 'The connection ended before the file was read.'));
  request.once('close', leave);
  const beginToCount = holdBodyTime(request);
  const serveInTime = (): Promise<T> => {
    beginToCount();
    return serve();
  };
  try {
    return await inTurn(turnOf, serveInTime, left.signal);
  } finally {
    request.off('close', leave);
  }
}
