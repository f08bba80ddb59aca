// Owns the names of keys: what Ink reports for a key press, how a name is written and shown. Must not know any action.

import { splitGraphemes } from '../../text/graphemes.ts';

/** What Ink's `useInput` says about a key; only these fields are read. */
export interface InkKey {
  readonly upArrow?: boolean;
  readonly downArrow?: boolean;
  readonly leftArrow?: boolean;
  readonly rightArrow?: boolean;
  readonly pageDown?: boolean;
  readonly pageUp?: boolean;
  readonly home?: boolean;
  readonly end?: boolean;
  readonly return?: boolean;
  readonly escape?: boolean;
  readonly ctrl?: boolean;
  readonly shift?: boolean;
  readonly tab?: boolean;
  readonly backspace?: boolean;
  readonly delete?: boolean;
  readonly meta?: boolean;
  readonly super?: boolean;
  readonly hyper?: boolean;
  readonly eventType?: 'press' | 'repeat' | 'release' | undefined;
}

/** One press of a key. */
export interface KeyPress {
  /** The key's name; null for text that came in one piece and is no key. */
  readonly key: string | null;
  /** What it writes where text is written; empty for keys that write nothing. */
  readonly text: string;
}

const SPECIAL = [
  ['upArrow', 'up'],
  ['downArrow', 'down'],
  ['leftArrow', 'left'],
  ['rightArrow', 'right'],
  ['pageUp', 'pageup'],
  ['pageDown', 'pagedown'],
  ['home', 'home'],
  ['end', 'end'],
  ['return', 'enter'],
  ['escape', 'escape'],
  ['tab', 'tab'],
  ['backspace', 'backspace'],
  ['delete', 'delete'],
] as const satisfies readonly (readonly [keyof InkKey, string])[];

const NAMED: ReadonlySet<string> = new Set([...SPECIAL.map(([, name]) => name), 'space']);
/** Longer pieces are pasted text in a terminal without bracketed paste: typing does not produce so much at once. */
const LONGEST_BURST = 64;

/**
 * What was pressed, from the arguments of Ink's `useInput`. Usually one stroke; several when a slow line or a fast hand
 * put more than one key into one report, none for the release of a key and for keys that Ink can't tell apart (function
 * keys, the mouse). A carriage return at the end of such a piece is the Enter key; one with text behind it is a line end
 * of pasted text.
 */
export function keyPressesOf(input: string, key: InkKey): readonly KeyPress[] {
  if (key.eventType === 'release') return [];
  for (const [field, name] of SPECIAL)
    if (key[field] === true) return [{ key: withModifiers(name, key), text: '' }];
  if (input === '') return [];
  if (key.ctrl === true || key.meta === true || key.super === true || key.hyper === true)
    return [{ key: combination(input, key), text: '' }];
  const units = input.length > LONGEST_BURST ? [] : splitGraphemes(input);
  // A flushed half of an escape sequence, and a paste: text or nothing, but no keys.
  if (units.length === 0) return [{ key: null, text: input }];
  const [only] = units;
  if (units.length === 1 && only !== undefined) return [single(only, key)];
  return units.map((unit, index) =>
    /^\r\n?$/.test(unit) && index < units.length - 1 ? { key: 'ctrl+j', text: '\n' } : single(unit, key),
  );
}

/** The name of the one key that was pressed, like `j`, `G`, `ctrl+k`, `alt+enter`; empty when it was none, or several. */
export function keyName(input: string, key: InkKey): string {
  const strokes = keyPressesOf(input, key);
  return strokes.length === 1 ? (strokes[0]?.key ?? '') : '';
}

function single(unit: string, key: InkKey): KeyPress {
  if (/^\r\n?$/.test(unit)) return { key: 'enter', text: '' };
  if (unit === '\n') return { key: 'ctrl+j', text: '\n' };
  if (unit === '\t') return { key: 'tab', text: '' };
  if (unit === '\u001b') return { key: 'escape', text: '' };
  if (unit === ' ') return { key: key.shift === true ? 'shift+space' : 'space', text: ' ' };
  const code = unit.charCodeAt(0);
  if (unit.length === 1 && code < 0x20)
    return { key: `ctrl+${String.fromCharCode(code + (code <= 26 ? 0x60 : 0x40))}`, text: '' };
  if (unit.length === 1 && code >= 0x7f && code < 0xa0) return { key: null, text: '' };
  // The kitty protocol reports the key and its modifiers, not the capital letter.
  const text = key.shift === true && unit.length === 1 ? unit.toUpperCase() : unit;
  return { key: text, text };
}

