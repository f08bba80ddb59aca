// Fits linear weights: which candidate is the right one (softmax over a question's candidates) and how probable
// something is (logistic). Both are convex, so the same data give the same weights. Knows nothing of questions.
import { dot, logistic, softmax } from '../../../src/services/assistant/knowledge/retrieval/combination.ts';

/** A question: the features of its candidates, and which of them are right. */
export interface Choice {
  readonly candidates: readonly (readonly number[])[];
  readonly right: readonly boolean[];
  readonly weight: number;
}

export interface Case {
  readonly features: readonly number[];
  readonly holds: boolean;
  readonly weight: number;
}

const steps = 300;

/** The weights under which the right candidates are most probable. @param ridge pulls them towards zero */
export function fitChoices(choices: readonly Choice[], ridge = 1e-4): number[] {
  const size = choices[0]?.candidates[0]?.length ?? 0;
  const total = choices.reduce((sum, { weight }) => sum + weight, 0);
  return descend(size, (at) => {
    const slope = at.map((value) => ridge * value);
    for (const { candidates, right, weight } of choices) {
      const shares = softmax(candidates.map((features) => dot(at, features)));
      const ofRight = shares.reduce((sum, share, index) => sum + (right[index] === true ? share : 0), 0);
      for (const [index, features] of candidates.entries()) {
        const share = shares[index] ?? 0;
        const wanted = right[index] === true && ofRight > 0 ? share / ofRight : 0;
        const pull = ((share - wanted) * weight) / total;
        for (const [feature, value] of features.entries())
          slope[feature] = (slope[feature] ?? 0) + pull * value;
      }
    }
    return slope;
  });
}

/** The weights of a logistic regression. @param ridge pulls all but the first towards zero */
export function fitProbability(cases: readonly Case[], ridge = 1e-4): number[] {
  const size = cases[0]?.features.length ?? 0;
  const total = cases.reduce((sum, { weight }) => sum + weight, 0);
  return descend(size, (at) => {
    const slope = at.map((value, feature) => (feature === 0 ? 0 : ridge * value));
    for (const { features, holds, weight } of cases) {
      const pull = ((logistic(dot(at, features)) - (holds ? 1 : 0)) * weight) / total;
      for (const [feature, value] of features.entries())
        slope[feature] = (slope[feature] ?? 0) + pull * value;
    }
    return slope;
  });
}

/** Gradient descent with steps of their own for each weight (Adam), which get smaller towards the end. */
function descend(size: number, slopeAt: (weights: readonly number[]) => number[]): number[] {
  const weights = Array.from({ length: size }, () => 0);
  const mean = weights.slice();
  const square = weights.slice();
  for (let step = 1; step <= steps; step += 1) {
    const rate = 0.15 * (1 - step / (steps + 1));
    for (const [index, slope] of slopeAt(weights).entries()) {
      mean[index] = 0.9 * (mean[index] ?? 0) + 0.1 * slope;
      square[index] = 0.999 * (square[index] ?? 0) + 0.001 * slope * slope;
      const direction = (mean[index] ?? 0) / (1 - 0.9 ** step);
      const spread = Math.sqrt((square[index] ?? 0) / (1 - 0.999 ** step));
      weights[index] = (weights[index] ?? 0) - (rate * direction) / (spread + 1e-8);
    }
  }
  return weights;
}
