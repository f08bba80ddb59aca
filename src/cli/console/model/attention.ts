// When the operator is called: a visitor has come, or somebody of theirs has written.
// Decides only; bells and titles are made by ../notify.ts.
import type { StaffClient } from '../../../sdk/staff-types.ts';
import { visitorName } from './acts.ts';
import type { Notifier } from '../notify.ts';
import type { Core } from './core.ts';
import { belongs } from './queue.ts';
import { isWatching } from './room.ts';
import { oneLine } from './safe.ts';
import type { ViewState } from './state.ts';

/** A burst is one call. */
const quietMs = 3_000;

/** How many conversations want somebody: those that wait, and unread ones among one's own. */
export function waitingCount(state: ViewState): number {
  const memberId = state.session?.member.id ?? '';
  // What comes in before somebody's eyes is read in a moment: the count must not flicker.
  const seen = isWatching(state) ? state.open?.id : undefined;
  const unread = state.queue.items.filter((item) => belongs(item, 'mine', memberId) && item.unreadCount > 0 && item.id !== seen).length;
  return (state.queue.lists.pending.total ?? 0) + unread;
}

export interface Attention {
  /** Off: silent until it is switched on again. Answers how it is afterwards. */
  toggle(): boolean;
  stop(): void;
}

/** Begins to listen; `stop` of the answer ends it. */
export function watchForAttention(core: Core, client: StaffClient, notifier: Notifier): Attention {
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
    client.on('conversation:new', ({ id, subject }) => call(id, 'Somebody is waiting', oneLine(subject ?? ''))),
    client.on('conversation:activity', ({ conversationId: id, preview, waiting }) => {
      const item = core.item(id);
      if (!waiting || item === undefined || !belongs(item, 'mine', core.memberId()) || isBeforeTheirEyes(id)) return;
      call(id, visitorName(item), oneLine(preview));
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
