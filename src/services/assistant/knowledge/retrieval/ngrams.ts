// How alike texts are by the pieces of their words: forms of a word, compounds and slips of the finger share most of
// their pieces in every language, where whole words share nothing. Pure arithmetic.
import { foldLetters } from './terms.ts';

/** What a question is held against: a passage's title with its headings, its text, and the questions kept with it. */
export interface ComparedPassage {
  readonly heading: string;
  readonly text: string;
  readonly questions: readonly string[];
}

/** How alike a question and one text are, each 0 to 1. */
export interface Closeness {
  /** Cosine of tf-idf vectors: how rare a piece is, is counted among the passages that are compared. */
  readonly cosine: number;
  /**
   * The same, but the question's pieces weigh as much as its words in all of the documents: among look-alikes, all of
   * which were found by these words, counting them there again would make the words that tell most count least.
   */
  readonly known: number;
  /** The share of the question's pieces that the text has, weighed as for the cosine. */
  readonly share: number;
}

export interface Likeness {
  readonly heading: Closeness;
  readonly text: Closeness;
  /** To heading and text together. */
  readonly both: Closeness;
  /** To the kept question that is most alike; all 0: there is none. */
  readonly question: Closeness;
  /** The share of the question's pairs of adjacent words that stand so in heading or text. */
  readonly pairs: number;
}

export const notAlike: Closeness = { cosine: 0, known: 0, share: 0 };

/** Pieces are counted by hash. With some thousand different ones in a passage, few share a number. */
const buckets = 2 ** 16;
/** Fewer texts say little about how rare a piece is: they are taken for so many. */
const minTexts = 30;
const wholeScripts = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]+/gu;
const asciiWords = /[a-z0-9]+/g;
const words = /[\p{L}\p{N}\p{M}]+/gu;

/** The pieces of a text: each once, with how often. */
interface Pieces {
  readonly ids: Uint16Array;
  readonly counts: Uint16Array;
}

// Reused from call to call, and all zero between them: 65,536 numbers are not cleared for every short text.
const counting = new Uint16Array(buckets);
const weights = new Float64Array(buckets);
const knownWeights = new Float64Array(buckets);
const rarities = new Float64Array(buckets);

/**
 * What a piece weighs that is in none of the question's words, beside their rarity in the documents: about what a word
 * weighs that is neither rare nor common.
 */
const foreignRarity = 3;

/**
 * Compares a question with passages.
 * @param rarityOf how rare a word of the question is in all of the documents: about 0.3 to 6
 */
export function compareNgrams(
  question: string,
  passages: readonly ComparedPassage[],
  rarityOf: (word: string) => number,
): Likeness[] {
  const compared = passages.map(({ heading, text, questions }) => {
    const folded = [fold(heading), fold(text)] as const;
    const ofHeading = foldedPieces(folded[0]);
    const ofText = foldedPieces(folded[1]);
    return {
      heading: ofHeading,
      text: ofText,
      both: merge(ofHeading, ofText),
      questions: questions.map(pieces),
      folded,
    };
  });
  const rarity = countRarity(compared.map(({ both }) => both));
  const { closeness, end } = prepareQuestion(question, rarity, rarityOf);
  const pairs = new Set(pairsIn(fold(question)));
  const likeness = compared.map(({ heading, text, both, questions, folded }) => ({
    heading: closeness(heading),
    text: closeness(text),
    both: closeness(both),
    question: questions.map(closeness).reduce(closest, notAlike),
    pairs: sharedPairs(pairs, folded),
  }));
  end();
  return likeness;
}

/** The most of each of two. */
export function closest(one: Closeness, other: Closeness): Closeness {
  return {
    cosine: Math.max(one.cosine, other.cosine),
    known: Math.max(one.known, other.known),
    share: Math.max(one.share, other.share),
  };
}

