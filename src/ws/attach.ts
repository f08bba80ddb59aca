// The WebSocket door: upgrade, caps, letting in, heartbeat. A connection that may
// not come in is upgraded all the same, because a browser can't read a refusal.
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Config } from '../config.ts';
import { closeCodes, limits, socketPath, type SocketErrorCode } from '../protocol/codes.ts';
import type { Mode } from '../protocol/entities.ts';
import type { Log } from '../log.ts';
import type { MemberActor, VisitorActor } from '../services/actor.ts';
import { Failure } from '../services/failure.ts';
import { addressKey, callerAddress } from '../services/http-address.ts';
import type { ShowTyping } from '../services/assistant/auto.ts';
import { assertNotFailing, failedLimit } from '../services/limiting.ts';
import type { Service } from '../services/service.ts';
import { authenticateSocket, SocketRefused } from '../services/socket-tokens.ts';
import { Connection } from './connection.ts';
import { writeFrame } from './frames.ts';
import { createHub } from './hub.ts';

export interface SocketOptions {
  readonly service: Service;
  readonly config: Config;
  readonly log: Log;
}

export interface AttachedSockets {
  stop(): Promise<void>;
  /** Tells a room that the assistant writes, or no longer does. */
  readonly showTyping: ShowTyping;
}

/** Which close code goes with a refusal. */
const refusalCodes: Readonly<Partial<Record<SocketErrorCode, keyof typeof closeCodes>>> = {
  UNAUTHORIZED: 'unauthorized',
  INVALID_TOKEN: 'unauthorized',
  EXPIRED_TOKEN: 'unauthorized',
  ORIGIN_MISMATCH: 'withdrawn',
  APP_NOT_FOUND: 'appNotFound',
  RATE_LIMITED: 'rateLimited',
};

/** One socket, from the upgrade on. */
interface Peer {
  readonly socket: WebSocket;
  lastHeard: number;
  lastPing: number;
}

/**
 * Serves WebSockets on an HTTP server.
 * @returns how to stop: every socket hears 1001, and the promise resolves when they are gone
 */
export async function attachSockets(server: Server, { service, config, log }: SocketOptions): Promise<AttachedSockets> {
  const { clock } = service.engine;
  const hub = createHub(service, (error) => log.error({ err: String(error) }, 'the hub failed'));
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: limits.frameBytes,
    maxFragments: 64,
    maxBufferedChunks: 256,
    perMessageDeflate: false,
    // Answered below: the library would pile pongs up for ever for a peer that does not read.
    autoPong: false,
    clientTracking: false,
  });
  const peers = new Set<Peer>();
  const perAddress = new Map<string, number>();
  const perVisitor = new Map<string, number>();
  let nextId = 0;
  let stopping = false;

  function onUpgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    stream.on('error', () => stream.destroy());
    const url = readUrl(request);
    if (url?.pathname !== socketPath) return refuseUpgrade(stream, '404 Not Found');
    if (stopping) return refuseUpgrade(stream, '503 Service Unavailable');
    const address = callerAddress(request.socket.remoteAddress, request.headers['x-forwarded-for'], config.trustProxy);
    try {
      assertNotFailing(service, address);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return refuseUpgrade(stream, '429 Too Many Requests');
    }
    return sockets.handleUpgrade(request, stream, head, (socket) => {
      void open(socket, request, url, address);
    });
  }

  async function open(socket: WebSocket, request: IncomingMessage, url: URL, address: string): Promise<void> {
    const peer: Peer = { socket, lastHeard: clock.monotonic(), lastPing: clock.monotonic() };
    peers.add(peer);
    const releases: (() => void)[] = [() => peers.delete(peer)];
    let connection: Connection | null = null;
    // Frames that arrive before the door has opened wait for it; of a connection that is refused none is handled.
    const early: (string | null)[] = [];
    const heard = (): void => {
      peer.lastHeard = clock.monotonic();
    };
    socket.on('pong', heard);
    socket.on('ping', (data: Buffer) => {
      heard();
      if (socket.bufferedAmount <= limits.unreadBytes) socket.pong(data);
      else if (connection === null) socket.terminate();
      else connection.close('tooSlow', 'More than 1 MiB waits to be read.');
    });
    socket.on('error', (error) => log.debug({ message: error.message }, 'socket error'));
    socket.on('message', (data: Buffer, isBinary) => {
      heard();
      const frame = isBinary ? null : data.toString();
      if (connection !== null) connection.receive(frame);
      else if (early.push(frame) > 64) socket.pause();
    });
    socket.on('close', () => {
      connection?.end();
      for (const release of releases) release();
    });

    try {
      releases.push(count(perAddress, addressKey(address), config.maxConnectionsPerAddress));
      const actor = await authenticateSocket(service, readToken(url), originsOf(request));
      if (actor.kind === 'visitor')
        releases.push(count(perVisitor, `${actor.applicationId}:${actor.mode}:${actor.visitorId}`, config.maxConnectionsPerVisitor));
      // It may have closed while the token was being checked.
      if (socket.readyState !== socket.OPEN) {
        for (const release of releases) release();
        return;
      }
      connection = letIn(socket, actor, url, address);
      hub.add(connection);
      for (const frame of early.splice(0)) connection.receive(frame);
      if (socket.isPaused) socket.resume();
      // Configuration may have changed between the check of the token and the hub's knowing of this connection.
      await connection.revalidate();
    } catch (error) {
      refuse(socket, error, address);
    }
  }

  function letIn(socket: WebSocket, actor: VisitorActor | MemberActor, url: URL, address: string): Connection {
    nextId += 1;
    return new Connection({
      id: String(nextId),
      socket,
      service,
      hub,
      log,
      actor,
      address,
      maxRooms: config.maxRoomsPerConnection,
      modes: readModes(url),
    });
  }

  function refuse(socket: WebSocket, error: unknown, address: string): void {
    if (!(error instanceof SocketRefused)) {
      log.error({ err: String(error) }, 'a socket could not be let in');
      socket.close(closeCodes.internal.code);
      return;
    }
    if (error.code !== 'RATE_LIMITED') {
      try {
        failedLimit(service, address);
      } catch (limit) {
        // Counted and over: the next upgrade from there is refused outright.
        if (!(limit instanceof Failure)) throw limit;
      }
    }
    const reason = refusalCodes[error.code] ?? 'unauthorized';
    socket.send(writeFrame({ type: 'error', payload: { code: error.code, message: error.message } }), { binary: false });
    socket.close(closeCodes[reason].code, error.code);
  }

  // One heartbeat for all: a timer per connection would be thousands of them.
  let cancelHeartbeat = (): void => undefined;
  const beatMs = 5_000;
  function heartbeat(): void {
    const now = clock.monotonic();
    for (const peer of peers) {
      if (now - peer.lastHeard >= limits.silentForMs) peer.socket.terminate();
      else if (now - peer.lastPing >= limits.pingEveryMs) {
        peer.lastPing = now;
        peer.socket.ping();
      }
    }
    cancelHeartbeat = clock.after(beatMs, heartbeat);
  }

  await hub.start();
  cancelHeartbeat = clock.after(beatMs, heartbeat);
  server.on('upgrade', onUpgrade);

  return {
    showTyping: (conversationId, who, active) => hub.typing({ ...who, senderRole: 'assistant' }, conversationId, active),
    stop: async () => {
      stopping = true;
      cancelHeartbeat();
      for (const { socket } of peers) socket.close(closeCodes.goingAway.code, 'The service is restarting.');
      await gone(peers);
      hub.stop();
    },
  };
}

