// How alike texts are by the pieces of their words: forms of a word, compounds and slips of the finger share most of
// their pieces in every language, where whole words share nothing. Pure arithmetic.
import { foldLetters } from './terms.ts';

/** What a question is held against: a passage's title with its headings, its text, and the questions kept with it. */
export interface ComparedPassage {
  readonly heading: string;
  readonly text: string;
  readonly questions: readonly string[];
}

/** Cosines of tf-idf vectors, 0 to 1. */
export interface Likeness {
  readonly heading: number;
  readonly text: number;
  /** To heading and text together. */
  readonly both: number;
  /** To the kept question that is most alike; 0: there is none. */
  readonly question: number;
}

/** Pieces are counted by hash. With some thousand different ones in a passage, few share a number. */
const buckets = 2 ** 16;
/** Fewer texts say little about how rare a piece is: they are taken for so many. */
const minTexts = 30;
const wholeScripts = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]+/gu;
const words = /[\p{L}\p{N}\p{M}]+/gu;

/** The pieces of a text: each once, with how often. */
interface Pieces {
  readonly ids: Uint16Array;
  readonly counts: Uint16Array;
}

// Reused from call to call, and all zero between them: 65,536 numbers are not cleared for every short text.
const counting = new Uint16Array(buckets);
const weights = new Float64Array(buckets);

/**
 * Compares a question with passages. How rare a piece is, is counted among these passages alone: what all of them
 * share tells none of them from the others.
 */
export function compareNgrams(question: string, passages: readonly ComparedPassage[]): Likeness[] {
  const compared = passages.map(({ heading, text, questions }) => {
    const ofHeading = pieces(heading);
    const ofText = pieces(text);
    return {
      heading: ofHeading,
      text: ofText,
      both: merge(ofHeading, ofText),
      questions: questions.map(pieces),
    };
  });
  const asked = pieces(question);
  const rarity = countRarity(compared.map(({ both }) => both));
  let length = 0;
  for (const [at, id] of asked.ids.entries()) {
    const weight = frequencyWeight(asked.counts[at] ?? 1) * rarity(id);
    weights[id] = weight;
    length += weight * weight;
  }
  const cosine = ({ ids, counts }: Pieces): number => {
    let product = 0;
    let other = 0;
    for (let at = 0; at < ids.length; at += 1) {
      const id = ids[at] ?? 0;
      const weight = frequencyWeight(counts[at] ?? 1) * rarity(id);
      product += weight * (weights[id] ?? 0);
      other += weight * weight;
    }
    return product === 0 ? 0 : product / Math.sqrt(length * other);
  };
  const likeness = compared.map(({ heading, text, both, questions }) => ({
    heading: cosine(heading),
    text: cosine(text),
    both: cosine(both),
    question: Math.max(0, ...questions.map(cosine)),
  }));
  for (const id of asked.ids) weights[id] = 0;
  return likeness;
}

/** From this cosine on two questions ask the same, mostly. */
const alikeFrom = 0.5;

/**
 * Groups texts by likeness: each joins the group whose first text is most like it, or begins one.
 * @returns the places of the texts of each group, in order
 */
export function groupAlike(texts: readonly string[]): number[][] {
  const groups: { readonly members: number[] }[] = [];
  const cutTexts = texts.map(pieces);
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

/** Three to five letters of a word with its ends; one to three signs where words are not parted. */
function pieces(text: string): Pieces {
  const found: number[] = [];
  const folded = foldLetters(text.normalize('NFKC').toLowerCase());
  for (const [stretch] of folded.replace(wholeScripts, ' ').matchAll(words))
    for (const id of cutWord(stretch)) count(id, 1, found);
  for (const [stretch] of folded.matchAll(wholeScripts))
    for (const id of cut(stretch, 1, 3)) count(id, 1, found);
  return take(found);
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
