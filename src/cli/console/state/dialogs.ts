// Keys of what lies over the panes, and of the search: choosing, filtering, answering.
import type { CommandName, Keymap, KeyPress } from '../keys.ts';
import type { ConversationCommands } from './conversation-commands.ts';
import type { ConsoleContext } from './console-context.ts';
import type { QueueController } from './queue-controller.ts';
import { menuChoices } from './menus.ts';
import type { Navigation } from './navigation.ts';
import { shownRows } from './queue.ts';
import type { Question } from './view-state.ts';
import type { ComposerController } from './composer-controller.ts';

const steps: Readonly<Partial<Record<CommandName, number>>> = { down: 1, up: -1, pageDown: 10, pageUp: -10 };

export interface DialogParts {
  readonly acts: ConversationCommands;
  readonly lists: QueueController;
  readonly writing: ComposerController;
  readonly navigation: Navigation;
  readonly keymap: Keymap;
  perform(action: CommandName): void;
}

/** @returns what a key does there; `action` null: it is bound to nothing, and may be text */
export function createDialogs(
  core: ConsoleContext,
  parts: DialogParts,
): (action: CommandName | null, stroke: KeyPress) => void {
  const { store } = core;
  const { acts, lists, writing, keymap, perform } = parts;
  const { setDialog, setFocus } = parts.navigation;
  const state = store.get;

  function answer(question: Question): void {
    setDialog(null);
    switch (question.act) {
      case 'resolve':
        void acts.resolve(question.id).then(() => {
          if (state().open?.id === question.id && core.item(question.id)?.status === 'closed')
            setFocus('queue');
        });
        return;
      case 'release':
        return void acts.release(question.id);
      case 'remove':
        return void writing.remove(question.id, question.messageId);
      case 'discard':
        return writing.discard(question.key);
      default:
        return core.exit(0);
    }
  }

  function updateMenu(patch: { readonly filter?: string; readonly index?: number }): void {
    const { dialog } = state();
    if (dialog?.kind === 'menu') store.set({ dialog: { ...dialog, ...patch } });
  }

  function choose(): void {
    const { dialog } = state();
    if (dialog?.kind !== 'menu') return setDialog(null);
    const choice = menuChoices(state(), dialog, keymap)[dialog.index];
    if (choice === undefined) return undefined;
    setDialog(null);
    if (dialog.menu === 'palette') return perform(choice.id as CommandName);
    if (dialog.menu === 'canned') {
      const reply = state().cannedReplies?.find(({ id }) => id === choice.id);
      if (reply !== undefined) writing.insertReply(reply);
      return undefined;
    }
    const colleague = state().colleagues?.find(({ id }) => id === choice.id);
    if (colleague !== undefined && dialog.about !== null) void acts.transfer(dialog.about, colleague);
    return undefined;
  }

  /** Keys of a dialog, or of the field for the search. */
  function inDialog(action: CommandName | null, stroke: KeyPress): void {
    const { dialog, queue } = state();
    if (dialog === null) return inSearch(action, stroke, queue.search?.text ?? '');
    if (dialog.kind === 'confirm') {
      if (action === 'yes') answer(dialog.ask);
      else if (action === 'no') setDialog(null);
      return undefined;
    }
    const step = action === null ? undefined : steps[action];
    if (action === 'back') return setDialog(null);
    if (dialog.kind !== 'menu') {
      if (step !== undefined)
        return store.set({ dialog: { ...dialog, top: Math.max(0, dialog.top + step) } });
      // Help and the visitor's data close on whatever would open them, and on Enter.
      return setDialog(null);
    }
    if (step !== undefined) {
      const most = menuChoices(state(), dialog, keymap).length - 1;
      return updateMenu({ index: Math.max(0, Math.min(most, dialog.index + step)) });
    }
    if (action === 'choose') return choose();
    const text = fieldAfter(dialog.filter, stroke);
    return text === null ? undefined : updateMenu({ filter: text, index: 0 });
  }

  function inSearch(action: CommandName | null, stroke: KeyPress, text: string): void {
    switch (action) {
      case 'down':
        return lists.move(1);
      case 'up':
        return lists.move(-1);
      case 'pageDown':
        return lists.move(core.layout().queueHeight);
      case 'pageUp':
        return lists.move(-core.layout().queueHeight);
      case 'open':
        if (text.trim() === '') return lists.endSearch();
        lists.confirmSearch();
        return shownRows(state().queue, core.memberId()).length === 1 ? perform('open') : undefined;
      case 'back':
        return lists.endSearch();
      case 'nextUnread':
      case 'nextPane':
      case 'previousPane':
      case 'redraw':
      case 'quit':
        lists.confirmSearch();
        return perform(action);
      default: {
        const next = fieldAfter(text, stroke);
        return next === null ? undefined : lists.setSearch(next);
      }
    }
  }

  return inDialog;
}

/** A one-line field after a key: typed text is added, Backspace takes the last character; null: unchanged. */
function fieldAfter(text: string, { key, text: typed }: KeyPress): string | null {
  if (key === 'backspace') return Array.from(text).slice(0, -1).join('');
  if (key === 'ctrl+u' || key === 'ctrl+w') return '';
  if (typed === '' || typed === '\n') return null;
  return (text + typed).slice(0, 200);
}
