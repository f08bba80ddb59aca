// What weights would do with questions: how often the right passage stands first, what is answered, offered and handed
// over, rightly and wrongly. Counts; fits nothing.
import {
  judgeConfidence,
  rankCandidates,
  type Weights,
} from '../../../src/services/assistant/knowledge/retrieval/combination.ts';
import type { Confidence } from '../../../src/protocol/assistant.ts';
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

/** What became of a question. */
export interface Outcome {
  /** The place of the right passage, from 0; null: not found, or there is none. */
  readonly place: number | null;
  readonly action: 'answered' | 'offered' | 'handedOver';
  /** The right passage is the answer, or among those that are offered. */
  readonly isRight: boolean;
}

/** Judges samples as the product would. */
export function countFigures(samples: readonly Sample[], weights: Weights, thresholds: Confidence): Figures {
  return toFigures(
    samples.map(({ candidates, right, signals }): Outcome => {
      const ranked = rankCandidates(candidates, weights);
      const confidence = judgeConfidence(ranked, signals, weights);
      const place = ranked.findIndex(({ candidate }) => right.has(candidate));
      const found = place < 0 ? null : place;
      if (confidence.answer >= thresholds.answer)
        return { place: found, action: 'answered', isRight: place === 0 };
      const action = confidence.choices >= thresholds.choices ? 'offered' : 'handedOver';
      return { place: found, action, isRight: found !== null && found < 3 };
    }),
  );
}

/** Counts what became of questions. */
export function toFigures(outcomes: readonly Outcome[]): Figures {
  const share = (isCounted: (one: Outcome) => boolean): number =>
    Math.round((1000 * outcomes.filter(isCounted).length) / outcomes.length) / 10;
  const isSolved = ({ action, isRight }: Outcome): boolean => action !== 'handedOver' && isRight;
  return {
    questions: outcomes.length,
    hit1: share(({ place }) => place === 0),
    hit3: share(({ place }) => place !== null && place < 3),
    right: share((one) => one.action === 'answered' && one.isRight),
    wrong: share((one) => one.action === 'answered' && !one.isRight),
    offered: share((one) => one.action === 'offered' && one.isRight),
    offeredWithout: share((one) => one.action === 'offered' && !one.isRight),
    handedOver: share(({ action }) => action === 'handedOver'),
    solved: share(isSolved),
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
