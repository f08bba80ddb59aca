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
export type PressedKey = Pick<KeyboardEvent, 'key' | 'code' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>;

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

/** Whether a key that is pressed there writes, or belongs to what is there: then no command may take it. */
export function belongsToElement(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof Element)) return false;
  if (target.closest('input, textarea, select, [contenteditable]') !== null) return true;
  return (
    (key === 'enter' || key === 'space') && target.closest('a, button, summary, [role=menuitem]') !== null
  );
}
