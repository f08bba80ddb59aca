// An index of what stands in the subjects of conversations and in visitors' names and addresses, so that a search for a
// part of one looks at those that may have it, not at all of them. SQLite alone has it.
//
// Every three characters that follow each other are a word of the index, a trigram, and so are the last two and the last
// one. Each begins with the end of the organization's id, so that a search meets no trigram of another one. A trigram is
// written in hexadecimal, because a tokenizer would cut at blanks and signs. ASCII letters are lower case, as LIKE compares
// them. The index keeps no text of its own: the views make the words anew, for a removal and for a rebuild. Triggers keep
// it, so that no writer can forget it.
import { sql, type Kysely } from 'kysely';
import { onSqlite } from './columns.ts';

/** The trigrams of a column's text, and what is shorter at its end. */
const trigrams = (column: string): string => `coalesce((
    with recursive at(i) as (select 1 union all select i + 1 from at where i < length(${column}))
    select group_concat(substr(organization_id, -12) || 'x' || hex(substr(lower(${column}), i, 3)), ' ') from at), '')`;

const sources = [
  { index: 'search_subjects', of: 'conversations', columns: ['subject'] },
  { index: 'search_visitors', of: 'visitors', columns: ['name', 'email'] },
] as const;

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const { index, of, columns } of sources) {
    const some = (row: string): string =>
      `(${columns.map((name) => `${row}${name} is not null`).join(' or ')})`;
    const watched = [...columns, 'organization_id'];
    const changed = watched.map((name) => `old.${name} is not new.${name}`).join(' or ');
    const put = `insert into ${index} (rowid, words) select place, words from ${index}_words where place = new.rowid;`;
    // The words that a row was put in with are what takes it out again.
    const take = `insert into ${index} (${index}, rowid, words)
      select 'delete', place, words from ${index}_words where place = old.rowid;`;
    for (const statement of [
      `create view ${index}_words (place, words) as
         select rowid, ${columns.map(trigrams).join(" || ' ' || ")} from ${of} where ${some('')}`,
      `create virtual table ${index} using fts5(
         words, content = '${index}_words', content_rowid = 'place', detail = none, columnsize = 0, tokenize = 'ascii')`,
      `insert into ${index} (${index}, rank) values ('secure-delete', 1)`,
      `create virtual table ${index}_vocabulary using fts5vocab(${index}, instance)`,
      `insert into ${index} (${index}) values ('rebuild')`,
      `create trigger ${index}_added after insert on ${of} when ${some('new.')} begin ${put} end`,
      `create trigger ${index}_changing before update of ${watched.join(', ')} on ${of}
         when ${some('old.')} and (${changed}) begin ${take} end`,
      `create trigger ${index}_changed after update of ${watched.join(', ')} on ${of}
         when ${some('new.')} and (${changed}) begin ${put} end`,
      `create trigger ${index}_removed before delete on ${of} when ${some('old.')} begin ${take} end`,
    ])
      await onSqlite(sql.raw(statement)).execute(db);
  }
}
