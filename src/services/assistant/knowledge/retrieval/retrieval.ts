// Retrieval: from a question to the passages of one application that speak about it,
// and how much of the question they cover. Reads only; writes no answer and judges no text.
import { setImmediate as yieldToLoop } from 'node:timers/promises';
import type { Confidence, FoundPassage } from '../../../../protocol/assistant.ts';
import { extractQuestions } from './question-extraction.ts';
import type { KnowledgeCandidate as Candidate, PassageTerms } from '../../../../engine/rows.ts';
import {
  createRanker,
  getSearchTerms,
  measureQuestion,
  type PassageScore,
  type Frequencies,
} from './ranking.ts';
import {
  judgeConfidence,
  rankCandidates,
  type QuestionSignals,
  type Ranked,
  type Signals,
} from './combination.ts';
import { compareNgrams, type Likeness } from './ngrams.ts';
import { stripInvisible } from '../../../../text/strip-invisible.ts';
import { headingSeparator } from '../chunking/blocks.ts';
import { isStopword } from './stopwords.ts';
import type { ReadTx, Service } from '../../../service.ts';
import { terms } from './terms.ts';
import { findNearestRows, type NearRow } from '../vectors.ts';
import { expandQuery, type Vocabulary } from './query-expansion.ts';

export interface Retrieved {
  /** Best first. `text` is plain text, with "- " before the items of lists and empty lines between paragraphs. */
  readonly passages: readonly FoundPassage[];
  /** The most of the question that one of them covers, 0 to 1. */
  readonly coverage: number;
  readonly confidence: Confidence;
}

/**
 * From these probabilities on a question is answered, or else the titles of the best passages are offered. Chosen on
 * training questions so that few answers are wrong: a visitor acts on a wrong one, where a choice asks back.
 */
export const thresholds: Confidence = { answer: 0.66, choices: 0.28 };

const noLikeness: Likeness = { heading: 0, text: 0, both: 0, question: 0 };

/** Words of a question beyond these ask for nothing more. */
const maxTerms = 40;
/** Passages that are looked at closely. */
const maxCandidates = 60;
/** A term in more than this share of the passages finds none of them: rarer ones do, where there are any. */
const commonTermRatio = 0.15;
/** Below this many passages every term may find. */
const smallCorpusSize = 400;

/**
 * The passages of an application that fit a question best, and how sure it is that they answer it.
 *
 * The application is a part of every query: its number begins each indexed word, and its id is held against each row.
 * A message that tells a story is understood by what it asks: its questions are looked for by themselves, too, and the
 * surest result counts. Nothing typed is syntax of the index.
 * @param question as typed
 * @param most passages to answer
 */
export async function retrieve(
  service: Service,
  applicationId: string,
  question: string,
  most: number,
): Promise<Retrieved> {
  const near = await findNearestRows(service, applicationId, question, maxCandidates);
  const find = (text: string): Promise<Retrieved> =>
    service.engine.store.read(async (tx) => {
      const index = await openIndex(tx, applicationId);
      return index === null ? emptyResult : retrieveFrom(index, text, near, most);
    });
  let best = await find(question);
  if (best.confidence.answer >= thresholds.answer) return best;
  for (const stretch of extractQuestions(question)) {
    // Over many passages each takes some ten milliseconds: others get a turn in between.
    await yieldToLoop();
    const found = await find(stretch);
    if (isSurer(found.confidence, best.confidence)) best = found;
  }
  return best;
}

/** An answer counts more than a choice, and a choice more than neither. */
export function isSurer(one: Confidence, other: Confidence): boolean {
  return one.answer >= thresholds.answer || other.answer >= thresholds.answer
    ? one.answer > other.answer
    : one.choices > other.choices;
}

/** One application's part of the index, in one snapshot. */
interface Index {
  readonly knowledge: ReadTx['repositories']['knowledge'];
  readonly applicationId: string;
  readonly scope: number;
  readonly vocabulary: Vocabulary;
  readonly synonyms: string | undefined;
  readonly passages: number;
}

