// Owns the keys of all commands: those of every face, and those that move the caret, which a browser's fields have by
// themselves. A face that does not need the latter must not load this at first.
import { deskKeys, namesOf, type CommandKeys, type CommandName } from './keymap.ts';

const fields = ['composer', 'search', 'menu'] as const;

const ofCaret = {
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

export type CaretCommand = keyof typeof ofCaret;

/** Every command, in the order in which help shows them. */
export const commandKeys: Readonly<Record<CommandName, CommandKeys>> = { ...deskKeys, ...ofCaret };

export const commandNames: readonly CommandName[] = namesOf(commandKeys);
