// The words of a question as the documents of one application have them: cut as they are, spelt as they are, with what
// means the same. Asks the index through a view that is bound to the application; knows no SQL.
import { isStopword } from './stopwords.ts';
import { isCorrectable, findCorrections } from './spelling.ts';
import type { QueryTerm } from './ranking.ts';
import { resegment, findUnspacedRuns } from './resegmentation.ts';
import { toQueryTerms } from './synonyms.ts';

/** What an application's index knows of its words. */
export interface Vocabulary {
  /** In how many passages a term occurs. */
  count(term: string): Promise<number>;
  /** The same for several at once. */
  counts(terms: Iterable<string>): Promise<ReadonlyMap<string, number>>;
  /** The terms that begin with a text. */
  withPrefix(text: string): Promise<readonly string[]>;
}

/** What a word counts that was probably meant, beside one that was typed. */
const correctionWeight = 0.9;

/**
 * @param typed terms of a question, in order
 * @param synonyms the application's lines as JSON; undefined: none
 * @returns each word once
 */
export async function expandQuery(
  typed: readonly string[],
  synonyms: string | undefined,
  vocabulary: Vocabulary,
): Promise<QueryTerm[]> {
  const asked = [...new Set(await resegmentRuns(typed, vocabulary))];
  const slots: QueryTerm[] = [];
  for (const slot of toQueryTerms(asked, synonyms)) slots.push(await addCorrections(slot, vocabulary));
  return slots;
}

async function resegmentRuns(typed: readonly string[], vocabulary: Vocabulary): Promise<readonly string[]> {
  const cut = [...typed];
  for (const { start, count } of findUnspacedRuns(typed).toReversed()) {
    const run = typed.slice(start, start + count);
    if (!(await hasUnknownTerm(run, vocabulary))) continue;
    const stretch = run.join('');
    const words = new Set<string>();
    for (const letter of new Set(stretch))
      for (const word of await vocabulary.withPrefix(letter)) words.add(word);
    cut.splice(start, count, ...resegment(stretch, words));
  }
  return cut;
}

async function hasUnknownTerm(terms: readonly string[], vocabulary: Vocabulary): Promise<boolean> {
  const counts = await vocabulary.counts(terms.filter((term) => !isStopword(term)));
  return [...counts.values()].includes(0);
}

/** A word that occurs nowhere, neither it nor a synonym, gets what it was probably meant to be. */
async function addCorrections(slot: QueryTerm, vocabulary: Vocabulary): Promise<QueryTerm> {
  const { term, alternatives } = slot;
  if (!isCorrectable(term) || (await vocabulary.count(term)) > 0) return slot;
  for (const one of alternatives) if (!(await hasUnknownTerm(one.terms, vocabulary))) return slot;
  const meant = findCorrections(term, await vocabulary.withPrefix(term.slice(0, 1)));
  return {
    term,
    alternatives: [
      ...alternatives,
      ...meant.map((one) => ({ terms: [one], weight: correctionWeight, isGeneral: false })),
    ],
  };
}
