// Serves WebSockets: upgrade, connection limits, authentication, heartbeat. A connection that is refused is
// upgraded all the same, because a browser can't read the answer to a failed upgrade.
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import { clientAddress } from '../net/client-address.ts';
import { addressKey } from '../net/ip-ranges.ts';
import { closeCodes, sizeLimits, socketPath, type SocketErrorCode } from '../protocol/codes.ts';
import type { Mode } from '../protocol/entities.ts';
import { assertAuthNotThrottled, countFailedAuth } from '../services/auth/rate-limits.ts';
import { authenticateSocket, SocketAuthError } from '../services/auth/socket-tokens.ts';
import type { MemberActor, VisitorActor } from '../services/core/actor.ts';
import { ServiceError } from '../services/core/errors.ts';
import type { Service } from '../services/service.ts';
import { Connection } from './connection.ts';
import { writeFrame } from './frames.ts';
import { Hub, type TypingUser } from './hub.ts';

export interface SocketServerOptions {
  readonly service: Service;
  readonly config: Config;
  readonly log: Log;
}

/** The close code of each refusal. */
const refusalCodes: Readonly<Partial<Record<SocketErrorCode, keyof typeof closeCodes>>> = {
  UNAUTHORIZED: 'unauthorized',
  INVALID_TOKEN: 'unauthorized',
  EXPIRED_TOKEN: 'unauthorized',
  ORIGIN_MISMATCH: 'withdrawn',
  APP_NOT_FOUND: 'appNotFound',
  RATE_LIMITED: 'rateLimited',
};

const heartbeatIntervalMs = 5_000;
const closeTimeoutMs = 3_000;
/** Frames that may arrive before the connection is accepted; more are read later. */
const maxEarlyFrames = 64;

/** One socket, from the upgrade on. */
class Peer {
  readonly socket: WebSocket;
  lastReceivedAt: number;
  lastPingAt: number;
  connection: Connection | null = null;
  /** Frames that arrived before the connection was accepted. Those of a refused connection are not handled. */
  readonly earlyFrames: (string | null)[] = [];
  readonly #cleanups: (() => void)[] = [];

  constructor(socket: WebSocket, now: number) {
    this.socket = socket;
    this.lastReceivedAt = now;
    this.lastPingAt = now;
  }

  /** Runs a step once when the socket is closed. */
  onClose(step: () => void): void {
    this.#cleanups.push(step);
  }

