// What weights would do with questions: how often the right passage stands first, what is answered, offered and handed
// over, rightly and wrongly. Counts; fits nothing.
import {
  judgeConfidence,
  rankCandidates,
  type Weights,
} from '../../../src/services/assistant/knowledge/retrieval/combination.ts';
import { thresholds } from '../../../src/services/assistant/knowledge/retrieval/retrieval.ts';
import type { Sample } from './samples.ts';

/** In per cent of the questions, but for their number. */
export interface Figures {
  readonly questions: number;
  /** The right passage is the first; among the first three. */
  readonly hit1: number;
  readonly hit3: number;
  /** Answered with the right passage; with another. */
  readonly right: number;
  readonly wrong: number;
  /** Offered titles with the right one among them; without. */
  readonly offered: number;
  readonly offeredWithout: number;
  readonly handedOver: number;
  /** Answered rightly, or offered the right title. */
  readonly solved: number;
}

export function countFigures(samples: readonly Sample[], weights: Weights): Figures {
  const counts = { hit1: 0, hit3: 0, right: 0, wrong: 0, offered: 0, offeredWithout: 0, handedOver: 0 };
  for (const { candidates, right, signals } of samples) {
    const ranked = rankCandidates(candidates, weights);
    const confidence = judgeConfidence(ranked, signals, weights);
    const place = ranked.findIndex(({ candidate }) => right.has(candidate));
    const isAmongThree = place >= 0 && place < 3;
    if (place === 0) counts.hit1 += 1;
    if (isAmongThree) counts.hit3 += 1;
    if (confidence.answer >= thresholds.answer) counts[place === 0 ? 'right' : 'wrong'] += 1;
    else if (confidence.choices >= thresholds.choices)
      counts[isAmongThree ? 'offered' : 'offeredWithout'] += 1;
    else counts.handedOver += 1;
  }
  const share = (count: number): number => Math.round((1000 * count) / samples.length) / 10;
  return {
    questions: samples.length,
    hit1: share(counts.hit1),
    hit3: share(counts.hit3),
    right: share(counts.right),
    wrong: share(counts.wrong),
    offered: share(counts.offered),
    offeredWithout: share(counts.offeredWithout),
    handedOver: share(counts.handedOver),
    solved: share(counts.right + counts.offered),
  };
}

/** Figures as lines of a table. */
export function figuresTable(rows: Readonly<Record<string, Figures>>): string[] {
  const columns = [
    'questions',
    'hit1',
    'hit3',
    'right',
    'wrong',
    'offered',
    'offeredWithout',
    'handedOver',
    'solved',
  ] as const;
  const width = Math.max(...Object.keys(rows).map((name) => name.length));
  return [
    ' '.repeat(width) + columns.map((name) => `  ${name}`).join(''),
    ...Object.entries(rows).map(
      ([name, figures]) =>
        name.padEnd(width) +
        columns.map((column) => `  ${String(figures[column]).padStart(column.length)}`).join(''),
    ),
  ];
}
