// The conversations that this page has heard of, and how many of their messages are unread. Holds no messages.
import type { Context, ConversationPatch, RawConversation } from './context.ts';
import type { SdkConversation } from './types.ts';

/** A conversation as far as it has been heard of. */
export function findConversation(core: Context, id: string | null): SdkConversation | undefined {
  return core.state_().conversations.find((one) => one.id === id);
}

/** @param conversations a list of the caller's own, which is sorted in place */
export function listConversations(core: Context, conversations: SdkConversation[]): void {
  conversations.sort((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1));
  const before = core.state_().unread;
  const unread = conversations.reduce((sum, one) => sum + one.unread, 0);
  core.set_({ conversations, unread });
  if (unread !== before) core.emit_('unread', { count: unread });
}

/** Takes over a conversation, or what is new about it. */
export function updateConversation(core: Context, patch: ConversationPatch): SdkConversation {
  const old = findConversation(core, patch.id);
  const next = {
    status: 'pending',
    createdAt: '',
    updatedAt: '',
    unread: 0,
    draft: false,
    ...old,
    ...patch,
  };
  // In the same order of fields as before, so that the same text means the same conversation; what is undefined drops out.
  const text = JSON.stringify({
    ...next,
    ...(next.assignedTo === undefined && { assignedToName: undefined }),
    participants: undefined,
  });
  if (old && JSON.stringify(old) === text) return old;
  const fresh = JSON.parse(text) as SdkConversation;
  listConversations(core, [...core.state_().conversations.filter((one) => one !== old), fresh]);
  core.emit_('conversation', fresh);
  return fresh;
}

/** Takes over what was asked for, and tells the other tabs that much: they may know the rest better. */
export function shareConversation(core: Context, patch: ConversationPatch): SdkConversation {
  core.broadcast_('conversation', patch);
  return updateConversation(core, patch);
}

/** Asks for a conversation itself, which alone tells who has it. */
export async function refreshConversation(core: Context, id: string): Promise<SdkConversation> {
  const before = findConversation(core, id)?.status;
  const { conversation } = await core.request_<{ conversation: RawConversation }>(
    'GET',
    `/conversations/${id}`,
  );
  const status = findConversation(core, id)?.status;
  // Something else was heard while it was asked: the answer may be older.
  return status && status !== conversation.status && status !== before
    ? refreshConversation(core, id)
    : shareConversation(core, { assignedTo: undefined, ...conversation });
}

async function count(core: Context, id: string): Promise<unknown> {
  const before = findConversation(core, id);
  const { unreadCount } = await core.request_<{ unreadCount: number }>('GET', `/conversations/${id}/unread`);
  // Something happened while it was asked: the answer may be older than what was heard.
  return before === findConversation(core, id)
    ? shareConversation(core, { id, unread: unreadCount })
    : count(core, id);
}

/** Asks for the unread count; one tab asks, and tells the others. */
export function recount(core: Context, id: string): void {
  if (core.isLeader_()) count(core, id).catch(core.report_);
}
