// Retrieval: from a question to the passages of one application that speak about it,
// and how much of the question they cover. Reads only; answers nobody and judges no text.
import type { FoundPassage } from '../../../../protocol/assistant.ts';
import { extractQuestions } from './question-extraction.ts';
import type { KnowledgeCandidate as Candidate } from '../../../../engine/rows.ts';
import { createRanker, getSearchTerms, type PassageScore, type Frequencies } from './ranking.ts';
import type { ReadTx, Service } from '../../../service.ts';
import { terms } from './terms.ts';
import { findNearestRows } from '../vectors.ts';
import { expandQuery, type Vocabulary } from './query-expansion.ts';

export interface Retrieved {
  /** Best first. `text` is plain text, with "- " before the items of lists and empty lines between paragraphs. */
  readonly passages: readonly FoundPassage[];
  /** The most of the question that one passage covers, 0 to 1. */
  readonly coverage: number;
  readonly threshold: number;
}

/**
 * From this coverage on the documents speak about a question; below it is refused. Chosen by `npm run evaluate` on one
 * half of its questions, a wrong answer counting as four right ones: of 93 questions with an answer and 62 without,
 * 0.50 answers 83 rightly and 7 wrongly, 0.60 77 and 6, 0.71 71 and 3, 0.80 62 and 2. On the other half, on which
 * nothing was chosen, it answers 67 of 91 rightly, refuses 58 of 60 rightly, and answers 2 wrongly.
 */
export const coverageThreshold = 0.71;

/** Words of a question beyond these ask for nothing more. */
const maxTerms = 40;
/** Passages that are looked at closely. */
const maxCandidates = 60;
/** A term in more than this share of the passages finds none of them: rarer ones do, where there are any. */
const commonTermRatio = 0.15;
/** Below this many passages every term may find. */
const smallCorpusSize = 400;

/**
 * The passages of an application that fit a question best.
 *
 * The application is a part of every query: its number begins each indexed word, and its id is held against each row.
 * A message that tells a story finds nothing as a whole; then what it asks is looked for by itself.
 * Nothing typed is syntax of the index. With vectors, ranks by words and by vectors are fused, but coverage stays one
 * of words: nearness in a vector space has no zero, so it can never say by itself that documents speak about something.
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
  return service.engine.store.read(async ({ repositories: { knowledge } }) => {
    const scope = await knowledge.scope(applicationId);
    if (scope === undefined) return emptyResult;
    const index: Index = {
      knowledge,
      applicationId,
      scope,
      vocabulary: createVocabulary(knowledge, scope),
      synonyms: await knowledge.synonyms(applicationId),
      passages: await knowledge.passagesOfApplication(applicationId),
    };
    let best = await retrieveFrom(index, question, near, most);
    if (best.coverage >= best.threshold) return best;
    for (const stretch of extractQuestions(question)) {
      const found = await retrieveFrom(index, stretch, near, most);
      if (found.coverage > best.coverage) best = found;
    }
    return best;
  });
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

const emptyResult: Retrieved = { passages: [], coverage: 0, threshold: coverageThreshold };

/** @param near rows by their vectors' nearness, nearest first */
async function retrieveFrom(
  { knowledge, applicationId, scope, vocabulary, synonyms, passages: all }: Index,
  text: string,
  near: readonly number[],
  most: number,
): Promise<Retrieved> {
  const typed = terms(text).slice(0, maxTerms);
  if (typed.length === 0) return emptyResult;
  const slots = await expandQuery(typed, synonyms, vocabulary);
  const counts = await vocabulary.counts(getSearchTerms(slots));
  const frequencies: Frequencies = { passages: all, of: (term) => counts.get(term) ?? 0 };
  const judge = createRanker(slots, frequencies);
  if (judge === null) return emptyResult;
  const candidates = new Map<number, Candidate>();
  const finding = selectiveTerms(frequencies, [...counts.keys()]);
  if (finding.length > 0)
    for (const one of await knowledge.matching(scope, applicationId, finding, maxCandidates))
      candidates.set(one.row, one);
  for (const row of near) {
    const one = candidates.has(row) ? undefined : await knowledge.candidate(scope, applicationId, row);
    if (one !== undefined) candidates.set(row, one);
  }
  const judged = [...candidates.values()]
    .map((candidate) => ({ candidate, fit: judge(candidate.terms) }))
    .toSorted((a, b) => b.fit.score - a.fit.score || a.candidate.row - b.candidate.row);
  const ranked = near.length === 0 ? judged : fuseRankings(judged, near);
  const passages = deduplicate(ranked)
    .slice(0, most)
    .map(({ candidate, fit }) => serializePassage(candidate, fit));
  return {
    passages,
    coverage: Math.max(0, ...passages.map((one) => one.coverage)),
    threshold: coverageThreshold,
  };
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
function deduplicate(ranked: readonly ScoredCandidate[]): readonly ScoredCandidate[] {
  const seen = new Set<string>();
  return ranked.filter(({ candidate: { heading, text } }) => {
    const key = `${heading ?? ''}\n${text}`;
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew;
  });
}

interface ScoredCandidate {
  readonly candidate: Candidate;
  readonly fit: PassageScore;
}

/** Reciprocal rank fusion (Cormack, Clarke, Büttcher 2009): what both ways rank high comes first. */
function fuseRankings(judged: readonly ScoredCandidate[], near: readonly number[]): ScoredCandidate[] {
  const byWords = new Map(
    judged.map(({ candidate, fit }, rank) => [candidate.row, fit.score > 0 ? 1 / (60 + rank) : 0]),
  );
  const byVector = new Map(near.map((row, rank) => [row, 1 / (60 + rank)]));
  return judged
    .map(({ candidate, fit }) => ({
      candidate,
      fit: { ...fit, score: (byWords.get(candidate.row) ?? 0) + (byVector.get(candidate.row) ?? 0) },
    }))
    .toSorted((a, b) => b.fit.score - a.fit.score);
}

function serializePassage(
  { id, document_id, title, heading, url, anchor, text }: Candidate,
  { coverage, score }: PassageScore,
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
