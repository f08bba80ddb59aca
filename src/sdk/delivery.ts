// Sends what the outbox holds, one entry after another and as often as needed; each is stored once. The leading tab sends
// for all. Must not know sockets.
import { toSdkMessage, type OutboxEntry, type RawMessage, type CarriedError } from './context.ts';
import { backoff } from './connection.ts';
import { asSdkError, isRetryable } from './error.ts';
import { dropEntry, findEntry, keepEntry, messageOfEntry, shown, type OutboxCore } from './outbox-entries.ts';
import type { SdkError } from './types.ts';

/** The caller that waits for an entry, once. */
export function takeCaller({ waiting_: waiting }: OutboxCore, key: string): ReturnType<typeof waiting.get> {
  const caller = waiting.get(key);
  waiting.delete(key);
  return caller;
}

/** It turned out to be another than the one it was taken for, which gets its own key back. */
function release(core: OutboxCore, { conversationId, echo }: OutboxEntry, id?: string): void {
  if (echo !== id) core.messages_(conversationId)?.patch_(echo, { key: echo });
}

/** An entry was stored, by this tab or another. */
export function onSent(core: OutboxCore, key: string, raw: RawMessage): void {
  const entry = findEntry(core, key);
  if (!entry || entry.sentAs) return;
  const { conversationId } = entry;
  const { id } = raw;
  const message = { ...toSdkMessage(raw, conversationId, core.visitorId_), key };
  const thread = core.messages_(conversationId);
  release(core, entry, id);
  if (thread?.find_(id)) dropEntry(core, key);
  else {
    const confirmed = { ...entry, sentAs: id };
    shown.set(confirmed, message);
    keepEntry(core, confirmed);
  }
  core.publish_();
  core.emit_('message:sent', message);
  takeCaller(core, key)?.(message);
}

/** An entry was refused for good. */
export function onFailed(core: OutboxCore, key: string, failure: CarriedError): void {
  const entry = findEntry(core, key);
  if (!entry) return;
  release(core, entry);
  const refused = { ...entry, echo: '', failure };
  keepEntry(core, refused);
  core.publish_();
  const message = messageOfEntry(refused);
  core.emit_('message:failed', message);
  takeCaller(core, key)?.(Promise.reject(message.error as SdkError));
}

async function deliver(
  core: OutboxCore,
  { key, draft, conversationId: draftId }: OutboxEntry,
): Promise<void> {
  if (draft) await core.openDraft_?.(core, draftId);
  const entry = findEntry(core, key);
  // Taken back in between.
  if (!entry) return;
  const { conversationId } = entry;
  // The service takes of it what it knows: content, contentFormat, person, choice.
  const body = { ...entry, clientMessageId: key };
  // What seems to be stored already will not be told of again.
  let message = entry.echo ? undefined : await core.sendLive_?.(core, conversationId, body);
  if (!message) {
    // Taken back in between, with its visitor.
    if (!findEntry(core, key)) return;
    ({ message } = await core.request_<{ message: RawMessage }>(
      'POST',
      `/conversations/${conversationId}/messages`,
      {
        body,
        retries_: 0,
        // A browser refuses a body over 64 KiB then, as if the service could not be reached; a character takes up to six bytes.
        fetch_: { keepalive: entry.content.length < 10_000 },
      },
    ));
  }
  onSent(core, key, message);
  core.broadcast_('sent', key, message);
}

function waitUntil(core: OutboxCore, retryAt: number | null): void {
  core.set_({ retryAt });
  core.broadcast_('waiting', retryAt);
}

/** Sends what there is, when this tab leads: at once. */
export async function flush(core: OutboxCore): Promise<void> {
  const { env_: env } = core;
  if (core.busy_ || !core.isLeader_()) return;
  core.cancelRetry_?.();
  waitUntil(core, null);
  const entry = core.entries_.find((one) => !(one.failure || one.sentAs));
  if (!entry) return;
  core.busy_ = true;
  try {
    await deliver(core, entry);
    core.failures_ = 0;
  } catch (thrown) {
    const error = asSdkError(thrown);
    if (isRetryable(error)) {
      // First what is wrong: a page says of the time that is to be waited what for.
      core.report_(error);
      const wait = (error.retryAfter ?? 0) * 1000;
      if (wait) waitUntil(core, env.now() + wait);
      core.cancelRetry_ = env.after(wait || backoff(core.failures_, env), () => void flush(core));
      core.failures_ += 1;
      return;
    }
    const failure = { ...error, message: error.message };
    onFailed(core, entry.key, failure);
    core.broadcast_('failed', entry.key, failure);
  } finally {
    core.busy_ = false;
  }
  return flush(core);
}

/** Goes on at once, unless the service said when and that is still to come. */
export function resume(core: OutboxCore): void {
  if ((core.state_().retryAt ?? 0) <= core.env_.now()) void flush(core);
}
