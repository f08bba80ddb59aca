// Brings the desk's model together: what the client tells and what keys ask for becomes the next state. Must not
// draw, and knows no terminal.
import { asSdkError, isRetryable } from '../sdk/error.ts';
import { keyScopeOf } from './available-commands.ts';
import { CommandRunner } from './command-runner.ts';
import { ComposerController } from './composer-controller.ts';
import { DeskContext, type DeskParts, type Face, type StateStore } from './desk-context.ts';
import { initialState, type DeskState, type Focus, type PaneCount } from './desk-state.ts';
import {
  createConversationCommands,
  visitorName,
  type ConversationCommands,
} from './conversation-commands.ts';
import { ConversationController } from './conversation-controller.ts';
import type { KeyPress } from './key-names.ts';
import type { CommandName, Keymap } from './keymap.ts';
import { Navigation } from './navigation.ts';
import { maxFieldLength } from './one-line-field.ts';
import type { DialogTool, FileTool } from './tools.ts';
import { startNotifications, type Notifications, type Notifier } from './notifications.ts';
import { QueueController } from './queue-controller.ts';
import { Marks } from './marks.ts';
import { SavedViews } from './saved-views.ts';
import { SearchKeys } from './search-keys.ts';

export interface DeskControllerOptions extends DeskParts {
  readonly keymap: Keymap;
  readonly notifier: Notifier;
}

const tickMs = 1_000;
const colleaguesEveryMs = 60_000;
/** The queue is asked for again so long after it could not be read. */
const reloadAgainMs = 5_000;
const minRetryMs = 1_000;
const maxRetryMs = 30_000;

/** The desk without a screen: a terminal or a browser shows it. It listens at once, and asks nothing before `start`. */
export class DeskController {
  readonly context: DeskContext;
  readonly queue: QueueController;
  readonly marks: Marks;
  readonly views: SavedViews;
  readonly conversation: ConversationController;
  readonly commands: ConversationCommands;
  readonly composer: ComposerController;
  readonly files: FileTool;
  readonly #keymap: Keymap;
  readonly #notifications: Notifications;
  readonly #navigation: Navigation;
  readonly #runner: CommandRunner;
  readonly #dialogs: DialogTool;
  readonly #searchKeys: SearchKeys;
  readonly #undo: readonly (() => void)[];
  #stopped = false;
  #signingIn = false;
  #hasBeenOnline = false;
  #colleaguesAt = -colleaguesEveryMs;
  #cancelTick = (): void => undefined;
  #cancelReload = (): void => undefined;

