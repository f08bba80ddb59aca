// Which commands the palette offers, and the keys that stand beside them. Pure.
import { commandKeys } from './all-keys.ts';
import type { CommandName, KeyScope, Keymap } from './keymap.ts';

/** What the palette offers, as far as it applies. */
export const paletteCommands: readonly CommandName[] = [
  'accept',
  'reply',
  'note',
  'resolve',
  'release',
  'transfer',
  'reopen',
  'tag',
  'priority',
  'snooze',
  'wake',
  'unread',
  'nextUnread',
  'open',
  'aiDraft',
  'canned',
  'editor',
  'edit',
  'remove',
  'retry',
  'discard',
  'copy',
  'attach',
  'saveFile',
  'openFile',
  'keep',
  'gaps',
  'visitor',
  'transcript',
  'block',
  'unblock',
  'tabPending',
  'tabMine',
  'tabAll',
  'tabClosed',
  'views',
  'mark',
  'markAll',
  'search',
  'sound',
  'redraw',
  'help',
  'quit',
];

/** The key of a command in the place from which the palette was opened, or anywhere. */
export function keyFor(keymap: Keymap, command: CommandName, scope: KeyScope): string {
  const places: readonly KeyScope[] = [scope, ...commandKeys[command].where];
  for (const place of places) {
    const label = keymap.label(command, place);
    if (label !== undefined) return label;
  }
  return '';
}
