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
  },
  accept: { keys: ['a'], where: panes },
  reply: { keys: ['r'], where: panes },
  compose: { keys: ['enter', 'i'], where: ['conversation'] },
  note: { keys: ['N'], where: panes },
  nextUnread: { keys: ['n', 'alt+a'], where: places },
  resolve: { keys: ['x'], where: panes },
  release: { keys: ['R'], where: panes },
  transfer: { keys: ['t'], where: panes },
  reopen: { keys: ['O'], where: panes },
  tag: { keys: ['T'], where: panes },
  priority: { keys: ['p'], where: panes },
  snooze: { keys: ['z'], where: panes },
  wake: { keys: ['Z'], where: panes },
  unread: { keys: ['u'], where: panes },
  mark: { keys: ['space'], where: ['queue'] },
  markAll: { keys: ['*'], where: ['queue'] },
  keep: { keys: ['K'], where: ['conversation'] },
  gaps: { keys: ['Q'], where: panes },
  visitor: { keys: ['v'], where: panes },
  transcript: { keys: ['M'], where: panes },
  block: { keys: ['B'], where: panes },
  unblock: { keys: ['U'], where: panes },
  edit: { keys: ['e'], where: ['conversation'] },
  remove: { keys: ['d', 'delete'], where: ['conversation'] },
  retry: { keys: ['s'], where: ['conversation'] },
  discard: { keys: ['D'], where: ['conversation'] },
  copy: { keys: ['y'], where: ['conversation'] },
  openFile: { keys: ['F'], where: ['conversation'] },
  saveFile: { keys: ['S'], where: ['conversation'] },

  // Writing.
  send: { keys: ['enter'], where: ['composer'] },
  newline: { keys: ['alt+enter', 'ctrl+j', 'shift+enter'], where: ['composer'] },
  toggleNote: { keys: ['ctrl+n'], where: ['composer'] },
  canned: { keys: ['ctrl+r'], where: ['composer'] },
  aiDraft: { keys: ['ctrl+g'], where: ['composer'] },
  attach: {
    keys: ['A'],
    where: ['conversation', 'composer'],
    instead: { composer: ['ctrl+o'] },
  },
  editor: { keys: ['ctrl+x', 'alt+e'], where: ['composer'] },
  lineUp: { keys: ['up'], where: ['composer'] },
  lineDown: { keys: ['down'], where: ['composer'] },
  undo: { keys: ['ctrl+z', 'ctrl+_'], where: ['composer'] },
  redo: { keys: ['alt+z', 'ctrl+shift+z'], where: ['composer'] },

  // Moving about.
  down: { keys: ['j', 'down', 'ctrl+n'], where: lists },
  up: { keys: ['k', 'up', 'ctrl+p'], where: lists },
  pageDown: { keys: ['pagedown'], where: [...lists, 'composer'] },
  pageUp: { keys: ['pageup'], where: [...lists, 'composer'] },
  first: { keys: ['g', 'home'], where: panes },
  last: { keys: ['G', 'end'], where: panes },
  tabPending: { keys: ['1'], where: panes },
  tabMine: { keys: ['2'], where: panes },
  tabAll: { keys: ['3'], where: panes },
  tabClosed: { keys: ['4'], where: panes },
  views: { keys: ['V'], where: panes },
  search: { keys: ['/'], where: panes },
  nextPane: { keys: ['tab'], where: places },
  previousPane: { keys: ['shift+tab'], where: places },
  choose: { keys: ['enter', 'tab'], where: ['menu'] },
  yes: { keys: ['y', 'enter'], where: ['confirm'] },
  no: { keys: ['n', 'escape'], where: ['confirm'] },
  back: {
    keys: ['escape'],
    where: [...places, 'menu'],
    instead: { conversation: ['escape', 'h', 'left'] },
  },
  palette: {
    keys: [':', 'ctrl+k'],
    where: ['queue', 'conversation', 'composer'],
    // There ^K cuts, as everywhere where one writes.
    instead: { composer: ['ctrl+p'] },
  },
  help: { keys: ['?'], where: panes },
  sound: { keys: ['m'], where: panes },
  redraw: { keys: ['ctrl+l'], where: [...places, 'menu', 'confirm'] },
  quit: { keys: ['q', 'ctrl+c'], where: [...places, 'menu', 'confirm'] },

  // The caret.
  left: { keys: ['left', 'ctrl+b'], where: fields },
  right: { keys: ['right', 'ctrl+f'], where: fields },
  wordLeft: { keys: ['alt+b', 'ctrl+left', 'alt+left'], where: fields },
  wordRight: { keys: ['alt+f', 'ctrl+right', 'alt+right'], where: fields },
  lineStart: { keys: ['ctrl+a', 'home'], where: fields },
  lineEnd: { keys: ['ctrl+e', 'end'], where: fields },
  textStart: { keys: ['alt+<', 'ctrl+home'], where: ['composer'] },
  textEnd: { keys: ['alt+>', 'ctrl+end'], where: ['composer'] },
  deleteBack: { keys: ['backspace', 'shift+backspace'], where: fields },
  deleteForward: { keys: ['delete', 'ctrl+d'], where: fields },
  deleteWord: {
    keys: ['ctrl+w', 'alt+backspace', 'ctrl+backspace'],
    where: fields,
  },
  deleteWordForward: {
    keys: ['alt+d', 'alt+delete', 'ctrl+delete'],
    where: fields,
  },
  killToStart: { keys: ['ctrl+u'], where: fields },
  killToEnd: { keys: ['ctrl+k'], where: fields },
  yank: { keys: ['ctrl+y'], where: fields },
  yankOlder: { keys: ['alt+y'], where: fields },
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
  /** The key to show for a command in a place (`^K`); undefined when it has none there that works now. */
  label(command: CommandName, scope: KeyScope): string | undefined;
  about(command: CommandName): string;
  /** Whether the face has the command at all. */
  offers(command: CommandName): boolean;
  /** What works in a place now, in the order of the table. */
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
 * @param face.about what a command does, in the face's language; `without`: commands that the face has not; `works`:
 *   whether a key does anything now; one that doesn't is not shown
 */
export function createKeymap(
  own: KeyOverrides | null,
  {
    about,
    without,
    works = () => true,
  }: {
    readonly about: (command: CommandName) => string;
    readonly without?: readonly CommandName[];
    readonly works?: (key: string) => boolean;
  },
): Keymap {
  const missing = new Set(without);
  const overrides: KeyOverrides = {
    ...own,
    ...Object.fromEntries([...missing].map((command) => [command, []])),
  };
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
      const first = keysOf(command, scope).find(works);
      return first === undefined ? undefined : keyLabel(first);
    },
    about,
    offers: (command) => !missing.has(command),
    help: (scope) =>
      commandNames
        .map((command) => ({
          command,
          keys: keysOf(command, scope).filter(works).map(keyLabel),
          about: about(command),
        }))
        .filter(({ keys }) => keys.length > 0),
  };
}
