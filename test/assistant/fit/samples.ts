// Questions as numbers: what the product measures of each candidate, with which are right. Also as if an article were
// missing, and as if the team had answered a topic's questions before. Fits nothing and prints nothing.
import {
  findCandidates,
  measureCandidates,
  openIndex,
  type Found,
  type MeasuredCandidate,
} from '../../../src/services/assistant/knowledge/retrieval/retrieval.ts';
import { terms } from '../../../src/services/assistant/knowledge/retrieval/terms.ts';
import type { QuestionSignals } from '../../../src/services/assistant/knowledge/retrieval/combination.ts';
import type { Service } from '../../../src/services/service.ts';

type Candidate = MeasuredCandidate['candidate'];

/** A question with what it found. */
export interface Asked {
  readonly ask: string;
  /** Where the question is from: a file of the folder, or the project's own set. */
  readonly group: string;
  readonly topic: string | null;
  readonly found: Found | null;
  topicOf(candidate: Candidate): string | undefined;
}

/** A question as numbers. */
export interface Sample {
  readonly candidates: readonly MeasuredCandidate[];
  readonly right: ReadonlySet<MeasuredCandidate>;
  readonly signals: QuestionSignals;
}

/** Looks a question up, as the product does it. */
export async function askFolder(
  service: Service,
  applicationId: string,
  question: Pick<Asked, 'ask' | 'group' | 'topic' | 'topicOf'>,
): Promise<Asked> {
  const found = await service.engine.store.read(async (tx) => {
    const index = await openIndex(tx, applicationId);
    return index === null ? null : findCandidates(index, question.ask, []);
  });
  return { ...question, found };
}

/** Questions that the team answered before, by topic. */
export type Past = ReadonlyMap<string, readonly string[]>;

/**
 * @param missing topics without an article
 * @param past questions that are kept with their topic's passage
 */
export function sample(
  { found, topic, topicOf }: Asked,
  missing: ReadonlySet<string> = new Set(),
  past: Past = new Map(),
): Sample {
  if (found === null)
    return { candidates: [], right: new Set(), signals: { contentWords: 0, unknownShare: 0 } };
  const candidates = found.candidates
    .filter(({ candidate }) => !missing.has(topicOf(candidate) ?? ''))
    .map((one) => {
      const questions = past.get(topicOf(one.candidate) ?? '') ?? [];
      // The index has a kept question's words among those of the heading.
      const heading = [...one.candidate.terms.heading, ...questions.flatMap(terms)];
      return {
        questions,
        likeness: null,
        candidate: { ...one.candidate, terms: { ...one.candidate.terms, heading } },
      };
    });
  const measured = measureCandidates({ ...found, candidates });
  return {
    candidates: measured,
    right: new Set(measured.filter(({ candidate }) => topic !== null && topicOf(candidate) === topic)),
    signals: found.signals,
  };
}
