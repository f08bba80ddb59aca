// Owns a DNS server of the tests: it knows the names that it is told, says of all others that there are none, and leaves those
// without an answer that end in `.silent.example`.
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

export class DnsServer {
  /** IPv4 addresses by name. */
  readonly known = new Map<string, string>();
  /** Names that were asked for, in order. */
  readonly asked: string[] = [];
  readonly #socket: Socket = createSocket('udp4');

  /** @returns the address and the port */
  async start(): Promise<string> {
    this.#socket.on('message', (question, { port, address }) => {
      const answer = this.#answer(question);
      if (answer !== null) this.#socket.send(answer, port, address);
    });
    this.#socket.bind(0, '127.0.0.1');
    await once(this.#socket, 'listening');
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  async stop(): Promise<void> {
    this.#socket.close();
    await once(this.#socket, 'close');
  }

  #answer(question: Buffer): Buffer | null {
    const labels: string[] = [];
    let at = 12;
    for (let length = question.readUInt8(at); length > 0; length = question.readUInt8(at)) {
      labels.push(question.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const name = labels.join('.').toLowerCase();
    this.asked.push(name);
    if (name.endsWith('.silent.example')) return null;
    const address = question.readUInt16BE(at + 1) === 1 ? this.known.get(name) : undefined;
    const head = Buffer.from(question.subarray(0, at + 5));
    // An answer, of a server that asks others; NXDOMAIN for a name that is not known.
    head.writeUInt16BE(this.known.has(name) ? 0x8180 : 0x8183, 2);
    head.writeUInt16BE(address === undefined ? 0 : 1, 6);
    head.writeUInt32BE(0, 8);
    if (address === undefined) return head;
    const record = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)];
    return Buffer.concat([head, Buffer.from(record)]);
  }
}
