// Writes frames to one socket. They are whole WebSocket frames already (frames.ts), made once for all who receive them,
// so they go to the stream itself; what one turn of the loop writes leaves together.
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

/** Those that have something to write; flushed together. */
let waiting: SocketWriter[] = [];

/**
 * Writes when all microtasks have run: a commit first hands its events to the sockets, and its answers come in
 * microtasks of their own. A system call for each would be the dearest part of a message.
 */
function flushAfterMicrotasks(): void {
  process.nextTick(flushAll);
}

function flushAll(): void {
  const writers = waiting;
  waiting = [];
  for (const writer of writers) writer.flush();
}

export class SocketWriter {
  readonly #socket: Pick<WebSocket, 'readyState' | 'OPEN' | 'close'>;
  readonly #stream: Duplex;
  /** What waits: nearly always one frame, and those after it. */
  #first: Buffer | null = null;
  #others: Buffer[] | null = null;
  #bytes = 0;

  /**
   * @param socket must compress nothing: its own frames then never wait, and ours come between whole ones
   * @param stream the one that the socket was made of
   */
  constructor(socket: Pick<WebSocket, 'readyState' | 'OPEN' | 'close'>, stream: Duplex) {
    this.#socket = socket;
    this.#stream = stream;
  }

  /** Whether frames can still be written. */
  get open(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  /** Bytes that wait to be read by the peer. */
  get waitingBytes(): number {
    return this.#bytes + this.#stream.writableLength;
  }

  write(frame: Buffer): void {
    if (this.#first === null) {
      this.#first = frame;
      // From a microtask, because a tick that is asked for outside of one comes before them.
      if (waiting.push(this) === 1) queueMicrotask(flushAfterMicrotasks);
    } else (this.#others ??= []).push(frame);
    this.#bytes += frame.length;
  }

  /** Resolves when the frame has left, or never will. */
  writeAndWait(frame: Buffer): Promise<void> {
    this.flush();
    // A failing socket is closed by its own event: the error needs no answer here.
    return new Promise((resolve) => this.#stream.write(frame, () => resolve()));
  }

  /** Writes what waits, so that a close frame comes after it. */
  flush(): void {
    const first = this.#first;
    const others = this.#others;
    if (first === null) return;
    this.#first = null;
    this.#others = null;
    this.#bytes = 0;
    if (this.open) this.#stream.write(others === null ? first : Buffer.concat([first, ...others]));
  }

  /**
   * Closes the socket after what waits, and our half of the connection behind it: the peer needs nothing more to know
   * why. What it goes on to send is dropped as it comes. The library would read every frame of it to the end of the
   * wait, thousands in one turn of the loop.
   */
  hangUp(code: number, reason: string): void {
    this.flush();
    this.#socket.close(code, reason);
    this.#stream.removeAllListeners('data');
    this.#stream.end();
    this.#stream.resume();
  }
}
