// The visitor's engine: makes it, starts and ends it.
import { visitorApiPrefix } from '../protocol/codes.ts';
import type { Store } from './context.ts';
import type { Core } from './core.ts';
import { resume } from './delivery.ts';
import type { Emitter } from './emitter.ts';
import { asSdkError, isRetryable } from './error.ts';
import { createHttpClient } from './http.ts';
import { sendLive } from './live.ts';
import { emptyOutbox } from './outbox.ts';
import { enterRooms, publish } from './rooms.ts';
import type { Environment, InitOptions, SdkEvents } from './types.ts';
import { loadConfig, onConfig, openDraft, keepList } from './visitor-requests.ts';
import { createVisitorConnection } from './visitor-connection.ts';
import { begin, forgetVisitor, join, leave, stepDown, storedId } from './visitor-tabs.ts';

/** What is known of it once it has started. */
type Started =
  | 'env_'
  | 'client_'
  | 'load_'
  | 'request_'
  | 'connection_'
  | 'options_'
  | 'prefix_'
  | 'keyPrefix_'
  | 'storage_';

/** Nothing runs before it is started, and nothing around it is touched. */
export function createCore(store: Store, emit: Emitter<SdkEvents>['emit_']): Core {
  const fresh: Omit<Core, Started> = {
    ...store,
    ...emptyOutbox(),
    emit_: emit,
    visitorId_: '',
    rooms_: new Map(),
    asked_: [],
    typingUntil_: 0,
    openId_: () => store.state_().conversationId ?? '',
    broadcast_: (...message) => core.tabs_?.broadcast_(message),
    isLeader_: () => core.tabs_?.isLeader_(),
    report_: (thrown) => {
      const error = asSdkError(thrown);
      // What ended with its visitor or its page is no failure.
      if (error.code !== 'destroyed') emit('error', error);
    },
    messages_: (id) => core.rooms_.get(id)?.messages_,
    openDraft_: openDraft,
    sendLive_: sendLive,
    publish_: () => publish(core),
  };
  const core = fresh as Core;
  return core;
}

/** Asks for the configuration, and goes on where an earlier page of this visitor's stopped. */
export async function start(core: Core, options: InitOptions, env: Environment): Promise<void> {
  const { appId, apiBaseUrl = '', storage = 'local', config, visitorId } = options;
  const base = apiBaseUrl.replace(/\/+$/, '');
  core.options_ = options;
  core.env_ = env;
  core.prefix_ = `deskbell:${appId}:`;
  core.storage_ = typeof storage === 'object' ? storage : storage !== 'none' ? env.storage(storage) : null;
  core.client_ = (more) =>
    createHttpClient(env, base + visitorApiPrefix, () => ({ 'X-App-Id': appId, ...more }));
  const http = core.client_();
  core.load_ = http.request_;
  core.connection_ = createVisitorConnection(core, base);
  let kept: unknown;
  const unwatch = env.watchPage((what) => {
    if (!core.visitorId_) return;
    if (what === 'suspend') {
      kept = storedId(core);
      return stepDown(core);
    }
    if (!core.tabs_) {
      // It slept, and another tab may have forgotten the visitor.
      if (kept !== storedId(core)) return forgetVisitor(core);
      join(core);
      keepList(core);
    }
    core.connection_.wake_();
    enterRooms(core);
    resume(core);
  });
  core.end_ = () => {
    unwatch();
    http.close_();
    leave(core);
  };
  const stored = storedId(core) ?? '';
  if (stored && (visitorId?.toLowerCase() ?? stored) === stored) {
    begin(core);
    keepList(core);
  }
  if (config) return onConfig(core, config);
  await loadConfig(core).catch((error: unknown) => {
    // Not reached: the outbox works all the same, and the configuration comes with the connection.
    if (!isRetryable(error)) throw error;
    core.report_(error);
  });
}
