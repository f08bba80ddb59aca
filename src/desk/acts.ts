// What is done to conversations and messages as a whole, on what is chosen, marked or open now: a browser loads it with the
// first of these commands. Knows no keys: those are in keymap.ts.
import {
  concernsMarked,
  isAvailable,
  keyScopeOf,
  targetConversation,
  targetMessage,
} from './available-commands.ts';
import { beginEdit } from './composer-changes.ts';
import type { ComposerController } from './composer-controller.ts';
import { hasContent } from './composer.ts';
import { createConversationActs, type ConversationActs } from './conversation-acts.ts';
import { visitorName, type ConversationCommands } from './conversation-commands.ts';
import type { ConversationController } from './conversation-controller.ts';
import type { DeskContext } from './desk-context.ts';
import type { DeskState } from './desk-state.ts';
import type { CommandName } from './keymap.ts';
import { editableText } from './lexical-markdown.ts';
import type { Navigation } from './navigation.ts';
import { QueueOrder } from './queue-order.ts';
import { sanitizeLine } from './sanitize-line.ts';
import type { SavedViews } from './saved-views.ts';
import type { DeskText } from './texts.ts';

export { stillMeant } from './late-commands.ts';

export interface ActParts {
  readonly commands: ConversationCommands;
  readonly views: SavedViews;
  readonly conversation: ConversationController;
  readonly composer: ComposerController;
  readonly navigation: Navigation;
}

type Managing = 'resolve' | 'release' | 'transfer';
type OnMessage = 'edit' | 'remove' | 'retry' | 'discard' | 'copy';

export class Acts {
  readonly #context: DeskContext;
  readonly #parts: ActParts;
  readonly #order: QueueOrder;
  readonly #acts: ConversationActs;
  readonly #commands: Readonly<Partial<Record<CommandName, () => void>>>;

