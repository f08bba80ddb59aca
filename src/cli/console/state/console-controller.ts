// Brings the console's model together: what the client tells and what keys ask for becomes
// the next state. Must not draw; where a rule about one thing lives, its own file says.
import { asSdkError, isRetryable } from '../../../sdk/error.ts';
import type { CommandName, Keymap, KeyPress } from '../keys.ts';
import { createConversationCommands, visitorName } from './conversation-commands.ts';
import type { Notifier } from '../notifier.ts';
import { startNotifications } from './notifications.ts';
import { createCommandRunner } from './command-runner.ts';
import { keyScopeOf } from './available-commands.ts';
import {
  createConsoleContext,
  createStateStore,
  type ConsoleContext,
  type StateStore,
  type ConsoleRuntime,
} from './console-context.ts';
import type { DraftStore } from '../drafts.ts';
import { createQueueController } from './queue-controller.ts';
import { createDialogs } from './dialogs.ts';
import { createNavigation } from './navigation.ts';
import { createConversationController } from './conversation-controller.ts';
import { initialState } from './view-state.ts';
import { createComposerController } from './composer-controller.ts';
import type { StaffClient } from '../../../sdk/staff-types.ts';

export interface ConsoleController {
  readonly store: StateStore;
  /** Signs in with a token and begins to listen. False: nobody is signed in. */
  start(token: string | null): Promise<boolean>;
  /** Keys as the terminal reported them. */
  pressKeys(strokes: readonly KeyPress[]): void;
  paste(text: string): void;
  run(action: CommandName): void;
  resize(columns: number, rows: number): void;
  /** The terminal's window got or lost the focus. */
  setFocused(watched: boolean): void;
  /** Opens a conversation by its id. */
  open(id: string): void;
  /** What a line of text says to the open conversation: for consoles without a screen. */
  readonly parts: ConsoleParts;
  stop(): void;
}

export interface ConsoleParts {
  readonly core: ConsoleContext;
  readonly lists: ReturnType<typeof createQueueController>;
  readonly room: ReturnType<typeof createConversationController>;
  readonly acts: ReturnType<typeof createConversationCommands>;
  readonly writing: ReturnType<typeof createComposerController>;
}

export interface ConsoleControllerOptions {
  readonly client: StaffClient;
  readonly surroundings: ConsoleRuntime;
  readonly drafts: DraftStore;
  readonly keymap: Keymap;
  readonly notifier: Notifier;
  readonly mode: ConsoleContext['mode'];
  readonly columns: number;
  readonly rows: number;
  /** Puts a text into the terminal's clipboard. */
  copy(text: string): void;
  redraw(): void;
}

const tickMs = 1_000;
const colleaguesEveryMs = 60_000;
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;