  cleanUp(): void {
    for (const step of this.#cleanups.splice(0)) step();
  }

  receive(frame: string | null): void {
    if (this.connection !== null) this.connection.receive(frame);
    else if (this.earlyFrames.push(frame) > maxEarlyFrames) this.socket.pause();
  }

  /** Answers a ping. The library would pile up pongs without limit for a peer that does not read. */
  pong(data: Buffer): void {
    if (this.socket.bufferedAmount <= sizeLimits.unreadBytes) this.socket.pong(data);
    else if (this.connection === null) this.socket.terminate();
    else this.connection.close('tooSlow', 'More than 1 MiB waits to be read.');
  }
}

export class SocketServer {
  readonly #options: SocketServerOptions;
  readonly #hub: Hub;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: sizeLimits.frameBytes,
    maxFragments: 64,
    maxBufferedChunks: 256,
    perMessageDeflate: false,
    autoPong: false,
    clientTracking: false,
  });
  readonly #peers = new Set<Peer>();
  readonly #perAddress = new ConnectionCount();
  readonly #perVisitor = new ConnectionCount();
  #lastConnectionNumber = 0;
  #stopping = false;
  #cancelHeartbeat = (): void => undefined;

  constructor(options: SocketServerOptions) {
    this.#options = options;
    this.#hub = new Hub(options.service, (error) =>
      options.log.error({ err: String(error) }, 'the hub failed'),
    );
  }

  /** Starts to accept upgrades on an HTTP server. */
  async start(server: Server): Promise<void> {
    await this.#hub.start();
    this.#scheduleHeartbeat();
    server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) =>
      this.#handleUpgrade(request, stream, head),
    );
  }

  /** Closes every socket with 1001 and resolves when all are closed; those that don't answer are terminated. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#cancelHeartbeat();
    for (const { socket } of this.#peers)
      socket.close(closeCodes.goingAway.code, 'The service is restarting.');
    await waitUntilEmpty(this.#peers);
    for (const { socket } of this.#peers) socket.terminate();
    this.#hub.stop();
  }

  /** Tells a room that the assistant types, or stopped. */
  sendAssistantTyping(
    conversationId: string,
    assistant: Omit<TypingUser, 'senderRole'>,
    active: boolean,
  ): void {
    this.#hub.sendTyping({ ...assistant, senderRole: 'assistant' }, conversationId, active);
  }

  #handleUpgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const { service, config } = this.#options;
    stream.on('error', () => stream.destroy());
    const url = readUrl(request);
    if (url?.pathname !== socketPath) return refuseUpgrade(stream, '404 Not Found');
    if (this.#stopping) return refuseUpgrade(stream, '503 Service Unavailable');
    const address = clientAddress(
      request.socket.remoteAddress,
      request.headers['x-forwarded-for'],
      config.trustProxy,
    );
    try {
      assertAuthNotThrottled(service, address);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return refuseUpgrade(stream, '429 Too Many Requests');
    }
    return this.#sockets.handleUpgrade(request, stream, head, (socket) => {
      void this.#open(socket, request, url, address);
    });
  }

  async #open(socket: WebSocket, request: IncomingMessage, url: URL, address: string): Promise<void> {
    const peer = this.#addPeer(socket);
    try {
      const actor = await this.#authenticate(peer, request, url, address);
      // It may have closed while the token was being checked.
      if (socket.readyState !== socket.OPEN) {
        peer.cleanUp();
        return;
      }
      const connection = this.#accept(peer, actor, url, address);
      // Configuration may have changed between the check of the token and the hub's knowing of this connection.
      await connection.revalidate();
    } catch (error) {
      this.#refuse(socket, error, address);
    }
  }

  #addPeer(socket: WebSocket): Peer {
    const { log, service } = this.#options;
    const { clock } = service.engine;
    const peer = new Peer(socket, clock.monotonic());
    const touch = (): void => {
      peer.lastReceivedAt = clock.monotonic();
    };
    this.#peers.add(peer);
    peer.onClose(() => this.#peers.delete(peer));
    socket.on('pong', touch);
    socket.on('ping', (data: Buffer) => {
      touch();
      peer.pong(data);
    });
    socket.on('error', (error) => log.debug({ message: error.message }, 'socket error'));
    socket.on('message', (data: Buffer, isBinary) => {
      touch();
      peer.receive(isBinary ? null : data.toString());
    });
    socket.on('close', () => {
      peer.connection?.end();
      peer.cleanUp();
    });
    return peer;
  }

  /** @throws SocketAuthError */
  async #authenticate(
    peer: Peer,
    request: IncomingMessage,
    url: URL,
    address: string,
  ): Promise<VisitorActor | MemberActor> {
    const { service, config } = this.#options;
    peer.onClose(this.#perAddress.add(addressKey(address), config.maxConnectionsPerAddress));
    const actor = await authenticateSocket(service, readToken(url), request.headersDistinct['origin'] ?? []);
    if (actor.kind === 'visitor') {
      const key = `${actor.applicationId}:${actor.mode}:${actor.visitorId}`;
      peer.onClose(this.#perVisitor.add(key, config.maxConnectionsPerVisitor));
    }
    return actor;
  }

  #accept(peer: Peer, actor: VisitorActor | MemberActor, url: URL, address: string): Connection {
    const { service, config, log } = this.#options;
    const { socket } = peer;
    this.#lastConnectionNumber += 1;
    const connection = new Connection({
      id: String(this.#lastConnectionNumber),
      socket,
      service,
      hub: this.#hub,
      log,
      actor,
      address,
      maxRooms: config.maxRoomsPerConnection,
      modes: readModes(url),
    });
    peer.connection = connection;
    this.#hub.add(connection);
    for (const frame of peer.earlyFrames.splice(0)) connection.receive(frame);
    if (socket.isPaused) socket.resume();
    return connection;
  }

  #refuse(socket: WebSocket, error: unknown, address: string): void {
    const { service, log } = this.#options;
    if (!(error instanceof SocketAuthError)) {
      log.error({ err: String(error) }, 'a socket could not be accepted');
      socket.close(closeCodes.internal.code);
      return;
    }
    if (error.code !== 'RATE_LIMITED') {
      try {
        countFailedAuth(service, address);
      } catch (limit) {
        // Over the limit now: the next upgrade from this address is refused.
        if (!(limit instanceof ServiceError)) throw limit;
      }
    }
    const reason = refusalCodes[error.code] ?? 'unauthorized';
    socket.send(writeFrame({ type: 'error', payload: { code: error.code, message: error.message } }), {
      binary: false,
    });
    socket.close(closeCodes[reason].code, error.code);
  }

  // One timer for all: one per connection would be thousands.
  #scheduleHeartbeat(): void {
    this.#cancelHeartbeat = this.#options.service.engine.clock.after(heartbeatIntervalMs, () => {
      this.#beat();
      this.#scheduleHeartbeat();
    });
  }

  #beat(): void {
    const now = this.#options.service.engine.clock.monotonic();
    for (const peer of this.#peers) {
      if (now - peer.lastReceivedAt >= sizeLimits.silentForMs) peer.socket.terminate();
      else if (now - peer.lastPingAt >= sizeLimits.pingEveryMs) {
        peer.lastPingAt = now;
        peer.socket.ping();
      }
    }
  }
}

