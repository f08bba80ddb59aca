// What each command does, on what is chosen or open now. Knows no keys: those are in keymap.ts.
import { concernsMarked, isAvailable, targetConversation, targetMessage } from './available-commands.ts';
import type { ComposerController } from './composer-controller.ts';
import { hasText } from './composer.ts';
import type { DeskContext } from './desk-context.ts';
import type { DeskState } from './desk-state.ts';
import type { ConversationController } from './conversation-controller.ts';
import { visitorName, type ConversationCommands } from './conversation-commands.ts';
import type { CommandName } from './keymap.ts';
import type { DeskText } from './texts.ts';
import type { FileTool, LearningTool } from './tools.ts';
import { editableText } from './lexical-markdown.ts';
import { sanitizeLine } from './sanitize-line.ts';
import type { Navigation } from './navigation.ts';
import type { Notifications } from './notifications.ts';
import type { QueueController } from './queue-controller.ts';
import { nextUnread, shownCursor } from './queue.ts';
import type { QueueOrder } from './queue-order.ts';
import type { SavedViews } from './saved-views.ts';

export interface CommandRunnerParts {
  readonly commands: ConversationCommands;
  readonly queue: QueueController;
  readonly order: QueueOrder;
  readonly views: SavedViews;
  readonly conversation: ConversationController;
  readonly composer: ComposerController;
  readonly navigation: Navigation;
  readonly learning: LearningTool;
  readonly files: FileTool;
  readonly notifications: Notifications;
}

type Managing = 'resolve' | 'release' | 'transfer';
type OnMessage = 'edit' | 'remove' | 'retry' | 'discard' | 'copy';

export class CommandRunner {
  readonly #context: DeskContext;
  readonly #parts: CommandRunnerParts;
  /** What moves depends on the pane with the keys; everything else is the same everywhere. */
  readonly #queueMotions: Readonly<Partial<Record<CommandName, () => void>>>;
  readonly #conversationMotions: Readonly<Partial<Record<CommandName, () => void>>>;
  readonly #commands: Readonly<Partial<Record<CommandName, () => void>>>;

