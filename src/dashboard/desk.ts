// Owns the one desk of this page: the model with the browser's clock, drafts, notifications and keys around it.
import { signal } from '@preact/signals';
import { DeskController } from '../desk/desk-controller.ts';
import type { DeskState } from '../desk/desk-state.ts';
import { initialState } from '../desk/desk-state.ts';
import { createKeymap, type CommandName, type Keymap, type KeyOverrides } from '../desk/keymap.ts';
import { isText } from '../desk/key-names.ts';
import type { Notifier } from '../desk/notifications.ts';
import { session, staffClient } from './api.ts';
import { createBrowserTools } from './desk-tools.ts';
import { areLetterKeysOn } from './inbox/letter-keys.ts';
import { isSoundOn, playSound, setSound } from './sound.ts';
import type { DraftStore } from '../desk/drafts.ts';
import { titleCount } from './page-title.ts';
import type * as push from './push.ts';
import { leaving, route } from './router.ts';
import { createLocalDrafts, handedOverDrafts } from './storage.ts';
import { toast } from './ui/toast.tsx';
import { readSetting, say, t, withWords, writeSetting } from './words.ts';

/** What the browser does by itself, or has no use for. */
const without: readonly CommandName[] = ['redraw', 'editor', 'openFile', 'saveFile', 'undo', 'redo'];

/** Keys that a browser keeps for itself, or that Tab must not lose, have others here. */
const keys: KeyOverrides = {
  // Here one leaves by signing out: never by a slip, so in the palette only.
  quit: [],
  palette: ['ctrl+k', ':'],
  nextPane: ['f6'],
  previousPane: ['shift+f6'],
  toggleNote: ['alt+n'],
  canned: ['alt+c'],
  aiDraft: ['alt+g'],
  attach: ['alt+o'],
  newline: ['shift+enter'],
  send: ['enter', 'ctrl+enter'],
  choose: ['enter'],
  down: ['j', 'down'],
  up: ['k', 'up'],
};

const spoken = (name: CommandName): string => {
  if (name === 'quit') return t('signOut');
  const key = `cmd_${name}`;
  // A command that the dashboard has not is never named.
  return isSpoken(key) ? t(key) : name;
};

type SpokenCommand = Extract<Parameters<typeof t>[0], `cmd_${string}`>;

function isSpoken(key: string): key is SpokenCommand {
  return !without.some((name) => key === `cmd_${name}`) && key !== 'cmd_lineUp' && key !== 'cmd_lineDown';
}

export const deskState = signal<DeskState>(initialState(Date.now()));
/** Why the member must sign in again; null: the member was not signed out. */
export const signedOutNote = signal<string | null>(null);

let resumeSignIn: ((token: string | null) => void) | null = null;

/** The member has signed in: what waited for it goes on. */
export function signedIn(): void {
  const resume = resumeSignIn;
  resumeSignIn = null;
  resume?.('');
}

/** Does something with the browser's notifications, where the member has given leave. */
function withNotifications(act: (file: typeof push) => Promise<void> | void): void {
  if (!('Notification' in globalThis) || Notification.permission !== 'granted') return;
  import('./push.ts').then(act).catch(() => undefined);
}

function createNotifier(): Notifier {
  return {
    start: () => undefined,
    stop: () => undefined,
    notify: (heading, body, conversationId) => {
      playSound();
      if (document.visibilityState !== 'visible')
        withNotifications(({ showNotification }) => showNotification(heading, body, conversationId));
    },
    // Without leave none was shown.
    clear: (conversationId) =>
      withNotifications(({ closeNotifications }) => closeNotifications(conversationId)),
    setCount: (count) => {
      titleCount(count);
      const badged: { setAppBadge?: (count?: number) => Promise<void>; clearAppBadge?: () => Promise<void> } =
        navigator;
      const done = count === 0 ? badged.clearAppBadge?.() : badged.setAppBadge?.(count);
      done?.catch(() => undefined);
    },
    mute: (muted) => setSound(!muted),
    get muted() {
      return !isSoundOn();
    },
  };
}

export interface Desk {
  readonly drafts: DraftStore;
  readonly model: DeskController;
  readonly keymap: Keymap;
}

let current: Desk | null = null;

/** Who signed in last in this browser. */
const memberSetting = 'deskbell.member';

/** Asks before the page is left with something that was sent and is still on its way. */
function guard(event: BeforeUnloadEvent): void {
  if (current?.model.composer.isLeaving() === true) event.preventDefault();
}

