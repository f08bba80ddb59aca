// Every text of the dashboard in every language: none missing, none left in English, every place and plural there.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fillText, type Text } from '../../src/desk/texts.ts';
import { languages } from '../../widget/shared/languages.ts';

interface LanguageFile {
  readonly words: Readonly<Record<string, Text>>;
  readonly desk: Readonly<Record<string, Text>>;
}

const partsOf = async (language: string): Promise<readonly [LanguageFile, LanguageFile]> =>
  Promise.all([
    import(`../../src/dashboard/languages/${language}.ts`) as Promise<LanguageFile>,
    import(`../../src/dashboard/languages/more/${language}.ts`) as Promise<LanguageFile>,
  ]);

const load = async (language: string): Promise<LanguageFile> => {
  const [first, more] = await partsOf(language);
  return { words: { ...first.words, ...more.words }, desk: { ...first.desk, ...more.desk } };
};

const formsOf = (text: Text): readonly string[] => (typeof text === 'string' ? [text] : Object.values(text));
const placesOf = (text: string): readonly string[] => (text.match(/\{\w+\}/g) ?? []).toSorted();

/** Words that are spelt alike in these languages, by key. */
const alike: Readonly<Record<string, readonly string[]>> = {
  system: ['de', 'pl'],
  conversation: ['fr'],
  application: ['fr'],
  noteBy: ['fr'],
  participants: ['fr'],
  desk_adminRole: ['de'],
  desk_online: ['de', 'nl', 'pl', 'pt'],
  desk_offline: ['de', 'nl', 'pl', 'pt'],
  inbox: ['nl'],
  invitation: ['fr'],
  password: ['it'],
};

describe.each(languages.filter((one) => one !== 'en'))('in %s', (language) => {
  test('every text is there, translated, with the same places', async () => {
    const english = await load('en');
    const own = await load(language);
    for (const [part, before] of [
      ['words', ''],
      ['desk', 'desk_'],
    ] as const) {
      expect(Object.keys(own[part]).toSorted()).toEqual(Object.keys(english[part]).toSorted());
      for (const [key, text] of Object.entries(english[part])) {
        const forms = formsOf(own[part][key] ?? '');
        const allowed = new Set(formsOf(text).flatMap(placesOf));
        for (const form of forms) {
          expect(form.trim(), key).not.toBe('');
          for (const place of placesOf(form)) expect(allowed, `${key} in ${language}`).toContain(place);
        }
        // A form for one thing may leave the number out, the last one never.
        expect(placesOf(forms.at(-1) ?? ''), `${key} in ${language}`).toEqual(
          placesOf(formsOf(text).at(-1) ?? ''),
        );
        if (alike[before + key]?.includes(language) !== true)
          expect(forms.at(-1), `${key} in ${language} is English`).not.toBe(formsOf(text).at(-1));
      }
    }
  });

  test('every number finds its form', async () => {
    const own = await load(language);
    const categories = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
    for (const [key, text] of [...Object.entries(own.words), ...Object.entries(own.desk)]) {
      if (typeof text === 'string') continue;
      for (const category of categories.filter((one) => one !== 'many' || ['pl', 'ar'].includes(language)))
        expect(text, key).toHaveProperty(category);
      for (const n of [0, 1, 2, 3, 11, 100]) expect(fillText(text, language, { n })).not.toMatch(/[{}]/);
    }
  });
});

/** How a friend is addressed, where the texts are for colleagues who may not be friends. */
const familiar = {
  de: /\b(?:du|dich|dir|dein\w*)\b/i,
  es: /(?<![\p{L}])(?:tú|tus?|te|ti)(?![\p{L}])/iu,
  it: /\b(?:tu|tuoi?|tua|tue|ti)\b/i,
  nl: /\b(?:je|jij|jouw?)\b/i,
};

test.each(Object.entries(familiar))(
  'in %s the operator is addressed alike everywhere',
  async (language, word) => {
    const { words, desk } = await load(language);
    const settings = (await import(`../../src/dashboard/settings/languages/${language}.ts`)) as Pick<
      LanguageFile,
      'words'
    >;
    const texts = [words, desk, settings.words].flatMap((part) => Object.values(part));
    expect(texts.length).toBeGreaterThan(300);
    expect(texts.flatMap(formsOf).filter((text) => word.test(text))).toEqual([]);
  },
);

test.each(languages)(
  'in %s a button begins with a capital, and no operator is sent to a command line',
  async (language) => {
    const { words, desk } = await load(language);
    const buttons = Object.keys(desk).filter((key) => /^yes[A-Z]/.test(key));
    expect(buttons.length).toBeGreaterThan(5);
    for (const label of buttons.flatMap((key) => formsOf(desk[key] ?? '')))
      expect(label.charAt(0)).toBe(label.charAt(0).toLocaleUpperCase(language));
    // What one leaves by has one name.
    expect(desk['yesQuit']).toBe(words['signOut']);
    const told = [words, desk].flatMap((part) => Object.values(part)).flatMap(formsOf);
    expect(told.filter((form) => form.includes('deskbell '))).toEqual([]);
  },
);

/** The files that a file takes with it when it is loaded; what it fetches later is not among them. */
function staticFiles(entry: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(entry)) return found;
  found.add(entry);
  for (const [, from = ''] of readFileSync(entry, 'utf8').matchAll(
    /^(?:import|export)(?! type)[^;]*?from '(\.[^']+\.tsx?)';/gm,
  ))
    staticFiles(join(dirname(entry), from), found);
  return found;
}

test('what is loaded first says nothing that is loaded later', async () => {
  const [, more] = await partsOf('en');
  const root = join(import.meta.dirname, '../../src');
  const later = new Set([...Object.keys(more.words), ...Object.keys(more.desk)]);
  const first = [
    ...staticFiles(join(root, 'dashboard/main.tsx')),
    ...staticFiles(join(root, 'dashboard/inbox/room.ts')),
  ].filter((file) => !/\/(texts|en|words)\.ts$/.test(file));
  expect(first.length).toBeGreaterThan(50);
  // What stands in a call, and what is called a word in a table.
  const said = first.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/\b(?:t|say)\(([^;]*?)\)|\bword: ('\w+')/g)].flatMap((call) =>
      [...(call[1] ?? call[2] ?? '').matchAll(/'(\w+)'/g)].map(([, word = '']) => word),
    ),
  );
  expect(said.length).toBeGreaterThan(100);
  expect(said.filter((key) => later.has(key))).toEqual([]);
});

test('what is named in a text is filled in once, and never read as a place again', () => {
  expect(fillText('{name} has {n}', 'en', { name: '{n}', n: 1_234 })).toBe('{n} has 1,234');
  expect(fillText('{other}', 'en', { name: 'x' })).toBe('{other}');
});
