// From the composer to the service: what the service has not confirmed yet is kept in storage, one entry
// a key, so that tabs never overwrite each other's, and goes out one after another, as often as needed,
// stored once. Must not know sockets; the leading tab sends for all.
import {
  isoTime,
  namesIn,
  outgoing,
  presentMessage,
  type Core,
  type Failure,
  type OutboxEntry,
  type RawConversation,
  type RawMessage,
  type TabMessages,
} from './core.ts';
import { asSdkError, attempt, mayPass, sdkError } from './error.ts';
import { backoff } from './link.ts';
import type { Thread } from './thread.ts';
import type { KeyValueStorage, OutgoingMessage, SdkError, SdkMessage, Undo } from './types.ts';

export interface SendingOptions {
  readonly core_: Core;
  /** Null: there is none. */
  storage_(): KeyValueStorage | null;
  prefix_(): string;
  /** The stored messages of a conversation, as far as they are here. */
  thread_(conversationId: string): Pick<Thread<SdkMessage>, 'find_' | 'mark_'> | undefined;
  /** A draft has become a conversation. */
  began_(draft: string, conversation: RawConversation): void;
  /** There is a draft conversation from an earlier page. @param at ms since the epoch */
  drafted_(id: string, at: number): void;
  /** What is shown has changed. */
  changed_(): void;
}

export interface Sending {
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
  unsent_(conversationId: string): readonly SdkMessage[];
  recognise_(message: SdkMessage): SdkMessage;
  /** Reads what earlier pages left. */
  load_(): void;
  /** Tells the leader about what it may not know. */
  share_(): void;
  /** Sends what there is, when this tab leads: at once. */
  pump_(): unknown;
  /** Goes on at once, unless the service said when. */
  wake_(): void;
  /** What other tabs say. */
  readonly heard_: Pick<TabMessages, 'put' | 'removed' | 'sent' | 'failed' | 'rename'>;
  /** Rejects whoever waits, and forgets. */
  close_(): void;
}

/** How far the page's clock may be ahead of the service's before a message of ours is not recognised any more. */
const clockSkewMs = 120_000;

