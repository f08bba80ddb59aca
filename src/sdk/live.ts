// What a visitor's page says over the socket: by its own, or over the tab that leads. Must not know what is answered.
import type { RawMessage } from './context.ts';
import type { Core } from './core.ts';
import { matchStored, type LiveMessage } from './outbox-entries.ts';
import type { SdkMessage } from './types.ts';

/** How long a message may be on its way over the socket before it goes by REST. */
const ackTimeoutMs = 10_000;

/** Listens to a room from a message on: by this tab's own socket, or by the leader's. */
export function listen(core: Core, id: string, after: string): void {
  if (!core.isLeader_()) core.broadcast_('subscribe', id, after);
  else if (core.connection_.send_('room:join', { conversationId: id, lastMessageId: after, echo: true }))
    core.asked_.push(after);
  else core.connection_.start_();
}

/**
 * Sends a message over the socket. Its place among the others, and its form, come by catching up. Whatever
 * else happens, REST may send it again: the service stores it once.
 */
export async function sendLive(
  core: Core,
  conversationId: string,
  message: LiveMessage,
): Promise<RawMessage | undefined> {
  const cursor = core.messages_(conversationId)?.syncCursor_() ?? '';
  if (!cursor) return undefined;
  // It may have been refused once, and does not come back by itself then.
  core.connection_.start_();
  if (!core.connection_.send_('message:send', { conversationId, ...message })) return undefined;
  listen(core, conversationId, cursor);
  return new Promise((resolve) => {
    core.sendingKey_ = message.clientMessageId;
    core.resolveSending_ = (stored) => {
      cancel();
      core.sendingKey_ = '';
      resolve(stored);
    };
    const cancel = core.env_.after(ackTimeoutMs, core.resolveSending_);
  });
}

/** A stored message takes its place: it may be the one that is on its way. */
export function place(core: Core, message: SdkMessage): SdkMessage {
  const placed = matchStored(core, message, core.sendingKey_);
  if (placed.key === core.sendingKey_) core.resolveSending_?.(placed);
  return placed;
}

export function sendTyping(core: Core, id: string, active: boolean): void {
  if (!core.isLeader_()) core.broadcast_('typing', id, active);
  // The count is known of the rooms that are joined: in any other the service refuses it.
  else if (core.rooms_.get(id)?.counted_)
    core.connection_.send_(active ? 'typing:start' : 'typing:stop', { conversationId: id });
}
