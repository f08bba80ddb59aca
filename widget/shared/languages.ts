// Owns which language the widget speaks: the ones it knows, and how one is chosen.
export const languages = ['en', 'ar', 'de', 'es', 'fr', 'it', 'nl', 'pl', 'pt'] as const;
export type Language = (typeof languages)[number];

/**
 * The first wish that can be met, and its full tag for dates and numbers; English when none can.
 * @param wishes language tags in order of precedence, as they come from options, settings and browsers
 */
export function chooseLanguage(wishes: readonly (string | null | undefined)[]): {
  readonly language: Language;
  readonly tag: string;
} {
  for (const wish of wishes) {
    const language = languages.find((known) => known === wish?.toLowerCase().split(/[-_]/)[0]);
    if (language !== undefined) return { language, tag: validTag(wish?.replace('_', '-'), language) };
  }
  return { language: 'en', tag: 'en' };
}

function validTag(tag: string | undefined, language: Language): string {
  try {
    return Intl.getCanonicalLocales(tag)[0] ?? language;
  } catch {
    return language;
  }
}

export function isRightToLeft(language: Language): boolean {
  return language === 'ar';
}
