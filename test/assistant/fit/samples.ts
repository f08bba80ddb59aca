// Questions as numbers: what the product measures of each candidate, with which are right. Also as if an article were
// missing, and as if the team had answered a topic's questions before. Fits nothing and prints nothing.
import {
  findCandidates,
  measureCandidates,
  replyPrefix,
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
  const found = await findCandidates(service, applicationId, question.ask, []);
  return { ...question, found };
}

/** Questions that the team answered before, by topic. */
export type Past = ReadonlyMap<string, readonly string[]>;

/** As what the documents are taken. */
export interface Circumstances {
  /** Topics without an article. */
  readonly missing?: ReadonlySet<string>;
  /** Questions that are kept with their topic's passage. */
  readonly past?: Past;
  /** Topics whose article is a kept reply, with the question that is its title. */
  readonly replies?: ReadonlyMap<string, string>;
  /** The same, of articles that an owner titled with a question. */
  readonly titled?: ReadonlyMap<string, string>;
  /** Vectors of passages: draws the likeness of one, higher by the mean for the right one. Left out: there are none. */
  readonly drawLikeness?: (isRight: boolean) => number;
}

/** Measures a question's candidates. */
export function sample(
  { found, topic, topicOf }: Asked,
  {
    missing = new Set(),
    past = new Map(),
    replies = new Map(),
    titled = new Map(),
    drawLikeness,
  }: Circumstances = {},
): Sample {
  if (found === null)
    return { candidates: [], right: new Set(), signals: { contentWords: 0, unknownShare: 0 } };
  const topics = new Map(
    found.candidates.map(({ candidate: { id }, candidate }) => [id, topicOf(candidate)]),
  );
  const candidates = found.candidates
    .filter(({ candidate: { id } }) => !missing.has(topics.get(id) ?? ''))
    .map(({ candidate }) => {
      const about = topics.get(candidate.id) ?? '';
      const questions = past.get(about) ?? [];
      const reply = replies.get(about);
      const title = reply ?? titled.get(about);
      const source = reply === undefined ? candidate.source : `${replyPrefix}${about}`;
      const article = title === undefined ? candidate : { ...candidate, title, heading: null };
      // The index has a kept question's words among those of the heading.
      const heading = title === undefined ? candidate.terms.heading : terms(title);
      return {
        questions,
        likeness: drawLikeness === undefined ? null : drawLikeness(topic !== null && about === topic),
        candidate: {
          ...article,
          source,
          terms: { text: candidate.terms.text, heading: [...heading, ...questions.flatMap(terms)] },
        },
      };
    });
  const measured = measureCandidates({ ...found, candidates });
  return {
    candidates: measured,
    right: new Set(measured.filter(({ candidate: { id } }) => topic !== null && topics.get(id) === topic)),
    signals: found.signals,
  };
}
