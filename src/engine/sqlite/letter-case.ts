// Upper and lower case of letters beyond ASCII, which SQLite's own comparisons take for different letters.

/** Letters whose upper or lower case is another letter's, too, or several letters: the case mappings don't lead to them. */
const furtherCases: Readonly<Record<string, string>> = { σ: 'ς', Σ: 'ς', ß: 'ẞ' };

const isOneLetter = (text: string): boolean => Array.from(text).length === 1;

/**
 * A letter in each case, itself first. ASCII letters have their two cases alone, as LIKE compares them.
 * @param letter one code point
 */
export function casesOf(letter: string): readonly string[] {
  const cases = new Set([letter]);
  // The set grows while it is walked: of the dotless ı the upper case is I, and of that i.
  for (const one of cases)
    for (const other of [one.toLowerCase(), one.toUpperCase(), furtherCases[one]])
      if (other !== undefined && isOneLetter(other)) cases.add(other);
  return [...cases];
}
