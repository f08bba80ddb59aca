// Owns the saved views with their counts.
import { useComputed } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { sanitizeLine } from '../../desk/sanitize-line.ts';
import { desk, deskState } from '../desk.ts';
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
