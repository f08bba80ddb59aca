// Owns the line between two panes that changes their width, by pointer and by arrows.
import type { JSX } from 'preact';
import { t } from '../words.ts';
import { setWidth, widthLimits, widths, type Column } from './layout.ts';

const step = 16;

export function Resizer({ column }: { readonly column: Column }): JSX.Element {
  const width = widths[column].value;
  // Towards the conversation, wherever that is in this writing direction.
  const towards = (): 1 | -1 => {
    const leftToRight = document.documentElement.dir !== 'rtl';
    return (column === 'queue') === leftToRight ? 1 : -1;
  };
  const pull = (event: PointerEvent): void => {
    const from = event.clientX;
    const { currentTarget } = event;
    if (!(currentTarget instanceof HTMLElement)) return;
    currentTarget.setPointerCapture(event.pointerId);
    const move = (moved: PointerEvent): void => setWidth(column, width + (moved.clientX - from) * towards());
    currentTarget.addEventListener('pointermove', move);
    currentTarget.addEventListener(
      'lostpointercapture',
      () => currentTarget.removeEventListener('pointermove', move),
      { once: true },
    );
  };
  const walk = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -step, ArrowRight: step }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    setWidth(column, width + by * towards());
  };
  return (
    <div
      class="resizer"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={t(column === 'queue' ? 'resize' : 'resizeVisitor')}
      aria-valuenow={width}
      aria-valuemin={widthLimits[column].least}
      aria-valuemax={widthLimits[column].most}
      onPointerDown={pull}
      onKeyDown={walk}
      onDblClick={() => setWidth(column, widthLimits[column].usual)}
    />
  );
}
