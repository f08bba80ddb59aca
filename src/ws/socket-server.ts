// Serves WebSockets: upgrade, connection limits, authentication, heartbeat. A connection that is refused is
// upgraded all the same, because a browser can't read the answer to a failed upgrade.
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import type { Seats } from '../engine/engine.ts';
import { clientAddress } from '../net/client-address.ts';
import { addressKey } from '../net/ip-ranges.ts';
import { closeCodes, sizeLimits, socketPath, type SocketErrorCode } from '../protocol/codes.ts';
import type { Mode } from '../protocol/entities.ts';
import { countFailedAuth } from '../services/auth/rate-limits.ts';
import { authenticateSocket, SocketAuthError } from '../services/auth/socket-tokens.ts';
import type { ServerFrame } from '../protocol/events.ts';
import type { MemberActor, VisitorActor } from '../services/core/actor.ts';
import type { OrganizationSubscription } from '../services/core/audience.ts';
import { restarting, ServiceError } from '../services/core/errors.ts';
import type { Service } from '../services/service.ts';
import { closingAfter } from './closing.ts';
import { Connection } from './connection.ts';
import { ControlFrames } from './frame-limits.ts';
import { Hub } from './hub.ts';
import { SocketWriter } from './socket-writer.ts';
import { SyncLimits } from './sync-limits.ts';
import { UpgradeQueue, type Arrival, type WaitingUpgrade } from './upgrade-queue.ts';

export interface SocketServerOptions {
  readonly service: Service;
  readonly config: Config;
  readonly log: Log;
  /** Answers an upgrade that is refused as HTTP, and closes its connection. */
  readonly refuseUpgrade: (stream: Duplex, refusal: ServiceError) => void;
}

/** The close code of each refusal. */
const refusalCodes: Readonly<Partial<Record<SocketErrorCode, keyof typeof closeCodes>>> = {
  UNAUTHORIZED: 'unauthorized',
  INVALID_TOKEN: 'unauthorized',
  EXPIRED_TOKEN: 'unauthorized',
  ORIGIN_MISMATCH: 'withdrawn',
  FORBIDDEN: 'withdrawn',
  APP_NOT_FOUND: 'appNotFound',
  RATE_LIMITED: 'rateLimited',
};

/**
 * Upgrades that are begun in one turn of the loop, however many come in one moment: about a millisecond's work. An
 * upgrade whose look-up takes long does not keep others from being begun.
 */
export const maxBegunInTurn = 16;
/** Upgrades whose address is read in one turn: the queue behind must not run dry. */
const maxQueuedInTurn = 4 * maxBegunInTurn;

const heartbeatIntervalMs = 5_000;
const closeTimeoutMs = 3_000;

/** One socket, from the upgrade on. */
class Peer {
  readonly socket: WebSocket;
  lastReceivedAt: number;
  lastPingAt: number;
  /** null: refused. Its frames are not handled. */
  connection: Connection | null = null;
  /** How its pings and pongs are counted; null as long as there is no connection. */
  controls: ControlFrames | null = null;

  constructor(socket: WebSocket, now: number) {
    this.socket = socket;
    this.lastReceivedAt = now;
    this.lastPingAt = now;
  }

  /** Answers a ping. The library would pile up pongs without limit for a peer that does not read. */
  pong(data: Buffer): void {
    if (!this.takeControl()) return;
    if (this.socket.bufferedAmount <= sizeLimits.unreadBytes) this.socket.pong(data);
    else this.connection?.close('tooSlow', 'More than 1 MiB waits to be read.');
  }

  /** Counts a ping or a pong. @returns whether a ping is to be answered */
  takeControl(): boolean {
    if (this.controls === null || this.socket.readyState !== this.socket.OPEN) return false;
    const verdict = this.controls.take();
    if (verdict === 'close') this.connection?.close('rateLimited', 'Too many pings, and still sending.');
    return verdict === 'heed';
  }
}

/** Whether a request asks for a WebSocket, and for no other protocol. */
export function isSocketUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

