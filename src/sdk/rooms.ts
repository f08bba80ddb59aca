// The messages of the conversations that this page listens to: pages, what the visitor changes, and what of it the page
// sees. Must not open sockets or send messages.
import { emptyVisitorState, normalizeOutgoing, toSdkMessage, type RawMessage } from './context.ts';
import { findConversation, listConversations, recount, updateConversation } from './conversation-list.ts';
import type { Core } from './core.ts';
import { listen, place } from './live.ts';
import { createMessageList, type MessageList } from './message-list.ts';
import { pendingMessages } from './outbox-entries.ts';
import type { OutgoingMessage, SdkApi, SdkMessage, TypingPerson } from './types.ts';

export interface Room {
  readonly id_: string;
  readonly messages_: MessageList<SdkMessage>;
  /** The first page, under way or come. */
  ready_?: Promise<void> | undefined;
  typing: readonly TypingPerson[];
  reads: Readonly<Record<string, string>>;
  /** The unread count is the service's, and follows what is heard. */
  counted_?: boolean;
}

const pageSize = 30;

/** A room of which nothing is known yet. */
function newRoom(core: Core, id: string): Room {
  const { typing, reads } = emptyVisitorState;
  return { id_: id, messages_: createMessageList((message) => place(core, message)), typing, reads };
}

function roomOf(core: Core, id: string): Room {
  const here = core.rooms_.get(id) ?? newRoom(core, id);
  core.rooms_.set(id, here);
  return here;
}

/** Computes the part of the state that belongs to the open conversation. */
export function publish(core: Core): void {
  const { messages } = core.state_();
  const id = core.openId_();
  const { messages_: thread, typing, reads } = core.rooms_.get(id) ?? newRoom(core, id);
  const next = thread.list_().concat(pendingMessages(core, id));
  core.set_({
    messages:
      messages.length === next.length && next.every((one, index) => one === messages[index])
        ? messages
        : next,
    loaded: !!thread.syncCursor_(),
    hasMore: thread.hasMore_(),
    typing,
    reads,
  });
}

async function loadPage(
  core: Core,
  { id_: id, messages_: thread }: Room,
  limit: number,
  more = '',
): Promise<readonly SdkMessage[]> {
  const { messages } = await core.request_<{ messages: RawMessage[] }>(
    'GET',
    `/conversations/${id}/messages?order=desc&limit=${limit}${more}`,
  );
  const news = thread.addPage_(
    messages.map((raw) => toSdkMessage(raw, id, core.visitorId_)).reverse(),
    messages.length === limit,
  );
  publish(core);
  return news;
}

/** Loads the newest page once, and listens from there. @param isNew it has just been opened: there is no page */
export function loadRoom(core: Core, id: string, isNew?: boolean): Promise<void> {
  const here = roomOf(core, id);
  const { messages_: thread } = here;
  return (here.ready_ ??= (
    isNew ? Promise.resolve(thread.addPage_([], false)) : loadPage(core, here, pageSize)
  ).then(
    () => listen(core, id, thread.syncCursor_()),
    (error: unknown) => {
      here.ready_ = undefined;
      throw error;
    },
  ));
}

export async function loadOlder(core: Core, id: string, limit: number): ReturnType<SdkApi['loadHistory']> {
  await loadRoom(core, id);
  const here = roomOf(core, id);
  const { list_: list, hasMore_: hasMore, syncCursor_: cursor } = here.messages_;
  const messages = hasMore() ? await loadPage(core, here, limit, `&before=${list()[0]?.id ?? cursor()}`) : [];
  return { messages, hasMore: hasMore() };
}

export async function editMessage(
  core: Core,
  id: string,
  messageId: string,
  message: string | OutgoingMessage,
): Promise<SdkMessage> {
  const { message: raw } = await core.request_<{ message: RawMessage }>(
    'PATCH',
    `/conversations/${id}/messages/${messageId}`,
    { body: normalizeOutgoing(message) },
  );
  onEdited(core, id, raw);
  return core.messages_(id)?.find_(messageId) ?? toSdkMessage(raw, id, core.visitorId_);
}

export async function deleteMessage(core: Core, id: string, messageId: string): Promise<void> {
  await core.request_('DELETE', `/conversations/${id}/messages/${messageId}`);
  onDeleted(core, id, messageId);
}

/** A message was edited, by whomever. */
export function onEdited(core: Core, id: string, raw: Partial<RawMessage> & Pick<RawMessage, 'id'>): void {
  const changed = core.messages_(id)?.applyEdit_(raw.id, raw as Partial<SdkMessage>);
  if (!changed) return;
  publish(core);
  core.emit_('message:updated', changed);
}

/** A message was deleted, by whomever. */
export function onDeleted(core: Core, conversationId: string, messageId: string): void {
  const gone = core.messages_(conversationId)?.remove_(messageId);
  if (!gone) return;
  publish(core);
  core.emit_('message:deleted', { conversationId, messageId });
  // It may have been one of the unread.
  if (!gone.own && (findConversation(core, conversationId)?.unread ?? 0)) recount(core, conversationId);
}

/** Marks a conversation as read up to its newest message. */
export async function markRead(core: Core, id: string): Promise<void> {
  const here = roomOf(core, id);
  const messageId = here.messages_.list_().at(-1)?.id ?? '';
  if (!messageId) return;
  here.counted_ = true;
  updateConversation(core, { id, unread: 0 });
  await core.request_('POST', `/conversations/${id}/read`, { body: { messageId } });
}

/** Listens to every room from where it is known, and loads those of which the first page has not come. */
export function enterRooms(core: Core, listens = core.state_().connection !== 'online'): void {
  for (const [id, { messages_: thread }] of core.rooms_) {
    const after = thread.syncCursor_();
    if (!after) loadRoom(core, id).catch(core.report_);
    else if (listens) listen(core, id, after);
  }
}

/** The end of typing is told to the page. */
export function endTyping(core: Core, here: Room, userId: string): void {
  const who = here.typing.find((one) => one.userId === userId);
  if (!who) return;
  here.typing = here.typing.filter((one) => one !== who);
  core.emit_('typing', { ...who, conversationId: here.id_, active: false });
}

/** The connection is gone. */
export function disconnectRooms(core: Core): void {
  for (const here of core.rooms_.values()) {
    here.messages_.disconnect_();
    here.counted_ = false;
    // The end of typing in between is not told.
    for (const { userId } of here.typing) endTyping(core, here, userId);
  }
  publish(core);
}

/** There is no such conversation any more. */
export function forgetRoom(core: Core, id: string): void {
  core.rooms_.delete(id);
  listConversations(
    core,
    core.state_().conversations.filter((one) => one.id !== id),
  );
}
