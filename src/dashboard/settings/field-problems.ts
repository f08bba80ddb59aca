// Owns which text stands for what the server says of a single field. What is not known here stands in the server's own words.
import type { SettingsWords } from './languages/en.ts';

/** A text of the settings, or the one of the common dictionary that the page of an invitation has, too. */
type Word = keyof SettingsWords | 'passwordCommon';

/** How the server's sentence begins, and the text that stands for it; a figure in it is `n`, names in it are `list`. */
const known: readonly (readonly [sentence: RegExp, word: Word])[] = [
  [/^is one of the passwords that are tried first/, 'passwordCommon'],
  [/^must (?:not be empty|be given\b)/, 'fieldEmpty'],
  [/^must be an e-mail address/, 'fieldEmail'],
  [/^must have at least (\d+) character/, 'fieldShort'],
  [/^must have at most (\d+) character/, 'fieldLong'],
  [/^must be (?:a whole number of )?at least (\d+)/, 'fieldLow'],
  [/^must be at most (\d+)(?: days)?\b/, 'fieldHigh'],
  [/^must be a (?:whole )?number\b/, 'fieldNumber'],
  [/^must (?:be an https URL|be a URL that begins with https|begin with https)/, 'fieldHttps'],
  [/^must not lead to a private or local address/, 'fieldPrivate'],
  [/^must be a colour/, 'fieldColour'],
  [/^must be a name of the IANA database/, 'fieldTimezone'],
  [/^must be a language tag/, 'fieldLanguage'],
  [/^must be an IPv4 or IPv6 address/, 'fieldAddress'],
  [/^must be 1 to 50 letters/, 'fieldShortcut'],
  [/^is not the present one/, 'fieldPresent'],
  [/^must have at least (\d+) items/, 'fieldWords'],
  [/^must be in the future, and at most (\d+) days/, 'fieldDays'],
  [/^must be (?<list>\w+:\w+, .+)$/, 'fieldNames'],
];

/** The text that stands for what is wrong with a field; null: there is none. @param message the server's sentence */
export function fieldProblem(
  message: string,
): { readonly word: Word; readonly n: number; readonly list: string } | null {
  for (const [sentence, word] of known) {
    const found = sentence.exec(message);
    if (found === null) continue;
    const list = (found.groups?.['list'] ?? '').replace(' or ', ', ');
    return { word, n: list === '' ? Number(found[1] ?? 0) : 0, list };
  }
  return null;
}
