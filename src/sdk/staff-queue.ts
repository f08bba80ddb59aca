// The conversations that a member's client knows of: pages, single ones, and asking again
// how one stands after something happened to it. Must not open sockets or send messages.
import { createAnswers } from './answers.ts';
import type { Emitter } from './emitter.ts';
import { asSdkError, isRetryable } from './error.ts';
import type { HttpClient } from './http.ts';
import type {
  BulkRequest,
  BulkResult,
  QueueFilter,
  StaffConversation,
  StaffConversationListItem,
  StaffEvents,
} from './staff-types.ts';
import type { Environment } from './types.ts';

type Items = readonly StaffConversationListItem[];
type Activity = StaffEvents['conversation:activity'];

export interface StaffQueueOptions {
  readonly env: Environment;
  readonly http: HttpClient;
  readonly emit: Emitter<StaffEvents>['emit_'];
  get(): Items;
  set(conversations: Items): void;
  /** No member is signed in, or the client has ended. */
  isStopped(): boolean;
  report(error: unknown): void;
}

export interface StaffQueue {
  /** Changes what is known of a conversation, where it is known. */
  patch(id: string, patch: Partial<StaffConversationListItem>): void;
  /** A message was edited or deleted: asks how its conversation stands where that may show in the queue. */
  outdated(change: StaffEvents['conversation:outdated']): void;
  /** A tag has another name on every conversation that is known; null: it is gone. */
  renameTag(change: StaffEvents['tag:changed']): void;
  /** Asks how a conversation stands: soon, and once for many events. */
  refresh(id: string): void;
  /** A message came: asks how its conversation stands only where that does not follow from what is known. */
  heard(activity: Activity): void;
  /** This member has read all but so many messages of the visitor. */
  hasRead(id: string, unreadCount: number): void;
  get(id: string): Promise<StaffConversation>;
  list(filter: QueueFilter): Promise<{ readonly conversations: Items; readonly total: number }>;
  act(id: string, name: string, body?: object): Promise<StaffConversation>;
  /** A change by any method. @param path below `/conversations/` */
  change(method: string, path: string, body?: object): Promise<StaffConversation>;
  bulk(ids: readonly string[], act: BulkRequest): Promise<readonly BulkResult[]>;
  retain(ids: ReadonlySet<string>): void;
}

const refreshDelayMs = 100;
/** Each of these questions counts against the organization's plan: a few at once, and then so many a minute. */
const refreshIntervalMs = 300;
const refreshBurst = 15;

/** How long to wait before the next question, ms. */
function createPace(env: Environment): () => number {
  /** When all that was asked would be done at the steady pace (the generic cell rate algorithm). */
  let pacedUntil = 0;
  return () => {
    const now = env.now();
    pacedUntil = Math.max(now, pacedUntil) + refreshIntervalMs;
    return Math.max(refreshDelayMs, pacedUntil - now - refreshBurst * refreshIntervalMs);
  };
}

