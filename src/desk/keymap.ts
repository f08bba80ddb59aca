// Owns which key does what at the desk: the one table, and other keys in its place.
// Must not act, and must not know what the screen looks like.

import { isText, keyLabel } from './key-names.ts';

/**
 * Where a key is pressed. `search` is the field over the queue, `menu` a list over the rest that can be filtered by
 * typing, `confirm` a question for yes or no.
 */
export type KeyScope = 'queue' | 'conversation' | 'composer' | 'search' | 'menu' | 'confirm';

export const keyScopes: readonly KeyScope[] = [
  'queue',
  'conversation',
  'composer',
  'search',
  'menu',
  'confirm',
];

export interface CommandKeys {
  /** Names as `keyName` answers them. The first one that works in a place is shown there. */
  readonly keys: readonly string[];
  readonly where: readonly KeyScope[];
  /** Places where it has other keys. */
  readonly instead?: Readonly<Partial<Record<KeyScope, readonly string[]>>>;
  /** For the help, at most 24 characters. */
  readonly about: string;
}

const panes = ['queue', 'conversation'] as const;
const lists = ['queue', 'conversation', 'search', 'menu'] as const;
const fields = ['composer', 'search', 'menu'] as const;
const places = ['queue', 'conversation', 'composer', 'search'] as const;

