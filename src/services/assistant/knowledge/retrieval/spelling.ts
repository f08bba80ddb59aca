// Slips of the finger: which of the words that documents have was probably meant by one
// that they don't have. Pure; where the words come from is retrieval.ts's affair.
import { isStopword } from './stopwords.ts';

/** Shorter words have too many words near them; from `long` on two slips are forgiven. Characters of a stem. */
const minLength = 5;
const twoErrorsLength = 8;
const maxCorrections = 3;

/** Letters of scripts that spell: in others a neighbouring sign is another word. */
const alphabeticScript = /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]+$/u;

/** Whether it is worth looking for what a term that occurs nowhere was meant to be. */
export function isCorrectable(term: string): boolean {
  return term.length >= minLength && alphabeticScript.test(term) && !isStopword(term);
}

/**
 * @param known terms of the documents with the same first letter, which hardly anybody gets wrong
 * @returns those that are fewest slips away, at most three; none when all are too far
 */
export function findCorrections(term: string, known: readonly string[]): string[] {
  let least = term.length >= twoErrorsLength ? 2 : 1;
  let meant: string[] = [];
  for (const one of known) {
    if (Math.abs(one.length - term.length) > least || one.length < minLength) continue;
    const slips = editDistance(term, one, least);
    if (slips > least) continue;
    if (slips < least) meant = [];
    least = slips;
    meant.push(one);
  }
  return meant.slice(0, maxCorrections);
}

/**
 * Letters missed, added, mistaken or swapped with the next (optimal string alignment, after Damerau).
 * @returns the number of slips; any number above `most` when there are more
 */
function editDistance(one: string, other: string, most: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const same = one[row - 1] === other[column - 1];
      let slips = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1])
        slips = Math.min(slips, (beforeLast[column - 2] ?? 0) + 1);
      current.push(slips);
    }
    if (Math.min(...current) > most) return most + 1;
    beforeLast = last;
    last = current;
  }
  return last[other.length] ?? most + 1;
}
