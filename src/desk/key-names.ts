// Owns the names of keys: how one is written, read and shown. Knows neither commands nor how a key is reported.

import { splitGraphemes } from '../text/graphemes.ts';

/** One press of a key. */
export interface KeyPress {
  /** The key's name; null for text that came in one piece and is no key. */
  readonly key: string | null;
  /** What it writes where text is written; empty for keys that write nothing. */
  readonly text: string;
}

/** The keys that have a name of more than one letter. */
export const namedKeys = [
  'up',
  'down',
  'left',
  'right',
  'pageup',
  'pagedown',
  'home',
  'end',
  'enter',
  'escape',
  'tab',
  'backspace',
  'delete',
  'space',
  'f6',
] as const;

const named: ReadonlySet<string> = new Set(namedKeys);

/** Whether a key writes text where text is written. */
export function isText(key: string): boolean {
  return key === 'space' || key === 'shift+space' || splitGraphemes(key).length === 1;
}

const keyLabels: Readonly<Record<string, string>> = {
  enter: '↵',
  escape: 'Esc',
  tab: 'Tab',
  backspace: '⌫',
  delete: 'Del',
  up: '↑',
  down: '↓',
  left: '←',
  right: '→',
  pageup: 'PgUp',
  pagedown: 'PgDn',
  home: 'Home',
  end: 'End',
  space: 'Space',
  f6: 'F6',
};

/** A key as people read it: `^K`, `Alt+A`, `↵`, `⇧Tab`. */
export function keyLabel(key: string): string {
  const { modifiers, name } = parts(key);
  const shown = keyLabels[name] ?? name;
  if (modifiers.length === 0) return shown;
  const letter = splitGraphemes(name).length === 1;
  if (letter && modifiers.length === 1 && modifiers[0] === 'ctrl') return `^${name.toUpperCase()}`;
  const marks = modifiers.map((modifier) =>
    modifier === 'shift' ? '⇧' : `${modifier[0]?.toUpperCase() ?? ''}${modifier.slice(1)}+`,
  );
  // Alt+a and Alt+A are two keys: the capital is shown with Shift.
  const capital = name !== name.toLowerCase() ? '⇧' : '';
  return `${marks.join('')}${capital}${letter ? name.toUpperCase() : shown}`;
}

const modifierNames = ['super', 'hyper', 'ctrl', 'alt', 'shift'] as const;

const aliases: Readonly<Record<string, string>> = {
  control: 'ctrl',
  c: 'ctrl',
  '^': 'ctrl',
  meta: 'alt',
  option: 'alt',
  opt: 'alt',
  m: 'alt',
  cmd: 'super',
  command: 'super',
  win: 'super',
  return: 'enter',
  esc: 'escape',
  del: 'delete',
  bs: 'backspace',
  pgup: 'pageup',
  pgdn: 'pagedown',
  pgdown: 'pagedown',
  page_up: 'pageup',
  page_down: 'pagedown',
};

function parts(key: string): { modifiers: readonly string[]; name: string } {
  // A plus sign may be the key itself.
  const plus = key === '+' || key.endsWith('++');
  const pieces = plus ? [...key.split('+').filter((piece) => piece !== ''), '+'] : key.split('+');
  return { modifiers: pieces.slice(0, -1), name: pieces.at(-1) ?? '' };
}

// A terminal sends the same bytes for these as for another key.
const sameInTerminal: Readonly<Record<string, string>> = {
  'ctrl+m': 'enter',
  'ctrl+i': 'tab',
  'ctrl+h': 'backspace',
  'ctrl+[': 'escape',
};

/**
 * A key as it was written by hand, in the form of a `KeyPress`: `Ctrl+K`, `^K` and `C-k` are `ctrl+k`, `Return` is `enter`, `G`
 * stays `G`.
 *
 * @returns the key, or a sentence about what is wrong with it
 */
export function canonicalKey(written: string): { key: string } | { problem: string } {
  if (written === ' ') return { key: 'space' };
  const piece = written.trim();
  if (piece === '') return { problem: 'a key is empty. Write it like "a", "ctrl+o" or "alt+enter".' };
  if (/\s/u.test(piece)) return { problem: `"${piece}" is more than one key. Write one, like "ctrl+o".` };
  if (splitGraphemes(piece).length === 1) return { key: piece };
  const spelled = piece.replace(/^\^(?=.)/, 'ctrl+').replace(/^([cm])-(?=.)/i, '$1+');
  const { modifiers, name } = parts(spelled);
  const held = modifiers.map((modifier) => aliases[modifier.toLowerCase()] ?? modifier.toLowerCase());
  const wrong = held.find((modifier) => !modifierNames.some((one) => one === modifier));
  if (wrong !== undefined)
    return { problem: `"${piece}" has no modifier "${wrong}"; there are ctrl, alt, shift and super.` };
  const long = splitGraphemes(name).length > 1;
  const lower = aliases[name.toLowerCase()] ?? name.toLowerCase();
  if (long && /^f\d+$/.test(lower)) {
    return {
      problem: `"${piece}" can't be used: function keys can't be told apart here. Take ctrl+ or alt+ with a letter.`,
    };
  }
  if (name === '' || (long && !named.has(lower)))
    return { problem: `there is no key "${piece}". Names: ${[...named].join(', ')}.` };
  return assembled(piece, new Set(held), long ? lower : name);
}

function assembled(
  piece: string,
  held: ReadonlySet<string>,
  name: string,
): { key: string } | { problem: string } {
  const letter = splitGraphemes(name).length === 1;
  const capital = letter && name !== name.toLowerCase();
  const shift = held.has('shift');
  if (letter && !held.has('ctrl') && (shift || capital)) {
    if (shift && name.toUpperCase() === name.toLowerCase())
      return { problem: `"${piece}": write the character that Shift makes, like "?" or "!".` };
    return {
      key: `${modifierNames
        .filter((one) => one !== 'shift' && held.has(one))
        .map((one) => `${one}+`)
        .join('')}${name.toUpperCase()}`,
    };
  }
  const key = `${modifierNames
    .filter((one) => held.has(one))
    .map((one) => `${one}+`)
    .join('')}${letter ? name.toLowerCase() : name}`;
  const same = sameInTerminal[key];
  if (same !== undefined)
    return { problem: `"${piece}" is the same key as ${same} in a terminal. Take another letter.` };
  return { key };
}
