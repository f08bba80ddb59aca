// From the composer to the service: takes messages, answers their callers how they ended, and keeps the tabs of one visitor
// the same. Must not know sockets.
import { normalizeOutgoing, type OutboxEntry } from './context.ts';
import { flush, resume, takeCaller } from './delivery.ts';
import { sdkError } from './error.ts';
import {
  dropEntry,
  findEntry,
  keepEntry,
  mirrorEntry,
  newMessageKey,
  type OutboxCore,
} from './outbox-entries.ts';
import type { OutgoingMessage, SdkMessage } from './types.ts';

/** An outbox in which nothing is. */
export const emptyOutbox = (): Pick<OutboxCore, 'entries_' | 'waiting_' | 'failures_'> => ({
  entries_: [],
  waiting_: new Map(),
  failures_: 0,
});

/** Puts an entry last, and answers how it ends. */
function queue(core: OutboxCore, given: Omit<OutboxEntry, 'at'>): Promise<SdkMessage> {
  const entry = { ...given, at: Math.max(core.env_.now(), (core.entries_.at(-1)?.at ?? 0) + 1) };
  const stored = new Promise<SdkMessage>((resolve) => core.waiting_.set(entry.key, resolve));
  keepEntry(core, entry);
  core.broadcast_('put', entry);
  core.publish_();
  return stored;
}

/** Resolves with the stored message. */
export function send(
  core: OutboxCore,
  conversationId: string,
  draft: boolean,
  message: string | OutgoingMessage,
  key = newMessageKey(core.env_),
): Promise<SdkMessage> {
  const stored = queue(core, {
    ...normalizeOutgoing(message),
    key,
    conversationId,
    draft,
    echo: '',
    sentAs: '',
  });
  resume(core);
  return stored;
}

/** @throws SdkError when no message of that key was refused */
export async function retry(core: OutboxCore, key: string): Promise<SdkMessage> {
  const entry = findEntry(core, key);
  if (!entry?.failure) throw sdkError('unknown');
  const stored = queue(core, { ...entry, failure: undefined });
  void flush(core);
  return stored;
}

/** Takes an unsent message back; false: there is none of that key. */
export function discard(core: OutboxCore, key: string): boolean {
  const entry = findEntry(core, key);
  if (!entry || entry.sentAs) return false;
  onRemoved(core, key);
  core.broadcast_('removed', key);
  takeCaller(core, key)?.(Promise.reject(sdkError('destroyed')));
  return true;
}

/** Tells the leader about what it may not know. */
export function broadcastPending(core: OutboxCore): void {
  for (const entry of core.entries_) if (!entry.sentAs) core.broadcast_('put', entry);
}

/** Another tab has an entry. */
export function onPut(core: OutboxCore, entry: OutboxEntry): void {
  const own = findEntry(core, entry.key);
  // What has been confirmed here is not unsent because another tab has not heard of it yet.
  if (own && own.sentAs) return;
  mirrorEntry(core, { ...own, ...entry });
  core.publish_();
  resume(core);
}

/** An entry was taken back. */
export function onRemoved(core: OutboxCore, key: string): void {
  dropEntry(core, key);
  core.publish_();
}

/** Rejects the callers that wait, and forgets. */
export function closeOutbox(core: OutboxCore): void {
  core.cancelRetry_?.();
  core.entries_ = [];
  for (const resolve of core.waiting_.values()) resolve(Promise.reject(sdkError('destroyed')));
  core.waiting_.clear();
}
