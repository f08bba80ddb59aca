// Who may connect to bring mails, and how much they may say. Counted from the first moment: one who is refused takes no
// place, and no work beyond the refusal.
import type { Socket } from 'node:net';
import type { Engine, LimitWindow } from '../engine/engine.ts';
import { addressKey, addressNetworks } from '../net/ip-ranges.ts';

const maxOfAddress = 20;
/** Of what one customer of a provider may have of IPv6, so that half of the places are left to all others. */
const maxOfNetwork = 100;

/** Bytes of an address, counted in pieces. */
interface Allowance {
  readonly key: string;
  readonly pieceBytes: number;
  readonly windows: readonly LimitWindow[];
}

/** Taken apart one by one, however short they are. What a thousand recipients need has room in it several times over. */
const commands: Allowance = {
  key: 'mc',
  pieceBytes: 4_096,
  windows: [{ limit: 128, windowMs: 60_000 }],
};
/** Looked through byte by byte, also where they are refused behind the last one. */
const mails: Allowance = {
  key: 'mb',
  pieceBytes: 1_048_576,
  windows: [{ limit: 600, windowMs: 60_000 }],
};

const tooMany = '421 4.7.0 Too many connections of your address. Try again later\r\n';
const tooMuch = '421 4.7.0 Too much comes from your address. Try again later\r\n';

/** For how long one that has said too much is listened to, unheard, ms: closed at once it would lose what it was told. */
const lingerMs = 1_000;

/**
 * Under what the bytes of an address that are on their way are counted: the largest network that one customer may have. From
 * one of its parts after the other they would take all the room.
 */
export function mailSource(address: string): string {
  return addressNetworks(address).at(-1)?.key ?? address;
}

/** The connections that there are. */
export class MailConnections {
  readonly #engine: Pick<Engine, 'clock' | 'localLimiter'>;
  readonly #byNetwork = new Map<string, number>();
  /** By the connection's id: gives its places back. */
  readonly #held = new Map<string, () => void>();
  /** Those whose bytes are a mail's at present. */
  readonly #bringing = new Set<string>();

  constructor(engine: Pick<Engine, 'clock' | 'localLimiter'>) {
    this.#engine = engine;
  }

  /** Takes a place for a new connection. @returns false: it was refused, and is over */
  admit(id: string, socket: Socket): boolean {
    const { remoteAddress } = socket;
    // One that has gone again closes no more.
    if (socket.destroyed || remoteAddress === undefined) return false;
    const networks = addressNetworks(remoteAddress);
    const full = networks.some(
      ({ key, factor }) => this.#open(key) >= Math.min(maxOfAddress * factor, maxOfNetwork),
    );
    if (full) {
      // It has said nothing yet: what it is told arrives, and it is gone.
      socket.on('error', () => undefined);
      socket.write(tooMany);
      socket.destroySoon();
      return false;
    }
    for (const { key } of networks) this.#byNetwork.set(key, this.#open(key) + 1);
    this.#held.set(id, () => {
      for (const { key } of networks) {
        const left = this.#open(key) - 1;
        if (left > 0) this.#byNetwork.set(key, left);
        else this.#byNetwork.delete(key);
      }
    });
    this.listen(id, socket, remoteAddress);
    return true;
  }

  /** Gives the place of a connection back. Twice is once. */
  leave(id: string): void {
    this.#held.get(id)?.();
    this.#held.delete(id);
    this.#bringing.delete(id);
  }

  /** From here on what a connection says is a mail. @returns from where on it is commands again */
  bring(id: string): () => void {
    this.#bringing.add(id);
    return () => void this.#bringing.delete(id);
  }

  /**
   * Counts what comes over a socket: for a connection that becomes encrypted, over the one on top of it too. Where its
   * address has said too much, it is ended.
   */
  listen(id: string, socket: Socket, address: string): void {
    const from = addressKey(address);
    const left = new Map<Allowance, number>();
    const count = (chunk: Buffer): void => {
      const allowance = this.#bringing.has(id) ? mails : commands;
      const { key, pieceBytes, windows } = allowance;
      let bytes = (left.get(allowance) ?? 0) + chunk.length;
      for (; bytes >= pieceBytes; bytes -= pieceBytes) {
        if (this.#engine.localLimiter.take([{ key: `${key}:${from}`, windows }]).ok) continue;
        socket.off('data', count);
        this.#end(socket);
        return;
      }
      left.set(allowance, bytes);
    };
    socket.on('data', count);
  }

  #end(socket: Socket): void {
    socket.unpipe();
    socket.resume();
    socket.end(tooMuch);
    socket.once(
      'close',
      this.#engine.clock.after(lingerMs, () => socket.destroy()),
    );
  }

  #open(key: string): number {
    return this.#byNetwork.get(key) ?? 0;
  }
}
