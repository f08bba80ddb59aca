// Owns which language the page speaks: the one that was chosen in the dashboard on this device, or the browser's. English
// comes with the page, any other as a file of its own.
import { chooseLanguage, isRightToLeft, type Language } from '../shared/languages.ts';
import { fillText, type PluralText, type Text, type Values } from '../../src/text/fill-text.ts';
import { words as english } from './languages/en.ts';

export type Words = {
  readonly [K in keyof typeof english]: (typeof english)[K] extends string ? string : PluralText;
};

const others: Readonly<Record<Exclude<Language, 'en'>, () => Promise<{ readonly words: Words }>>> = {
  ar: () => import('./languages/ar.ts'),
  de: () => import('./languages/de.ts'),
  es: () => import('./languages/es.ts'),
  fr: () => import('./languages/fr.ts'),
  it: () => import('./languages/it.ts'),
  nl: () => import('./languages/nl.ts'),
  pl: () => import('./languages/pl.ts'),
  pt: () => import('./languages/pt.ts'),
};

let spoken: Readonly<Record<keyof Words, Text>> = english;
let spokenTag = 'en';

/** Loads the language and tells the page; English where another can't be had. */
export async function loadWords(): Promise<void> {
  const { language, tag } = chooseLanguage([chosen(), ...navigator.languages]);
  spokenTag = tag;
  if (language !== 'en')
    await others[language]().then(
      ({ words }) => {
        spoken = words;
        document.documentElement.lang = tag;
        document.documentElement.dir = isRightToLeft(language) ? 'rtl' : 'ltr';
      },
      () => (spokenTag = 'en'),
    );
  document.title = say('title');
}

/** @param values take the places of `{name}`; `n` also chooses the form */
export function say(key: keyof Words, values?: Values): string {
  return fillText(spoken[key], spokenTag, values);
}

/** A time as people say it. @param iso of ISO 8601 */
export function timeText(iso: string): string {
  return new Date(iso).toLocaleString(spokenTag, { dateStyle: 'medium', timeStyle: 'short' });
}

/** As the dashboard keeps it. */
function chosen(): string | null {
  try {
    return localStorage.getItem('deskbell.language') ?? localStorage.getItem('deskbell.account-language');
  } catch {
    return null;
  }
}
