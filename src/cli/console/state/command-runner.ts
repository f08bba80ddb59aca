// What each key's action does. Must not know keys: those are in ../keys.ts.
import type { CommandName } from '../keys.ts';
import { visitorName, type ConversationCommands } from './conversation-commands.ts';
import type { Notifications } from './notifications.ts';
import { isAvailable, targetConversation, targetMessage } from './available-commands.ts';
import { hasText } from './composer.ts';
import type { ConsoleContext } from './console-context.ts';
import { editableText } from './lexical-markdown.ts';
import type { QueueController } from './queue-controller.ts';
import type { Navigation } from './navigation.ts';
import { nextUnread, type Tab } from './queue.ts';
import type { ConversationController } from './conversation-controller.ts';
import type { ComposerController } from './composer-controller.ts';

export interface CommandRunnerParts {
  readonly acts: ConversationCommands;
  readonly lists: QueueController;
  readonly room: ConversationController;
  readonly writing: ComposerController;
  readonly navigation: Navigation;
  readonly attention: Notifications;
  /** Puts a text into the terminal's clipboard. */
  copy(text: string): void;
  redraw(): void;
}

const tabOf: Readonly<Partial<Record<CommandName, Tab>>> = {
  tabPending: 'pending',
  tabMine: 'mine',
  tabAll: 'all',
  tabClosed: 'closed',
};

