// The visitor's engine: who the visitor is, which tab leads, when there is a connection,
// and every act of the API. Nothing is made before the first act: no id, no storage, no socket.
import { socketPath, visitorApiPrefix } from '../protocol/codes.ts';
import type { EventPayloads } from '../protocol/events.ts';
import {
  isoTime,
  keysWithPrefix,
  emptyVisitorState,
  normalizeOutgoing,
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
import { createRooms } from './rooms.ts';
import { createOutbox } from './outbox.ts';
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

/** Rooms to listen to besides the open conversation: each costs requests at every reconnect. */
const maxRooms = 5;
const pageDefault = 20;
const typingEveryMs = 4_000;
const typingTimeoutMs = 6_000;

export function createClientCore(store: Store, emit: Emitter<SdkEvents>['emit_']): ClientCore {
  // Both are filled when it starts: before that nothing runs, and nothing around it is touched.
  const options = {} as InitOptions;
  const env = {} as Environment;
  const { state_: state, set_: set } = store;
  const base = (): string => (options.apiBaseUrl ?? '').replace(/\/+$/, '');
  const prefix = (): string => `deskbell:${options.appId}:`;
  /** The open conversation's id; empty: none is open. */
  const openId = (): string => state().conversationId ?? '';
  let storage: KeyValueStorage | null = null;
  let unwatch: Undo = () => undefined;
  let visitorId = '';
  let tabs: TabLeader<TabMessage> | null = null;
  let stopped = false;
  let typingUntil = 0;
  let cancelTyping: Undo = () => undefined;
  // What each room:join that is not answered yet asked to catch up from.
  const asked = new Map<string, string[]>();

  const http = createHttpClient(
    env,
    () => base() + visitorApiPrefix,
    () => ({ 'X-App-Id': options.appId, ...(visitorId && { 'X-Visitor-Id': visitorId }) }),
  );
  const post: Context['broadcast_'] = (...message) => tabs?.broadcast_(message);
  const leads = (): boolean => !!tabs?.isLeader_();
  const core: Context = {
    env_: env,
    http_: http,
    store_: store,
    emit_: emit,
    broadcast_: post,
    isLeader_: leads,
    visitorId_: () => visitorId,
  };
  const report = (error: unknown): void => {
    if (!stopped) emit('error', asSdkError(error));
  };

  const setStatus = (connection: ConnectionStatus): void => {
    if (state().connection === connection) return;
    set({ connection });
    emit('connection', { status: connection });
    if (connection !== 'online') return rooms.disconnect_();
    for (const [id, after] of rooms.syncCursors_()) listen(id, after);
    if (!leads()) return;
    // Missed meanwhile: conversations from elsewhere, and whether anybody is there.
    refreshList().catch(report);
    loadConfig().catch(report);
  };

  /** Listens to a room from a message on: by this tab's own socket, or by the leader's. */
  const listen = (id: string, after: string): void => {
    if (!leads()) post('subscribe', id, after);
    else if (link.send_('room:join', { conversationId: id, lastMessageId: after, echo: true }))
      asked.set(id, [...(asked.get(id) ?? []), after]);
    else link.start_();
  };

  /** Which catching up a frame belongs to, if to any: joins are answered in order. */
  const answering = ({
    type,
    payload = {},
  }: {
    readonly type: string;
    readonly payload?: object;
  }): string => {
    const { conversationId: id = '', messages } = payload as {
      readonly conversationId?: string;
      readonly messages?: readonly RawMessage[];
    };
    const [after = '', ...rest] = asked.get(id) ?? [];
    if (messages) asked.set(id, [messages.at(-1)?.id ?? after, ...rest]);
    else if (type === 'room:joined') asked.set(id, rest);
    return after;
  };

  const refused = ({ code, message, conversationId: id = '' }: EventPayloads['error']): void => {
    emit('error', sdkError(code, message));
    // It does not say which join it refused: begin anew.
    if (code === 'RATE_LIMITED') link.reconnect_();
    else if (code === 'FORBIDDEN' && (asked.get(id)?.length ?? 0)) {
      asked.delete(id);
      rooms.leave_(id);
    }
  };

  const storedId = (): string | null | undefined =>
    tryOrUndefined(() => storage?.getItem(`${prefix()}visitor`));

  /** The first act of a visitor: from here on there is an id, and it is kept. */
  const begin = (): void => {
    if (visitorId) return;
    visitorId = options.visitorId?.toLowerCase() ?? storedId() ?? env.newId();
    // Blocked? The visitor lasts as long as the page.
    tryOrUndefined(() => storage?.setItem(`${prefix()}visitor`, visitorId));
    set({ visitorId });
    sending.load_();
    join();
    if (options.user) acts.identify(options.user).catch(report);
  };

  const join = (): void => {
    tabs = joinTabs<TabMessage>(env, prefix() + visitorId, lead, ([name, ...values]) =>
      (heard[name] as (...all: typeof values) => void)(...values),
    );
    post('handshake');
    sending.broadcastPending_();
  };

  /** Lets another tab lead; this one goes on when it is looked at again. */
  const standBack = (): void => {
    link.stop_();
    tabs?.stepDown_();
    tabs = null;
  };

  const lead = (): void => {
    // Whatever the tab that led before had heard of, this one catches up by itself.
    setStatus('connecting');
    if (rooms.syncCursors_().length) link.start_();
    else setStatus('idle');
    sending.flush_();
  };

  const drafted = (id: string, at: number): void => {
    const createdAt = isoTime(at);
    update({ id, createdAt, updatedAt: createdAt, draft: true });
  };

  const began = (draft: string, conversation: RawConversation): void => {
    const { id } = conversation;
    rooms.remove_(draft);
    update(conversation);
    if (openId() === draft) set({ conversationId: id });
    enter(id).catch(report);
  };

  const configured = (config: SdkConfig): void => {
    const { online } = config;
    const before = state().online;
    set({ config, online });
    if (online !== before) emit('presence', { online });
  };

  const loadConfig = async (): Promise<void> => {
    configured(
      (await http.request_<{ application: SdkConfig }>('GET', '/widget/config', { revalidate_: true }))
        .application,
    );
  };

  const refreshList = async ({
    limit = pageDefault,
    offset = 0,
  }: { readonly limit?: number; readonly offset?: number } = {}) => {
    const { conversations: raw, total } = await http.request_<{
      conversations: RawConversation[];
      total: number;
    }>('GET', `/conversations?limit=${limit}&offset=${offset}`);
    const conversations = raw.map(update);
    if (!offset)
      await Promise.all(
        conversations
          .filter(({ status }) => status !== 'closed')
          .slice(0, maxRooms)
          .map(({ id }) => enter(id)),
      );
    return { conversations, total };
  };

  const sendTyping = (id: string, active: boolean): void => {
    if (leads()) link.send_(active ? 'typing:start' : 'typing:stop', { conversationId: id });
    else post('typing', id, active);
  };

  const stopTyping = (): void => {
    const id = openId();
    cancelTyping();
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
    standBack();
    sending.close_();
    for (const name of keysWithPrefix(storage, prefix())) storage?.removeItem(name);
    rooms.clear_();
    visitorId = '';
    set(emptyVisitorState);
  };

  const sending = createOutbox({
    context_: core,
    storage_: () => storage,
    prefix_: () => `${prefix()}${visitorId}:`,
    messages_: (id) => rooms.messages_(id),
    onConversationCreated_: began,
    onDraft_: drafted,
    onChange_: () => rooms.publish_(),
  });
  const rooms = createRooms({
    context_: core,
    pending_: sending.pending_,
    matchStored_: sending.matchStored_,
    join_: listen,
  });
  const { open_: enter, update_: update, messages_: thread } = rooms;

  const link = createConnection({
    env_: env,
    address_: async () => {
      const { token } = await http.request_<{ token: string }>('POST', '/widget/ws-token', { retries_: 0 });
      return `${base().replace(/^http/, 'ws')}${socketPath}?token=${token}`;
    },
    onFrame_: (frame) => {
      if (frame.type === 'error') return refused(frame.payload);
      const after = answering(frame);
      rooms.handleFrame_(frame, after);
      post('frame', frame, after);
    },
    onStatus_: (status) => {
      // What another connection was asked, this one will not answer.
      asked.clear();
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
      const { conversation } = await http.request_<{ conversation: RawConversation }>(
        'POST',
        '/conversations',
        {
          body: { subject },
          idempotencyKey_: env.newId(),
        },
      );
      const { id } = conversation;
      const made = update(conversation);
      post('conversation', made);
      set({ conversationId: id });
      await enter(id);
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
    loadHistory: async ({ limit = pageDefault } = {}) => {
      const id = current();
      await enter(id);
      const hasMore = (): boolean => !!thread(id)?.hasMore_();
      return { messages: hasMore() ? await rooms.loadOlder_(id, limit) : [], hasMore: hasMore() };
    },
    markRead: async () => {
      const id = current();
      const messageId = thread(id)?.list_().at(-1)?.id;
      if (messageId === undefined) return;
      update({ id, unread: 0 });
      await http.request_('POST', `/conversations/${id}/read`, { body: { messageId } });
    },
    editMessage: async (messageId, message) => {
      const id = current();
      const { message: raw } = await http.request_<{ message: RawMessage }>(
        'PATCH',
        `/conversations/${id}/messages/${messageId}`,
        {
          body: normalizeOutgoing(message),
        },
      );
      rooms.applyEdit_(id, raw);
      const edited = thread(id)?.find_(messageId);
      if (!edited) throw sdkError('unknown');
      return edited;
    },
    deleteMessage: async (messageId) => {
      const id = current();
      if (sending.discard_(messageId)) return;
      await http.request_('DELETE', `/conversations/${id}/messages/${messageId}`);
      rooms.applyDelete_(id, messageId);
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
      cancelTyping();
      cancelTyping = env.after(typingTimeoutMs, stopTyping);
      if (env.now() < typingUntil) return;
      typingUntil = env.now() + typingEveryMs;
      sendTyping(id, true);
    },
    start_: async (given, surroundings) => {
      const { storage: wanted = 'local', config } = Object.assign(options, given);
      Object.assign(env, surroundings);
      storage = typeof wanted === 'object' ? wanted : wanted === 'none' ? null : env.storage(wanted);
      unwatch = env.watchPage((what) => {
        if (!visitorId) return;
        if (what === 'suspend') standBack();
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
      cancelTyping();
      unwatch();
      standBack();
      sending.close_();
      http.close_();
    },
  };
}