const table = {
  // What is done with conversations.
  open: {
    keys: ['enter', 'l', 'right'],
    where: ['queue', 'search'],
    instead: { search: ['enter'] },
    about: 'open',
  },
  accept: { keys: ['a'], where: panes, about: 'accept' },
  reply: { keys: ['r'], where: panes, about: 'reply' },
  compose: { keys: ['enter', 'i'], where: ['conversation'], about: 'write' },
  note: { keys: ['N'], where: panes, about: 'write a note' },
  nextUnread: { keys: ['n', 'alt+a'], where: places, about: 'next unread' },
  resolve: { keys: ['x'], where: panes, about: 'resolve' },
  release: { keys: ['R'], where: panes, about: 'release to the queue' },
  transfer: { keys: ['t'], where: panes, about: 'transfer to a colleague' },
  reopen: { keys: ['O'], where: panes, about: 'reopen' },
  tag: { keys: ['T'], where: panes, about: 'add or take off a tag' },
  priority: { keys: ['p'], where: panes, about: 'set the priority' },
  snooze: { keys: ['z'], where: panes, about: 'snooze' },
  wake: { keys: ['Z'], where: panes, about: 'end the snooze' },
  unread: { keys: ['u'], where: panes, about: 'mark as unread' },
  mark: { keys: ['space'], where: ['queue'], about: 'mark for one act on all' },
  markAll: { keys: ['*'], where: ['queue'], about: 'mark all, or none' },
  keep: { keys: ['K'], where: ['conversation'], about: 'keep as an answer' },
  gaps: { keys: ['Q'], where: panes, about: 'unanswered questions' },
  visitor: { keys: ['v'], where: panes, about: 'about the visitor' },
  block: { keys: ['B'], where: panes, about: 'block the visitor' },
  unblock: { keys: ['U'], where: panes, about: 'lift the block' },
  edit: { keys: ['e'], where: ['conversation'], about: 'edit own message' },
  remove: { keys: ['d', 'delete'], where: ['conversation'], about: 'delete own message' },
  retry: { keys: ['s'], where: ['conversation'], about: 'send again' },
  discard: { keys: ['D'], where: ['conversation'], about: 'discard unsent message' },
  copy: { keys: ['y'], where: ['conversation'], about: 'copy message' },

  // Writing.
  send: { keys: ['enter'], where: ['composer'], about: 'send' },
  newline: { keys: ['alt+enter', 'ctrl+j', 'shift+enter'], where: ['composer'], about: 'new line' },
  toggleNote: { keys: ['ctrl+n'], where: ['composer'], about: 'note or answer' },
  canned: { keys: ['ctrl+r'], where: ['composer'], about: 'insert a canned reply' },
  aiDraft: { keys: ['ctrl+g'], where: ['composer'], about: 'draft by the assistant' },
  editor: { keys: ['ctrl+x', 'alt+e'], where: ['composer'], about: 'write in your editor' },
  lineUp: { keys: ['up'], where: ['composer'], about: 'up, or sent before' },
  lineDown: { keys: ['down'], where: ['composer'], about: 'down, or sent after' },
  undo: { keys: ['ctrl+z', 'ctrl+_'], where: ['composer'], about: 'undo' },
  redo: { keys: ['alt+z', 'ctrl+shift+z'], where: ['composer'], about: 'redo' },

  // Moving about.
  down: { keys: ['j', 'down', 'ctrl+n'], where: lists, about: 'down' },
  up: { keys: ['k', 'up', 'ctrl+p'], where: lists, about: 'up' },
  pageDown: { keys: ['pagedown'], where: [...lists, 'composer'], about: 'page down' },
  pageUp: { keys: ['pageup'], where: [...lists, 'composer'], about: 'page up' },
  first: { keys: ['g', 'home'], where: panes, about: 'first' },
  last: { keys: ['G', 'end'], where: panes, about: 'last' },
  tabPending: { keys: ['1'], where: panes, about: 'show pending' },
  tabMine: { keys: ['2'], where: panes, about: 'show mine' },
  tabAll: { keys: ['3'], where: panes, about: 'show all' },
  tabClosed: { keys: ['4'], where: panes, about: 'show closed' },
  views: { keys: ['V'], where: panes, about: 'choose a view' },
  search: { keys: ['/'], where: panes, about: 'search' },
  nextPane: { keys: ['tab'], where: places, about: 'next pane' },
  previousPane: { keys: ['shift+tab'], where: places, about: 'previous pane' },
  choose: { keys: ['enter', 'tab'], where: ['menu'], about: 'choose' },
  yes: { keys: ['y', 'enter'], where: ['confirm'], about: 'yes' },
  no: { keys: ['n', 'escape'], where: ['confirm'], about: 'no' },
  back: {
    keys: ['escape'],
    where: [...places, 'menu'],
    instead: { conversation: ['escape', 'h', 'left'] },
    about: 'back',
  },
  palette: {
    keys: [':', 'ctrl+k'],
    where: ['queue', 'conversation', 'composer'],
    // There ^K cuts, as everywhere where one writes.
    instead: { composer: ['ctrl+p'] },
    about: 'all commands',
  },
  help: { keys: ['?'], where: panes, about: 'help' },
  sound: { keys: ['m'], where: panes, about: 'notifications on or off' },
  redraw: { keys: ['ctrl+l'], where: [...places, 'menu', 'confirm'], about: 'draw the screen anew' },
  quit: { keys: ['q', 'ctrl+c'], where: [...places, 'menu', 'confirm'], about: 'quit' },

  // The caret.
  left: { keys: ['left', 'ctrl+b'], where: fields, about: 'left' },
  right: { keys: ['right', 'ctrl+f'], where: fields, about: 'right' },
  wordLeft: { keys: ['alt+b', 'ctrl+left', 'alt+left'], where: fields, about: 'word left' },
  wordRight: { keys: ['alt+f', 'ctrl+right', 'alt+right'], where: fields, about: 'word right' },
  lineStart: { keys: ['ctrl+a', 'home'], where: fields, about: 'beginning of line' },
  lineEnd: { keys: ['ctrl+e', 'end'], where: fields, about: 'end of line' },
  textStart: { keys: ['alt+<', 'ctrl+home'], where: ['composer'], about: 'beginning of text' },
  textEnd: { keys: ['alt+>', 'ctrl+end'], where: ['composer'], about: 'end of text' },
  deleteBack: { keys: ['backspace', 'shift+backspace'], where: fields, about: 'delete before caret' },
  deleteForward: { keys: ['delete', 'ctrl+d'], where: fields, about: 'delete at caret' },
  deleteWord: {
    keys: ['ctrl+w', 'alt+backspace', 'ctrl+backspace'],
    where: fields,
    about: 'cut word before caret',
  },
  deleteWordForward: {
    keys: ['alt+d', 'alt+delete', 'ctrl+delete'],
    where: fields,
    about: 'cut word at caret',
  },
  killToStart: { keys: ['ctrl+u'], where: fields, about: 'cut to line beginning' },
  killToEnd: { keys: ['ctrl+k'], where: fields, about: 'cut to end of line' },
  yank: { keys: ['ctrl+y'], where: fields, about: 'put back what was cut' },
  yankOlder: { keys: ['alt+y'], where: fields, about: 'put back an older cut' },
} as const satisfies Record<string, CommandKeys>;

