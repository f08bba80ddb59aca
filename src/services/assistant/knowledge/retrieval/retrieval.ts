// Retrieval: from a question to the passages of one application that speak about it,
// and how much of the question they cover. Reads only; writes no answer and judges no text.
import { setImmediate as yieldToLoop } from 'node:timers/promises';
import type { Confidence, FoundPassage } from '../../../../protocol/assistant.ts';
import { extractQuestions } from './question-extraction.ts';
import type { KnowledgeCandidate as Candidate, PassageTerms } from '../../../../engine/rows.ts';
import {
  createRanker,
  createRarity,
  getSearchTerms,
  measureQuestion,
  type Frequencies,
  type PassageScore,
  type QueryTerm,
  type SearchTerms,
} from './ranking.ts';
import {
  judgeConfidence,
  rankCandidates,
  thresholds,
  type QuestionSignals,
  type Ranked,
  type Signals,
} from './combination.ts';
import { compareNgrams, notAlike, type Likeness } from './ngrams.ts';
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

export { thresholds } from './combination.ts';

type Knowledge = ReadTx['repositories']['knowledge'];

const noLikeness: Likeness = {
  heading: notAlike,
  text: notAlike,
  both: notAlike,
  question: notAlike,
  pairs: 0,
};

/** The source of a reply that the team kept as a document begins with this. */
export const replyPrefix = 'reply:';

/** Words of a question beyond these ask for nothing more. */
const maxTerms = 40;
/** Passages that are looked up: so many by their headings, by all of them, and by the general synonyms. */
const maxCandidates = { headings: 60, texts: 100, synonyms: 20, vectors: 60 };
/**
 * So many of them are compared piece by piece, which takes most of the time of a question: the best by words. Among
 * look-alikes the right one is often far down in the index's own order.
 */
const maxCompared = 80;
/**
 * Occurrences of a question's words that the index goes through: what bounds the time of a question. Rare words come
 * first, for they tell look-alikes apart.
 */
