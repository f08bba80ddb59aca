// Every act of the API, for the open conversation where it names none.
import type { Core } from './core.ts';
import { findConversation, refreshConversation, shareConversation } from './conversation-list.ts';
import { sdkError } from './error.ts';
import { sendTyping } from './live.ts';
import { discard, retry, send } from './outbox.ts';
import { deleteMessage, editMessage, loadOlder, markRead, loadRoom, publish } from './rooms.ts';
import type { SdkApi } from './types.ts';
import { addDraft, createConversation, identify, pageDefault, refreshList } from './visitor-requests.ts';
import { begin, forgetVisitor } from './visitor-tabs.ts';

/** What the engine does; the rest of the API is the facade's. */
export type Actions = Pick<
  SdkApi,
  | 'sendMessage'
  | 'retry'
  | 'startConversation'
  | 'listConversations'
  | 'openConversation'
  | 'loadHistory'
  | 'markRead'
  | 'editMessage'
  | 'deleteMessage'
  | 'identify'
  | 'reset'
>;

type ActionTable = {
  readonly [N in keyof Actions]: (core: Core, ...values: Parameters<Actions[N]>) => ReturnType<Actions[N]>;
};

const typingEveryMs = 4_000;

function stopTyping(core: Core): void {
  if (core.typingUntil_) sendTyping(core, core.openId_(), false);
  core.typingUntil_ = 0;
}

/** The open conversation; @throws SdkError when there is none. */
function current(core: Core): string {
  const id = core.openId_();
  if (!id) throw sdkError('unknown');
  return id;
}

export const actions: ActionTable = {
  sendMessage: (core, message) => {
    begin(core);
    stopTyping(core);
    let id = core.openId_();
    if (!id) {
      id = core.env_.newId();
      addDraft(core, id, core.env_.now());
      core.set_({ conversationId: id });
    }
    return send(core, id, !!findConversation(core, id)?.draft, message);
  },
  retry,
  startConversation: async (core, { subject } = {}) => {
    begin(core);
    const made = shareConversation(core, await createConversation(core, core.env_.newId(), subject));
    const { id } = made;
    core.set_({ conversationId: id });
    await loadRoom(core, id, true);
    return made;
  },
  listConversations: (core, page) => {
    begin(core);
    return refreshList(core, page);
  },
  openConversation: async (core, id) => {
    stopTyping(core);
    core.set_({ conversationId: id });
    publish(core);
    if (id === null) return null;
    begin(core);
    const known = findConversation(core, id);
    if (known?.draft) return known;
    await loadRoom(core, id);
    return refreshConversation(core, id);
  },
  loadHistory: (core, { limit = pageDefault } = {}) => loadOlder(core, current(core), limit),
  markRead: (core) => markRead(core, current(core)),
  editMessage: (core, messageId, message) => editMessage(core, current(core), messageId, message),
  deleteMessage: async (core, messageId) => {
    if (!discard(core, messageId)) await deleteMessage(core, current(core), messageId);
  },
  identify: (core, identity) => {
    begin(core);
    return identify(core, identity);
  },
  reset: async (core) => {
    core.broadcast_('reset');
    forgetVisitor(core, true);
  },
};

export function setTyping(core: Core, active = true): void {
  if (!active) return stopTyping(core);
  const id = core.openId_();
  if (!core.messages_(id)) return;
  const now = core.env_.now();
  if (now < core.typingUntil_) return;
  core.typingUntil_ = now + typingEveryMs;
  sendTyping(core, id, true);
}
