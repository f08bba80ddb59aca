// What is laid over the panes: help, lists to choose from, questions, the visitor's data.
// Pure: a place and lines that cover what is below.
import { inEnglish } from '../../../desk/english.ts';
import { isAvailable, keyScopeOf } from '../../../desk/available-commands.ts';
import { menuChoices, menuEmpty, menuTitle } from '../../../desk/menus.ts';
import { sanitizeLine } from '../text/sanitize-line.ts';
import type { Dialog } from '../../../desk/desk-state.ts';
import type { ViewState } from './view-state.ts';
import type { KeyScope, Keymap } from '../../../desk/keymap.ts';
import type { Line } from '../text/types.ts';
import { widthOf, wrap } from '../text/wrap.ts';
import { blankLine, justify, fitLine, framed } from './line-layout.ts';
import { visitorLines } from './visitor-lines.ts';

export interface Overlay {
  readonly x: number;
  readonly y: number;
  readonly columns: number;
  readonly lines: readonly Line[];
  /** Where the caret stands in the window; null: it is hidden. */
  readonly caret: { readonly x: number; readonly y: number } | null;
}

function placed(
  lines: readonly Line[],
  columns: number,
  state: ViewState,
  caret: { x: number; y: number } | null = null,
): Overlay {
  const x = Math.max(0, Math.floor((state.columns - columns) / 2));
  const y = Math.max(0, Math.floor((state.rows - lines.length) / 3));
  return { x, y, columns, lines, caret: caret === null ? null : { x: x + caret.x, y: y + caret.y } };
}

const placeNames: Readonly<Record<KeyScope, string>> = {
  queue: 'In the queue',
  conversation: 'In the conversation',
  composer: 'While writing',
  search: 'While searching',
  menu: 'In lists',
  confirm: 'At questions',
};

/** The keys that do something now come first; those of the other places follow. */
function helpLines(state: ViewState, keymap: Keymap, columns: number): readonly Line[] {
  const here = keyScopeOf({ ...state, dialog: null });
  const others = (['queue', 'conversation', 'composer'] as const).filter((one) => one !== here);
  const lines: Line[] = [];
  for (const place of [here, ...others]) {
    if (lines.length > 0) lines.push(blankLine);
    lines.push([{ text: place === here ? `${placeNames[place]} (here)` : placeNames[place], bold: true }]);
    for (const { command, keys, about } of keymap.help(place)) {
      const works = place !== here || isAvailable(state, command);
      lines.push(
        fitLine(
          [
            ...fitLine([{ text: keys.slice(0, 3).join(' '), bold: works, dim: !works }], 20),
            { text: about, dim: !works },
          ],
          columns,
        ),
      );
    }
  }
  return lines;
}

/** A window over lines that are too many: cut out, with a word about the rest. */
function scrolled(lines: readonly Line[], top: number, height: number): readonly Line[] {
  if (lines.length <= height) return lines;
  const first = Math.min(top, lines.length - height);
  return lines.slice(first, first + height);
}

function restOf(count: number, top: number, height: number): string {
  if (count <= height) return '';
  const below = count - Math.min(top, count - height) - height;
  return below > 0 ? `↓ ${below} more` : 'Esc closes';
}

/** @returns the dialog that is open, ready to be laid over the panes */
export function overlayOf(state: ViewState, dialog: Dialog, keymap: Keymap): Overlay {
  const columns = Math.min(
    state.columns,
    dialog.kind === 'confirm' ? 60 : 72,
    Math.max(36, state.columns - 4),
  );
  const inner = columns - 4;
  const height = Math.max(1, state.rows - (state.rows < 20 ? 3 : 6));
  const reader = (title: string, lines: readonly Line[]): Overlay => {
    const { dialogTop: top } = state;
    const inSight = scrolled(lines, top, height);
    return placed(framed(inSight, title, restOf(lines.length, top, height), columns), columns, state);
  };
  switch (dialog.kind) {
    case 'help':
      return reader('Help', helpLines(state, keymap, inner));
    case 'visitor':
      return reader('Visitor', visitorLines(state, inner));
    case 'confirm': {
      const question = wrap([{ text: sanitizeLine(dialog.question) }], inner);
      const keys: Line = [
        { text: keymap.label('yes', 'confirm') ?? 'y', bold: true },
        { text: ` ${dialog.yes}`, dim: true },
        { text: '    ' },
        { text: keymap.label('no', 'confirm') ?? 'n', bold: true },
        { text: ' no', dim: true },
      ];
      return placed(framed([...question, blankLine, keys], 'Confirm', '', columns), columns, state);
    }
    default: {
      const choices = menuChoices(state, dialog, keymap, inEnglish);
      const most = Math.max(1, Math.min(height - 2, 16));
      const index = Math.min(dialog.index, Math.max(0, choices.length - 1));
      const top = Math.max(0, Math.min(index - most + 1, choices.length - most));
      const filter = sanitizeLine(`${dialog.filter}|`).slice(0, -1);
      const list: readonly Line[] =
        choices.length === 0
          ? [[{ text: `  ${menuEmpty(dialog, inEnglish)}`, dim: true }]]
          : choices.slice(top, top + most).map((choice, at) => {
              const isChosen = top + at === index;
              return justify(
                [
                  { text: isChosen ? '▌ ' : '  ', color: 'cyan', bold: true },
                  { text: sanitizeLine(choice.label), bold: isChosen },
                  ...(choice.detail === '' ? [] : [{ text: `  ${sanitizeLine(choice.detail)}`, dim: true }]),
                ],
                choice.note === '' ? [] : [{ text: choice.note, dim: !isChosen }],
                inner,
              );
            });
      const field: Line = [{ text: '› ', color: 'cyan', bold: true }, { text: filter }];
      const body = [field, ...list];
      return placed(
        framed(
          body,
          menuTitle(dialog, inEnglish),
          choices.length > most ? `${index + 1} of ${choices.length}` : '',
          columns,
        ),
        columns,
        state,
        {
          x: Math.min(columns - 3, 4 + widthOf([{ text: filter }])),
          y: 1,
        },
      );
    }
  }
}