export type CommandName = keyof typeof table;

/** Every command, in the order in which help shows them. */
export const commandKeys: Readonly<Record<CommandName, CommandKeys>> = table;

export const commandNames: readonly CommandName[] = Object.keys(table).filter(
  (name): name is CommandName => name in table,
);

/** One line of the help. */
export interface HelpLine {
  readonly command: CommandName;
  /** All keys that work in the place, ready to be shown (`^K`, `Alt+A`). */
  readonly keys: readonly string[];
  readonly about: string;
}

/** Keys as they are now, with the operator's own. */
export interface Keymap {
  /** What a key, by its name, does in a place. */
  commandFor(scope: KeyScope, key: string): CommandName | undefined;
  /** The names of a command's keys, in one place or in all; empty when it has none there. */
  keysOf(command: CommandName, scope?: KeyScope): readonly string[];
  /** The key to show for a command in a place (`^K`); undefined when it has none there. */
  label(command: CommandName, scope: KeyScope): string | undefined;
  about(command: CommandName): string;
  /** Whether the face has the command at all. */
  offers(command: CommandName): boolean;
  /** What works in a place, in the order of the table. */
  help(scope: KeyScope): readonly HelpLine[];
}

/** What the file of own keys holds: a command's name and its keys; an empty list leaves it in the palette only. */
export type KeyOverrides = Readonly<Partial<Record<CommandName, readonly string[]>>>;

/** Whether keys that write text are text in a place. */
export function isTextField(scope: KeyScope): boolean {
  return scope === 'composer' || scope === 'search' || scope === 'menu';
}

/** The keys of a command in a scope, the operator's own before the table's. */
export function keysIn(command: CommandName, scope: KeyScope, overrides: KeyOverrides): readonly string[] {
  const { keys, where, instead }: CommandKeys = commandKeys[command];
  if (!where.includes(scope)) return [];
  const all = overrides[command] ?? instead?.[scope] ?? keys;
  // In a text field a letter is a letter.
  return isTextField(scope) ? all.filter((key) => !isText(key)) : all;
}

/**
 * The keymap of the table, with the operator's own keys in it.
 *
 * @param own keys in the place of the table's: from an operator's file (own-keys.ts), or a face's; null: none
 * @param face.about what a command does, in the face's language; `without`: commands that the face has not
 */
export function createKeymap(
  own: KeyOverrides | null = null,
  face: { readonly about?: (command: CommandName) => string; readonly without?: readonly CommandName[] } = {},
): Keymap {
  const missing = new Set(face.without);
  const overrides: KeyOverrides = {
    ...own,
    ...Object.fromEntries([...missing].map((command) => [command, []])),
  };
  const about = face.about ?? ((command) => commandKeys[command].about);
  const maps = new Map<KeyScope, ReadonlyMap<string, CommandName>>(
    keyScopes.map((scope) => [
      scope,
      new Map(commandNames.flatMap((name) => keysIn(name, scope, overrides).map((key) => [key, name]))),
    ]),
  );
  const keysOf = (command: CommandName, scope?: KeyScope): readonly string[] =>
    scope === undefined
      ? [...new Set(keyScopes.flatMap((one) => keysIn(command, one, overrides)))]
      : keysIn(command, scope, overrides);
  return {
    commandFor: (scope, key) => maps.get(scope)?.get(key),
    keysOf,
    label: (command, scope) => {
      const [first] = keysOf(command, scope);
      return first === undefined ? undefined : keyLabel(first);
    },
    about,
    offers: (command) => !missing.has(command),
    help: (scope) =>
      commandNames
        .map((command) => ({
          command,
          keys: keysOf(command, scope).map(keyLabel),
          about: about(command),
        }))
        .filter(({ keys }) => keys.length > 0),
  };
}
