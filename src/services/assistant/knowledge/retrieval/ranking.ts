// How well passages fit a question: how much of what the question asks for occurs in
// them, weighed by how rare it is in the application's own documents. Pure arithmetic.
import type { PassageTerms } from '../../../../engine/rows.ts';
import { isStopword } from './stopwords.ts';
import { bigrams, terms } from './terms.ts';

/** One word of the question with everything that may stand for it. */
export interface QueryTerm {
  readonly term: string;
  readonly alternatives: readonly Alternative[];
}

/** What may stand for a word of the question. */
export interface Alternative {
  /** All of them together. */
  readonly terms: readonly string[];
  /** What it counts beside the word itself, 0 to 1. */
  readonly weight: number;
  /** It is of the list for everybody: it must not bury passages with the question's own words. */
  readonly isGeneral: boolean;
}

/** Of how many passages how many hold a term. */
export interface Frequencies {
  readonly passages: number;
  of(term: string): number;
}

export interface PassageScore {
  /** How much of the question it covers, 0 to 1. */
  readonly coverage: number;
  readonly score: number;
}

/** What a word that only carries the question weighs; one of its matter has about 1 to 8. */
const stopwordWeight = 0.1;
/** What a word found only in pieces counts beside the word itself. */
const bigramWeight = 0.8;
/** Fewer passages are taken for so many. */
const minCorpusSize = 100;

/** The terms by which passages are looked for. */
export interface SearchTerms {
  /** The question's own words of matter, with their pieces, what they were meant to be, and the owner's synonyms. */
  readonly own: readonly string[];
  /** Those of the general synonyms. */
  readonly general: readonly string[];
}

/** Every term that may stand for a word of the question's matter: what the index is asked for. */
export function getSearchTerms(slots: readonly QueryTerm[]): SearchTerms {
  const matter = slots.filter(({ term }) => !isStopword(term));
  const alternatives = matter.flatMap((slot) => slot.alternatives);
  const termsOf = (general: boolean): string[] =>
    alternatives.filter(({ isGeneral }) => isGeneral === general).flatMap((one) => one.terms);
  const own = new Set([...matter.flatMap(({ term }) => [term, ...bigrams(term)]), ...termsOf(false)]);
  return { own: [...own], general: [...new Set(termsOf(true))].filter((term) => !own.has(term)) };
}

/** Rarer terms weigh more; one that occurs nowhere weighs most, since the documents don't speak of it. */
function inverseFrequency({ passages, of }: Frequencies, term: string): number {
  const count = of(term);
  // With a handful of passages, one that holds a word says little about how rare the word is.
  const among = Math.max(passages, minCorpusSize);
  return Math.log(1 + (among - count + 0.5) / (count + 0.5));
}

/** Rarer than this a word is not for pieces of it: a slip of the finger would outweigh all the rest. */
const maxRarity = 6;
const stopwordRarity = 0.3;

/** How rare a word is in the documents, for its pieces: of a stretch with several terms the rarest counts. */
export function createRarity(frequencies: Frequencies): (word: string) => number {
  return (word) => {
    const rarities = terms(word).map((term) =>
      isStopword(term) ? stopwordRarity : Math.min(maxRarity, inverseFrequency(frequencies, term)),
    );
    return rarities.length === 0 ? stopwordRarity : Math.max(...rarities);
  };
}

/** How much a question says, and how much of that the documents know. */
export function measureQuestion(
  slots: readonly QueryTerm[],
  { of }: Frequencies,
): { readonly contentWords: number; readonly unknownShare: number } {
  const matter = slots.filter(({ term }) => !isStopword(term));
  const unknown = matter.filter(
    ({ term, alternatives }) =>
      of(term) === 0 && !alternatives.some((one) => one.terms.every((word) => of(word) > 0)),
  );
  return {
    contentWords: matter.length,
    unknownShare: matter.length === 0 ? 0 : unknown.length / matter.length,
  };
}