/** @returns what does an action, on what is chosen or open now */
export function createCommandRunner(
  core: ConsoleContext,
  parts: CommandRunnerParts,
): (action: CommandName) => void {
  const { store } = core;
  const { acts, lists, room, writing, attention } = parts;
  const { setDialog, setFocus, ask, openMenu, openConversation, openTarget, cyclePane, back } =
    parts.navigation;
  const state = store.get;

  /** A list that had to be loaded is there. */
  function loaded(): void {
    const { dialog } = state();
    if (dialog?.kind === 'menu') store.set({ dialog: { ...dialog, loading: false } });
  }

  async function accept(): Promise<void> {
    const item = targetConversation(state());
    if (item === undefined) return;
    if (item.status !== 'pending')
      return core.flash(item.status === 'closed' ? 'It is closed.' : 'It has been accepted already.', 'info');
    // Whoever accepts goes on typing at once: over a slow line the letters would else be taken for commands.
    openConversation(item.id, 'composer');
    if (await acts.accept(item.id)) return undefined;
    const { open, focus, composer } = state();
    if (open?.id === item.id && focus === 'composer' && !hasText(composer)) setFocus('conversation');
    return undefined;
  }

  function goToNextUnread(): void {
    const { queue, open } = state();
    const next = nextUnread(queue.items, core.memberId(), open?.id ?? null);
    if (next === undefined) return core.flash('Nothing is unread, and nobody waits.', 'good');
    openConversation(next.id, 'conversation');
    return undefined;
  }

  function quit(): void {
    if (!writing.isUnsent()) return core.exit(0);
    const drafts = [...state().drafted];
    const owner = drafts[0] === undefined ? undefined : core.item(drafts[0]);
    const what =
      drafts.length > 1
        ? `${drafts.length} drafts are unsent and will be here when you come back.`
        : drafts.length === 1
          ? `Your draft${owner === undefined ? '' : ` to ${visitorName(owner)}`} is unsent and will be here when you come back.`
          : 'A message is not sent yet; it goes out when you come back.';
    return ask(`${what} Quit?`, 'quit', { act: 'quit' });
  }

  function perform(action: CommandName): void {
    const item = targetConversation(state());
    const name = visitorName(item);
    const { focus, open } = state();
    const height = core.layout().messageRows;
    const tab = tabOf[action];
    if (tab !== undefined) {
      lists.showTab(tab);
      return setFocus('queue');
    }
    if (focus !== 'queue') {
      const scrolled = scrolling(action, height);
      if (scrolled) return undefined;
    }
    switch (action) {
      case 'down':
        return lists.move(1);
      case 'up':
        return lists.move(-1);
      case 'pageDown':
        return lists.move(core.layout().queueHeight);
      case 'pageUp':
        return lists.move(-core.layout().queueHeight);
      case 'first':
        return lists.moveTo(0);
      case 'last':
        return lists.moveTo(Number.MAX_SAFE_INTEGER);
      case 'open':
        return void openTarget('conversation');
      case 'accept':
        return void accept();
      case 'reply':
      case 'note':
        if (item?.status === 'closed') return core.flash('This conversation is closed.', 'bad');
        if (openTarget('composer')) writing.setNote(action === 'note');
        return undefined;
      case 'compose':
        return void (open !== null && setFocus('composer'));
      case 'nextUnread':
        return goToNextUnread();
      case 'resolve':
        if (item === undefined || !isAvailable(state(), action))
          return core.flash(refusal(action, item?.status), 'bad');
        return ask(`Resolve the conversation with ${name}?`, 'resolve', { act: 'resolve', id: item.id });
      case 'release':
        if (item === undefined || !isAvailable(state(), action))
          return core.flash(refusal(action, item?.status), 'bad');
        return void acts.release(item.id);
      case 'transfer':
        if (item === undefined || !isAvailable(state(), action))
          return core.flash(refusal(action, item?.status), 'bad');
        openMenu('transfer', { loading: state().colleagues === null, about: item.id });
        return void acts.loadColleagues().catch(core.report).then(loaded);
      case 'edit':
      case 'remove':
      case 'retry':
      case 'discard':
      case 'copy':
        return onMessage(action);
      case 'canned':
        if (open === null) return undefined;
        setFocus('composer');
        openMenu('canned', { loading: state().cannedReplies === null });
        return void writing.loadCannedReplies().then(loaded);
      case 'aiDraft':
        if (open === null && !openTarget('composer')) return undefined;
        setFocus('composer');
        return void writing.run(action);
      case 'nextPane':
        return cyclePane(1);
      case 'previousPane':
        return cyclePane(-1);
      case 'back':
        return back();
      case 'search':
        lists.beginSearch();
        return setFocus('queue');
      case 'visitor':
        if (open === null && !openTarget('conversation')) return undefined;
        room.loadEarlierConversations();
        return setDialog({ kind: 'visitor', top: 0 });
      case 'sound':
        return core.flash(
          attention.toggle()
            ? 'Notifications are on.'
            : 'Notifications are off until you turn them on again.',
        );
      case 'palette':
        return openMenu('palette');
      case 'help':
        return setDialog({ kind: 'help', top: 0 });
      case 'redraw':
        return parts.redraw();
      case 'quit':
        return quit();
      default:
        if (focus === 'composer' || action === 'editor') {
          if (open !== null) setFocus('composer');
          writing.run(action);
        }
        return undefined;
    }
  }

  /** The moving keys in the open conversation; false: another key. */
  function scrolling(action: CommandName, height: number): boolean {
    const page = Math.max(1, height - 2);
    switch (action) {
      case 'down':
        room.select(1);
        return true;
      case 'up':
        room.select(-1);
        return true;
      case 'pageDown':
        room.scroll(-page);
        return true;
      case 'pageUp':
        room.scroll(page);
        return true;
      case 'first':
        room.toTop();
        return true;
      case 'last':
        room.toEnd();
        return true;
      default:
        return false;
    }
  }

  function onMessage(action: 'edit' | 'remove' | 'retry' | 'discard' | 'copy'): void {
    const { open } = state();
    if (open === null) return;
    const unsent =
      open.room?.messages.filter(
        ({ key, state: how }) => how !== 'sent' && (open.selected === null || key === open.selected),
      ) ?? [];
    if (action === 'retry') {
      for (const { key, state: how } of unsent) if (how === 'failed') writing.retry(key);
      return;
    }
    const message = targetMessage(state(), action !== 'copy');
    if (message === undefined || message.gone === true) return core.flash('Choose a message first.', 'info');
    if (action === 'copy') {
      parts.copy(editableText(message));
      return core.flash('Copied.', 'good');
    }
    const last = unsent.at(-1);
    if (action === 'discard' || message.state !== 'sent') {
      if (last === undefined) return core.flash('Everything is sent.', 'info');
      return ask('Take back the message that is not sent yet?', 'take back', {
        act: 'discard',
        key: last.key,
      });
    }
    if (!message.own) return core.flash('Only your own messages can be changed.', 'bad');
    if (action === 'remove')
      return ask('Delete this message for everybody?', 'delete', {
        act: 'remove',
        id: open.id,
        messageId: message.id,
      });
    writing.beginEdit(message);
    return setFocus('composer');
  }

  return perform;
}

function refusal(action: 'resolve' | 'release' | 'transfer', status: string | undefined): string {
  if (status === undefined) return 'Choose a conversation first.';
  if (status === 'closed') return 'It is closed already.';
  if (status === 'pending' && action !== 'resolve') return 'Nobody has accepted it yet.';
  return 'Only the operator who has it, or an admin, can do that.';
}