/** @returns null: the application has no knowledge */
export async function openIndex(
  { repositories: { knowledge } }: ReadTx,
  applicationId: string,
): Promise<Index | null> {
  const scope = await knowledge.scope(applicationId);
  if (scope === undefined) return null;
  return {
    knowledge,
    applicationId,
    scope,
    vocabulary: createVocabulary(knowledge, scope),
    synonyms: await knowledge.synonyms(applicationId),
    passages: await knowledge.passagesOfApplication(applicationId),
  };
}

const emptyResult: Retrieved = { passages: [], coverage: 0, confidence: { answer: 0, choices: 0 } };

/** What a question found before anything is measured of it. */
export interface Found {
  readonly question: string;
  readonly signals: QuestionSignals;
  readonly judge: (passage: PassageTerms) => PassageScore;
  readonly candidates: readonly FoundCandidate[];
}

interface FoundCandidate {
  readonly candidate: Candidate;
  /** Questions that were kept with it. */
  readonly questions: readonly string[];
  readonly likeness: number | null;
}

/** A candidate with what was measured of it. */
export interface MeasuredCandidate extends Signals {
  readonly candidate: Candidate;
}

async function retrieveFrom(
  index: Index,
  text: string,
  near: readonly NearRow[],
  most: number,
): Promise<Retrieved> {
  const found = await findCandidates(index, text, near);
  if (found === null) return emptyResult;
  const ranked = rankCandidates(measureCandidates(found));
  const passages = deduplicate(ranked)
    .slice(0, most)
    .map(({ candidate: { candidate, words }, score }) => serializePassage(candidate, words.coverage, score));
  return {
    passages,
    coverage: Math.max(0, ...passages.map((one) => one.coverage)),
    confidence: judgeConfidence(ranked, found.signals),
  };
}

/**
 * Looks up what may answer a question.
 * @param near rows by their vectors' nearness, nearest first
 * @returns null: nothing in it says what it is about
 */
export async function findCandidates(
  { knowledge, applicationId, scope, vocabulary, synonyms, passages: all }: Index,
  text: string,
  near: readonly NearRow[],
): Promise<Found | null> {
  const question = stripInvisible(text);
  const typed = terms(question).slice(0, maxTerms);
  const slots = await expandQuery(typed, synonyms, vocabulary);
  const counts = await vocabulary.counts(getSearchTerms(slots));
  const frequencies: Frequencies = { passages: all, of: (term) => counts.get(term) ?? 0 };
  const judge = createRanker(slots, frequencies);
  if (judge === null) return null;
  const rows = new Map<number, Candidate>();
  const finding = selectiveTerms(frequencies, [...counts.keys()]);
  if (finding.length > 0)
    for (const one of await knowledge.matching(scope, applicationId, finding, maxCandidates))
      rows.set(one.row, one);
  const likeness = new Map(near.map((one) => [one.row, one.likeness]));
  for (const row of likeness.keys()) {
    const one = rows.has(row) ? undefined : await knowledge.candidate(scope, applicationId, row);
    if (one !== undefined) rows.set(row, one);
  }
  const kept = await knowledge.questions([...rows.values()].map((one) => one.document_id));
  return {
    question,
    judge,
    signals: measureQuestion(slots, frequencies),
    candidates: [...rows.values()].map((candidate) => ({
      candidate,
      questions: kept
        .filter(
          ({ document_id, heading }) =>
            document_id === candidate.document_id && heading === candidate.heading,
        )
        .map((one) => one.question),
      likeness: likeness.get(candidate.row) ?? null,
    })),
  };
}

/** Measures how well each candidate fits. */
export function measureCandidates({ question, judge, candidates }: Found): MeasuredCandidate[] {
  const alike = compareNgrams(
    question,
    candidates.map(({ candidate: { title, heading, text }, questions }) => ({
      heading: `${title} ${heading ?? ''}`,
      text,
      questions,
    })),
  );
  const asked = new Set(terms(question));
  const nearness = standardize(candidates.map(({ likeness }) => likeness));
  return candidates.map(({ candidate }, at) => ({
    candidate,
    words: judge(candidate.terms),
    likeness: alike[at] ?? noLikeness,
    headingShare: shareOfHeading(candidate, asked),
    nearness: nearness[at] ?? 0,
  }));
}

