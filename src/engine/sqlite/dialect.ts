// What SQLite and PostgreSQL say in words of their own, each beside the other. Both mean the same; the contract is in
// repositories.ts and test/engine/queries.test.ts.
import { sql, type RawBuilder } from 'kysely';
import { twoFaced } from '../../../migrations/columns.ts';
import { casesOf } from './letter-case.ts';

/** A text in a column that holds JSON. @param path as `$.ai.mode` */
export function jsonText(column: string, path: string): RawBuilder<string | null> {
  const names = path.replace(/^\$\./, '').replaceAll('.', ',');
  return twoFaced({
    sqlite: sql<string | null>`json_extract(${sql.ref(column)}, ${sql.lit(path)})`,
    postgres: sql<string | null>`(${sql.ref(column)}::json #>> ${sql.lit(`{${names}}`)})`,
  });
}

/** Whether a column is one of the texts of a JSON array: a list that has any length, in one parameter. */
export function isOneOf(column: string, texts: string): RawBuilder<boolean> {
  return twoFaced({
    sqlite: sql<boolean>`${sql.ref(column)} in (select value from json_each(${texts}))`,
    postgres: sql<boolean>`${sql.ref(column)} = any (array(select json_array_elements_text(${texts}::json)))`,
  });
}

/** Whether a column is one of the numbers of a JSON array. */
export function isOneOfNumbers(column: string, numbers: string): RawBuilder<boolean> {
  return twoFaced({
    sqlite: sql<boolean>`${sql.ref(column)} in (select value from json_each(${numbers}))`,
    postgres: sql<boolean>`${sql.ref(column)} = any (array(select json_array_elements_text(${numbers}::json)::bigint))`,
  });
}

/** A value that differs from run to run in a query that is built for each: bare, SQLite would plan it anew (query.ts). */
export function bound<T>(value: T): RawBuilder<T> {
  return twoFaced({ sqlite: sql<T>`(select ${value})`, postgres: sql<T>`${value}` });
}

/**
 * A number that bounds an FTS5 table's rows. The driver hands numbers over as floating-point ones, for which FTS5 would
 * read all rows from the first on: it begins at whole numbers only.
 */
export function whole(value: number): RawBuilder<number> {
  return twoFaced({ sqlite: sql<number>`cast(${value} as integer)`, postgres: sql<number>`${value}` });
}

/** The texts of a group in one, in no order. */
export function joined(column: string, separator: string): RawBuilder<string | null> {
  return twoFaced({
    sqlite: sql<string | null>`group_concat(${sql.ref(column)}, ${sql.lit(separator)})`,
    postgres: sql<string | null>`string_agg(${sql.ref(column)}, ${sql.lit(separator)})`,
  });
}

const asciiOnly = /^[\0-\x7f]*$/;

/** A pattern for a text: GLOB and regular expressions compare exactly, so each letter stands there in all its cases. */
function patternOf(text: string, escape: (letter: string) => string): string {
  const letters = Array.from(text, (letter) => {
    const cases = casesOf(letter);
    return cases.length > 1 ? `[${cases.join('')}]` : escape(letter);
  });
  return letters.join('');
}

/**
 * Whether a text occurs in a column, whatever the case of its letters. LIKE of SQLite, and of a PostgreSQL database with the
 * locale C, folds those of ASCII alone.
 */
export function containsText(column: string, text: string): RawBuilder<boolean> {
  if (asciiOnly.test(text)) {
    const pattern = `%${text.replace(/[\\%_]/g, (found) => `\\${found}`)}%`;
    return twoFaced({
      sqlite: sql<boolean>`${sql.ref(column)} like ${pattern} escape '\\'`,
      postgres: sql<boolean>`${sql.ref(column)} ilike ${pattern} escape '\\'`,
    });
  }
  const glob = patternOf(text, (letter) => letter.replace(/^[*?[]$/, '[$&]'));
  const expression = patternOf(text, (letter) => letter.replace(/^[.*+?()[\]{}|^$\\]$/, '\\$&'));
  return twoFaced({
    sqlite: sql<boolean>`${sql.ref(column)} glob ${`*${glob}*`}`,
    postgres: sql<boolean>`${sql.ref(column)} ~ ${expression}`,
  });
}

/** A column for a comparison that must not use its index. */
export function withoutIndex(column: string): RawBuilder<string> {
  return twoFaced({ sqlite: sql<string>`+${sql.ref(column)}`, postgres: sql<string>`${sql.ref(column)}` });
}

/** Whether a column is a value; where the value is null, every row. The type is said: a bare null has none. */
export function isOrAny(column: string, value: string | null): RawBuilder<boolean> {
  return sql<boolean>`(cast(${value} as text) is null or ${sql.ref(column)} = ${value})`;
}

/**
 * The names of a conversation's tags in one text, by their folded names; null: it has none.
 * @param id the column of its id
 * @param separator stands between them
 */
export function tagNames(id: string, separator: string): RawBuilder<string | null> {
  const held = sql`from conversation_tags as held join tags on tags.id = held.tag_id where held.conversation_id = ${sql.ref(id)}`;
  return twoFaced({
    sqlite: sql<
      string | null
    >`(select group_concat(tags.name, ${sql.lit(separator)} order by tags.folded) ${held})`,
    postgres: sql<
      string | null
    >`(select string_agg(tags.name, ${sql.lit(separator)} order by tags.folded) ${held})`,
  });
}
