// The visitor's engine: who the visitor is, which tab leads, when there is a connection,
// and every act of the API. Nothing is made before the first act: no id, no storage, no socket.
import { socketPath, visitorApiPrefix } from '../protocol/codes.ts';
import type { EventPayloads } from '../protocol/events.ts';
import {
  isoTime,
  keysWithPrefix,
  emptyVisitorState,
  type Context,
  type RawConversation,
  type RawMessage,
  type Store,
  type TabMessage,
  type TabMessages,
} from './context.ts';
import type { Emitter } from './emitter.ts';
import { asSdkError, tryOrUndefined, isRetryable, sdkError } from './error.ts';
import { createHttpClient } from './http.ts';
import { createConnection } from './connection.ts';
import { createRooms, type RoomsContext } from './rooms.ts';
import { createOutbox, type OutboxContext } from './outbox.ts';
import { joinTabs, type TabLeader } from './tab-leader.ts';
import type {
  ConnectionStatus,
  Environment,
  InitOptions,
  KeyValueStorage,
  SdkApi,
  SdkConfig,
  SdkEvents,
  SdkVisitor,
  Undo,
} from './types.ts';

/** What the engine does; the rest of the API is the facade's. */
export type Actions = Pick<
  SdkApi,
  | 'sendMessage'
  | 'retry'
  | 'startConversation'
  | 'listConversations'
  | 'openConversation'
  | 'loadHistory'
  | 'markRead'
  | 'editMessage'
  | 'deleteMessage'
  | 'identify'
  | 'reset'
>;

export interface ClientCore {
  readonly actions_: Actions;
  setTyping_(active?: boolean): void;
  /** Asks for the configuration, and goes on where an earlier page of this visitor's stopped. */
  start_(options: InitOptions, env: Environment): Promise<void>;
  stop_(): void;
}

/** Rooms to listen to besides the open conversation: each costs two requests when the page opens. */
const maxRooms = 3;
const pageDefault = 20;
/** How long a message may be on its way over the socket before it goes by REST. */
const ackTimeoutMs = 10_000;
const typingEveryMs = 4_000;

