// The staff side of the engine, for consoles: session, live queue, rooms, and every act
// of a member. In its own entry, so that no visitor's page carries it.
import { visitorApiPrefix } from '../protocol/codes.ts';
import { createStore, normalizeOutgoing, type RawMessage } from './context.ts';
import { sdkError } from './error.ts';
import { closeOutbox, discard, emptyOutbox, retry, send } from './outbox.ts';
import { matchStored, newMessageKey, pendingMessages, type OutboxCore } from './outbox-entries.ts';
import { StaffContext } from './staff-context.ts';
import { StaffLive } from './staff-live.ts';
import { createStaffQueue, type StaffQueue } from './staff-queue.ts';
import { StaffRooms } from './staff-rooms.ts';
import { StaffSessionKeeper } from './staff-session.ts';
import { StaffTyping } from './staff-typing.ts';
import type { StaffClient, StaffOptions } from './staff-types.ts';
import type { SdkEventName, SdkEvents, SdkMessage } from './types.ts';

export type * from './staff-types.ts';
export type { Environment, SdkError, SdkMessage, TypingPerson } from './types.ts';

const pageSize = 50;

/** A client for one member. Nothing is asked before `signIn` or `resume`. */
export function createStaffClient(options: StaffOptions): StaffClient {
  const context = new StaffContext(options);
  const { env, http, rest, emitter, emit } = context;
  const sending = createStaffOutbox(context, () => rooms);
  const rooms: StaffRooms = new StaffRooms({
    http,
    emit,
    memberId: () => context.memberId(),
    pending: (id) =>
      pendingMessages(sending, id).map((one) => ({
        ...one,
        senderRole: 'operator',
        senderId: context.memberId(),
        senderName: context.state.session?.member.name ?? '',
      })),
    isNote: (key) => context.notes.has(key),
    matchStored: (message) => ({ ...message, ...matchStored(sending, message) }),
    join: (id, after) => live.join(id, after),
    onChange: (shown) => context.set({ rooms: shown }),
  });
  const queue = createStaffQueue({
    env,
    http,
    emit,
    get: () => context.state.conversations,
    set: (conversations) => context.set({ conversations }),
    isStopped: () => context.stopped || context.token === '',
    report: (error) => context.report(error),
  });
  const live = new StaffLive(context, { rooms, queue, sending });
  const { link } = live;
  const typing = new StaffTyping(env, link);
  const session = new StaffSessionKeeper(context, link, sending);
  const unwatch = env.watchPage((what) => {
    if (what !== 'suspend') link.wake_();
  });
  return {
    signIn: (credentials) => session.signIn(credentials),
    resume: (known = '') => session.resume(known),
    signOut: () => session.signOut(),
    stop: () => {
      context.stopped = true;
      unwatch();
      typing.stop();
      link.stop_();
      closeOutbox(sending);
      rest.close_();
    },
    on: emitter.on,
    off: emitter.off,
    getState: () => context.state,
    subscribe: (listener) => context.subscribe(listener),
    listConversations: (filter = {}, { again = true } = {}) => {
      if (again) live.askAgain(filter);
      return queue.list(filter);
    },
    ...queueActs(queue),
    join: (id) => rooms.enter(id),
    leave: (id) => {
      typing.end(id);
      rooms.leave(id);
      live.leave(id);
    },
    setTyping: (id, active = true) => (active ? typing.start(id) : typing.end(id)),
    setFocus: (id) => live.focus(id),
    ...messageActs(context, { rooms, sending, live, typing }),
    fileTarget: () => ({
      address: `${context.base}${visitorApiPrefix}/staff/files`,
      headers: context.authorization(),
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

/** Sending is the visitor's, with its own small state: only what it must wait for concerns a member. */
function createStaffOutbox(context: StaffContext, rooms: () => StaffRooms): OutboxCore {
  const { env, http, notes, emit, options } = context;
  const store = createStore();
  store.subscribe_(({ retryAt }) => context.set({ retryAt }));
  return {
    ...emptyOutbox(),
    env_: env,
    request_: http.request_,
    state_: store.state_,
    set_: store.set_,
    emit_: <K extends SdkEventName>(type: K, event: SdkEvents[K]) => {
      if (type === 'message:sent') notes.clear((event as SdkMessage).key);
      if (type === 'message:sent' || type === 'message:failed' || type === 'error')
        emit(type, event as never);
    },
    broadcast_: () => undefined,
    isLeader_: () => context.state.session !== null && !context.stopped,
    get visitorId_() {
      return context.memberId();
    },
    report_: (error) => context.report(error),
    storage_: options.storage ?? null,
    get keyPrefix_() {
      return `${context.memberId()}:`;
    },
    messages_: (id) => rooms().messages(id),
    publish_: () => rooms().publish(),
  };
}

/** What a member does with whole conversations. */
function queueActs({ get, retain, act, change, bulk }: StaffQueue) {
  return {
    getConversation: get,
    keepConversations: retain,
    accept: (id) => act(id, 'accept'),
    release: (id) => act(id, 'release'),
    resolve: (id) => act(id, 'resolve'),
    transfer: (id, memberId) => act(id, 'transfer', { memberId }),
    reopen: (id) => act(id, 'reopen'),
    tag: (id, name) => change('PUT', `${id}/tags/${encodeURIComponent(name)}`, {}),
    untag: (id, name) => change('DELETE', `${id}/tags/${encodeURIComponent(name)}`),
    update: (id, values) => change('PATCH', id, values),
    snooze: (id, until) => act(id, 'snooze', { until }),
    wake: (id) => change('DELETE', `${id}/snooze`),
    markUnread: (id, messageId) => act(id, 'unread', messageId === undefined ? {} : { messageId }),
    bulk,
  } satisfies Partial<StaffClient>;
}

interface MessageParts {
  readonly rooms: StaffRooms;
  readonly sending: OutboxCore;
  readonly live: StaffLive;
  readonly typing: StaffTyping;
}

/** What a member does in one conversation. */
function messageActs(context: StaffContext, { rooms, sending, live, typing }: MessageParts) {
  const { http, notes } = context;
  return {
    loadHistory: async (id, limit = pageSize) => {
      const messages = await rooms.loadOlder(id, limit);
      return { messages, hasMore: rooms.messages(id)?.hasMore_() === true };
    },
    sendMessage: (id, message, { internal = false } = {}) => {
      typing.end(id);
      // The note's mark must be there before the first attempt, which begins at once.
      const key = newMessageKey(context.env);
      if (internal) notes.mark(key);
      return send(sending, id, false, message, key);
    },
    retry: (key) => retry(sending, key),
    discard: (key) => {
      notes.clear(key);
      return discard(sending, key);
    },
    editMessage: async (id, messageId, message) => {
      const { message: raw } = await http.request_<{ message: RawMessage }>(
        'PATCH',
        `/conversations/${id}/messages/${messageId}`,
        { body: normalizeOutgoing(message) },
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
    markRead: async (id) => {
      const messageId = rooms.messages(id)?.list_().at(-1)?.id;
      if (messageId === undefined) return;
      const known = context.state.conversations.find((one) => one.id === id);
      // Everything was read before, as far as the room goes.
      if (known !== undefined && !known.unread && known.lastMessage?.id === messageId) return;
      // In a room the mark goes over the socket, and comes back from it.
      if (!live.link.send_('conversation:read', { conversationId: id, messageId }))
        await http.request_('POST', `/conversations/${id}/read`, { body: { messageId } });
      live.readUpTo(id, messageId);
    },
  } satisfies Partial<StaffClient>;
}
