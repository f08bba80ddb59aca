// Owns the third stage: the engine, and what it tells the page (title, sound, events on the document).
// Nothing is stored and nothing connects before the visitor does something.
import { asSdkError } from '../../src/sdk/error.ts';
import { getSdkApi, init } from '../../src/sdk/index.ts';
import type { SdkApi, SdkEventName, SdkEvents, SdkState } from '../../src/sdk/types.ts';
import type { VisibleHost, MakePanel, ConversationModule } from '../launcher/host.ts';
import type { Panel } from '../panel/panel.ts';
import { sheet } from '../shared/dom.ts';
import { watchAccess } from './access.ts';
import { createContact } from './contact.ts';
import css from './conversation.css';
import { Conversation } from './conversation.ts';
import { createDrafts } from './drafts.ts';
import { playNotificationSound } from './notification-sound.ts';
import { createServerClock, type ServerClock } from './server-clock.ts';
import { createTitleBadge } from './title-badge.ts';

const events: readonly SdkEventName[] = [
  'ready',
  'open',
  'close',
  'message',
  'message:sent',
  'message:updated',
  'message:deleted',
  'message:failed',
  'conversation',
  'typing',
  'read',
  'unread',
  'presence',
  'connection',
  'error',
];
const quietKey = 'deskbell:quiet';

export const start: ConversationModule['start'] = (shell, frame, makeFrame) => {
  const { options, config, signal } = shell;
  const clock = createServerClock();
  const environment = { fetch: clock.fetch, ...options.environment };
  init({ ...options, environment, ...(config !== null && { config }) }).catch(() => undefined);
  const api = getSdkApi();
  for (const type of events) {
    api.on(type, (detail: SdkEvents[SdkEventName]) => {
      document.dispatchEvent(new CustomEvent(`deskbell:${type}`, { detail }));
    });
  }
  if (frame !== null) live({ api, shell: shell as VisibleHost, makeFrame, clock }, frame);
  signal.addEventListener('abort', () => api.destroy());
  return api;
};

interface Means {
  readonly api: SdkApi;
  readonly shell: VisibleHost;
  readonly makeFrame: MakePanel;
  readonly clock: ServerClock;
}

/** Keeps the frame and the page up to date with the engine, in whichever language is wanted at the time. */
function live({ api, shell, makeFrame, clock }: Means, first: Panel): void {
  const { options, signal, root } = shell;
  let { theme, locale } = api.getState();
  let quiet = readQuiet();
  const sound = {
    isOn: () => !quiet,
    toggle: () => {
      quiet = !quiet;
      if (options.storage !== 'none') keepQuiet(quiet);
      if (!quiet) playNotificationSound();
    },
  };
  const contact = createContact(shell, api.getState().visitorId !== null);
  const title = createTitleBadge(signal);
  root.adoptedStyleSheets = [...root.adoptedStyleSheets.slice(0, 2), sheet(css)];
  let frame = first;
  const drafts = createDrafts({ ...options, mayStore: (state) => !contact.shouldAsk(state) }, api.getState());
  let room = new Conversation({ api, shell, frame, sound, contact, drafts, now: clock.now });
  const { reset, openConversation } = api;
  Object.assign(api, {
    reset: () => {
      // One who has no id yet can have written something, too.
      room.forget();
      return reset();
    },
    openConversation: async (id: string | null) => {
      try {
        return await openConversation(id);
      } catch (error) {
        // What is not there would stay open: an empty view, in which nothing can be sent.
        const isOpen = api.getState().conversationId === id;
        if (isOpen && asSdkError(error).code === 'not_found') await openConversation(null);
        throw error;
      }
    },
  });
  let withdrawn = false;
  // Opened before the engine came: the engine hears of it from the queue.
  let shown = api.isOpen();

  async function translate(wanted: string | null): Promise<void> {
    const made = await makeFrame(wanted, room.draft());
    if (signal.aborted || wanted !== api.getState().locale) {
      made.remove();
      return;
    }
    const was = frame.isOpen();
    room.remove();
    frame.remove();
    frame = made;
    room = new Conversation({ api, shell, frame, sound, contact, drafts, now: clock.now });
    frame.setOpen(was);
    room.setWithdrawn(withdrawn);
    update(api.getState());
  }

  function update(state: SdkState): void {
    shell.setVisible(state.visible);
    if (state.connection === 'online' && withdrawn) access.goOn();
    if (state.theme !== theme) shell.setTheme(state.theme);
    theme = state.theme;
    const { words, plural } = frame.i18n;
    shell.setUnread(state.unread, state.unread === 0 ? words.chat : plural(words.unread, state.unread));
    // A hidden widget shows no panel, which would hold the page still on a phone.
    if ((state.open && state.visible) !== shown) {
      shown = !shown;
      frame.setOpen(shown);
    }
    room.update(state);
    if (state.locale === locale) return;
    locale = state.locale;
    void translate(locale);
  }

  const hideIfRefused = ({ code }: { readonly code: string }): void => {
    if (code === 'visitor_blocked' || code === 'identity_required') api.hide();
  };
  const access = watchAccess(shell, (next) => {
    withdrawn = next;
    room.setWithdrawn(next);
  });
  const onAnswered = ({ total }: { readonly total: number }): void => {
    // There was a conversation, or there would have been no socket: the visitor has been erased, and is a new one from here on.
    if (total === 0) void api.reset();
    else access.goOn();
  };
  const onTurnedAway = (thrown: unknown): void => {
    const refusal = asSdkError(thrown);
    hideIfRefused(refusal);
    access.end(refusal);
  };
  const undo = [
    api.subscribe(update),
    api.on('error', (error) => {
      hideIfRefused(error);
      if (error.code === 'unauthorized' || error.code === 'origin_not_allowed') access.end(error);
      // A socket that is closed for good does not say why; a request does.
      if (error.code === 'forbidden') void api.listConversations().then(onAnswered, onTurnedAway);
    }),
    () => access.stop(),
    api.on('message', (message) => {
      if (message.own) return;
      title.add();
      const looking = document.visibilityState === 'visible' && document.hasFocus() && shown;
      if (!looking && !quiet) void inOneTab(message.id, playNotificationSound);
    }),
  ];
  signal.addEventListener('abort', () => {
    for (const step of undo) step();
    room.remove();
    frame.remove();
  });
  update(api.getState());
}

/** Runs something in one of the visitor's tabs only. */
async function inOneTab(id: string, run: () => void): Promise<void> {
  // Without the Web Locks API (an insecure page) each tab is on its own.
  const locks = navigator.locks as LockManager | undefined;
  if (locks === undefined) {
    run();
    return;
  }
  await locks.request(`deskbell:sound:${id}`, { ifAvailable: true }, async (lock) => {
    if (lock === null) return;
    run();
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  });
}

function readQuiet(): boolean {
  try {
    return localStorage.getItem(quietKey) !== null;
  } catch {
    return false;
  }
}

function keepQuiet(quiet: boolean): void {
  try {
    if (quiet) localStorage.setItem(quietKey, '1');
    else localStorage.removeItem(quietKey);
  } catch {
    // Blocked storage: the choice lasts as long as the page.
  }
}
