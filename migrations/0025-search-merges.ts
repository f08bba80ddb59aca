// The search index is merged in small steps by those who write it (src/engine/sqlite/repositories/search.ts). By itself
// FTS5 merges hundreds of pages in one commit, which held the loop for 10 to 50 ms.
import { sql, type Kysely } from 'kysely';
import { onSqlite } from './columns.ts';

export async function up(db: Kysely<unknown>): Promise<void> {
  await onSqlite(sql`insert into search (search, rank) values ('automerge', 0)`).execute(db);
}