export function createClientCore(store: Store, emit: Emitter<SdkEvents>['emit_']): ClientCore {
  // Both are filled when it starts: before that nothing runs, and nothing around it is touched.
  const options = {} as InitOptions;
  const env = {} as Environment;
  const { state_: state, set_: set } = store;
  let base = '';
  let prefix = '';
  /** The open conversation's id; empty: none is open. */
  const openId = (): string => state().conversationId ?? '';
  let storage: KeyValueStorage | null = null;
  let unwatch: Undo = () => undefined;
  let visitorId = '';
  let tabs: TabLeader<TabMessage> | null = null;
  let stopped = false;
  let typingUntil = 0;
  // The socket was lost: something may have been missed.
  let missed = false;
  // The message on its way over the socket; empty: none is.
  let sendingKey = '';
  let resolveSending: (message?: RawMessage) => void = () => undefined;
  // What each room:join that is not answered yet asked to catch up from, in the order of the answers.
  const asked: string[] = [];

  /** Settled once the page's visitor was named: an application may demand a proven identity before all else. */
  let named: unknown;
  const http = createHttpClient(
    env,
    () => base + visitorApiPrefix,
    () => ({ 'X-App-Id': options.appId, ...(visitorId && { 'X-Visitor-Id': visitorId }) }),
  );
  const post: Context['broadcast_'] = (...message) => tabs?.broadcast_(message);
  const leads = (): boolean => !!tabs?.isLeader_();
  const report = (error: unknown): void => {
    if (!stopped) emit('error', asSdkError(error));
  };
  const setStatus = (connection: ConnectionStatus): void => {
    const before = state().connection;
    if (before === connection) return;
    set({ connection });
    emit('connection', { status: connection });
    missed ||= before === 'online';
    if (connection !== 'online') {
      resolveSending();
      return rooms.disconnect_();
    }
    for (const [id, after] of rooms.syncCursors_()) listen(id, after);
    if (!leads()) return;
    // Whether anybody is there may have changed since the page was loaded.
    loadConfig().catch(report);
    if (!missed) return;
    missed = false;
    refreshList().catch(report);
    if (thread(openId())) rooms.refresh_(openId()).catch(report);
  };

  /** Listens to a room from a message on: by this tab's own socket, or by the leader's. */
  const listen = (id: string, after: string): void => {
    if (!leads()) post('subscribe', id, after);
    else if (link.send_('room:join', { conversationId: id, lastMessageId: after, echo: true }))
      asked.push(after);
    else link.start_();
  };

  /**
   * Sends a message over the socket. Its place among the others, and its form, come by catching up. Whatever
   * else happens, REST may send it again: the service stores it once.
   */
  const sendLive: OutboxContext['sendLive_'] = (conversationId, message) =>
    new Promise((resolve) => {
      const cursor = thread(conversationId)?.syncCursor_() ?? '';
      if (!cursor || !link.send_('message:send', { conversationId, ...message })) return resolve(undefined);
      listen(conversationId, cursor);
      sendingKey = message.clientMessageId;
      resolveSending = (stored) => {
        cancel();
        sendingKey = '';
        resolve(stored);
      };
      const cancel = env.after(ackTimeoutMs, resolveSending);
    });

  const refused = ({
    code,
    message,
    conversationId = '',
    clientMessageId = '',
  }: EventPayloads['error']): void => {
    // REST says more about why.
    if (clientMessageId) return resolveSending();
    emit('error', sdkError(code, message));
    if (code === 'RATE_LIMITED') return link.reconnect_();
    // What else is refused is joining: there is no such conversation any more.
    asked.shift();
    rooms.remove_(conversationId);
  };

  const storedId = (): string | null | undefined =>
    tryOrUndefined(() => storage?.getItem(`${prefix}visitor`));

  /** The first act of a visitor: from here on there is an id, and it is kept. */
  const begin = (): void => {
    if (visitorId) return;
    visitorId = options.visitorId?.toLowerCase() ?? storedId() ?? env.newId();
    // Blocked? The visitor lasts as long as the page.
    tryOrUndefined(() => storage?.setItem(`${prefix}visitor`, visitorId));
    set({ visitorId });
    sending.load_();
    if (options.user) named = acts.identify(options.user).catch(report);
    join();
  };

  const join = (): void => {
    tabs = joinTabs<TabMessage>(env, prefix + visitorId, lead, ([name, ...values]) =>
      (heard[name] as (...all: typeof values) => void)(...values),
    );
    post('handshake');
    sending.broadcastPending_();
  };

  /** Lets another tab lead; this one goes on when it is looked at again. */
  const stepDown = (): void => {
    link.stop_();
    tabs?.stepDown_();
    tabs = null;
  };

  const lead = (): void => {
    // Whatever the tab that led before had heard of, this one catches up by itself.
    if (rooms.syncCursors_().length) link.start_();
    else setStatus('idle');
    sending.flush_();
  };

  const drafted = (id: string, at: number): void => {
    const createdAt = isoTime(at);
    update({ id, createdAt, updatedAt: createdAt, draft: true });
  };

  /** @param key opens it once, however often it is asked for */
  const create = async (key: string, body: object): Promise<RawConversation> => {
    await named;
    return (
      await http.request_<{ conversation: RawConversation }>('POST', '/conversations', {
        body,
        headers_: { 'Idempotency-Key': key },
        retries_: 0,
      })
    ).conversation;
  };

  const began = (draft: string, conversation: RawConversation): void => {
    rooms.remove_(draft);
    const { id } = update(conversation);
    if (openId() === draft) set({ conversationId: id });
    enter(id, true).catch(report);
  };

  const configured = (config: SdkConfig): void => {
    set({ config });
    rooms.setOnline_(config);
  };

  const loadConfig = async (): Promise<void> => {
    configured(
      (
        await http.request_<{ application: SdkConfig }>('GET', '/widget/config', {
          fetch_: { cache: 'no-cache' },
        })
      ).application,
    );
  };

  const refreshList = async ({
    limit = pageDefault,
    offset = 0,
  }: { readonly limit?: number; readonly offset?: number } = {}) => {
    await named;
    const { conversations: raw, total } = await http.request_<{
      conversations: RawConversation[];
      total: number;
    }>('GET', `/conversations?limit=${limit}&offset=${offset}`);
    const conversations = raw.map(update);
    if (!offset)
      for (const { id } of conversations.filter(({ status }) => status !== 'closed').slice(0, maxRooms))
        await enter(id);
    return { conversations, total };
  };

  const sendTyping = (id: string, active: boolean): void => {
    if (leads()) link.send_(active ? 'typing:start' : 'typing:stop', { conversationId: id });
    else post('typing', id, active);
  };

  const stopTyping = (): void => {
    const id = openId();
    if (typingUntil && id) sendTyping(id, false);
    typingUntil = 0;
  };

  /** The open conversation; @throws SdkError when there is none. */
  const current = (): string => {
    const id = openId();
    if (!id) throw sdkError('unknown');
    return id;
  };

  const forgetVisitor = (): void => {
    stepDown();
    sending.close_();
    for (const name of keysWithPrefix(storage, prefix)) storage?.removeItem(name);
    rooms.clear_();
    visitorId = '';
    set(emptyVisitorState);
  };

  const core: OutboxContext & RoomsContext = {
    env_: env,
    http_: http,
    store_: store,
    emit_: emit,
    broadcast_: post,
    isLeader_: leads,
    visitorId_: () => visitorId,
    report_: report,
    storage_: () => storage,
    prefix_: () => `${prefix}${visitorId}:`,
    messages_: (id) => thread(id),
    create_: create,
    sendLive_: sendLive,
    onConversationCreated_: began,
    onDraft_: drafted,
    onChange_: () => rooms.publish_(),
    pending_: (id) => sending.pending_(id),
    matchStored_: (message) => {
      const placed = sending.matchStored_(message, sendingKey);
      if (placed.key === sendingKey) resolveSending(placed);
      return placed;
    },
    join_: listen,
  };
  const sending = createOutbox(core);
  const rooms = createRooms(core);
  const { open_: enter, update_: update, messages_: thread } = rooms;

  const link = createConnection({
    env_: env,
    address_: async () => {
      const { token } = await http.request_<{ token: string }>('POST', '/widget/ws-token', { retries_: 0 });
      return `${base.replace(/^http/, 'ws')}${socketPath}?token=${token}`;
    },
    onFrame_: (frame) => {
      const { type, payload } = frame;
      if (type === 'error') return refused(payload);
      // Where the catching up began that it belongs to, if it belongs to any.
      const [after = ''] = asked;
      if (type === 'messages:sync') asked[0] = payload.messages.at(-1)?.id ?? after;
      rooms.handleFrame_(frame, after);
      post('frame', frame, after);
      if (type === 'room:joined') asked.shift();
    },
    onStatus_: (status) => {
      // What another connection was asked, this one will not answer.
      asked.length = 0;
      setStatus(status);
      post('status', status);
    },
    onRefused_: report,
  });

  /** What another tab says. */
  const heard: TabMessages = {
    ...sending.tabHandlers_,
    frame: rooms.handleFrame_,
    status: setStatus,
    handshake: () => {
      if (leads()) post('status', state().connection);
      sending.broadcastPending_();
    },
    subscribe: (id, after) => {
      if (!leads()) return;
      listen(id, after);
      enter(id).catch(report);
    },
    typing: sendTyping,
    conversation: update,
    waiting: (retryAt) => set({ retryAt }),
    reset: forgetVisitor,
  };

  const acts: Actions = {
    sendMessage: (message) => {
      begin();
      stopTyping();
      let id = openId();
      if (!id) {
        id = env.newId();
        drafted(id, env.now());
        set({ conversationId: id });
      }
      return sending.send_(id, !!rooms.find_(id)?.draft, message);
    },
    retry: sending.retry,
    startConversation: async ({ subject } = {}) => {
      begin();
      const made = update(await create(env.newId(), { subject }));
      const { id } = made;
      post('conversation', made);
      set({ conversationId: id });
      await enter(id, true);
      return made;
    },
    listConversations: (page) => {
      begin();
      return refreshList(page);
    },
    openConversation: async (id) => {
      stopTyping();
      set({ conversationId: id });
      rooms.publish_();
      if (id === null) return null;
      begin();
      const known = rooms.find_(id);
      if (known?.draft) return known;
      await enter(id);
      return rooms.refresh_(id);
    },
    loadHistory: async ({ limit = pageDefault } = {}) => rooms.loadOlder_(current(), limit),
    markRead: async () => rooms.markRead_(current()),
    editMessage: async (messageId, message) => rooms.edit_(current(), messageId, message),
    deleteMessage: async (messageId) => {
      if (!sending.discard_(messageId)) await rooms.delete_(current(), messageId);
    },
    identify: async (identity) => {
      begin();
      const { visitor } = await http.request_<{ visitor: SdkVisitor }>('PUT', '/visitor', { body: identity });
      set({ visitor });
      return visitor;
    },
    reset: async () => {
      post('reset');
      forgetVisitor();
    },
  };

  return {
    actions_: acts,
    setTyping_: (active = true) => {
      if (!active) return stopTyping();
      const id = openId();
      if (!thread(id)) return;
      if (env.now() < typingUntil) return;
      typingUntil = env.now() + typingEveryMs;
      sendTyping(id, true);
    },
    start_: async (given, surroundings) => {
      const { appId, apiBaseUrl = '', storage: wanted = 'local', config } = Object.assign(options, given);
      Object.assign(env, surroundings);
      base = apiBaseUrl.replace(/\/+$/, '');
      prefix = `deskbell:${appId}:`;
      storage = typeof wanted === 'object' ? wanted : wanted === 'none' ? null : env.storage(wanted);
      unwatch = env.watchPage((what) => {
        if (!visitorId) return;
        if (what === 'suspend') stepDown();
        else if (!tabs) join();
        link.wake_();
        sending.resume_();
      });
      const stored = storedId() ?? '';
      if (stored && (options.visitorId ?? stored) === stored) {
        begin();
        refreshList().catch(report);
      }
      if (config) return configured(config);
      await loadConfig().catch((error: unknown) => {
        // Not reached: the outbox works all the same, and the configuration comes with the connection.
        if (!isRetryable(asSdkError(error))) throw error;
        report(error);
      });
    },
    stop_: () => {
      stopped = true;
      unwatch();
      stepDown();
      sending.close_();
      http.close_();
    },
  };
}
