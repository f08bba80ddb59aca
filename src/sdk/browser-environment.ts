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

interface PageEvent {
  readonly type: string;
  readonly persisted?: boolean;
}

/** The globals that are used, each of which may be missing or blocked. */
interface BrowserGlobals {
  addEventListener(
    type: string,
    listener: (event: PageEvent) => void,
    options: { readonly signal: AbortSignal },
  ): void;
  fetch(url: string, request: HttpRequest): Promise<HttpResponse>;
  readonly WebSocket: new (url: string) => SocketLike;
  readonly BroadcastChannel?: new (name: string) => ChannelLike;
  readonly document?: { readonly visibilityState: string };
  readonly navigator?: { readonly locks?: LocksLike };
  readonly localStorage: KeyValueStorage;
  readonly sessionStorage: KeyValueStorage;
}

const globals = globalThis as unknown as BrowserGlobals;

function newId(): string {
  // randomUUID is there on secure pages only.
  const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
  const digits = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
  // Two digits are not random: the version, and the variant (of whose four forms "a" is one).
  return digits.replace(/(.{8})(.{4}).(.{3}).(.{3})/, '$1-$2-4$3-a$4-');
}

function watchPage(listener: (what: 'wake' | 'suspend' | 'resume') => void): Undo {
  const { document } = globals;
  const ending = new AbortController();
  const hear = ({ type, persisted }: PageEvent): void => {
    if (type === 'pagehide') listener('suspend');
    else if (persisted) listener('resume');
    else if (document?.visibilityState === 'visible') listener('wake');
  };
  if (document)
    // The change of visibility comes up from the document.
    for (const type of ['online', 'offline', 'pagehide', 'pageshow', 'visibilitychange'])
      globals.addEventListener(type, hear, { signal: ending.signal });
  return () => ending.abort();
}

/** The surroundings as they are. Outside of a page there is one "tab" only, and nothing is stored. */
export function browserEnvironment(): Environment {
  const { document, navigator, BroadcastChannel: Channel } = globals;
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
    storage: (kind) => (document && tryOrUndefined(() => globals[`${kind}Storage`])) ?? null,
    locks: (document && navigator?.locks) ?? null,
    openChannel: document && Channel ? (name) => new Channel(name) : null,
    watchPage,
  };
}
