// Owns a WebSocket client that writes any bytes: fragments, masks, opcodes and lengths as it is told. Reads what the
// server answers and answers its pings. Must not judge what it hears.
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { eventually } from '../helpers/eventually.ts';

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** @returns one frame as a client sends it, masked */
export function frameBytes(opcode: number, payload: Buffer, fin = true): Buffer {
  const { length } = payload;
  const head = [(fin ? 0x80 : 0) | opcode];
  if (length < 126) head.push(0x80 | length);
  else if (length < 65_536) head.push(0xfe, length >> 8, length & 255);
  else head.push(0xff, 0, 0, 0, 0, ...[24, 16, 8, 0].map((shift) => (length >>> shift) & 255));
  const mask = [length & 255, 0xa5, opcode, 0x5a];
  return Buffer.concat([
    Buffer.from([...head, ...mask]),
    Buffer.from(payload.map((byte, at) => byte ^ (mask[at % 4] ?? 0))),
  ]);
}

export class RawSocket {
  /** The text frames that were heard. */
  readonly heard: string[] = [];
  pongs = 0;
  /** The code with which the server closed; 0: without one. */
  closed: number | null = null;
  readonly #socket: Socket;
  #bytes = Buffer.alloc(0);
  #open = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#read();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.closed ??= 0;
    });
  }

  /** Connects and upgrades. */
  static async open(
    url: string,
    token: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<RawSocket> {
    const { hostname, port, host } = new URL(url);
    const socket = connect(Number(port), hostname);
    const raw = new RawSocket(socket);
    await once(socket, 'connect');
    const lines = [
      `GET /api/v1/ws?token=${encodeURIComponent(token)} HTTP/1.1`,
      `Host: ${host}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ];
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    await eventually(() => {
      if (!raw.#open && raw.closed === null) throw new Error('not upgraded yet');
    });
    return raw;
  }

  write(bytes: Buffer): void {
    if (!this.#socket.destroyed) this.#socket.write(bytes);
  }

  end(): void {
    this.#socket.destroy();
  }

  #read(): void {
    if (!this.#open) {
      const end = this.#bytes.indexOf('\r\n\r\n');
      if (end === -1) return;
      if (!this.#bytes.toString('latin1', 0, 12).endsWith('101')) return this.end();
      this.#open = true;
      this.#bytes = this.#bytes.subarray(end + 4);
    }
    for (let frame = this.#next(); frame !== null; frame = this.#next()) this.#take(...frame);
  }

  /** The next whole frame: the server sends each message as one, unmasked. */
  #next(): [opcode: number, payload: Buffer] | null {
    const bytes = this.#bytes;
    if (bytes.length < 2) return null;
    const short = bytes.readUInt8(1);
    const start = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (bytes.length < start) return null;
    const length =
      short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
    if (bytes.length < start + length) return null;
    this.#bytes = bytes.subarray(start + length);
    return [bytes.readUInt8(0) & 15, bytes.subarray(start, start + length)];
  }

  #take(opcode: number, payload: Buffer): void {
    if (opcode === opcodes.text) this.heard.push(payload.toString());
    else if (opcode === opcodes.ping) this.write(frameBytes(opcodes.pong, payload));
    else if (opcode === opcodes.pong) this.pongs += 1;
    else if (opcode === opcodes.close) {
      this.closed = payload.length >= 2 ? payload.readUInt16BE(0) : 0;
      this.end();
    }
  }
}
