// What a model's answer must pass before anybody sees it: the shape (our JSON, or plain text with citation marks), the
// citations, and that what it says, every number and every address stand in the passages that it cites. Trusts nothing;
// asks no model.
import type { FoundPassage } from '../../protocol/assistant.ts';
import { constrainMarkdown, markdownText } from '../../text/markdown.ts';
import { hasVisibleText } from '../../text/text.ts';
import { isStopword } from './knowledge/retrieval/stopwords.ts';
import { bigrams, terms } from './knowledge/retrieval/terms.ts';

export type CheckedAnswer =
  | { readonly action: 'answer'; readonly text: string; readonly cited: readonly FoundPassage[] }
  | { readonly action: 'clarify'; readonly text: string }
  /** `why`: for a test or a person who looks into it. */
  | { readonly action: 'handover'; readonly why: string };

/** UTF-16 units of an answer; longer ones are no answers. */
const maxAnswerLength = 4_000;
const maxClarificationLength = 400;
/** The share of an answer's words of matter that must stand in the passages that it cites, or in the question. */
const minAnswerSupport = 0.6;
/** The same for each sentence that has a few of them, so that one invented sentence does not hide among true ones. */
const minSentenceSupport = 0.4;
const minSentenceWords = 4;

const handover = (why: string): CheckedAnswer => ({ action: 'handover', why });

/**
 * @param raw what the model said
 * @param passages what it was offered, in the order of their numbers
 * @returns null when it is not of the agreed shape: the model may be asked once more
 */
export async function checkAnswer(
  raw: string,
  passages: readonly FoundPassage[],
  question: string,
): Promise<CheckedAnswer | null> {
  const said = parseModelAnswer(raw);
  if (said === null) return null;
  if (said.action === 'handover') return handover('the model found no answer');
  if (said.action === 'clarify') return checkClarification(said.answer, passages, question);
  if (said.citations.length === 0) return handover('nothing was cited');
  if (said.citations.some((number) => passages[number - 1] === undefined))
    return handover('a citation was invented');
  const cited = [...new Set(said.citations)].map((number) => passages[number - 1] as FoundPassage);
  if (said.answer.length > maxAnswerLength) return handover('it is too long');
  const known = extractAddresses(cited);
  const text = await constrainMarkdown(said.answer, { keepLink: (href) => isKnownAddress(href, known) });
  const problem = findUnsupported(await markdownText(text), cited, question);
  return problem === null ? { action: 'answer', text, cited } : handover(problem);
}

async function checkClarification(
  answer: string,
  passages: readonly FoundPassage[],
  question: string,
): Promise<CheckedAnswer> {
  if (answer.length > maxClarificationLength) return handover('it is too long');
  const text = await constrainMarkdown(answer, { keepLink: () => false });
  const problem = findUnsupported(await markdownText(text), passages, question);
  return problem === null ? { action: 'clarify', text } : handover(problem);
}

interface ModelAnswer {
  readonly action: 'answer' | 'clarify' | 'handover';
  readonly answer: string;
  readonly citations: readonly number[];
}

