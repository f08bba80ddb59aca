// Owns the widths of the panes: how many stand side by side, and how wide the outer ones are on this device.
import { signal } from '@preact/signals';
import type { PaneCount } from '../../desk/desk-state.ts';
import { readSetting, writeSetting } from '../words.ts';

const two = matchMedia('(min-width: 50rem)');
const three = matchMedia('(min-width: 75rem)');

const count = (): PaneCount => (three.matches ? 3 : two.matches ? 2 : 1);

/** How many panes stand side by side. */
export const paneCount = signal<PaneCount>(count());
for (const query of [two, three])
  query.addEventListener('change', () => {
    paneCount.value = count();
  });

/** The widths that one may choose, in CSS pixels. */
export const widthLimits = {
  queue: { least: 240, most: 560, usual: 340 },
  visitor: { least: 220, most: 480, usual: 290 },
} as const;

export type Column = keyof typeof widthLimits;

const keyOf = (column: Column): string => `deskbell.width.${column}`;

function keptWidth(column: Column): number {
  const { usual } = widthLimits[column];
  const kept = Number(readSetting(keyOf(column)) ?? usual);
  return limited(column, Number.isFinite(kept) ? kept : usual);
}

function limited(column: Column, width: number): number {
  const { least, most } = widthLimits[column];
  return Math.round(Math.max(least, Math.min(most, width)));
}

export const widths = { queue: signal(keptWidth('queue')), visitor: signal(keptWidth('visitor')) } as const;

/** Takes another width, as far as the limits go, and remembers it. */
export function setWidth(column: Column, width: number): void {
  widths[column].value = limited(column, width);
  writeSetting(keyOf(column), String(widths[column].value));
}

/** On a touch screen Enter makes a new line, and the button sends. */
export const isTouch = matchMedia('(pointer: coarse)');
