// Owns which text stands for what the server says: of a single field, and of what concerns none. What is not known here stands
// in the server's own words.
import type { SettingsWords } from './languages/en.ts';

/** A text of the settings, or the one of the common dictionary that the page of an invitation has, too. */
type Word = keyof SettingsWords | 'passwordCommon';

/** How sentences of the server look, and which text stands for each. */
export type Sentences<W> = readonly (readonly [sentence: RegExp, word: W])[];

/** How the server's sentence begins, and the text that stands for it; a figure in it is `n`, names in it are `list`. */
const known: Sentences<Word> = [
  [/^is one of the passwords that are tried first/, 'passwordCommon'],
  [/^(?:must (?:not be empty|be given\b)|the domain is empty)/, 'fieldEmpty'],
  [/^must be an e-mail address/, 'fieldEmail'],
  [/^must have at least (\d+) character/, 'fieldShort'],
  [/^(?:must have|the domain is too long: a host name has) at most (\d+) character/, 'fieldLong'],
  [/^must be (?:a whole number of )?at least (\d+)/, 'fieldLow'],
  [/^must be at most (\d+)(?: days)?\b/, 'fieldHigh'],
  [/^must be a (?:whole )?number\b/, 'fieldNumber'],
  [/^must (?:be an https URL|be a URL that begins with https|begin with https)/, 'fieldHttps'],
  [/^must not lead to a private or local address/, 'fieldPrivate'],
  [/^must be a colour/, 'fieldColour'],
  [/^must be a name of the IANA database/, 'fieldTimezone'],
  [/^must be a language tag/, 'fieldLanguage'],
  [/^must be an IPv4 or IPv6 address/, 'fieldAddress'],
  [/^".*" has no dot: .* for example (?<list>\S+)$/, 'fieldInside'],
  [/^".*" is not a port\b/, 'fieldPort'],
  [/^(?:a wildcard is|".*" is not a wildcard domain)\b/, 'fieldWildcard'],
  [/^(?<list>\S+) would let in everybody who has a name under/, 'fieldSuffix'],
  [
    /^(?:a domain contains no blanks|null is what a browser sends|nothing is below an IP address|\S+ is not the scheme of a web page|".*" is not (?:a host name|an origin))\b/,
    'fieldDomain',
  ],
  [/^must be 1 to 50 letters/, 'fieldShortcut'],
  [/^is not the present one/, 'fieldPresent'],
  [/^must have at least (\d+) items/, 'fieldWords'],
  [/^must be in the future, and at most (\d+) days/, 'fieldDays'],
  [/^must be (?<list>\w+:\w+, .+)$/, 'fieldNames'],
  [/^must be a time from/, 'fieldTime'],
  [/^is the same as open/, 'fieldSameTime'],
  [/^must be another time than from/, 'fieldOtherTime'],
  [/^must be like smtp:/, 'fieldMailServer'],
  [/^can't be read: /, 'fieldFile'],
  [/^may name a person \((?<list>.+)\): /, 'fieldPerson'],
];

/** The same for what concerns no field. */
const refusals: Sentences<keyof SettingsWords> = [
  [
    /^There is a (?:canned reply with the shortcut|member|tag) (?<list>.+?) (?:in this organization )?already/,
    'refusedTaken',
  ],
  [/^The domain (?<list>.+) is registered for this application already/, 'refusedTaken'],
  [/^This is the last admin /, 'refusedLastAdmin'],
  [/^Set up your own second factor first/, 'refusedOwnFactor'],
  [/^At most \d+ crawls /, 'refusedReading'],
  [/^A crawl for this application is under way/, 'refusedReading'],
  [/^(?:\w+ \w+ has at|Pushes go to at|At) most (\d+) /, 'refusedMost'],
  [/^The key is revoked or over/, 'refusedKey'],
  [/^The secret before this one still signs/, 'refusedSecret'],
  [/^The webhook is switched off/, 'refusedWebhook'],
  [/^It can't be sent: no mail server is configured/, 'mailNone'],
  [/belongs to another application/, 'refusedAddress'],
  [/^Data may be kept for 1 to (\d+) days\b/, 'fieldDays'],
  [/: (?<list>deskbell org (?:plan [\w-]+ \w+|limits [\w-]+ --.+))$/, 'refusedPlan'],
];

/** The text that stands for a sentence, with its figure and its names; null: there is none. */
export type Known<W> = { readonly word: W; readonly n: number; readonly list: string } | null;

/** The first of a table whose sentence it is; null: there is none. @param message the server's sentence */
export function find<W>(table: Sentences<W>, message: string): Known<W> {
  for (const [sentence, word] of table) {
    const found = sentence.exec(message);
    if (found === null) continue;
    const list = found.groups?.['list'] ?? '';
    return { word, n: list === '' ? Number(found[1] ?? 0) : 0, list };
  }
  return null;
}

/** The text that stands for what is wrong with a field; null: there is none. @param message the server's sentence */
export function fieldProblem(message: string): Known<Word> {
  const found = find(known, message);
  return found?.word === 'fieldNames' ? { ...found, list: found.list.replace(' or ', ', ') } : found;
}

/** The text that stands for why something was refused that is of no field; null: there is none. @param message as above */
export function refusal(message: string): Known<keyof SettingsWords> {
  return find(refusals, message);
}
