// How connections are read. Node reads all that have sent something in one turn of the loop, however many, and a request
// with its headers, or a piece with 32 of them, costs up to some milliseconds: a thousand connections would hold all others
// up for seconds. So a turn that takes long reads no further, and addresses take turns.
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../engine/engine.ts';
import { addressKey } from '../net/ip-ranges.ts';
import { rateLimited } from '../services/core/errors.ts';
import { endConnection } from './client-error.ts';

/** After so much time no further connection is read in a turn of the loop, ms. */
const mostMs = 15;
/** Connections of one address that are read in a turn while others wait. */
export const readAtOnce = 64;
/** Lines of headers that no client sends: to parse thousands takes a third of a millisecond. */
const manyHeaders = 200;

interface ConnectionOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Connections that one address may have; null: any number, because a proxy's are those of many. */
  readonly mostOfAddress: number | null;
  /** Called for each connection that was refused. */
  readonly onRefused: () => void;
}

/** The connections of one address. */
interface Lane {
  /** How many there are, those that have become WebSockets among them. */
  open: number;
  /** Those that are not read before their turn comes. */
  readonly waiting: Set<Reading>;
  /** The turn of the loop since which each of them is read once; then a new round begins. */
  roundBegan: number;
}

/** A connection that has not become a WebSocket. */
interface Reading {
  readonly socket: Socket;
  readonly lane: Lane;
  /** What it has asked last; null: nothing yet. */
  request: IncomingMessage | null;
  /** The turn of the loop in which that came. */
  readIn: number;
}

/** Whether a request has so many headers that its connection ends with the answer: the next ones would come as cheaply. */
export function hasManyHeaders({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.length > manyHeaders * 2;
}

/** Reads the connections of a server in turns, and refuses those that are too many of their address. */
export function readInTurns(server: Server, { clock, mostOfAddress, onRefused }: ConnectionOptions): void {
  const turns = new ReadingTurns(clock);
  server.on('connection', (socket: Socket) => {
    if (turns.add(socket, addressKey(socket.remoteAddress ?? ''), mostOfAddress ?? Infinity)) return;
    onRefused();
    endConnection(socket, tooManyConnections(mostOfAddress ?? 0));
  });
  const onRead = (request: IncomingMessage): void => turns.noteRead(request);
  server.prependListener('request', onRead);
  server.prependListener('checkExpectation', onRead);
  // From here on Node and the WebSocket read it.
  server.prependListener('upgrade', ({ socket }: IncomingMessage) => {
    turns.remove(socket);
    turns.countTime();
  });
}

function tooManyConnections(most: number): ReturnType<typeof rateLimited> {
  const window = { limit: most, windowMs: 1_000 };
  const message = `There are ${most} connections of your address already: close some first, or use them again`;
  return rateLimited('per_address', [window], window, window.windowMs, message);
}

/** Which connections are read in a turn of the loop. */
class ReadingTurns {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #readings = new Map<Socket, Reading>();
  readonly #lanes = new Map<string, Lane>();
  /** Those in which some wait. */
  readonly #crowded = new Set<Lane>();
  #turn = 0;
  /** When the first of this turn was read; null: none was. */
  #began: number | null = null;
  /** Addresses that were read in this turn, and may be read on. */
  readonly #readLanes = new Set<Lane>();
  #isNextAsked = false;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /**
   * Takes up a new connection.
   * @returns false: its address has as many as it may have
   */
  add(socket: Socket, address: string, most: number): boolean {
    const lane = this.#lanes.get(address) ?? { open: 0, waiting: new Set(), roundBegan: 0 };
    if (lane.open >= most) return false;
    this.#lanes.set(address, lane);
    lane.open += 1;
    socket.once('close', () => {
      this.remove(socket);
      lane.open -= 1;
      if (lane.open === 0) this.#lanes.delete(address);
    });
    const reading = { socket, lane, request: null, readIn: -1 };
    this.#readings.set(socket, reading);
    // Node resumes a connection by itself, as when a body was read to its end.
    socket.on('resume', () => {
      if (lane.waiting.has(reading)) socket.pause();
    });
    return true;
  }

  /** A connection that is closed, or no longer HTTP's. */
  remove(socket: Socket): void {
    const reading = this.#readings.get(socket);
    if (reading === undefined) return;
    this.#readings.delete(socket);
    this.#endWait(reading);
  }

  /** A connection was read. Where others wait it is not read again before them. */
  noteRead(request: IncomingMessage): void {
    const reading = this.#readings.get(request.socket);
    if (reading === undefined) return;
    reading.request = request;
    reading.readIn = this.#turn;
    if (reading.lane.waiting.size > 0) this.#wait(reading);
    this.#readLanes.add(reading.lane);
    this.countTime();
  }

  /** Reads no further in this turn of the loop once it has taken long: what is left has later ones. */
  countTime(): void {
    const now = this.#clock.monotonic();
    this.#began ??= now;
    this.#askNext();
    if (now - this.#began < mostMs || this.#readLanes.size === 0) return;
    // Addresses that have not been read yet are read all the same: who sends much is to keep none of them out.
    for (const reading of this.#readings.values()) if (this.#readLanes.has(reading.lane)) this.#wait(reading);
    this.#readLanes.clear();
  }

  #wait(reading: Reading): void {
    const { lane, socket, request } = reading;
    if (lane.waiting.has(reading) || isHeldBack(request)) return;
    if (lane.waiting.size === 0) lane.roundBegan = this.#turn;
    socket.pause();
    lane.waiting.add(reading);
    this.#crowded.add(lane);
    this.#askNext();
  }

  #endWait(reading: Reading): void {
    const { lane } = reading;
    if (lane.waiting.delete(reading) && lane.waiting.size === 0) this.#crowded.delete(lane);
  }

  #askNext(): void {
    if (this.#isNextAsked) return;
    this.#isNextAsked = true;
    setImmediate(this.#beginNext);
  }

  readonly #beginNext = (): void => {
    this.#isNextAsked = false;
    this.#readLanes.clear();
    this.#began = null;
    this.#turn += 1;
    for (const lane of this.#crowded) this.#readSome(lane);
    if (this.#crowded.size > 0) this.#askNext();
  };

  /** The system tells of what can be read in an order of its own: who was read in this round waits for its end. */
  #readSome(lane: Lane): void {
    let next = [...lane.waiting].filter(({ readIn }) => readIn < lane.roundBegan);
    if (next.length === 0) {
      lane.roundBegan = this.#turn;
      next = [...lane.waiting];
    }
    for (const reading of next.slice(0, readAtOnce)) {
      this.#endWait(reading);
      reading.socket.resume();
    }
  }
}

/** Whether a body waits for who reads it: Node goes on with it by itself, and is to go on no sooner. */
function isHeldBack(request: IncomingMessage | null): boolean {
  return request !== null && !request.complete && request.readableLength >= request.readableHighWaterMark;
}
