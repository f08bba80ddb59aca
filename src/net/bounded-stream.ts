// A connection whose peer may say so much and no more: who reads it keeps what they are sent, and a customer chose the peer.
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** The peer has said more than it may. */
export class SaidTooMuchError extends Error {
  override readonly name = 'SaidTooMuchError';
}

/**
 * A socket's bytes in both directions, counted as they come, be they encrypted or not: TLS goes on top of it.
 * Its end is the socket's, and the socket's is its own.
 */
export class BoundedStream extends Duplex {
  readonly #socket: Socket;
  #left: number;
  #refusal: SaidTooMuchError | null = null;

  /** @param maxBytes a peer that says more gets the connection ended, with SaidTooMuchError */
  constructor(socket: Socket, maxBytes: number) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    this.#left = maxBytes;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => this.destroy());
    socket.on('timeout', () => this.emit('timeout'));
    if (socket.destroyed) this.destroy();
    else socket.pause();
  }

  /** Why the connection was ended from our side; null: it was not. Who reads it may have heard of another error. */
  get refusal(): SaidTooMuchError | null {
    return this.#refusal;
  }

  /** As a socket has it: `timeout` is emitted after so long without a byte. */
  setTimeout(ms: number): this {
    this.#socket.setTimeout(ms);
    return this;
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #take(chunk: Buffer): void {
    if (this.destroyed) return;
    this.#left -= chunk.length;
    if (this.#left < 0) {
      this.#refusal = new SaidTooMuchError('The peer says more than it may.');
      this.destroy(this.#refusal);
    } else if (!this.push(chunk)) this.#socket.pause();
  }
}
