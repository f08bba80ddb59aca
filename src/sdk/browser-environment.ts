// What the engine takes from its surroundings, in a browser and in Node. The only
// file of the SDK that touches globals, and none of them while it is imported.
import { tryOrUndefined } from './error.ts';
import type {
  ChannelLike,
  Environment,
  HttpRequest,
  HttpResponse,
  KeyValueStorage,
  LocksLike,
  SocketLike,
  Undo,
} from './types.ts';

/** The globals that are used, each of which may be missing or blocked. */
interface BrowserGlobals {
  addEventListener(type: string, listener: () => void, options: { readonly signal: AbortSignal }): void;
  fetch(url: string, request: HttpRequest): Promise<HttpResponse>;
  readonly WebSocket: new (url: string) => SocketLike;
  readonly BroadcastChannel: new (name: string) => ChannelLike;
  readonly document?: { readonly visibilityState: string };
  readonly navigator?: { readonly locks?: LocksLike };
  readonly localStorage: KeyValueStorage;
  readonly sessionStorage: KeyValueStorage;
}

const globals = globalThis as unknown as BrowserGlobals;

/** A UUID of version 4. `crypto.randomUUID` is there on secure pages only. */
function newId(): string {
  // Each 0 becomes four random bits; the version, the variant and the hyphens stay.
  return '00000000-0000-4000-8000-000000000000'.replace(/0/g, () =>
    (+crypto.getRandomValues(new Uint8Array(1)) & 15).toString(16),
  );
}

function watchPage(listener: (what: 'wake' | 'suspend') => void): Undo {
  const { document } = globals;
  const ending = new AbortController();
  if (document)
    // The change of visibility comes up from the document.
    for (const type of ['online', 'pagehide', 'pageshow', 'visibilitychange'])
      globals.addEventListener(
        type,
        () => {
          if (type === 'pagehide') listener('suspend');
          else if (document.visibilityState === 'visible') listener('wake');
        },
        { signal: ending.signal },
      );
  return () => ending.abort();
}

/** The surroundings as they are. Outside of a page there is one "tab" only, and nothing is stored. */
export function browserEnvironment(): Environment {
  const { document, navigator } = globals;
  return {
    fetch: (url, request) => globals.fetch(url, request),
    openSocket: (url) => new globals.WebSocket(url),
    now: Date.now,
    after: (ms, run) => {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    random: Math.random,
    newId,
    // Even looking at it throws where the browser's settings or a sandbox block it.
    storage: (kind) => document && tryOrUndefined(() => globals[`${kind}Storage`]),
    locks: document && navigator?.locks,
    // As little: what blocks storage may block the channel, and older browsers have none.
    openChannel: (name) => document && tryOrUndefined(() => new globals.BroadcastChannel(name)),
    watchPage,
  };
}
