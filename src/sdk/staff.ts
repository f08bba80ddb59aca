// The staff side of the engine, for consoles: session, live queue, rooms, and every act
// of a member. In its own entry, so that no visitor's page carries it.
import { socketPath, visitorApiPrefix } from '../protocol/codes.ts';
import type { ServerFrame } from '../protocol/events.ts';
import { createStore, normalizeOutgoing, type RawMessage } from './context.ts';
import { callSafely, createEmitter } from './emitter.ts';
import { browserEnvironment } from './browser-environment.ts';
import { asSdkError, sdkError } from './error.ts';
import { createHttpClient, type RequestOptions, type HttpClient } from './http.ts';
import { createConnection } from './connection.ts';
import { createOutbox } from './outbox.ts';
import { createNoteMarks } from './staff-note-marks.ts';
import { createStaffQueue } from './staff-queue.ts';
import { createStaffRooms } from './staff-rooms.ts';
import type {
  QueueFilter,
  StaffClient,
  StaffEvents,
  StaffOptions,
  StaffSession,
  StaffState,
} from './staff-types.ts';
import type { ConnectionStatus, SdkEventName, SdkEvents, SdkMessage, Undo } from './types.ts';

export type * from './staff-types.ts';
export type { Environment, SdkError, SdkMessage, TypingPerson } from './types.ts';

const typingEveryMs = 4_000;
const typingEndsMs = 6_000;
/** In the place of a token that this page never sees. */
const inCookie = 'cookie';

