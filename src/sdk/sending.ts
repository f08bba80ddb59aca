// From the composer to the service: entries of the outbox go out one after another,
// as often as needed, stored once. Must not know sockets; the leading tab sends for all.
import { outgoing, presentMessage, type Core, type RawConversation, type RawMessage, type TabMessages } from './core.ts';
import { asSdkError, mayPass, sdkError } from './error.ts';
import { backoff } from './link.ts';
import { createOutbox, type OutboxEntry } from './outbox.ts';
import type { KeyValueStorage, OutgoingMessage, SdkConversation, SdkError, SdkMessage, Undo } from './types.ts';

export interface SendingOptions {
  readonly core: Core;
  readonly storage: KeyValueStorage | null;
  prefix(): string;
  /** The stored message has a place among the others already. */
  isPlaced(conversationId: string, messageId: string): boolean;
  /** A message turned out to be another than the one it was taken for. */
  unmark(conversationId: string, messageId: string): void;
  /** A draft has become a conversation. */
  began(draft: string, conversation: RawConversation): void;
  updateConversation(conversation: SdkConversation): void;
  /** What is shown has changed. */
  changed(): void;
}

export interface Sending {
  /** Resolves with the stored message. */
  send(conversationId: string, draft: boolean, message: string | OutgoingMessage, beforeFirst?: (key: string) => unknown): Promise<SdkMessage>;
  retry(key: string): Promise<SdkMessage>;
  /** Takes an unsent message back; false: there is none of that key. */
  discard(key: string): boolean;
  unsent(conversationId: string): readonly SdkMessage[];
  recognise(message: SdkMessage): SdkMessage;
  /** Reads what earlier pages left. */
  load(): void;
  /** Tells the leader about what it may not know. */
  share(): void;
  /** Sends what there is, when this tab leads. */
  pump(): void;
  /** Goes on at once, unless the service said when. */
  wake(): void;
  /** What other tabs say. */
  readonly heard: Pick<TabMessages, 'put' | 'removed' | 'sent' | 'failed' | 'rename'>;
  /** Rejects whoever waits, and forgets. */
  close(): void;
}

/** How far the page's clock may be ahead of the service's before a message of ours is not recognised any more. */
const clockSkewMs = 120_000;

