// Owns saying things in one language: words filled in, plural forms, dates and durations. A page loads the
// words of one language: English comes with the panel, any other as a file of its own.
import type { Language } from '../shared/languages.ts';
import { words as english, type Plural, type Words } from './languages/en.ts';

export interface I18n {
  readonly words: Words;
  /** The full language tag, for whatever else needs one. */
  readonly tag: string;
  interpolate(text: string, values: Readonly<Record<string, string>>): string;
  plural(forms: Plural, n: number): string;
  /** Such as "14:05". */
  time(date: Date): string;
  /** Such as "Today", "Yesterday", "Monday 2 March". */
  day(date: Date): string;
  /** When something comes, in the visitor's own time zone: "tomorrow, 09:00", "on Monday, 09:00". */
  relativeDate(date: Date, now: Date): string;
  seconds(n: number): string;
}

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

/** Loads a language; English where it can't be had. */
export async function loadI18n(language: Language, tag: string): Promise<I18n> {
  if (language === 'en') return createI18n(english, tag);
  return others[language]().then(
    ({ words }) => createI18n(words, tag),
    () => createI18n(english, 'en'),
  );
}

const dayMs = 86_400_000;

function createI18n(words: Words, tag: string): I18n {
  const plural = new Intl.PluralRules(tag);
  const number = new Intl.NumberFormat(tag);
  const clock = new Intl.DateTimeFormat(tag, { hour: '2-digit', minute: '2-digit' });
  const relative = new Intl.RelativeTimeFormat(tag, { numeric: 'auto' });
  const weekday = new Intl.DateTimeFormat(tag, { weekday: 'long', day: 'numeric', month: 'long' });
  const second = new Intl.NumberFormat(tag, { style: 'unit', unit: 'second', unitDisplay: 'long' });

  const interpolate: I18n['interpolate'] = (text, values) =>
    text.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
  const named = (date: Date, now: Date): string => {
    const days = Math.round((midnight(date) - midnight(now)) / dayMs);
    return Math.abs(days) < 2 ? relative.format(days, 'day') : weekday.format(date);
  };
  return {
    words,
    tag,
    interpolate,
    plural: (forms, n) => interpolate(forms[plural.select(n)] ?? forms.other, { n: number.format(n) }),
    time: (date) => clock.format(date),
    day: (date) => named(date, new Date()).replace(/^./u, (letter) => letter.toLocaleUpperCase(tag)),
    relativeDate: (date, now) => `${named(date, now)}, ${clock.format(date)}`,
    seconds: (n) => second.format(n),
  };
}

function midnight(date: Date): number {
  return new Date(date).setHours(0, 0, 0, 0);
}
