// Owns which key does what at the desk: the one table, and other keys in its place.
// Must not act, and must not know what the screen looks like.

import type { CaretCommand } from './all-keys.ts';
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
  /** As the terminal and the browser name the keys that were pressed. The first one that works in a place is shown there. */
  readonly keys: readonly string[];
  readonly where: readonly KeyScope[];
  /** Places where it has other keys. */
  readonly instead?: Readonly<Partial<Record<KeyScope, readonly string[]>>>;
}

const panes = ['queue', 'conversation'] as const;
const lists = ['queue', 'conversation', 'search', 'menu'] as const;
const places = ['queue', 'conversation', 'composer', 'search'] as const;

const ofDesk = {
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
} as const satisfies Record<string, CommandKeys>;

export type CommandName = keyof typeof ofDesk | CaretCommand;

/** Keys of commands, in the order in which help shows them. */
export type KeyTable = Readonly<Partial<Record<CommandName, CommandKeys>>>;

/** The commands of every face. */
export const deskKeys: Readonly<Record<Exclude<CommandName, CaretCommand>, CommandKeys>> = ofDesk;

/** The names of a table's commands, in its order. */
export function namesOf(table: KeyTable): readonly CommandName[] {
  return Object.keys(table).filter((name): name is CommandName => name in table);
}

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
export function keysIn(
  table: KeyTable,
  command: CommandName,
  scope: KeyScope,
  overrides: KeyOverrides,
): readonly string[] {
  const entry = table[command];
  if (entry?.where.includes(scope) !== true) return [];
  const { keys, instead } = entry;
  const all = overrides[command] ?? instead?.[scope] ?? keys;
  // In a text field a letter is a letter.
  return isTextField(scope) ? all.filter((key) => !isText(key)) : all;
}

/**
 * The keymap of the table, with the operator's own keys in it.
 *
 * @param own keys in the place of the table's: from an operator's file (own-keys.ts), or a face's; null: none
 * @param face.about what a command does, in the face's language; `without`: commands that the face has not; `works`:
 *   whether a key does anything now; one that doesn't is not shown; `table`: its commands, unless they are every face's
 */
export function createKeymap(
  own: KeyOverrides | null,
  {
    about,
    without,
    works = () => true,
    table = deskKeys,
  }: {
    readonly about: (command: CommandName) => string;
    readonly without?: readonly CommandName[];
    readonly works?: (key: string) => boolean;
    readonly table?: KeyTable;
  },
): Keymap {
  const names = namesOf(table);
  const missing = new Set(without);
  const overrides: KeyOverrides = {
    ...own,
    ...Object.fromEntries([...missing].map((command) => [command, []])),
  };
  const maps = new Map<KeyScope, ReadonlyMap<string, CommandName>>(
    keyScopes.map((scope) => [
      scope,
      new Map(names.flatMap((name) => keysIn(table, name, scope, overrides).map((key) => [key, name]))),
    ]),
  );
  const keysOf = (command: CommandName, scope?: KeyScope): readonly string[] =>
    scope === undefined
      ? [...new Set(keyScopes.flatMap((one) => keysIn(table, command, one, overrides)))]
      : keysIn(table, command, scope, overrides);
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
      names
        .map((command) => ({
          command,
          keys: keysOf(command, scope).filter(works).map(keyLabel),
          about: about(command),
        }))
        .filter(({ keys }) => keys.length > 0),
  };
}
