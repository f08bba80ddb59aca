// Counts values by size. Adding is a few comparisons, so that it may stand in a hot path.
import type { Histogram } from './engine.ts';

export interface HistogramRecorder {
  add(value: number): void;
  /** A copy of how it stands. */
  read(): Histogram;
}

/** @param bounds the upper end of each class, rising; what is larger has a class of its own */
export function createHistogram(bounds: readonly number[]): HistogramRecorder {
  const counts = Array.from({ length: bounds.length + 1 }, () => 0);
  let sum = 0;
  return {
    add: (value) => {
      let index = 0;
      while (value > (bounds[index] ?? Infinity)) index += 1;
      counts[index] = (counts[index] ?? 0) + 1;
      sum += value;
    },
    read: () => ({ bounds, counts: counts.slice(), sum }),
  };
}
