// The visitor's engine: who the visitor is, which tab leads, when there is a connection,
// and every act of the API. Nothing is made before the first act: no id, no storage, no socket.
import { socketPath, visitorApiPrefix } from '../protocol/codes.ts';
import type { ServerFrame } from '../protocol/events.ts';
import { initialState, outgoing, type Core, type RawConversation, type RawMessage, type Store, type TabMessage, type TabMessages } from './core.ts';
import type { Emitter } from './emitter.ts';
import { asSdkError, attempt, mayPass, sdkError } from './error.ts';
import { createHttp } from './http.ts';
import { createLink } from './link.ts';
import { namesIn } from './outbox.ts';
import { createRooms } from './rooms.ts';
import { createSending, type Sending } from './sending.ts';
import { joinTabs, type Tabs } from './tabs.ts';
import type { ConnectionStatus, Environment, InitOptions, SdkApi, SdkConfig, SdkConversation, SdkEvents, SdkVisitor, Undo } from './types.ts';

/** What the engine does; the rest of the API is the facade's. */
export type Acts = Pick<
  SdkApi,
  | 'sendMessage'
  | 'retry'
  | 'startConversation'
  | 'listConversations'
  | 'openConversation'
  | 'loadHistory'
  | 'markRead'
  | 'setTyping'
  | 'editMessage'
  | 'deleteMessage'
  | 'identify'
  | 'reset'
>;

export interface Engine extends Acts {
  /** Asks for the configuration, and goes on where an earlier page of this visitor's stopped. */
  start(): Promise<void>;
  stop(): void;
}

/** Rooms to listen to besides the open conversation: each costs requests at every reconnect. */
const mostRooms = 5;
const pageDefault = 20;
const typingEveryMs = 4_000;
const typingEndsMs = 6_000;