/** A client for one member. Nothing is asked before `signIn` or `resume`. */
export function createStaffClient(options: StaffOptions): StaffClient {
  const env = { ...browserEnvironment(), ...options.environment };
  const base = options.baseUrl.replace(/\/+$/, '');
  const emitter = createEmitter<StaffEvents>();
  const emit = emitter.emit_;
  let state: StaffState = {
    session: null,
    connection: 'idle',
    reconnectAt: null,
    conversations: [],
    rooms: {},
    retryAt: null,
  };
  let listeners: readonly ((state: StaffState) => void)[] = [];
  let token = '';
  let filters: readonly QueueFilter[] = [];
  let stopped = false;
  let lastMember = '';
  let focused: string | null = null;
  const asked = new Map<string, string[]>();
  const notes = createNoteMarks(options.storage ?? null);
  const typing = new Map<string, { until: number; cancel: Undo }>();

  function set(patch: Partial<StaffState>): void {
    state = { ...state, ...patch };
    for (const listener of listeners) callSafely(listener, state);
  }

  const rest = createHttpClient(
    env,
    () => `${base}${visitorApiPrefix}/staff`,
    () => (token === '' || token === inCookie ? {} : { Authorization: `Bearer ${token}` }),
  );
  const http: HttpClient = {
    close_: rest.close_,
    request_: async <T>(method: string, path: string, call: RequestOptions = {}) => {
      const key = (call.body as { readonly clientMessageId?: string } | undefined)?.clientMessageId ?? '';
      try {
        return await rest.request_<T>(
          method,
          path,
          notes.has(key) ? { ...call, body: { ...call.body, internal: true } } : call,
        );
      } catch (error) {
        if (asSdkError(error).status !== 401) throw error;
        if (state.session !== null) signedOut();
        // A message is not refused by that: it waits for the next session.
        throw key === '' ? error : sdkError('network', 'Signed out.');
      }
    },
  };
  // Sending is the visitor's, with its own small state: only what it must wait for concerns a member.
  const sendingState = createStore();
  sendingState.subscribe_(({ retryAt }) => set({ retryAt }));
  const sending = createOutbox({
    env_: env,
    http_: http,
    store_: sendingState,
    emit_: <K extends SdkEventName>(type: K, event: SdkEvents[K]) => {
      if (type === 'message:sent') notes.clear((event as SdkMessage).key);
      if (type === 'message:sent' || type === 'message:failed' || type === 'error')
        emit(type, event as never);
    },
    broadcast_: () => undefined,
    isLeader_: () => state.session !== null && !stopped,
    visitorId_: () => memberId(),
    report_: report,
    storage_: () => options.storage ?? null,
    prefix_: () => `${memberId()}:`,
    messages_: (id) => rooms.messages(id),
    create_: () => Promise.reject(sdkError('unknown')),
    onConversationCreated_: () => undefined,
    onDraft_: () => undefined,
    onChange_: () => rooms.publish(),
  });
  const rooms = createStaffRooms({
    http,
    emit,
    memberId,
    pending: (id) =>
      sending.pending_(id).map((one) => ({
        ...one,
        senderRole: 'operator',
        senderId: memberId(),
        senderName: state.session?.member.name ?? '',
      })),
    isNote: (key) => notes.has(key),
    matchStored: (message) => ({ ...message, ...sending.matchStored_(message) }),
    join,
    onChange: (shown) => set({ rooms: shown }),
  });
  // The link has one timer at a time; while it is offline, that is the wait before the next attempt.
  let linkDueAt: number | null = null;
  const { patch, refresh, heard, hasRead, get, list, act, change, bulk, retain } = createStaffQueue({
    env,
    http,
    emit,
    get: () => state.conversations,
    set: (conversations) => set({ conversations }),
    isStopped: () => stopped || token === '',
    report,
  });
  const link = createConnection({
    env_: {
      ...env,
      after: (ms, run) => {
        const at = env.now() + ms;
        linkDueAt = at;
        const cancel = env.after(ms, run);
        return () => {
          if (linkDueAt === at) linkDueAt = null;
          cancel();
        };
      },
    },
    address_: async () => {
      const { token: ticket } = await http.request_<{ token: string }>('POST', '/ws-token', { retries_: 0 });
      const mode = options.mode === undefined ? '' : `&mode=${options.mode}`;
      return `${base.replace(/^http/, 'ws')}${socketPath}?token=${ticket}${mode}`;
    },
    onFrame_: hear,
    onStatus_: connected,
    onRefused_: (error) => {
      emit('error', error);
      // Let out for good: because the session is over? The answer says it, and then this client knows.
      if (state.session !== null) http.request_('GET', '/session').catch(() => undefined);
    },
  });
  const unwatch = env.watchPage((what) => {
    if (what !== 'suspend') link.wake_();
  });

  function memberId(): string {
    return state.session?.member.id ?? '';
  }

  /** A member signed in: what they had not sent yet goes on; what another member had not sent stays theirs. */
  function takeOver(): void {
    if (lastMember === memberId()) return;
    if (lastMember !== '') sending.close_();
    lastMember = memberId();
    notes.load();
    sending.load_();
  }

  function report(error: unknown): void {
    if (!stopped) emit('error', asSdkError(error));
  }

  function signedOut(): void {
    link.stop_();
    token = '';
    set({ session: null, conversations: [], rooms: {} });
    emit('signed-out', {});
  }

  function connected(connection: ConnectionStatus): void {
    set({ connection, reconnectAt: connection === 'offline' ? linkDueAt : null });
    emit('connection', { status: connection });
    if (connection !== 'online') return rooms.disconnect();
    asked.clear();
    if (focused !== null) link.send_('desk:focus', { conversationId: focused });
    for (const [id, after] of rooms.syncCursors()) join(id, after);
    sending.resume_();
    // What happened in the queue in between is not told again: ask for the same pages.
    for (const filter of filters) list(filter).catch(report);
  }

  function join(id: string, after: string): void {
    if (link.send_('room:join', { conversationId: id, lastMessageId: after, echo: true }))
      asked.set(id, [...(asked.get(id) ?? []), after]);
  }

  function hear(frame: ServerFrame): void {
    switch (frame.type) {
      case 'error':
        emit('error', sdkError(frame.payload.code, frame.payload.message));
        if (frame.payload.code === 'RATE_LIMITED') link.reconnect_();
        return;
      case 'messages:sync':
      case 'room:joined': {
        const { conversationId: id } = frame.payload;
        const [after = '', ...others] = asked.get(id) ?? [];
        asked.set(
          id,
          frame.type === 'room:joined' ? others : [frame.payload.messages.at(-1)?.id ?? after, ...others],
        );
        return rooms.handleFrame(frame, after);
      }
      case 'conversation:new':
        emit(frame.type, frame.payload);
        return refresh(frame.payload.id);
      case 'conversation:accepted': {
        const { conversationId: id, assignedTo, assignedToName } = frame.payload;
        patch(id, { status: 'active', assignedTo, assignedToName });
        emit(frame.type, frame.payload);
        return refresh(id);
      }
      case 'conversation:released':
        patch(frame.payload.conversationId, { status: 'pending', assignedTo: null, assignedToName: null });
        emit(frame.type, frame.payload);
        return refresh(frame.payload.conversationId);
      case 'conversation:resolved':
        patch(frame.payload.conversationId, { status: 'closed' });
        emit(frame.type, frame.payload);
        return refresh(frame.payload.conversationId);
      case 'conversation:reopened':
        patch(frame.payload.conversationId, { status: 'active' });
        emit(frame.type, frame.payload);
        return refresh(frame.payload.conversationId);
      case 'conversation:changed': {
        const { conversationId: id, tags, priority, snoozedUntil, subject } = frame.payload;
        patch(id, { tags, priority, snoozedUntil, ...(subject !== null && { subject }) });
        emit(frame.type, frame.payload);
        // It tells all of it, but of one that was asleep when the queue was listed, and of a subject that went.
        const known = state.conversations.find((one) => one.id === id);
        if (known === undefined ? snoozedUntil === null : subject === null && known.subject !== undefined)
          refresh(id);
        return undefined;
      }
      case 'notification:new':
        return emit(frame.type, frame.payload);
      case 'notification:cleared':
        return emit(frame.type, frame.payload);
      case 'conversation:activity':
        emit(frame.type, frame.payload);
        return heard(frame.payload);
      case 'conversation:read': {
        const { conversationId: id, userId, messageId } = frame.payload;
        // What others read changes nothing in the queue of this member.
        if (userId === memberId()) readUpTo(id, messageId);
        return rooms.handleFrame(frame, '');
      }
      case 'message:edited':
      case 'message:deleted':
        // The preview and the unread count may have changed with it.
        refresh(frame.payload.conversationId);
        return rooms.handleFrame(frame, '');
      default:
        return rooms.handleFrame(frame, '');
    }
  }

  /** This member has read up to a message, here or elsewhere. */
  function readUpTo(id: string, messageId: string): void {
    const messages = rooms.messages(id)?.list_() ?? [];
    const at = messages.findIndex((one) => one.id === messageId);
    if (at < 0) return refresh(id);
    hasRead(id, messages.slice(at + 1).filter(({ senderRole }) => senderRole === 'visitor').length);
  }

  function endTyping(id: string): void {
    const entry = typing.get(id);
    if (entry === undefined) return;
    entry.cancel();
    typing.delete(id);
    link.send_('typing:stop', { conversationId: id });
  }

  async function begin(fresh: string): Promise<StaffSession> {
    if (state.session !== null && fresh !== token) {
      // Perhaps another member: nothing of the one before may go out in their name.
      link.stop_();
      set({ session: null });
    }
    token = fresh;
    try {
      const { expiresAt, member, organization } = await http.request_<StaffSession>('GET', '/session');
      const session = { expiresAt, member, organization };
      set({ session });
      takeOver();
      link.start_();
      return session;
    } catch (error) {
      token = '';
      throw error;
    }
  }

  return {
    signIn: async (credentials) => {
      const { token: fresh = inCookie } = await rest.request_<{ token?: string }>('POST', '/session', {
        body: options.cookie === true ? { ...credentials, cookie: true } : credentials,
        retries_: 0,
      });
      return { ...(await begin(fresh)), token: fresh === inCookie ? '' : fresh };
    },
    resume: (known = '') => begin(known === '' && options.cookie === true ? inCookie : known),
    signOut: async () => {
      await http.request_('DELETE', '/session');
      if (state.session !== null) signedOut();
    },
    stop: () => {
      stopped = true;
      unwatch();
      for (const { cancel } of typing.values()) cancel();
      link.stop_();
      sending.close_();
      rest.close_();
    },
    on: emitter.on,
    off: emitter.off,
    getState: () => state,
    subscribe: (listener) => {
      const own = (next: StaffState): void => listener(next);
      listeners = [...listeners, own];
      return () => {
        listeners = listeners.filter((one) => one !== own);
      };
    },
    listConversations: (filter = {}, { again = true } = {}) => {
      if (again && !filters.some((one) => JSON.stringify(one) === JSON.stringify(filter)))
        filters = [...filters.slice(-9), filter];
      return list(filter);
    },
    getConversation: get,
    keepConversations: retain,
    join: (id) => rooms.enter(id),
    leave: (id) => {
      endTyping(id);
      rooms.leave(id);
      asked.delete(id);
      link.send_('room:leave', { conversationId: id });
    },
    loadHistory: async (id, limit = pageSize) => {
      const messages = await rooms.loadOlder(id, limit);
      return { messages, hasMore: rooms.messages(id)?.hasMore_() === true };
    },
    sendMessage: (id, message, { internal = false } = {}) => {
      endTyping(id);
      // The note's mark must be there before the first attempt, which begins at once.
      return sending.send_(id, false, message, internal ? notes.mark : undefined);
    },
    retry: sending.retry,
    discard: (key) => {
      notes.clear(key);
      return sending.discard_(key);
    },
    editMessage: async (id, messageId, message) => {
      const { message: raw } = await http.request_<{ message: RawMessage }>(
        'PATCH',
        `/conversations/${id}/messages/${messageId}`,
        {
          body: normalizeOutgoing(message),
        },
      );
      rooms.applyEdit(id, raw);
      const edited = rooms.messages(id)?.find_(messageId);
      if (edited === undefined) throw sdkError('unknown', 'The message is not here any more.');
      return edited;
    },
    deleteMessage: async (id, messageId) => {
      await http.request_('DELETE', `/conversations/${id}/messages/${messageId}`);
      rooms.applyDelete(id, messageId);
    },
    setTyping: (id, active = true) => {
      if (!active) return endTyping(id);
      const before = typing.get(id);
      before?.cancel();
      const due = before === undefined || env.now() >= before.until;
      typing.set(id, {
        until: due ? env.now() + typingEveryMs : before.until,
        cancel: env.after(typingEndsMs, () => endTyping(id)),
      });
      if (due) link.send_('typing:start', { conversationId: id });
      return undefined;
    },
    setFocus: (id) => {
      if (id === focused) return;
      focused = id;
      link.send_('desk:focus', { conversationId: id });
    },
    markRead: async (id) => {
      const messageId = rooms.messages(id)?.list_().at(-1)?.id;
      if (messageId === undefined) return;
      const known = state.conversations.find((one) => one.id === id);
      // Everything was read before, as far as the room goes.
      if (known !== undefined && !known.unread && known.lastMessage?.id === messageId) return;
      // In a room the mark goes over the socket, and comes back from it.
      if (!link.send_('conversation:read', { conversationId: id, messageId }))
        await http.request_('POST', `/conversations/${id}/read`, { body: { messageId } });
      readUpTo(id, messageId);
    },
    accept: (id) => act(id, 'accept'),
    release: (id) => act(id, 'release'),
    resolve: (id) => act(id, 'resolve'),
    transfer: (id, memberTo) => act(id, 'transfer', { memberId: memberTo }),
    reopen: (id) => act(id, 'reopen'),
    tag: (id, name) => change('PUT', `${id}/tags/${encodeURIComponent(name)}`, {}),
    untag: (id, name) => change('DELETE', `${id}/tags/${encodeURIComponent(name)}`),
    update: (id, values) => change('PATCH', id, values),
    snooze: (id, until) => act(id, 'snooze', { until }),
    wake: (id) => change('DELETE', `${id}/snooze`),
    markUnread: (id, messageId) => act(id, 'unread', messageId === undefined ? {} : { messageId }),
    bulk,
    fileTarget: () => ({
      address: `${base}${visitorApiPrefix}/staff/files`,
      headers: token === '' || token === inCookie ? {} : { Authorization: `Bearer ${token}` },
    }),
    call: (method, path, body) =>
      // The rest of the API lies beside `/staff`.
      http.request_(
        method,
        path.startsWith('/admin/') ? `/..${path}` : path,
        body === undefined ? {} : { body },
      ),
  };
}

const pageSize = 50;
