// Owns which key was pressed: from the browser's event to the keymap's names. Knows no command.
import type { KeyPress } from '../../desk/key-names.ts';

const names: Readonly<Record<string, string>> = {
  ArrowUp: 'up',
  ArrowDown: 'down',
  ArrowLeft: 'left',
  ArrowRight: 'right',
  PageUp: 'pageup',
  PageDown: 'pagedown',
  Home: 'home',
  End: 'end',
  Enter: 'enter',
  Escape: 'escape',
  Tab: 'tab',
  Backspace: 'backspace',
  Delete: 'delete',
  ' ': 'space',
  F6: 'f6',
};

/** What of an event decides. */
export interface PressedKey {
  readonly key: string;
  readonly code: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly shiftKey: boolean;
}

/** The name of a key as the keymap has it; null for one that it can't have, such as Shift alone. ⌘ counts as Ctrl. */
export function keyPressOf({ key, code, ctrlKey, metaKey, altKey, shiftKey }: PressedKey): KeyPress | null {
  const named = names[key];
  // Alt makes another letter of it on some systems: then the key's place decides.
  const placed = altKey && key.length === 1 ? /^Key([A-Z])$/.exec(code)?.[1]?.toLowerCase() : undefined;
  const base = named ?? placed ?? (Array.from(key).length === 1 ? key : undefined);
  if (base === undefined) return null;
  const control = ctrlKey || metaKey;
  const letter = named === undefined;
  const modifiers = [
    control ? 'ctrl' : '',
    altKey ? 'alt' : '',
    shiftKey && (!letter || control) ? 'shift' : '',
  ].filter((one) => one !== '');
  const name = letter && control ? base.toLowerCase() : base;
  return {
    key: [...modifiers, name].join('+'),
    text: !control && !altKey && (letter || named === 'space') ? key : '',
  };
}