/** What is known of conversations, kept by `get` and `set` of the options. */
export function createStaffQueue(options: StaffQueueOptions): StaffQueue {
  const { env, http, emit } = options;
  const refreshing = new Map<string, 'due' | 'asked' | 'again'>();
  const pause = createPace(env);
  const { ask, apply } = createAnswers();

  function take(items: Items): void {
    const fresh = new Set(items.map(({ id }) => id));
    options.set(
      [...options.get().filter(({ id }) => !fresh.has(id)), ...items].toSorted((one, other) =>
        one.updatedAt === other.updatedAt ? 0 : one.updatedAt < other.updatedAt ? 1 : -1,
      ),
    );
    for (const item of items) emit('conversation', item);
  }

  function takeOne(conversation: StaffConversation): StaffConversation {
    const { participants: _who, resolvedBy: _by, resolvedAt: _at, ...item } = conversation;
    take([item]);
    return conversation;
  }

  async function get(id: string): Promise<StaffConversation> {
    const question = http.request_<{ conversation: StaffConversation }>('GET', `/conversations/${id}`);
    return (await ask(question, ({ conversation }) => takeOne(conversation))).conversation;
  }

  function refresh(id: string): void {
    const under = refreshing.get(id);
    if (under !== undefined) {
      if (under === 'asked') refreshing.set(id, 'again');
      return;
    }
    refreshing.set(id, 'due');
    env.after(pause(), () => {
      if (options.isStopped()) return void refreshing.delete(id);
      refreshing.set(id, 'asked');
      get(id)
        .catch((error: unknown) => {
          // Removed in between: erased, or past its time.
          if (asSdkError(error).status === 404) options.set(options.get().filter((one) => one.id !== id));
          else if (!isRetryable(asSdkError(error))) options.report(error);
        })
        .finally(() => {
          const more = refreshing.get(id) === 'again';
          refreshing.delete(id);
          if (more) refresh(id);
        });
    });
  }

  const known = (id: string): StaffConversationListItem | undefined =>
    options.get().find((one) => one.id === id);

  function patch(id: string, values: Partial<StaffConversationListItem>): void {
    apply(() => {
      const old = known(id);
      if (old !== undefined) take([{ ...old, ...values }]);
    });
  }

  async function change(method: string, path: string, body?: object): Promise<StaffConversation> {
    const { conversation } = await http.request_<{ conversation: StaffConversation }>(
      method,
      `/conversations/${path}`,
      body === undefined ? {} : { body },
    );
    return takeOne(conversation);
  }

  return {
    patch,
    outdated: ({ conversationId: id, messageId }) =>
      apply(() => {
        const old = known(id);
        if (old !== undefined && (old.unread || old.lastMessage?.id === messageId)) refresh(id);
      }),
    renameTag: (change) =>
      apply(() => {
        const changed = options.get().filter(({ tags }) => tags.includes(change.tag));
        if (changed.length > 0) take(changed.map((item) => withTag(item, change)));
      }),
    refresh,
    heard: (activity) => {
      const id = activity.conversationId;
      // What a visitor writes opens a closed conversation, too.
      if (known(id) === undefined || known(id)?.status === 'closed') return refresh(id);
      return apply(() => {
        const old = known(id);
        // Otherwise the answer to a question had it.
        if (old !== undefined && isNewer(activity, old.lastMessage)) take([withMessage(old, activity)]);
      });
    },
    hasRead: (id, unreadCount) => patch(id, { unreadCount, unread: unreadCount > 0 }),
    get,
    list: async (filter) => {
      const path = `/conversations?${queryOf(filter)}`;
      return ask(
        http.request_<{ conversations: StaffConversationListItem[]; total: number }>('GET', path),
        ({ conversations }) => take(conversations),
      );
    },
    act: (id, name, body = {}) => change('POST', `${id}/${name}`, body),
    change,
    bulk: async (ids, act) => {
      const { results } = await http.request_<{ results: BulkResult[] }>('POST', '/conversations/bulk', {
        body: { ids, ...act },
      });
      for (const result of results) if (result.ok) takeOne(result.conversation);
      return results;
    },
    retain: (ids) => {
      const kept = options.get().filter(({ id }) => ids.has(id));
      if (kept.length < options.get().length) options.set(kept);
    },
  };
}

function queryOf(filter: QueueFilter): string {
  return new URLSearchParams(
    Object.entries(filter).flatMap(([name, value]: [string, unknown]) =>
      [value].flat().map((one): [string, string] => [name, String(one)]),
    ),
  ).toString();
}

/** Whether a message follows the last one that is known: ids rise with time, too. */
function isNewer(
  { lastMessageId, createdAt }: Activity,
  last: StaffConversationListItem['lastMessage'],
): boolean {
  if (last === null || last === undefined || last.createdAt < createdAt) return true;
  return last.createdAt === createdAt && last.id < lastMessageId;
}

/** A conversation whose tag has another name, or is gone; its tags in the order of the service. */
function withTag(
  item: StaffConversationListItem,
  { tag, renamed }: StaffEvents['tag:changed'],
): StaffConversationListItem {
  const tags = [...item.tags.filter((one) => one !== tag), ...(renamed === null ? [] : [renamed])];
  return {
    ...item,
    tags: tags.toSorted((one, other) => (one.toLowerCase() < other.toLowerCase() ? -1 : 1)),
  };
}

function withMessage(
  old: StaffConversationListItem,
  {
    lastMessageId: id,
    updatedAt,
    preview,
    waiting,
    senderId,
    senderRole,
    senderName,
    createdAt,
    internal,
  }: Activity,
): StaffConversationListItem {
  const unreadCount = old.unreadCount + (senderRole === 'visitor' ? 1 : 0);
  return {
    ...old,
    updatedAt,
    lastMessage: {
      id,
      senderId,
      senderRole,
      senderName,
      preview,
      createdAt,
      ...(internal === true && { internal }),
    },
    waitingSince: waiting ? (old.waitingSince ?? createdAt) : null,
    unreadCount,
    unread: unreadCount > 0,
  };
}
