// From the composer to the service: what the service has not confirmed yet is kept in storage, one entry
// a key, so that tabs never overwrite each other's, and goes out one after another, as often as needed,
// stored once. Must not know sockets; the leading tab sends for all.
import {
  isoTime,
  keysWithPrefix,
  normalizeOutgoing,
  toSdkMessage,
  type Context,
  type SdkErrorArgs,
  type OutboxEntry,
  type RawConversation,
  type RawMessage,
  type TabMessages,
} from './context.ts';
import { asSdkError, tryOrUndefined, isRetryable, sdkError } from './error.ts';
import { backoff } from './connection.ts';
import type { MessageList } from './message-list.ts';
import type { KeyValueStorage, OutgoingMessage, SdkError, SdkMessage, Undo } from './types.ts';

export interface OutboxContext extends Context {
  /** Null: there is none. */
  storage_(): KeyValueStorage | null;
  prefix_(): string;
  /** The stored messages of a conversation, as far as they are here. */
  messages_(conversationId: string): Pick<MessageList<SdkMessage>, 'find_' | 'patch_'> | undefined;
  /** Opens a conversation at the service, once for each key. */
  create_(key: string, body: object): Promise<RawConversation>;
  /** Sends over the open socket. Answers undefined where that is not certain to have worked: then REST does. */
  sendLive_?(conversationId: string, message: LiveMessage): Promise<RawMessage | undefined>;
  /** A draft has become a conversation. */
  onConversationCreated_(draft: string, conversation: RawConversation): void;
  /** There is a draft conversation from an earlier page. @param at ms since the epoch */
  onDraft_(id: string, at: number): void;
  /** What is shown has changed. */
  onChange_(): void;
}

/** What is sent of an entry. */
export type LiveMessage = Pick<OutboxEntry, 'content' | 'contentFormat' | 'person' | 'choice'> & {
  readonly clientMessageId: string;
};

export interface Outbox {
  /** Resolves with the stored message. */
  send_(
    conversationId: string,
    draft: boolean,
    message: string | OutgoingMessage,
    beforeFirst?: (key: string) => unknown,
  ): Promise<SdkMessage>;
  retry(key: string): Promise<SdkMessage>;
  /** Takes an unsent message back; false: there is none of that key. */
  discard_(key: string): boolean;
  pending_(conversationId: string): readonly SdkMessage[];
  /** @param sendingKey the entry that is on its way over the socket: what comes now and looks like it is it */
  matchStored_(message: SdkMessage, sendingKey?: string): SdkMessage;
  /** Reads what earlier pages left. */
  load_(): void;
  /** Tells the leader about what it may not know. */
  broadcastPending_(): void;
  /** Sends what there is, when this tab leads: at once. */
  flush_(): unknown;
  /** Goes on at once, unless the service said when. */
  resume_(): void;
  /** What other tabs say. */
  readonly tabHandlers_: Pick<TabMessages, 'put' | 'removed' | 'sent' | 'failed' | 'rename'>;
  /** Rejects the callers that wait, and forgets. */
  close_(): void;
}

/** How far the page's clock may be ahead of the service's before a message of ours is not recognised any more. */
const maxClockSkewMs = 120_000;

