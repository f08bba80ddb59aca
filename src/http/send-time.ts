// How long an answer waits for a reader that takes nothing. Until it is taken an answer lies in memory, and Node waits for
// its reader without end.
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../engine/engine.ts';

/** A connection ends once its reader has taken nothing of an answer for so long. */
export const stallMs = 60_000;
/** Looks at which nothing has moved, behind the one that first saw it. Counted, so that a process that stood still ends none. */
const looksUntilEnd = 4;
const lookMs = stallMs / looksUntilEnd;

/** What a look has seen of a connection that has something to send. */
interface Seen {
  written: number;
  queued: number;
  unmovedLooks: number;
}

/**
 * Ends connections whose answers no one takes, be they one piece or a stream. What is still computed is not waited for by
 * its reader, and a reader is slow as long as the system takes anything for it. WebSockets have a limit of their own.
 * One timer for all connections: most answers leave in one piece, and would pay for one of their own.
 * @param onEnd called for each connection that is ended
 * @returns ends the watch
 */
export function endStalledAnswers(server: Server, clock: Clock, onEnd: () => void): () => void {
  const connections = new Map<Socket, Seen>();
  let cancel: (() => void) | null = null;
  const look = (): void => {
    cancel = null;
    for (const [socket, seen] of connections) {
      if (!isStalled(socket, seen)) continue;
      connections.delete(socket);
      socket.destroy();
      onEnd();
    }
    lookLater();
  };
  const lookLater = (): void => {
    if (connections.size > 0) cancel ??= clock.after(lookMs, look);
  };
  const begin = (socket: Socket): void => {
    connections.set(socket, { written: 0, queued: 0, unmovedLooks: 0 });
    socket.once('close', () => connections.delete(socket));
    lookLater();
  };
  const leaveToSocket = ({ socket }: IncomingMessage): void => void connections.delete(socket);
  server.on('connection', begin);
  server.on('upgrade', leaveToSocket);
  return () => {
    server.off('connection', begin);
    server.off('upgrade', leaveToSocket);
    connections.clear();
    cancel?.();
  };
}

/** Looks once more. @returns whether nothing of what waits has moved for too long */
function isStalled(socket: Socket, seen: Seen): boolean {
  const waits = socket.writableLength > 0;
  const written = waits ? socket.bytesWritten : 0;
  const queued = waits ? queuedBytes(socket) : 0;
  const isUnmoved = waits && written === seen.written && queued === seen.queued;
  Object.assign(seen, { written, queued, unmovedLooks: isUnmoved ? seen.unmovedLooks + 1 : 0 });
  return seen.unmovedLooks >= looksUntilEnd;
}

/**
 * Bytes that were handed to the system and not taken: how much of one long piece has gone. Node's own timeout of a socket
 * asks the same place, and has no other name for it.
 */
function queuedBytes(socket: Socket): number {
  const handle: unknown = '_handle' in socket ? socket._handle : null;
  const queued: unknown =
    typeof handle === 'object' && handle !== null && 'writeQueueSize' in handle ? handle.writeQueueSize : 0;
  return typeof queued === 'number' ? queued : 0;
}
