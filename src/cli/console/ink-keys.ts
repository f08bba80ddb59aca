// Owns what Ink reports for a key press, and which key that is. Must not know any command.

import { splitGraphemes } from '../../text/graphemes.ts';
import type { KeyPress, namedKeys } from '../../desk/key-names.ts';

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

const special = [
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
] as const satisfies readonly (readonly [keyof InkKey, (typeof namedKeys)[number]])[];

/** Longer pieces are pasted text in a terminal without bracketed paste: typing does not produce so much at once. */
const maxBurst = 64;

/**
 * What was pressed, from the arguments of Ink's `useInput`. Usually one; several when a slow line or a fast hand
 * put more than one key into one report, none for the release of a key and for keys that Ink can't tell apart (function
 * keys, the mouse). A carriage return at the end of such a piece is the Enter key; one with text behind it is a line end
 * of pasted text.
 */
export function keyPressesOf(input: string, key: InkKey): readonly KeyPress[] {
  if (key.eventType === 'release') return [];
  for (const [field, name] of special)
    if (key[field] === true) return [{ key: withModifiers(name, key), text: '' }];
  if (input === '') return [];
  if (key.ctrl === true || key.meta === true || key.super === true || key.hyper === true)
    return [{ key: combination(input, key), text: '' }];
  const units = input.length > maxBurst ? [] : splitGraphemes(input);
  // A flushed half of an escape sequence, and a paste: text or nothing, but no keys.
  if (units.length === 0) return [{ key: null, text: input }];
  const [only] = units;
  if (units.length === 1 && only !== undefined) return [single(only, key)];
  return units.map((unit, index) =>
    /^\r\n?$/.test(unit) && index < units.length - 1 ? { key: 'ctrl+j', text: '\n' } : single(unit, key),
  );
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