/** @returns how to hold it against a text, until `end` is called */
function prepareQuestion(
  question: string,
  rarity: (id: number) => number,
  rarityOf: (word: string) => number,
): { closeness(text: Pieces): Closeness; end(): void } {
  const asked = pieces(question);
  for (const [word, ids] of cutWords(fold(question))) {
    const weight = rarityOf(word);
    for (const id of ids) rarities[id] = Math.max(rarities[id] ?? 0, weight);
  }
  const length = { cosine: 0, known: 0, share: 0 };
  for (const [at, id] of asked.ids.entries()) {
    const frequency = frequencyWeight(asked.counts[at] ?? 1);
    weights[id] = frequency * rarity(id);
    knownWeights[id] = frequency * (rarities[id] ?? 0);
    length.cosine += (weights[id] ?? 0) ** 2;
    length.known += (knownWeights[id] ?? 0) ** 2;
    length.share += rarity(id);
  }
  const closeness = ({ ids, counts }: Pieces): Closeness => {
    let product = 0;
    let other = 0;
    let knownProduct = 0;
    let knownOther = 0;
    let shared = 0;
    for (let at = 0; at < ids.length; at += 1) {
      const id = ids[at] ?? 0;
      const frequency = frequencyWeight(counts[at] ?? 1);
      const rare = rarity(id);
      const weight = frequency * rare;
      other += weight * weight;
      const ofQuestion = rarities[id] ?? 0;
      const knownWeight = frequency * (ofQuestion === 0 ? foreignRarity : ofQuestion);
      knownOther += knownWeight * knownWeight;
      if (ofQuestion === 0) continue;
      product += weight * (weights[id] ?? 0);
      knownProduct += knownWeight * (knownWeights[id] ?? 0);
      shared += rare;
    }
    return {
      cosine: product === 0 ? 0 : product / Math.sqrt(length.cosine * other),
      known: knownProduct === 0 ? 0 : knownProduct / Math.sqrt(length.known * knownOther),
      share: shared === 0 ? 0 : shared / length.share,
    };
  };
  const end = (): void => {
    for (const id of asked.ids) {
      weights[id] = 0;
      knownWeights[id] = 0;
      rarities[id] = 0;
    }
  };
  return { closeness, end };
}

/** Two adjacent words, as one text. */
function* pairsIn(folded: string): Generator<string> {
  let before: string | null = null;
  for (const word of folded.match(isAscii(folded) ? asciiWords : words) ?? []) {
    if (before !== null) yield `${before} ${word}`;
    before = word;
  }
}

function sharedPairs(pairs: ReadonlySet<string>, texts: readonly string[]): number {
  if (pairs.size === 0) return 0;
  const found = new Set<string>();
  for (const folded of texts) for (const pair of pairsIn(folded)) if (pairs.has(pair)) found.add(pair);
  return found.size / pairs.size;
}

/** From this cosine on two questions ask the same, mostly. */
const alikeFrom = 0.5;

/** So much of a text is compared, in characters: each is held against all groups. */
const comparedCharacters = 300;

/**
 * Groups texts by likeness: each joins the group whose first text is most like it, or begins one. Yields after each text:
 * five hundred of them take some tenths of a second.
 * @returns the places of the texts of each group, in order
 */
export function* groupAlike(texts: readonly string[]): Generator<void, number[][], void> {
  const groups: { readonly members: number[] }[] = [];
  const cutTexts: Pieces[] = [];
  for (const text of texts) {
    cutTexts.push(pieces(text.slice(0, comparedCharacters)));
    yield;
  }
  const rarity = countRarity(cutTexts);
  const norm = ({ ids, counts }: Pieces): number =>
    Math.sqrt(ids.reduce((sum, id, at) => sum + (frequencyWeight(counts[at] ?? 1) * rarity(id)) ** 2, 0));
  const norms = cutTexts.map(norm);
  for (const [at, mine] of cutTexts.entries()) {
    for (const [place, id] of mine.ids.entries())
      weights[id] = frequencyWeight(mine.counts[place] ?? 1) * rarity(id);
    const likeness = groups.map(({ members: [first = 0] }) => {
      const other = cutTexts[first];
      const product =
        other?.ids.reduce(
          (sum, id, place) =>
            sum + (weights[id] ?? 0) * frequencyWeight(other.counts[place] ?? 1) * rarity(id),
          0,
        ) ?? 0;
      return product === 0 ? 0 : product / ((norms[at] ?? 1) * (norms[first] ?? 1));
    });
    for (const id of mine.ids) weights[id] = 0;
    const most = Math.max(0, ...likeness);
    if (most >= alikeFrom) groups[likeness.indexOf(most)]?.members.push(at);
    else groups.push({ members: [at] });
    yield;
  }
  return groups.map(({ members }) => members);
}

