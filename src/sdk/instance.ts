// One SDK: the object that init and getSdkApi answer. Calls made before it is ready wait
// and then run in order. Must not touch anything while imported.
import { createStore } from './context.ts';
import { callSafely, createEmitter } from './emitter.ts';
import { actions, setTyping, type Actions } from './actions.ts';
import { createCore, start } from './client-core.ts';
import type { Core } from './core.ts';
import { browserEnvironment } from './browser-environment.ts';
import { asSdkError, sdkError } from './error.ts';
import type { InitOptions, SdkApi, SdkError, SdkEvents } from './types.ts';

export interface Instance {
  readonly api: SdkApi;
  init(options: InitOptions): Promise<SdkApi>;
}

/**
 * What `init` and `getSdkApi` share between two calls of `destroy`. Several at once are tests' business, or one per tab.
 * @param onEnd `destroy` has been called
 */
export function createInstance(onEnd?: () => void): Instance {
  const store = createStore();
  const { state_: state, set_: set } = store;
  const emitter = createEmitter<SdkEvents>();
  const emit = emitter.emit_;
  const core = createCore(store, emit);
  let resolve: (api: SdkApi) => void;
  let reject: (error: SdkError) => void;
  const ready = new Promise<SdkApi>((...both) => {
    [resolve, reject] = both;
  });
  // No caller has to look at it.
  ready.catch(() => undefined);
  let appId = '';
  let ended = false;

  // Each runs once ready, in the order of the calls; when it is ready already, before the call returns.
  const acts = Object.fromEntries(
    Object.entries(actions).map(([name, act]) => [
      name,
      async (...values: never[]): Promise<unknown> => {
        if (!state().ready) await ready;
        if (ended) throw sdkError('destroyed');
        return (act as (engine: Core, ...all: never[]) => unknown)(core, ...values);
      },
    ]),
  ) as unknown as Actions;

  const setPanel = (open: boolean): void => {
    if (!ended && set({ open })) emit(open ? 'open' : 'close', {});
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
    setTyping: (active) => setTyping(core, active),
    setLocale: (locale) => set({ locale }),
    setTheme: (theme) => set({ theme }),
    destroy: () => {
      if (ended) return;
      ended = true;
      onEnd?.();
      core.end_?.();
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
      start(core, options, { ...browserEnvironment(), ...options.environment }).then(
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
