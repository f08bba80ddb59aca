// Owns how the console calls for attention: bell, desktop notification, window title, as bytes for the terminal at hand.
// Must not decide when. Which terminal understands what is read from the environment that it is given.

import type { Notifier } from '../../desk/notifications.ts';
import { preview, escapeControls } from '../../text/text.ts';

/** Which ways of calling for attention are on. */
export interface NotificationOptions {
  readonly bell: boolean;
  /** OSC 9 or OSC 777, whichever the terminal knows. */
  readonly desktop: boolean;
  /** The window's title with the count. */
  readonly title: boolean;
}

/** How a terminal is told of a desktop notification; `none`: it knows no way. */
export type DesktopMethod = 'osc9' | 'osc777' | 'none';

export interface TerminalKind {
  readonly desktop: DesktopMethod;
  /** The multiplexer that stands between us and the terminal: what it does not know must be wrapped for it. */
  readonly multiplexer: 'tmux' | 'screen' | null;
  /** Whether it has a title; and a bell, which only `dumb` may print. */
  readonly title: boolean;
  readonly bell: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

const esc = '\u001b';
const bel = '\u0007';
const stringEnd = `${esc}\\`;
const maxTitle = 60;
const maxBody = 160;
// GNU screen drops a longer string; each piece is wrapped by itself.
const screenPiece = 200;

/**
 * What the terminal can do. `DESKBELL_NOTIFY` (`osc9`, `osc777`, `bell`) overrules the guess about notifications.
 *
 * The guess: OSC 9 for iTerm2 and ConEmu; nothing but the bell for Alacritty, Apple's Terminal, VS Code and Windows
 * Terminal, which print or misread the others; OSC 777 for all others, since most know it and the rest ignore it. Inside
 * a multiplexer the variables of the terminal around it are looked at, as far as they were inherited.
 */
export function terminalKind(environment: Environment): TerminalKind {
  const term = environment['TERM'] ?? '';
  const has = (name: string): boolean => (environment[name] ?? '') !== '';
  const multiplexer =
    has('TMUX') || term.startsWith('tmux')
      ? 'tmux'
      : has('STY') || term.startsWith('screen')
        ? 'screen'
        : null;
  const plain = term === '' || term === 'dumb';
  // The kernel's own console has a bell, and prints what it does not know.
  const escapes = !plain && term !== 'linux';
  return {
    desktop: escapes ? desktopMethod(environment, has) : 'none',
    multiplexer,
    title: escapes,
    bell: !plain,
  };
}

function desktopMethod(environment: Environment, has: (name: string) => boolean): DesktopMethod {
  switch ((environment['DESKBELL_NOTIFY'] ?? '').trim().toLowerCase()) {
    case 'osc9':
      return 'osc9';
    case 'osc777':
      return 'osc777';
    case 'bell':
      return 'none';
    default:
  }
  const program = environment['TERM_PROGRAM'] ?? '';
  if (program === 'iTerm.app' || environment['LC_TERMINAL'] === 'iTerm2' || has('ITERM_SESSION_ID'))
    return 'osc9';
  if (has('ConEmuPID') || has('ConEmuANSI')) return 'osc9';
  if (program === 'Apple_Terminal' || program === 'vscode' || has('VSCODE_PID') || has('WT_SESSION'))
    return 'none';
  if (has('ALACRITTY_WINDOW_ID') || has('ALACRITTY_SOCKET') || environment['TERM'] === 'alacritty')
    return 'none';
  return 'osc777';
}

/** A stranger's text as it may stand in a notification or title: one line, nothing that a terminal obeys, and short. */
function harmless(text: string, longest: number): string {
  return preview(escapeControls(text).replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, ''), longest);
}

/**
 * The bytes that call for attention once.
 *
 * @param title the author or what happened; @param body the text, may be empty. Both come from users.
 * @returns empty when nothing is on, or nothing can be done
 */
export function notificationBytes(
  kind: TerminalKind,
  options: NotificationOptions,
  title: string,
  body: string,
): string {
  const bell = options.bell && kind.bell ? bel : '';
  if (!options.desktop || kind.desktop === 'none') return bell;
  const head = harmless(title, maxTitle);
  const text = harmless(body, maxBody);
  // `9;4;…` and the like are commands of ConEmu and others: a word of ours goes first, never a visitor's digits.
  const sequence =
    kind.desktop === 'osc9'
      ? `${esc}]9;Deskbell: ${head}${text === '' ? '' : `: ${text}`}`
      : `${esc}]777;notify;${head.replaceAll(';', ',')};${text.replaceAll(';', ',')}`;
  return wrapped(sequence, kind.multiplexer) + bell;
}

/** A sequence without its end, for the terminal behind a multiplexer, which would swallow what it does not know. */
function wrapped(sequence: string, multiplexer: TerminalKind['multiplexer']): string {
  if (multiplexer === null) return `${sequence}${stringEnd}`;
  // Inside the wrapper an stringEnd would end the wrapper, so the sequence ends with bel.
  const whole = `${sequence}${bel}`;
  if (multiplexer === 'tmux') return `${esc}Ptmux;${whole.replaceAll(esc, esc + esc)}${stringEnd}`;
  let pieces = '';
  let piece = '';
  for (const character of whole) {
    if (piece.length + character.length > screenPiece) {
      pieces += `${esc}P${piece}${stringEnd}`;
      piece = '';
    }
    piece += character;
  }
  return `${pieces}${esc}P${piece}${stringEnd}`;
}

/** The bytes that set the window's title (and the name of the pane in tmux). */
export function titleBytes(kind: TerminalKind, text: string): string {
  return kind.title
    ? `${esc}]0;${harmless(text, 2 * maxTitle)}${kind.multiplexer === 'screen' ? bel : stringEnd}`
    : '';
}

/** The title while so many conversations wait. */
export function countTitle(count: number, name: string): string {
  return count > 0 ? `(${count > 999 ? '999+' : count}) ${name}` : name;
}

/** Keeps the title of before on the terminal's stack (XTWINOPS 22). */
export const pushTitle = `${esc}[22;0t`;
/** Brings it back; a terminal without such a stack is left with none rather than with ours. */
export const popTitle = `${esc}]0;${bel}${esc}[23;0t`;

/**
 * @param name what the title says besides the count, such as the organization's name
 * @param write puts bytes on the terminal, past the layout
 */
export function createNotifier(
  environment: Environment,
  options: NotificationOptions,
  name: string,
  write: (bytes: string) => void,
): Notifier {
  const kind = terminalKind(environment);
  const titled = options.title && kind.title;
  let title = '';
  let running = false;
  let muted = false;
  const say = (bytes: string): void => {
    if (running && bytes !== '') write(bytes);
  };
  const setTitle = (text: string): void => {
    if (!titled || text === title) return;
    title = text;
    say(titleBytes(kind, text));
  };
  return {
    start: () => {
      if (running) return;
      running = true;
      if (titled) say(pushTitle);
      setTitle(countTitle(0, name));
    },
    notify: (head, body) => {
      if (!muted) say(notificationBytes(kind, options, head, body));
    },
    setCount: (count) => setTitle(countTitle(count, name)),
    mute: (to) => {
      muted = to;
    },
    get muted() {
      return muted;
    },
    stop: () => {
      if (titled) say(popTitle);
      running = false;
      title = '';
    },
  };
}
