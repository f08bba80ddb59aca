// The lists to choose from: all commands, colleagues, canned replies. What is in them now and how they are filtered. Pure;
// what a choice does is in dialogs.ts.
import { commandKeys, type Keymap } from './keymap.ts';
import { editableText } from './lexical-markdown.ts';
import { isAvailable, keyScopeOf, keyFor, paletteCommands } from './available-commands.ts';
import { sanitizeLine } from './sanitize-line.ts';
import type { Choice, Dialog, DeskState } from './desk-state.ts';

type Menu = Extract<Dialog, { kind: 'menu' }>;

const titles: Readonly<Record<Menu['menu'], string>> = {
  palette: 'Commands',
  transfer: 'Transfer to',
  canned: 'Canned replies',
  gaps: 'Questions without an answer',
};

/** What stands in the menu's frame. */
export function menuTitle({ menu }: Menu): string {
  return titles[menu];
}

/** What a menu says when there is nothing in it. */
export function menuEmpty({ menu, filter, loading }: Menu): string {
  if (loading) return 'Loading…';
  if (filter !== '') return 'No match.';
  return {
    palette: 'No command applies here.',
    transfer: 'There is no other member.',
    canned: 'No canned replies yet: deskbell canned set NAME TEXT',
    gaps: 'The documents answered every question.',
  }[menu];
}

function fits(words: readonly string[], choice: Choice): boolean {
  const text = `${choice.label} ${choice.detail} ${choice.id}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The choices that fit what was typed, in order. */
export function menuChoices(state: DeskState, menu: Menu, keymap: Keymap): readonly Choice[] {
  const words = menu.filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return allChoices(state, menu, keymap).filter((choice) => fits(words, choice));
}

function allChoices(state: DeskState, menu: Menu, keymap: Keymap): readonly Choice[] {
  switch (menu.menu) {
    case 'palette': {
      const under = keyScopeOf({ ...state, dialog: null });
      return paletteCommands
        .filter((command) => isAvailable(state, command))
        .map((command) => ({
          id: command,
          label: commandKeys[command].about,
          detail: '',
          note: keyFor(keymap, command, under),
        }));
    }
    case 'transfer':
      return (state.colleagues ?? [])
        .filter(({ id }) => id !== state.session?.member.id)
        .toSorted(
          (one, other) => Number(other.online) - Number(one.online) || (one.name < other.name ? -1 : 1),
        )
        .map(({ id, name, role, online }) => ({
          id,
          label: sanitizeLine(name),
          detail: role === 'admin' ? 'admin' : '',
          note: online ? '● online' : '○ offline',
        }));
    case 'gaps':
      return state.gaps.map(({ gap, withTitle }, index) => ({
        id: String(index),
        label: sanitizeLine(gap.question),
        detail: withTitle ? `keep with: ${sanitizeLine(gap.chosen?.title ?? '')}` : 'write an answer',
        note: `${gap.count}×`,
      }));
    default:
      return (state.cannedReplies ?? []).map((reply) => ({
        id: reply.id,
        label: `/${sanitizeLine(reply.shortcut)}`,
        detail: sanitizeLine(editableText(reply)),
        note: '',
      }));
  }
}
