// Owns which key does what at the desk: the one table, and the operator's own keys from a file.
// Must not act, and must not know what the screen looks like.

import { canonicalKey, isText, keyLabel } from './key-names.ts';

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
  /** What works in a place, in the order of the table. */
  help(scope: KeyScope): readonly HelpLine[];
}

/** What the file of own keys holds: a command's name and its keys; an empty list leaves it in the palette only. */
export type KeyOverrides = Readonly<Partial<Record<CommandName, readonly string[]>>>;

/** What is wrong with a file of own keys, as a sentence for its author. */
export class KeymapError extends Error {}

/** Whether keys that write text are text in a place. */
export function isTextField(scope: KeyScope): boolean {
  return scope === 'composer' || scope === 'search' || scope === 'menu';
}

/** The keys of a command in a scope, the operator's own before the table's. */
function keysIn(command: CommandName, scope: KeyScope, overrides: KeyOverrides): readonly string[] {
  const { keys, where, instead }: CommandKeys = commandKeys[command];
  if (!where.includes(scope)) return [];
  const all = overrides[command] ?? instead?.[scope] ?? keys;
  // In a text field a letter is a letter.
  return isTextField(scope) ? all.filter((key) => !isText(key)) : all;
}

/**
 * The keymap of the table, with the operator's own keys in it.
 *
 * @param own the text of a file of own keys (see `parseKeyOverrides`); null: none
 * @throws {KeymapError} with a sentence for the file's author
 */
export function createKeymap(own: string | null = null): Keymap {
  const overrides = own === null ? {} : parseKeyOverrides(own);
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
    about: (command) => commandKeys[command].about,
    help: (scope) =>
      commandNames
        .map((command) => ({
          command,
          keys: keysOf(command, scope).map(keyLabel),
          about: commandKeys[command].about,
        }))
        .filter(({ keys }) => keys.length > 0),
  };
}

function isActionName(name: string): name is CommandName {
  return Object.hasOwn(commandKeys, name);
}

/**
 * Reads a file of own keys: a JSON object of command names and lists of keys, `{"accept": ["a", "ctrl+o"]}`. A list
 * takes the place of the command's keys everywhere; an empty one leaves the command in the palette only.
 *
 * @param source the text of the file
 * @throws {KeymapError} with a sentence that says what to mend: no such command (with the nearest name), no such key, a
 *   key that is text where text is written, or one that two commands would share
 */
export function parseKeyOverrides(source: string): KeyOverrides {
  const overrides: Partial<Record<CommandName, readonly string[]>> = {};
  for (const [name, keys] of Object.entries(parsedObject(source))) {
    if (!isActionName(name))
      throw new KeymapError(`there is no command "${name.slice(0, 60)}".${nearest(name)}`);
    const list: unknown = typeof keys === 'string' ? [keys] : keys;
    if (!Array.isArray(list))
      throw new KeymapError(`"${name}" must be a list of keys, like ["a", "ctrl+o"].`);
    overrides[name] = list.map((key: unknown) => ownKey(name, key));
  }
  const doubled = findSharedKey(overrides);
  if (doubled !== null) throw new KeymapError(doubled);
  return overrides;
}

function parsedObject(source: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(source.replace(/^\ufeff/, ''));
  } catch {
    throw new KeymapError('it is not JSON. It should look like {"accept": ["a"], "palette": ["ctrl+p"]}.');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new KeymapError('it must be an object of commands and their keys, like {"accept": ["a"]}.');
  }
  return { ...parsed };
}

function ownKey(name: CommandName, key: unknown): string {
  if (typeof key !== 'string')
    throw new KeymapError(`a key of "${name}" is not a text. Write it like "a", "ctrl+o" or "alt+enter".`);
  const found = canonicalKey(key);
  if ('problem' in found) throw new KeymapError(`"${name}": ${found.problem}`);
  const { where }: CommandKeys = commandKeys[name];
  if (isText(found.key) && where.every(isTextField)) {
    throw new KeymapError(
      `"${name}": "${key}" is text where that command works. Put ctrl+ or alt+ before it.`,
    );
  }
  return found.key;
}

/** A sentence about a key that two commands have in one place; null when there is none. */
export function findSharedKey(overrides: KeyOverrides = {}): string | null {
  for (const scope of keyScopes) {
    const owners = new Map<string, CommandName>();
    for (const name of commandNames) {
      for (const key of new Set(keysIn(name, scope, overrides))) {
        const other = owners.get(key);
        if (other !== undefined)
          return `"${other}" and "${name}" would share the key "${key}" (${scope}). Give one of them another.`;
        owners.set(key, name);
      }
    }
  }
  return null;
}

function nearest(name: string): string {
  const wanted = name.toLowerCase();
  const near =
    commandNames.find((one) => one.startsWith(wanted) || wanted.startsWith(one) || one.includes(wanted)) ??
    closest(wanted);
  return near === null ? ` Commands: ${commandNames.join(', ')}.` : ` Did you mean "${near}"?`;
}

function closest(wanted: string): CommandName | null {
  let best: CommandName | null = null;
  let fewest = 3;
  for (const name of commandNames) {
    const changes = distance(wanted.slice(0, 40), name);
    if (changes < fewest) {
      fewest = changes;
      best = name;
    }
  }
  return best;
}

// Levenshtein's distance.
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