/** The tenth occurrence says less than the first. */
const frequencyWeights = Float64Array.from({ length: 64 }, (_, count) => 1 + Math.log(Math.max(1, count)));
const frequencyWeight = (count: number): number => frequencyWeights[Math.min(count, 63)] ?? 1;

/** Rarer pieces weigh more, as words do. */
function countRarity(texts: readonly Pieces[]): (id: number) => number {
  const texting = new Uint16Array(buckets);
  for (const { ids } of texts) for (const id of ids) texting[id] = (texting[id] ?? 0) + 1;
  const all = Math.max(texts.length, minTexts);
  const byCount = Float64Array.from({ length: texts.length + 1 }, (_, count) =>
    Math.log(1 + (all - count + 0.5) / (count + 0.5)),
  );
  return (id) => byCount[texting[id] ?? 0] ?? 0;
}

function merge(one: Pieces, other: Pieces): Pieces {
  const found: number[] = [];
  for (const { ids, counts } of [one, other])
    for (let at = 0; at < ids.length; at += 1) count(ids[at] ?? 0, counts[at] ?? 0, found);
  return take(found);
}

function pieces(text: string): Pieces {
  return foldedPieces(fold(text));
}

/** Three to five letters of a word with its ends; one to three signs where words are not parted. */
function foldedPieces(folded: string): Pieces {
  const found: number[] = [];
  for (const [, ids] of cutWords(folded)) for (const id of ids) count(id, 1, found);
  return take(found);
}

/** Most texts have no sign beyond ASCII, and nothing in them is to be folded but capitals. */
const isAscii = (text: string): boolean => !/[^\n\r\t -~]/.test(text);

function fold(text: string): string {
  return isAscii(text) ? text.toLowerCase() : foldLetters(text.normalize('NFKC').toLowerCase());
}

/** The words of a text, and stretches of scripts that part none, with their pieces. */
function* cutWords(folded: string): Generator<readonly [word: string, ids: readonly number[]]> {
  const isParted = isAscii(folded);
  const parted = isParted ? folded.match(asciiWords) : folded.replace(wholeScripts, ' ').match(words);
  for (const word of parted ?? []) yield [word, cutWord(word)];
  if (isParted) return;
  for (const stretch of folded.match(wholeScripts) ?? []) yield [stretch, cut(stretch, 1, 3)];
}

/** Passages share most of their words: the pieces of the last few thousand are kept. */
const known = new Map<string, readonly number[]>();
const maxKnown = 4_096;
const maxKnownLength = 24;

function cutWord(word: string): readonly number[] {
  const cached = known.get(word);
  if (cached !== undefined) return cached;
  const found = cut(`_${word}_`, 3, 5);
  if (word.length > maxKnownLength) return found;
  if (known.size >= maxKnown) known.clear();
  known.set(word, found);
  return found;
}

function count(id: number, times: number, found: number[]): void {
  const before = counting[id] ?? 0;
  if (before === 0) found.push(id);
  counting[id] = Math.min(before + times, 0xff_ff);
}

/** What was counted since the last time. */
function take(found: readonly number[]): Pieces {
  const ids = new Uint16Array(found.length);
  const counts = new Uint16Array(found.length);
  // `from` with a function takes ten times as long.
  for (let at = 0; at < found.length; at += 1) {
    const id = found[at] ?? 0;
    ids[at] = id;
    counts[at] = counting[id] ?? 0;
    counting[id] = 0;
  }
  return { ids, counts };
}

/** The hashes (FNV-1a) of all pieces of `least` to `most` UTF-16 units. */
function cut(stretch: string, least: number, most: number): number[] {
  const found: number[] = [];
  for (let start = 0; start < stretch.length; start += 1) {
    let hash = 0x81_1c_9d_c5;
    const end = Math.min(stretch.length, start + most);
    for (let at = start; at < end; at += 1) {
      hash = Math.imul(hash ^ stretch.charCodeAt(at), 0x01_00_01_93);
      if (at - start + 1 >= least) found.push((hash ^ (hash >>> 16)) & (buckets - 1));
    }
  }
  return found;
}
