// When the operator is notified: a visitor waits, or one of the operator's own has written. Decides only; a notifier makes
// bells and titles.
import { visitorName } from './conversation-commands.ts';
import type { DeskContext } from './desk-context.ts';
import { isInTab } from './queue.ts';
import { isWatching } from './shown-messages.ts';
import { sanitizeLine } from './sanitize-line.ts';
import type { DeskState } from './desk-state.ts';

/** Messages of one conversation within this time cause one notification. */
const quietMs = 3_000;

/** How many conversations need attention: those that wait, and unread ones among the operator's own. */
export function waitingCount(state: DeskState): number {
  const memberId = state.session?.member.id ?? '';
  // What comes in while it is in sight is read in a moment: the count must not flicker.
  const seen = isWatching(state) ? state.open?.id : undefined;
  const unread = state.queue.items.filter(
    (item) => isInTab(item, 'mine', memberId) && item.unreadCount > 0 && item.id !== seen,
  ).length;
  return (state.queue.lists.pending.total ?? 0) + unread;
}

/** How a face calls for attention. */
export interface Notifier {
  /** To be called when the screen is taken over. */
  start(): void;
  /** Calls for attention: with sound and notification, as far as they are on. */
  notify(title: string, body: string, conversationId?: string): void;
  /** What called for attention in a conversation is over: it was read elsewhere. */
  clear?(conversationId: string): void;
  /** How many conversations wait; written only when it is another title than before. */
  setCount(count: number): void;
  /** Turns bell and desktop notifications off and on again; the title stays. */
  mute(muted: boolean): void;
  readonly muted: boolean;
  /** Brings the old title back; nothing is written afterwards. */
  stop(): void;
}

export interface Notifications {
  /** Turns notifications off or on again. @returns whether they are on now */
  toggle(): boolean;
  stop(): void;
}

/** Begins to listen; `stop` of the answer ends it. */
export function startNotifications(context: DeskContext, notifier: Notifier): Notifications {
  const { client, store } = context;
  const notifiedAt = new Map<string, number>();
  let shown = -1;

  const notify = (id: string, title: string, body: string): void => {
    const now = context.now();
    if (now - (notifiedAt.get(id) ?? -quietMs) < quietMs) return;
    notifiedAt.set(id, now);
    for (const [key, at] of notifiedAt) if (now - at > quietMs) notifiedAt.delete(key);
    notifier.notify(title, body, id);
  };

  const isOn = bellChoices(context);

  const undo = [
    client.on('conversation:new', ({ id, subject }) => {
      if (isOn('new')) notify(id, context.say('visitorWaits'), sanitizeLine(subject ?? ''));
    }),
    client.on('conversation:activity', ({ conversationId: id, preview, waiting }) => {
      const item = context.item(id);
      const isSeen = store.get().open?.id === id && isWatching(store.get());
      if (!waiting || item === undefined || !isInTab(item, 'mine', context.memberId) || isSeen) return;
      if (isOn('reply')) notify(id, visitorName(item, context.say), sanitizeLine(preview));
    }),
    client.on('notification:new', ({ event, conversationId, name, minutes }) => {
      // What the service tells is chosen there already.
      const who = sanitizeLine(name ?? context.say('aColleague'));
      const title = {
        mention: () => context.say('mentionedBy', { name: who }),
        assigned: () => context.say('givenToYou'),
        due: () => context.say('snoozeOver'),
        waiting: () => context.say('waitsLong', { n: minutes ?? 0 }),
        test: () => context.say('notifyTest'),
      }[event]();
      if (conversationId === null) notifier.notify(title, '');
      else notify(conversationId, title, visitorName(context.item(conversationId), context.say));
    }),
    client.on('notification:cleared', ({ conversationId }) => notifier.clear?.(conversationId)),
    store.subscribe(() => {
      const state = store.get();
      client.setFocus(isWatching(state) ? (state.open?.id ?? null) : null);
      const count = waitingCount(state);
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

/** What a member has chosen is asked for so often, and not before something happens. */
const choicesEveryMs = 5 * 60_000;

interface Choices {
  readonly notifications: { readonly events: Readonly<Record<'new' | 'reply', { readonly bell: boolean }>> };
}

/** Whether the member wants the bell for an event: on, until the service has said otherwise. */
function bellChoices(context: DeskContext): (event: 'new' | 'reply') => boolean {
  let choices: Choices | null = null;
  let askedAt = -choicesEveryMs;
  const load = async (): Promise<void> => {
    try {
      choices = await context.client.call<Choices>('GET', '/notifications');
    } catch {
      // Asked again in a while.
    }
  };
  return (event) => {
    const now = context.now();
    if (now - askedAt >= choicesEveryMs) {
      askedAt = now;
      void load();
    }
    return choices?.notifications.events[event].bell ?? true;
  };
}