  constructor(context: DeskContext, parts: ActParts) {
    this.#context = context;
    this.#parts = parts;
    this.#order = new QueueOrder(context);
    this.#acts = createConversationActs(context);
    this.#commands = {
      accept: () => void this.#order.bulk({ act: 'accept' }),
      resolve: () => this.#manage('resolve'),
      release: () => this.#manage('release'),
      transfer: () => this.#manage('transfer'),
      reopen: () => void this.#reopen(),
      tag: () => this.#chooseOrder('tag', this.#order.loadTags()),
      priority: () => this.#chooseOrder('priority'),
      snooze: () => this.#chooseOrder('snooze'),
      wake: () => this.#wake(),
      unread: () => void this.#markUnread(),
      views: () => this.#chooseView(),
      edit: () => this.#onMessage('edit'),
      remove: () => this.#onMessage('remove'),
      retry: () => this.#onMessage('retry'),
      discard: () => this.#onMessage('discard'),
      copy: () => this.#onMessage('copy'),
      canned: () => this.#chooseReply(),
      visitor: () => this.#showVisitor(),
      transcript: () => this.#mailTranscript(),
      block: () => this.#block(true),
      unblock: () => this.#block(false),
      quit: () => this.#quit(),
    };
  }

  readonly run = (command: CommandName): void => this.#commands[command]?.();

  get #state(): DeskState {
    return this.#context.state;
  }

  #name(item: DeskState['queue']['items'][number]): string {
    return visitorName(item, this.#context.say);
  }

  #manage(command: Managing): void {
    const { commands, navigation } = this.#parts;
    if (concernsMarked(this.#state)) return this.#manageMarked(command);
    const item = targetConversation(this.#state);
    if (item === undefined || !isAvailable(this.#state, command))
      return this.#context.flash(this.#context.say(refusal(command, item?.status)), 'bad');
    switch (command) {
      case 'resolve':
        return navigation.ask(
          this.#context.say('askResolve', { name: this.#name(item) }),
          this.#context.say('yesResolve'),
          {
            command,
            id: item.id,
          },
        );
      case 'release':
        return void this.#acts.release(item.id);
      case 'transfer':
        navigation.openMenu('transfer', { loading: this.#state.colleagues === null, about: item.id });
        return void commands.loadColleagues().catch(this.#context.report).then(this.#menuLoaded);
    }
  }

  #manageMarked(command: Managing): void {
    const { commands, navigation } = this.#parts;
    const { say } = this.#context;
    switch (command) {
      case 'resolve':
        return navigation.ask(say('askResolveMany', { n: this.#state.marked.size }), say('yesResolve'), {
          command: 'resolveMarked',
        });
      case 'release':
        return void this.#order.bulk({ act: 'release' });
      case 'transfer':
        navigation.openMenu('transfer', { loading: this.#state.colleagues === null });
        return void commands.loadColleagues().catch(this.#context.report).then(this.#menuLoaded);
    }
  }

  /** @param loads what is asked for while the menu is open already */
  #chooseOrder(command: 'tag' | 'priority' | 'snooze', loads?: Promise<void>): void {
    const { navigation } = this.#parts;
    loads?.catch(this.#context.report).then(this.#menuLoaded, () => undefined);
    if (concernsMarked(this.#state)) return navigation.openMenu(command);
    const item = targetConversation(this.#state);
    if (item === undefined || !isAvailable(this.#state, command))
      return this.#context.flash(
        this.#context.say(
          item === undefined ? 'chooseConversation' : item.status === 'closed' ? 'isClosed' : 'notAllowed',
        ),
        'bad',
      );
    return navigation.openMenu(command, {
      about: item.id,
      loading: command === 'tag' && this.#state.tags === null,
    });
  }

  #chooseView(): void {
    const { navigation, views } = this.#parts;
    navigation.openMenu('views', { loading: this.#state.views === null });
    views
      .load()
      .catch(this.#context.report)
      .then(this.#menuLoaded, () => undefined);
  }

  #wake(): void {
    if (concernsMarked(this.#state)) return void this.#order.bulk({ act: 'unsnooze' });
    const item = targetConversation(this.#state);
    if (item === undefined || !isAvailable(this.#state, 'wake'))
      return this.#context.flash(
        this.#context.say(item === undefined ? 'chooseConversation' : 'notSnoozed'),
        'bad',
      );
    return void this.#order.wake(item.id);
  }

  async #reopen(): Promise<void> {
    const { navigation } = this.#parts;
    if (concernsMarked(this.#state)) return this.#order.bulk({ act: 'reopen' });
    const item = targetConversation(this.#state);
    if (item?.status !== 'closed')
      return this.#context.flash(
        this.#context.say(item === undefined ? 'chooseConversation' : 'notClosed'),
        'bad',
      );
    const { open } = this.#state;
    const scope = keyScopeOf(this.#state);
    if (!(await this.#order.reopen(item.id))) return undefined;
    const now = this.#state;
    // Who has gone elsewhere, or writes, must not be taken away from it: the next letters would be commands.
    const isStill = now.open?.id === open?.id && keyScopeOf(now) === scope;
    if (isStill && scope !== 'composer') navigation.openConversation(item.id, 'conversation');
    return undefined;
  }

  async #markUnread(): Promise<void> {
    const { navigation } = this.#parts;
    if (concernsMarked(this.#state)) return this.#order.bulk({ act: 'unread' });
    const item = targetConversation(this.#state);
    if (item === undefined) return this.#context.flash(this.#context.say('chooseConversation'), 'bad');
    const { open } = this.#state;
    const chosen =
      open?.id === item.id && open.selected !== null ? targetMessage(this.#state, false) : undefined;
    // As long as it is in sight it would be read again in a moment.
    if (open?.id === item.id) navigation.closeConversation();
    return this.#order.markUnread(item.id, chosen?.state === 'sent' ? chosen.id : undefined);
  }

  #chooseReply(): void {
    const { navigation, composer } = this.#parts;
    if (this.#state.open === null) return;
    navigation.setFocus('composer');
    navigation.openMenu('canned', { loading: this.#state.cannedReplies === null });
    void composer.suggestions.loadCannedReplies().then(this.#menuLoaded);
  }

  readonly #menuLoaded = (): void => {
    const { dialog } = this.#state;
    if (dialog?.kind === 'menu') this.#context.store.set({ dialog: { ...dialog, loading: false } });
  };

  #showVisitor(): void {
    const { navigation, conversation } = this.#parts;
    if (this.#state.open === null && !navigation.openTarget('conversation')) return;
    conversation.loadEarlierConversations();
    navigation.setDialog({ kind: 'visitor' });
  }

  #mailTranscript(): void {
    const { say } = this.#context;
    const item = targetConversation(this.#state);
    const address = sanitizeLine(item?.visitor.email ?? '');
    if (item === undefined || address === '')
      return this.#context.flash(say(item === undefined ? 'chooseConversation' : 'noAddress'), 'bad');
    return this.#parts.navigation.ask(say('askTranscript', { address }), say('yesTranscript'), {
      command: 'transcript',
      id: item.id,
      address,
    });
  }

  #block(blocked: boolean): void {
    const { navigation } = this.#parts;
    const item = targetConversation(this.#state);
    if (item === undefined) return this.#context.flash(this.#context.say('chooseConversation'), 'bad');
    if (!blocked) return void this.#acts.unblock(item);
    return navigation.ask(
      this.#context.say('askBlock', { name: this.#name(item) }),
      this.#context.say('yesBlock'),
      {
        command: 'block',
        item,
      },
    );
  }

  #onMessage(command: OnMessage): void {
    const { composer, navigation } = this.#parts;
    const { open } = this.#state;
    if (open === null) return;
    const unsent =
      open.room?.messages.filter(
        ({ key, state }) => state !== 'sent' && (open.selected === null || key === open.selected),
      ) ?? [];
    if (command === 'retry') {
      for (const { key, state } of unsent) if (state === 'failed') composer.retry(key);
      return;
    }
    const message = targetMessage(this.#state, command !== 'copy');
    if (message === undefined || message.deleted === true)
      return this.#context.flash(this.#context.say('chooseMessage'));
    if (command === 'copy') {
      this.#context.runtime.copy(editableText(message));
      return this.#context.flash(this.#context.say('copied'), 'good');
    }
    if (command === 'discard' || message.state !== 'sent') {
      const last = unsent.at(-1);
      if (last === undefined) return this.#context.flash(this.#context.say('everythingSent'));
      return navigation.ask(this.#context.say('askDiscard'), this.#context.say('yesDiscard'), {
        command: 'discard',
        key: last.key,
      });
    }
    if (!message.own) return this.#context.flash(this.#context.say('onlyOwn'), 'bad');
    if (command === 'remove')
      return navigation.ask(this.#context.say('askDelete'), this.#context.say('yesDelete'), {
        command,
        id: open.id,
        messageId: message.id,
      });
    beginEdit(composer, message, editableText(message));
    return navigation.setFocus('composer');
  }

  /** Whether there is text that is kept, but that an operator who leaves should know of. */
  #isUnsent(): boolean {
    const { open, drafted, composer } = this.#state;
    return (
      drafted.size > 0 ||
      hasContent(composer) ||
      this.#parts.composer.isLeaving() ||
      open?.room?.messages.some(({ state }) => state !== 'sent') === true
    );
  }

  #quit(): void {
    if (!this.#isUnsent()) return this.#context.runtime.exit(0);
    const drafts = [...this.#state.drafted];
    const { say } = this.#context;
    const owner = drafts[0] === undefined ? undefined : this.#context.item(drafts[0]);
    const what =
      drafts.length > 1
        ? say('unsentDrafts', { n: drafts.length })
        : drafts.length === 0
          ? say('unsentMessage')
          : owner === undefined
            ? say('unsentDraft')
            : say('unsentDraftTo', { name: this.#name(owner) });
    return this.#parts.navigation.ask(say('askQuit', { what }), say('yesQuit'), { command: 'quit' });
  }
}

function refusal(
  command: Managing,
  status: DeskState['queue']['items'][number]['status'] | undefined,
): DeskText {
  if (status === undefined) return 'chooseConversation';
  if (status === 'closed') return 'closedAlready';
  if (status === 'pending' && command !== 'resolve') return 'notAccepted';
  return 'notAllowed';
}