/** @returns how to judge a passage; null when nothing in the question says what it is about */
export function createRanker(
  slots: readonly QueryTerm[],
  frequencies: Frequencies,
): ((passage: PassageTerms) => PassageScore) | null {
  const weights = slots.map(({ term, alternatives }) => {
    if (isStopword(term)) return stopwordWeight;
    const ways = [[term], ...alternatives.map((one) => one.terms)].filter((all) =>
      all.every((one) => frequencies.of(one) > 0),
    );
    // Of words that must stand together the rarest counts, of ways to say it the most usual one.
    const rarities = ways.map((all) => Math.max(...all.map((one) => inverseFrequency(frequencies, one))));
    return rarities.length === 0 ? inverseFrequency(frequencies, term) : Math.min(...rarities);
  });
  const total = weights.reduce((sum, one) => sum + one, 0);
  if (total === 0 || slots.every(({ term }) => isStopword(term))) return null;
  const asked = new Set(
    slots.flatMap(({ term, alternatives }) => [
      term,
      ...bigrams(term),
      ...alternatives.flatMap((one) => one.terms),
    ]),
  );
  return (passage) => scorePassage(slots, weights, total, passage, asked);
}

function scorePassage(
  slots: readonly QueryTerm[],
  weights: readonly number[],
  total: number,
  { heading, text }: PassageTerms,
  asked: ReadonlySet<string>,
): PassageScore {
  const places = getPositions(text, asked);
  const headings = getPositions(heading, asked);
  const holds = (term: string): boolean => places.has(term) || headings.has(term);
  const length = 0.25 + (0.75 * text.length) / 120;
  let covered = 0;
  let score = 0;
  for (const [index, slot] of slots.entries()) {
    const weight = weights[index] ?? 0;
    const share = matchWeight(slot, holds);
    if (share === 0) continue;
    covered += weight * share;
    const ways = [[slot.term], ...slot.alternatives.map((one) => one.terms)];
    const most = (found: ReadonlyMap<string, readonly number[]>): number =>
      Math.max(...ways.map((all) => Math.min(...all.map((term) => found.get(term)?.length ?? 0))));
    const count = Math.max(most(places), 0.5);
    // In the title and in its own heading too: this passage is about it, not only its document.
    const inHeading = 0.6 * Math.min(2, most(headings));
    score += weight * share * ((count * 2.2) / (count + 1.2 * length) + inHeading);
  }
  const coverage = Math.min(1, covered / total);
  // A passage that speaks of everything asked for, side by side, before one that repeats a part of it.
  return { coverage, score: score * (0.3 + coverage) * (1 + 0.25 * proximity(slots, places)) };
}

function matchWeight({ term, alternatives }: QueryTerm, holds: (term: string) => boolean): number {
  if (holds(term)) return 1;
  const parts = bigrams(term);
  const inPieces = parts.length === 0 ? 0 : (bigramWeight * parts.filter(holds).length) / parts.length;
  return Math.max(inPieces, ...alternatives.filter((one) => one.terms.every(holds)).map((one) => one.weight));
}

/** Where each of the terms that are asked for stands. */
function getPositions(text: readonly string[], asked: ReadonlySet<string>): Map<string, number[]> {
  const places = new Map<string, number[]>();
  for (const [index, term] of text.entries()) {
    if (!asked.has(term)) continue;
    const known = places.get(term);
    if (known === undefined) places.set(term, [index]);
    else known.push(index);
  }
  return places;
}

/** The share of adjacent words of the question that are near each other in the text, in either order. */
function proximity(slots: readonly QueryTerm[], places: ReadonlyMap<string, readonly number[]>): number {
  const near = 4;
  const matter = slots.filter(({ term }) => !isStopword(term));
  let together = 0;
  for (const [index, { term }] of matter.entries()) {
    if (index === 0) continue;
    const mine = places.get(term) ?? [];
    const before = places.get(matter[index - 1]?.term ?? '') ?? [];
    if (mine.some((place) => before.some((other) => Math.abs(place - other) <= near))) together += 1;
  }
  return matter.length < 2 ? 0 : together / (matter.length - 1);
}
