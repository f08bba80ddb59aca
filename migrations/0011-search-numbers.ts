// Every indexed word begins with a short number of its organization instead of its id, which was longer than most words.
// The index is emptied here and filled again in the background, from the messages.
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table search_scopes (
    number integer primary key autoincrement,
    organization_id text not null unique references organizations(id) on delete cascade
  )`.execute(db);
  // The table is made anew: removing its rows one by one would take minutes.
  await sql`drop trigger search_row_removed`.execute(db);
  await sql`drop table search`.execute(db);
  await sql`delete from search_rows`.execute(db);
  await sql`create virtual table search using fts5(words, tokenize = 'unicode61 remove_diacritics 2')`.execute(
    db,
  );
  await sql`insert into search(search, rank) values ('secure-delete', 1)`.execute(db);
  await sql`create trigger search_row_removed after delete on search_rows begin delete from search where rowid = old.id; end`.execute(
    db,
  );
  await sql`delete from meta where key = 'search_cursor'`.execute(db);
}