export class SocketServer {
  readonly #options: SocketServerOptions;
  readonly #hub: Hub;
  readonly #syncs: SyncLimits;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: sizeLimits.frameBytes,
    maxFragments: 64,
    maxBufferedChunks: 256,
    perMessageDeflate: false,
    autoPong: false,
    clientTracking: false,
  });
  /**
   * In the order in which they came. Each open socket has one upgrade at most here, in the queue, or under way, so that
   * the system's limit on open files bounds all three. Who leaves is destroyed, and dropped when it is met.
   */
  readonly #arrivals: Arrival[] = [];
  readonly #queue = new UpgradeQueue();
  /** Whether some wait, for which the next turn of the loop is asked. */
  #isBeginning = false;
  #underWay = 0;
  readonly #peers = new Set<Peer>();
  #lastConnectionNumber = 0;
  #stopping = false;
  #cancelHeartbeat = (): void => undefined;

  constructor(options: SocketServerOptions) {
    this.#options = options;
    this.#syncs = new SyncLimits(options.service);
    this.#hub = new Hub(options.service, (error) =>
      options.log.error({ err: String(error) }, 'the hub failed'),
    );
  }

  /** Starts to accept upgrades on an HTTP server. */
  start(server: Server): void {
    this.#hub.start();
    this.#scheduleHeartbeat();
    // A handshake that is not right; the library would answer it in a shape of its own.
    this.#sockets.on('wsClientError', ({ message }: Error, stream: Duplex) =>
      this.#options.refuseUpgrade(stream, new ServiceError('bad_request', `${message}.`)),
    );
    server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) =>
      this.#arrive(request, stream, head),
    );
  }

  /**
   * Closes every socket with 1001, and refuses upgrades that wait with 503. Resolves when all are closed; those that don't
   * answer are terminated.
   */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#cancelHeartbeat();
    for (const { socket } of this.#peers)
      socket.close(closeCodes.goingAway.code, 'The service is restarting.');
    await within(closeTimeoutMs, () => this.#peers.size === 0 && !this.#isBeginning && this.#underWay === 0);
    for (const { socket } of this.#peers) socket.terminate();
    this.#hub.stop();
  }

  /** Notes an upgrade. Node reads a thousand of them in one turn, so hardly anything else is done in it. */
  #arrive(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    stream.on('error', destroyStream);
    const url = readUrl(request);
    if (url === null) return this.#options.refuseUpgrade(stream, new ServiceError('not_found', noSocket));
    if (request.headersDistinct['host']?.length !== 1)
      return this.#options.refuseUpgrade(stream, new ServiceError('bad_request', notOneHost));
    // Who closes one half while they wait has left. Node would keep the other half open.
    stream.once('end', destroyStream);
    this.#arrivals.push({ request, stream, head, url });
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    setImmediate(this.#beginSome);
  }

  /** Once in each turn of the loop, until none waits. */
  readonly #beginSome = (): void => {
    this.#queueArrivals();
    for (let begun = 0; begun < maxBegunInTurn; begun += 1) {
      const next = this.#queue.next();
      if (next === undefined) break;
      void this.#admit(next);
    }
    this.#isBeginning = this.#arrivals.length > 0 || !this.#queue.isEmpty;
    if (this.#isBeginning) setImmediate(this.#beginSome);
  };

  #queueArrivals(): void {
    const { trustProxy } = this.#options.config;
    let passed = 0;
    let queued = 0;
    for (const arrival of this.#arrivals) {
      if (queued === maxQueuedInTurn) break;
      passed += 1;
      if (arrival.stream.destroyed) continue;
      queued += 1;
      const { socket, headers } = arrival.request;
      const address = clientAddress(socket.remoteAddress, headers['x-forwarded-for'], trustProxy);
      this.#queue.add(addressKey(address), { arrival, address });
    }
    this.#arrivals.splice(0, passed);
  }

  async #admit(upgrade: WaitingUpgrade): Promise<void> {
    this.#underWay += 1;
    try {
      await this.#upgrade(upgrade);
    } finally {
      this.#underWay -= 1;
    }
  }

  /**
   * Authenticates first and completes the upgrade afterwards, in one turn of the loop with the hub's knowing of the
   * connection: a client that sees its socket open misses nothing from then on.
   */
  async #upgrade({ arrival, address }: WaitingUpgrade): Promise<void> {
    const { request, stream, head, url } = arrival;
    const { refuseUpgrade } = this.#options;
    if (this.#stopping) return refuseUpgrade(stream, restarting());
    const places = new Places(this.#options.service.engine.seats);
    stream.once('close', places.free);
    const outcome = await this.#authenticate(request, url, address, places);
    if (stream.destroyed) return places.free();
    // From here on, closing one half is the WebSocket's concern.
    stream.off('end', destroyStream);
    if (this.#stopping) return refuseUpgrade(stream, restarting());
    if (outcome instanceof Throttled) return refuseUpgrade(stream, outcome.refusal);
    const subscription = readSubscription(url);
    return this.#sockets.handleUpgrade(request, stream, head, (socket) => {
      const peer = this.#addPeer(socket);
      const writer = new SocketWriter(socket, stream);
      if (outcome instanceof Error) this.#refuse(peer, writer, outcome);
      else this.#accept(peer, writer, outcome, subscription, address);
    });
  }

  #addPeer(socket: WebSocket): Peer {
    const { log, service } = this.#options;
    const { clock } = service.engine;
    const peer = new Peer(socket, clock.monotonic());
    const touch = (): void => {
      peer.lastReceivedAt = clock.monotonic();
    };
    this.#peers.add(peer);
    socket.on('pong', () => {
      touch();
      peer.takeControl();
    });
    socket.on('ping', (data: Buffer) => {
      touch();
      peer.pong(data);
    });
    socket.on('error', (error) => log.debug({ message: error.message }, 'socket error'));
    socket.on('message', (data: Buffer, isBinary) => {
      touch();
      peer.connection?.receive(isBinary ? null : data.toString());
    });
    socket.on('close', () => {
      peer.connection?.end();
      this.#peers.delete(peer);
    });
    return peer;
  }

  /** The actor, why there is none, or that the address has failed too often. Only failures are counted. */
  async #authenticate(
    request: IncomingMessage,
    url: URL,
    address: string,
    places: Places,
  ): Promise<VisitorActor | MemberActor | Error | Throttled> {
    const { service, config } = this.#options;
    try {
      await places.take(`address:${addressKey(address)}`, config.maxConnectionsPerAddress);
      const actor = await authenticateSocket(
        service,
        readToken(url),
        request.headersDistinct['origin'] ?? [],
        request.headers.host,
        address,
      );
      if (actor.kind === 'visitor') {
        const key = `visitor:${actor.applicationId}:${actor.mode}:${actor.visitorId}`;
        await places.take(key, config.maxConnectionsPerVisitor);
      }
      return actor;
    } catch (error) {
      if (!(error instanceof SocketAuthError)) return toError(error);
      if (error.code === 'RATE_LIMITED') return error;
      return this.#countFailure(address, error);
    }
  }

  async #countFailure(address: string, refusal: SocketAuthError): Promise<Error | Throttled> {
    try {
      await countFailedAuth(this.#options.service, address);
      return refusal;
    } catch (error) {
      return error instanceof ServiceError ? new Throttled(error) : toError(error);
    }
  }

  #accept(
    peer: Peer,
    writer: SocketWriter,
    actor: VisitorActor | MemberActor,
    subscription: OrganizationSubscription,
    address: string,
  ): void {
    const { service, config, log } = this.#options;
    this.#lastConnectionNumber += 1;
    const id = `${service.engine.nodeId}:${this.#lastConnectionNumber}`;
    const connection = new Connection({
      id,
      socket: peer.socket,
      writer,
      service,
      hub: this.#hub,
      log,
      actor,
      address,
      syncs: this.#syncs,
      maxRooms: config.maxRoomsPerConnection,
      subscription,
    });
    peer.connection = connection;
    peer.controls = new ControlFrames({ id, actor, address, service });
    this.#hub.add(connection);
    // Configuration may have changed between the check of the token and the hub's knowing of this connection.
    connection.doubt();
    connection.revalidate().catch((error: unknown) => {
      log.error({ err: String(error) }, 'a socket could not be checked again');
      connection.closeAfter(error);
    });
  }

  #refuse({ socket }: Peer, writer: SocketWriter, error: Error): void {
    const { log, service } = this.#options;
    // As for a connection that is closed: the library would wait much longer.
    service.engine.clock.after(closeTimeoutMs, () => socket.terminate());
    if (!(error instanceof SocketAuthError)) {
      log.error({ err: String(error) }, 'a socket could not be accepted');
      const { reason, message } = closingAfter(error);
      writer.hangUp(closeCodes[reason].code, message);
      return;
    }
    const reason = refusalCodes[error.code] ?? 'unauthorized';
    const frame: ServerFrame = { type: 'error', payload: { code: error.code, message: error.message } };
    socket.send(JSON.stringify(frame));
    writer.hangUp(closeCodes[reason].code, error.code);
  }

  // One timer for all: one per connection would be thousands.
  #scheduleHeartbeat(): void {
    this.#cancelHeartbeat = this.#options.service.engine.clock.after(heartbeatIntervalMs, () => {
      this.#beat();
      this.#scheduleHeartbeat();
    });
  }

  #beat(): void {
    this.#hub.recheckEnded();
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

