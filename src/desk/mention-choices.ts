// Whom a note may name at the caret. Loaded with the first `@`: most of what is written names no colleague. Pure.
import { fittingNames, mentionQuery, type Nameable } from '../text/mentions.ts';
import type { ComposerState } from './composer.ts';

/** Who may be named in a note at the caret, and where their name begins; null: no name is being typed. */
export interface MentionChoices {
  /** Where the `@` stands. */
  readonly start: number;
  readonly people: readonly Nameable[];
}

const mostNames = 8;

/** The colleagues whose name is being typed behind an `@` of a note. */
export function mentionChoices(
  composer: Pick<ComposerState, 'note' | 'buffer'>,
  colleagues: readonly Nameable[] | null,
): MentionChoices | null {
  if (!composer.note) return null;
  const query = mentionQuery(composer.buffer.text.slice(0, composer.buffer.caret));
  if (query === null) return null;
  const people = fittingNames(query.typed, colleagues ?? []);
  // A name that is there in full is chosen already.
  const isWhole = people.some(({ name }) => name.toLowerCase() === query.typed.trimEnd().toLowerCase());
  return people.length === 0 || isWhole ? null : { start: query.start, people: people.slice(0, mostNames) };
}
