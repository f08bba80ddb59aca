// A staff client in memory for the console's tests: a few conversations that it answers for as the service does, and that a
// test changes by hand. It keeps the contract of the real client (staff-contract.ts). Not a test itself.
import type { OutgoingMessage } from '../../src/sdk/types.ts';
import type { StaffConversation, StaffConversationListItem } from '../../src/protocol/entities.ts';
import { canManage } from '../../src/desk/conversation-commands.ts';
import { createEmitter } from '../../src/sdk/emitter.ts';
import { asSdkError, sdkError } from '../../src/sdk/error.ts';
import type {
  BulkRequest,
  BulkResult,
  QueueFilter,
  StaffClient,
  StaffEvents,
  StaffMessage,
  StaffRoom,
  StaffSession,
  StaffState,
} from '../../src/sdk/staff-types.ts';
import { compareItems } from '../../src/desk/queue.ts';

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
      verifiedFields: [],
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
    unread: true,
    tags: [],
    priority: 'normal',
    snoozedUntil: null,
    dueAt: null,
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

/** A message of the conversation's visitor; the rest as told. */
export function buildMessage(
  conversation: {
    readonly id: string;
    readonly visitor: { readonly id: string; readonly name: string | null };
  },
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

const pageOf = 50;

const initial: StaffState = {
  session: null,
  connection: 'idle',
  reconnectAt: null,
  conversations: [],
  rooms: {},
  retryAt: null,
};

type Item = StaffConversationListItem;
type Failing = 'resume' | 'list' | 'get' | 'join' | 'send' | 'edit' | 'delete' | CommandName;
type CommandName = 'accept' | 'release' | 'resolve' | 'transfer' | 'reopen' | 'snooze';

/** What the service does with each command, and where it is allowed. */
const allowed: Readonly<Record<CommandName, (item: Item) => boolean>> = {
  accept: ({ status }) => status === 'pending',
  release: ({ status }) => status === 'active',
  transfer: ({ status }) => status === 'active',
  resolve: ({ status }) => status !== 'closed',
  reopen: ({ status }) => status === 'closed',
  snooze: ({ status }) => status !== 'closed',
};

/** An answer takes a turn of the event loop. */
const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

export class FakeStaff {
  readonly client: StaffClient;
  /** What was asked, as `accept 1000…` or `list {...}`. */
  readonly calls: string[] = [];
  /** All conversations of the service. */
  items: readonly Item[];
  /** What is stored, by conversation. */
  readonly messages = new Map<string, StaffMessage[]>();
  /** Answers of `call`, by `METHOD /path`; a function may throw. */
  /** What was said to be before the eyes. */
  readonly focused: (string | null)[] = [];
  readonly answers = new Map<string, (body?: object) => unknown>();
  /** The next request of this name fails so. */
  readonly failures = new Map<Failing, Error>();
  readonly #role: 'admin' | 'operator';
  readonly #emitter = createEmitter<StaffEvents>();
  readonly #listeners = new Set<(state: StaffState) => void>();
  readonly #holds = new Map<string, Promise<void>>();
  readonly #resolved = new Map<string, Pick<StaffConversation, 'resolvedBy' | 'resolvedAt'>>();
  #state = initial;
  #sent = 0;

  /** @param role of the member at the console */
  constructor(items: readonly Item[], role: 'admin' | 'operator' = 'operator') {
    this.items = items;
    this.#role = role;
    this.client = this.#createClient();
  }

  /** The next answer of this name waits until the returned function is called. */
  hold(name: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#holds.set(name, promise);
    return resolve;
  }

  /** The service changes a conversation and says so. */
  change(id: string, patch: Partial<Item>): void {
    this.items = this.items.map((one) => (one.id === id ? { ...one, ...patch } : one));
    this.#take([this.#find(id)]);
  }

  /** A new conversation at the service. */
  arrive(item: Item): void {
    this.items = [...this.items, item];
    this.emit('conversation:new', {
      id: item.id,
      organizationId: 'o',
      applicationId: item.application.id,
      status: item.status,
      createdAt: item.createdAt,
      ...(item.subject !== undefined && { subject: item.subject }),
    });
    this.#take([item]);
  }

  /** The service does not know it any more. */
  erase(id: string): void {
    this.items = this.items.filter((one) => one.id !== id);
    this.#set({ conversations: this.#state.conversations.filter((one) => one.id !== id) });
  }

  /** A message is stored, and told where its room is joined. */
  hear(message: StaffMessage): void {
    const { conversationId: id } = message;
    this.#store(message);
    this.#addToRoom(message);
    if (!message.own) this.emit('message', message);
    this.#touch(message);
    this.emit('conversation:activity', {
      conversationId: id,
      lastMessageId: message.id,
      updatedAt: message.createdAt,
      preview: message.content,
      waiting: message.senderRole === 'visitor',
      senderId: message.senderId,
      senderRole: message.senderRole,
      senderName: message.senderName,
      createdAt: message.createdAt,
      ...(message.internal === true && { internal: true }),
    });
  }

  /** A room as it is to be from now on. */
  setRoom(id: string, patch: Partial<StaffRoom>): void {
    const before = this.#state.rooms[id];
    if (before !== undefined) this.#set({ rooms: { ...this.#state.rooms, [id]: { ...before, ...patch } } });
  }

  connect(connection: StaffState['connection'], reconnectAt: number | null = null): void {
    this.#set({ connection, reconnectAt });
    this.emit('connection', { status: connection });
  }

  emit<K extends keyof StaffEvents>(type: K, event: StaffEvents[K]): void {
    this.#emitter.emit_(type, event);
  }

  /** The session is over. */
  signOut(): void {
    this.#set({ session: null, conversations: [], rooms: {} });
    this.emit('signed-out', {});
  }

  #set(patch: Partial<StaffState>): void {
    this.#state = { ...this.#state, ...patch };
    for (const listener of this.#listeners) listener(this.#state);
  }

  #take(items: readonly Item[]): void {
    const fresh = new Set(items.map(({ id }) => id));
    const conversations = [...this.#state.conversations.filter(({ id }) => !fresh.has(id)), ...items];
    this.#set({
      conversations: conversations.toSorted((one, other) =>
        one.updatedAt === other.updatedAt ? 0 : one.updatedAt < other.updatedAt ? 1 : -1,
      ),
    });
    for (const one of items) this.emit('conversation', one);
  }

  #find(id: string): Item {
    const item = this.items.find((one) => one.id === id);
    if (item === undefined) throw sdkError('not_found', 'There is no such conversation.', 404);
    return item;
  }

  #detail(id: string): StaffConversation {
    return {
      ...this.#find(id),
      participants: [],
      ...(this.#resolved.get(id) ?? { resolvedBy: null, resolvedAt: null }),
    };
  }

  /** Waits while the name is held, and fails where the session or the test says so. */
  async #answer(name: Failing): Promise<void> {
    await turn();
    const held = this.#holds.get(name);
    this.#holds.delete(name);
    await held;
    const error = this.failures.get(name);
    this.failures.delete(name);
    if (error !== undefined) throw error;
    if (this.#state.session === null && name !== 'resume')
      throw sdkError('unauthorized', 'Sign in first.', 401);
  }

  #store(message: StaffMessage): void {
    const { conversationId: id } = message;
    this.messages.set(id, [...(this.messages.get(id) ?? []), message]);
  }

  /** Behind the stored ones, before what is unsent. */
  #addToRoom(message: StaffMessage): void {
    const messages = this.#state.rooms[message.conversationId]?.messages ?? [];
    const others = messages.filter(({ key }) => key !== message.key);
    this.setRoom(message.conversationId, {
      loaded: true,
      messages: [
        ...others.filter(({ state }) => state === 'sent'),
        ...(message.state === 'sent' ? [message] : []),
        ...others.filter(({ state }) => state !== 'sent'),
        ...(message.state === 'sent' ? [] : [message]),
      ],
    });
  }

  /** The row of the list after a message. */
  #touch({
    id,
    conversationId,
    senderId,
    senderRole,
    senderName,
    content,
    createdAt,
    internal,
  }: StaffMessage): void {
    const item = this.#find(conversationId);
    const isVisitor = senderRole === 'visitor';
    this.change(conversationId, {
      updatedAt: createdAt,
      lastMessage: {
        id,
        senderId,
        senderRole,
        senderName,
        preview: content,
        createdAt,
        ...(internal === true && { internal }),
      },
      ...(isVisitor && { unreadCount: item.unreadCount + 1, waitingSince: item.waitingSince ?? createdAt }),
      ...(senderRole === 'operator' && internal !== true && { waitingSince: null }),
    });
  }

  #fits(item: Item, filter: QueueFilter): boolean {
    const text = `${item.visitor.name ?? ''} ${item.lastMessage?.preview ?? ''}`.toLowerCase();
    return (
      (filter.status === undefined || item.status === filter.status) &&
      (filter.assignedTo !== 'me' || item.assignedTo === me) &&
      (filter.visitorOf === undefined || item.visitor.id === this.#find(filter.visitorOf).visitor.id) &&
      (filter.tag ?? []).every((tag) => item.tags.includes(tag)) &&
      (filter.untagged === undefined || (item.tags.length === 0) === filter.untagged) &&
      (filter.priority?.includes(item.priority) ?? true) &&
      this.#fitsSnooze(item, filter) &&
      (filter.q === undefined || text.includes(filter.q.toLowerCase()))
    );
  }

  /** Left out unless asked for, but not of a search or of one visitor's conversations. */
  #fitsSnooze({ snoozedUntil }: Item, { snoozed, q, visitorOf }: QueueFilter): boolean {
    if (snoozed === 'all') return true;
    if (snoozed !== undefined) return (snoozedUntil !== null) === snoozed;
    return snoozedUntil === null || q !== undefined || visitorOf !== undefined;
  }

  /** An act of many, as if done alone. */
  #bulkAct(id: string, request: BulkRequest): Promise<StaffConversation> {
    const { client } = this;
    switch (request.act) {
      case 'tag':
      case 'untag':
        return client[request.act](id, request.tag);
      case 'priority':
        return client.update(id, request);
      case 'snooze':
        return client.snooze(id, request.until);
      case 'unsnooze':
        return client.wake(id);
      case 'unread':
        return client.markUnread(id);
      case 'transfer':
        return client.transfer(id, request.memberId);
      default:
        return client[request.act](id);
    }
  }

  async #resume(token: string): Promise<StaffSession> {
    this.calls.push(`resume ${token}`);
    await this.#answer('resume');
    if (token === '') throw sdkError('unauthorized', 'Sign in first.', 401);
    const session: StaffSession = {
      expiresAt: iso(start + 86_400_000),
      member: {
        id: me,
        organizationId: 'o',
        email: 'me@acme.example',
        name: 'Me',
        role: this.#role,
        disabled: false,
        createdAt: iso(start),
      },
      organization: { id: 'o', name: 'Acme', slug: 'acme', plan: 'premium' },
    };
    this.#set({ session });
    this.connect('online');
    return session;
  }

  async #command(name: CommandName, id: string, patch: Partial<Item>): Promise<StaffConversation> {
    this.calls.push(`${name} ${id}`);
    await this.#answer(name);
    const item = this.#find(id);
    if (!allowed[name](item)) throw sdkError('conflict', 'It is not as it was.', 409);
    const isForAll =
      name === 'accept' || name === 'reopen' || (name === 'snooze' && item.assignedTo === null);
    if (!isForAll && !canManage(item, me, this.#role === 'admin'))
      throw sdkError('forbidden', 'A colleague has it.', 403);
    // Accepting, handing over and closing end the snooze.
    this.change(id, { ...(name !== 'release' && { snoozedUntil: null }), ...patch });
    if (name === 'reopen') this.emit('conversation:reopened', { conversationId: id, reopenedBy: me });
    if (name === 'snooze') this.#tellChanged(id);
    if (name === 'resolve') this.#resolved.set(id, { resolvedBy: me, resolvedAt: iso(start) });
    const { assignedTo, assignedToName } = this.#find(id);
    if (name === 'release') this.emit('conversation:released', { conversationId: id });
    else if (name === 'resolve') this.emit('conversation:resolved', { conversationId: id, resolvedBy: me });
    else if (name !== 'snooze')
      this.emit('conversation:accepted', {
        conversationId: id,
        assignedTo: assignedTo ?? '',
        assignedToName: assignedToName ?? '',
      });
    return this.#detail(id);
  }

  /** What every member may change of every conversation. */
  async #order(name: string, id: string, patch: Partial<Item>): Promise<StaffConversation> {
    this.calls.push(`${name} ${id}`);
    await turn();
    this.change(id, patch);
    if (!name.startsWith('unread')) this.#tellChanged(id);
    return this.#detail(id);
  }

  #tellChanged(id: string): void {
    const { tags, priority, snoozedUntil, subject = null } = this.#find(id);
    this.emit('conversation:changed', { conversationId: id, tags, priority, snoozedUntil, subject });
  }

  async #join(id: string): Promise<StaffRoom> {
    this.calls.push(`join ${id}`);
    await this.#answer('join');
    this.#find(id);
    const all = this.messages.get(id) ?? [];
    const room: StaffRoom = this.#state.rooms[id] ?? {
      conversationId: id,
      messages: all.slice(-pageOf),
      loaded: true,
      hasMore: all.length > pageOf,
      typing: [],
      reads: {},
    };
    this.#set({ rooms: { ...this.#state.rooms, [id]: room } });
    return room;
  }

  async #loadHistory(id: string, limit: number): Promise<{ messages: StaffMessage[]; hasMore: boolean }> {
    this.calls.push(`older ${id}`);
    await turn();
    const room = this.#state.rooms[id];
    const all = this.messages.get(id) ?? [];
    const end = all.findIndex((one) => one.id === room?.messages[0]?.id);
    if (room?.hasMore !== true || end < 0) return { messages: [], hasMore: false };
    const messages = all.slice(Math.max(0, end - limit), end);
    const hasMore = end > messages.length;
    this.setRoom(id, { messages: [...messages, ...room.messages], hasMore });
    return { messages, hasMore };
  }

  #send(
    id: string,
    content: string,
    contentFormat: 'plain' | 'lexical',
    internal: boolean,
  ): Promise<StaffMessage> {
    this.calls.push(`send ${id} ${internal ? 'note ' : ''}${contentFormat} ${content}`);
    this.#sent += 1;
    const key = `sent-${this.#sent}`;
    const message = buildMessage(
      { id, visitor: { id: me, name: 'Me' } },
      content,
      own({ key, id: key, contentFormat, state: 'sending', ...(internal && { internal }) }),
    );
    this.#addToRoom(message);
    return this.#deliver(message);
  }

  async #deliver(message: StaffMessage): Promise<StaffMessage> {
    const { conversationId: id, key, internal } = message;
    try {
      await this.#answer('send');
      const item = this.#find(id);
      if (item.status === 'closed')
        throw sdkError('conversation_not_active', 'The conversation is closed.', 409);
      if (internal !== true && item.assignedTo !== me)
        throw sdkError('forbidden', 'A colleague has this conversation.', 403);
    } catch (thrown) {
      const error = asSdkError(thrown);
      const failed: StaffMessage = { ...message, state: 'failed', error };
      this.#addToRoom(failed);
      this.emit('message:failed', failed);
      throw error;
    }
    const { error: _error, ...rest } = message;
    const stored: StaffMessage = { ...rest, id: `stored-${key}`, state: 'sent' };
    this.#store(stored);
    this.#addToRoom(stored);
    this.#touch(stored);
    this.emit('message:sent', stored);
    return stored;
  }

  #unsent(key: string): StaffMessage | undefined {
    return Object.values(this.#state.rooms)
      .flatMap(({ messages }) => messages)
      .find((one) => one.key === key && one.state !== 'sent');
  }

  async #retry(key: string): Promise<StaffMessage> {
    this.calls.push(`retry ${key}`);
    const failed = this.#unsent(key);
    if (failed?.state !== 'failed') throw sdkError('unknown');
    const { error: _error, ...again } = failed;
    const message: StaffMessage = { ...again, state: 'sending' };
    this.#addToRoom(message);
    return this.#deliver(message);
  }

  #discard(key: string): boolean {
    this.calls.push(`discard ${key}`);
    const unsent = this.#unsent(key);
    if (unsent === undefined) return false;
    const { conversationId: id } = unsent;
    const messages = this.#state.rooms[id]?.messages ?? [];
    this.setRoom(id, { messages: messages.filter((one) => one.key !== key) });
    return true;
  }

  async #edit(
    id: string,
    messageId: string,
    patch: Pick<StaffMessage, 'content' | 'contentFormat'>,
  ): Promise<StaffMessage> {
    this.calls.push(`edit ${messageId} ${patch.contentFormat} ${patch.content}`);
    await this.#answer('edit');
    const before = this.messages.get(id)?.find((one) => one.id === messageId);
    if (before === undefined) throw sdkError('not_found', 'There is no such message.', 404);
    const edited: StaffMessage = { ...before, ...patch, editedAt: iso(start + 9_000_000) };
    const replace = (messages: readonly StaffMessage[] = []): StaffMessage[] =>
      messages.map((one) => (one.id === messageId ? edited : one));
    this.messages.set(id, replace(this.messages.get(id)));
    if (this.#state.rooms[id] === undefined) throw sdkError('unknown', 'The message is not here any more.');
    this.setRoom(id, { messages: replace(this.#state.rooms[id]?.messages) });
    this.emit('message:updated', edited);
    return edited;
  }

  async #delete(id: string, messageId: string): Promise<void> {
    this.calls.push(`delete ${messageId}`);
    await this.#answer('delete');
    const room = this.#state.rooms[id];
    if (room?.messages.some((one) => one.id === messageId) !== true)
      throw sdkError('not_found', 'There is no such message.', 404);
    this.messages.set(
      id,
      (this.messages.get(id) ?? []).filter((one) => one.id !== messageId),
    );
    this.setRoom(id, { messages: room.messages.filter((one) => one.id !== messageId) });
    this.emit('message:deleted', { conversationId: id, messageId });
  }

  #createClient(): StaffClient {
    const { calls } = this;
    return {
      signIn: () => Promise.reject(sdkError('unauthorized', 'no', 401)),
      resume: (token = '') => this.#resume(token),
      signOut: async () => this.signOut(),
      stop: () => calls.push('stop'),
      fileTarget: () => ({ address: 'https://chat.example.com/api/v1/staff/files', headers: {} }),
      on: this.#emitter.on,
      off: this.#emitter.off,
      getState: () => this.#state,
      subscribe: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
      listConversations: async (filter = {}) => {
        calls.push(`list ${JSON.stringify(filter)}`);
        await this.#answer('list');
        const { limit = 20, offset = 0 } = filter;
        const all = this.items.filter((item) => this.#fits(item, filter)).toSorted(compareItems);
        const conversations = all.slice(offset, offset + limit);
        this.#take(conversations);
        return { conversations, total: all.length };
      },
      getConversation: async (id) => {
        calls.push(`get ${id}`);
        await this.#answer('get');
        this.#take([this.#find(id)]);
        return this.#detail(id);
      },
      keepConversations: (ids) => {
        calls.push(`keep ${ids.size}`);
        const conversations = this.#state.conversations.filter(({ id }) => ids.has(id));
        if (conversations.length < this.#state.conversations.length) this.#set({ conversations });
      },
      join: (id) => this.#join(id),
      leave: (id) => {
        calls.push(`leave ${id}`);
        const { [id]: _left, ...rooms } = this.#state.rooms;
        this.#set({ rooms });
      },
      loadHistory: (id, limit = pageOf) => this.#loadHistory(id, limit),
      sendMessage: (id, message, { internal = false } = {}) => {
        const {
          content,
          contentFormat = 'plain',
          attachments = [],
        }: OutgoingMessage = typeof message === 'string' ? { content: message } : message;
        if (attachments.length > 0) calls.push(`files ${attachments.join(' ')}`);
        return this.#send(id, content, contentFormat, internal);
      },
      retry: (key) => this.#retry(key),
      discard: (key) => this.#discard(key),
      editMessage: (id, messageId, message) => {
        const { content, contentFormat = 'plain' } =
          typeof message === 'string' ? { content: message } : message;
        return this.#edit(id, messageId, { content, contentFormat });
      },
      deleteMessage: (id, messageId) => this.#delete(id, messageId),
      setFocus: (id) => {
        if (this.focused.at(-1) !== id) this.focused.push(id);
      },
      setTyping: (id, active = true) => {
        calls.push(`typing ${active ? 'on' : 'off'} ${id}`);
      },
      markRead: async (id) => {
        calls.push(`read ${id}`);
        this.change(id, { unreadCount: 0 });
      },
      accept: (id) =>
        this.#command('accept', id, {
          ...mine(),
          waitingSince: this.items.find((one) => one.id === id)?.waitingSince ?? null,
        }),
      release: (id) =>
        this.#command('release', id, {
          status: 'pending',
          assignedTo: null,
          assignedToName: null,
          waitingSince: iso(start),
        }),
      resolve: (id) => this.#command('resolve', id, { status: 'closed', waitingSince: null }),
      transfer: (id, memberId) =>
        this.#command('transfer', id, { assignedTo: memberId, assignedToName: 'Ann' }),
      reopen: (id) => this.#command('reopen', id, { ...mine(), waitingSince: null }),
      tag: (id, name) =>
        this.#order(`tag ${name}`, id, { tags: [...new Set([...this.#find(id).tags, name])].toSorted() }),
      untag: (id, name) =>
        this.#order(`untag ${name}`, id, { tags: this.#find(id).tags.filter((one) => one !== name) }),
      update: (id, { priority, subject }) =>
        this.#order('update', id, {
          ...(priority !== undefined && { priority }),
          ...(typeof subject === 'string' && { subject }),
        }),
      snooze: (id, until) => this.#command('snooze', id, { snoozedUntil: until }),
      wake: (id) => this.#order('wake', id, { snoozedUntil: null }),
      markUnread: (id) => this.#order('unread', id, { unreadCount: 1, unread: true }),
      bulk: async (ids, request) => {
        calls.push(`bulk ${request.act} ${ids.join(' ')}`);
        await turn();
        const results: BulkResult[] = [];
        for (const id of ids) {
          try {
            results.push({ id, ok: true, conversation: await this.#bulkAct(id, request) });
          } catch (thrown) {
            const { code, message } = asSdkError(thrown);
            results.push({ id, ok: false, error: code, message });
          }
        }
        return results;
      },
      call: async <T>(method: string, path: string, body?: object): Promise<T> => {
        calls.push(`${method} ${path}`);
        const answer = this.answers.get(`${method} ${path.replace(/\?.*$/, '')}`);
        if (answer === undefined) throw sdkError('not_found', 'There is no such endpoint.', 404);
        return answer(body) as T;
      },
    };
  }
}
