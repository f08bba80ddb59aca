// Owns: what the messages of the benchmarks say: the same in every process and every run.

/** Bytes of a message. */
const length = 200;

/** One sentence for all, where words are not what is measured. */
export const sentence = 'The quick brown fox jumps over the lazy dog. '.repeat(5).slice(0, length);

/** Words that there are, and different messages: enough that an index meets most words seldom. */
const vocabulary = 20_000;
const messages = 4_000;

/** Numbers from 0 to below 1 that look drawn at random (a linear congruential generator). */
function draws(): () => number {
  let state = 12_345;
  return () => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) / 2 ** 32;
}

/** The word of a rank: some letters and digits, each word another. */
function wordAt(rank: number): string {
  return `${(rank * 7_919 + 1_296).toString(36)}${'eiou'.slice(rank % 5)}`;
}

/** A word that about one in sixty messages has. */
export const searchedWord = wordAt(150);

/**
 * Messages as people write them: of a few words nearly each has one, and most words are rare. By Zipf's law the word of
 * rank n comes as often as 1/n says.
 */
export function naturalTexts(): string[] {
  const sums: number[] = [];
  let sum = 0;
  for (let rank = 1; rank <= vocabulary; rank += 1) sums.push((sum += 1 / rank));
  const draw = draws();
  const word = (): string => {
    const wanted = draw() * sum;
    let low = 0;
    let high = vocabulary - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return wordAt(low + 1);
  };
  return Array.from({ length: messages }, () => {
    let text = '';
    while (text.length < length) text += `${word()} `;
    return text.slice(0, length).trimEnd();
  });
}
