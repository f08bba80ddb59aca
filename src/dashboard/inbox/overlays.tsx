// Owns what lies over the panes: the palette and the other menus, help, the visitor's data, questions. Loaded when one of
// them is opened for the first time. What is in them and what a choice does is the model's.
import { useComputed } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Dialog as DeskDialog } from '../../desk/desk-state.ts';
import type { KeyScope } from '../../desk/keymap.ts';
import { menuChoices, menuEmpty, menuTitle } from '../../desk/menus.ts';
import { desk, deskState } from '../desk.ts';
import { Confirm, Dialog } from '../ui/dialog.tsx';
import { say, t } from '../words.ts';
import { useRoom } from './lazy-room.ts';

export { Dialogs, stillMeant } from '../../desk/dialogs.ts';

type MenuDialog = Extract<DeskDialog, { kind: 'menu' }>;

const placeholders = {
  palette: 'palettePlaceholder',
  transfer: 'transferPlaceholder',
  canned: 'cannedPlaceholder',
  gaps: 'gapsPlaceholder',
  tag: 'tagPlaceholder',
  priority: 'priorityPlaceholder',
  snooze: 'snoozePlaceholder',
  snoozeTime: 'timePlaceholder',
  views: 'viewPlaceholder',
  viewText: 'viewTextPlaceholder',
  // Not opened here: a browser has its own ways with files.
  attachPath: 'filter',
  saveFile: 'filter',
  savePath: 'filter',
  openFile: 'filter',
} as const;

export function Overlays(): JSX.Element | null {
  const dialog = useComputed(() => deskState.value.dialog).value;
  const open = useComputed(() => deskState.value.open).value;
  const room = useRoom();
  const { model } = desk();
  const close = (): void => model.closeDialog();
  switch (dialog?.kind) {
    case 'menu':
      return <MenuOverlay dialog={dialog} onClose={close} />;
    case 'confirm':
      return (
        <Confirm
          question={dialog.question}
          yes={dialog.yes}
          danger={dialog.ask.command === 'remove' || dialog.ask.command === 'block'}
          onYes={() => model.answer(true)}
          onNo={close}
        />
      );
    case 'help':
      return <Help onClose={close} />;
    case 'visitor':
      return (
        <Dialog title={t('aboutVisitor')} onClose={close} class="visitor-dialog">
          {open === null || room === null ? null : <room.VisitorDetails open={open} />}
        </Dialog>
      );
    default:
      return null;
  }
}

function MenuOverlay({
  dialog,
  onClose,
}: {
  readonly dialog: MenuDialog;
  readonly onClose: () => void;
}): JSX.Element {
  const { model, keymap } = desk();
  const choices = menuChoices(deskState.value, dialog, keymap, say);
  const at = Math.min(dialog.index, choices.length - 1);
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  return (
    <Dialog title={menuTitle(dialog, say)} onClose={onClose} class="palette">
      <input
        type="text"
        class="palette-filter"
        data-field="menu"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={at < 0 ? undefined : `choice-${at}`}
        aria-label={t('filter')}
        placeholder={t(placeholders[dialog.menu])}
        autocomplete="off"
        spellcheck={false}
        autofocus
        value={dialog.filter}
        onInput={(event) => model.setFilter(event.currentTarget.value)}
      />
      {choices.length === 0 ? <p class="empty">{menuEmpty(dialog, say)}</p> : null}
      <ul
        class="palette-list"
        id="palette-list"
        role="listbox"
        aria-label={menuTitle(dialog, say)}
        ref={list}
      >
        {choices.map(({ id, label, detail, note }, index) => (
          <li
            key={id}
            id={`choice-${index}`}
            role="option"
            aria-selected={index === at}
            // The field keeps the focus: a word may follow.
            onPointerDown={(event) => event.preventDefault()}
            onClick={() => model.choose(index)}
          >
            <span class="palette-label" dir="auto">
              {label}
            </span>
            <span class="palette-detail" dir="auto">
              {detail}
            </span>
            {note === '' ? null : dialog.menu === 'palette' ? <kbd>{note}</kbd> : <span>{note}</span>}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

const helpParts: readonly { readonly scope: KeyScope; readonly word: Parameters<typeof t>[0] }[] = [
  { scope: 'queue', word: 'helpQueue' },
  { scope: 'conversation', word: 'helpConversation' },
  { scope: 'composer', word: 'helpComposer' },
  { scope: 'search', word: 'helpSearch' },
];

function Help({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const { keymap } = desk();
  return (
    <Dialog title={t('keyboard')} onClose={onClose} class="help">
      <div class="help-parts">
        {helpParts.map(({ scope, word }) => (
          <section key={scope}>
            <h3>{t(word)}</h3>
            <dl class="keys">
              {keymap
                .help(scope)
                .filter(({ command }) => keymap.offers(command))
                .map(({ command, keys, about }) => (
                  <div key={command}>
                    <dt>
                      {keys.map((key) => (
                        <kbd key={key}>{key}</kbd>
                      ))}
                    </dt>
                    <dd>{about}</dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
