// The SDK's front door: init, getSdkApi, and the one object that both answer. Calls made
// before it is ready wait and then run in order. Must not touch anything while imported.
import { createStore } from './core.ts';
import { callSafely, createEmitter } from './emitter.ts';
import { createEngine, type Acts, type Engine } from './engine.ts';
import { surroundings } from './environment.ts';
import { asSdkError, sdkError } from './error.ts';
import type { InitOptions, SdkApi, SdkEvents } from './types.ts';

export type * from './types.ts';

interface Instance {
  readonly api: SdkApi;
  init(options: InitOptions): Promise<SdkApi>;
}

const actNames = [
  'sendMessage',
  'retry',
  'startConversation',
  'listConversations',
  'openConversation',
  'loadHistory',
  'markRead',
  'editMessage',
  'deleteMessage',
  'identify',
  'reset',
] as const satisfies (keyof Acts)[];

let instance: Instance | null = null;

/**
 * Starts the SDK. Again with the same appId: the same promise.
 * @returns resolves when ready; rejects when the service refuses the application or the page's origin, or when another appId runs already
 */
export function init(options: InitOptions): Promise<SdkApi> {
  return current().init(options);
}

/** The API, at once and always: before `init` its calls wait. */
export function getSdkApi(): SdkApi {
  return current().api;
}

function current(): Instance {
  instance ??= createInstance();
  return instance;
}

/** One SDK: what `init` and `getSdkApi` share between two calls of `destroy`. Several at once are tests' business, or one per tab. */
export function createInstance(): Instance {
  const store = createStore();
  const emitter = createEmitter<SdkEvents>();
  const { promise: ready, resolve, reject } = Promise.withResolvers<SdkApi>();
  // Nobody has to look at it.
  ready.catch(() => undefined);
  let engine: Engine | null = null;
  let appId: string | null = null;
  let ended = false;

  // Each runs once ready, in the order of the calls; when it is ready already, before the call returns.
  const acts = Object.fromEntries(
    actNames.map((name) => [
      name,
      async (...values: never[]): Promise<unknown> => {
        if (!store.state.ready) await ready;
        if (!engine || ended) throw sdkError('destroyed');
        return (engine[name] as (...all: never[]) => unknown)(...values);
      },
    ]),
  ) as unknown as Acts;

  const setPanel = (open: boolean): void => {
    if (store.state.open === open || ended) return;
    store.set({ open });
    emitter.emit(open ? 'open' : 'close', {});
  };

  const api: SdkApi = {
    ready,
    on: (type, handler) => {
      if (type === 'ready' && store.state.ready) callSafely(handler as (value: SdkApi) => void, api);
      return emitter.on(type, handler);
    },
    once: (type, handler) => {
      if (type !== 'ready' || !store.state.ready) return emitter.once(type, handler);
      callSafely(handler as (value: SdkApi) => void, api);
      return () => undefined;
    },
    off: emitter.off,
    open: () => setPanel(true),
    close: () => setPanel(false),
    toggle: () => setPanel(!store.state.open),
    show: () => store.set({ visible: true }),
    hide: () => store.set({ visible: false }),
    isOpen: () => store.state.open,
    ...acts,
    setTyping: (active) => engine?.setTyping(active),
    setLocale: (locale) => store.set({ locale }),
    setTheme: (theme) => store.set({ theme }),
    destroy: () => {
      if (ended) return;
      ended = true;
      if (instance?.api === api) instance = null;
      engine?.stop();
      reject(sdkError('destroyed'));
    },
    getState: () => store.state,
    subscribe: store.subscribe,
  };

  return {
    api,
    init: (options) => {
      if (appId !== null && appId !== options.appId)
        return Promise.reject(sdkError('already_initialised'));
      if (appId !== null) return ready;
      appId = options.appId;
      const { locale = store.state.locale, theme = store.state.theme } = options;
      store.set({ locale, theme });
      engine = createEngine(options, { ...surroundings(), ...options.environment }, store, emitter.emit);
      engine.start().then(
        () => {
          if (ended) return;
          store.set({ ready: true });
          resolve(api);
          emitter.emit('ready', api);
        },
        (error: unknown) => {
          reject(asSdkError(error));
          api.destroy();
        },
      );
      return ready;
    },
  };
}