const farewellMs = 3_000;

/** Waits until every socket has said good-bye; those that don't are cut off. */
async function gone(peers: ReadonlySet<Peer>): Promise<void> {
  const until = performance.now() + farewellMs;
  while (peers.size > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
  for (const { socket } of peers) socket.terminate();
}

function readUrl(request: IncomingMessage): URL | null {
  const target = request.url ?? '/';
  return target.startsWith('/') && URL.canParse(target, 'http://localhost') ? new URL(`http://localhost${target}`) : null;
}

/** The token as it was sent; null: none. Two are none that can be trusted. */
function readToken(url: URL): string | null {
  const tokens = url.searchParams.getAll('token');
  return tokens.length > 1 ? '' : (tokens[0] ?? null);
}

/** Staff hear of live conversations unless they ask for `mode=test` or `mode=all`. */
function readModes(url: URL): Mode[] {
  const asked = url.searchParams.get('mode');
  return asked === 'all' ? ['live', 'test'] : asked === 'test' ? ['test'] : ['live'];
}

function originsOf(request: IncomingMessage): string[] {
  const origins: string[] = [];
  for (let index = 0; index + 1 < request.rawHeaders.length; index += 2)
    if (request.rawHeaders[index]?.toLowerCase() === 'origin') origins.push(request.rawHeaders[index + 1] as string);
  return origins;
}

/** @throws SocketRefused when there are as many as may be */
function count(counts: Map<string, number>, key: string, most: number): () => void {
  const now = counts.get(key) ?? 0;
  if (now >= most) throw new SocketRefused('RATE_LIMITED', `There are ${most} live connections already: close one first.`);
  counts.set(key, now + 1);
  let released = false;
  return () => {
    if (released) return;
    released = true;
    const left = (counts.get(key) ?? 1) - 1;
    if (left <= 0) counts.delete(key);
    else counts.set(key, left);
  };
}

/** The HTTP server has let go of this stream: whoever keeps the other half open must not keep it alive. */
function refuseUpgrade(stream: Duplex, status: string): void {
  stream.once('finish', () => stream.destroy());
  stream.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
