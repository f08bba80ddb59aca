// The lists to choose from: all commands, colleagues, canned replies. What is in them now and how they are filtered. Pure;
// what a choice does is in dialogs.ts.
import type { Keymap } from './keymap.ts';
import { editableText } from './lexical-markdown.ts';
import { isAvailable, keyScopeOf, keyFor, paletteCommands } from './available-commands.ts';
import { sanitizeLine } from './sanitize-line.ts';
import { inEnglish, type Say } from './texts.ts';
import type { Choice, Dialog, DeskState } from './desk-state.ts';

type Menu = Extract<Dialog, { kind: 'menu' }>;

const titles = {
  palette: 'menuPalette',
  transfer: 'menuTransfer',
  canned: 'menuCanned',
  gaps: 'menuGaps',
} as const;

const empties = {
  palette: 'menuNoCommand',
  transfer: 'menuNoMember',
  canned: 'menuNoCanned',
  gaps: 'menuNoGaps',
} as const;

/** What stands in the menu's frame. */
export function menuTitle({ menu }: Menu, say: Say = inEnglish): string {
  return say(titles[menu]);
}

/** What a menu says when there is nothing in it. */
export function menuEmpty({ menu, filter, loading }: Menu, say: Say = inEnglish): string {
  if (loading) return say('menuLoading');
  if (filter !== '') return say('menuNoMatch');
  return say(empties[menu]);
}

function fits(words: readonly string[], choice: Choice): boolean {
  const text = `${choice.label} ${choice.detail} ${choice.id}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The choices that fit what was typed, in order. */
export function menuChoices(
  state: DeskState,
  menu: Menu,
  keymap: Keymap,
  say: Say = inEnglish,
): readonly Choice[] {
  const words = menu.filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return allChoices(state, menu, keymap, say).filter((choice) => fits(words, choice));
}

function allChoices(state: DeskState, menu: Menu, keymap: Keymap, say: Say): readonly Choice[] {
  switch (menu.menu) {
    case 'palette': {
      const under = keyScopeOf({ ...state, dialog: null });
      return paletteCommands
        .filter((command) => keymap.offers(command) && isAvailable(state, command))
        .map((command) => ({
          id: command,
          label: keymap.about(command),
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
          detail: role === 'admin' ? say('adminRole') : '',
          note: say(online ? 'online' : 'offline'),
        }));
    case 'gaps':
      return state.gaps.map(({ gap, withTitle }, index) => ({
        id: String(index),
        label: sanitizeLine(gap.question),
        detail: withTitle
          ? say('keepWith', { title: sanitizeLine(gap.chosen?.title ?? '') })
          : say('writeAnswer'),
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