/** How many connections are open per key. */
class ConnectionCount {
  readonly #counts = new Map<string, number>();

  /**
   * @returns how to give the place back, once
   * @throws SocketAuthError when `max` are open already
   */
  add(key: string, max: number): () => void {
    const open = this.#counts.get(key) ?? 0;
    if (open >= max)
      throw new SocketAuthError(
        'RATE_LIMITED',
        `There are ${max} live connections already: close one first.`,
      );
    this.#counts.set(key, open + 1);
    return () => {
      const left = (this.#counts.get(key) ?? 1) - 1;
      if (left <= 0) this.#counts.delete(key);
      else this.#counts.set(key, left);
    };
  }
}

/** Waits until every socket is closed, for a limited time. */
async function waitUntilEmpty(peers: ReadonlySet<Peer>): Promise<void> {
  const until = performance.now() + closeTimeoutMs;
  while (peers.size > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
}

function readUrl(request: IncomingMessage): URL | null {
  const target = request.url ?? '/';
  return target.startsWith('/') && URL.canParse(target, 'http://localhost')
    ? new URL(`http://localhost${target}`)
    : null;
}

/** The token as it was sent; null: none. Of two, neither can be trusted. */
function readToken(url: URL): string | null {
  const tokens = url.searchParams.getAll('token');
  return tokens.length > 1 ? '' : (tokens[0] ?? null);
}

/** Staff receive events of live conversations unless they ask for `mode=test` or `mode=all`. */
function readModes(url: URL): Mode[] {
  const asked = url.searchParams.get('mode');
  return asked === 'all' ? ['live', 'test'] : asked === 'test' ? ['test'] : ['live'];
}

/** Closes the stream after the answer, even if the peer keeps its half open. */
function refuseUpgrade(stream: Duplex, status: string): void {
  stream.once('finish', () => stream.destroy());
  stream.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
