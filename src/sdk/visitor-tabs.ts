// Who the visitor is, and the tabs of theirs: what they tell each other, and which of them leads. Nothing is made before
// the first act: no id, no storage, no channel.
import { keysWithPrefix, emptyVisitorState, type TabMessage, type TabMessages } from './context.ts';
import { listConversations, updateConversation } from './conversation-list.ts';
import type { Core } from './core.ts';
import { flush, onFailed, onSent } from './delivery.ts';
import { tryOrUndefined } from './error.ts';
import { setStatus } from './visitor-connection.ts';
import { listen, sendTyping } from './live.ts';
import { broadcastPending, closeOutbox, onPut, onRemoved } from './outbox.ts';
import { loadEntries } from './outbox-entries.ts';
import { handleFrame } from './room-events.ts';
import { enterRooms, loadRoom } from './rooms.ts';
import { joinTabs } from './tab-leader.ts';
import { addDraft, introduce, onRenamed } from './visitor-requests.ts';

/** What is done about what another tab says. */
type TabHandlers = {
  readonly [N in keyof TabMessages]: (core: Core, ...values: Parameters<TabMessages[N]>) => unknown;
};

const handlers: TabHandlers = {
  put: onPut,
  removed: onRemoved,
  sent: onSent,
  failed: onFailed,
  rename: onRenamed,
  frame: handleFrame,
  status: setStatus,
  handshake: (core) => {
    if (core.isLeader_()) core.broadcast_('status', core.state_().connection);
    broadcastPending(core);
  },
  subscribe: (core, id, after) => {
    if (!core.isLeader_()) return;
    listen(core, id, after);
    loadRoom(core, id).catch(core.report_);
  },
  typing: sendTyping,
  conversation: updateConversation,
  waiting: (core, retryAt) => core.set_({ retryAt }),
  reset: forgetVisitor,
};

/** The id that an earlier page of this visitor's kept. */
export function storedId(core: Core): string | null | undefined {
  return tryOrUndefined(() => core.storage_?.getItem(`${core.prefix_}visitor`));
}

/** The first act of a visitor: from here on there is an id, and it is kept. */
export function begin(core: Core): void {
  if (core.visitorId_) return;
  const { options_: options, prefix_: prefix } = core;
  const visitorId = options.visitorId?.toLowerCase() ?? storedId(core) ?? core.env_.newId();
  core.visitorId_ = visitorId;
  core.keyPrefix_ = `${prefix}${visitorId}:`;
  Object.assign(core, core.client_({ 'X-Visitor-Id': visitorId }));
  // Blocked? The visitor lasts as long as the page.
  tryOrUndefined(() => core.storage_?.setItem(`${prefix}visitor`, visitorId));
  core.set_({ visitorId });
  loadEntries(core);
  for (const { draft, conversationId, at } of core.entries_) if (draft) addDraft(core, conversationId, at);
  void introduce(core);
  join(core);
}

/** Joins the visitor's other tabs. */
export function join(core: Core): void {
  // It may have been in the back-forward cache: what it was told before holds no more, and it catches up.
  setStatus(core, 'idle');
  core.tabs_ = joinTabs<TabMessage>(
    core.env_,
    core.prefix_ + core.visitorId_,
    () => {
      // Whatever the tab that led before had heard of, this one catches up by itself.
      setStatus(core, 'idle');
      enterRooms(core);
      void flush(core);
    },
    ([name, ...values]) =>
      (handlers[name] as (engine: Core, ...all: typeof values) => unknown)(core, ...values),
  );
  core.broadcast_('handshake');
  broadcastPending(core);
}

/** Lets another tab lead; this one goes on when it is looked at again. */
export function stepDown(core: Core): void {
  core.connection_.stop_();
  core.tabs_?.stepDown_();
  core.tabs_ = undefined;
}

/** Ends what is under way for the visitor; who waits for it is told. */
export function leave(core: Core): void {
  stepDown(core);
  closeOutbox(core);
  core.close_?.();
}

/** @param clears what is stored, too; unless told, where it is this visitor's: another tab may have begun anew there */
export function forgetVisitor(core: Core, clears = storedId(core) === core.visitorId_): void {
  const { storage_: storage, prefix_: prefix } = core;
  leave(core);
  if (clears) for (const name of keysWithPrefix(storage, prefix)) storage?.removeItem(name);
  core.rooms_.clear();
  core.named_ = undefined;
  listConversations(core, []);
  core.visitorId_ = '';
  core.set_(emptyVisitorState);
}
