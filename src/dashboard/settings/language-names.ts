// Owns what each language calls itself, so that its speakers find it in any other.
import type { Language } from '../words.ts';

export const languageNames: Readonly<Record<Language, string>> = {
  en: 'English',
  ar: 'العربية',
  de: 'Deutsch',
  es: 'Español',
  fr: 'Français',
  it: 'Italiano',
  nl: 'Nederlands',
  pl: 'Polski',
  pt: 'Português',
};