/** Takes the object also out of a fence or out of a sentence around it: servers without schemas get such answers. */
export function parseJsonObject(raw: string): Readonly<Record<string, unknown>> | null {
  const start = raw.indexOf('{');
  const end = raw.lastIndexOf('}');
  if (start < 0 || end < start) return null;
  try {
    const value: unknown = JSON.parse(raw.slice(start, end + 1));
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

function parseModelAnswer(raw: string): ModelAnswer | null {
  const said = withoutThoughts(raw);
  return JSON_SHAPE.test(said) ? parseJsonAnswer(said) : parsePlainAnswer(said);
}

/** What a model thinks aloud before it answers is no part of the answer. A thought without an end hides all of it. */
const withoutThoughts = (raw: string): string =>
  raw.replace(/^\s*<think>[\s\S]*?(?:<\/think>|$)/i, '').trim();

/** Meant as our JSON, whole or damaged: never to be read as text. */
const JSON_SHAPE = /^(?:```\w*\s*)?\{|"(?:action|answer|citations|text)"\s*:/;
/** "[1]", "[1, 2]", with the blanks before it. A link's text and a definition of one are no marks. */
const CITATION_MARK = /(?<![ \t])[ \t]*\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\](?![(:])/g;
const CODE_SPAN = /(`[^`]*`)/;

/** Plain text with at least one citation mark, or the one word that hands over. */
function parsePlainAnswer(text: string): ModelAnswer | null {
  if (/^["'*]*handover["'*]*\.?$/i.test(text)) return { action: 'handover', answer: '', citations: [] };
  const citations: number[] = [];
  const unmarked = text
    .split(CODE_SPAN)
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part.replaceAll(CITATION_MARK, (_mark, numbers: string) => {
            citations.push(...numbers.split(',').map(Number));
            return '';
          }),
    )
    .join('');
  if (citations.length === 0 || !hasVisibleText(unmarked)) return null;
  return { action: 'answer', answer: unmarked.trim(), citations };
}

function parseJsonAnswer(raw: string): ModelAnswer | null {
  const object = parseJsonObject(raw);
  if (object === null) return null;
  const { action, answer, citations } = object;
  if (action !== 'answer' && action !== 'clarify' && action !== 'handover') return null;
  if (action === 'handover') return { action, answer: '', citations: [] };
  if (typeof answer !== 'string' || !hasVisibleText(answer)) return null;
  const numbers = action === 'clarify' ? [] : citations;
  if (!Array.isArray(numbers) || !numbers.every((one) => Number.isInteger(one))) return null;
  return { action, answer, citations: numbers as number[] };
}

/** Every repetition that something must follow has a bound: without one, a long word takes the square of its length. */
const ADDRESS =
  /(?:[a-z][a-z0-9+.-]{0,30}:\/\/|www\.)[^\s<>"'()[\]]+|[\p{L}\p{N}._%+-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,10}|(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.){1,10}\p{L}{2,}(?:\/[^\s<>"'()[\]]*)?/giu;
const TRAILING_PUNCTUATION = /(?<![.,;:!?…])[.,;:!?…]+$/;
/** No text has a word like this. */
const OVERLONG_WORD = /[\p{L}\p{N}._%+-]{500}/u;

/** The addresses that passages have or mention, without what comes behind "#". */
function extractAddresses(passages: readonly FoundPassage[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { text, url } of passages) {
    if (url !== null) found.add(normalizeAddress(url));
    for (const [address] of text.matchAll(ADDRESS)) found.add(normalizeAddress(address));
  }
  return found;
}

const normalizeAddress = (address: string): string =>
  address
    .toLowerCase()
    .replace(/#.*$/, '')
    .replace(TRAILING_PUNCTUATION, '')
    .replace(/^(?:https?:\/\/|mailto:)/, '')
    .replace(/(?<!\/)\/+$/, '');

function isKnownAddress(href: string, known: ReadonlySet<string>): boolean {
  // A question mark behind a known address could carry anything out.
  return known.has(normalizeAddress(href));
}

/** Digits as they mean a number, whatever marks stand between them. */
function extractNumbers(text: string): string[] {
  return (text.normalize('NFKC').match(/\p{Nd}+(?:[.,:' \u00a0\u202f]\p{Nd}+)*/gu) ?? []).flatMap(
    (number) => number.match(/\p{Nd}+/gu) ?? [],
  );
}

let sentenceSegmenter: Intl.Segmenter | undefined;

/** What a text says that its sources do not, or null. */
function findUnsupported(text: string, passages: readonly FoundPassage[], question: string): string | null {
  if (!hasVisibleText(text)) return 'it says nothing';
  if (OVERLONG_WORD.test(text)) return 'it is no text';
  const sources = passages
    .map((one) => `${one.title}\n${one.heading ?? ''}\n${one.text}\n${one.url ?? ''}`)
    .join('\n');
  const addresses = extractAddresses(passages);
  for (const [address] of text.matchAll(ADDRESS))
    if (!addresses.has(normalizeAddress(address)) && !titleMentions(passages, address))
      return 'an address was invented';
  const numbers = new Set(extractNumbers(`${sources}\n${question}`));
  if (extractNumbers(text).some((number) => !numbers.has(number))) return 'a number was invented';
  const known = new Set(contentWords(`${sources}\n${question}`));
  if (supportRatio(contentWords(text), known) < minAnswerSupport) return 'the passages do not say it';
  sentenceSegmenter ??= new Intl.Segmenter('und', { granularity: 'sentence' });
  for (const { segment } of sentenceSegmenter.segment(text)) {
    const words = contentWords(segment);
    if (words.length >= minSentenceWords && supportRatio(words, known) < minSentenceSupport)
      return 'the passages do not say a part of it';
  }
  return null;
}

function titleMentions(passages: readonly FoundPassage[], address: string): boolean {
  return passages.some(({ title, heading }) =>
    `${title} ${heading ?? ''}`.toLowerCase().includes(address.toLowerCase()),
  );
}

/** The terms that say something, those of scripts without blanks in pieces. */
function contentWords(text: string): string[] {
  return [...new Set(terms(text))]
    .filter((term) => !isStopword(term))
    .flatMap((term) => (bigrams(term).length > 0 ? bigrams(term) : [term]));
}

function supportRatio(words: readonly string[], known: ReadonlySet<string>): number {
  if (words.length === 0) return 1;
  return words.filter((word) => known.has(word)).length / words.length;
}

/**
 * The text of a rewritten message, or null when it adds a number or an address that the original does not have, or
 * is no rewriting at all. An operator reads it before it is sent, so plain text is taken as it is.
 */
export async function checkRewrite(raw: string, original: string): Promise<string | null> {
  const said = withoutThoughts(raw);
  const text = JSON_SHAPE.test(said) ? parseJsonObject(said)?.['text'] : said;
  if (
    typeof text !== 'string' ||
    !hasVisibleText(text) ||
    OVERLONG_WORD.test(text) ||
    text.length > original.length * 4 + 1_000
  )
    return null;
  const known = new Set([...original.matchAll(ADDRESS)].map(([address]) => normalizeAddress(address)));
  const constrained = await constrainMarkdown(text, {
    keepLink: (href) => known.has(normalizeAddress(href)),
  });
  const plain = await markdownText(constrained);
  const numbers = new Set(extractNumbers(original));
  const adds =
    extractNumbers(plain).some((number) => !numbers.has(number)) ||
    [...plain.matchAll(ADDRESS)].some(([address]) => !known.has(normalizeAddress(address)));
  return adds ? null : constrained;
}
