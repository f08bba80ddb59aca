// Owns the bar of what is done to all marked conversations at once, loaded with the first that is marked.
import { useComputed } from '@preact/signals';
import type { JSX } from 'preact';
import { desk, deskState } from '../desk.ts';
import css from '../styles/marked-bar.css';
import { adopt } from '../ui/adopt.ts';
import { IconButton } from '../ui/button.tsx';
import { Menu } from '../ui/menu.tsx';
import { t } from '../words.ts';

adopt(css);

const acts = [
  { command: 'tag', icon: 'tag' },
  { command: 'priority', icon: 'flag' },
  { command: 'snooze', icon: 'clock' },
  { command: 'wake', icon: 'bell' },
  { command: 'unread', icon: 'eye' },
  { command: 'accept', icon: 'check' },
  { command: 'release', icon: 'release' },
  { command: 'transfer', icon: 'transfer' },
  { command: 'reopen', icon: 'retry' },
  { command: 'resolve', icon: 'check' },
] as const;

/** How many are marked, and what can be done to all of them; nothing where none is. */
export function MarkedBar(): JSX.Element | null {
  const count = useComputed(() => deskState.value.marked.size).value;
  if (count === 0) return null;
  const { model, keymap } = desk();
  return (
    <div class="marked-bar">
      <b role="status">{t('markedCount', { n: count })}</b>
      <IconButton icon="close" label={t('clearMarks')} onClick={() => model.marks.clear()} />
      <Menu
        label={t('more')}
        items={acts.map(({ command, icon }) => ({
          label: t(`cmd_${command}`),
          icon,
          hint: keymap.label(command, 'queue'),
          onClick: () => {
            // In the queue, acts concern what is marked.
            model.setFocus('queue');
            model.run(command);
          },
        }))}
      />
    </div>
  );
}
