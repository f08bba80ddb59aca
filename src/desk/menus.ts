// The lists to choose from: all commands, colleagues, canned replies. What is in them now and how they are filtered. Pure;
// what a choice does is in dialogs.ts.
import { priorities } from '../protocol/queue-enums.ts';
import type { StaffConversationListItem } from '../protocol/entities.ts';
import type { Keymap } from './keymap.ts';
import { kindOf, sizeText } from '../sdk/shown-files.ts';
import { isAvailable, keyScopeOf, targetFiles } from './available-commands.ts';
import { keyFor, paletteCommands } from './palette-commands.ts';
import { sanitizeLine } from './sanitize-line.ts';
import { priorityTexts } from './priorities.ts';
import type { QueueView } from './queue.ts';
import { parseSnoozeEnd, snoozeChoices, snoozeEnd } from './snooze-times.ts';
import type { Say } from './texts.ts';
import { untilLabel } from './time.ts';
import { lastViewWord, parseView, viewWords } from './view-text.ts';
import type { Choice, Dialog, DeskState } from './desk-state.ts';

type Menu = Extract<Dialog, { kind: 'menu' }>;

const titles = {
  palette: 'menuPalette',
  transfer: 'menuTransfer',
  canned: 'menuCanned',
  gaps: 'menuGaps',
  tag: 'menuTag',
  priority: 'menuPriority',
  snooze: 'menuSnooze',
  snoozeTime: 'menuSnooze',
  views: 'menuViews',
  viewText: 'menuViewText',
  attachPath: 'menuAttach',
  saveFile: 'menuSaveFile',
  savePath: 'menuSavePath',
  openFile: 'menuOpenFile',
} as const;

const empties = {
  palette: 'menuNoCommand',
  transfer: 'menuNoMember',
  canned: 'menuNoCanned',
  gaps: 'menuNoGaps',
  tag: 'menuNoTag',
  priority: 'menuNoMatch',
  snooze: 'menuNoMatch',
  snoozeTime: 'menuNoTime',
  views: 'menuNoMatch',
  viewText: 'menuNoViewText',
  attachPath: 'menuNoPath',
  saveFile: 'noFileHere',
  savePath: 'menuNoPath',
  openFile: 'noFileHere',
} as const;

/** What stands in the menu's frame. */
export function menuTitle({ menu }: Menu, say: Say): string {
  return say(titles[menu]);
}

/** Menus of one choice, which is written. */
const written: ReadonlySet<Menu['menu']> = new Set(['snoozeTime', 'viewText', 'attachPath', 'savePath']);

/** What a menu says when there is nothing in it. */
export function menuEmpty({ menu, filter, loading }: Menu, say: Say): string {
  if (loading) return say('menuLoading');
  if (filter !== '' && !written.has(menu)) return say('menuNoMatch');
  return say(empties[menu]);
}

