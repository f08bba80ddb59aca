// Where the operator is: which pane has the keys, what lies over the panes, which
// conversation is open. Must not act on conversations.
import { targetConversation } from './available-commands.ts';
import type { ConsoleContext } from './console-context.ts';
import type { QueueController } from './queue-controller.ts';
import type { ConversationController } from './conversation-controller.ts';
import type { Dialog, Focus, Question } from './view-state.ts';
import type { ComposerController } from './composer-controller.ts';

export interface Navigation {
  setDialog(dialog: Dialog | null): void;
  setFocus(focus: Focus): void;
  /** Asks for yes or no. */
  ask(question: string, yes: string, about: Question): void;
  /** @param about the conversation that a choice concerns, whatever is chosen meanwhile */
  openMenu(
    menu: 'palette' | 'transfer' | 'canned',
    options?: { readonly loading?: boolean; readonly about?: string },
  ): void;
  openConversation(id: string, focus: Focus): void;
  /** Brings the conversation that an act concerns into sight; false: there is none. */
  openTarget(focus: Focus): boolean;
  cyclePane(by: 1 | -1): void;
  back(): void;
}

/** Moves the focus in the store, with all that follows from it: rooms, composer, read marks. */
export function createNavigation(
  core: ConsoleContext,
  parts: {
    readonly lists: QueueController;
    readonly room: ConversationController;
    readonly writing: ComposerController;
  },
): Navigation {
  const { store } = core;
  const { lists, room, writing } = parts;
  const state = store.get;
  const setDialog = (dialog: Dialog | null): void => {
    store.set({ dialog });
    if (dialog === null) room.markRead();
  };
  const setFocus = (focus: Focus): void => {
    store.set({ focus });
    lists.keepCursorVisible();
    room.markRead();
  };
  const ask = (question: string, yes: string, about: Question): void =>
    setDialog({ kind: 'confirm', question, yes, ask: about });
  const openMenu: Navigation['openMenu'] = (menu, { loading = false, about = null } = {}) =>
    setDialog({ kind: 'menu', menu, filter: '', index: 0, loading, about });

  function openConversation(id: string, focus: Focus): void {
    writing.cancelEdit();
    room.open(id);
    writing.open(id);
    setFocus(focus);
  }

  function openTarget(focus: Focus): boolean {
    const item = targetConversation(state());
    if (item === undefined) return false;
    openConversation(item.id, focus);
    return true;
  }

  function cyclePane(by: 1 | -1): void {
    const order: readonly Focus[] = state().open === null ? ['queue'] : ['queue', 'conversation', 'composer'];
    const at = order.indexOf(state().focus);
    setFocus(order[(at + by + order.length) % order.length] ?? 'queue');
  }

  function back(): void {
    const { focus, open, queue } = state();
    if (focus === 'composer') {
      if (!writing.cancelEdit()) setFocus('conversation');
    } else if (focus === 'conversation') {
      if (open !== null && open.selected !== null) room.select(null);
      else setFocus('queue');
    } else if (queue.search !== null) lists.endSearch();
  }

  return { setDialog, setFocus, ask, openMenu, openConversation, openTarget, cyclePane, back };
}
