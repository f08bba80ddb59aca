// Synonyms: lines of words that mean the same, an application's own and those for
// everybody, as they widen a question. Changes no document; knowledge.ts stores the lines.
import { synonyms, type Synonyms } from '../../../../protocol/assistant.ts';
import { generalSynonyms } from './general-synonyms.ts';
import type { Alternative, QueryTerm } from './ranking.ts';
import { terms } from './terms.ts';

/** Lines as terms, by the first term of each of their words. */
type Lines = ReadonlyMap<
  string,
  readonly { readonly phrase: readonly string[]; readonly line: readonly (readonly string[])[] }[]
>;

// Cutting five hundred lines into terms takes longer than the search itself, so the last few lists are kept.
const cache = new Map<string, Lines>();
const maxCached = 100;
let general: Lines | undefined;

/** What a synonym counts beside the word itself: the owner knows the documents, the general list does not. */
const ownWeight = 0.9;
const generalWeight = 0.8;

/**
 * The words of a question, each with what may stand for it. A phrase of several words gives its synonyms to all of them.
 * @param asked terms of the question, in order
 * @param stored the lines as JSON; undefined: none
 */
export function toQueryTerms(asked: readonly string[], stored: string | undefined): QueryTerm[] {
  const alternatives = asked.map((): Alternative[] => []);
  const widen = (lines: Lines, weight: number, isGeneral: boolean): void => {
    for (const [start, term] of asked.entries()) {
      for (const { phrase, line } of lines.get(term) ?? []) {
        if (!phrase.every((word, offset) => asked[start + offset] === word)) continue;
        const others = line
          .filter((one) => one !== phrase)
          .map((words) => ({ terms: words, weight, isGeneral }));
        for (let offset = 0; offset < phrase.length; offset += 1)
          alternatives[start + offset]?.push(...others);
      }
    }
  };
  if (stored !== undefined) widen(getCachedLines(stored), ownWeight, false);
  widen((general ??= indexLines(generalSynonyms)), generalWeight, true);
  return asked.map((term, index) => ({ term, alternatives: alternatives[index] ?? [] }));
}

/** The lines as they were stored; none where they are not what they should be, as an import may bring them. */
export function parseSynonyms(stored: string | undefined): Synonyms {
  if (stored === undefined) return [];
  try {
    return synonyms.parse(JSON.parse(stored));
  } catch {
    return [];
  }
}

function getCachedLines(stored: string): Lines {
  const known = cache.get(stored);
  if (known !== undefined) return known;
  const lines = indexLines(parseSynonyms(stored));
  const [oldest] = cache.keys();
  if (oldest !== undefined && cache.size >= maxCached) cache.delete(oldest);
  cache.set(stored, lines);
  return lines;
}

function indexLines(synonyms: Synonyms): Lines {
  const lines = new Map<string, { phrase: readonly string[]; line: readonly (readonly string[])[] }[]>();
  for (const words of synonyms) {
    const line = words.map(terms).filter((phrase) => phrase.length > 0);
    for (const phrase of line) {
      const first = phrase[0] ?? '';
      const entries = lines.get(first) ?? [];
      entries.push({ phrase, line });
      lines.set(first, entries);
    }
  }
  return lines;
}