export function createSending(options: SendingOptions): Sending {
  const { core_: core, storage_: storage, prefix_: prefix, changed_: changed, thread_: thread } = options;
  const { env_: env, http_: http, store_: store, emit_: emit } = core;
  let entries: readonly OutboxEntry[] = [];
  // Who waits, by the entry's key.
  const waiting = new Map<string, readonly [resolve: (message: SdkMessage) => void, reject: (error: SdkError) => void]>();
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
  const erase = (key: string): unknown => attempt(() => storage()?.removeItem(prefix() + key));
  /** Adds an entry or takes over its newer form, in storage too, where it is as long as it is unsent. */
  const keep = (entry: OutboxEntry): void => {
    mirror(entry);
    if (entry.sentAs) erase(entry.key);
    else attempt(() => storage()?.setItem(prefix() + entry.key, JSON.stringify(entry)));
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
        ...presentMessage(raw, conversationId, ''),
        state: failure ? 'failed' : 'sending',
        ...(failure && { error: sdkError(...failure) }),
      };
      shown.set(entry, message);
    }
    return message;
  };

  const put = (entry: OutboxEntry): void => {
    keep(entry);
    core.post_('put', entry);
    changed();
  };

  /** Puts an entry last, and answers how it ends. */
  const queue = (entry: Omit<OutboxEntry, 'at'>): Promise<SdkMessage> => {
    const stored = new Promise<SdkMessage>((resolve, reject) => waiting.set(entry.key, [resolve, reject]));
    put({ ...entry, at: Math.max(env.now(), (entries.at(-1)?.at ?? 0) + 1) });
    return stored;
  };

  /** Whoever waits for an entry, once. */
  const caller = (key: string): ReturnType<typeof waiting.get> => {
    const waits = waiting.get(key);
    waiting.delete(key);
    return waits;
  };

  const waitUntil = (retryAt: number | null): void => {
    store.set_({ retryAt });
    core.post_('waiting', retryAt);
  };

  const sent = (key: string, raw: RawMessage): void => {
    const entry = find(key);
    if (!entry || entry.sentAs) return;
    const { conversationId, echo } = entry;
    const message = { ...presentMessage(raw, conversationId, core.visitorId_()), key };
    // It turned out to be another than the one it was taken for.
    if (echo && echo !== raw.id) thread(conversationId)?.mark_(echo, { key: echo });
    if (thread(conversationId)?.find_(raw.id)) drop(key);
    else {
      const confirmed = { ...entry, sentAs: raw.id };
      shown.set(confirmed, message);
      keep(confirmed);
    }
    changed();
    emit('message:sent', message);
    caller(key)?.[0](message);
  };

  const failed = (key: string, failure: Failure): void => {
    const entry = find(key);
    if (!entry) return;
    const refused = { ...entry, failure };
    keep(refused);
    changed();
    emit('message:failed', present(refused));
    caller(key)?.[1](sdkError(...failure));
  };

  const rename = (draft: string, conversation: RawConversation): void => {
    for (const entry of entries) if (entry.conversationId === draft) keep({ ...entry, conversationId: conversation.id, draft: false });
    options.began_(draft, conversation);
    changed();
  };

  const deliver = async ({ key, draft, conversationId: draftId }: OutboxEntry): Promise<void> => {
    if (draft) {
      const { conversation } = await http.call_<{ conversation: RawConversation }>('POST', '/conversations', {
        body: {},
        idempotencyKey_: draftId,
        patience_: 0,
      });
      rename(draftId, conversation);
      core.post_('rename', draftId, conversation);
    }
    const entry = find(key);
    // Taken back meanwhile.
    if (!entry) return;
    if (!entry.tried) put({ ...entry, tried: true });
    const { content, contentFormat, person, conversationId } = entry;
    const { message } = await http.call_<{ message: RawMessage }>('POST', `/conversations/${conversationId}/messages`, {
      body: { content, contentFormat, person, clientMessageId: key },
      patience_: 0,
      keepalive_: true,
    });
    sent(key, message);
    core.post_('sent', key, message);
  };

  const pump = async (): Promise<void> => {
    if (busy || !core.leads_()) return;
    cancel();
    const entry = entries.find((one) => !one.failure && !one.sentAs);
    if (!entry) return;
    busy = true;
    try {
      await deliver(entry);
      failures = 0;
      if (store.state_().retryAt !== null) waitUntil(null);
    } catch (thrown) {
      const error = asSdkError(thrown);
      const { code, message, status, retryAfter, cause } = error;
      if (mayPass(error)) {
        const wait = (retryAfter ?? 0) * 1000;
        waitUntil(wait ? env.now() + wait : null);
        cancel = env.after(wait || backoff(failures, env.random()), () => void pump());
        failures += 1;
        emit('error', error);
        return;
      }
      const failure: Failure = [code, message, status, retryAfter, cause];
      failed(entry.key, failure);
      core.post_('failed', entry.key, failure);
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
      const stored = queue({ ...outgoing(message), key, conversationId, draft, echo: '', sentAs: '' });
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
      core.post_('removed', key);
      changed();
      caller(key)?.[1](sdkError('destroyed'));
      return true;
    },
    unsent_: (id) => entries.filter((one) => one.conversationId === id && !one.echo).map(present),
    recognise_: (message) => {
      const { id, own, conversationId, content, contentFormat, createdAt } = message;
      if (!own) return message;
      const entry =
        entries.find(({ sentAs }) => sentAs === id) ??
        entries.find(
          (one) =>
            one.tried &&
            !(one.echo || one.sentAs || one.failure) &&
            one.conversationId === conversationId &&
            one.content === content &&
            one.contentFormat === contentFormat &&
            Date.parse(createdAt) > one.at - clockSkewMs,
        );
      if (!entry) return message;
      const { key } = entry;
      if (entry.sentAs) drop(key);
      else keep({ ...entry, echo: id });
      return { ...message, key };
    },
    load_: () => {
      for (const name of namesIn(storage(), prefix()))
        // Somebody else wrote there, or half of it? Not ours to send.
        attempt(() => {
          // What it resembled is looked for anew: this page has no history yet.
          mirror({ ...(JSON.parse(storage()?.getItem(name) ?? '') as OutboxEntry), echo: '' });
        });
      for (const { draft, conversationId, at } of entries) if (draft) options.drafted_(conversationId, at);
    },
    share_: () => {
      for (const entry of entries) if (!entry.sentAs) core.post_('put', entry);
    },
    pump_: pump,
    wake_: wake,
    heard_: {
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
      for (const [, reject] of waiting.values()) reject(sdkError('destroyed'));
      waiting.clear();
    },
  };
}
