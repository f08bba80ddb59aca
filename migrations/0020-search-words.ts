// The words that the index of messages holds, by the alphabet: a search for a beginning asks for the words that begin so,
// where SQLite by itself would read every entry of all of them.
import { sql, type Kysely } from 'kysely';
import { onSqlite } from './columns.ts';

export async function up(db: Kysely<unknown>): Promise<void> {
  await onSqlite(sql`create virtual table search_vocabulary using fts5vocab(search, instance)`).execute(db);
}
