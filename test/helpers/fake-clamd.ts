// Owns a virus scanner of the tests: speaks clamd's INSTREAM and knows one virus, the harmless one that all scanners
// know. Can be told to hang, or to refuse. Must not know the client.
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** In two parts, so that no scanner takes this file for it. */
export const eicar = Buffer.from(
  String.raw`X5O!P%@AP[4\PZX54(P^)7CC)7}` + '$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*',
);

export class FakeClamd {
  /** Bytes of each file that was shown to it. */
  readonly seen: Buffer[] = [];
  /** What it says instead of a verdict. */
  answer: string | null = null;
  /** The bytes that it can't judge, as those of a file that is too large for it. */
  refused: Buffer | null = null;
  /** Whether it says a byte now and then, and never ends. */
  trickles = false;
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  #port = 0;

  /** Starts, or starts again at the same place. @returns the place */
  async start(): Promise<string> {
    const server = createServer((socket) => this.#serve(socket));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    return `127.0.0.1:${this.#port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    const server = this.#server;
    this.#server = null;
    if (server !== null) await new Promise((resolve) => server.close(resolve));
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => undefined);
    let buffer = Buffer.alloc(0);
    if (this.trickles) {
      const trickle = setInterval(() => socket.write('.'), 20);
      socket.on('close', () => clearInterval(trickle));
      return;
    }
    socket.on('data', (chunk: Buffer) => {
      buffer = Buffer.concat([buffer, chunk]);
      if (buffer.toString('latin1') === 'zPING\0') socket.end('PONG\0');
      const file = readStream(buffer);
      if (file === null) return;
      this.seen.push(file);
      socket.end(
        `${this.answer ?? (this.refused?.equals(file) === true ? 'INSTREAM size limit exceeded. ERROR' : verdictOf(file))}\0`,
      );
    });
  }
}

const verdictOf = (file: Buffer): string =>
  file.includes(eicar) ? 'stream: Eicar-Signature FOUND' : 'stream: OK';

/** The file of a whole INSTREAM; null: more is to come. */
function readStream(buffer: Buffer): Buffer | null {
  const head = Buffer.from('zINSTREAM\0');
  if (!buffer.subarray(0, head.length).equals(head)) return null;
  const parts: Buffer[] = [];
  for (let at = head.length; at + 4 <= buffer.length;) {
    const length = buffer.readUInt32BE(at);
    if (length === 0) return Buffer.concat(parts);
    parts.push(buffer.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return null;
}
