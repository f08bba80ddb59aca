// A staff client in memory for the console's tests: a small world of conversations that
// answers as the service does, and lets a test move it by hand. Not a test itself.
import type { StaffConversation, StaffConversationListItem } from '../../src/protocol/entities.ts';
import { createEmitter } from '../../src/sdk/emitter.ts';
import { sdkError } from '../../src/sdk/error.ts';
import type {
  QueueFilter,
  StaffClient,
  StaffEvents,
  StaffMessage,
  StaffRoom,
  StaffState,
} from '../../src/sdk/staff-types.ts';
import { compareItems } from '../../src/cli/console/state/queue.ts';

export const me = '0000000a-0000-4000-8000-000000000000';
export const ann = '0000000b-0000-4000-8000-000000000000';
export const start = Date.parse('2026-11-21T12:00:00.000Z');

const iso = (ms: number): string => new Date(ms).toISOString();
const idOf = (number: number): string => `10000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

/** A pending conversation of a visitor; the rest as told. `number` makes the ids. */
export function buildConversation(
  number: number,
  patch: Partial<StaffConversationListItem> = {},
): StaffConversationListItem {
  const at = iso(start - 60_000 * number);
  return {
    id: idOf(number),
    status: 'pending',
    createdAt: at,
    updatedAt: at,
    mode: 'live',
    assignedTo: null,
    assignedToName: null,
    visitor: {
      id: `20000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
      name: `Visitor ${number}`,
      email: null,
      verified: false,
      attributes: {},
      createdAt: at,
    },
    application: { id: '30000000-0000-4000-8000-000000000000', name: 'Shop' },
    lastMessage: {
      id: `4${String(number).padStart(7, '0')}-0000-4000-8000-000000000000`,
      senderId: 'v',
      senderRole: 'visitor',
      senderName: `Visitor ${number}`,
      preview: `question ${number}`,
      createdAt: at,
    },
    unreadCount: 0,
    waitingSince: (patch.status ?? 'pending') === 'pending' ? at : null,
    ...patch,
  };
}

export const mine = (patch: Partial<StaffConversationListItem> = {}): Partial<StaffConversationListItem> => ({
  status: 'active',
  assignedTo: me,
  assignedToName: 'Me',
  waitingSince: null,
  ...patch,
});

let count = 0;

export function buildMessage(
  conversation: StaffConversationListItem,
  content: string,
  patch: Partial<StaffMessage> = {},
): StaffMessage {
  count += 1;
  const id = `5${String(count).padStart(7, '0')}-0000-4000-8000-000000000000`;
  return {
    key: id,
    id,
    conversationId: conversation.id,
    senderId: conversation.visitor.id,
    senderName: conversation.visitor.name ?? '',
    senderRole: 'visitor',
    own: false,
    content,
    contentFormat: 'plain',
    contentHtml: null,
    createdAt: iso(start + count * 1_000),
    editedAt: null,
    state: 'sent',
    ...patch,
  };
}

export const own = (patch: Partial<StaffMessage> = {}): Partial<StaffMessage> => ({
  senderId: me,
  senderName: 'Me',
  senderRole: 'operator',
  own: true,
  ...patch,
});

export interface FakeStaff {
  readonly client: StaffClient;
  /** What was asked, as `accept 1000…` or `list {...}`. */
  readonly calls: string[];
  /** All conversations of the service. */
  items: StaffConversationListItem[];
  readonly messages: Map<string, StaffMessage[]>;
  /** Answers of `call`, by `METHOD /path`; a function may throw. */
  readonly answers: Map<string, (body?: object) => unknown>;
  /** The next act of this name fails so. */
  readonly failures: Map<string, Error>;
  /** The next answer of this name waits until the returned function is called. */
  hold(name: string): () => void;
  /** The service changes a conversation and says so. */
  change(id: string, patch: Partial<StaffConversationListItem>): void;
  /** A conversation comes up at the service. */
  arrive(item: StaffConversationListItem): void;
  /** The service knows it no more. */
  erase(id: string): void;
  /** A message comes into a joined room. */
  hear(message: StaffMessage): void;
  /** Rooms as they are to be from now on. */
  setRoom(id: string, patch: Partial<StaffRoom>): void;
  connect(connection: StaffState['connection'], reconnectAt?: number | null): void;
  emit<K extends keyof StaffEvents>(type: K, event: StaffEvents[K]): void;
  signOut(): void;
}

const pageOf = 50;