export function createSending(options: SendingOptions): Sending {
  const { core, changed } = options;
  const { env, http, store, emit } = core;
  const outbox = createOutbox(options.storage, options.prefix);
  const waiting = new Map<string, { resolve(message: SdkMessage): void; reject(error: SdkError): void }>();
  const confirmed = new Map<string, SdkMessage>();
  const failures = new Map<string, SdkError>();
  const pending = new WeakMap<OutboxEntry, SdkMessage>();
  let busy = false;
  let attempt = 0;
  let cancel: Undo = () => undefined;

  function present(entry: OutboxEntry): SdkMessage {
    const { key, conversationId, content, contentFormat, failure } = entry;
    const known = confirmed.get(key) ?? pending.get(entry);
    if (known) return known;
    const message: SdkMessage = {
      key,
      id: key,
      conversationId,
      senderId: '',
      senderName: '',
      senderRole: 'visitor',
      own: true,
      content,
      contentFormat,
      contentHtml: null,
      createdAt: new Date(entry.at).toISOString(),
      editedAt: null,
      state: failure ? 'failed' : 'sending',
      ...(failure && { error: failures.get(key) ?? sdkError('unknown', failure) }),
    };
    pending.set(entry, message);
    return message;
  }

  function put(entry: OutboxEntry): void {
    outbox.put(entry);
    core.post('put', entry);
    changed();
  }

  function result(key: string): Promise<SdkMessage> {
    return new Promise((resolve, reject) => waiting.set(key, { resolve, reject }));
  }

  function answered(key: string): ReturnType<typeof waiting.get> {
    const caller = waiting.get(key);
    waiting.delete(key);
    return caller;
  }

  function waitUntil(retryAt: number | null): void {
    store.set({ retryAt });
    core.post('waiting', retryAt);
  }

  function sent(key: string, raw: RawMessage): void {
    const entry = outbox.find(key);
    if (!entry || entry.sentAs) return;
    const { conversationId, echo } = entry;
    const message = { ...presentMessage(raw, conversationId, core.visitorId()), key };
    if (echo && echo !== raw.id) options.unmark(conversationId, echo);
    if (options.isPlaced(conversationId, raw.id)) outbox.remove(key);
    else {
      confirmed.set(key, message);
      outbox.put({ ...entry, sentAs: raw.id });
    }
    changed();
    emit('message:sent', message);
    answered(key)?.resolve(message);
  }

  function failed(key: string, error: SdkError): void {
    const entry = outbox.find(key);
    if (!entry) return;
    failures.set(key, error);
    outbox.put({ ...entry, failure: error.message });
    changed();
    emit('message:failed', present(outbox.find(key) ?? entry));
    answered(key)?.reject(error);
  }

  function rename(draft: string, conversation: RawConversation): void {
    for (const entry of outbox.entries)
      if (entry.conversationId === draft) outbox.put({ ...entry, conversationId: conversation.id, draft: false });
    options.began(draft, conversation);
    changed();
  }

  async function deliver({ key }: OutboxEntry): Promise<void> {
    let entry = outbox.find(key);
    if (entry?.draft) {
      const { conversation } = await http.call<{ conversation: RawConversation }>('POST', '/conversations', {
        body: {},
        idempotencyKey: entry.conversationId,
        patience: 0,
      });
      rename(entry.conversationId, conversation);
      core.post('rename', entry.conversationId, conversation);
      entry = outbox.find(key);
    }
    // Taken back meanwhile.
    if (!entry) return;
    if (!entry.tried) put({ ...entry, tried: true });
    const { content, contentFormat, conversationId } = entry;
    const { message } = await http.call<{ message: RawMessage }>('POST', `/conversations/${conversationId}/messages`, {
      body: { content, contentFormat, clientMessageId: key },
      patience: 0,
      keepalive: true,
    });
    sent(key, message);
    core.post('sent', key, message);
  }

  async function run(): Promise<void> {
    busy = true;
    try {
      while (core.leads()) {
        const entry = outbox.entries.find((one) => !one.failure && !one.sentAs);
        if (!entry) break;
        try {
          await deliver(entry);
          attempt = 0;
          if (store.state.retryAt !== null) waitUntil(null);
        } catch (thrown) {
          const error = asSdkError(thrown);
          if (error.code === 'destroyed') return;
          if (mayPass(error)) {
            const wait = error.retryAfter === undefined ? backoff(attempt, env.random()) : error.retryAfter * 1000;
            attempt += 1;
            waitUntil(error.retryAfter === undefined ? null : env.now() + wait);
            cancel();
            cancel = env.after(wait, pump);
            emit('error', error);
            return;
          }
          failed(entry.key, error);
          core.post('failed', entry.key, error.code, error.message);
        }
      }
    } finally {
      busy = false;
    }
  }

  function pump(): void {
    cancel();
    if (!busy && core.leads()) void run();
  }

  return {
    send: (conversationId, draft, message, beforeFirst) => {
      const entry: OutboxEntry = {
        key: env.newId(),
        conversationId,
        draft,
        at: outbox.nextTime(env.now()),
        tried: false,
        failure: '',
        echo: '',
        sentAs: '',
        ...outgoing(message),
      };
      const stored = result(entry.key);
      beforeFirst?.(entry.key);
      put(entry);
      if (store.state.retryAt === null) pump();
      return stored;
    },
    retry: (key) => {
      const entry = outbox.find(key);
      if (!entry || !entry.failure) return Promise.reject(sdkError('unknown'));
      const stored = result(key);
      put({ ...entry, failure: '', at: outbox.nextTime(env.now()) });
      pump();
      return stored;
    },
    discard: (key) => {
      const entry = outbox.find(key);
      if (!entry || entry.sentAs) return false;
      outbox.remove(key);
      core.post('removed', key);
      changed();
      answered(key)?.reject(sdkError('destroyed'));
      return true;
    },
    unsent: (id) => outbox.entries.filter((one) => one.conversationId === id && !one.echo).map(present),
    recognise: (message) => {
      if (!message.own) return message;
      const entry =
        outbox.entries.find(({ sentAs }) => sentAs === message.id) ??
        outbox.entries.find(
          (one) =>
            one.tried &&
            !(one.echo || one.sentAs || one.failure) &&
            one.conversationId === message.conversationId &&
            one.content === message.content &&
            one.contentFormat === message.contentFormat &&
            Date.parse(message.createdAt) > one.at - clockSkewMs,
        );
      if (!entry) return message;
      if (!entry.sentAs) outbox.put({ ...entry, echo: message.id });
      else {
        outbox.remove(entry.key);
        confirmed.delete(entry.key);
      }
      return { ...message, key: entry.key };
    },
    load: () => {
      outbox.load();
      for (const { draft, conversationId, at } of outbox.entries) {
        const createdAt = new Date(at).toISOString();
        if (draft) options.updateConversation({ id: conversationId, status: 'pending', createdAt, updatedAt: createdAt, unread: 0, draft });
      }
    },
    share: () => {
      for (const entry of outbox.entries) if (!entry.sentAs) core.post('put', entry);
    },
    pump,
    wake: () => {
      if (store.state.retryAt === null) pump();
    },
    heard: {
    put: (entry) => {
      const own = outbox.find(entry.key);
      // What has been confirmed here is not unsent because another tab has not heard of it yet.
      if (own && own.sentAs) return;
      outbox.mirror({ ...own, ...entry });
      changed();
      if (store.state.retryAt === null) pump();
    },
    removed: (key) => {
      outbox.remove(key);
      changed();
    },
    sent,
    failed: (key, code, message) => failed(key, sdkError(code, message)),
    rename,
    },
    close: () => {
      cancel();
      outbox.clear();
      for (const { reject } of waiting.values()) reject(sdkError('destroyed'));
      waiting.clear();
    },
  };
}
