// What each frame means for the room that it is of, and what the page is told of it: new, edited and deleted messages,
// typing, read marks, and who has the conversation.
import type { EventPayloads, EventType } from '../protocol/events.ts';
import type { EventFrame } from './connection.ts';
import { toSdkMessage } from './context.ts';
import {
  findConversation,
  recount,
  refreshConversation,
  shareConversation,
  updateConversation,
} from './conversation-list.ts';
import type { Core } from './core.ts';
import { endTyping, onDeleted, onEdited, publish, type Room } from './rooms.ts';
import type { SdkMessage } from './types.ts';

/** What is done about a frame of a room, by its type. */
type FrameHandlers = {
  readonly [T in EventType]?: (
    core: Core,
    payload: EventPayloads[T],
    id: string,
    here: Room,
    after: string,
  ) => unknown;
};

/** How many messages are not the visitor's own. */
const countForeign = (messages: readonly SdkMessage[]): number => messages.filter((one) => !one.own).length;

/** New messages: counts what is not the visitor's own, and tells the page. */
function onArrived(core: Core, id: string, news: readonly SdkMessage[]): void {
  const { unread, updatedAt } = updateConversation(core, { id });
  const latest = news.at(-1)?.createdAt ?? '';
  updateConversation(core, {
    id,
    unread: unread + countForeign(news),
    updatedAt: latest > updatedAt ? latest : updatedAt,
  });
  publish(core);
  // One of ours is known by the key it had before it was stored.
  for (const message of news) if (message.key === message.id) core.emit_('message', message);
}

/** A member of the staff is online, or not any more. */
export function setOnline(core: Core, { online }: { readonly online: boolean }): void {
  if (core.set_({ online })) core.emit_('presence', { online });
}

const handlers: FrameHandlers = {
  'message:new': (core, payload, id, here) => {
    endTyping(core, here, payload.senderId);
    onArrived(core, id, here.messages_.addLive_(toSdkMessage(payload, id, core.visitorId_)));
  },
  'messages:sync': (core, { messages, hasMore, edited = [], deleted = [] }, id, here, after) => {
    onArrived(
      core,
      id,
      here.messages_.addSync_(
        after,
        messages.map((raw) => toSdkMessage(raw, id, core.visitorId_)),
        !hasMore,
      ),
    );
    for (const raw of edited) onEdited(core, id, raw);
    for (const messageId of deleted) onDeleted(core, id, messageId);
  },
  'message:edited': (core, payload, id) => onEdited(core, id, { ...payload, id: payload.messageId }),
  'message:deleted': (core, { messageId }, id) => onDeleted(core, id, messageId),
  'typing:start': (core, { conversationId, ...who }, _id, here) => {
    here.typing = [...here.typing.filter((one) => one.userId !== who.userId), who];
    core.emit_('typing', { ...who, conversationId, active: true });
  },
  'typing:stop': (core, { userId }, _id, here) => endTyping(core, here, userId),
  'conversation:read': (core, payload, id, here) => {
    const { userId, messageId } = payload;
    here.reads = { ...here.reads, [userId]: messageId };
    core.emit_('read', payload);
    if (userId !== core.visitorId_) return;
    if (here.messages_.list_().at(-1)?.id === messageId) updateConversation(core, { id, unread: 0 });
    else recount(core, id);
  },
  'conversation:accepted': (core, { conversationId: id, ...assignee }) =>
    updateConversation(core, { id, status: 'active', ...assignee }),
  'conversation:released': (core, _payload, id) =>
    updateConversation(core, { id, status: 'pending', assignedTo: undefined }),
  'conversation:resolved': (core, _payload, id) => updateConversation(core, { id, status: 'closed' }),
  'room:joined': (core, { status }, id, here) => {
    const before = findConversation(core, id)?.status;
    const conversation = updateConversation(core, { id, status });
    if (!core.isLeader_()) return;
    // It changed before this page listened, and the frame does not tell who has it.
    if (before && before !== status) refreshConversation(core, id).catch(core.report_);
    // Of a page without a message from staff nothing can be unread.
    if (here.counted_ || !countForeign(here.messages_.list_())) shareConversation(core, conversation);
    else recount(core, id);
    here.counted_ = true;
  },
};

/** Takes a frame. @param after where the catching up began that it belongs to */
export function handleFrame(core: Core, { type, payload }: EventFrame, after: string): void {
  if (type === 'presence') return setOnline(core, payload);
  const { conversationId: id = '' } = payload as { readonly conversationId?: string };
  const here = core.rooms_.get(id);
  // The type says which payload it is: that much TypeScript cannot follow through a table.
  const handle = handlers[type] as
    | ((engine: Core, all: typeof payload, id: string, room: Room, from: string) => unknown)
    | undefined;
  if (here && handle) {
    handle(core, payload, id, here, after);
    publish(core);
  }
}
