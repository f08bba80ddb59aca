// Upgrades that wait to be begun: addresses take turns, and clients that have left are passed over. Begins none itself.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** An upgrade that has been read, and nothing more. */
export interface Arrival {
  readonly request: IncomingMessage;
  /** Destroyed: the client has left. */
  readonly stream: Duplex;
  readonly head: Buffer;
  readonly url: URL;
}

/** An upgrade and the address that it comes from. */
export interface WaitingUpgrade {
  readonly arrival: Arrival;
  readonly address: string;
}

export class UpgradeQueue {
  /** By the address's key, which is served in the map's order and then stands last. None of them is empty. */
  readonly #byKey = new Map<string, WaitingUpgrade[]>();

  /** Whether none waits, not even one that has left. */
  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  /** @param key those with the same one share a turn */
  add(key: string, upgrade: WaitingUpgrade): void {
    const waiting = this.#byKey.get(key);
    if (waiting === undefined) this.#byKey.set(key, [upgrade]);
    else waiting.push(upgrade);
  }

  /**
   * Takes out the first upgrade of the address that has been served least recently. Those that have left are dropped on
   * the way, and cost their address no turn.
   * @returns undefined when none waits
   */
  next(): WaitingUpgrade | undefined {
    for (const [key, waiting] of this.#byKey) {
      this.#byKey.delete(key);
      const first = waiting.findIndex(({ arrival }) => !arrival.stream.destroyed);
      if (first < 0) continue;
      const [upgrade] = waiting.splice(0, first + 1).slice(-1);
      if (waiting.length > 0) this.#byKey.set(key, waiting);
      return upgrade;
    }
    return undefined;
  }
}
