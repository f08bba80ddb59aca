// What the service has not confirmed yet: in storage one entry a key, so that tabs never overwrite each other's, and
// here in the order in which it goes out. Must not send.
import {
  isoTime,
  keysWithPrefix,
  toSdkMessage,
  type Context,
  type OutboxEntry,
  type RawMessage,
} from './context.ts';
import { tryOrUndefined } from './error.ts';
import type { MessageList } from './message-list.ts';
import type { Environment, KeyValueStorage, SdkMessage, Undo } from './types.ts';

/** What is sent of an entry. */
export type LiveMessage = Pick<OutboxEntry, 'content' | 'contentFormat' | 'person' | 'choice'> & {
  readonly clientMessageId: string;
};

/** What the outbox knows, and what it asks of those around it. */
export interface OutboxCore extends Context {
  /** Neither null nor undefined where there is one. */
  readonly storage_: KeyValueStorage | null | undefined;
  /** What the names of this visitor's entries begin with. */
  readonly keyPrefix_: string;
  entries_: readonly OutboxEntry[];
  /** Who waits, by the entry's key. */
  readonly waiting_: Map<string, (result: SdkMessage | Promise<never>) => void>;
  /** An entry is on its way. */
  busy_?: boolean;
  failures_: number;
  cancelRetry_?: Undo;
  /** The stored messages of a conversation, as far as they are here. */
  messages_(conversationId: string): Pick<MessageList<SdkMessage>, 'find_' | 'patch_'> | undefined;
  /** Makes a draft a conversation of the service, once, and renames its entries. */
  openDraft_?(core: this, draft: string): Promise<void>;
  /** Sends over the open socket. Answers undefined where that is not certain to have worked: then REST does. */
  sendLive_?(core: this, conversationId: string, message: LiveMessage): Promise<RawMessage | undefined>;
  /** What is shown has changed. */
  publish_(): void;
}

/** How far the page's clock may be ahead of the service's before a message of ours is not recognised any more. */
const maxClockSkewMs = 120_000;
/** What each entry looks like: the same object as long as the entry is the same. */
export const shown = new WeakMap<OutboxEntry, SdkMessage>();

/**
 * The key of a new message. It begins with the time, so that a server's index has it beside the newest ones and not on a
 * page of its own.
 */
export const newMessageKey = (env: Environment): string => `${env.now()}-${env.newId()}`;

export function findEntry(core: OutboxCore, key: string): OutboxEntry | undefined {
  return core.entries_.find((one) => one.key === key);
}

/** Adds an entry or takes over its newer form, here only. */
export function mirrorEntry(core: OutboxCore, entry: OutboxEntry): void {
  core.entries_ = [...core.entries_.filter((one) => one.key !== entry.key), entry].sort(
    (one, other) => one.at - other.at,
  );
}

/** Adds an entry or takes over its newer form, in storage too, where it is as long as it is unsent. */
export function keepEntry(core: OutboxCore, entry: OutboxEntry): void {
  mirrorEntry(core, entry);
  if (entry.sentAs) erase(core, entry.key);
  else tryOrUndefined(() => core.storage_?.setItem(core.keyPrefix_ + entry.key, JSON.stringify(entry)));
}

export function dropEntry(core: OutboxCore, key: string): void {
  core.entries_ = core.entries_.filter((one) => one.key !== key);
  erase(core, key);
}

/** Full or blocked? It goes out all the same, as long as this page lives. */
function erase(core: OutboxCore, key: string): void {
  tryOrUndefined(() => core.storage_?.removeItem(core.keyPrefix_ + key));
}

/** An entry as the page sees it. */
export function messageOfEntry(entry: OutboxEntry): SdkMessage {
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
      ...(failure && { error: Object.assign(new Error(), failure) }),
    };
    shown.set(entry, message);
  }
  return message;
}

/** What waits to be sent in a conversation, as the page sees it. */
export function pendingMessages(core: OutboxCore, conversationId: string): SdkMessage[] {
  return core.entries_
    .filter((one) => one.conversationId === conversationId && !one.echo)
    .map(messageOfEntry);
}

/**
 * A stored message takes its place: one of ours is known here by the key it had before.
 * @param sendingKey the entry that is on its way over the socket: what comes now and looks like it is it
 */
export function matchStored(core: OutboxCore, message: SdkMessage, sendingKey?: string): SdkMessage {
  const { id, own, conversationId, content, contentFormat, createdAt } = message;
  const { entries_: entries } = core;
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
  if (entry.sentAs) dropEntry(core, key);
  else keepEntry(core, { ...entry, echo: id });
  return { ...message, key };
}

/** Reads what earlier pages left. */
export function loadEntries(core: OutboxCore): void {
  const { storage_: storage, keyPrefix_: prefix } = core;
  for (const name of keysWithPrefix(storage, prefix))
    // Another script wrote there, or half of it? Not ours to send.
    tryOrUndefined(() => {
      // What it resembled is looked for anew: this page has no history yet.
      mirrorEntry(core, { ...(JSON.parse(storage?.getItem(name) ?? '') as OutboxEntry), echo: '' });
    });
}
