// Owns the saved views with their counts, and the bar of what is done to all marked conversations at once.
import { useComputed } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { sanitizeLine } from '../../desk/sanitize-line.ts';
import { desk, deskState } from '../desk.ts';
import { IconButton } from '../ui/button.tsx';
import { Menu } from '../ui/menu.tsx';
import { t } from '../words.ts';

/** Saved views side by side; nothing where there are none, for then the menu has all there is. */
export function SavedViews(): JSX.Element | null {
  const views = useComputed(() => deskState.value.views).value;
  const counts = useComputed(() => deskState.value.viewCounts).value;
  const shown = useComputed(() => deskState.value.queue.search?.view?.id ?? null).value;
  const isListed = useComputed(() => deskState.value.queue.lists.pending.total !== null).value;
  const { model } = desk();
  // The queue comes first.
  useEffect(() => {
    if (isListed && views === null) model.views.load().catch(() => undefined);
  }, [isListed]);
  if (views === null || views.length === 0) return null;
  return (
    <nav class="views saved-views" aria-label={t('savedViews')}>
      {views.map((view) => {
        const count = counts.get(view.id);
        return (
          <button
            key={view.id}
            type="button"
            class="view"
            aria-current={view.id === shown ? 'true' : undefined}
            onClick={() => {
              model.setFocus('queue');
              void model.queue.search.showView(view);
            }}
          >
            <span dir="auto">{sanitizeLine(view.name)}</span>
            {count === undefined ? null : <b class="total">{count > 999 ? '999+' : count}</b>}
          </button>
        );
      })}
    </nav>
  );
}

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
      <IconButton icon="close" label={t('clearMarks')} onClick={() => model.order.clearMarks()} />
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
