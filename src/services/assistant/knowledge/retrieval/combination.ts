// From what was measured of each candidate to their order, and from the order to two probabilities: that the first
// passage answers, and that one of the first three does. Linear, with weights fitted by test/assistant/fit.ts.
import type { Confidence } from '../../../../protocol/assistant.ts';
import { closest, type Likeness } from './ngrams.ts';
import type { PassageScore } from './ranking.ts';
import fitted from './weights.json' with { type: 'json' };

/** What was measured of one candidate. */
export interface Signals {
  readonly words: PassageScore;
  readonly likeness: Likeness;
  /** The share of its own heading, or of a question kept with it, that stands in the question, 0 to 1. */
  readonly headingShare: number;
  /** By how many standard deviations its vector is nearer to the question's than the candidates' mean; null: unknown. */
  readonly nearness: number | null;
  /** It is a reply that the team kept: its title is a question, so other questions are more like it than like a heading. */
  readonly isReply: boolean;
}

/** What was measured of the question itself. */
export interface QuestionSignals {
  /** How many words of matter it has. */
  readonly contentWords: number;
  /** The share of them that stand nowhere in the documents, 0 to 1. */
  readonly unknownShare: number;
}

export interface Weights {
  readonly ranking: readonly number[];
  /** The bias first. */
  readonly answer: readonly number[];
  readonly choices: readonly number[];
}

/** Where a model of vectors is configured they are weights of their own: without one nothing is different. */
export const weights: { readonly words: Weights; readonly vectors: Weights } = fitted;

/**
 * From these probabilities on a question is answered, or else the titles of the best passages are offered. Chosen by
 * the fit so that few answers are wrong: a visitor acts on a wrong one, where a choice asks back.
 */
export const thresholds: Confidence = fitted.thresholds;

/** The features of a candidate's order, in the order of their weights. */
export function rankingFeatures(
  { words, likeness, headingShare, nearness, isReply }: Signals,
  best: number,
): number[] {
  const { text, both } = likeness;
  // A question that the team answered is as good as a heading.
  const heading = closest(likeness.heading, likeness.question);
  return [
    best === 0 ? 0 : words.score / best,
    words.score * 0.05,
    words.coverage,
    likeness.heading.cosine,
    heading.cosine,
    text.cosine,
    both.cosine,
    heading.known,
    text.known,
    both.known,
    heading.share,
    text.share,
    both.share,
    likeness.pairs,
    headingShare,
    nearness ?? 0,
    ...(isReply
      ? [
          1,
          likeness.heading.cosine,
          text.cosine,
          likeness.heading.known,
          likeness.heading.share,
          headingShare,
        ]
      : [0, 0, 0, 0, 0, 0]),
  ];
}

function selectWeights(candidates: readonly Signals[]): Weights {
  return candidates.some(({ nearness }) => nearness !== null) ? weights.vectors : weights.words;
}

/** A candidate with its place in the order. */
export interface Ranked<T> {
  readonly candidate: T;
  readonly score: number;
}

/** Candidates in order, best first; equal ones stay as they were. */
export function rankCandidates<T extends Signals>(
  candidates: readonly T[],
  { ranking }: Pick<Weights, 'ranking'> = selectWeights(candidates),
): Ranked<T>[] {
  const best = Math.max(0, ...candidates.map(({ words }) => words.score));
  return candidates
    .map((candidate) => ({ candidate, score: dot(ranking, rankingFeatures(candidate, best)) }))
    .toSorted((a, b) => b.score - a.score);
}

/** The features of the two probabilities, in the order of their weights; the first is the bias's. */
export function confidenceFeatures(
  ranked: readonly Ranked<Signals>[],
  { contentWords, unknownShare }: QuestionSignals,
): number[] {
  const [first] = ranked;
  if (first === undefined) return [];
  const shares = softmax(ranked.map(({ score }) => score));
  const margin = (place: number, most: number): number =>
    Math.min(most, first.score - (ranked[place]?.score ?? Number.NEGATIVE_INFINITY)) / 2;
  const entropy = -shares.reduce((sum, share) => sum + (share > 0 ? share * Math.log(share) : 0), 0);
  const { words, likeness, headingShare, nearness, isReply } = first.candidate;
  const ofReplies = ranked
    .slice(0, 3)
    .map(({ candidate }) => (candidate.isReply ? candidate.likeness.heading.cosine : 0));
  return [
    1,
    first.score / 5,
    shares[0] ?? 0,
    margin(1, 3),
    margin(3, 4),
    words.coverage,
    Math.max(...ranked.map(({ candidate }) => candidate.words.coverage)),
    unknownShare,
    Math.min(contentWords, 8) / 8,
    2 * likeness.both.cosine,
    2 * Math.max(likeness.heading.cosine, likeness.question.cosine),
    headingShare,
    entropy,
    (nearness ?? 0) / 3,
    isReply ? 1 : 0,
    isReply ? 2 * likeness.heading.cosine : 0,
    2 * Math.max(...ofReplies),
  ];
}

/** How sure the order is to hold the answer. */
export function judgeConfidence(
  ranked: readonly Ranked<Signals>[],
  question: QuestionSignals,
  { answer, choices }: Weights = selectWeights(ranked.map(({ candidate }) => candidate)),
): Confidence {
  if (ranked.length === 0) return { answer: 0, choices: 0 };
  const features = confidenceFeatures(ranked, question);
  return { answer: logistic(dot(answer, features)), choices: logistic(dot(choices, features)) };
}

export function logistic(value: number): number {
  return 1 / (1 + Math.exp(-value));
}

export function softmax(scores: readonly number[]): number[] {
  const highest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - highest));
  const sum = powers.reduce((total, one) => total + one, 0);
  return powers.map((one) => one / sum);
}

export function dot(one: readonly number[], other: readonly number[]): number {
  return one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);
}
