// When the operator is notified: a visitor has come, or one of their own has written.
// Decides only; bells and titles are made by ../notify.ts.
import type { StaffClient } from '../../../sdk/staff-types.ts';
import { visitorName } from './conversation-commands.ts';
import type { Notifier } from '../notifier.ts';
import type { ConsoleContext } from './console-context.ts';
import { isInTab } from './queue.ts';
import { isWatching } from './conversation-controller.ts';
import { sanitizeLine } from './sanitize-line.ts';
import type { ViewState } from './view-state.ts';

/** A burst is one call. */
const quietMs = 3_000;

/** How many conversations need attention: those that wait, and unread ones among the operator's own. */
export function waitingCount(state: ViewState): number {
  const memberId = state.session?.member.id ?? '';
  // What comes in while it is in sight is read in a moment: the count must not flicker.
  const seen = isWatching(state) ? state.open?.id : undefined;
  const unread = state.queue.items.filter(
    (item) => isInTab(item, 'mine', memberId) && item.unreadCount > 0 && item.id !== seen,
  ).length;
  return (state.queue.lists.pending.total ?? 0) + unread;
}

export interface Notifications {
  /** Off: silent until it is switched on again. Answers how it is afterwards. */
  toggle(): boolean;
  stop(): void;
}

/** Begins to listen; `stop` of the answer ends it. */
export function startNotifications(
  core: ConsoleContext,
  client: StaffClient,
  notifier: Notifier,
): Notifications {
  const { store } = core;
  const calledAt = new Map<string, number>();
  let shown = -1;

  const isBeforeTheirEyes = (id: string): boolean => store.get().open?.id === id && isWatching(store.get());
  const call = (id: string, title: string, body: string): void => {
    const now = core.now();
    if (now - (calledAt.get(id) ?? -quietMs) < quietMs) return;
    calledAt.set(id, now);
    for (const [key, at] of calledAt) if (now - at > quietMs) calledAt.delete(key);
    notifier.notify(title, body);
  };

  const undo = [
    client.on('conversation:new', ({ id, subject }) =>
      call(id, 'Somebody is waiting', sanitizeLine(subject ?? '')),
    ),
    client.on('conversation:activity', ({ conversationId: id, preview, waiting }) => {
      const item = core.item(id);
      if (!waiting || item === undefined || !isInTab(item, 'mine', core.memberId()) || isBeforeTheirEyes(id))
        return;
      call(id, visitorName(item), sanitizeLine(preview));
    }),
    store.subscribe(() => {
      const count = waitingCount(store.get());
      if (count === shown) return;
      shown = count;
      notifier.setCount(count);
    }),
  ];
  return {
    toggle: () => {
      notifier.mute(!notifier.muted);
      return !notifier.muted;
    },
    stop: () => {
      for (const off of undo) off();
    },
  };
}
