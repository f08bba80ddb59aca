// Owns which keys format a text, and which are not for the text's keys at all: the same in the widget and in the dashboard.

/** With Ctrl or ⌘; a capital or a sign: with Shift, too. */
export const formatKeys = {
  bold: 'b',
  italic: 'i',
  underline: 'u',
  strike: 'X',
  code: 'e',
  bullets: '*',
  numbers: '&',
  link: 'k',
} as const;

export type FormatName = keyof typeof formatKeys;
export const formatNames = Object.keys(formatKeys) as FormatName[];

/** With Shift these keys differ by keyboard, so they go by their place. */
const keyCodes: Readonly<Partial<Record<string, FormatName>>> = {
  Digit8: 'bullets',
  Digit7: 'numbers',
  KeyX: 'strike',
};

/** What of a key's event decides. */
export interface FormatKey {
  readonly key: string;
  readonly code: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly shiftKey: boolean;
}

/** What a key that was pressed formats; undefined: nothing. */
export function formatOfKey(pressed: FormatKey): FormatName | undefined {
  const { key, code, ctrlKey, metaKey, altKey, shiftKey } = pressed;
  if (!(ctrlKey || metaKey) || altKey) return undefined;
  return shiftKey ? keyCodes[code] : formatNames.find((one) => formatKeys[one] === key);
}

/**
 * Whether a key belongs to an input method, which takes it to finish a word or to give it up. Safari says that the
 * composition is over before it sends the key that ended it; the old key code still tells.
 */
export function isForComposition(pressed: {
  readonly isComposing: boolean;
  readonly keyCode: number;
}): boolean {
  return pressed.isComposing || pressed.keyCode === 229;
}