function combination(input: string, key: InkKey): string {
  const first = splitGraphemes(input)[0] ?? '';
  if (first === ' ') return withModifiers('space', key);
  const letter = first.toLowerCase();
  // With Alt a capital keeps its case, as the terminal sends it; with Ctrl only kitty's protocol knows of Shift.
  const capital = key.shift === true || letter !== first;
  if (key.ctrl !== true && letter !== letter.toUpperCase()) {
    return `${prefixOf({ ...key, shift: false })}${capital ? letter.toUpperCase() : letter}`;
  }
  return withModifiers(letter, key);
}

function withModifiers(name: string, key: InkKey): string {
  // Escape itself arrives as Meta when it is pressed twice quickly.
  if (name === 'escape') return name;
  return prefixOf(key) + name;
}

function prefixOf(key: InkKey): string {
  return (
    (key.super === true ? 'super+' : '') +
    (key.hyper === true ? 'hyper+' : '') +
    (key.ctrl === true ? 'ctrl+' : '') +
    (key.meta === true ? 'alt+' : '') +
    (key.shift === true ? 'shift+' : '')
  );
}

/** Whether a key writes text where text is written. */
export function isText(key: string): boolean {
  return key === 'space' || key === 'shift+space' || splitGraphemes(key).length === 1;
}

const LABELS: Readonly<Record<string, string>> = {
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
};

/** A key as people read it: `^K`, `Alt+A`, `↵`, `⇧Tab`. */
export function keyLabel(key: string): string {
  const { modifiers, name } = parts(key);
  const shown = LABELS[name] ?? name;
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

const MODIFIERS = ['super', 'hyper', 'ctrl', 'alt', 'shift'] as const;

const OTHER_NAMES: Readonly<Record<string, string>> = {
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

// What a terminal sends for these is the same as for another key, or nothing that Ink tells apart.
const SAME: Readonly<Record<string, string>> = {
  'ctrl+m': 'enter',
  'ctrl+i': 'tab',
  'ctrl+h': 'backspace',
  'ctrl+[': 'escape',
};

/**
 * A key as it was written by hand, in the form of `keyName`: `Ctrl+K`, `^K` and `C-k` are `ctrl+k`, `Return` is `enter`, `G`
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
  const held = modifiers.map((modifier) => OTHER_NAMES[modifier.toLowerCase()] ?? modifier.toLowerCase());
  const wrong = held.find((modifier) => !MODIFIERS.some((one) => one === modifier));
  if (wrong !== undefined)
    return { problem: `"${piece}" has no modifier "${wrong}"; there are ctrl, alt, shift and super.` };
  const long = splitGraphemes(name).length > 1;
  const lower = OTHER_NAMES[name.toLowerCase()] ?? name.toLowerCase();
  if (long && /^f\d+$/.test(lower)) {
    return {
      problem: `"${piece}" can't be used: function keys can't be told apart here. Take ctrl+ or alt+ with a letter.`,
    };
  }
  if (name === '' || (long && !NAMED.has(lower)))
    return { problem: `there is no key "${piece}". Names: ${[...NAMED].join(', ')}.` };
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
      key: `${MODIFIERS.filter((one) => one !== 'shift' && held.has(one))
        .map((one) => `${one}+`)
        .join('')}${name.toUpperCase()}`,
    };
  }
  const key = `${MODIFIERS.filter((one) => held.has(one))
    .map((one) => `${one}+`)
    .join('')}${letter ? name.toLowerCase() : name}`;
  const same = SAME[key];
  if (same !== undefined)
    return { problem: `"${piece}" is the same key as ${same} in a terminal. Take another letter.` };
  return { key };
}