/** The share of a passage's own heading, or of the title where it has none, that stands in a question. */
function shareOfHeading({ title, heading }: Candidate, asked: ReadonlySet<string>): number {
  const own = [...new Set(terms(heading?.split(headingSeparator).at(-1) ?? title))].filter(
    (term) => !isStopword(term),
  );
  return own.length === 0 ? 0 : own.filter((term) => asked.has(term)).length / own.length;
}

/** Models spread their cosines differently: what counts is how far one stands above the others. */
function standardize(values: readonly (number | null)[]): number[] {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return values.map(() => 0);
  const mean = known.reduce((sum, one) => sum + one, 0) / known.length;
  const deviation = Math.sqrt(known.reduce((sum, one) => sum + (one - mean) ** 2, 0) / known.length);
  // One without a vector is as one of the farthest.
  const least = Math.min(...known);
  return values.map((value) => (deviation === 0 ? 0 : ((value ?? least) - mean) / deviation));
}

/** One passage of an application by its id; null: there is none, as after its document changed. */
export function findPassage(
  service: Service,
  applicationId: string,
  passageId: string,
): Promise<FoundPassage | null> {
  return service.engine.store.read(async ({ repositories: { knowledge } }) => {
    const row = await knowledge.rowOf(applicationId, passageId);
    const scope = await knowledge.scope(applicationId);
    const candidate =
      row === undefined || scope === undefined
        ? undefined
        : await knowledge.candidate(scope, applicationId, row);
    return candidate === undefined ? null : serializePassage(candidate, 1, 0);
  });
}

/** What the index knows of an application's words; each is counted once. */
function createVocabulary(knowledge: ReadTx['repositories']['knowledge'], scope: number): Vocabulary {
  const known = new Map<string, number>();
  const counts = async (terms: Iterable<string>): Promise<ReadonlyMap<string, number>> => {
    const asked = [...new Set(terms)];
    const unknown = asked.filter((term) => !known.has(term));
    const found = unknown.length === 0 ? null : await knowledge.counts(scope, unknown);
    for (const term of unknown) known.set(term, found?.get(term) ?? 0);
    return new Map(asked.map((term) => [term, known.get(term) ?? 0]));
  };
  return {
    counts,
    count: async (term) => (await counts([term])).get(term) ?? 0,
    withPrefix: (text) => knowledge.vocabulary(scope, text),
  };
}

/** The terms that are worth looking up: no common ones, or the rarest where all are common. */
function selectiveTerms({ passages, of }: Frequencies, list: readonly string[]): readonly string[] {
  const occurring = list.filter((term) => of(term) > 0);
  if (passages <= smallCorpusSize) return occurring;
  const rare = occurring.filter((term) => of(term) <= passages * commonTermRatio);
  return rare.length > 0 ? rare : occurring.toSorted((a, b) => of(a) - of(b)).slice(0, 2);
}

/** The same text from two documents is one passage: the better one. */
function deduplicate(ranked: readonly Ranked<MeasuredCandidate>[]): readonly Ranked<MeasuredCandidate>[] {
  const seen = new Set<string>();
  return ranked.filter(({ candidate: { candidate } }) => {
    const { heading, text } = candidate;
    const key = `${heading ?? ''}\n${text}`;
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}

function serializePassage(
  { id, document_id, title, heading, url, anchor, text }: Candidate,
  coverage: number,
  score: number,
): FoundPassage {
  return {
    id,
    documentId: document_id,
    title,
    heading,
    url: url === null || anchor === null || url.includes('#') ? url : `${url}#${encodeURIComponent(anchor)}`,
    text,
    coverage: round(coverage),
    score: round(score),
  };
}

const round = (value: number): number => Math.round(value * 10_000) / 10_000;
