// Full-text search, canned replies, invitations, and the setting that gives the
// conversations of an absent operator back to the queue.
import { sql, type Kysely } from 'kysely';
import { onSqlite } from './columns.ts';

export async function up(db: Kysely<unknown>): Promise<void> {
  // Words come segmented (services/search.ts), so the tokenizer only folds case and accents.
  await onSqlite(
    sql`create virtual table search using fts5(words, tokenize = 'unicode61 remove_diacritics 2')`,
  ).execute(db);
  await onSqlite(sql`insert into search(search, rank) values ('secure-delete', 1)`).execute(db);
  // Which row of the index is which message: FTS rows have no keys of their own, and must fall with their message.
  await db.schema
    .createTable('search_rows')
    .addColumn('id', 'integer', (c) => c.primaryKey())
    .addColumn('message_id', 'text', (c) =>
      c.notNull().unique().references('messages.id').onDelete('cascade'),
    )
    .execute();
  await onSqlite(
    sql`create trigger search_row_removed after delete on search_rows begin delete from search where rowid = old.id; end`,
  ).execute(db);

  await db.schema
    .createTable('canned_replies')
    .addColumn('id', 'text', (c) => c.primaryKey())
    .addColumn('organization_id', 'text', (c) =>
      c.notNull().references('organizations.id').onDelete('cascade'),
    )
    .addColumn('shortcut', 'text', (c) => c.notNull())
    .addColumn('content', 'text', (c) => c.notNull())
    .addColumn('content_format', 'text', (c) => c.notNull())
    .addColumn('content_html', 'text')
    .addColumn('created_at', 'integer', (c) => c.notNull())
    .addColumn('updated_at', 'integer', (c) => c.notNull())
    .addUniqueConstraint('canned_replies_once', ['organization_id', 'shortcut'])
    .execute();

  // A member who was invited has no password until the link is used.
  await db.schema
    .createTable('invitations')
    .addColumn('member_id', 'text', (c) => c.primaryKey().references('members.id').onDelete('cascade'))
    .addColumn('digest', 'blob', (c) => c.notNull().unique())
    .addColumn('expires_at', 'integer', (c) => c.notNull())
    .execute();

  // Minutes after which an operator who is gone loses their conversations to the queue; null: never.
  await db.schema.alterTable('organizations').addColumn('release_after_minutes', 'integer').execute();
}