  constructor({ keymap, notifier, ...parts }: DeskControllerOptions) {
    const context = new DeskContext(parts, initialState(parts.runtime.now()));
    this.context = context;
    this.#keymap = keymap;
    this.commands = createConversationCommands(context);
    this.marks = new Marks(context);
    this.views = new SavedViews(context);
    this.queue = new QueueController(context, () => this.views.count());
    this.conversation = new ConversationController(context);
    this.composer = new ComposerController(context, this.commands);
    this.#notifications = startNotifications(context, notifier);
    const { commands, queue, marks, views, conversation, composer } = this;
    const navigation = new Navigation(context, { queue, conversation, composer, marks });
    this.#navigation = navigation;
    const learning = parts.tools.learning(context, { composer, navigation });
    const files = parts.tools.files(context, composer, navigation);
    this.files = files;
    this.#runner = new CommandRunner(context, {
      commands,
      queue,
      marks,
      acts: parts.tools.acts(context, { commands, views, conversation, composer, navigation }),
      conversation,
      composer,
      navigation,
      learning,
      files,
      notifications: this.#notifications,
    });
    this.#searchKeys = new SearchKeys(context, queue, this.#runner.run);
    this.#dialogs = parts.tools.dialogs(context, {
      queue,
      views,
      composer,
      navigation,
      learning,
      files,
      keymap,
      run: this.#runner.run,
    });
    this.#undo = this.#listen();
  }

  get store(): StateStore {
    return this.context.store;
  }

  /** From now on the state is shown by this face. */
  attach(face: Face): void {
    this.context.face = face;
  }

  /**
   * Signs in with a token and begins to listen.
   * @returns false: the operator cancelled, and the desk ends
   * @throws SdkError when the service refuses for another reason than the session
   */
  start(token: string | null): Promise<boolean> {
    this.#tick();
    return this.#signIn(token);
  }

  stop(): void {
    this.#stopped = true;
    this.#cancelTick();
    this.#cancelReload();
    for (const off of this.#undo) off();
    this.#notifications.stop();
    this.context.client.stop();
  }

  /** Keys as the face reported them. */
  pressKeys(presses: readonly KeyPress[]): void {
    for (const press of presses) this.#press(press);
  }

  /** A pasted text goes where text is written: into the composer, or the field that is open. */
  paste(text: string): void {
    const { dialog, queue, focus, open } = this.#state;
    const scope = keyScopeOf(this.#state);
    const line = { key: null, text: text.replace(/\s+/g, ' ').slice(0, maxFieldLength) };
    if (scope === 'composer') this.composer.paste(text);
    else if (scope === 'menu') this.#dialogs.press(null, line);
    else if (scope === 'search') this.#searchKeys.press(null, line);
    else if (dialog === null && focus !== 'queue' && queue.search === null && open !== null) {
      this.#navigation.setFocus('composer');
      this.composer.paste(text);
    }
  }

  run(command: CommandName): void {
    this.#runner.run(command);
  }

  /** Opens a conversation by its id. */
  open(id: string): void {
    this.#navigation.openConversation(id, 'conversation');
  }

  /** Told by the face: how many panes stand side by side. */
  setPanes(panes: PaneCount): void {
    this.context.store.set({ panes });
    if (panes === 3 && !this.context.asksLess) this.conversation.loadEarlierConversations();
    this.conversation.markRead();
  }

  /** Told by the face: the pane that has the keys. */
  setFocus(focus: Focus): void {
    if (this.#state.focus !== focus) this.#navigation.setFocus(focus);
  }

  /** Told by a face that has fields of its own: the filter of the menu that is open. */
  setFilter(filter: string): void {
    this.#dialogs.setFilter(filter);
  }

  /** Chooses from the menu that is open. @param index among `menuChoices` */
  choose(index: number): void {
    this.#dialogs.choose(index);
  }

  /** Answers the question that is open. */
  answer(yes: boolean): void {
    if (yes) this.#dialogs.confirm();
    else this.#navigation.setDialog(null);
  }

  /** Closes what lies over the panes. */
  closeDialog(): void {
    this.#navigation.setDialog(null);
  }

  /** Leaves the open conversation: the queue has the keys, and nothing is listened to any more. */
  close(): void {
    this.#navigation.closeConversation();
  }

  /** Told by the face: whether its window has the focus. */
  setFocused(watched: boolean): void {
    this.context.store.set({ watched });
    if (watched) this.conversation.markRead();
  }

  get #state(): DeskState {
    return this.context.state;
  }

  #press(press: KeyPress): void {
    const scope = keyScopeOf(this.#state);
    const command = press.key === null ? null : (this.#keymap.commandFor(scope, press.key) ?? null);
    switch (scope) {
      case 'menu':
      case 'confirm':
        // A second Ctrl+C where the first one asked means it.
        if (command === 'quit' && scope === 'confirm') return this.context.runtime.exit(0);
        if (command === 'quit' && scope === 'menu') return this.#navigation.setDialog(null);
        if (command === 'redraw') return this.context.face.redraw();
        return this.#dialogs.press(command, press);
      case 'search':
        if (command === 'redraw') return this.context.face.redraw();
        return this.#searchKeys.press(command, press);
      case 'composer':
        if (command !== null) {
          if (!this.composer.run(command)) this.run(command);
        } else if (press.key === null) this.composer.paste(press.text);
        else if (press.text !== '') this.composer.type(press.text);
        return undefined;
      default:
        return command === null ? undefined : this.run(command);
    }
  }

  /** Signs in, however long the service can't be reached and however often it refuses the session. */
  async #signIn(token: string | null): Promise<boolean> {
    const { client, drafts, runtime, store } = this.context;
    let known = token;
    // A page may have asked with the session that it found: its answer is no good once that one is over.
    let loadsEarly = this.context.loadsEarly && token !== null;
    for (let attempt = 0; !this.#stopped;) {
      known ??= await runtime.signInAgain();
      if (known === null) return false;
      try {
        const session = await client.resume(known);
        store.set({ session, drafted: new Set(drafts.ids()) });
        // What fails here is asked for again once the socket is open.
        if (loadsEarly) this.queue.loadFirst().catch(() => undefined);
        return true;
      } catch (thrown) {
        const error = asSdkError(thrown);
        if (error.status === 401) {
          known = null;
          loadsEarly = false;
        } else if (isRetryable(error)) {
          const backoff = Math.min(maxRetryMs, minRetryMs * 2 ** attempt);
          await this.#wait(Math.max((error.retryAfter ?? 0) * 1000, backoff));
          attempt += 1;
        } else throw error;
      }
    }
    return false;
  }

  #wait(ms: number): Promise<void> {
    this.context.store.set({ connection: 'offline', reconnectAt: this.context.now() + ms });
    return new Promise((resolve) => {
      this.context.schedule(ms, resolve);
    });
  }

  async #signedOut(): Promise<void> {
    const { context } = this;
    if (this.#signingIn || this.#stopped) return;
    this.#signingIn = true;
    context.flash(context.say('sessionEnded'), 'bad');
    try {
      if (!(await this.#signIn(null))) return context.runtime.exit(0);
      this.conversation.rejoin();
      context.flash(context.say('signedInAgain'), 'good');
    } catch (error) {
      context.report(error);
      context.runtime.exit(1);
    } finally {
      this.#signingIn = false;
    }
    return undefined;
  }

  #tick(): void {
    if (this.#stopped) return;
    this.#cancelTick = this.context.schedule(tickMs, () => {
      const now = this.context.now();
      this.context.store.set({ now });
      if (this.#state.connection === 'online' && now - this.#colleaguesAt >= colleaguesEveryMs) {
        this.#colleaguesAt = now;
        // Asked without a command of the operator's, so a failure is not reported.
        this.commands.loadColleagues().catch(() => undefined);
      }
      this.#tick();
    });
  }

  #listen(): readonly (() => void)[] {
    const { context, queue, conversation, views } = this;
    const { client } = context;
    return [
      client.subscribe(({ connection, reconnectAt, conversations, rooms, retryAt }) => {
        if (this.#stopped) return;
        context.store.set({ connection, reconnectAt, sendingWaitsUntil: retryAt });
        queue.sync(conversations);
        conversation.sync(rooms);
      }),
      client.on('connection', ({ status }) => {
        if (status === 'online') this.#connected();
      }),
      client.on('conversation:new', () => queue.conversationAdded()),
      client.on('conversation:activity', () => queue.viewsMayHaveChanged()),
      ...(
        [
          'conversation:accepted',
          'conversation:released',
          'conversation:resolved',
          'conversation:reopened',
          'conversation:changed',
        ] as const
      ).map((event) =>
        client.on(event, ({ conversationId }: { readonly conversationId: string }) => {
          conversation.refreshDetail(conversationId);
          queue.viewsMayHaveChanged();
        }),
      ),
      client.on('tag:changed', () => {
        const { open, views: saved } = context.state;
        if (open !== null) conversation.refreshDetail(open.id);
        // They follow the tag's name.
        if (saved !== null) views.load().catch(() => undefined);
        queue.viewsMayHaveChanged();
      }),
      client.on('message:deleted', ({ conversationId, messageId }) =>
        conversation.messageDeleted(conversationId, messageId),
      ),
      client.on('message:failed', ({ conversationId }) => this.#messageFailed(conversationId)),
      client.on('signed-out', () => void this.#signedOut()),
      client.on('error', (error) => {
        // What a reconnect mends is shown by the connection's state; who is let out for good is asked to sign in.
        if (error.code !== 'network' && error.code !== 'forbidden' && error.status !== 401)
          context.report(error);
      }),
    ];
  }

  #connected(): void {
    if (this.#hasBeenOnline) this.context.flash(this.context.say('connectedAgain'), 'good');
    this.#hasBeenOnline = true;
    this.#reloadQueue();
    this.conversation.rejoin();
  }

  /** Reads the queue anew until it succeeds, is refused, or the connection ends: the next one reads it anyway. */
  #reloadQueue(): void {
    this.#cancelReload();
    this.queue.reload().catch((thrown: unknown) => {
      const error = asSdkError(thrown);
      this.context.report(error);
      if (this.#stopped || !isRetryable(error)) return;
      this.#cancelReload();
      // No event would bring what is missing.
      this.#cancelReload = this.context.schedule(
        Math.max((error.retryAfter ?? 0) * 1000, reloadAgainMs),
        () => {
          if (this.#state.connection === 'online') this.#reloadQueue();
        },
      );
    });
  }

  #messageFailed(conversationId: string): void {
    const name = visitorName(this.context.item(conversationId), this.context.say);
    this.context.flash(
      this.#state.open?.id === conversationId
        ? this.context.say('messageNotSent')
        : this.context.say('messageToNotSent', { name }),
      'bad',
    );
  }
}
