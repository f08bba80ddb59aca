// Cutting anew what the platform's segmenter cut otherwise in a question than in the documents: in scripts that write
// without blanks, it depends on the characters around where it sees a word end. Pure; the known words are handed in.
import { isStopword } from './stopwords.ts';

/** Scripts that are cut by a dictionary of words of several letters; for Han and kana see `pieces`. */
const unspacedScript = /^[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+$/u;
/** UTF-16 units: shorter ones stand inside too many words. */
const minWordLength = 3;
const maxWordLength = 24;

/**
 * The stretches of neighbouring terms of such scripts.
 * @param terms of a question, in order
 */
export function findUnspacedRuns(
  terms: readonly string[],
): { readonly start: number; readonly count: number }[] {
  const runs: { start: number; count: number }[] = [];
  for (let start = 0; start < terms.length; start += 1) {
    let count = 0;
    while (unspacedScript.test(terms[start + count] ?? '')) count += 1;
    if (count > 0) runs.push({ start, count });
    start += count;
  }
  return runs;
}

/**
 * Cuts a stretch so that it holds the longest words that are known; what lies between them stays together.
 * @param vocabulary words of the documents
 */
export function resegment(stretch: string, vocabulary: ReadonlySet<string>): string[] {
  const words: string[] = [];
  let unknown = '';
  const end = (): void => {
    if (unknown !== '') words.push(unknown);
    unknown = '';
  };
  for (let at = 0; at < stretch.length;) {
    let length = Math.min(maxWordLength, stretch.length - at);
    while (length >= minWordLength && !isKnownWord(stretch.slice(at, at + length), vocabulary)) length -= 1;
    if (length < minWordLength) {
      unknown += stretch.charAt(at);
      at += 1;
      continue;
    }
    end();
    words.push(stretch.slice(at, at + length));
    at += length;
  }
  end();
  return words;
}

function isKnownWord(text: string, vocabulary: ReadonlySet<string>): boolean {
  return vocabulary.has(text) || isStopword(text);
}