/** What one connection takes of the limits on live connections, from before it is authenticated until it is closed. */
class Places {
  readonly #seats: Seats;
  readonly #taken: (() => void)[] = [];
  #freed = false;

  constructor(seats: Seats) {
    this.#seats = seats;
  }

  /** @throws SocketAuthError when `most` are open already */
  async take(key: string, most: number): Promise<void> {
    const giveBack = await this.#seats.take([{ key, most }]);
    if (typeof giveBack !== 'function')
      throw new SocketAuthError(
        'RATE_LIMITED',
        `There are ${most} live connections already: close one first.`,
      );
    // The peer may have left while the place was being taken.
    if (this.#freed) giveBack();
    else this.#taken.push(giveBack);
  }

  /** Gives everything back, once. A listener of its own, so that a socket keeps nothing of its upgrade alive. */
  readonly free = (): void => {
    this.#freed = true;
    for (const giveBack of this.#taken.splice(0)) giveBack();
  };
}

/** An address that has failed too often. It is refused before its upgrade, which would cost more. */
class Throttled {
  readonly refusal: ServiceError;

  constructor(refusal: ServiceError) {
    this.refusal = refusal;
  }
}

const noSocket = `No WebSocket is at this path: connect to ${socketPath}.`;
const notOneHost = 'A request has exactly one Host header.';

function destroyStream(this: Duplex): void {
  this.destroy();
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** Waits until something is so, for a limited time. */
async function within(ms: number, isSo: () => boolean): Promise<void> {
  const until = performance.now() + ms;
  while (!isSo() && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
}

/**
 * The URL of an upgrade; null where its target leads to no WebSocket. The path is taken as it was sent: a parser makes
 * `/x/../api/v1/ws` and `/api\v1\ws` the same, and what is in front may have let those pass as something else.
 */
function readUrl(request: IncomingMessage): URL | null {
  const target = request.url ?? '/';
  const [path] = target.split('?', 1);
  return path === socketPath ? URL.parse(`http://localhost${target}`) : null;
}

/** The token as it was sent; null: none. Of two, neither can be trusted. */
function readToken(url: URL): string | null {
  const tokens = url.searchParams.getAll('token');
  return tokens.length > 1 ? '' : (tokens[0] ?? null);
}

/** Shared by the connections that ask for them. */
const modesByName: Readonly<Record<string, readonly Mode[]>> = {
  live: ['live'],
  test: ['test'],
  all: ['live', 'test'],
};

/**
 * Staff receive events of live conversations unless they ask for `mode=test` or `mode=all`; and with `changes=1` also
 * what a queue shows differently since a message was edited or deleted, or a tag renamed.
 */
function readSubscription({ searchParams }: URL): OrganizationSubscription {
  const asked = searchParams.get('mode') ?? 'live';
  const modes = (Object.hasOwn(modesByName, asked) ? modesByName[asked] : undefined) ?? ['live'];
  return { kind: 'organization', modes, changes: searchParams.get('changes') === '1' };
}
