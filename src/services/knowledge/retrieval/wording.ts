// The words of a question as the documents of one application have them: cut as they are, spelt as they are, with what
// means the same. Asks the index through a view that is bound to the application; knows no SQL.
import { isFunctionWord } from './function-words.ts';
import { mayBeMisspelt, meantBy } from './misspelling.ts';
import type { Slot } from './ranking.ts';
import { recut, uncutRuns } from './recutting.ts';
import { slotsOf } from './synonyms.ts';

/** What an application's index knows of its words. */
export interface Vocabulary {
  /** In how many passages a term occurs. */
  count(term: string): Promise<number>;
  /** The terms that begin with a text. */
  beginning(text: string): Promise<readonly string[]>;
}

/** What a word counts that was probably meant, beside one that was typed. */
const misspeltShare = 0.9;

/**
 * @param typed terms of a question, in order
 * @param synonyms the application's lines as JSON; undefined: none
 * @returns each word once
 */
export async function wordingOf(typed: readonly string[], synonyms: string | undefined, vocabulary: Vocabulary): Promise<Slot[]> {
  const asked = [...new Set(await cutAsDocumentsAre(typed, vocabulary))];
  const slots: Slot[] = [];
  for (const slot of slotsOf(asked, synonyms)) slots.push(await speltAsDocumentsAre(slot, vocabulary));
  return slots;
}

async function cutAsDocumentsAre(typed: readonly string[], vocabulary: Vocabulary): Promise<readonly string[]> {
  const cut = [...typed];
  for (const { start, count } of uncutRuns(typed).toReversed()) {
    const run = typed.slice(start, start + count);
    if (!(await anyUnknown(run, vocabulary))) continue;
    const stretch = run.join('');
    const words = new Set<string>();
    for (const letter of new Set(stretch)) for (const word of await vocabulary.beginning(letter)) words.add(word);
    cut.splice(start, count, ...recut(stretch, words));
  }
  return cut;
}

async function anyUnknown(terms: readonly string[], vocabulary: Vocabulary): Promise<boolean> {
  for (const term of terms) if (!isFunctionWord(term) && (await vocabulary.count(term)) === 0) return true;
  return false;
}

/** A word that occurs nowhere, neither it nor a synonym, gets what it was probably meant to be. */
async function speltAsDocumentsAre(slot: Slot, vocabulary: Vocabulary): Promise<Slot> {
  const { term, alternatives } = slot;
  if (!mayBeMisspelt(term) || (await vocabulary.count(term)) > 0) return slot;
  for (const one of alternatives) if (!(await anyUnknown(one.terms, vocabulary))) return slot;
  const meant = meantBy(term, await vocabulary.beginning(term.slice(0, 1)));
  return { term, alternatives: [...alternatives, ...meant.map((one) => ({ terms: [one], share: misspeltShare }))] };
}
