// Owns a TCP proxy that behaves like a bad network: it delays, cuts at random bytes and
// black-holes. Must not understand what it carries.
import { createServer, connect, type Socket } from 'node:net';
import { once } from 'node:events';

export interface Fault {
  /** Bytes, both ways together, after which it happens. */
  readonly afterBytes: number;
  /** `cut`: both ends are reset. `swallow`: nothing passes any more, and no one is told. */
  readonly what: 'cut' | 'swallow';
}

export interface Proxy {
  readonly url: string;
  readonly port: number;
  /** Connections that have met their fate. */
  readonly faults: number;
  /** From now on every new connection gets a fate from here; null: it lives. */
  injectFaults(fate: (() => Fault | null) | null, delayMs?: () => number): void;
  /** From now on nothing passes. @returns lets everything pass that was held, in order, and what comes after it */
  hold(): () => void;
  /** Resets every connection that is open. */
  cutAll(): void;
  /** Refuses new connections (true), or takes them again. */
  refuse(refusing: boolean): void;
  stop(): Promise<void>;
}

/** Only a connection of TCP can be reset. */
function reset(socket: Socket): void {
  if (socket.remoteAddress === undefined) socket.destroy();
  else socket.resetAndDestroy();
}

function connectTo(target: string | (() => string)): Socket {
  if (typeof target === 'function') return connect(target());
  const { hostname, port } = new URL(target);
  return connect(Number(port), hostname);
}

/** @param target the server's address, such as http://127.0.0.1:4600, or says the path of its socket for each connection */
export async function startProxy(target: string | (() => string)): Promise<Proxy> {
  const open = new Set<Socket>();
  let disasters = 0;
  let refusing = false;
  let nextFate: (() => Fault | null) | null = null;
  let nextDelay = (): number => 0;
  let held: Promise<void> = Promise.resolve();

  function carry(client: Socket): void {
    if (refusing) {
      client.resetAndDestroy();
      return;
    }
    const server = connectTo(target);
    const fate = nextFate?.() ?? null;
    let bytes = 0;
    let swallowing = false;
    const end = (): void => {
      for (const socket of [client, server]) {
        open.delete(socket);
        if (!socket.destroyed) reset(socket);
      }
    };
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      open.add(from);
      let queue = Promise.resolve();
      from.on('error', end);
      from.on('close', end);
      from.on('data', (chunk: Buffer) => {
        if (swallowing) return;
        const left = fate === null ? Infinity : fate.afterBytes - bytes;
        bytes += chunk.length;
        const passes = chunk.length <= left ? chunk : chunk.subarray(0, Math.max(0, left));
        const wait = nextDelay();
        const released = held;
        queue = queue.then(async () => {
          await released;
          if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
          if (passes.length > 0 && !to.destroyed) to.write(passes);
          if (passes.length === chunk.length) return;
          if (fate?.what === 'cut') end();
        });
        if (passes.length < chunk.length) {
          disasters += 1;
          swallowing = true;
        }
      });
    }
  }

  const listener = createServer(carry);
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address() as { port: number };
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    get faults() {
      return disasters;
    },
    injectFaults: (fate, delayMs = () => 0) => {
      nextFate = fate;
      nextDelay = delayMs;
    },
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    cutAll: () => {
      for (const socket of open) reset(socket);
    },
    refuse: (now) => {
      refusing = now;
    },
    stop: async () => {
      for (const socket of open) socket.destroy();
      const closed = once(listener, 'close');
      listener.close();
      await closed;
    },
  };
}
