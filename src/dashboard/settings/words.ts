// Owns the settings' texts: one file for each language, of which one is loaded with the settings.
import { locale, wordsOf, type Language } from '../words.ts';
import type { SettingsWords } from './languages/en.ts';

export type SettingsWord = keyof SettingsWords;
type Translate = ReturnType<typeof wordsOf<SettingsWord>>;

const loaders: Readonly<Record<Language, () => Promise<{ readonly words: SettingsWords }>>> = {
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

let translate: Translate | null = null;

/** A text of the settings. */
export const s: Translate = (key, values) => translate?.(key, values) ?? key;

/** Loads the one language that is spoken. */
export async function loadSettingsWords(): Promise<void> {
  translate = wordsOf((await loaders[locale.language]()).words);
}

/** A day and a time, as the reader writes them; a dash where there is none. */
export function when(time: string | null): string {
  if (time === null) return '–';
  return new Intl.DateTimeFormat(locale.tag, { dateStyle: 'medium', timeStyle: 'short' }).format(
    new Date(time),
  );
}

/** A number, as the reader writes it. */
export function figure(value: number): string {
  return new Intl.NumberFormat(locale.tag).format(value);
}