export function createOutbox(core: OutboxContext): Outbox {
  const { storage_: storage, prefix_: prefix, onChange_: changed, messages_: thread } = core;
  const { env_: env, http_: http, store_: store, emit_: emit } = core;
  let entries: readonly OutboxEntry[] = [];
  // Who waits, by the entry's key.
  const waiting = new Map<string, (result: SdkMessage | Promise<never>) => void>();
  // What each entry looks like: the same object as long as the entry is the same.
  const shown = new WeakMap<OutboxEntry, SdkMessage>();
  let busy = false;
  let failures = 0;
  let cancel: Undo = () => undefined;

  const find = (key: string): OutboxEntry | undefined => entries.find((one) => one.key === key);
  const forget = (key: string): void => {
    entries = entries.filter((one) => one.key !== key);
  };
  /** Adds an entry or takes over its newer form, here only. */
  const mirror = (entry: OutboxEntry): void => {
    forget(entry.key);
    entries = [...entries, entry].sort((one, other) => one.at - other.at);
  };
  // Full or blocked? It goes out all the same, as long as this page lives.
  const erase = (key: string): unknown => tryOrUndefined(() => storage()?.removeItem(prefix() + key));
  /** Adds an entry or takes over its newer form, in storage too, where it is as long as it is unsent. */
  const keep = (entry: OutboxEntry): void => {
    mirror(entry);
    if (entry.sentAs) erase(entry.key);
    else tryOrUndefined(() => storage()?.setItem(prefix() + entry.key, JSON.stringify(entry)));
  };
  const drop = (key: string): void => {
    forget(key);
    erase(key);
  };

  const present = (entry: OutboxEntry): SdkMessage => {
    const { key, conversationId, content, contentFormat, failure, at } = entry;
    let message = shown.get(entry);
    if (!message) {
      const raw = {
        id: key,
        senderId: '',
        senderName: '',
        senderRole: 'visitor',
        content,
        contentFormat,
        contentHtml: null,
        createdAt: isoTime(at),
      } as const;
      message = {
        ...toSdkMessage(raw, conversationId, ''),
        state: failure ? 'failed' : 'sending',
        ...(failure && { error: sdkError(...failure) }),
      };
      shown.set(entry, message);
    }
    return message;
  };

  const put = (entry: OutboxEntry): void => {
    keep(entry);
    core.broadcast_('put', entry);
    changed();
  };

  /** Puts an entry last, and answers how it ends. */
  const queue = (entry: Omit<OutboxEntry, 'at'>): Promise<SdkMessage> => {
    const stored = new Promise<SdkMessage>((resolve) => waiting.set(entry.key, resolve));
    put({ ...entry, at: Math.max(env.now(), (entries.at(-1)?.at ?? 0) + 1) });
    return stored;
  };

  /** The callers that wait for an entry, once. */
  const caller = (key: string): ReturnType<typeof waiting.get> => {
    const waits = waiting.get(key);
    waiting.delete(key);
    return waits;
  };

  const waitUntil = (retryAt: number | null): void => {
    store.set_({ retryAt });
    core.broadcast_('waiting', retryAt);
  };

  const sent = (key: string, raw: RawMessage): void => {
    const entry = find(key);
    if (!entry || entry.sentAs) return;
    const { conversationId, echo } = entry;
    const message = { ...toSdkMessage(raw, conversationId, core.visitorId_()), key };
    // It turned out to be another than the one it was taken for.
    if (echo && echo !== raw.id) thread(conversationId)?.patch_(echo, { key: echo });
    if (thread(conversationId)?.find_(raw.id)) drop(key);
    else {
      const confirmed = { ...entry, sentAs: raw.id };
      shown.set(confirmed, message);
      keep(confirmed);
    }
    changed();
    emit('message:sent', message);
    caller(key)?.(message);
  };

  const failed = (key: string, failure: SdkErrorArgs): void => {
    const entry = find(key);
    if (!entry) return;
    const refused = { ...entry, failure };
    keep(refused);
    changed();
    const message = present(refused);
    emit('message:failed', message);
    caller(key)?.(Promise.reject(message.error as SdkError));
  };

  const rename = (draft: string, conversation: RawConversation): void => {
    for (const entry of entries)
      if (entry.conversationId === draft) keep({ ...entry, conversationId: conversation.id, draft: false });
    core.onConversationCreated_(draft, conversation);
    changed();
  };

  const deliver = async ({ key, draft, conversationId: draftId }: OutboxEntry): Promise<void> => {
    if (draft) {
      const conversation = await core.create_(draftId, {});
      rename(draftId, conversation);
      core.broadcast_('rename', draftId, conversation);
    }
    const entry = find(key);
    // Taken back in between.
    if (!entry) return;
    const { conversationId } = entry;
    // The service takes of it what it knows: content, contentFormat, person, choice.
    const body = { ...entry, clientMessageId: key };
    // What seems to be stored already will not be told of again.
    let message = entry.echo ? undefined : await core.sendLive_?.(conversationId, body);
    // Taken back in between, with its visitor.
    if (!message && !find(key)) return;
    message ??= (
      await http.request_<{ message: RawMessage }>('POST', `/conversations/${conversationId}/messages`, {
        body,
        retries_: 0,
        fetch_: { keepalive: true },
      })
    ).message;
    sent(key, message);
    core.broadcast_('sent', key, message);
  };

  const pump = async (): Promise<void> => {
    if (busy || !core.isLeader_()) return;
    cancel();
    const entry = entries.find((one) => !one.failure && !one.sentAs);
    if (!entry) return;
    busy = true;
    try {
      await deliver(entry);
      failures = 0;
      waitUntil(null);
    } catch (thrown) {
      const error = asSdkError(thrown);
      const { code, message, status, retryAfter, cause } = error;
      if (isRetryable(error)) {
        const wait = (retryAfter ?? 0) * 1000;
        waitUntil(wait ? env.now() + wait : null);
        cancel = env.after(wait || backoff(failures, env.random()), () => void pump());
        failures += 1;
        emit('error', error);
        return;
      }
      const failure: SdkErrorArgs = [code, message, status, retryAfter, cause];
      failed(entry.key, failure);
      core.broadcast_('failed', entry.key, failure);
    } finally {
      busy = false;
    }
    return pump();
  };

  const wake = (): void => {
    if (store.state_().retryAt === null) void pump();
  };

  return {
    send_: (conversationId, draft, message, beforeFirst) => {
      const key = env.newId();
      beforeFirst?.(key);
      const stored = queue({
        ...normalizeOutgoing(message),
        key,
        conversationId,
        draft,
        echo: '',
        sentAs: '',
      });
      wake();
      return stored;
    },
    retry: async (key) => {
      const entry = find(key);
      if (!entry?.failure) throw sdkError('unknown');
      const stored = queue({ ...entry, failure: undefined });
      void pump();
      return stored;
    },
    discard_: (key) => {
      const entry = find(key);
      if (!entry || entry.sentAs) return false;
      drop(key);
      core.broadcast_('removed', key);
      changed();
      caller(key)?.(Promise.reject(sdkError('destroyed')));
      return true;
    },
    pending_: (id) => entries.filter((one) => one.conversationId === id && !one.echo).map(present),
    matchStored_: (message, sendingKey) => {
      const { id, own, conversationId, content, contentFormat, createdAt } = message;
      if (!own) return message;
      const entry =
        entries.find(({ sentAs }) => sentAs === id) ??
        entries.find(
          (one) =>
            !(one.echo || one.sentAs || one.failure) &&
            one.conversationId === conversationId &&
            one.content === content &&
            one.contentFormat === contentFormat &&
            (one.key === sendingKey || Date.parse(createdAt) > one.at - maxClockSkewMs),
        );
      if (!entry) return message;
      const { key } = entry;
      if (entry.sentAs) drop(key);
      else keep({ ...entry, echo: id });
      return { ...message, key };
    },
    load_: () => {
      for (const name of keysWithPrefix(storage(), prefix()))
        // Another script wrote there, or half of it? Not ours to send.
        tryOrUndefined(() => {
          // What it resembled is looked for anew: this page has no history yet.
          mirror({ ...(JSON.parse(storage()?.getItem(name) ?? '') as OutboxEntry), echo: '' });
        });
      for (const { draft, conversationId, at } of entries) if (draft) core.onDraft_(conversationId, at);
    },
    broadcastPending_: () => {
      for (const entry of entries) if (!entry.sentAs) core.broadcast_('put', entry);
    },
    flush_: pump,
    resume_: wake,
    tabHandlers_: {
      put: (entry) => {
        const own = find(entry.key);
        // What has been confirmed here is not unsent because another tab has not heard of it yet.
        if (own && own.sentAs) return;
        mirror({ ...own, ...entry });
        changed();
        wake();
      },
      removed: (key) => {
        drop(key);
        changed();
      },
      sent,
      failed,
      rename,
    },
    close_: () => {
      cancel();
      entries = [];
      for (const resolve of waiting.values()) resolve(Promise.reject(sdkError('destroyed')));
      waiting.clear();
    },
  };
}
