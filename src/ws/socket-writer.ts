// Writes frames to one socket. They are whole WebSocket frames already (frames.ts), made once for all who receive them,
// so they go to the stream itself; what one turn of the loop writes leaves together.
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';

export class SocketWriter {
  readonly #socket: WebSocket;
  readonly #stream: Duplex;
  /** What waits: nearly always one frame, and those after it. */
  #first: Buffer | null = null;
  #others: Buffer[] | null = null;
  #bytes = 0;

  /**
   * @param socket must compress nothing: its own frames then never wait, and ours come between whole ones
   * @param stream the one that the socket was made of
   */
  constructor(socket: WebSocket, stream: Duplex) {
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
      queueMicrotask(this.#flushSoon);
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

  readonly #flushSoon = (): void => this.flush();
}
