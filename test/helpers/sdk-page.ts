// Owns a visitor's page without a browser: the real SDK over real HTTP and sockets, with
// everything else in the test's hands. Must not replace any part of the SDK.
import { randomUUID } from 'node:crypto';
import { WebSocket } from 'ws';
import type { ServerFrame } from '../../src/protocol/events.ts';
import { fastTimers } from './fast-timers.ts';
import { createInstance } from '../../src/sdk/instance.ts';
import type {
  ChannelLike,
  Environment,
  InitOptions,
  KeyValueStorage,
  LocksLike,
  SdkApi,
  SdkEventName,
  SdkEvents,
  SocketLike,
} from '../../src/sdk/types.ts';

/** A Storage in memory that survives its page, and counts what is written. */
export class MemoryStorage implements KeyValueStorage {
  readonly entries = new Map<string, string>();
  writes = 0;
  get length(): number {
    return this.entries.size;
  }
  key(index: number): string | null {
    return [...this.entries.keys()][index] ?? null;
  }
  getItem(key: string): string | null {
    return this.entries.get(key) ?? null;
  }
  setItem(key: string, value: string): void {
    this.writes += 1;
    this.entries.set(key, value);
  }
  removeItem(key: string): void {
    this.entries.delete(key);
  }
}

/** What the tabs of one browser share: storage, locks, channels. */
export class Browser {
  readonly storage = new MemoryStorage();
  readonly #held = new Map<string, Promise<unknown>>();
  readonly #channels = new Set<{ readonly name: string; readonly end: ChannelLike }>();

  readonly locks: LocksLike = {
    request: async (name, { signal }, run) => {
      const before = this.#held.get(name) ?? Promise.resolve();
      const turn = before.then(async () => {
        if (!signal.aborted) await run();
      });
      this.#held.set(
        name,
        turn.catch(() => undefined),
      );
      await turn;
      signal.throwIfAborted();
    },
  };

  readonly openChannel = (name: string): ChannelLike => {
    const end: ChannelLike = {
      onmessage: null,
      postMessage: (message) => {
        // As a browser does: a copy, and not before the caller is done.
        const copy = JSON.stringify(message);
        for (const other of this.#channels)
          if (other.name === name && other.end !== end)
            queueMicrotask(() => other.end.onmessage?.({ data: JSON.parse(copy) as unknown }));
      },
      close: () => {
        for (const one of this.#channels) if (one.end === end) this.#channels.delete(one);
      },
    };
    this.#channels.add({ name, end });
    return end;
  };
}

export interface PageOptions extends Partial<Omit<InitOptions, 'environment'>> {
  readonly url: string;
  readonly appId: string;
  readonly origin: string;
  readonly browser?: Browser;
  /** How many times faster than the clock timers run. */
  readonly speed?: number;
  /** Opens a socket that does something else than one of `ws`. */
  readonly openSocket?: (address: string) => WebSocket;
  readonly environment?: Omit<Partial<Environment>, 'openSocket'>;
  /** Another build of the SDK than its sources. */
  readonly create?: typeof createInstance;
}

export interface Page {
  readonly sdk: SdkApi;
  readonly ready: Promise<SdkApi>;
  /** Method and path of every request, in order. */
  readonly requests: string[];
  readonly sockets: WebSocket[];
  /** The rooms that the service has let a socket of this page into, in order. */
  readonly joined: string[];
  /** How many sockets are open or opening. */
  readonly liveSockets: number;
  /** Everything that was heard of an event. */
  received<K extends SdkEventName>(type: K): SdkEvents[K][];
  /** As the browser does when the page leaves, comes back, or is looked at. */
  emit(what: 'wake' | 'suspend'): void;
}

const eventNames = [
  'ready',
  'open',
  'close',
  'message',
  'message:sent',
  'message:updated',
  'message:deleted',
  'message:failed',
  'conversation',
  'typing',
  'read',
  'unread',
  'presence',
  'connection',
  'error',
] as const satisfies SdkEventName[];

/** Opens a page on which the SDK runs. */
export function openPage({
  url,
  appId,
  origin,
  browser,
  speed = 50,
  openSocket = (address) => new WebSocket(address, { origin }),
  environment,
  create = createInstance,
  ...init
}: PageOptions): Page {
  const heard = new Map<SdkEventName, unknown[]>();
  const requests: string[] = [];
  const sockets: WebSocket[] = [];
  const joined: string[] = [];
  const listeners = new Set<(what: 'wake' | 'suspend') => void>();
  const instance = create();
  for (const name of eventNames) {
    const list: unknown[] = [];
    heard.set(name, list);
    instance.api.on(name, (event) => list.push(event));
  }
  const defaults: Partial<Environment> = {
    fetch: (address, request) => {
      requests.push(`${request.method} ${new URL(address).pathname}`);
      const { cache: _none, keepalive: _neither, ...rest } = request;
      return fetch(address, { ...rest, headers: { ...request.headers, origin } });
    },
    openSocket: (address) => {
      const socket = openSocket(address);
      sockets.push(socket);
      socket.on('message', (data: Buffer) => {
        const frame = JSON.parse(data.toString()) as ServerFrame;
        if (frame.type === 'room:joined') joined.push(frame.payload.conversationId);
      });
      return socket as unknown as SocketLike;
    },
    now: () => Date.UTC(2026, 10, 21, 12),
    after: fastTimers(speed),
    newId: randomUUID,
    locks: browser?.locks ?? null,
    openChannel: browser?.openChannel ?? null,
    watchPage: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const ready = instance.init({
    appId,
    apiBaseUrl: url,
    headless: true,
    ...(browser === undefined ? {} : { storage: browser.storage }),
    ...init,
    environment: { ...defaults, ...environment },
  });
  ready.catch(() => undefined);
  return {
    sdk: instance.api,
    ready,
    requests,
    sockets,
    joined,
    get liveSockets() {
      return sockets.filter(({ readyState }) => readyState <= 1).length;
    },
    received: <K extends SdkEventName>(type: K) => heard.get(type) as SdkEvents[K][],
    emit: (what) => {
      for (const listener of listeners) listener(what);
    },
  };
}