export function createEngine(
  options: InitOptions,
  env: Environment,
  store: Store,
  emit: Emitter<SdkEvents>['emit'],
): Engine {
  const { appId } = options;
  const base = (options.apiBaseUrl ?? '').replace(/\/+$/, '');
  const prefix = `deskbell:${appId}:`;
  const visitorKey = `${prefix}visitor`;
  let visitorId = '';
  let tabs: Tabs<TabMessage> | null = null;
  let stopped = false;
  let typingUntil = 0;
  let cancelTyping: Undo = () => undefined;
  // What each room:join that is not answered yet asked to catch up from.
  const asked = new Map<string, string[]>();

  const http = createHttp(env, base + visitorApiPrefix, () => ({ 'X-App-Id': appId, ...(visitorId !== '' && { 'X-Visitor-Id': visitorId }) }));
  const core: Core = {
    env,
    http,
    store,
    emit,
    post: (...message) => tabs?.post(message),
    leads: () => tabs?.leads === true,
    visitorId: () => visitorId,
  };
  const storage =
    typeof options.storage === 'object' ? options.storage : options.storage === 'none' ? null : env.storage(options.storage ?? 'local');
  const sending: Sending = createSending({
    core,
    storage,
    prefix: () => `${prefix}${visitorId}:`,
    isPlaced: (id, messageId) => rooms.thread(id)?.find(messageId) !== undefined,
    unmark: (id, messageId) => rooms.thread(id)?.mark(messageId, { key: messageId }),
    began,
    updateConversation: (conversation) => rooms.update(conversation),
    changed: () => rooms.show(),
  });
  const rooms = createRooms({
    core,
    unsent: sending.unsent,
    recognise: sending.recognise,
    listen,
  });

  const link = createLink({
    env,
    address: async () => {
      const { token } = await http.call<{ token: string }>('POST', '/widget/ws-token', { patience: 0 });
      return `${base.replace(/^http/, 'ws')}${socketPath}?token=${token}`;
    },
    onFrame: (frame) => {
      if (frame.type === 'error') return refused(frame.payload);
      const after = answering(frame);
      rooms.hear(frame, after);
      core.post('frame', frame, after);
    },
    onStatus: (status) => {
      // What another connection was asked, this one will not answer.
      asked.clear();
      setStatus(status);
      core.post('status', status);
    },
    onRefused: (error) => emit('error', error),
  });
  const unwatch = env.watchPage((what) => {
    if (visitorId === '') return;
    if (what === 'suspend') standBack();
    else if (tabs === null) join();
    link.wake();
    sending.wake();
  });

  function report(error: unknown): void {
    if (!stopped) emit('error', asSdkError(error));
  }

  function setStatus(connection: ConnectionStatus): void {
    if (store.state.connection === connection) return;
    store.set({ connection });
    emit('connection', { status: connection });
    if (connection !== 'online') return rooms.unsettle();
    for (const [id, after] of rooms.baselines()) listen(id, after);
    if (!core.leads()) return;
    // Missed meanwhile: conversations from elsewhere, and whether anybody is there.
    refreshList().catch(report);
    loadConfig().catch(report);
  }

  /** Listens to a room from a message on: by this tab's own socket, or by the leader's. */
  function listen(id: string, after: string): void {
    if (!core.leads()) return core.post('want', id, after);
    if (link.send('room:join', { conversationId: id, lastMessageId: after, echo: true })) asked.set(id, [...(asked.get(id) ?? []), after]);
    else link.start();
  }

  /** Which catching up a frame belongs to: joins are answered in order. */
  function answering(frame: ServerFrame): string {
    if (frame.type !== 'messages:sync' && frame.type !== 'room:joined') return '';
    const { conversationId: id } = frame.payload;
    const [after = '', ...rest] = asked.get(id) ?? [];
    if (frame.type === 'room:joined') asked.set(id, rest);
    else asked.set(id, [frame.payload.messages.at(-1)?.id ?? after, ...rest]);
    return after;
  }

  function refused({ code, message, conversationId }: { code: SdkEvents['error']['code']; message: string; conversationId?: string }): void {
    emit('error', sdkError(code, message));
    // It does not say which join it refused: begin anew.
    if (code === 'RATE_LIMITED') return link.drop();
    if (code === 'FORBIDDEN' && conversationId !== undefined && (asked.get(conversationId)?.length ?? 0) > 0) {
      asked.delete(conversationId);
      rooms.leave(conversationId);
    }
  }

  /** The first act of a visitor: from here on there is an id, and it is kept. */
  function begin(): void {
    if (visitorId !== '') return;
    visitorId = options.visitorId?.toLowerCase() ?? storedId() ?? env.newId();
    // Blocked? The visitor lasts as long as the page.
    attempt(() => storage?.setItem(visitorKey, visitorId));
    store.set({ visitorId });
    sending.load();
    join();
    if (options.user) acts.identify(options.user).catch(report);
  }

  const storedId = (): string | undefined => attempt(() => storage?.getItem(visitorKey)) ?? undefined;

  function join(): void {
    tabs = joinTabs<TabMessage>(env, prefix + visitorId, lead, ([name, ...values]) => (heard[name] as (...all: typeof values) => void)(...values));
    core.post('hello');
    sending.share();
  }

  /** Lets another tab lead; this one goes on when it is looked at again. */
  function standBack(): void {
    link.stop();
    tabs?.leave();
    tabs = null;
  }

  function lead(): void {
    // Whatever the tab that led before had heard of, this one catches up by itself.
    setStatus('connecting');
    if (rooms.baselines().length > 0) link.start();
    else setStatus('idle');
    sending.pump();
  }

  /** What another tab says. */
  const heard: TabMessages = {
    ...sending.heard,
    frame: rooms.hear,
    status: setStatus,
    hello: () => {
      if (core.leads()) core.post('status', store.state.connection);
      sending.share();
    },
    want: (id, after) => {
      if (!core.leads()) return;
      listen(id, after);
      rooms.enter(id).catch(report);
    },
    typing: sendTyping,
    conversation: rooms.update,
    waiting: (retryAt) => store.set({ retryAt }),
    reset: forgetVisitor,
  };

  function began(draft: string, conversation: RawConversation): void {
    const { id } = conversation;
    const open = store.state.conversationId === draft;
    rooms.forget(draft);
    rooms.update(conversation);
    if (open) store.set({ conversationId: id });
    rooms.enter(id).catch(report);
  }

  async function loadConfig(): Promise<void> {
    const { application: config } = await http.call<{ application: SdkConfig }>('GET', '/widget/config', { revalidate: true });
    const { online } = store.state;
    store.set({ config, online: config.online });
    if (online !== config.online) emit('presence', { online: config.online });
  }

  async function refreshList(page: { readonly limit?: number; readonly offset?: number } = {}) {
    const { limit = pageDefault, offset = 0 } = page;
    const { conversations, total } = await http.call<{ conversations: RawConversation[]; total: number }>(
      'GET',
      `/conversations?limit=${limit}&offset=${offset}`,
    );
    const listed = conversations.map((one): SdkConversation => rooms.update(one));
    if (offset === 0)
      await Promise.all(listed.filter(({ status }) => status !== 'closed').slice(0, mostRooms).map(({ id }) => rooms.enter(id)));
    return { conversations: listed, total };
  }

  function sendTyping(id: string, active: boolean): void {
    if (core.leads()) link.send(active ? 'typing:start' : 'typing:stop', { conversationId: id });
    else core.post('typing', id, active);
  }

  function stopTyping(): void {
    const id = store.state.conversationId;
    cancelTyping();
    if (typingUntil === 0) return;
    typingUntil = 0;
    if (id !== null) sendTyping(id, false);
  }

  /** The open conversation; @throws SdkError when there is none. */
  function current(): string {
    const id = store.state.conversationId;
    if (id === null) throw sdkError('unknown');
    return id;
  }

  function forgetVisitor(): void {
    standBack();
    sending.close();
    for (const name of namesIn(storage, prefix)) storage?.removeItem(name);
    for (const { id } of store.state.conversations) rooms.forget(id);
    visitorId = '';
    const { ready, open, visible, config, online, locale, theme } = store.state;
    store.set({ ...initialState, ready, open, visible, config, online, locale, theme });
  }

  const acts: Acts = {
    sendMessage: (message) => {
      begin();
      stopTyping();
      let id = store.state.conversationId;
      if (id === null) {
        id = env.newId();
        const createdAt = new Date(env.now()).toISOString();
        rooms.update({ id, createdAt, updatedAt: createdAt, draft: true });
        store.set({ conversationId: id });
      }
      const draft = store.state.conversations.find((one) => one.id === id)?.draft ?? false;
      return sending.send(id, draft, message);
    },
    retry: sending.retry,
    startConversation: async ({ subject } = {}) => {
      begin();
      const { conversation } = await http.call<{ conversation: RawConversation }>('POST', '/conversations', {
        body: { subject },
        idempotencyKey: env.newId(),
      });
      const { id } = conversation;
      const made = rooms.update(conversation);
      core.post('conversation', made);
      store.set({ conversationId: id });
      await rooms.enter(id);
      return made;
    },
    listConversations: (page) => {
      begin();
      return refreshList(page);
    },
    openConversation: async (id) => {
      stopTyping();
      store.set({ conversationId: id });
      rooms.show();
      if (id === null) return null;
      begin();
      const draft = store.state.conversations.find((one) => one.id === id && one.draft);
      if (draft) return draft;
      await rooms.enter(id);
      return rooms.refresh(id);
    },
    loadHistory: async ({ limit = pageDefault } = {}) => {
      const id = current();
      await rooms.enter(id);
      const thread = rooms.thread(id);
      const messages = thread?.hasMore ? await rooms.older(id, limit) : [];
      return { messages, hasMore: rooms.thread(id)?.hasMore === true };
    },
    markRead: async () => {
      const id = current();
      const messageId = rooms.thread(id)?.list.at(-1)?.id;
      if (messageId === undefined) return;
      rooms.update({ id, unread: 0 });
      await http.call('POST', `/conversations/${id}/read`, { body: { messageId } });
    },
    setTyping: (active = true) => {
      if (!active) return stopTyping();
      const id = store.state.conversationId;
      if (id === null || rooms.thread(id) === undefined) return;
      cancelTyping();
      cancelTyping = env.after(typingEndsMs, stopTyping);
      if (env.now() < typingUntil) return;
      typingUntil = env.now() + typingEveryMs;
      sendTyping(id, true);
    },
    editMessage: async (messageId, message) => {
      const id = current();
      const { message: raw } = await http.call<{ message: RawMessage }>('PATCH', `/conversations/${id}/messages/${messageId}`, { body: outgoing(message) });
      rooms.edited(id, raw);
      const edited = rooms.thread(id)?.find(messageId);
      if (!edited) throw sdkError('unknown');
      return edited;
    },
    deleteMessage: async (messageId) => {
      const id = current();
      if (sending.discard(messageId)) return;
      await http.call('DELETE', `/conversations/${id}/messages/${messageId}`);
      rooms.deleted(id, messageId);
    },
    identify: async (identity) => {
      begin();
      const { visitor } = await http.call<{ visitor: SdkVisitor }>('PUT', '/visitor', { body: identity });
      store.set({ visitor });
      return visitor;
    },
    reset: async () => {
      core.post('reset');
      forgetVisitor();
    },
  };

  return {
    ...acts,
    start: async () => {
      const stored = storedId();
      if (stored !== undefined && (options.visitorId ?? stored) === stored) {
        begin();
        refreshList().catch(report);
      }
      if (options.config) return store.set({ config: options.config, online: options.config.online });
      await loadConfig().catch((error: unknown) => {
        // Not reached: the outbox works all the same, and the configuration comes with the connection.
        if (!mayPass(asSdkError(error))) throw error;
        report(error);
      });
    },
    stop: () => {
      stopped = true;
      cancelTyping();
      unwatch();
      standBack();
      sending.close();
      http.close();
    },
  };
}