  constructor(context: DeskContext, parts: CommandRunnerParts) {
    this.#context = context;
    this.#parts = parts;
    const { queue, conversation, navigation, notifications } = parts;
    this.#queueMotions = {
      down: () => queue.move(1),
      up: () => queue.move(-1),
      pageDown: () => queue.move(context.face.queuePageSize()),
      pageUp: () => queue.move(-context.face.queuePageSize()),
      first: () => queue.moveTo(0),
      last: () => queue.moveTo(Number.MAX_SAFE_INTEGER),
    };
    this.#conversationMotions = {
      down: () => conversation.select(1),
      up: () => conversation.select(-1),
      pageDown: () => context.face.scroll('pageDown'),
      pageUp: () => context.face.scroll('pageUp'),
      first: () => conversation.toBeginning(),
      last: () => conversation.toEnd(),
    };
    const showTab = (tab: Parameters<QueueController['showTab']>[0]) => (): void => {
      queue.showTab(tab);
      navigation.setFocus('queue');
    };
    this.#commands = {
      tabPending: showTab('pending'),
      tabMine: showTab('mine'),
      tabAll: showTab('all'),
      tabClosed: showTab('closed'),
      open: () => void navigation.openTarget('conversation'),
      accept: () => void this.#accept(),
      reply: () => this.#write(false),
      note: () => this.#write(true),
      compose: () => void (this.#state.open !== null && navigation.setFocus('composer')),
      nextUnread: () => this.#goToNextUnread(),
      resolve: () => this.#manage('resolve'),
      release: () => this.#manage('release'),
      transfer: () => this.#manage('transfer'),
      reopen: () => void this.#reopen(),
      tag: () => this.#chooseOrder('tag', parts.order.loadTags()),
      priority: () => this.#chooseOrder('priority'),
      snooze: () => this.#chooseOrder('snooze'),
      wake: () => this.#wake(),
      unread: () => void this.#markUnread(),
      mark: () => this.#mark(),
      markAll: () => parts.order.toggleAll(),
      views: () => this.#chooseView(),
      edit: () => this.#onMessage('edit'),
      remove: () => this.#onMessage('remove'),
      retry: () => this.#onMessage('retry'),
      discard: () => this.#onMessage('discard'),
      copy: () => this.#onMessage('copy'),
      attach: () => parts.files.attach(),
      saveFile: () => parts.files.save(),
      openFile: () => parts.files.open(),
      canned: () => this.#chooseReply(),
      aiDraft: () => this.#draft(),
      editor: () => {
        if (this.#state.open !== null) navigation.setFocus('composer');
        parts.composer.run('editor');
      },
      nextPane: () => navigation.cyclePane(1),
      previousPane: () => navigation.cyclePane(-1),
      back: () => navigation.back(),
      search: () => {
        queue.search.begin();
        navigation.setFocus('queue');
      },
      gaps: () => void parts.learning.showGaps(),
      keep: () => parts.learning.beginKeep(),
      visitor: () => this.#showVisitor(),
      transcript: () => this.#mailTranscript(),
      block: () => this.#block(true),
      unblock: () => this.#block(false),
      sound: () =>
        context.flash(
          notifications.toggle() ? context.say('notificationsOn') : context.say('notificationsOff'),
        ),
      palette: () => navigation.openMenu('palette'),
      help: () => navigation.setDialog({ kind: 'help' }),
      redraw: () => context.face.redraw(),
      quit: () => this.#quit(),
    };
  }

  readonly run = (command: CommandName): void => {
    const motions = this.#state.focus === 'queue' ? this.#queueMotions : this.#conversationMotions;
    const found = motions[command] ?? this.#commands[command];
    if (found !== undefined) found();
    else if (this.#state.focus === 'composer') this.#parts.composer.run(command);
  };

  get #state(): DeskState {
    return this.#context.state;
  }

  #name(item: DeskState['queue']['items'][number]): string {
    return visitorName(item, this.#context.say);
  }

  async #accept(): Promise<void> {
    const { commands, navigation, order } = this.#parts;
    if (concernsMarked(this.#state)) return order.bulk({ act: 'accept' });
    const item = targetConversation(this.#state);
    if (item === undefined) return undefined;
    if (item.status !== 'pending')
      return this.#context.flash(
        this.#context.say(item.status === 'closed' ? 'isClosed' : 'acceptedAlready'),
      );
    // The composer has the keys at once: over a slow line, what is typed next would else be taken for commands.
    navigation.openConversation(item.id, 'composer');
    if (await commands.accept(item.id)) return undefined;
    const { open, focus, composer } = this.#state;
    if (open?.id === item.id && focus === 'composer' && !hasText(composer))
      navigation.setFocus('conversation');
    return undefined;
  }

  #write(note: boolean): void {
    const { navigation, composer } = this.#parts;
    if (targetConversation(this.#state)?.status === 'closed')
      return this.#context.flash(this.#context.say('conversationClosed'), 'bad');
    if (navigation.openTarget('composer')) composer.setNote(note);
    return undefined;
  }

  #goToNextUnread(): void {
    const { queue, open } = this.#state;
    const next = nextUnread(queue.items, this.#context.memberId, open?.id ?? null);
    if (next === undefined) return this.#context.flash(this.#context.say('nothingUnread'), 'good');
    return this.#parts.navigation.openConversation(next.id, 'conversation');
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
        return void commands.release(item.id);
      case 'transfer':
        navigation.openMenu('transfer', { loading: this.#state.colleagues === null, about: item.id });
        return void commands.loadColleagues().catch(this.#context.report).then(this.#menuLoaded);
    }
  }

  #manageMarked(command: Managing): void {
    const { commands, navigation, order } = this.#parts;
    const { say } = this.#context;
    switch (command) {
      case 'resolve':
        return navigation.ask(say('askResolveMany', { n: this.#state.marked.size }), say('yesResolve'), {
          command: 'resolveMarked',
        });
      case 'release':
        return void order.bulk({ act: 'release' });
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
    const { order } = this.#parts;
    if (concernsMarked(this.#state)) return void order.bulk({ act: 'unsnooze' });
    const item = targetConversation(this.#state);
    if (item === undefined || !isAvailable(this.#state, 'wake'))
      return this.#context.flash(
        this.#context.say(item === undefined ? 'chooseConversation' : 'notSnoozed'),
        'bad',
      );
    return void order.wake(item.id);
  }

  async #reopen(): Promise<void> {
    const { order, navigation } = this.#parts;
    if (concernsMarked(this.#state)) return order.bulk({ act: 'reopen' });
    const item = targetConversation(this.#state);
    if (item?.status !== 'closed')
      return this.#context.flash(
        this.#context.say(item === undefined ? 'chooseConversation' : 'notClosed'),
        'bad',
      );
    if (await order.reopen(item.id)) navigation.openConversation(item.id, 'conversation');
    return undefined;
  }

  async #markUnread(): Promise<void> {
    const { order, navigation } = this.#parts;
    if (concernsMarked(this.#state)) return order.bulk({ act: 'unread' });
    const item = targetConversation(this.#state);
    if (item === undefined) return this.#context.flash(this.#context.say('chooseConversation'), 'bad');
    const { open } = this.#state;
    const chosen =
      open?.id === item.id && open.selected !== null ? targetMessage(this.#state, false) : undefined;
    // As long as it is in sight it would be read again in a moment.
    if (open?.id === item.id) navigation.closeConversation();
    return order.markUnread(item.id, chosen?.state === 'sent' ? chosen.id : undefined);
  }

  /** Marks the conversation under the cursor, and goes on to the next. */
  #mark(): void {
    const { order, queue } = this.#parts;
    const id = shownCursor(this.#state.queue) ?? targetConversation(this.#state)?.id;
    if (id === undefined) return;
    order.toggleMark(id);
    queue.move(1);
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

  #draft(): void {
    const { navigation, composer } = this.#parts;
    if (this.#state.open === null && !navigation.openTarget('composer')) return;
    navigation.setFocus('composer');
    composer.run('aiDraft');
  }

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
    const { commands, navigation } = this.#parts;
    const item = targetConversation(this.#state);
    if (item === undefined) return this.#context.flash(this.#context.say('chooseConversation'), 'bad');
    if (!blocked) return void commands.unblock(item);
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
    composer.beginEdit(message);
    return navigation.setFocus('composer');
  }

  #quit(): void {
    if (!this.#parts.composer.isUnsent()) return this.#context.runtime.exit(0);
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
