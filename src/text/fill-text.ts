// Owns how a text's places are filled in, and how its form for a number is found.

/** A text by number, in the categories of Intl.PluralRules; `{n}` is the number. */
export type PluralText = Readonly<Partial<Record<Intl.LDMLPluralRule, string>>> & { readonly other: string };
export type Text = string | PluralText;
/** All texts of a part, by key. */
export type Dictionary<K extends string = string> = Readonly<Record<K, Text>>;
export type Values = Readonly<Record<string, string | number>>;
/** @param values take the places of `{name}` in the text; `n` also chooses the plural */
export type Translate<K extends string> = (key: K, values?: Values) => string;

/** A text with its places filled in. @param tag a language tag */
export function fillText(text: Text, tag: string, values: Values = {}): string {
  const chosen =
    typeof text === 'string'
      ? text
      : (text[new Intl.PluralRules(tag).select(Number(values['n'] ?? 0))] ?? text.other);
  return chosen.replace(/\{(\w+)\}/g, (place, name: string) => {
    const value = values[name];
    if (value === undefined) return place;
    return typeof value === 'number' ? new Intl.NumberFormat(tag).format(value) : value;
  });
}

/** How texts of a dictionary are asked for. @param tag the language's tag */
export function translator<K extends string>(dictionary: Dictionary<K>, tag: string): Translate<K> {
  return (key, values) => fillText(dictionary[key], tag, values);
}
