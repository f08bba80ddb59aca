// What SQLite says in its own words. An engine with another database says each of these otherwise and means the same;
// the contract is in repositories.ts and test/engine/queries.test.ts.
import { sql, type RawBuilder } from 'kysely';

/** A text in a column that holds JSON. @param path as `$.ai.mode` */
export function jsonText(column: string, path: string): RawBuilder<string | null> {
  return sql<string | null>`json_extract(${sql.ref(column)}, ${sql.lit(path)})`;
}

/** Whether a column is one of the texts of a JSON array: a list that has any length, in one parameter. */
export function isOneOf(column: string, texts: string): RawBuilder<boolean> {
  return sql<boolean>`${sql.ref(column)} in (select value from json_each(${texts}))`;
}

/** Whether a text occurs in a column, whatever the case of ASCII letters. LIKE folds just those. */
export function containsText(column: string, text: string): RawBuilder<boolean> {
  const pattern = `%${text.replace(/[\\%_]/g, (found) => `\\${found}`)}%`;
  return sql<boolean>`${sql.ref(column)} like ${pattern} escape '\\'`;
}

/** A column for a comparison that must not use its index. */
export function withoutIndex(column: string): RawBuilder<string> {
  return sql<string>`+${sql.ref(column)}`;
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
  return sql<string | null>`(select group_concat(tags.name, ${sql.lit(separator)} order by tags.folded)
    from conversation_tags as held join tags on tags.id = held.tag_id where held.conversation_id = ${sql.ref(id)})`;
}
