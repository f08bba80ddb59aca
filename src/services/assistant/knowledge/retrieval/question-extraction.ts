// What of a message asks: people greet and tell a story before they come to it, and no document speaks of their story.
// Text in, text out; whether documents speak of a stretch is retrieval's affair.
import { isStopword } from './stopwords.ts';
import { terms } from './terms.ts';

/** The last ones count: who tells a story ends with the question. */
const maxExtracts = 3;
/** Words of matter that a question needs to be understood without the sentence before it. */
const minContentWords = 2;

let sentenceSegmenter: Intl.Segmenter | undefined;

/**
 * The stretches of a message by which to look for an answer when the whole finds none: the sentences that end in a
 * question mark, each with the one before it where it says too little alone; all sentences where none does.
 * @returns the last three at most, in order; none for a message of a single sentence
 */
export function extractQuestions(message: string): string[] {
  sentenceSegmenter ??= new Intl.Segmenter('und', { granularity: 'sentence' });
  const all = [...sentenceSegmenter.segment(message)]
    .map(({ segment }) => segment.trim())
    .filter((sentence) => sentence !== '');
  if (all.length < 2) return [];
  const asking = all.flatMap((sentence, index) => (/[?？؟]\P{L}*$/u.test(sentence) ? [index] : []));
  const stretches = (asking.length > 0 ? asking : all.map((_, index) => index)).map((index) => {
    const sentence = all[index] ?? '';
    return asking.length > 0 && index > 0 && countContentWords(sentence) < minContentWords
      ? `${all[index - 1] ?? ''} ${sentence}`
      : sentence;
  });
  return stretches.filter((stretch) => countContentWords(stretch) > 0).slice(-maxExtracts);
}

function countContentWords(text: string): number {
  return new Set(terms(text).filter((term) => !isStopword(term))).size;
}
