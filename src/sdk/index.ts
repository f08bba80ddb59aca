// The SDK's front door: init, getSdkApi, and the one object that both answer. Calls made
// before it is ready wait and then run in order. Must not touch anything while imported.
import { createStore } from './core.ts';
import { callSafely, createEmitter } from './emitter.ts';
import { createEngine, type Acts, type Engine } from './engine.ts';
import { surroundings } from './environment.ts';
import { asSdkError, sdkError } from './error.ts';
import type { InitOptions, SdkApi, SdkError, SdkEvents } from './types.ts';

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
  const { state_: state, set_: set } = store;
  const emitter = createEmitter<SdkEvents>();
  const emit = emitter.emit_;
  let resolve: (api: SdkApi) => void;
  let reject: (error: SdkError) => void;
  const ready = new Promise<SdkApi>((...both) => {
    [resolve, reject] = both;
  });
  // Nobody has to look at it.
  ready.catch(() => undefined);
  let engine: Engine | undefined;
  let appId: string | undefined;
  let ended = false;

  // Each runs once ready, in the order of the calls; when it is ready already, before the call returns.
  const acts = Object.fromEntries(
    actNames.map((name) => [
      name,
      async (...values: never[]): Promise<unknown> => {
        if (!state().ready) await ready;
        if (!engine || ended) throw sdkError('destroyed');
        return (engine[name] as (...all: never[]) => unknown)(...values);
      },
    ]),
  ) as unknown as Acts;

  const setPanel = (open: boolean): void => {
    if (state().open === open || ended) return;
    set({ open });
    emit(open ? 'open' : 'close', {});
  };

  /** Who comes after `ready` is told at once. */
  const late =
    (add: SdkApi['on']): SdkApi['on'] =>
    (type, handler) => {
      if (type === 'ready' && state().ready) callSafely(handler as (value: SdkApi) => void, api);
      return add(type, handler);
    };

  const api: SdkApi = {
    ready,
    on: late(emitter.on),
    once: late(emitter.once),
    off: emitter.off,
    open: () => setPanel(true),
    close: () => setPanel(false),
    toggle: () => setPanel(!state().open),
    show: () => set({ visible: true }),
    hide: () => set({ visible: false }),
    isOpen: () => state().open,
    ...acts,
    setTyping: (active) => engine?.setTyping(active),
    setLocale: (locale) => set({ locale }),
    setTheme: (theme) => set({ theme }),
    destroy: () => {
      if (ended) return;
      ended = true;
      if (instance?.api === api) instance = null;
      engine?.stop_();
      reject(sdkError('destroyed'));
    },
    getState: state,
    subscribe: store.subscribe_,
  };

  return {
    api,
    init: (options) => {
      if (appId) return appId === options.appId ? ready : Promise.reject(sdkError('already_initialised'));
      const { locale = state().locale, theme = state().theme } = options;
      appId = options.appId;
      set({ locale, theme });
      engine = createEngine(options, { ...surroundings(), ...options.environment }, store, emit);
      engine.start_().then(
        () => {
          if (ended) return;
          set({ ready: true });
          resolve(api);
          emit('ready', api);
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
