// The lists to choose from: all commands, colleagues, canned replies. What is in them now
// and how they are filtered. Pure; what a choice does is the controller's matter.
import { commandKeys, type Keymap } from '../keys.ts';
import { editableText } from './lexical-markdown.ts';
import { isAvailable, keyScopeOf, keyFor, paletteCommands } from './available-commands.ts';
import { sanitizeLine } from './sanitize-line.ts';
import type { Choice, Dialog, ViewState } from './view-state.ts';

type Menu = Extract<Dialog, { kind: 'menu' }>;

const titles: Readonly<Record<Menu['menu'], string>> = {
  palette: 'Commands',
  transfer: 'Hand over to',
  canned: 'Canned replies',
};

/** What stands in the menu's frame. */
export function menuTitle({ menu }: Menu): string {
  return titles[menu];
}

/** What a menu says when there is nothing in it. */
export function menuEmpty({ menu, filter, loading }: Menu): string {
  if (loading) return 'Loading…';
  if (filter !== '') return 'Nothing fits.';
  return {
    palette: 'Nothing to do here.',
    transfer: 'There is nobody else.',
    canned: 'No canned replies yet: deskbell canned set NAME TEXT',
  }[menu];
}

function fits(words: readonly string[], choice: Choice): boolean {
  const text = `${choice.label} ${choice.detail} ${choice.id}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The choices that fit what was typed, in order. */
export function menuChoices(state: ViewState, menu: Menu, keymap: Keymap): readonly Choice[] {
  const words = menu.filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return allChoices(state, menu, keymap).filter((choice) => fits(words, choice));
}

function allChoices(state: ViewState, menu: Menu, keymap: Keymap): readonly Choice[] {
  switch (menu.menu) {
    case 'palette': {
      const under = keyScopeOf({ ...state, dialog: null });
      return paletteCommands
        .filter((action) => isAvailable(state, action))
        .map((action) => ({
          id: action,
          label: commandKeys[action].about,
          detail: '',
          note: keyFor(keymap, action, under),
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
          note: online ? '● here' : '○ away',
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