const maxOccurrences = 6_000;
/** So many words are looked up however often they occur. */
const minSearched = 2;
/** Terms that are counted in one turn. */
const countedAtOnce = 8;

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
  const near = await findNearestRows(service, applicationId, question, maxCandidates.vectors);
  const find = async (text: string): Promise<Retrieved> => {
    const found = await findCandidates(service, applicationId, text, near);
    return found === null ? emptyResult : rankFound(found, most);
  };
  let best = await find(question);
  if (best.confidence.answer >= thresholds.answer) return best;
  for (const stretch of extractQuestions(question)) {
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

const emptyResult: Retrieved = { passages: [], coverage: 0, confidence: { answer: 0, choices: 0 } };

/** What a question found before anything is measured of it. */
export interface Found {
  readonly question: string;
  /** Its terms, with all that may stand for them. */
  readonly asked: ReadonlySet<string>;
  readonly signals: QuestionSignals;
  readonly judge: (passage: PassageTerms) => PassageScore;
  /** How rare a word of it is in the documents. */
  readonly rarityOf: (word: string) => number;
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

function rankFound(found: Found, most: number): Retrieved {
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

/** One look into the index, in a turn of its own. */
type Step = <T>(work: (knowledge: Knowledge) => Promise<T>) => Promise<T>;

/** What a question asks the index for. */
interface Query {
  readonly scope: number;
  readonly slots: readonly QueryTerm[];
  readonly frequencies: Frequencies;
  readonly search: SearchTerms;
}

/**
 * Looks up what may answer a question. Over many passages each step takes some milliseconds, so others get a turn in
 * between. What is removed between two steps may still be among the candidates, as if it were removed a moment later.
 * @param near rows by their vectors' nearness, nearest first
 * @returns null: nothing in it says what it is about, or the application has no knowledge
 */
export async function findCandidates(
  service: Service,
  applicationId: string,
  text: string,
  near: readonly NearRow[],
): Promise<Found | null> {
  const step: Step = async (work) => {
    await yieldToLoop();
    return service.engine.store.read(({ repositories: { knowledge } }) => work(knowledge));
  };
  const question = stripInvisible(text);
  const query = await createQuery(step, applicationId, question);
  const judge = query === null ? null : createRanker(query.slots, query.frequencies);
  if (query === null || judge === null) return null;
  const candidates = await keepBest(await lookUp(step, applicationId, query), judge);
  const likeness = new Map(near.map((one) => [one.row, one.likeness]));
  const nearest = await step((knowledge) =>
    Promise.all(
      [...likeness.keys()]
        .filter((row) => !candidates.has(row))
        .map((row) => knowledge.candidate(query.scope, applicationId, row)),
    ),
  );
  for (const one of nearest) if (one !== undefined) candidates.set(one.row, one);
  const documents = [...candidates.values()].map((one) => one.document_id);
  const kept = await step((knowledge) => knowledge.questions(documents));
  return {
    question,
    asked: new Set([...terms(question), ...query.search.own, ...query.search.general]),
    judge,
    rarityOf: createRarity(query.frequencies),
    signals: measureQuestion(query.slots, query.frequencies),
    candidates: [...candidates.values()].map((candidate) => ({
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

/** @returns null: the application has no knowledge */
async function createQuery(step: Step, applicationId: string, question: string): Promise<Query | null> {
  const known = await step(async (knowledge) => ({
    scope: await knowledge.scope(applicationId),
    synonyms: await knowledge.synonyms(applicationId),
    passages: await knowledge.passagesOfApplication(applicationId),
  }));
  const { scope, synonyms, passages } = known;
  if (scope === undefined) return null;
  const vocabulary = createVocabulary(step, scope);
  const slots = await expandQuery(terms(question).slice(0, maxTerms), synonyms, vocabulary);
  const search = getSearchTerms(slots);
  const counts = await vocabulary.counts([...search.own, ...search.general]);
  return { scope, slots, search, frequencies: { passages, of: (term) => counts.get(term) ?? 0 } };
}

/** Passages by their headings and by all of them; by the general synonyms those that the question's own words leave room for. */
async function lookUp(
  step: Step,
  applicationId: string,
  { scope, search, frequencies }: Query,
): Promise<Map<number, Candidate>> {
  const found = new Map<number, Candidate>();
  const find = async (
    by: 'matching' | 'matchingHeadings',
    list: readonly string[],
    most: number,
  ): Promise<void> => {
    if (list.length === 0 || most <= 0) return;
    const rows = await step((knowledge) => knowledge[by](scope, applicationId, list, most));
    for (const one of rows) found.set(one.row, one);
  };
  // Headings are short: also words that are common in texts find few of them.
  await find('matchingHeadings', search.own.filter(occurs(frequencies)), maxCandidates.headings);
  await find('matching', takeRarest(frequencies, search.own), maxCandidates.texts);
  const synonyms = takeRarest(frequencies, search.general);
  await find('matchingHeadings', synonyms, maxCandidates.synonyms);
  await find('matching', synonyms, maxCandidates.texts - found.size);
  return found;
}

/** The candidates that fit best by their words, as many as are compared; a turn of its own where there are more. */
async function keepBest(
  found: ReadonlyMap<number, Candidate>,
  judge: Found['judge'],
): Promise<Map<number, Candidate>> {
  if (found.size <= maxCompared) return new Map(found);
  await yieldToLoop();
  const judged = [...found].map(([row, candidate]) => ({
    row,
    candidate,
    score: judge(candidate.terms).score,
  }));
  const best = judged.toSorted((one, other) => other.score - one.score).slice(0, maxCompared);
  return new Map(best.map(({ row, candidate }) => [row, candidate]));
}

/** Measures how well each candidate fits. */
export function measureCandidates({
  question,
  asked,
  judge,
  rarityOf,
  candidates,
}: Found): MeasuredCandidate[] {
  const alike = compareNgrams(
    question,
    candidates.map(({ candidate: { title, heading, text }, questions }) => ({
      heading: `${title} ${heading ?? ''}`,
      text,
      questions,
    })),
    rarityOf,
  );
  const nearness = standardize(candidates.map(({ likeness }) => likeness));
  return candidates.map(({ candidate, questions }, at) => ({
    candidate,
    words: judge(candidate.terms),
    likeness: alike[at] ?? noLikeness,
    headingShare: shareOfHeading(candidate, questions, asked),
    nearness: nearness[at] ?? null,
    isReply: candidate.source.startsWith(replyPrefix),
  }));
}

/** The share of a passage's own heading, or of a question kept with it, that stands in a question, in its own or in other words. */
function shareOfHeading(
  { title, heading }: Candidate,
  questions: readonly string[],
  asked: ReadonlySet<string>,
): number {
  const shares = [heading?.split(headingSeparator).at(-1) ?? title, ...questions].map((text) => {
    const own = [...new Set(terms(text))].filter((term) => !isStopword(term));
    return own.length === 0 ? 0 : own.filter((term) => asked.has(term)).length / own.length;
  });
  return Math.max(...shares);
}

/** Models spread their cosines differently: what counts is how far one stands above the others. */
function standardize(values: readonly (number | null)[]): (number | null)[] {
  const known = values.filter((value) => value !== null);
  const mean = known.reduce((sum, one) => sum + one, 0) / known.length;
  const deviation = Math.sqrt(known.reduce((sum, one) => sum + (one - mean) ** 2, 0) / known.length);
  if (known.length === 0 || deviation === 0) return values.map(() => null);
  // One without a vector is as one of the farthest.
  const least = Math.min(...known);
  return values.map((value) => ((value ?? least) - mean) / deviation);
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
function createVocabulary(step: Step, scope: number): Vocabulary {
  const known = new Map<string, number>();
  const counts = async (terms: Iterable<string>): Promise<ReadonlyMap<string, number>> => {
    const asked = [...new Set(terms)];
    const unknown = asked.filter((term) => !known.has(term));
    for (let start = 0; start < unknown.length; start += countedAtOnce) {
      const some = unknown.slice(start, start + countedAtOnce);
      const found = await step((knowledge) => knowledge.counts(scope, some));
      for (const term of some) known.set(term, found.get(term) ?? 0);
    }
    return new Map(asked.map((term) => [term, known.get(term) ?? 0]));
  };
  return {
    counts,
    count: async (term) => (await counts([term])).get(term) ?? 0,
    withPrefix: (text) => step((knowledge) => knowledge.vocabulary(scope, text)),
  };
}

const occurs =
  ({ of }: Frequencies) =>
  (term: string): boolean =>
    of(term) > 0;

/** The rarest of the terms that occur, as many as are looked up. */
function takeRarest(frequencies: Frequencies, list: readonly string[]): readonly string[] {
  let occurrences = 0;
  return list
    .filter(occurs(frequencies))
    .toSorted((one, other) => frequencies.of(one) - frequencies.of(other))
    .filter((term, index) => {
      occurrences += frequencies.of(term);
      return index < minSearched || occurrences <= maxOccurrences;
    });
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
