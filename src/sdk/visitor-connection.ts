// The socket of the tab that leads: what is done about its frames and its status, and what is asked again when it was lost.
import { socketPath } from '../protocol/codes.ts';
import type { EventPayloads } from '../protocol/events.ts';
import { createConnection, type Connection } from './connection.ts';
import { refreshConversation } from './conversation-list.ts';
import type { Core } from './core.ts';
import { sdkError } from './error.ts';
import { handleFrame } from './room-events.ts';
import { disconnectRooms, enterRooms, forgetRoom } from './rooms.ts';
import type { ConnectionStatus } from './types.ts';
import { introduce, keepList, loadConfig } from './visitor-requests.ts';

/** The connection of this tab, or of the one that leads, has another status. */
export function setStatus(core: Core, connection: ConnectionStatus): void {
  const before = core.state_().connection;
  if (!core.set_({ connection })) return;
  core.emit_('connection', { status: connection });
  if (before === 'online') core.missed_ = true;
  if (connection !== 'online') {
    core.resolveSending_?.();
    return disconnectRooms(core);
  }
  enterRooms(core, true);
  void introduce(core);
  if (!core.isLeader_()) return;
  const id = core.openId_();
  // Whether anybody is there may have changed since the page was loaded.
  loadConfig(core).catch(core.report_);
  if (!core.missed_) return;
  core.missed_ = false;
  keepList(core);
  if (core.messages_(id)) refreshConversation(core, id).catch(core.report_);
}

function onRefused(
  core: Core,
  { code, message, conversationId = '', clientMessageId = '' }: EventPayloads['error'],
): void {
  // REST says more about why.
  if (clientMessageId) return core.resolveSending_?.();
  core.report_(sdkError(code, message));
  if (code === 'RATE_LIMITED') return core.connection_.reconnect_();
  // What else is refused is joining: there is no such conversation any more.
  core.asked_.shift();
  forgetRoom(core, conversationId);
}

/** @param base the service's address, without a slash at its end */
export function createVisitorConnection(core: Core, base: string): Connection {
  return createConnection({
    env_: core.env_,
    address_: async () => {
      const { token } = await core.request_<{ token: string }>('POST', '/widget/ws-token', {
        retries_: 0,
      });
      return `${base.replace(/^http/, 'ws')}${socketPath}?token=${token}`;
    },
    onFrame_: (frame) => {
      const { type, payload } = frame;
      if (type === 'error') return onRefused(core, payload);
      // Where the catching up began that it belongs to, if it belongs to any.
      const [after = ''] = core.asked_;
      if (type === 'messages:sync') core.asked_[0] = payload.messages.at(-1)?.id ?? after;
      handleFrame(core, frame, after);
      core.broadcast_('frame', frame, after);
      if (type === 'room:joined') core.asked_.shift();
    },
    onStatus_: (status) => {
      // What another connection was asked, this one will not answer.
      core.asked_.length = 0;
      setStatus(core, status);
      core.broadcast_('status', status);
    },
    onRefused_: core.report_,
  });
}
