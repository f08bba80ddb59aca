// What each command does, on what is chosen or open now; what changes conversations and messages is in acts.ts. Knows no
// keys: those are in keymap.ts.
import { concernsMarked, targetConversation } from './available-commands.ts';
import type { ComposerController } from './composer-controller.ts';
import { hasText } from './composer.ts';
import type { DeskContext } from './desk-context.ts';
import type { DeskState } from './desk-state.ts';
import type { ConversationController } from './conversation-controller.ts';
import type { ConversationCommands } from './conversation-commands.ts';
import type { CommandName } from './keymap.ts';
import type { Marks } from './marks.ts';
import type { ActTool, FileTool, LearningTool } from './tools.ts';
import type { Navigation } from './navigation.ts';
import type { Notifications } from './notifications.ts';
import type { QueueController } from './queue-controller.ts';
import { nextUnread, shownCursor } from './queue.ts';

export interface CommandRunnerParts {
  readonly commands: ConversationCommands;
  readonly queue: QueueController;
  readonly marks: Marks;
  readonly acts: ActTool;
  readonly conversation: ConversationController;
  readonly composer: ComposerController;
  readonly navigation: Navigation;
  readonly learning: LearningTool;
  readonly files: FileTool;
  readonly notifications: Notifications;
}

/** What acts.ts does. */
const acts: ReadonlySet<CommandName> = new Set([
  'resolve',
  'release',
  'transfer',
  'reopen',
  'tag',
  'priority',
  'snooze',
  'wake',
  'unread',
  'views',
  'edit',
  'remove',
  'retry',
  'discard',
  'copy',
  'canned',
  'visitor',
  'transcript',
  'block',
  'unblock',
  'quit',
]);

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
      mark: () => this.#mark(),
      markAll: () => parts.marks.toggleAll(),
      attach: () => parts.files.attach(),
      saveFile: () => parts.files.save(),
      openFile: () => parts.files.open(),
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
      sound: () =>
        context.flash(
          notifications.toggle() ? context.say('notificationsOn') : context.say('notificationsOff'),
        ),
      palette: () => navigation.openMenu('palette'),
      help: () => navigation.setDialog({ kind: 'help' }),
      redraw: () => context.face.redraw(),
    };
  }

  readonly run = (command: CommandName): void => {
    const motions = this.#state.focus === 'queue' ? this.#queueMotions : this.#conversationMotions;
    const found = motions[command] ?? this.#commands[command];
    if (found !== undefined) found();
    else if (acts.has(command)) this.#parts.acts.run(command);
    else if (this.#state.focus === 'composer') this.#parts.composer.run(command);
  };

  get #state(): DeskState {
    return this.#context.state;
  }

  async #accept(): Promise<void> {
    const { commands, navigation, acts: others } = this.#parts;
    if (concernsMarked(this.#state)) return others.run('accept');
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

  /** Marks the conversation under the cursor, and goes on to the next. */
  #mark(): void {
    const { marks, queue } = this.#parts;
    const id = shownCursor(this.#state.queue) ?? targetConversation(this.#state)?.id;
    if (id === undefined) return;
    marks.toggle(id);
    queue.move(1);
  }

  #draft(): void {
    const { navigation, composer } = this.#parts;
    if (this.#state.open === null && !navigation.openTarget('composer')) return;
    navigation.setFocus('composer');
    composer.run('aiDraft');
  }
}