/** The console without a screen. It listens at once, and asks nothing before `start`. */
export function createConsoleController(options: ConsoleControllerOptions): ConsoleController {
  const { client, keymap, surroundings } = options;
  const store = createStateStore(initialState(surroundings.now(), options.columns, options.rows));
  const core = createConsoleContext(surroundings, {
    client,
    store,
    drafts: options.drafts,
    mode: options.mode,
  });
  const acts = createConversationCommands(core);
  const lists = createQueueController(core);
  const room = createConversationController(core);
  const writing = createComposerController(core, acts);
  const attention = startNotifications(core, client, options.notifier);
  const navigation = createNavigation(core, { lists, room, writing });
  const { setDialog, setFocus, openConversation } = navigation;
  const run = createCommandRunner(core, {
    acts,
    lists,
    room,
    writing,
    navigation,
    attention,
    copy: options.copy,
    redraw: options.redraw,
  });
  const inDialog = createDialogs(core, { acts, lists, writing, navigation, keymap, perform: run });
  let stopped = false;
  let cancelTick = (): void => undefined;
  let signingIn = false;
  let hasBeenOnline = false;
  let colleaguesAt = -colleaguesEveryMs;

  const state = store.get;
  function pressOne(stroke: KeyPress): void {
    const context = keyScopeOf(state());
    const found = stroke.key === null ? null : (keymap.commandFor(context, stroke.key) ?? null);
    if (context === 'menu' || context === 'confirm' || context === 'search') {
      // A second Ctrl+C where the first one asked means it.
      if (found === 'quit' && context === 'confirm') return core.exit(0);
      if (found === 'quit' && context === 'menu') return setDialog(null);
      if (found === 'redraw') return options.redraw();
      return inDialog(found, stroke);
    }
    if (context === 'composer') {
      if (found !== null) {
        if (!writing.run(found)) run(found);
      } else if (stroke.key === null) writing.paste(stroke.text);
      else if (stroke.text !== '') writing.type(stroke.text);
      return undefined;
    }
    return found === null ? undefined : run(found);
  }

  /** Signs in, however long the service can't be reached and however often it refuses. False: nobody does. */
  async function enter(token: string | null): Promise<boolean> {
    let known = token;
    for (let attempt = 0; !stopped;) {
      known ??= await surroundings.signInAgain();
      if (known === null) return false;
      try {
        const session = await client.resume(known);
        store.set({ session, drafted: new Set(options.drafts.ids()) });
        return true;
      } catch (thrown) {
        const error = asSdkError(thrown);
        if (error.status === 401) known = null;
        else if (isRetryable(error)) {
          await wait(
            Math.max((error.retryAfter ?? 0) * 1000, Math.min(longestWaitMs, firstWaitMs * 2 ** attempt)),
          );
          attempt += 1;
        } else throw error;
      }
    }
    return false;
  }

  function wait(ms: number): Promise<void> {
    store.set({ connection: 'offline', reconnectAt: core.now() + ms });
    return new Promise((resolve) => {
      core.schedule(ms, resolve);
    });
  }

  async function signedOut(): Promise<void> {
    if (signingIn || stopped) return;
    signingIn = true;
    core.flash('Your session has ended. Sign in again; your drafts are kept.', 'bad');
    try {
      if (!(await enter(null))) return core.exit(0);
      room.rejoin();
      core.flash('Signed in again.', 'good');
    } catch (error) {
      core.report(error);
      core.exit(1);
    } finally {
      signingIn = false;
    }
    return undefined;
  }

  function tick(): void {
    if (stopped) return;
    cancelTick = core.schedule(tickMs, () => {
      store.set({ now: core.now() });
      if (state().connection === 'online' && core.now() - colleaguesAt >= colleaguesEveryMs) {
        colleaguesAt = core.now();
        // Who is there is told beside the conversation; nobody asked for it, so nobody hears that it failed.
        acts.loadColleagues().catch(() => undefined);
      }
      tick();
    });
  }

  const undo = [
    client.subscribe(({ connection, reconnectAt, conversations, rooms, retryAt }) => {
      if (stopped) return;
      store.set({ connection, reconnectAt, sendingWaitsUntil: retryAt });
      lists.sync(conversations);
      room.sync(rooms);
    }),
    client.on('connection', ({ status }) => {
      if (status !== 'online') return;
      if (hasBeenOnline) core.flash('Connected again; everything is up to date.', 'good');
      hasBeenOnline = true;
      lists.reload().catch(core.report);
      room.rejoin();
    }),
    client.on('conversation:new', () => lists.conversationAdded()),
    client.on('conversation:accepted', ({ conversationId }) => room.refreshDetail(conversationId)),
    client.on('conversation:released', ({ conversationId }) => room.refreshDetail(conversationId)),
    client.on('conversation:resolved', ({ conversationId }) => room.refreshDetail(conversationId)),
    client.on('message:deleted', ({ conversationId, messageId }) =>
      room.messageDeleted(conversationId, messageId),
    ),
    client.on('message:failed', (message) => {
      if (state().open?.id === message.conversationId)
        core.flash('A message was not sent: send it again or take it back.', 'bad');
      else core.flash(`A message to ${visitorName(core.item(message.conversationId))} was not sent.`, 'bad');
    }),
    client.on('signed-out', () => void signedOut()),
    client.on('error', (error) => {
      // What a reconnect mends is shown by the connection's state.
      if (asSdkError(error).code !== 'network' && asSdkError(error).status !== 401) core.report(error);
    }),
  ];

  return {
    store,
    parts: { core, lists, room, acts, writing },
    start: (token) => {
      tick();
      return enter(token);
    },
    pressKeys: (strokes) => {
      for (const stroke of strokes) pressOne(stroke);
    },
    paste: (text) => {
      const { dialog, queue, focus } = state();
      if (focus === 'composer' && dialog === null) writing.paste(text);
      else if (keyScopeOf(state()) === 'menu' || keyScopeOf(state()) === 'search')
        inDialog(null, { key: null, text: text.replace(/\s+/g, ' ').slice(0, 200) });
      else if (dialog === null && focus !== 'queue' && queue.search === null && state().open !== null) {
        setFocus('composer');
        writing.paste(text);
      }
    },
    run,
    resize: (columns, rows) => {
      if (columns === state().columns && rows === state().rows) return;
      store.set({ columns, rows });
      lists.keepCursorVisible();
      room.scroll(0);
      if (core.layout().panes === 3) room.loadEarlierConversations();
    },
    setFocused: (watched) => {
      store.set({ watched });
      if (watched) room.markRead();
    },
    open: (id) => openConversation(id, 'conversation'),
    stop: () => {
      stopped = true;
      cancelTick();
      for (const off of undo) off();
      attention.stop();
      client.stop();
    },
  };
}
