// Owns which language the dashboard speaks, and how its texts are filled in. The texts themselves are in languages/, one
// file for each language, of which one is loaded.
import { chooseLanguage, isRightToLeft, languages, type Language } from '../../widget/shared/languages.ts';
import {
  fillText,
  translator,
  type Dictionary,
  type Say,
  type Translate,
  type Values,
} from '../desk/texts.ts';
import type { FirstWords } from './languages/en.ts';
import type { MoreWords } from './languages/more/en.ts';

export { languages, type Language };

interface LanguageFile {
  readonly words: Dictionary;
  readonly desk: Dictionary;
}

/** What is said first, and where the rest is. */
interface FirstLanguageFile extends LanguageFile {
  /** What is seldom said. */
  more(): Promise<LanguageFile>;
}

type Words = FirstWords & MoreWords;

const loaders: Readonly<Record<Language, () => Promise<FirstLanguageFile>>> = {
  en: () => import('./languages/en.ts'),
  ar: () => import('./languages/ar.ts'),
  de: () => import('./languages/de.ts'),
  es: () => import('./languages/es.ts'),
  fr: () => import('./languages/fr.ts'),
  it: () => import('./languages/it.ts'),
  nl: () => import('./languages/nl.ts'),
  pl: () => import('./languages/pl.ts'),
  pt: () => import('./languages/pt.ts'),
};

/** The language that is spoken: set once, before anything is drawn. */
export const locale: { language: Language; tag: string } = { language: 'en', tag: 'en' };
let words: Dictionary = {};
let sentences: Dictionary = {};
let loadMore: FirstLanguageFile['more'];

function spoken(dictionary: Dictionary, key: string, values?: Values): string {
  const text = dictionary[key];
  return text === undefined ? key : fillText(text, locale.tag, values);
}

/** A text of the dashboard's common dictionary. */
export const t: Translate<keyof Words> = (key, values) => spoken(words, key, values);

/** A sentence of the desk's model. */
export const say: Say = (key, values) => spoken(sentences, key, values);

/** How texts of a dictionary of a part, such as the settings, are asked for in the language that is spoken. */
export function wordsOf<K extends string>(dictionary: Dictionary<K>): Translate<K> {
  return translator(dictionary, locale.tag);
}

const languageKey = 'deskbell.language';
const accountLanguageKey = 'deskbell.account-language';

/** The language that was chosen on this device; null: the browser's. */
export function chosenLanguage(): Language | null {
  const kept = readSetting(languageKey);
  return languages.find((one) => one === kept) ?? null;
}

/** Keeps a choice of language for this device; it is spoken after a reload. @param language null: the browser's */
export function chooseSpoken(language: Language | null): void {
  writeSetting(languageKey, language);
}

/**
 * Keeps the language of the account that is used on this device: spoken where none was chosen for the device.
 * @param language a language tag; null: the browser's
 * @returns whether another language would be spoken after a reload
 */
export function takeAccountLanguage(language: string | null): boolean {
  writeSetting(accountLanguageKey, language);
  return wanted().language !== locale.language;
}

function wanted(): ReturnType<typeof chooseLanguage> {
  return chooseLanguage([chosenLanguage(), readSetting(accountLanguageKey), ...navigator.languages]);
}

/** Loads the one language that is spoken, and tells the page. */
export async function loadLanguage(): Promise<void> {
  const { language, tag } = wanted();
  locale.language = language;
  locale.tag = tag;
  const first = await loaders[language]();
  loadMore = first.more;
  take(first);
  document.documentElement.lang = tag;
  document.documentElement.dir = isRightToLeft(language) ? 'rtl' : 'ltr';
}

function take(file: LanguageFile): void {
  words = { ...words, ...file.words };
  sentences = { ...sentences, ...file.desk };
}

let more: Promise<void> | null = null;

/** Loads what is seldom said; once, and again where that failed. */
function loadMoreWords(): Promise<void> {
  more ??= loadMore().then(take, (error: unknown) => {
    more = null;
    throw error;
  });
  return more;
}

/** A part that is loaded when it is asked for, with the words that it needs. @throws where it can't be loaded */
export async function withWords<T>(part: Promise<T>): Promise<T> {
  const [file] = await Promise.all([part, loadMoreWords()]);
  return file;
}

/** A setting of this device; null where there is none, or where storage is blocked. */
export function readSetting(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Keeps a setting of this device as far as storage allows. @param value null removes it */
export function writeSetting(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch {
    // Storage is full or blocked: it holds as long as the page.
  }
}