/** Loads the page anew, for another member or none. Unasked: this one has left already. */
export function beginAnew(): void {
  removeEventListener('beforeunload', guard);
  leaving.ask = null;
  location.reload();
}

/** The desk of this page; made at the first call, which nothing is asked by. */
export function desk(): Desk {
  if (current !== null) return current;
  const client = staffClient();
  const works = (key: string): boolean => !isText(key) || areLetterKeysOn();
  const keymap = createKeymap(keys, { about: spoken, without, works });
  let member = '';
  // What comes back unsent while the session is over is still theirs.
  const memberId = (): string => client.getState().session?.member.id ?? member;
  const drafts = createLocalDrafts(memberId, () => toast(t('draftsNotKept'), 'bad'));
  const model = new DeskController({
    client,
    drafts,
    mode: 'live',
    // In the file that draws them.
    tools: createBrowserTools({
      dialogs: () => withWords(import('./inbox/overlays.tsx')),
      acts: () => withWords(import('../desk/acts.ts')),
      learning: () => withWords(import('../desk/learning.ts')),
      drafting: () => withWords(import('../desk/ai-draft.ts')),
    }),
    asksLess: true,
    loadsEarly: true,
    keymap,
    say,
    notifier: createNotifier(),
    runtime: {
      now: Date.now,
      schedule: (ms, run) => {
        const timer = setTimeout(run, ms);
        return () => clearTimeout(timer);
      },
      edit: () => Promise.resolve(null),
      signInAgain: () => {
        if (session.value) signedOutNote.value = say('sessionEnded');
        session.value = null;
        return new Promise((resolve) => {
          resumeSignIn = resolve;
        });
      },
      refused: () =>
        void import('./rights.ts').then(({ checkRights }) => checkRights()).catch(() => undefined),
      copy: (text) => void navigator.clipboard?.writeText(text).catch(() => undefined),
      // The member has asked for it; what ends for another reason stays where it is.
      exit: (code) => {
        if (code === 0) signOut();
      },
      preferences: {
        get: (name) => readSetting(`deskbell.${name}`),
        set: (name, value) => writeSetting(`deskbell.${name}`, value),
      },
    },
  });
  let flash: DeskState['flash'] = null;
  let taken: DeskState['session'] = null;
  model.store.subscribe(() => {
    const state = model.store.get();
    // The one that is over stays in the model until there is another.
    if (state.session !== null && state.session !== taken) {
      taken = state.session;
      // Another member's conversations are none of this one's business.
      if (member !== '' && member !== state.session.member.id) return beginAnew();
      if (member === '' && handedOverDrafts(state.session.member.id).list().length > 0)
        void import('./draft-keeper.ts').then(({ takeBack }) => takeBack(model, drafts));
      member = state.session.member.id;
      // The pages of one browser share its session: the others leave, before they send anything in this name.
      writeSetting(memberSetting, member);
      session.value = state.session;
      signedOutNote.value = null;
    }
    // The sign-in says itself that the session is over.
    if (state.flash !== null && state.flash !== flash && state.flash.text !== say('sessionEnded'))
      toast(state.flash.text, state.flash.tone);
    flash = state.flash;
    deskState.value = state;
    return undefined;
  });
  client.on('message', (message) => {
    import('./inbox/arrivals.ts').then(({ sayArrival }) => sayArrival(message)).catch(() => undefined);
  });
  addEventListener('beforeunload', guard);
  // What is open is before the member's eyes: not behind the settings, nor in a tab that was not looked at yet.
  const tellFocus = (): void =>
    model.setFocused(
      route.value.page === 'inbox' && document.visibilityState === 'visible' && document.hasFocus(),
    );
  route.subscribe(tellFocus);
  addEventListener('focus', () => {
    tellFocus();
    import('./rights.ts').then(({ checkRightsAgain }) => checkRightsAgain()).catch(() => undefined);
  });
  // Not by a question to the service, which might not be reached, while what waits here went out in another's name.
  addEventListener('storage', ({ key, newValue }) => {
    if (key === memberSetting && newValue !== null && member !== '' && newValue !== member) beginAnew();
  });
  addEventListener('blur', tellFocus);
  document.addEventListener('visibilitychange', tellFocus);
  current = { model, keymap, drafts };
  return current;
}

/** Ends the session; what hands the drafts over is loaded for it. */
export function signOut(): void {
  withWords(import('./draft-keeper.ts'))
    .then((file) => file.signOut())
    .catch((error: unknown) => desk().model.context.report(error));
}
