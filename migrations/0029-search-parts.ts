// Words that SQLite's tokenizer parts, as `l'avion`, come into the index by their parts, each with its organization: the
// second had none, so that a search met it in messages of others. The index is emptied here and filled again in the
// background, from the messages.
import { sql, type Kysely } from 'kysely';
import { onSqlite } from './columns.ts';

export async function up(db: Kysely<unknown>): Promise<void> {
  // The table is made anew: removing its rows one by one would take minutes.
  await onSqlite(sql`drop trigger search_row_removed`).execute(db);
  await onSqlite(sql`drop table search_vocabulary`).execute(db);
  await onSqlite(sql`drop table search`).execute(db);
  await sql`delete from search_rows`.execute(db);
  await onSqlite(
    sql`create virtual table search using fts5(words, tokenize = 'unicode61 remove_diacritics 2')`,
  ).execute(db);
  await onSqlite(sql`insert into search (search, rank) values ('automerge', 0)`).execute(db);
  await onSqlite(sql`insert into search (search, rank) values ('secure-delete', 1)`).execute(db);
  await onSqlite(sql`create virtual table search_vocabulary using fts5vocab(search, instance)`).execute(db);
  await onSqlite(
    sql`create trigger search_row_removed after delete on search_rows begin delete from search where rowid = old.id; end`,
  ).execute(db);
  await sql`delete from meta where key in ('search_cursor', 'search_follow_from')`.execute(db);
}
