// What members set for themselves, their unsent answers, and where an application's widget was seen last.
import { sql, type Kysely } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('members').addColumn('locale', 'text').execute();
  await db.schema.alterTable('members').addColumn('timezone', 'text').execute();
  await db.schema
    .alterTable('members')
    .addColumn('signature', 'text', (c) => c.notNull().defaultTo(''))
    .execute();
  // One for each member and conversation; it falls with either.
  await db.schema
    .createTable('drafts')
    .addColumn('conversation_id', 'text', (c) =>
      c.notNull().references('conversations.id').onDelete('cascade'),
    )
    .addColumn('member_id', 'text', (c) => c.notNull().references('members.id').onDelete('cascade'))
    .addColumn('content', 'text', (c) => c.notNull())
    .addColumn('updated_at', 'integer', (c) => c.notNull())
    .addPrimaryKeyConstraint('drafts_key', ['conversation_id', 'member_id'])
    .modifyEnd(sql`without rowid, strict`)
    .execute();
  await db.schema.createIndex('drafts_by_member').on('drafts').column('member_id').execute();
  await db.schema
    .createTable('application_sightings')
    .addColumn('application_id', 'text', (c) =>
      c.primaryKey().references('applications.id').onDelete('cascade'),
    )
    .addColumn('origin', 'text', (c) => c.notNull())
    .addColumn('seen_at', 'integer', (c) => c.notNull())
    .modifyEnd(sql`without rowid, strict`)
    .execute();
}
