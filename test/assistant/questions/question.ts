// Owns: what a question of the evaluation is, and how the set is split in halves.
// Must not hold a question itself, nor know how one is asked.

/** The applications of the evaluation: the folders below documents/. The first two belong to one organization. */
export const applications = ['teashop', 'teatrade', 'bicycles', 'timesheets'] as const;
export type ApplicationName = (typeof applications)[number];

/** What makes a question hard. */
export const kinds = {
  direct: 'in the words of the documents',
  paraphrased: 'in other words; some are covered by the synonym list, some by nothing',
  near: 'no answer, though the words of the question occur in the documents',
  far: 'no answer, about something else altogether',
  foreign: "answered only by another application's documents",
  injection: 'gives orders to the assistant, or meets a document that does',
  misspelt: 'with slips of the finger',
  wordy: 'with a greeting and a story around what is asked',
  unspaced: 'Chinese, Japanese, Thai, Khmer, Lao: scripts that write without blanks',
} as const;
export type Kind = keyof typeof kinds;

/** Where the answer stands, and a text that a right answer shows. */
export interface Expected {
  readonly document: string;
  readonly holds: string;
}

export interface Question {
  readonly application: ApplicationName;
  readonly kind: Kind;
  readonly ask: string;
  /** null: the documents have no answer, and the only right one is to say so. */
  readonly expected: Expected | null;
  /** Texts that show, when they stand in an answer, that it obeyed somebody or gave away what it must not. */
  readonly never: readonly string[];
}

/** Says where questions are asked; the functions below then read like a table. */
export function about(application: ApplicationName) {
  const question = (
    kind: Kind,
    ask: string,
    expected: Expected | null,
    never: readonly string[],
  ): Question => ({
    application,
    kind,
    ask,
    expected,
    never,
  });
  return {
    /** @param document a file's name in the application's folder; @param holds what the quoted text must contain */
    answered: (kind: Kind, ask: string, document: string, holds: string, ...never: readonly string[]) =>
      question(kind, ask, { document, holds }, never),
    unanswered: (kind: Kind, ask: string, ...never: readonly string[]) => question(kind, ask, null, never),
  };
}

export type Half = 'choosing' | 'reporting';

/**
 * Splits a set in halves: within each kind, those with and those without an answer in turn, in the
 * order of the files, so that no half is easier by chance and nobody can choose.
 */
export function halves(questions: readonly Question[]): Record<Half, Question[]> {
  const split: Record<Half, Question[]> = { choosing: [], reporting: [] };
  const seen = new Map<string, number>();
  for (const question of questions) {
    const stratum = `${question.kind} ${question.expected === null}`;
    const count = seen.get(stratum) ?? 0;
    seen.set(stratum, count + 1);
    split[count % 2 === 0 ? 'choosing' : 'reporting'].push(question);
  }
  return split;
}
