// Owns which language the dashboard speaks, and how its texts are filled in. The texts themselves are in languages/, one
// file for each language, of which one is loaded.
import { chooseLanguage, isRightToLeft, languages, type Language } from '../../widget/shared/languages.ts';
import {
  inEnglish,
  translator,
  type DeskText,
  type Dictionary,
  type Say,
  type Translate,
} from '../desk/texts.ts';
import type { Words } from './languages/en.ts';

export { languages, type Language };

interface LanguageFile {
  readonly words: Words;
  readonly desk: Dictionary<DeskText>;
}

const loaders: Readonly<Record<Language, () => Promise<LanguageFile>>> = {
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
export const speech: { language: Language; tag: string } = { language: 'en', tag: 'en' };
let translate: Translate<keyof Words> | null = null;
let sayDesk: Say = inEnglish;

/** A text of the dashboard's common dictionary. */
export const t: Translate<keyof Words> = (key, values) => translate?.(key, values) ?? key;

/** A sentence of the desk's model. */
export const say: Say = (key, values) => sayDesk(key, values);

/** How texts of a dictionary of a part, such as the settings, are asked for in the language that is spoken. */
export function wordsOf<K extends string>(dictionary: Dictionary<K>): Translate<K> {
  return translator(dictionary, speech.tag);
}

const languageKey = 'deskbell.language';

/** The language that was chosen on this device; null: the browser's. */
export function chosenLanguage(): Language | null {
  const kept = readSetting(languageKey);
  return languages.find((one) => one === kept) ?? null;
}

/** Keeps a choice of language for this device; it is spoken after a reload. @param language null: the browser's */
export function chooseSpoken(language: Language | null): void {
  writeSetting(languageKey, language);
}

/** Loads the one language that is spoken, and tells the page. */
export async function loadLanguage(): Promise<void> {
  const { language, tag } = chooseLanguage([chosenLanguage(), ...navigator.languages]);
  speech.language = language;
  speech.tag = tag;
  const { words, desk } = await loaders[language]();
  translate = translator(words, tag);
  sayDesk = translator(desk, tag);
  document.documentElement.lang = tag;
  document.documentElement.dir = isRightToLeft(language) ? 'rtl' : 'ltr';
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
