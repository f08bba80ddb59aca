// The terms under which knowledge is indexed and asked for: words as the platform's
// segmenter finds them, folded so that forms of a word meet. Knows no index and no tenant.
import { stripInvisible } from '../../../../text/strip-invisible.ts';
import { tokenize } from '../../../chat/search.ts';

/** Scripts that part no words, and Korean, whose particles cling to them: segmentation alone is not enough there. */
const bigramScript = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]+$/u;
/** The marks that Latin, Greek and Cyrillic letters carry; in other scripts marks are vowels and stay. */
const accents = /[\u0300-\u036f]/g;
const notInTerms = /[^\p{L}\p{N}\p{M}]+/gu;
/** Longer ones are data, not words. */
const maxTermLength = 60;

/**
 * The terms of a text, in order.
 * @returns only letters, digits and the marks of their scripts, in lower case
 */
export function terms(text: string): string[] {
  const found: string[] = [];
  for (const word of tokenize(stripInvisible(text))) {
    // What joins parts of a word: "don't" is one term, "example.com" and "snake_case" are several.
    const plain = foldLetters(word.replace(/['’ʼ]/g, ''));
    for (const part of plain.split(notInTerms))
      if (part !== '' && part.length <= maxTermLength) found.push(stem(part));
  }
  return found;
}

/** Lower-case letters without the marks that people leave out, and Arabic ones that they write in several ways as one. */
export function foldLetters(text: string): string {
  const plain = text.normalize('NFD').replace(accents, '').normalize('NFC');
  return /\p{Script=Arabic}/u.test(plain) ? foldArabic(plain) : plain;
}

/** Alef with any sign is alef, final ya and alef maqsura are ya, ta marbuta is ha; vowel signs and tatweel go. */
function foldArabic(text: string): string {
  return text
    .replace(/[\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0640]/g, '')
    .replace(/[آأإٱ]/g, 'ا')
    .replace(/[ىی]/g, 'ي')
    .replace(/ک/g, 'ك')
    .replace(/ة/g, 'ه')
    .replace(/ؤ/g, 'و')
    .replace(/ئ/g, 'ي');
}

/**
 * Two-character pieces of a term of a script without blanks, where a word may be cut differently in text and
 * question; none for other terms.
 */
export function bigrams(term: string): string[] {
  if (term.length < 3 || !bigramScript.test(term)) return [];
  const characters = Array.from(term);
  return characters.slice(1).map((character, index) => `${characters[index] ?? ''}${character}`);
}

/** The terms of a text with their pieces behind them: what the index holds of it. */
export function indexTerms(text: string): string[] {
  const found = terms(text);
  return [...found, ...new Set(found.flatMap(bigrams))];
}

/** The stem of a word: rough, but the same for its common forms. Scripts without rules here are left alone. */
function stem(word: string): string {
  if (/^[a-z]{4,}$/.test(word)) return latinStem(word);
  if (/^\p{Script=Cyrillic}{5,}$/u.test(word)) return word.replace(cyrillicEnding, '');
  if (/^\p{Script=Hangul}{3,}$/u.test(word)) return word.replace(koreanParticle, '');
  if (/^\p{Script=Arabic}{5,}$/u.test(word)) return word.replace(/^(?:وال|بال|فال|كال|لل|ال)/, '');
  return word;
}

const cyrillicEnding =
  /(?<=.{3})(?:иями|ями|ами|ого|его|ому|ему|ыми|ими|иях|ах|ях|ов|ев|ей|ой|ий|ый|ая|яя|ое|ее|ые|ие|ам|ям|ом|ем|ую|юю|ию|ия|ии|[аоеиыуюяьй])$/u;

const koreanParticle = /(?<=.{2})(?:에서|으로|에게|까지|부터|하고|은|는|이|가|을|를|에|의|와|과|도|로|만)$/u;

/**
 * Suffixes of English first of all, and such of related languages as do no harm there (-en, final -e). It folds
 * "cancel, cancelled, cancelling, cancellation" together, and now and then two words that have nothing in common:
 * ranking bears that better than a missed form.
 */
function latinStem(word: string): string {
  let stemmed = word;
  if (/.{2}ies$/.test(stemmed)) stemmed = `${stemmed.slice(0, -3)}y`;
  else if (/(?:ch|sh|ss|x|z)es$/.test(stemmed)) stemmed = stemmed.slice(0, -2);
  else if (/[^siu]s$/.test(stemmed)) stemmed = stemmed.slice(0, -1);
  stemmed = stripSuffix(stemmed, /^(.*[aeiouy].*|.{3,})(?:ing|ed)$/, 3);
  stemmed = stripSuffix(stemmed, /^(.*)(?:ment|ly)$/, 3);
  stemmed = stripSuffix(stemmed, /^(.*[st])ion$/, 3);
  if (stemmed.length >= 7) stemmed = stripSuffix(stemmed, /^(.*)(?:ate|at|en)$/, 4);
  stemmed = stripSuffix(stemmed, /^(.*)e$/, 3);
  if (stemmed.length >= 7) stemmed = stripSuffix(stemmed, /^(.*[^aeiou])y$/, 6);
  if (stemmed.length >= 4) stemmed = stemmed.replace(/([^aeiou])\1$/, '$1').replace(/(?<=[^aeiou])y$/, 'i');
  return stemmed;
}

function stripSuffix(word: string, ending: RegExp, least: number): string {
  const rest = ending.exec(word)?.[1];
  return rest === undefined || rest.length < least ? word : rest;
}