function fits(words: readonly string[], choice: Choice): boolean {
  const text = `${choice.label} ${choice.detail} ${choice.id}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The choices that fit what was typed, in order. */
export function menuChoices(state: DeskState, menu: Menu, keymap: Keymap, say: Say): readonly Choice[] {
  const words = menu.filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  // What is written there is a time, and filters nothing.
  if (menu.menu === 'snoozeTime') return writtenTime(state, menu);
  if (menu.menu === 'viewText') return writtenView(state, menu, say);
  if (menu.menu === 'attachPath' || menu.menu === 'savePath') return writtenPath(state, menu, say);
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
    case 'tag':
      return tagChoices(state, menu, say);
    case 'priority':
      return priorities.toReversed().map((priority, index) => ({
        id: priority,
        label: say(priorityTexts[priority]),
        detail: aboutItems(state, menu).every((item) => item.priority === priority) ? '✓' : '',
        note: String(index + 1),
      }));
    case 'snooze':
      return [
        ...snoozeChoices.map((choice, index) => ({
          id: choice,
          label: say(snoozeTexts[choice]),
          detail: untilLabel(snoozeEnd(choice, state.now), state.now),
          note: String(index + 1),
        })),
        { id: 'own', label: say('snoozeOwn'), detail: '', note: String(snoozeChoices.length + 1) },
      ];
    case 'snoozeTime':
      return writtenTime(state, menu);
    case 'viewText':
      return writtenView(state, menu, say);
    case 'attachPath':
    case 'savePath':
      return writtenPath(state, menu, say);
    case 'saveFile':
    case 'openFile':
      return targetFiles(state).map((file) => ({
        id: file.id,
        label: sanitizeLine(file.name),
        detail: kindOf(file),
        note: sizeText(file.size, 'en'),
      }));
    case 'views':
      return [
        ...[...(state.views ?? []), ...builtInViews(say)].map(({ id, name, shared }) => ({
          id,
          label: sanitizeLine(name),
          detail: shared ? say('viewShared') : '',
          note: String(state.viewCounts.get(id) ?? ''),
        })),
        ...viewActs(state, say).map(({ id, label }) => ({ id, label, detail: '', note: '' })),
      ];
    default:
      return (state.cannedReplies ?? []).map((reply) => ({
        id: reply.id,
        label: `/${sanitizeLine(reply.shortcut)}`,
        detail: sanitizeLine(reply.content),
        note: '',
      }));
  }
}

const snoozeTexts = {
  hour: 'snoozeHour',
  four: 'snoozeFour',
  tomorrow: 'snoozeTomorrow',
  week: 'snoozeWeek',
} as const;

/** Views that everybody has. Only saved ones are counted. */
export function builtInViews(say: Say): readonly QueueView[] {
  return [
    { id: 'snoozed', name: say('viewSnoozed'), shared: false, query: { snoozed: true } },
    { id: 'unread', name: say('viewUnread'), shared: false, query: { unread: true } },
    {
      id: 'urgent',
      name: say('viewUrgent'),
      shared: false,
      query: { priority: ['urgent', 'high'], sort: 'priority' },
    },
    { id: 'untagged', name: say('viewUntagged'), shared: false, query: { untagged: true } },
  ];
}

export type ViewAct = '+new' | '+change' | '+first' | '+delete';

/** What can be done with views themselves: a new one, and more with the saved one that is shown. */
export function viewActs(
  { queue, session, views }: DeskState,
  say: Say,
): readonly { readonly id: ViewAct; readonly label: string; readonly view: QueueView | null }[] {
  const view = (views ?? []).find(({ id }) => id === queue.search?.view?.id) ?? null;
  const name = sanitizeLine(view?.name ?? '');
  const isAdmin = session?.member.role === 'admin';
  const changeable = view !== null && (isAdmin || view.createdBy === session?.member.id);
  return [
    ...(changeable ? [{ id: '+change', label: say('viewChange', { name }), view } as const] : []),
    ...(view !== null && views?.[0] !== view
      ? [{ id: '+first', label: say('viewFirst', { name }), view } as const]
      : []),
    ...(changeable ? [{ id: '+delete', label: say('viewDelete', { name }), view } as const] : []),
    { id: '+new', label: say('viewNew'), view: null },
  ];
}

const bare = (word: string): string => word.replaceAll('"', '').toLowerCase();

/** What is written of a view, to be saved, or the words that it can go on with. */
function writtenView({ tags }: DeskState, { filter }: Menu, say: Say): readonly Choice[] {
  const written = parseView(filter);
  if (written !== null)
    return [
      {
        id: '+save',
        label: say('viewSave', { name: sanitizeLine(written.name) }),
        detail: written.shared ? say('viewShared') : '',
        note: '',
      },
    ];
  if (filter.includes('=')) return [];
  const { before, word } = lastViewWord(filter);
  const used = ` ${before}`;
  return viewWords(tags ?? [])
    .filter((one) => bare(one).startsWith(bare(word)) && !used.includes(` ${one} `))
    .map((one) => ({ id: one, label: sanitizeLine(one), detail: '', note: '' }));
}

/** The conversations that a menu concerns, as far as they are known. */
function aboutItems(
  { queue, open, marked }: DeskState,
  { about }: Menu,
): readonly StaffConversationListItem[] {
  const ids = about === null ? marked : new Set([about]);
  const known = queue.items.filter(({ id }) => ids.has(id));
  const detail = open === null ? null : open.detail;
  return known.length === 0 && detail !== null && ids.has(detail.id) ? [detail] : known;
}

/** The organization's tags, those that they all have last (first where words are typed), and one that is written and not there yet. */
function tagChoices(state: DeskState, menu: Menu, say: Say): readonly Choice[] {
  const items = aboutItems(state, menu);
  const held = [...new Set(items.flatMap(({ tags }) => tags))].filter((tag) =>
    items.every(({ tags }) => tags.includes(tag)),
  );
  const others = (state.tags ?? []).filter((tag) => !held.includes(tag));
  const written = sanitizeLine(menu.filter).trim();
  const isKnown = [...held, ...others].some((tag) => tag.toLowerCase() === written.toLowerCase());
  return [
    ...(menu.filter === '' ? others : [...held, ...others]).map((tag) =>
      tagChoice(tag, held.includes(tag), say),
    ),
    ...(menu.filter === '' ? held.map((tag) => tagChoice(tag, true, say)) : []),
    ...(written === '' || isKnown
      ? []
      : [{ id: written, label: say('tagAdd', { tag: written }), detail: '', note: '' }]),
  ];
}

function tagChoice(tag: string, isHeld: boolean, say: Say): Choice {
  return {
    id: tag,
    label: sanitizeLine(tag),
    detail: isHeld ? say('tagTakeOff') : '',
    note: isHeld ? '✓' : '',
  };
}

/** What is done with a file of the composer: `out:` and `retry:` with its key. */
const fileAct = (act: 'out' | 'retry', key: string): string => `${act}:${key}`;

/** A path as it is written, to be read or saved to; where none is, what can be done with the files that are there. */
function writtenPath({ composer }: DeskState, { menu, filter }: Menu, say: Say): readonly Choice[] {
  const path = filter.trim();
  if (path === '')
    return (menu === 'attachPath' ? (composer?.files ?? []) : []).flatMap((file) => {
      const name = sanitizeLine(file.name);
      const out = { id: fileAct('out', file.key), label: say('takeOutFile', { name }), detail: '', note: '' };
      const again = {
        id: fileAct('retry', file.key),
        label: say('retryFile', { name }),
        detail: '',
        note: '',
      };
      return file.problem !== null && file.mayRetry ? [again, out] : [out];
    });
  const label = say(menu === 'attachPath' ? 'attachThis' : 'saveHere', { name: sanitizeLine(path) });
  return [{ id: path, label, detail: '', note: '' }];
}

function writtenTime({ now }: DeskState, { filter }: Menu): readonly Choice[] {
  const end = parseSnoozeEnd(filter, now);
  return end === null ? [] : [{ id: filter, label: untilLabel(end, now), detail: '', note: '' }];
}