/** @param role of the one at the console */
export function fakeStaff(
  items: readonly StaffConversationListItem[],
  role: 'admin' | 'operator' = 'operator',
): FakeStaff {
  const emitter = createEmitter<StaffEvents>();
  const listeners = new Set<(state: StaffState) => void>();
  const calls: string[] = [];
  const messages = new Map<string, StaffMessage[]>();
  const answers = new Map<string, (body?: object) => unknown>();
  const failures = new Map<string, Error>();
  let state: StaffState = {
    session: null,
    connection: 'idle',
    reconnectAt: null,
    conversations: [],
    rooms: {},
    retryAt: null,
  };
  let sent = 0;
  const set = (patch: Partial<StaffState>): void => {
    state = { ...state, ...patch };
    for (const listener of listeners) listener(state);
  };
  const take = (some: readonly StaffConversationListItem[]): void => {
    const fresh = new Set(some.map(({ id }) => id));
    set({ conversations: [...state.conversations.filter(({ id }) => !fresh.has(id)), ...some] });
    for (const one of some) emitter.emit_('conversation', one);
  };
  const detail = (item: StaffConversationListItem): StaffConversation => ({
    ...item,
    participants: [],
    resolvedBy: null,
    resolvedAt: null,
  });
  const find = (id: string): StaffConversationListItem => {
    const item = fake.items.find((one) => one.id === id);
    if (item === undefined) throw sdkError('not_found', 'There is no such conversation.', 404);
    return item;
  };
  const failing = (name: string): void => {
    const error = failures.get(name);
    if (error === undefined) return;
    failures.delete(name);
    throw error;
  };
  const act = async (
    name: string,
    id: string,
    patch: Partial<StaffConversationListItem>,
  ): Promise<StaffConversation> => {
    calls.push(`${name} ${id}`);
    // An answer takes its time.
    await new Promise((resolve) => setImmediate(resolve));
    await held(name);
    failing(name);
    fake.change(id, patch);
    return detail(find(id));
  };
  const holds = new Map<string, Promise<void>>();
  const held = async (name: string): Promise<void> => {
    const wait = holds.get(name);
    holds.delete(name);
    await wait;
  };
  const setRoom = (id: string, patch: Partial<StaffRoom>): void => {
    const before = state.rooms[id];
    if (before !== undefined) set({ rooms: { ...state.rooms, [id]: { ...before, ...patch } } });
  };
  const fits = (item: StaffConversationListItem, filter: QueueFilter): boolean =>
    (filter.status === undefined || item.status === filter.status) &&
    (filter.assignedTo !== 'me' || item.assignedTo === me) &&
    (filter.visitorOf === undefined || item.visitor.id === find(filter.visitorOf).visitor.id) &&
    (filter.q === undefined ||
      `${item.visitor.name ?? ''} ${item.lastMessage?.preview ?? ''}`
        .toLowerCase()
        .includes(filter.q.toLowerCase()));
  const client: StaffClient = {
    signIn: () => Promise.reject(sdkError('unauthorized', 'no', 401)),
    resume: async (token) => {
      calls.push(`resume ${token}`);
      failing('resume');
      const session = {
        expiresAt: iso(start + 86_400_000),
        member: {
          id: me,
          organizationId: 'o',
          email: 'me@acme.example',
          name: 'Me',
          role,
          disabled: false,
          createdAt: iso(start),
        },
        organization: { id: 'o', name: 'Acme', slug: 'acme', plan: 'premium' as const },
      };
      set({ session });
      fake.connect('online');
      return session;
    },
    signOut: async () => undefined,
    stop: () => calls.push('stop'),
    on: emitter.on,
    off: emitter.off,
    getState: () => state,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    listConversations: async (filter = {}) => {
      calls.push(`list ${JSON.stringify(filter)}`);
      failing('list');
      await held('list');
      const { limit = 20, offset = 0 } = filter;
      const all = fake.items.filter((item) => fits(item, filter)).toSorted(compareItems);
      const page = all.slice(offset, offset + limit);
      take(page);
      return { conversations: page, total: all.length };
    },
    getConversation: async (id) => {
      calls.push(`get ${id}`);
      failing('get');
      take([find(id)]);
      return detail(find(id));
    },
    keepConversations: (ids) => {
      calls.push(`keep ${ids.size}`);
      set({ conversations: state.conversations.filter(({ id }) => ids.has(id)) });
    },
    join: async (id) => {
      calls.push(`join ${id}`);
      failing('join');
      await held('join');
      const all = messages.get(id) ?? [];
      const room: StaffRoom = {
        conversationId: id,
        messages: all.slice(-pageOf),
        loaded: true,
        hasMore: all.length > pageOf,
        typing: [],
        reads: {},
      };
      set({ rooms: { ...state.rooms, [id]: room } });
      return room;
    },
    leave: (id) => {
      calls.push(`leave ${id}`);
      const { [id]: _gone, ...others } = state.rooms;
      set({ rooms: others });
    },
    loadHistory: async (id, limit = pageOf) => {
      calls.push(`older ${id}`);
      const all = messages.get(id) ?? [];
      const have = state.rooms[id]?.messages.length ?? 0;
      const older = all.slice(Math.max(0, all.length - have - limit), all.length - have);
      setRoom(id, {
        messages: [...older, ...(state.rooms[id]?.messages ?? [])],
        hasMore: all.length > have + older.length,
      });
      return { messages: older, hasMore: all.length > have + older.length };
    },
    sendMessage: async (id, message, options) => {
      const outgoing = typeof message === 'string' ? { content: message } : message;
      calls.push(
        `send ${id} ${options?.internal === true ? 'note ' : ''}${outgoing.contentFormat ?? 'plain'} ${outgoing.content}`,
      );
      sent += 1;
      const stored = buildMessage(
        find(id),
        outgoing.content,
        own({
          contentFormat: outgoing.contentFormat ?? 'plain',
          key: `sent-${sent}`,
          ...(options?.internal === true && { internal: true }),
        }),
      );
      failing('send');
      fake.hear(stored);
      return stored;
    },
    retry: async (key) => {
      calls.push(`retry ${key}`);
      throw sdkError('network');
    },
    discard: (key) => {
      calls.push(`discard ${key}`);
      for (const [id, room] of Object.entries(state.rooms))
        setRoom(id, { messages: room.messages.filter((one) => one.key !== key) });
      return true;
    },
    editMessage: async (id, messageId, message) => {
      const { content, contentFormat = 'plain' } =
        typeof message === 'string' ? { content: message } : message;
      calls.push(`edit ${messageId} ${contentFormat} ${content}`);
      failing('edit');
      const room = state.rooms[id];
      const changed = (room?.messages ?? []).map((one) =>
        one.id === messageId ? { ...one, content, contentFormat, editedAt: iso(start + 9_000_000) } : one,
      );
      setRoom(id, { messages: changed });
      const edited = changed.find((one) => one.id === messageId);
      if (edited === undefined) throw sdkError('unknown');
      return edited;
    },
    deleteMessage: async (id, messageId) => {
      calls.push(`delete ${messageId}`);
      failing('delete');
      setRoom(id, { messages: (state.rooms[id]?.messages ?? []).filter((one) => one.id !== messageId) });
      emitter.emit_('message:deleted', { conversationId: id, messageId });
    },
    setTyping: (id, active = true) => {
      calls.push(`typing ${active ? 'on' : 'off'} ${id}`);
    },
    markRead: async (id) => {
      calls.push(`read ${id}`);
      fake.change(id, { unreadCount: 0 });
    },
    accept: (id) => act('accept', id, mine()),
    release: (id) =>
      act('release', id, {
        status: 'pending',
        assignedTo: null,
        assignedToName: null,
        waitingSince: iso(start),
      }),
    resolve: (id) => act('resolve', id, { status: 'closed', waitingSince: null }),
    transfer: (id, memberId) => act('transfer', id, { assignedTo: memberId, assignedToName: 'Ann' }),
    call: async <T>(method: string, path: string, body?: object): Promise<T> => {
      calls.push(`${method} ${path}`);
      const answer = answers.get(`${method} ${path.replace(/\?.*$/, '')}`);
      if (answer === undefined) throw sdkError('not_found', 'There is no such endpoint.', 404);
      return answer(body) as T;
    },
  };
  const fake: FakeStaff = {
    client,
    calls,
    items: [...items],
    messages,
    answers,
    failures,
    hold: (name) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      holds.set(name, promise);
      return resolve;
    },
    change: (id, patch) => {
      fake.items = fake.items.map((one) => (one.id === id ? { ...one, ...patch } : one));
      take([find(id)]);
    },
    arrive: (item) => {
      fake.items = [...fake.items, item];
      emitter.emit_('conversation:new', {
        id: item.id,
        organizationId: 'o',
        applicationId: item.application.id,
        status: item.status,
        createdAt: item.createdAt,
      });
      take([item]);
    },
    erase: (id) => {
      fake.items = fake.items.filter((one) => one.id !== id);
      set({ conversations: state.conversations.filter((one) => one.id !== id) });
    },
    hear: (message) => {
      const { conversationId: id } = message;
      messages.set(id, [...(messages.get(id) ?? []), message]);
      setRoom(id, { messages: [...(state.rooms[id]?.messages ?? []), message] });
      if (!message.own) emitter.emit_('message', message);
    },
    setRoom,
    connect: (connection, reconnectAt = null) => {
      set({ connection, reconnectAt });
      emitter.emit_('connection', { status: connection });
    },
    emit: emitter.emit_,
    signOut: () => {
      set({ session: null, conversations: [], rooms: {} });
      emitter.emit_('signed-out', {});
    },
  };
  return fake;
}
